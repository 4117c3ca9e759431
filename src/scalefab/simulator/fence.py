"""FENCE at its source: on which sequence spaces it goes, what it waits for, how it begins anew (`protocol.ordering`).

Only where the graph has fences (`KERNEL.ordered`). A FENCE of the graph goes to one destination. It stands behind everything that
its source has issued to that destination before it, of whatever entry of the workload; operations that must stay behind it wait
for it in the graph. Who releases or acquires is therefore put into edges when the graph is built, and the kernel knows FENCE
only (docs/decisions/0020).

==================================== ==========================================================================================
event                                action
==================================== ==========================================================================================
ready                                FENCE on each space with frames un-acked or waiting, behind them; on some space if none has
path change, paths reduced           what was queued again or moved stands elsewhere now: the fence begins anew, in an event of
                                     its own, on the spaces as they are then; answers of before do not count
FENCE_RSP, response                  one less to wait for; with the last one it is done
the pair is cut                      it ends with status 6 as any operation
==================================== ==========================================================================================

A space whose path is not live counts and gets no FENCE: what is left there moves, and then the fence begins anew.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import operations as ops
from ..protocol import ordering
from ..protocol import reliability as rh
from ..protocol.reliability import PSN_BITS
from .calendar import push
from .orderrecords import FENCE_ACTIVE, FENCE_IDLE, FENCE_OVER
from .pathstate import awake, path_live
from .ports import credit_mark, window_mark
from .records import FENCE_ANEW, FENCE_DONE, FENCE_EVENTS, State
from .rings import queue_share


@compiled
def is_fence(S: State, op: int) -> bool:
    """Return whether an operation is a FENCE."""
    return S.op[op].kind == ops.FENCE


@compiled
def pair_of(S: State, src: int, dst: int) -> int:
    """Return the row of a pair between which fences go, -1 = none do."""
    return S.order_pair[src * S.kernel[0].endpoints + dst]


@compiled
def issue(S: State, i: int) -> None:
    """Operation ``i`` is issued: fences to its destination that begin later stand behind it."""
    o = S.op[i]
    p = pair_of(S, o.src, o.dst)
    if p >= 0:
        S.serial[i] = ordering.on_issue(S.issued[p], 0, o.posted != 0)  # acquiring stands in the graph's edges: order 0


@compiled
def ended(S: State, i: int, t_ps: int) -> None:
    """Operation ``i`` has its response at ``t_ps``, or ends without: fences behind it wait for one less."""
    if S.serial[i] < 0 or S.op[i].posted:
        return
    p = pair_of(S, S.op[i].src, S.op[i].dst)
    ordering.on_response(S.issued[p], 0)
    n = S.pair[p].fences
    while n >= 0:
        following = S.fenced[n].next
        if ordering.on_earlier(S.fence[n], S.serial[i]):
            end(S, n, t_ps)
        n = following


@compiled
def needs(S: State, s: int) -> bool:
    """Return whether a fence sends FENCE on space ``s``."""
    session = S.session[s]
    return session.vc != ops.VC_RESPONSE and ordering.needs_fence(session, 1 if S.flow[s].share_head >= 0 else 0, PSN_BITS)


@compiled
def takes_fence(S: State, s: int) -> bool:
    """Return whether a FENCE may be queued in space ``s``: what is there will not be queued again elsewhere."""
    session = S.session[s]
    if session.vc == ops.VC_RESPONSE:
        return False
    if S.kernel[0].paths == 0:
        return True
    return session.state != rh.SPACE_CLOSING and path_live(S, session.src, session.dst, session.path)


@compiled
def count_spaces(S: State, p: int) -> int:
    """Return on how many spaces of a pair a fence that begins now sends FENCE."""
    found = 0
    for s in range(S.pair[p].first, S.pair[p].first + S.pair[p].count):
        if needs(S, s):
            found += 1
    return found


@compiled
def queue(S: State, n: int, now_ps: int) -> None:
    """Queue a FENCE of fence ``n`` in each space that needs one, or in the first one that can take it."""
    p = S.fenced[n].pair
    alone = count_spaces(S, p) == 0
    for s in range(S.pair[p].first, S.pair[p].first + S.pair[p].count):
        if takes_fence(S, s) and (alone or needs(S, s)):
            put(S, n, s, now_ps)
            if alone:
                return


@compiled
def put(S: State, n: int, s: int, now_ps: int) -> None:
    """Queue a FENCE of fence ``n`` behind what waits in space ``s``; its index says the attempt and the space."""
    k = S.kernel[0]
    q = S.pair[S.fenced[n].pair]
    m = k.share_top
    k.share_top += 1
    share = S.share[m]
    share.op = S.fenced[n].op
    share.session = s
    share.index = S.fence[n].attempt * q.count + s - q.first
    share.stride = 1
    share.left = 1
    share.answer = 0
    share.ready_ps = now_ps
    port = S.port[S.session[s].port]
    share.credit_mark_ps = credit_mark(port, now_ps)
    share.window_mark_ps = window_mark(port, now_ps)
    queue_share(S, s, m)
    awake(S, s, now_ps)


@compiled
def begin(S: State, i: int, now_ps: int) -> None:
    """FENCE ``i`` begins: behind all that its source has issued to its destination."""
    n = S.op[i].cursor
    g = S.fenced[n]
    q = S.pair[g.pair]
    ordering.begin_fence(S.fence[n], S.issued[g.pair], count_spaces(S, g.pair))
    g.state = FENCE_ACTIVE
    g.next = -1
    S.op[i].first_ps = now_ps
    if q.fences < 0:
        q.fences = n
    else:
        last = q.fences
        while S.fenced[last].next >= 0:
            last = S.fenced[last].next
        S.fenced[last].next = n
    queue(S, n, now_ps)


@compiled
def begin_anew(S: State, src: int, dst: int, now_ps: int) -> None:
    """Work between ``src`` and ``dst`` has moved: the fences under way there begin anew."""
    k = S.kernel[0]
    if k.ordered == 0:
        return
    p = pair_of(S, src, dst)
    if p < 0:
        return
    n = S.pair[p].fences
    while n >= 0:
        g = S.fenced[n]
        if g.renewing == 0:
            g.renewing = 1
            k.dormant -= 1
            push(S, now_ps, FENCE_ANEW, n, 0)
        ordering.begin_anew(S.fence[n], 1)  # from now on: an answer that comes before the event counts no more
        n = g.next


@compiled
def renew(S: State, n: int, now_ps: int) -> None:
    """Begin fence ``n`` anew on the spaces as they are now."""
    g = S.fenced[n]
    g.renewing = 0
    if g.state != FENCE_ACTIVE:
        return
    S.kernel[0].dormant += 1
    ordering.begin_anew(S.fence[n], count_spaces(S, g.pair))
    queue(S, n, now_ps)


@compiled
def unlink(S: State, n: int) -> None:
    """Take fence ``n`` out of its pair's list, and give back the room for its events."""
    g = S.fenced[n]
    q = S.pair[g.pair]
    if q.fences == n:
        q.fences = g.next
    else:
        m = q.fences
        while S.fenced[m].next != n:
            m = S.fenced[m].next
        S.fenced[m].next = g.next
    g.state = FENCE_OVER
    S.kernel[0].dormant -= FENCE_EVENTS - g.renewing


