"""Control ordered sets: CF_UPDATEs that return credits, ACKs and NACKs of LLR. They share the line with frames, 8 B each.

They cost no events. A port that owes one knows when it is due; it leaves at the next frame boundary after that, decided when
someone looks: the port at its next slot, its peer when it settles, or the next change of the counters. Only a sender that is
blocked, or that a NACK is coming to, is woken by an event. Of several that are due, NACK goes first, then ACK, then CF_UPDATE.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import cbfc, llr
from ..protocol.cbfc import COUNTER_BITS, UPDATE_BITS
from ..protocol.llr import SEQUENCE_BITS
from ..protocol.operations import ORDERED_SET_BYTES
from .ports import add_load, kick, line_ps
from .recorder import record_update
from .records import ON_CREDIT, State

_NEVER_PS = 1 << 62


@compiled
def send_update(S: State, q: int, leave_ps: int) -> None:
    """Put the CF_UPDATE that port ``q`` owes on its line at ``leave_ps``; it arrives in the ring of the peer."""
    k = S.kernel[0]
    port = S.port[q]
    best = -1
    best_n = 0
    second = -1
    second_n = 0
    for vc in range(4):
        n = cbfc.unreported(S.receiver[q, vc], COUNTER_BITS)
        if n > best_n:
            second = best
            second_n = best_n
            best = vc
            best_n = n
        elif n > second_n:
            second = vc
            second_n = n
    arrive_ps = put_set(S, q, leave_ps)
    port.cf_updates += 1
    port.cf_last_ps = leave_ps
    p = port.peer
    sender = S.port[p]
    if sender.cf_count == k.cf_ring:  # full: the oldest have arrived long ago, nobody looked
        take_sets(S, p, leave_ps)
    u = S.cf_ring[p, (sender.cf_head + sender.cf_count) & (k.cf_ring - 1)]
    sender.cf_count += 1
    u.t_ps = arrive_ps
    u.vc0 = best
    u.c0 = cbfc.on_report(S.receiver[q, best], UPDATE_BITS)
    if second < 0:  # only one VC has news: told twice
        u.vc1 = best
        u.c1 = u.c0
    else:
        u.vc1 = second
        u.c1 = cbfc.on_report(S.receiver[q, second], UPDATE_BITS)
    record_update(S, q, leave_ps, u)
    port.cf_due_ps = -1
    for vc in range(4):
        if cbfc.unreported(S.receiver[q, vc], COUNTER_BITS) > 0:
            port.cf_due_ps = leave_ps + line_ps(port, k.cf_spacing_bytes)


@compiled
def flush_update(S: State, q: int, now_ps: int) -> None:
    """Bring port ``q`` up to date: buffers that frames have left by now, then the ordered sets that went by now."""
    port = S.port[q]
    while port.holder_head >= 0:
        out = S.port[port.holder_head]
        if out.held_ps > now_ps:
            break
        send_due_sets(S, q, out.held_ps)
        count_freed(S, q, out.held_vc, out.held_credits, out.held_ps)
        out.held_port = -1
        port.holder_head = out.held_next
    send_due_sets(S, q, now_ps)


@compiled
def put_set(S: State, q: int, leave_ps: int) -> int:
    """Put an ordered set on the line of port ``q`` at ``leave_ps``; return when it has arrived at the peer."""
    port = S.port[q]
    time_ps = line_ps(port, ORDERED_SET_BYTES)
    port.free_ps = leave_ps + time_ps
    port.busy_ps += time_ps
    port.wire_bytes += ORDERED_SET_BYTES
    add_load(S, q, leave_ps, ORDERED_SET_BYTES)
    return leave_ps + time_ps + port.delay_ps


@compiled
def ack_due_ps(S: State, q: int) -> int:
    """Return when port ``q`` owes its peer an ACK (the first copy untold has arrived, spacing kept), `_NEVER_PS` = owes none."""
    port = S.port[q]
    sender = S.port[port.peer]
    due_ps = _NEVER_PS
    if sender.copy_told < sender.copy_accepted:
        due_ps = S.copy[port.peer, sender.copy_told & (S.kernel[0].copies - 1)].arrive_ps
    if port.reack_due_ps >= 0 and port.reack_due_ps < due_ps:
        due_ps = port.reack_due_ps
    if due_ps == _NEVER_PS:
        return due_ps
    earliest_ps = port.ack_last_ps + line_ps(port, S.kernel[0].ctlos_spacing_bytes)
    return due_ps if due_ps > earliest_ps else earliest_ps


@compiled
def send_ack_set(S: State, q: int, leave_ps: int, nack: int) -> None:
    """Send ACK or NACK of all that had arrived and was accepted at port ``q`` when it leaves."""
    k = S.kernel[0]
    port = S.port[q]
    p = port.peer
    sender = S.port[p]
    while sender.copy_told < sender.copy_accepted and S.copy[p, sender.copy_told & (k.copies - 1)].arrive_ps <= leave_ps:
        sender.copy_told += 1
    arrive_ps = put_set(S, q, leave_ps)
    port.reack_due_ps = -1
    if nack:
        port.llr_nacks += 1
        port.nack_due_ps = -1
        llr.on_reply_sent(S.llr_rx[p], 2, SEQUENCE_BITS)
        sender.nack_arrives_ps = arrive_ps
    else:
        port.llr_acks += 1
        port.ack_last_ps = leave_ps
    if sender.ack_count == k.ack_ring:  # full: the oldest have arrived long ago, nobody looked
        take_sets(S, p, leave_ps)
    a = S.ack_ring[p, (sender.ack_head + sender.ack_count) & (k.ack_ring - 1)]
    sender.ack_count += 1
    a.t_ps = arrive_ps
    a.upto = sender.copy_told
    a.nack = nack
    if nack:
        kick(S, p, arrive_ps)


@compiled
def send_due_sets(S: State, q: int, now_ps: int) -> None:
    """Send the ordered sets that port ``q`` owed by now, at the frame boundaries at which they went."""
    k = S.kernel[0]
    port = S.port[q]
    at_boundary = port.frame_end_ps <= now_ps  # sets that are due go one behind the other there, before the next frame
    while at_boundary:
        cf_ps = port.cf_due_ps if port.cf_due_ps >= 0 else _NEVER_PS
        ack_ps = ack_due_ps(S, q) if k.llr else _NEVER_PS
        nack_ps = port.nack_due_ps if port.nack_due_ps >= 0 else _NEVER_PS
        due_ps = min(cf_ps, ack_ps, nack_ps)
        if due_ps > now_ps:
            return
        leave_ps = due_ps if due_ps > port.free_ps else port.free_ps
        if nack_ps <= leave_ps:
            send_ack_set(S, q, leave_ps, 1)
        elif ack_ps <= leave_ps:
            send_ack_set(S, q, leave_ps, 0)
        else:
            send_update(S, q, leave_ps)


@compiled
def take_sets(S: State, p: int, now_ps: int) -> None:
    """Apply the ordered sets that have arrived at port ``p``."""
    k = S.kernel[0]
    port = S.port[p]
    while port.ack_count > 0:
        a = S.ack_ring[p, port.ack_head & (k.ack_ring - 1)]
        if a.t_ps > now_ps:
            break
        take_ack_set(S, p, a.upto, a.nack, a.t_ps)
        port.ack_head = (port.ack_head + 1) & (k.ack_ring - 1)
        port.ack_count -= 1
    while port.cf_count > 0:
        u = S.cf_ring[p, port.cf_head & (k.cf_ring - 1)]
        if u.t_ps > now_ps:
            return
        cbfc.on_update(S.sender[p, u.vc0], u.c0, COUNTER_BITS, UPDATE_BITS)
        if u.vc1 != u.vc0:
            cbfc.on_update(S.sender[p, u.vc1], u.c1, COUNTER_BITS, UPDATE_BITS)
        port.cf_head = (port.cf_head + 1) & (k.cf_ring - 1)
        port.cf_count -= 1


@compiled
def take_ack_set(S: State, p: int, upto: int, nack: int, now_ps: int) -> None:
    """The sender of port ``p`` takes an ACK or NACK that acknowledges all copies below ``upto``."""
    k = S.kernel[0]
    port = S.port[p]
    t = S.llr_tx[p]
    freed_bytes = 0
    n = port.copy_una
    while n < upto:
        freed_bytes += S.copy[p, n & (k.copies - 1)].size_bytes
        n += 1
    seq = (upto - 1) & ((1 << SEQUENCE_BITS) - 1)
    if nack:
        port.nack_arrives_ps = -1
        llr.on_nack(t, seq, freed_bytes, SEQUENCE_BITS, now_ps)
    else:
        llr.on_ack(t, seq, freed_bytes, SEQUENCE_BITS, now_ps)
    if upto > port.copy_una:
        port.copy_una = upto


@compiled
def settle(S: State, p: int, now_ps: int) -> None:
    """Bring credits and acknowledged copies of port ``p`` up to date."""
    flush_update(S, S.port[p].peer, now_ps)
    take_sets(S, p, now_ps)


@compiled
def update_arrival_ps(S: State, p: int) -> int:
    """Return when the next CF_UPDATE reaches port ``p`` at the earliest, -1 when none is known."""
    port = S.port[p]
    if port.cf_count > 0:
        return S.cf_ring[p, port.cf_head & (S.kernel[0].cf_ring - 1)].t_ps
    q = S.port[port.peer]
    due_ps = q.cf_due_ps
    if due_ps < 0:
        if q.holder_head < 0:
            return -1
        due_ps = S.port[q.holder_head].held_ps
        earliest = q.cf_last_ps + line_ps(q, S.kernel[0].cf_spacing_bytes)
        if earliest > due_ps:
            due_ps = earliest
    leave_ps = due_ps if due_ps > q.free_ps else q.free_ps
    return leave_ps + line_ps(q, ORDERED_SET_BYTES) + q.delay_ps


@compiled
def free_buffer(S: State, q: int, vc: int, credits: int, now_ps: int) -> None:
    """A packet leaves the receive buffer of port ``q`` now: its credits are due to go back."""
    flush_update(S, q, now_ps)
    count_freed(S, q, vc, credits, now_ps)
    wake_sender(S, q)


@compiled
def count_freed(S: State, q: int, vc: int, credits: int, t_ps: int) -> None:
    """Add freed credits; the CF_UPDATE that tells of them is due when its spacing allows."""
    port = S.port[q]
    cbfc.on_free(S.receiver[q, vc], credits, COUNTER_BITS)
    if port.cf_due_ps < 0:
        earliest = port.cf_last_ps + line_ps(port, S.kernel[0].cf_spacing_bytes)
        port.cf_due_ps = t_ps if t_ps > earliest else earliest


@compiled
def wake_sender(S: State, q: int) -> None:
    """If the sender into port ``q``'s buffer is blocked, let it look when the next CF_UPDATE reaches it."""
    p = S.port[q].peer
    if S.port[p].blocked == ON_CREDIT:
        kick(S, p, update_arrival_ps(S, p))


