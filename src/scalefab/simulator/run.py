"""The driver of virtual time: runs a scenario's kernel in slices, reports progress, survives Ctrl-C, and makes the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..compiled import direct, is_compiled, jit_enabled
from ..fabric.faultspec import Fault, FaultKind
from ..fabric.names import port_name
from ..protocol.fec_loss import LineErrors
from ..scenario.fidelity import Fidelity
from ..scenario.scenario import RunOptions, Scenario
from ..workload.bounds import bound
from ..workload.graph import OperationGraph
from .guess import Variant, guess
from .kernel import Reason, run_kernel
from .memory import Memory, find_memory
from .planes import Split, split
from .progress import Progress as Progress
from .progress import peak_memory_MB
from .records import State
from .result import UNTIL_NOTE, OperationTimes, PortTable, Result, Status
from .setup import LATENCY_BINS, Kept, grow
from .start import schedule_start
from .states import state_of
from .threads import Made, Outcome, run_parts
from .trace import Trace
from .valuecheck import with_values
from .variant import entry_of, is_ready, pack, variant_of
from .waitfor import find_waits
from .warm import compile_apart, needs_compiling

_NEVER_PS = 1 << 62
_SLICE_S = 0.25  # how long one call of the kernel may keep the interpreter from Ctrl-C and progress


def simulate(scenario: Scenario, *, threads: int = 1, progress: Callable[[Progress], None] | None = None) -> Result:
    """Simulate a scenario, every frame of it, or as flows where ``run.fidelity`` says so.

    Parameters
    ----------
    scenario
        From `scalefab.read_scenario`.
    threads
        At most so many, one for planes that have nothing to do with each other (`planes.split`); the result is the same, without
        hops of single frames. A run that cannot be divided takes one, and a note says why.
    progress
        Called before compiling and then about four times a second.

    Returns
    -------
    Result
        ``status`` DONE; PARTIAL after Ctrl-C or when ``run.until`` was reached; NO_PROGRESS when nothing could move any more.
        Same scenario and seed = same picoseconds on any machine.
    """
    if scenario.options.fidelity is Fidelity.FLOW:
        from .flow.run import simulate_flow  # another kernel: only where it is asked for

        return simulate_flow(scenario, progress=progress)
    graph, fabric, options = scenario.graph, scenario.fabric, scenario.options
    total = int(graph.bytes[graph.moving].sum())
    begin = time.perf_counter()
    expected = guess(scenario)
    if needs_compiling(expected):
        if progress is not None:
            progress(Progress("compile", False, 0, 0, 0, total, 0.0))
        compile_apart(expected)
    compile_s = time.perf_counter() - begin
    lower = bound(graph, fabric, pack=options.pack)

    if threads > 1:
        scenario = replace(scenario, options=replace(options, capture_frames=0))

    def make(kept: Kept) -> State:
        return state_of(scenario, lower.ps, kept)

    run = _Run(make, options, total, progress, compile_s)
    if threads > 1:
        run.divided = split(scenario, run.state, threads)
        run.plane_of = fabric.port_plane
    reason = run.to_the_end()
    return _result(scenario, run, reason, lower.ps, lower.cut)


class _Run:
    """One run in progress: the state, and how long what took."""

    def __init__(
        self,
        make: Callable[[Kept], State],
        options: RunOptions,
        total_bytes: int,
        progress: Callable[[Progress], None] | None,
        compile_s: float,
    ) -> None:
        self.make = make
        self.state = make(Kept.WHERE_LOST)
        self.variant = Variant.FULL
        self.bundle: Any = None
        self.kernel: Callable[..., tuple[int, int, int]] = run_kernel
        self.until_ps = options.until_ps or _NEVER_PS
        self.total_bytes = total_bytes
        self.progress = progress
        self.compile_s = compile_s
        self.wall_s = 0.0
        self.interrupted = False
        self.divided = Split(())
        self.plane_of: Any = None

    def tell(self, phase: str) -> None:
        if self.progress is None:
            return
        k = self.state.kernel[0]
        self.progress(
            Progress(
                phase,
                is_ready(self.variant),
                int(k.now_ps),
                int(k.events),
                int(k.executed_bytes),
                self.total_bytes,
                self.wall_s,
            )
        )

    def call(self, max_events: int) -> Reason:
        begin = time.perf_counter()
        reason, _, _ = self.kernel(self.bundle, self.until_ps, max_events)
        self.wall_s += time.perf_counter() - begin
        self.require_no_past()
        return Reason(int(reason))

    def to_the_end(self) -> Reason:
        """Run until done, the time limit, a standstill or Ctrl-C."""
        reason = Reason.EVENTS
        try:
            self.prepare()
            if self.divided.parts:
                outcome = self.on_threads()
                if outcome.same:
                    return outcome.reason
                self.divided = Split((), "the network stood still for long, or an ACK came late")
                self.restart(Kept.WHERE_LOST)
            begin_events = 1_000 if not jit_enabled() else 200_000
            slice_events = begin_events
            while reason in (Reason.EVENTS, Reason.GROW):
                if reason is Reason.GROW:
                    self.state = grow(self.state)
                    self.bundle = pack(self.state, self.variant)
                before = self.wall_s
                reason = self.call(slice_events)
                spent = self.wall_s - before
                if spent < _SLICE_S / 2:
                    slice_events *= 2
                elif spent > _SLICE_S * 2 and slice_events > begin_events:
                    slice_events //= 2
                if self.state.kernel[0].late and not self.state.kernel[0].rh:
                    self.restart(Kept.ALWAYS)
                    reason = Reason.EVENTS
                self.tell("run")
        except KeyboardInterrupt:
            self.interrupted = True
        return reason

    def on_threads(self) -> Outcome:
        """Run the parts at the same time."""
        begin = time.perf_counter()

        def tell(now_ps: int, events: int, executed_bytes: int) -> None:
            if self.progress is not None:
                self.progress(
                    Progress("run", True, now_ps, events, executed_bytes, self.total_bytes, time.perf_counter() - begin)
                )

        made = Made(self.kernel, lambda state: pack(state, self.variant))
        outcome = run_parts(self.state, self.divided.parts, self.plane_of, made, self.until_ps, tell)
        self.wall_s += time.perf_counter() - begin
        self.interrupted = outcome.interrupted
        self.require_no_past()
        return outcome

    def require_no_past(self) -> None:
        """Raise RuntimeError if an event lay before the time at which it was made."""
        if self.state.kernel[0].past:
            raise RuntimeError("defect of the simulator: an event was scheduled in the past")

    def restart(self, kept: Kept) -> None:
        """Run anew; with copies when an ACK came later than RH's timer, which a run without losses expected not to happen."""
        self.state = self.make(kept)
        self.prepare()

    def prepare(self) -> None:
        """Compile the kernel or load it from disk, and schedule the first release."""
        self.variant = variant_of(self.state)
        self.tell("compile")
        begin = time.perf_counter()
        schedule_start(self.state)
        if needs_compiling(self.variant):  # not the one that was expected
            compile_apart(self.variant)
        self.bundle = pack(self.state, self.variant)
        entry = entry_of(self.variant)
        if not is_compiled(entry):
            entry(self.bundle, self.until_ps, 0)
        self.kernel = direct(entry)  # an ordinary call takes 2 ms, 3 % of a run of half a second
        self.compile_s += time.perf_counter() - begin


