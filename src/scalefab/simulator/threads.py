"""Several threads for one run: each simulates planes that have nothing to do with the others (`planes`), with equal results.

The parts work on the operations of one state, in which their rows are apart; all else is their own, and what makes the result is
put together at the end. A part that is done before the others goes on with its timers up to the end of all, as it would have.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from ..protocol.profile import Kind
from .kernel import Reason
from .planes import Part, state_of_part
from .records import State
from .setup import grow
from .start import schedule_start

_SLICE_EVENTS = 2_000_000
_TELL_S = 0.25
_SUMS = (
    *(
        "events",
        "numbered",
        "sent",
        "delivered",
        "ack_frames",
        "executed_bytes",
        "wire_bytes",
        "frame_ps",
        "done",
        "lost",
        "late",
    ),
    *("resent", "nacks", "control_frames", "path_errors", "again_runs", "sen_frames", "slept", "past"),
)
_BY_PORT = ("port", "link", "sender", "receiver", "llr_tx", "llr_rx", "pause_tx", "pause_rx")  # the last two with PFC only
_LATEST = ("now_ps", "completion_ps", "moved_ps")


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """The compiled kernel, `compiled.direct`: it runs without the GIL; and what makes of a state what it takes."""

    kernel: Callable[..., tuple[int, int, int]]
    pack: Callable[[State], Any]


@dataclass(slots=True, eq=False)
class _Thread:
    """One part: its state, which grows, and why its kernel came back."""

    state: State
    made: Made
    reason: Reason = Reason.EVENTS

    @property
    def k(self) -> Any:
        return self.state.kernel[0]

    def run(self, until_ps: int, stop: Event) -> None:
        table = self.made.pack(self.state)
        while not stop.is_set():
            reason, _, _ = self.made.kernel(table, until_ps, _SLICE_EVENTS)
            self.reason = Reason(int(reason))
            if self.reason is Reason.GROW:
                self.state = grow(self.state)
                table = self.made.pack(self.state)
            elif self.reason is not Reason.EVENTS:
                return


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the parts ended.

    Attributes
    ----------
    reason
        `Reason.DONE` and `Reason.UNTIL` as for one thread; EVENTS when interrupted; NO_PROGRESS when some part stood still.
    same
        False: something happened by which one thread would have gone on otherwise; run it again on one.
    interrupted
        By Ctrl-C; the state is that of one moment.
    """

    reason: Reason
    same: bool
    interrupted: bool = False


def run_parts(
    state: State,
    parts: tuple[Part, ...],
    plane_of: Any,
    made: Made,
    until_ps: int,
    tell: Callable[[int, int, int], None],
) -> Outcome:
    """Simulate parts at the same time and put the result into ``state``.

    Parameters
    ----------
    state
        Of the whole run, before the first event.
    parts, plane_of
        Of `planes.split`; the plane of each port.
    made
        The simulator's kernel.
    until_ps
        Time limit.
    tell
        Called some times a second with time, events and executed bytes so far.
    """
    threads = [_Thread(state_of_part(state, part, plane_of), made) for part in parts]
    stop = Event()
    interrupted = False
    for thread in threads:
        schedule_start(thread.state)

    def told() -> None:
        ks = [thread.k for thread in threads]
        tell(min(int(k.now_ps) for k in ks), sum(int(k.events) for k in ks), sum(int(k.executed_bytes) for k in ks))

    with ThreadPoolExecutor(len(threads)) as pool:
        running = {pool.submit(thread.run, until_ps, stop) for thread in threads}
        try:
            while running:
                finished, running = wait(running, timeout=_TELL_S)
                for future in finished:
                    future.result()
                told()
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
            wait(running)
        end_ps = max(int(thread.k.now_ps) for thread in threads)
        still = [pool.submit(_follow, thread, end_ps, interrupted) for thread in threads]
        for future in still:
            future.result()
    reasons = {thread.reason for thread in threads}
    slept = any(thread.k.slept for thread in threads)
    late = any(thread.k.late and not thread.k.rh for thread in threads)
    _put_together(state, threads)
    if interrupted:
        return Outcome(Reason.EVENTS, True, interrupted=True)
    for reason in (Reason.NO_PROGRESS, Reason.UNTIL):
        if reason in reasons:
            return Outcome(reason, reason is Reason.UNTIL and not slept and not late)
    return Outcome(Reason.DONE, not slept and not late)


def _follow(thread: _Thread, end_ps: int, interrupted: bool) -> None:
    """Bring a part up to ``end_ps``, when the last one ended: its timers go on meanwhile, as in one run of all."""
    if interrupted:
        if thread.reason in (Reason.EVENTS, Reason.GROW):
            thread.run(end_ps + 1, Event())
        return
    if thread.reason is not Reason.DONE:
        return
    k = thread.k
    moved_ps, k.moved_ps, k.hold = int(k.moved_ps), end_ps, 1
    thread.run(end_ps, Event())
    k = thread.k
    k.hold, k.moved_ps = 0, moved_ps
    thread.reason = Reason.DONE


def _put_together(state: State, threads: list[_Thread]) -> None:
    k = state.kernel[0]
    ks = [thread.k for thread in threads]
    for name in _SUMS:
        k[name] = sum(int(other[name]) for other in ks)
    k.events -= sum(_starts(thread.state) for thread in threads) - _starts(state)
    for name in _LATEST:
        k[name] = max(int(other[name]) for other in ks)
    k.bin_bits = max(int(other.bin_bits) for other in ks)
    k.executed_bits = max(int(other.executed_bits) for other in ks)
    state.executed_bins[:] = 0
    rows = []
    for thread in threads:
        own, other = thread.state, thread.k
        mine = own.mine == 1
        for name in _BY_PORT:
            if len(getattr(own, name)) == len(mine):
                getattr(state, name)[mine] = getattr(own, name)[mine]
        state.load[mine] = _merged(own.load[mine], int(k.bin_bits - other.bin_bits))
        state.executed_bins[:] += _merged(own.executed_bins[None], int(k.executed_bits - other.executed_bits))[0]
        state.stage_ps[:] += own.stage_ps
        state.latency[:] += own.latency
        rows.append(own.sample[: int(other.sampled)])
    sampled = np.concatenate(rows)[: int(k.sample_room)]
    state.sample[: len(sampled)] = sampled
    k.sampled = len(sampled)


def _starts(state: State) -> int:
    """Return the events that only begin operations: START, and a RELEASE for each later time at which some begin."""
    op = state.op[state.release]
    begin_ps = state.start_ps[state.release] + np.where(
        (op.kind == Kind.JOIN) | (op.kind == Kind.COMPUTE), 0, state.node.tx_ps[op.src]
    )
    return 1 + len(np.unique(begin_ps[begin_ps > 0]))


def _merged(bins: Any, bits: int) -> Any:
    """Return bins whose width is 2^bits times that of ``bins``, shape (rows, bins)."""
    wide = bins.reshape(len(bins), -1, 1 << bits).sum(axis=2)
    out = np.zeros_like(bins)
    out[:, : wide.shape[1]] = wide
    return out
