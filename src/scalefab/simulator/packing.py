"""What goes into a frame: packets or transactions of what waits in a session, in order, while they fit (section 1)."""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import operations as ops
from ..protocol.multipath import sprayed_next
from .atomictags import is_new, may_take, take_tag
from .records import State


@compiled
def unit_data_bytes(S: State, op: int, index: int) -> int:
    """Return the data bytes of one packet or transaction."""
    o = S.op[op]
    if ops.is_bulk(o.kind):
        return ops.packet_bytes(o.bytes, o.chunk, S.kernel[0].mtu, index)
    return ops.transaction_bytes(o.bytes, o.chunk, index)


@compiled
def unit_body_bytes(kind: int, answer: int, data_bytes: int) -> int:
    """Return TH and padded body of one packet or transaction."""
    if answer:
        return ops.response_body_bytes(kind, data_bytes)
    return ops.request_body_bytes(kind, data_bytes)


@compiled
def unit_payload(kind: int, answer: int, data_bytes: int) -> int:
    """Return the data bytes that travel: LOAD and GET carry them in the answer, the others in the request."""
    if kind == ops.LOAD or kind == ops.GET:
        return data_bytes if answer else 0
    return 0 if answer else data_bytes


@compiled
def data_of(S: State, op: int, answer: int, index: int) -> int:
    """Return the data bytes that unit ``index`` of an operation concerns; a COMPLETION or a read request concerns none."""
    kind = S.op[op].kind
    if answer and ops.is_message(kind):
        return 0
    if kind == ops.GET and not answer:
        return 0
    return unit_data_bytes(S, op, index)


@compiled
def compose(S: State, s: int, i: int) -> int:
    """Pack a frame of session ``s`` from what waits there, in order, while it fits.

    With ``i`` < 0 only the size of the transactions is returned and nothing changes; else frame ``i`` is filled and what it
    holds is taken from the session. One function for both, so that the credit check sees exactly the frame that will leave.
    """
    k = S.kernel[0]
    flow = S.flow[s]
    room = k.body_limit
    used = 0
    payload = 0
    units = 0
    last_run = -1
    # answers first: a session carries answers (VC 1) or shares (VC 0, 2), never both
    r = flow.reply_head
    if r >= 0:
        offset = 0
        while r >= 0:
            reply = S.reply[r]
            kind = S.op[reply.op].kind
            took = 0
            while offset < reply.count:
                data = data_of(S, reply.op, 1, reply.first + offset)
                body = unit_body_bytes(kind, 1, data)
                if units > 0 and (used + body > room or k.pack == 0):
                    break
                used += body
                payload += unit_payload(kind, 1, data)
                units += 1
                offset += 1
                took += 1
            if i >= 0 and took > 0:
                if S.frame[i].count == 0:
                    S.frame[i].ready_ps = reply.answered_ps
                    S.frame[i].credit_ps = reply.credit_mark_ps
                    S.frame[i].window_ps = reply.window_mark_ps
                last_run = add_run(S, i, last_run, reply.op, reply.first, took, 1)
                reply.first += took
                reply.count -= took
                offset = 0
                if reply.count == 0:
                    flow.reply_head = reply.next
                    reply.next = k.reply_free
                    k.reply_free = r
                    k.replies_left += 1
                    r = flow.reply_head
                    continue
                break
            if offset < reply.count:
                break
            r = reply.next
            offset = 0
        if i >= 0:
            S.frame[i].answer = 1
            S.frame[i].payload_bytes = payload
            S.responses[S.session[s].port].bytes -= used  # they leave the response queue
        return used
    n = flow.share_head
    fresh = 0  # tags that a frame which is only measured would take
    while n >= 0:
        share = S.share[n]
        o = S.op[share.op]
        kind = o.kind
        index = share.index if share.stride > 0 else o.cursor
        left = share.left if share.stride > 0 else o.packets - o.cursor
        stride = share.stride if share.stride > 0 else 1
        first = index
        took = 0
        while left > 0:
            data = data_of(S, share.op, share.answer, index)
            body = unit_body_bytes(kind, share.answer, data)
            if kind == ops.ATOMIC and share.answer == 0:
                body += o.cursor  # of compare-swap: 8 B more, `setup`
            if kind == ops.PUT_SIGNAL and index == o.packets - 1:
                body += ops.SIGNAL_BYTES
            if units > 0 and (used + body > room or k.pack == 0):
                break
            if k.tags and kind == ops.ATOMIC:
                if not may_take(S, share.op, index, fresh):
                    break
                if i >= 0:
                    take_tag(S, share.op, index)
                else:
                    fresh += is_new(S, share.op, index)
            used += body
            payload += unit_payload(kind, share.answer, data)
            units += 1
            took += 1
            index = index + 1 if stride == 1 else sprayed_next(index, stride)
            left -= 1
            if used + ops.TH_RESPONSE_BYTES > room:
                break
        if i >= 0 and took > 0:
            if S.frame[i].count == 0:
                S.frame[i].answer = share.answer
                S.frame[i].ready_ps = share.ready_ps - S.node[S.session[s].src].tx_ps
                S.frame[i].credit_ps = share.credit_mark_ps
                S.frame[i].window_ps = share.window_mark_ps
            last_run = add_run(S, i, last_run, share.op, first, took, stride)
            if share.answer == 0 and o.first_ps < 0:
                o.first_ps = S.frame[i].start_ps
            if share.stride > 0:
                share.index = index
                share.left = left
            else:
                o.cursor = index
        if left > 0:
            break
        following = share.next
        if i >= 0:
            flow.share_head = following
        if k.pack == 0 or used + ops.TH_REQUEST_BYTES > room:
            break
        n = following
        if n >= 0 and (
            S.share[n].answer != share.answer
            or (S.share[n].stride == 0 and S.op[S.share[n].op].cursor >= S.op[S.share[n].op].packets)
        ):
            break
    if i >= 0:
        S.frame[i].payload_bytes = payload
    return used


@compiled
def add_run(S: State, i: int, last_run: int, op: int, first: int, count: int, stride: int) -> int:
    """Add a run of transactions to frame ``i``; the first lies in the frame itself. Return the last run, -1 = the frame."""
    f = S.frame[i]
    if f.count == 0:
        f.op = op
        f.first = first
        f.count = count
        f.stride = stride
        return -1
    k = S.kernel[0]
    n = k.run_free
    if n >= 0:
        k.run_free = S.run[n].next
    else:
        n = k.run_top
        k.run_top += 1
    run = S.run[n]
    k.runs_left -= 1
    run.op = op
    run.first = first
    run.count = count
    run.stride = stride
    run.next = -1
    if last_run < 0:
        f.more = n
    else:
        S.run[last_run].next = n
    return n
