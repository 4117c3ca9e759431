"""FENCE at its target: answered when all that was accepted from its source is visible; and its answer, back at the source."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import ordering
from ..protocol.reliability import PSN_BITS
from .answers import reply
from .fence import end, is_fence, pair_of
from .heldpairs import held_in
from .orderrecords import FENCE_ACTIVE
from .pools import new_reply, release_reply
from .records import State


@compiled
def is_bare_fence(S: State, f: Any) -> bool:
    """Return whether a request frame holds a FENCE only, which touches no memory."""
    return f.answer == 0 and f.more < 0 and is_fence(S, f.op)


@compiled
def note_visible(S: State, f: Any, visible_ps: int) -> None:
    """What frame ``f`` did is visible at ``visible_ps``."""
    p = pair_of(S, f.src, f.dst)
    if p >= 0:
        ordering.on_visible(S.pair[p], visible_ps)


@compiled
def on_fence(S: State, a: int, s: int, op: int, key: int) -> None:
    """A FENCE of session ``s`` is taken at port ``a``."""
    q = S.pair[pair_of(S, S.op[op].src, S.op[op].dst)]
    if q.held0 == 0 and q.held1 == 0:
        reply(S, a, S.flow[s].answer, op, key, 1, ordering.answer_ps(q, S.kernel[0].now_ps))
        return
    i = new_reply(S)
    r = S.reply[i]
    r.op = op
    r.first = key
    r.session = s
    if held_in(q, 1 - q.epoch) == 0:  # a new epoch begins: this one waits for those of the old one
        q.epoch = 1 - q.epoch
        r.next = q.early
        q.early = i
    else:
        r.next = q.late
        q.late = i


@compiled
def note_executed(S: State, src: int, dst: int, epoch: int, now_ps: int) -> None:
    """A request that waited for room was executed: answer the FENCEs that waited for it, if it was the last one."""
    p = pair_of(S, src, dst)
    if p < 0:
        return
    q = S.pair[p]
    if epoch:
        q.held1 -= 1
    else:
        q.held0 -= 1
    while held_in(q, 1 - q.epoch) == 0 and (q.early >= 0 or q.late >= 0):
        answer_all(S, q, now_ps)
        if q.late >= 0:
            q.early = q.late
            q.late = -1
            q.epoch = 1 - q.epoch


@compiled
def answer_all(S: State, q: Any, now_ps: int) -> None:
    """Answer the FENCEs that waited for the older epoch."""
    while q.early >= 0:
        i = q.early
        r = S.reply[i]
        q.early = r.next
        s = r.session
        op = r.op
        key = r.first
        release_reply(S, i)
        reply(S, S.session[s].peer_port, S.flow[s].answer, op, key, 1, ordering.answer_ps(q, now_ps))


@compiled
def on_fence_answer(S: State, op: int, key: int, t_ps: int) -> None:
    """A FENCE_RSP has come: its space has nothing since that FENCE; if it is of this attempt, the fence waits for one less."""
    n = S.op[op].cursor
    g = S.fenced[n]
    q = S.pair[g.pair]
    if S.kernel[0].paths:
        s = q.first + key % q.count
        last = S.fence_note[s]
        if last.op == op and last.key == key:
            ordering.on_fenced(S.retry[s], last.psn, PSN_BITS)
    if g.state == FENCE_ACTIVE and ordering.on_fence_rsp(S.fence[n], key // q.count):
        end(S, n, t_ps)