@compiled
def hold_buffer(S: State, a: int, q: int, vc: int, credits: int, until_ps: int) -> None:
    """The frame that output ``a`` puts on its line holds room in the buffer of port ``q`` until ``until_ps``.

    No event marks the end: the list of holders is worked off whenever someone looks at port ``q``.
    """
    out = S.port[a]
    if out.held_port >= 0:
        flush_update(S, out.held_port, S.kernel[0].now_ps)
    port = S.port[q]
    out.held_port = q
    out.held_vc = vc
    out.held_credits = credits
    out.held_ps = until_ps
    out.held_next = -1
    if port.holder_head < 0:
        port.holder_head = a
        port.holder_tail = a
    elif S.port[port.holder_tail].held_ps <= until_ps:
        S.port[port.holder_tail].held_next = a
        port.holder_tail = a
    elif S.port[port.holder_head].held_ps > until_ps:
        out.held_next = port.holder_head
        port.holder_head = a
    else:
        p = port.holder_head
        n = S.port[p].held_next
        while S.port[n].held_ps <= until_ps:
            p = n
            n = S.port[p].held_next
        out.held_next = n
        S.port[p].held_next = a
    wake_sender(S, q)


@compiled
def ack_arrival_ps(S: State, p: int) -> int:
    """Return when the next ACK or NACK reaches port ``p`` at the earliest, -1 when none is known."""
    port = S.port[p]
    if port.ack_count > 0:
        return S.ack_ring[p, port.ack_head & (S.kernel[0].ack_ring - 1)].t_ps
    q = S.port[port.peer]
    due_ps = ack_due_ps(S, port.peer)
    if due_ps == _NEVER_PS:
        return -1
    leave_ps = due_ps if due_ps > q.free_ps else q.free_ps
    return leave_ps + line_ps(q, ORDERED_SET_BYTES) + q.delay_ps
