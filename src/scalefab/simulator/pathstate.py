"""Which paths an endpoint uses: states by (source, destination, path), and where the work of a space goes that may not be used.

Only in runs in which links go down (`KERNEL.paths`): there every pair has a space for each path and VC, in one block of the
session table, so that work can move.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import multipath, paths
from ..protocol import operations as ops
from ..protocol import reliability as rh
from ..protocol.reliability import PSN_BITS
from .ports import credit_mark, kick, look_ps, window_mark
from .records import NOWHERE, State
from .rings import enter_ring, queue_reply, queue_share

REDUCED_REQUEST = 1 << 9  # likewise: congested for VC 0; `paths.CONGESTED` stands for VC 2
LOADED = 2  # in `FLOW.moved`: because its path is congested or degraded, not because it is not live
SPACES = 3  # VC 0 .. 2
WATCHED = 1 << 8  # in a path's state, beside `paths.PathState`: an event looks at it again (`recheck`)


@compiled
def state_index(S: State, src: int, dst: int, path: int) -> int:
    """Return the place of a path's state."""
    k = S.kernel[0]
    return (src * k.endpoints + dst) * k.path_count + path


@compiled
def path_live(S: State, src: int, dst: int, path: int) -> bool:
    """Return whether ``src`` may use a path to ``dst``."""
    return paths.is_live(S.path_state[state_index(S, src, dst, path)])


@compiled
def bulk_reduced(state: int) -> bool:
    """Return whether a path counts for a quarter for VC 2."""
    return state & (paths.DEGRADED | paths.CONGESTED) != 0


@compiled
def unwanted(state: int, h: int) -> bool:
    """Return whether bucket ``h`` of VC 0 counts a live path as not live."""
    return h & 3 != 0 and state & (paths.DEGRADED | REDUCED_REQUEST) != 0


@compiled
def space_of(S: State, src: int, dst: int, path: int, vc: int) -> int:
    """Return the session of a path and VC of a pair, -1 = the pair has none."""
    first = S.pair_first[src * S.kernel[0].endpoints + dst]
    return first + path * SPACES + vc if first >= 0 else -1


@compiled
def some_live_path(S: State, src: int, dst: int, after: int) -> int:
    """Return the first live path from ``src`` to ``dst`` behind ``after``, cyclically; -1 = none."""
    n = S.kernel[0].path_count
    for i in range(1, n + 1):
        path = (after + i) % n
        if path_live(S, src, dst, path):
            return path
    return -1


@compiled
def better_fallback(S: State, src: int, dst: int, h: int) -> int:
    """Return the fall-back path of bucket ``h`` among those neither congested nor degraded for it, -1 = none."""
    best = -1
    weight = -1
    for path in range(S.kernel[0].path_count):
        state = S.path_state[state_index(S, src, dst, path)]
        if paths.is_live(state) and not unwanted(state, h):
            w = multipath.fallback_weight(h, S.path_id[path])
            if w > weight:
                best = path
                weight = w
    return best


@compiled
def fallback(S: State, src: int, dst: int, h: int) -> int:
    """Return the fall-back path of bucket ``h``: the live one of largest weight, -1 = none (profile section 5)."""
    best = better_fallback(S, src, dst, h)
    if best >= 0:
        return best
    weight = -1
    for path in range(S.kernel[0].path_count):
        if path_live(S, src, dst, path):
            w = multipath.fallback_weight(h, S.path_id[path])
            if w > weight:
                best = path
                weight = w
    return best


@compiled
def bucket_of(S: State, op: int, index: int) -> int:
    """Return h of a unit of an operation on VC 0."""
    o = S.op[op]
    size = o.chunk if o.kind != ops.GET else (o.bytes if o.chunk <= 0 else o.chunk)
    return multipath.page_hash(S.address[op] + index * size, o.dst)


@compiled
def other_space(S: State, s: int, op: int, index: int) -> int:
    """Return the session that takes over work of session ``s``, whose path is not live; -1 = no path is."""
    session = S.session[s]
    if session.vc == ops.VC_REQUEST:
        path = fallback(S, session.src, session.dst, bucket_of(S, op, index))
    elif session.vc == ops.VC_RESPONSE:
        path = fallback(S, session.src, session.dst, (op + index) & 0x7FFF)
    else:
        path = some_live_path(S, session.src, session.dst, session.path + (op + index) % S.kernel[0].path_count)
    return space_of(S, session.src, session.dst, path, session.vc) if path >= 0 else -1


@compiled
def is_busy(S: State, s: int) -> bool:
    """Return whether a space has frames un-acked or work waiting."""
    return rh.in_flight(S.session[s], PSN_BITS) > 0 or S.flow[s].share_head >= 0


