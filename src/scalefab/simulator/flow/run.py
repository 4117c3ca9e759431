"""Runs a scenario at flow fidelity and makes the same `Result` of it, marked as such."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiled import bundle, is_cached, is_compiled, jit_enabled
from ...fabric.arrays import Fabric
from ...scenario.fidelity import Fidelity
from ...scenario.scenario import Scenario
from ...workload.bounds import bound
from ..progress import Progress, peak_memory_MB
from ..result import UNTIL_NOTE, OperationTimes, PortTable, Result, Stage, Status
from . import records as rec
from .kernel import DONE, EVENTS, NO_PROGRESS, run_flow
from .limits import notes, refuse
from .setup import BUDGET, Links, load_kernels, make_flow

_SLICE_EVENTS = 100_000


def simulate_flow(scenario: Scenario, *, progress: Callable[[Progress], None] | None = None, budget: int = BUDGET) -> Result:
    """Simulate a scenario as flows.

    Parameters
    ----------
    scenario
        From `scalefab.read_scenario`; it may have no faults.
    progress
        Called now and then.
    budget
        Visits of links by lanes that sharing out may cost (`flow.kernel`): more is finer.

    Returns
    -------
    Result
        ``fidelity`` FLOW. Frames, stages and latencies of frames are not there (0); ``notes`` say what not to trust.

    Raises
    ------
    InputError
        Something in the scenario needs frames.
    """
    refuse(scenario)
    begin = time.perf_counter()
    if progress is not None and not is_compiled(run_flow):
        progress(Progress("compile", not jit_enabled() or is_cached(run_flow), 0, 0, 0, 0, 0.0))
    lower = bound(scenario.graph, scenario.fabric, pack=scenario.options.pack)
    load_kernels(scenario.graph, scenario.fabric)
    loaded = time.perf_counter()
    state, links = make_flow(scenario.graph, scenario.fabric, scenario.options, max(lower.ps, 1), budget)
    packed = bundle(state)
    built = time.perf_counter()
    if not is_compiled(run_flow):
        run_flow(packed, 0, 0)
    ready = time.perf_counter()
    total = int(state.op.data_bytes.sum())
    until_ps = scenario.options.until_ps or rec.NEVER_PS
    interrupted = False
    reason = EVENTS
    k = state.kernel[0]
    try:
        while reason == EVENTS:
            reason, _, _ = run_flow(packed, until_ps, _SLICE_EVENTS if jit_enabled() else 1000)
            if progress is not None:
                spent = time.perf_counter() - ready
                progress(Progress("run", True, int(k.now_ps), int(k.events), int(k.executed_bytes), total, spent))
    except KeyboardInterrupt:
        interrupted = True
    wall_s = time.perf_counter() - ready + built - loaded
    return _result(scenario, state, links, reason, interrupted, lower, wall_s, loaded - begin + ready - built)


def _result(
    scenario: Scenario,
    state: rec.State,
    links: Links,
    reason: int,
    interrupted: bool,
    lower: Any,
    wall_s: float,
    compile_s: float,
) -> Result:
    k, op, fabric = state.kernel[0], state.op, scenario.fabric
    status = Status.DONE if reason == DONE else Status.NO_PROGRESS if reason == NO_PROGRESS else Status.PARTIAL
    if interrupted:
        status = Status.PARTIAL
    horizon_ps = rec.NEVER_PS if status is Status.DONE else int(k.now_ps)
    done_ps = np.where(op.done_ps <= horizon_ps, op.done_ps, -1).astype(np.int64)
    told = (*scenario.warnings, *notes(scenario, state))
    if status is Status.PARTIAL and not interrupted:
        told = (*told, UNTIL_NOTE)
    ports, load = _ports(fabric, state, links)
    executed = (op.executed_ps >= 0) & (op.left == 0)
    used = np.flatnonzero(load.any(axis=0))
    times = OperationTimes(
        np.where(done_ps >= 0, op.ready_ps, -1),
        op.first_ps.copy(),
        np.where(executed, op.executed_ps, -1),
        done_ps,
        np.zeros(len(op), np.int8),
    )
    return Result(
        status=status,
        graph=scenario.graph,
        fabric=fabric,
        seed=scenario.options.seed,
        completion_ps=max(0, int(done_ps.max(initial=0))),
        now_ps=int(k.now_ps),
        bound_ps=lower.ps,
        bound_cut=lower.cut,
        operations=times,
        ports=ports,
        frames=0,
        frames_sent=0,
        ack_frames=0,
        cf_updates=0,
        data_bytes=int(k.executed_bytes),
        wire_bytes=int((op.wire_bytes + op.side_bytes)[executed].sum()),
        events=int(k.events),
        stage_ps=np.zeros(len(Stage), np.int64),
        frame_ps=0,
        latency_edges_ps=np.zeros(1, np.int64),
        latency_counts=np.zeros(1, np.int64),
        link_load_bin_ps=int(k.bin_ps),
        link_load=load[:, : int(used[-1]) + 1 if len(used) else 1],
        operations_done=int(np.count_nonzero(done_ps >= 0)),
        wall_s=wall_s,
        compile_s=compile_s,
        peak_MB=peak_memory_MB(),
        notes=told,
        fidelity=Fidelity.FLOW,
    )


def _ports(fabric: Fabric, state: rec.State, links: Links) -> tuple[PortTable, Any]:
    """Return the ports' table and loads; ports that one link stands for share its bytes alike."""
    of_port, n = links.of_port, fabric.ports
    used = of_port >= 0
    shared = np.bincount(of_port[used], minlength=len(state.link))
    wire = np.zeros(n, np.int64)
    load = np.zeros((n, rec.BINS), np.int64)
    if bool(used.any()):
        link = of_port[used]
        order = np.argsort(link, kind="stable")
        rank = np.empty(len(link), np.int64)  # of a port among those of its link: the first ones take what is left over
        rank[order] = np.arange(len(link)) - np.repeat(np.cumsum(shared) - shared, shared)
        total = state.link.wire_bytes[link]
        wire[used] = total // shared[link] + (rank < total % shared[link])
        load[used] = np.rint(state.load[link] / shared[link][:, None]).astype(np.int64)
    busy = wire * fabric.port_ps_num // fabric.port_ps_den
    none = np.zeros(n, np.int64)
    rest = {name: none.copy() for name in PortTable.__dataclass_fields__ if name not in ("wire_bytes", "data_bytes", "busy_ps")}
    return PortTable(wire_bytes=wire, data_bytes=_data_bytes(fabric, state, wire), busy_ps=busy, **rest), load


def _data_bytes(fabric: Fabric, state: rec.State, wire: Any) -> Any:
    """Return data bytes by port: wire bytes at the payload efficiency of the whole run (single links are not told apart)."""
    moved = int((state.op.wire_bytes + state.op.side_bytes).sum())
    share = int(state.op.data_bytes.sum()) / moved if moved else 0.0
    return np.rint(wire * share).astype(np.int64)
