"""Tags of ATOMICs in the kernel: a source takes none 64 or more ahead of the oldest one that is without its response (section 1).

Only where some source has more than 64 ATOMIC transactions for one target (`KERNEL.tags`): fewer can never meet the limit.

================================= =============================================================================================
event                             action
================================= =============================================================================================
transaction goes into a frame     takes the next tag of its pair; with none free it waits, and all behind it in its space
its response comes                the tag is closed; when the oldest one is, those that waited go on
path change queues it again       keeps its tag
operation ends with status 6      its tags are closed
================================= =============================================================================================

Tags count up without end here; on the wire modulo 2^15. So at most 64 are unanswered, as `protocol.tags.Tags` keeps it, and the
target's result cache forgets none too early. Messages (PUT, SEND) have 64 tags a pair as well and take none here: a message is an
operation with many packets, and 64 of them under way carry more than a round trip unless they are shorter than some 1.7 KB.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import operations as ops
from ..protocol.tags import OPEN_MESSAGES_MAX
from .pathstate import awake
from .records import NOWHERE, State

NOT_TAKEN, CLOSED = -1, -2


@compiled
def pair_row(S: State, op: int) -> int:
    """Return the row of the pair of an operation."""
    return S.order_pair[S.op[op].src * S.kernel[0].endpoints + S.op[op].dst]


@compiled
def may_take(S: State, op: int, index: int, fresh: int) -> bool:
    """Return whether a transaction may go into a frame that takes ``fresh`` tags before it."""
    if S.tag[S.tag_base[op] + index] != NOT_TAKEN:
        return True
    q = S.pair[pair_row(S, op)]
    return q.next_tag + fresh - q.oldest_tag < OPEN_MESSAGES_MAX


@compiled
def take_tag(S: State, op: int, index: int) -> None:
    """A transaction has gone into a frame."""
    at = S.tag_base[op] + index
    if S.tag[at] == NOT_TAKEN:
        q = S.pair[pair_row(S, op)]
        S.tag[at] = q.next_tag
        q.next_tag += 1


@compiled
def is_new(S: State, op: int, index: int) -> int:
    """Return 1 for a transaction that has no tag yet."""
    return 1 if S.tag[S.tag_base[op] + index] == NOT_TAKEN else 0


@compiled
def is_starved(S: State, s: int) -> bool:
    """Return whether session ``s`` has nothing but an ATOMIC in front for which no tag is free; it is woken when one is."""
    n = S.flow[s].share_head
    if n < 0 or S.flow[s].reply_head >= 0:
        return False
    share = S.share[n]
    if share.answer or S.op[share.op].kind != ops.ATOMIC or may_take(S, share.op, share.index, 0):
        return False
    S.pair[pair_row(S, share.op)].starved = 1
    return True


@compiled
def close_tags(S: State, op: int, first: int, count: int, now_ps: int) -> None:
    """Responses of ``count`` transactions of an ATOMIC have come: their tags are free, those that waited for them go on."""
    p = pair_row(S, op)
    q = S.pair[p]
    base = S.tag_base[op]
    for i in range(base + first, base + first + count):
        if S.tag[i] >= 0:
            S.closed[p, S.tag[i] % OPEN_MESSAGES_MAX] = 1
        S.tag[i] = CLOSED
    while S.closed[p, q.oldest_tag % OPEN_MESSAGES_MAX]:
        S.closed[p, q.oldest_tag % OPEN_MESSAGES_MAX] = 0
        q.oldest_tag += 1
    if q.starved and q.next_tag - q.oldest_tag < OPEN_MESSAGES_MAX:
        q.starved = 0
        for s in range(q.first, q.first + q.count):
            if S.flow[s].place == NOWHERE and S.flow[s].share_head >= 0:
                awake(S, s, now_ps)
