"""Sessions that have something to send stand in a ring at their port, one a VC."""

from __future__ import annotations

from ..compiled import compiled
from .records import IN_RING, State


@compiled
def enter_ring(S: State, s: int) -> None:
    """Put session ``s`` at the end of its port's ring of sessions that have something to send."""
    session = S.session[s]
    flow = S.flow[s]
    a = session.port
    vc = session.vc
    flow.place = IN_RING
    flow.ring_next = -1
    tail = S.ring_tail[a, vc] - 1
    if S.ring_head[a, vc] == 0:
        S.ring_head[a, vc] = s + 1
        S.burst[a, vc] = 0
    else:
        S.flow[tail].ring_next = s
    S.ring_tail[a, vc] = s + 1
