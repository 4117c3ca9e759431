"""What every port does, endpoint's or switch's: its one live event, line time, credits and CF_UPDATEs, waiting times.

CF_UPDATEs cost no events: a port that owes one notes when it is due; it leaves at the next frame boundary after that, decided
when someone looks: the port at its next slot, its peer when it settles credits, or the next change of the counters. Only a
sender that is blocked for credits is woken by an event.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import cbfc
from ..protocol.cbfc import COUNTER_BITS, UPDATE_BITS
from ..protocol.operations import ORDERED_SET_BYTES
from .calendar import push
from .recorder import gap_free_ps, record_hop, record_update
from .records import EGRESS, NOT_BLOCKED, ON_CREDIT, ON_WINDOW, SLOT, State


@compiled
def line_ps(p: Any, size_bytes: int) -> int:
    """Return the time of ``size_bytes`` on a port's line, rounded up."""
    if p.den == 1:  # 100, 200, 400, 800 Gb/s are whole ps a byte: no division
        return size_bytes * p.num
    return (size_bytes * p.num + p.den - 1) // p.den


@compiled
def kick(S: State, a: int, t_ps: int) -> None:
    """Make sure that port ``a`` looks at its work at ``t_ps`` or before."""
    p = S.port[a]
    if p.sched_ps >= 0 and p.sched_ps <= t_ps:
        return
    p.sched_ps = t_ps
    push(S, t_ps, EGRESS if a >= S.kernel[0].first_switch_port else SLOT, a, 0)


@compiled
def block(p: Any, reason: int, now_ps: int) -> None:
    """Note that a port has work that may not go."""
    p.blocked = reason
    p.blocked_ps = now_ps


@compiled
def unblock(p: Any, now_ps: int) -> None:
    """Close the wait that `block` opened."""
    if p.blocked == ON_CREDIT:
        p.credit_wait_ps += now_ps - p.blocked_ps
        p.from_ps = p.blocked_ps
        p.to_ps = now_ps
    elif p.blocked == ON_WINDOW:
        p.window_wait_ps += now_ps - p.blocked_ps
        p.wfrom_ps = p.blocked_ps
        p.wto_ps = now_ps
    p.blocked = NOT_BLOCKED


@compiled
def credit_mark(p: Any, t_ps: int) -> int:
    """Return the port's credit wait summed up to ``t_ps``, which lies after the beginning of its last wait but one."""
    mark = p.credit_wait_ps
    if p.blocked == ON_CREDIT and t_ps > p.blocked_ps:
        return mark + t_ps - p.blocked_ps
    if p.to_ps > t_ps:
        mark -= p.to_ps - (p.from_ps if p.from_ps > t_ps else t_ps)
    return mark


@compiled
def window_mark(p: Any, t_ps: int) -> int:
    """Return the port's window wait summed up to ``t_ps``; see `credit_mark`."""
    mark = p.window_wait_ps
    if p.blocked == ON_WINDOW and t_ps > p.blocked_ps:
        return mark + t_ps - p.blocked_ps
    if p.wto_ps > t_ps:
        mark -= p.wto_ps - (p.wfrom_ps if p.wfrom_ps > t_ps else t_ps)
    return mark


@compiled
def add_load(S: State, a: int, t_ps: int, wire_bytes: int) -> None:
    """Count wire bytes of a port in their time bin; when time outgrows the bins, neighbours are merged."""
    k = S.kernel[0]
    index = t_ps // k.bin_ps
    while index >= k.bins:
        half = k.bins // 2
        for port in range(S.load.shape[0]):
            for i in range(half):
                S.load[port, i] = S.load[port, 2 * i] + S.load[port, 2 * i + 1]
            for i in range(half, k.bins):
                S.load[port, i] = 0
        k.bin_ps *= 2
        index = t_ps // k.bin_ps
    S.load[a, index] += wire_bytes


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
    time_ps = line_ps(port, ORDERED_SET_BYTES)
    port.free_ps = leave_ps + time_ps
    port.busy_ps += time_ps
    port.wire_bytes += ORDERED_SET_BYTES
    port.cf_updates += 1
    port.cf_last_ps = leave_ps
    add_load(S, q, leave_ps, ORDERED_SET_BYTES)
    p = port.peer
    sender = S.port[p]
    if sender.cf_count == k.cf_ring:  # full: the oldest have arrived long ago, nobody looked
        take_updates(S, p, leave_ps)
    u = S.cf_ring[p, (sender.cf_head + sender.cf_count) & (k.cf_ring - 1)]
    sender.cf_count += 1
    u.t_ps = leave_ps + time_ps + port.delay_ps
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
    """Bring port ``q`` up to date: buffers that frames have left by now, then the CF_UPDATEs that went by now."""
    port = S.port[q]
    while port.holder_head >= 0:
        out = S.port[port.holder_head]
        if out.held_ps > now_ps:
            break
        send_due_updates(S, q, out.held_ps)
        count_freed(S, q, out.held_vc, out.held_credits, out.held_ps)
        out.held_port = -1
        port.holder_head = out.held_next
    send_due_updates(S, q, now_ps)


@compiled
def send_due_updates(S: State, q: int, now_ps: int) -> None:
    """Send the CF_UPDATEs that port ``q`` owed by now, at the frame boundaries at which they went."""
    port = S.port[q]
    while port.cf_due_ps >= 0:
        leave_ps = port.cf_due_ps if port.cf_due_ps > port.free_ps else port.free_ps
        if leave_ps > now_ps:
            return
        send_update(S, q, leave_ps)


@compiled
def take_updates(S: State, p: int, now_ps: int) -> None:
    """Apply the CF_UPDATEs that have arrived at port ``p``."""
    k = S.kernel[0]
    port = S.port[p]
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
def settle(S: State, p: int, now_ps: int) -> None:
    """Bring the credits of port ``p`` up to date."""
    flush_update(S, S.port[p].peer, now_ps)
    take_updates(S, p, now_ps)


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
def occupy(S: State, a: int, frame: Any, start_ps: int) -> None:
    """Put a frame on the line of port ``a`` at ``start_ps``: credits, line time, statistics."""
    k = S.kernel[0]
    port = S.port[a]
    wire = frame.size_bytes + 20
    cbfc.on_send(S.sender[a, frame.vc], frame.credits, COUNTER_BITS)
    cbfc.on_receive(S.receiver[port.peer, frame.vc], frame.credits, COUNTER_BITS)
    time_ps = line_ps(port, wire)
    port.free_ps = start_ps + time_ps
    port.busy_ps += time_ps
    port.wire_bytes += wire
    port.data_bytes += frame.payload_bytes
    if frame.kind == 0:
        port.frames += 1
    else:
        port.ack_frames += 1
    add_load(S, a, start_ps if start_ps > k.now_ps else k.now_ps, wire)
    if frame.trace_row >= 0:
        record_hop(S, a, frame, start_ps, gap_free_ps(port.free_ps, port.num, port.den))