@compiled
def end(S: State, n: int, t_ps: int) -> None:
    """Fence ``n`` has nothing left to wait for at ``t_ps``; what waits for it goes on in an event of its own."""
    unlink(S, n)
    S.op[S.fenced[n].op].executed_ps = t_ps
    push(S, t_ps, FENCE_DONE, S.fenced[n].op, 0)


@compiled
def give_up(S: State, i: int) -> None:
    """Operation ``i`` ends without success: a fence will not be done, and later ones do not wait for any other."""
    if not is_fence(S, i):
        ended(S, i, S.kernel[0].now_ps)
        return
    n = S.op[i].cursor
    if S.fenced[n].state == FENCE_ACTIVE:
        unlink(S, n)
    elif S.fenced[n].state == FENCE_IDLE:
        S.fenced[n].state = FENCE_OVER
        S.kernel[0].dormant -= FENCE_EVENTS


@compiled
def note_fences(S: State, s: int, f: Any) -> None:
    """Note which FENCE data frame ``f`` of session ``s`` carries, the last one, and its PSN."""
    if f.answer:
        return
    if is_fence(S, f.op):
        note(S, s, f.op, f.first, f.psn)
    n = f.more
    while n >= 0:
        r = S.run[n]
        if is_fence(S, r.op):
            note(S, s, r.op, r.first, f.psn)
        n = r.next


@compiled
def note(S: State, s: int, op: int, key: int, psn: int) -> None:
    """Note the last FENCE that session ``s`` has sent."""
    last = S.fence_note[s]
    last.op = op
    last.key = key
    last.psn = psn