@compiled
def others_busy(S: State, s: int) -> bool:
    """Return whether another live path of the pair of session ``s`` is busy on its VC."""
    session = S.session[s]
    for path in range(S.kernel[0].path_count):
        t = space_of(S, session.src, session.dst, path, session.vc)
        if t != s and is_busy(S, t) and path_live(S, session.src, session.dst, path):
            return True
    return False


@compiled
def refuge(S: State, s: int, h: int) -> int:
    """Return the path that bucket ``h`` of session ``s`` fell back to while that of ``s``, live again, was not."""
    session = S.session[s]
    best = -1
    weight = -1
    for wanted in (True, False):
        for path in range(S.kernel[0].path_count):
            if path == session.path or not path_live(S, session.src, session.dst, path):
                continue
            if wanted and unwanted(S.path_state[state_index(S, session.src, session.dst, path)], h):
                continue
            w = multipath.fallback_weight(h, S.path_id[path])
            if w > weight:
                best = path
                weight = w
        if best >= 0:
            return best
    return best


@compiled
def redirect(S: State, s: int, op: int, index: int) -> int:
    """Return the session that takes new work of session ``s``: itself while its path is live or it is being closed.

    A bucket that has moved comes back when no other space of the pair has anything un-acked or waiting; till then it stays
    where it is: the first busy space that was found took work past what the bucket had under way elsewhere.
    """
    session = S.session[s]
    if path_live(S, session.src, session.dst, session.path):
        if S.flow[s].moved == LOADED and session.vc == ops.VC_REQUEST:
            t = lighter(S, s, op, index)
            if t >= 0:
                return t
        if S.flow[s].moved and session.vc == ops.VC_REQUEST:
            if others_busy(S, s):
                return space_of(S, session.src, session.dst, refuge(S, s, bucket_of(S, op, index)), session.vc)
            S.flow[s].moved = 0
        if S.kernel[0].load and session.vc == ops.VC_REQUEST and not is_busy(S, s):
            t = lighter(S, s, op, index)
            if t >= 0 and t != s:
                S.flow[s].moved = LOADED
                return t
        return s
    if session.state == rh.SPACE_CLOSING:
        return s
    t = other_space(S, s, op, index)
    if t < 0:
        return s
    S.flow[s].moved = 1
    return t


@compiled
def lighter(S: State, s: int, op: int, index: int) -> int:
    """Return where new work of session ``s`` goes while its live path is congested or degraded for VC 0, -1 = it is neither.

    Buckets with h[1:0] = 0 stay, and all do when all paths are so. They leave only with nothing un-acked and nothing waiting at
    ``s``, so that the order of a page holds, and come back as after a path change.
    """
    session = S.session[s]
    state = S.path_state[state_index(S, session.src, session.dst, session.path)]
    if not unwanted(state, 1):
        return -1
    h = bucket_of(S, op, index)
    path = better_fallback(S, session.src, session.dst, h) if unwanted(state, h) else -1
    return space_of(S, session.src, session.dst, path, session.vc) if path >= 0 else s


@compiled
def move_marks(S: State, waiting: Any, here: int, there: int, now_ps: int) -> None:
    """Count the waits of a share or an answer at another port from now on; those that it has had stay its own."""
    if here != there:
        waiting.credit_mark_ps += credit_mark(S.port[there], now_ps) - credit_mark(S.port[here], now_ps)
        waiting.window_mark_ps += window_mark(S.port[there], now_ps) - window_mark(S.port[here], now_ps)


@compiled
def mark_reply(S: State, n: int, now_ps: int) -> None:
    """Count the waits of answer ``n`` at its port from now on."""
    r = S.reply[n]
    port = S.port[S.session[r.session].port]
    r.credit_mark_ps = credit_mark(port, now_ps)
    r.window_mark_ps = window_mark(port, now_ps)


@compiled
def append_share(S: State, n: int, t: int, now_ps: int) -> None:
    """Put share ``n`` at the end of what waits in session ``t``."""
    move_marks(S, S.share[n], S.session[S.share[n].session].port, S.session[t].port, now_ps)
    S.share[n].session = t
    queue_share(S, t, n)
    awake(S, t, now_ps)


@compiled
def append_reply(S: State, n: int, t: int, now_ps: int) -> None:
    """Put answer ``n``, whose waits are counted from `mark_reply` on, at the end of what waits in session ``t``."""
    move_marks(S, S.reply[n], S.session[S.reply[n].session].port, S.session[t].port, now_ps)
    S.reply[n].session = t
    queue_reply(S, t, n)
    awake(S, t, now_ps)


@compiled
def awake(S: State, t: int, now_ps: int) -> None:
    """Let session ``t`` send what it was given."""
    if S.flow[t].place == NOWHERE:
        enter_ring(S, t)
        a = S.session[t].port
        kick(S, a, look_ps(S.port[a], now_ps))
