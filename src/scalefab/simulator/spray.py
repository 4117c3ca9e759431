"""What an endpoint makes of paths that are congested or degraded (profile section 5): they count for a quarter.

=================== ===========================================================================================================
traffic             while some live path is not reduced
=================== ===========================================================================================================
VC 2, round robin   of a share on a reduced path as much stays as a quarter of a turn gives it, the rest goes to the other live
                    paths in equal parts: when it begins to wait, and again when the path becomes reduced
VC 2, least queued  after each frame its session rests for three times the frame's line time: fourfold bytes, a quarter's rate
VC 0                a bucket with h[1:0] != 0 goes to its fall-back path when its old space has nothing un-acked or waiting
=================== ===========================================================================================================

Messages by hash or on a single path, and operations bound to a stack, stay where they are. If all live paths are reduced that
counts for none. Only where `KERNEL.load` is set.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import operations as ops
from ..protocol import paths
from ..protocol.multipath import sprayed_next
from .calendar import push
from .fence import begin_anew
from .pathstate import awake, bulk_reduced, space_of, state_index
from .ports import credit_mark, kick, line_ps, look_ps, window_mark
from .records import NOWHERE, RESTING, RESUME, State
from .rings import enter_ring, queue_share

_SPARE_SHARES = 64


@compiled
def count_live(S: State, src: int, dst: int, reduced: bool) -> int:
    """Return how many live paths of a pair are reduced for bulk traffic, or are not."""
    found = 0
    for path in range(S.kernel[0].path_count):
        state = S.path_state[state_index(S, src, dst, path)]
        if paths.is_live(state) and bulk_reduced(state) == reduced:
            found += 1
    return found


@compiled
def is_reduced(S: State, s: int) -> bool:
    """Return whether bulk session ``s`` has a reduced path, and its pair a better one."""
    session = S.session[s]
    state = S.path_state[state_index(S, session.src, session.dst, session.path)]
    return (
        session.vc == ops.VC_BULK
        and paths.is_live(state)
        and bulk_reduced(state)
        and count_live(S, session.src, session.dst, False) > 0
    )


@compiled
def advanced(index: int, stride: int, count: int) -> int:
    """Return the packet ``count`` behind ``index`` in a share."""
    if stride == 1:
        return index + count
    for _ in range(count):
        index = sprayed_next(index, stride)
    return index


@compiled
def split_share(S: State, n: int, s: int, now_ps: int) -> int:
    """Leave a share of session ``s`` what a reduced path takes, give the rest to the others; return what is left."""
    k = S.kernel[0]
    share = S.share[n]
    if share.stride != k.path_count or len(S.share) - k.share_top < _SPARE_SHARES or not is_reduced(S, s):
        return share.left
    session = S.session[s]
    good = count_live(S, session.src, session.dst, False)
    slow = count_live(S, session.src, session.dst, True)
    turns = paths.WEIGHT * good + slow
    kept = (share.left * (good + slow) + (share.op + share.index) % turns) // turns
    rest = share.left - kept
    index = advanced(share.index, share.stride, kept)
    share.left = kept
    given = 0
    for i in range(k.path_count):
        path = (session.path + share.op + i) % k.path_count
        state = S.path_state[state_index(S, session.src, session.dst, path)]
        if not paths.is_live(state) or bulk_reduced(state):
            continue
        count = rest // good + (1 if given < rest % good else 0)
        given += 1
        if count > 0:
            give(S, n, space_of(S, session.src, session.dst, path, session.vc), index, count, now_ps)
            index = advanced(index, share.stride, count)
    return kept


@compiled
def give(S: State, n: int, t: int, index: int, count: int, now_ps: int) -> None:
    """Queue ``count`` packets of share ``n`` from ``index`` on in session ``t``."""
    k = S.kernel[0]
    m = k.share_top
    k.share_top += 1
    old = S.share[n]
    share = S.share[m]
    share.op = old.op
    share.session = t
    share.index = index
    share.stride = old.stride
    share.left = count
    share.answer = old.answer
    share.ready_ps = old.ready_ps
    port = S.port[S.session[t].port]
    share.credit_mark_ps = credit_mark(port, now_ps)
    share.window_mark_ps = window_mark(port, now_ps)
    queue_share(S, t, m)
    awake(S, t, now_ps)


@compiled
def split_waiting(S: State, s: int, now_ps: int) -> None:
    """The path of session ``s`` has become reduced: most of what waits there goes to others."""
    flow = S.flow[s]
    n = flow.share_head
    flow.share_head = -1
    while n >= 0:
        following = S.share[n].next
        if S.share[n].stride == 0 or split_share(S, n, s, now_ps) > 0:
            queue_share(S, s, n)
        n = following
    begin_anew(S, S.session[s].src, S.session[s].dst, now_ps)  # what went elsewhere has left its FENCE behind


@compiled
def must_rest(S: State, s: int) -> bool:
    """Return whether session ``s``, which has just sent a frame, takes from a common cursor over a reduced path."""
    n = S.flow[s].share_head
    return n >= 0 and S.share[n].stride == 0 and is_reduced(S, s)


@compiled
def rest(S: State, s: int, wire_bytes: int, start_ps: int) -> None:
    """Let session ``s``, which has left its ring, send again after four line times of its last frame."""
    S.flow[s].place = RESTING
    push(S, start_ps + paths.WEIGHT * line_ps(S.port[S.session[s].port], wire_bytes), RESUME, s, 0)


@compiled
def on_resume(S: State, s: int, now_ps: int) -> None:
    """Session ``s`` has rested."""
    if S.flow[s].place != RESTING:
        return
    S.flow[s].place = NOWHERE
    enter_ring(S, s)
    a = S.session[s].port
    kick(S, a, look_ps(S.port[a], now_ps))