def _latency_edges() -> Any:
    """Lower edges of `simulator.target.latency_bin`'s bins, ps."""
    edges = np.zeros(LATENCY_BINS, np.int64)
    for b in range(LATENCY_BINS):
        octave, v = (0, b) if b < 32 else (b // 16 - 1, b % 16 + 16)
        edges[b] = (v << octave) << 8
    return edges


def _result(scenario: Scenario, run: _Run, reason: Reason, bound_ps: int, cut: str) -> Result:
    state = run.state
    k, port, op = state.kernel[0], state.port, state.op
    status = {Reason.DONE: Status.DONE, Reason.NO_PROGRESS: Status.NO_PROGRESS}.get(reason, Status.PARTIAL)
    if run.interrupted:
        status = Status.PARTIAL
    # What a frame causes in memory is known when it is delivered; in a partial result only what has happened by then counts.
    horizon_ps = min(run.until_ps, int(k.now_ps) if status is not Status.DONE else _NEVER_PS)
    done_ps = np.where(op.done_ps <= horizon_ps, op.done_ps, -1).astype(np.int64)
    finished = int(np.count_nonzero(done_ps >= 0))
    ending = state.op_status.copy() if k.failed else np.zeros(len(op), np.int8)
    if status is Status.DONE and finished + np.count_nonzero(ending) < len(op):
        status = Status.PARTIAL
    # The receive buffer at port q is shared out a VC; the peak is the fullest VC's, in credits.
    peak = state.receiver.peak.max(axis=1).astype(np.int64) * int(k.credit_bytes)
    if k.pfc:
        peak = state.pause_rx.peak_bytes.max(axis=1)
    ports = PortTable(
        frames=port.frames.copy(),
        ack_frames=port.ack_frames.copy(),
        cf_updates=port.cf_updates.copy(),
        data_bytes=port.data_bytes.copy(),
        wire_bytes=port.wire_bytes.copy(),
        busy_ps=port.busy_ps.copy(),
        credit_wait_ps=port.credit_wait_ps.copy(),
        window_wait_ps=port.window_wait_ps.copy(),
        peak_credit_bytes=peak,
        llr_acks=port.llr_acks.copy(),
        llr_nacks=port.llr_nacks.copy(),
        replayed_frames=port.replayed.copy(),
        llr_wait_ps=port.llr_wait_ps.copy(),
    )
    used = np.flatnonzero(state.load.any(axis=0))
    bins = int(used[-1]) + 1 if len(used) else 1
    return Result(
        status=status,
        graph=scenario.graph,
        fabric=scenario.fabric,
        seed=scenario.options.seed,
        completion_ps=max(0, int(done_ps.max(initial=0))),
        now_ps=int(k.now_ps),
        bound_ps=bound_ps,
        bound_cut=cut,
        operations=OperationTimes(op.ready_ps.copy(), op.first_ps.copy(), op.executed_ps.copy(), done_ps, ending),
        ports=ports,
        frames=int(k.delivered),
        frames_sent=int(k.sent),
        ack_frames=int(k.ack_frames),
        cf_updates=int(port.cf_updates.sum()),
        data_bytes=int(k.executed_bytes),
        wire_bytes=int(k.wire_bytes),
        events=int(k.events),
        stage_ps=state.stage_ps.copy(),
        frame_ps=int(k.frame_ps),
        latency_edges_ps=_latency_edges(),
        latency_counts=state.latency.copy(),
        link_load_bin_ps=1 << int(k.bin_bits),
        link_load=state.load[:, :bins].copy(),
        executed_bin_ps=1 << int(k.executed_bits),
        executed_bins=np.trim_zeros(state.executed_bins, "b"),
        fault_ps=_fault_times(scenario),
        memory=_memory(state, scenario.graph, done_ps),
        operations_done=finished,
        rh_replays=int(k.resent),
        rh_nacks=int(k.nacks),
        rh_path_errors=int(k.path_errors),
        wall_s=run.wall_s,
        compile_s=run.compile_s,
        peak_MB=peak_memory_MB(),
        notes=_notes(scenario, run, status),
        trace=_trace(state),
        waits=find_waits(state, scenario.fabric) if status is Status.NO_PROGRESS else None,
    )


def _memory(state: State, graph: OperationGraph, done_ps: Any) -> Memory | None:
    k, op = state.kernel[0], state.op
    if not k.verify:
        return None
    counts = int(k.twice), int(k.outside), int(k.disorder)
    found = find_memory(state.segment_bits, state.segment_base, op.packets, done_ps >= 0, *counts)
    return with_values(found, graph, op.packets, int(k.mtu), state.cell, state.fetched) if k.values else found


def _fault_times(scenario: Scenario) -> Any:
    """When faults begin; what ends one, or puts back what was there before, is none."""
    return np.unique(np.array([row.at_ps for row in scenario.faults if row.at_ps > 0 and not _is_end(row, scenario)], np.int64))


def _is_end(row: Fault, scenario: Scenario) -> bool:
    match row.kind:
        case FaultKind.LINK_UP | FaultKind.ACK_RESUME | FaultKind.CC_RESUME:
            return True
        case FaultKind.LOSS_RATE | FaultKind.LOSE_SETS | FaultKind.DELAY_SETS:
            return row.arg == 0
        case FaultKind.DRAIN:
            return row.arg < 0
        case FaultKind.PORT_DRAIN:
            return row.arg == 0
        case FaultKind.RATE:
            return row.arg >= int(scenario.fabric.port_rate_bps[row.port])
        case FaultKind.LINE_ERRORS:
            spec = scenario.fabric.spec
            return row.line == LineErrors(spec.ber, spec.burst)
    return False


def _trace(state: State) -> Trace:
    k = state.kernel[0]

    def rows(name: str, count: int) -> Any:
        return getattr(state, name)[: int(count)].view(np.ndarray)

    return Trace(
        sample_of=int(k.sample_of),
        sample=rows("sample", k.sampled),
        frames=rows("traced", k.traced),
        runs=rows("traced_run", k.traced_runs),
        hops=rows("hop", k.hops),
        updates=rows("update", k.updates),
    )


def _notes(scenario: Scenario, run: _Run, status: Status) -> tuple[str, ...]:
    notes = list(scenario.warnings)
    if run.divided.reason:
        notes.append(f"one thread: {run.divided.reason}")
    if status is Status.PARTIAL and not run.interrupted:
        notes.append(UNTIL_NOTE)
    given_up = int(run.state.llr_tx.flushes.sum())
    if given_up:
        notes.append(f"LLR gave up {given_up} times (FLUSH); what it dropped was left to RH's end-to-end replay")
    no_room = int(run.state.link.no_room.sum())
    if no_room:
        notes.append(f"{no_room} frames found no room in receive buffers and were dropped; RH sent them again end to end")
    k = run.state.kernel[0]
    if k.resent or k.path_errors or k.again_runs:
        moved = f", {int(k.again_runs)} pieces of work moved to other paths" if k.again_runs else ""
        lost = f", {int(k.path_errors)} paths were given up by its timer" if k.path_errors else ""
        notes.append(f"RH sent {int(k.resent)} frames again end to end{moved}{lost}")
    dead = np.flatnonzero(run.state.link.dead)
    if k.failed and len(dead):
        names = ", ".join(port_name(scenario.fabric, int(port)) for port in dead[:4])
        notes.append(f"down at the end: {names}" + (f" and {len(dead) - 4} more" if len(dead) > 4 else ""))
    return tuple(notes)
