"""The first event of a run, put in by hand so that nothing but the kernel itself has to be compiled."""

from __future__ import annotations

from .calendar import BUCKETS, WIDTH_BITS
from .records import RELEASE, State


def schedule_start(state: State) -> None:
    """Put the RELEASE of the earliest operation into the empty event queue of a new state."""
    if len(state.release) == 0:
        return
    k = state.kernel[0]
    o = state.op[state.release[0]]
    begin_ps = int(o.start_ps) + (int(state.node[o.src].tx_ps) if o.share_count > 0 else 0)
    e = state.event[0]
    e.t_ps, e.kind, e.a, e.b, e.next = begin_ps, RELEASE, 0, 0, -1
    k.event_top, k.waiting = 1, 1
    k.events_left -= 1
    bucket = (begin_ps >> WIDTH_BITS) % BUCKETS
    state.bucket_head[bucket] = state.bucket_tail[bucket] = 1
