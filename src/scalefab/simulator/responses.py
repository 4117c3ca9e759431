"""The response queue of an endpoint port: finite, so a request may wait in the receive buffer until its responses have room.

======================================= =======================================================================================
event                                   action
======================================= =======================================================================================
DATA frame accepted by RH, none waits   taken if its responses fit, or the queue is empty; else it stays in the receive buffer
in front of it on its VC                with its credits, and what comes behind it on that VC waits too (FIFO)
DATA frame behind one that waits        waits, whatever it carries
responses go into a frame on the line   their bytes are free; each TAKE event takes one waiting frame, VC 0 first
======================================= =======================================================================================

Room is taken when a request is, not when its answer is ready: an answer that memory has begun must have a place. RDMA_READ needs
none: it is a descriptor, its data is fetched by DMA when the port can send it (docs/decisions/0013). What carries answers or is
posted needs none either, so VC 1 and VC 3 always sink, and with the VCs of the profile there is no cycle.

A frame's RH header is read when it arrives: an ACK that rides on a request which waits for room must not wait with it, or the
window of the very responses that hold the room would never open.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import operations as ops
from .calendar import push
from .heldpairs import note_held
from .records import TAKE, State


@compiled
def answer_bytes(S: State, op: int, first: int, count: int) -> int:
    """Return the bytes, TH and body, of the answers to ``count`` transactions of an operation from ``first`` on."""
    o = S.op[op]
    if ops.is_message(o.kind):
        return count * ops.TH_RESPONSE_BYTES
    last = ops.response_body_bytes(o.kind, ops.transaction_bytes(o.bytes, o.chunk, first + count - 1))
    return (count - 1) * ops.response_body_bytes(o.kind, o.chunk) + last


@compiled
def run_needs(S: State, op: int, first: int, count: int) -> int:
    """Return the room that the responses to one run of a request frame need if it is executed now."""
    o = S.op[op]
    if o.posted or o.kind == ops.GET:
        return 0
    if ops.is_message(o.kind):  # COMPLETIONs follow the last packet
        return answer_bytes(S, op, 0, o.answers) if o.executed + count >= o.packets else 0
    return answer_bytes(S, op, first, count)


@compiled
def frame_needs(S: State, f: Any) -> int:
    """Return the room that the responses to a DATA frame need."""
    if f.answer:
        return 0
    size = run_needs(S, f.op, f.first, f.count)
    n = f.more
    while n >= 0:
        r = S.run[n]
        size += run_needs(S, r.op, r.first, r.count)
        n = r.next
    return size


@compiled
def fits(q: Any, size_bytes: int) -> bool:
    """Return whether responses of this size may be taken on; a frame of more than the whole queue is taken when that is empty."""
    return size_bytes == 0 or q.bytes == 0 or q.bytes + size_bytes <= q.limit_bytes


@compiled
def must_wait(S: State, a: int, i: int) -> bool:
    """Return whether frame ``i`` must stay in the receive buffer of endpoint port ``a``, and put it there if so."""
    q = S.responses[a]
    f = S.frame[i]
    if q.held == 0 or S.held_head[a, f.vc] == 0:
        size = frame_needs(S, f)
        if fits(q, size):
            return False
        S.held_needs[a, f.vc] = size
    f.next = -1
    if S.held_head[a, f.vc] == 0:
        S.held_head[a, f.vc] = i + 1
    else:
        S.frame[S.held_tail[a, f.vc] - 1].next = i
    S.held_tail[a, f.vc] = i + 1
    q.held += 1
    if S.kernel[0].ordered:
        f.epoch = note_held(S, f)
    q.waits += 1
    return True


@compiled
def next_held(S: State, a: int) -> int:
    """Return the VC whose first waiting frame may be taken now, -1 for none."""
    q = S.responses[a]
    if q.held == 0:
        return -1
    for vc in range(S.held_head.shape[1]):
        i = S.held_head[a, vc] - 1
        if i >= 0:
            S.held_needs[a, vc] = frame_needs(S, S.frame[i])
            if fits(q, S.held_needs[a, vc]):
                return vc
    return -1


@compiled
def pop_held(S: State, a: int, vc: int) -> int:
    """Take the first waiting frame of a VC out of the receive buffer's list."""
    i = S.held_head[a, vc] - 1
    S.held_head[a, vc] = S.frame[i].next + 1
    S.responses[a].held -= 1
    return i


@compiled
def wake_held(S: State, a: int, now_ps: int) -> None:
    """Let a waiting frame of endpoint port ``a`` be taken now if it may: one event each, so that pools need room for one only."""
    q = S.responses[a]
    if q.held > 0 and q.waking == 0 and next_held(S, a) >= 0:
        q.waking = 1
        push(S, now_ps, TAKE, a, 0)


@compiled
def on_queued(S: State, a: int, size_bytes: int) -> None:
    """Count the bytes of responses that port ``a`` has to send from now on."""
    S.responses[a].bytes += size_bytes
