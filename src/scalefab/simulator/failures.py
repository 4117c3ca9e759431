"""Operations that end without success: their pair has had no live path for 2 ms (status 6), or what they wait for never ends.

Only in runs in which paths change (`KERNEL.paths`). The profile ends the operations of a pair without a live path with status 6
"timeout" and gives no time; a request may be without a word for 2 ms, so that is how long a pair may be without a path (`own`,
docs/decisions/0018). A pair without a path in one direction ends the operations whose requests or answers need that direction.
Later ones end at once, until a path is up again.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import operations as ops
from ..protocol.profile import NO_PATH_PS
from .atomictags import close_tags
from .calendar import push
from .fence import give_up
from .pools import release_reply
from .records import FENCE_EVENTS, NO_PATH, PARKED, State
from .responses import answer_bytes, wake_held
from .retransmit import wake_session
from .rings import queue_reply, queue_share

ENDED_OK, TIMED_OUT, NOT_STARTED = 0, 6, -1
"""How an operation ended, or will: `result.Ending`; 6 is the status of the profile."""


@compiled
def has_failed(S: State, i: int) -> bool:
    """Return whether operation ``i`` has ended without success: nothing of it may be sent or answered any more."""
    return S.op_status[i] != 0


@compiled
def note_no_path(S: State, src: int, dst: int, now_ps: int) -> None:
    """The last live path from ``src`` to ``dst`` is gone: look again when the pair may have none any longer."""
    pair = src * S.kernel[0].endpoints + dst
    if S.pair_since[pair] < 0:
        S.pair_since[pair] = now_ps
        push(S, now_ps + NO_PATH_PS, NO_PATH, pair, 0)


@compiled
def note_path(S: State, src: int, dst: int) -> None:
    """A path from ``src`` to ``dst`` is live again."""
    S.pair_since[src * S.kernel[0].endpoints + dst] = -1


@compiled
def is_cut(S: State, src: int, dst: int, now_ps: int) -> bool:
    """Return whether there has been no live path for so long that operations end."""
    since_ps = S.pair_since[src * S.kernel[0].endpoints + dst]
    return since_ps >= 0 and now_ps - since_ps >= NO_PATH_PS


@compiled
def is_hopeless(S: State, i: int, now_ps: int) -> bool:
    """Return whether operation ``i`` can get no further: the way there is cut, or the way back that an answer needs."""
    o = S.op[i]
    if is_cut(S, o.src, o.dst, now_ps):
        return True
    return (o.posted == 0 or o.kind == ops.GET) and is_cut(S, o.dst, o.src, now_ps)


@compiled
def on_no_path(S: State, pair: int, now_ps: int) -> None:
    """A pair may have had no live path for too long: all that it has begun and not finished ends with status 6."""
    n = S.kernel[0].endpoints
    src = pair // n
    dst = pair % n
    if not is_cut(S, src, dst, now_ps):
        return
    for i in range(len(S.op)):
        o = S.op[i]
        if o.waits > 0 or o.done_ps >= 0 or S.op_status[i] != 0 or ops.is_local(o.kind):
            continue
        if not ((o.src == src and o.dst == dst) or (o.src == dst and o.dst == src)):
            continue
        begin_ps = S.start_ps[i] if S.start_ps[i] > o.ready_ps else o.ready_ps
        if begin_ps + S.node[o.src].tx_ps <= now_ps and is_hopeless(S, i, now_ps):
            fail(S, i)
    for path in range(S.kernel[0].path_count):
        for vc in range(3):
            for p in (src * n + dst, dst * n + src):
                s = int(S.pair_first[p]) + path * 3 + vc
                drop_waiting(S, s, now_ps)


@compiled
def fail(S: State, i: int) -> None:
    """Operation ``i`` ends with status 6; what waits for it, directly or not, will never start."""
    k = S.kernel[0]
    S.op_status[i] = TIMED_OUT
    k.failed += 1
    k.done += 1
    if S.op[i].kind == ops.GET and S.read[i].requested < S.read[i].requests:
        k.dormant -= 1  # its data will not be asked for
    if k.ordered:
        give_up(S, i)
    if k.tags and S.op[i].kind == ops.ATOMIC:
        close_tags(S, i, 0, S.op[i].packets, k.now_ps)
    S.todo[0] = i
    depth = 1
    while depth > 0:
        depth -= 1
        i = S.todo[depth]
        for e in range(S.succ_ptr[i], S.succ_ptr[i + 1]):
            j = S.succ[e]
            if S.op_status[j] != 0:
                continue
            S.op_status[j] = NOT_STARTED
            k.unstarted += 1
            k.done += 1
            kind = S.op[j].kind
            if not ops.is_local(kind):
                k.dormant -= 1
            if kind == ops.GET:
                k.dormant -= 1
            elif kind == ops.FENCE:
                k.dormant -= FENCE_EVENTS
            S.todo[depth] = j
            depth += 1


@compiled
def drop_waiting(S: State, s: int, now_ps: int) -> None:
    """Take what belongs to ended operations out of what waits in session ``s``."""
    flow = S.flow[s]
    n = flow.share_head
    flow.share_head = -1
    while n >= 0:
        following = S.share[n].next
        if not has_failed(S, S.share[n].op):
            queue_share(S, s, n)
        n = following
    n = flow.reply_head
    flow.reply_head = -1
    while n >= 0:
        following = S.reply[n].next
        if has_failed(S, S.reply[n].op):
            free_reply(S, n, S.session[s].port)
        else:
            queue_reply(S, s, n)
        n = following
    if flow.place == PARKED and flow.share_head < 0 and flow.reply_head < 0:
        wake_session(S, s, now_ps)  # it has nothing to wait for any more


@compiled
def free_reply(S: State, n: int, a: int) -> None:
    """Give answer ``n``, which will not be sent, and its room at port ``a`` back."""
    k = S.kernel[0]
    r = S.reply[n]
    S.responses[a].bytes -= answer_bytes(S, r.op, r.first, r.count)
    wake_held(S, a, k.now_ps)
    release_reply(S, n)
