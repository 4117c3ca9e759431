"""The first event of a run, put in by hand so that nothing but the kernel itself has to be compiled."""

from __future__ import annotations

from .records import START, State


def schedule_start(state: State) -> None:
    """Put START at 0 ps into the empty event queue of a new state."""
    k = state.kernel[0]
    e = state.event[0]
    e.t_ps, e.kind, e.a, e.b, e.next = 0, START, 0, 0, -1
    k.event_top, k.waiting = 1, 1
    k.events_left -= 1
    state.bucket_head[0] = state.bucket_tail[0] = 1
