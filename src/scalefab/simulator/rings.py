"""Sessions that have something to send stand in a ring at their port, one a VC."""

from __future__ import annotations

from ..compiled import compiled
from .records import IN_RING, State


@compiled
def queue_share(S: State, s: int, n: int) -> None:
    """Put share ``n`` behind what waits in session ``s``."""
    flow = S.flow[s]
    S.share[n].next = -1
    if flow.share_head < 0:
        flow.share_head = n
    else:
        S.share[flow.share_tail].next = n
    flow.share_tail = n


@compiled
def queue_reply(S: State, s: int, n: int) -> None:
    """Put answer ``n`` behind those that wait in session ``s``."""
    flow = S.flow[s]
    S.reply[n].next = -1
    if flow.reply_head < 0:
        flow.reply_head = n
    else:
        S.reply[flow.reply_tail].next = n
    flow.reply_tail = n


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
