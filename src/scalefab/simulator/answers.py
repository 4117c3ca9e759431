"""Answers begin here: a transaction that was executed gets a place among those that wait to leave."""

from __future__ import annotations

from ..compiled import compiled
from .pathstate import append_reply, mark_reply, redirect
from .pools import new_reply
from .ports import kick
from .records import State
from .responses import answer_bytes, on_queued


@compiled
def reply(S: State, a: int, s: int, op: int, first: int, count: int, executed_ps: int) -> None:
    """Queue answers of ``count`` transactions of ``op`` for session ``s`` at endpoint port ``a``."""
    k = S.kernel[0]
    i = new_reply(S)
    r = S.reply[i]
    if k.paths:
        s = redirect(S, s, op, first)
        a = S.session[s].port
    port = S.port[a]
    r.op = op
    r.first = first
    r.count = count
    r.session = s
    r.next = -1
    r.answered_ps = executed_ps
    r.ready_ps = executed_ps + S.node[port.node].tx_ps
    if k.paths and S.link[a].dead:  # it waits until its space is closed
        on_queued(S, a, answer_bytes(S, op, first, count))
        mark_reply(S, i, k.now_ps)
        append_reply(S, i, s, k.now_ps)
        return
    if port.pending_head < 0:
        port.pending_head = i
    else:
        S.reply[port.pending_tail].next = i
    port.pending_tail = i
    on_queued(S, a, answer_bytes(S, op, first, count))
    kick(S, a, r.ready_ps if r.ready_ps > port.free_ps else port.free_ps)
