"""A source endpoint's port: control first, then VC 0 .. 2 by bytes; in a VC sessions take turns of 16 frames."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import cbfc, rh_sender, switching
from ..protocol import operations as ops
from ..protocol import reliability as rh
from ..protocol.reliability import PSN_BITS
from .atomictags import is_starved
from .control import send_control
from .credits import may_charge
from .failures import free_reply, has_failed
from .fence import note_fences
from .kept import clone, copy_to_resend, is_resending, keep
from .link import begin_look, goes_first, may_transmit, transmit
from .ordered_sets import sleep
from .packing import compose
from .pathchange import move_room
from .pathstate import append_reply, redirect
from .pools import new_frame
from .ports import block, credit_mark, kick, look_ps, window_mark
from .recorder import record_frame
from .records import ACK, DATA, IN_RING, NOWHERE, ON_WINDOW, PARKED, State
from .responses import wake_held
from .retransmit import arm_retry
from .rings import enter_ring
from .spray import must_rest, rest


@compiled
def take_pending(S: State, a: int, now_ps: int) -> None:
    """Move the answers that are ready by now to their sessions."""
    port = S.port[a]
    i = port.pending_head
    while i >= 0 and S.reply[i].ready_ps <= now_ps:
        r = S.reply[i]
        following = r.next
        r.next = -1
        r.credit_mark_ps = credit_mark(port, r.ready_ps)
        r.window_mark_ps = window_mark(port, r.ready_ps)
        if S.kernel[0].paths:
            if has_failed(S, r.op):
                free_reply(S, i, a)
                i = following
                continue
            t = redirect(S, r.session, r.op, r.first)
            if t != r.session:
                move_room(S, i, a, S.session[t].port)
                append_reply(S, i, t, now_ps)
                i = following
                continue
        flow = S.flow[r.session]
        if flow.reply_head < 0:
            flow.reply_head = i
        else:
            S.reply[flow.reply_tail].next = i
        flow.reply_tail = i
        if flow.place == NOWHERE:
            enter_ring(S, r.session)
        i = following
    port.pending_head = i


@inlined
def next_session(S: State, a: int, vc: int) -> int:
    """Return the session at the head of a VC's ring that may send, -1 for none. Full windows are parked, empty sessions leave."""
    k = S.kernel[0]
    while True:
        s = S.ring_head[a, vc] - 1
        if s < 0:
            return -1
        flow = S.flow[s]
        if is_resending(S, s):
            return s
        if has_work(S, flow) and not (k.tags and is_starved(S, s)):
            if rh.in_flight(S.session[s], PSN_BITS) < k.window and S.session[s].state == rh.SPACE_OPEN:
                return s
            leave_ring(S, a, vc, flow)
            flow.place = PARKED
            S.port[a].parked += 1
        else:
            leave_ring(S, a, vc, flow)
            flow.place = NOWHERE


@inlined
def has_work(S: State, flow: Any) -> bool:
    """Return whether a session has something to send; shares whose common cursor others have exhausted are dropped."""
    if flow.reply_head >= 0:
        return True
    while flow.share_head >= 0:
        share = S.share[flow.share_head]
        if share.stride != 0 or S.op[share.op].cursor < S.op[share.op].packets:
            return True
        flow.share_head = share.next
    return False


@compiled
def leave_ring(S: State, a: int, vc: int, flow: Any) -> None:
    """Take the head out of a VC's ring."""
    S.ring_head[a, vc] = flow.ring_next + 1
    S.burst[a, vc] = 0


@compiled
def rotate(S: State, a: int, vc: int, s: int) -> None:
    """Put the head of a VC's ring behind the others."""
    flow = S.flow[s]
    if flow.ring_next >= 0:
        leave_ring(S, a, vc, flow)
        enter_ring_tail(S, a, vc, s)
    S.burst[a, vc] = 0


@compiled
def enter_ring_tail(S: State, a: int, vc: int, s: int) -> None:
    """Append a session to a ring that is not empty."""
    flow = S.flow[s]
    flow.ring_next = -1
    S.flow[S.ring_tail[a, vc] - 1].ring_next = s
    S.ring_tail[a, vc] = s + 1
    flow.place = IN_RING


@compiled
def head_control(S: State, a: int, now_ps: int) -> int:
    """Return the session whose standalone ACK is next and ready, -1 for none. ACKs that rode on DATA meanwhile are dropped."""
    port = S.port[a]
    while port.control_head >= 0:
        s = port.control_head
        flow = S.flow[s]
        if flow.control_ps > now_ps:
            return -1
        if S.session[s].unacked > 0:
            return s
        port.control_head = flow.control_next
        flow.in_control = 0
    return -1


@compiled
def send_ack(S: State, a: int, s: int, start_ps: int) -> None:
    """Send a standalone ACK for session ``s`` on the path that its frames came by."""
    k = S.kernel[0]
    port = S.port[a]
    flow = S.flow[s]
    session = S.session[s]
    port.control_head = flow.control_next
    flow.in_control = 0
    i = new_frame(S, s, ACK, start_ps)
    f = S.frame[i]
    f.src = session.dst
    f.dst = session.src
    f.vc = ops.VC_CONTROL
    f.size_bytes = ops.ACK_FRAME_BYTES
    f.credits = cbfc.credits_needed(ops.ACK_FRAME_BYTES, k.overhead_bytes, k.credit_bytes)
    f.psn = 0
    f.ack_session = s
    f.ack_psn = rh.on_ack_sent(session, PSN_BITS)
    S.owed[s] = 0
    k.ack_frames += 1
    record_frame(S, f)
    transmit(S, a, i, start_ps)


@compiled
def line_vc(k: Any, vc: int) -> int:
    """Return the VC that DATA of a sequence space of ``vc`` takes on the line."""
    return ops.VC_REQUEST if k.one_vc else vc


@inlined
def send_data(S: State, a: int, vc: int, s: int, credits: int, start_ps: int) -> None:
    """Send the next frame of session ``s``."""
    k = S.kernel[0]
    port = S.port[a]
    session = S.session[s]
    flow = S.flow[s]
    if is_resending(S, s):
        resend(S, a, vc, s, start_ps)
        return
    i = new_frame(S, s, DATA, start_ps)
    f = S.frame[i]
    body = compose(S, s, i)
    f.src = session.src
    f.dst = session.dst
    f.vc = line_vc(k, vc)
    f.size_bytes = ops.frame_bytes(body)
    f.credits = credits
    f.credit_ps = port.credit_wait_ps - f.credit_ps
    f.window_ps = port.window_wait_ps - f.window_ps
    f.psn = rh_sender.on_send(session, PSN_BITS, start_ps)
    if k.ordered and k.paths:
        note_fences(S, s, f)
    if k.rh:
        keep(S, i)
        arm_retry(S, s)
    ride_along(S, s, f)
    k.sent += 1
    k.wire_bytes += f.size_bytes + ops.WIRE_EXTRA_BYTES
    record_frame(S, f)
    S.deficit[a, vc] -= f.size_bytes + ops.WIRE_EXTRA_BYTES
    S.burst[a, vc] += 1
    if flow.reply_head < 0 and flow.share_head < 0:
        leave_ring(S, a, vc, flow)
        flow.place = NOWHERE
    elif k.load and vc == ops.VC_BULK and must_rest(S, s):
        leave_ring(S, a, vc, flow)
        rest(S, s, int(f.size_bytes) + ops.WIRE_EXTRA_BYTES, start_ps)
    elif S.burst[a, vc] >= k.service:
        rotate(S, a, vc, s)
    transmit(S, a, i, start_ps)
    wake_held(S, a, k.now_ps)  # responses that went made room for others


@compiled
def ride_along(S: State, s: int, f: Any) -> None:
    """Let an ACK that is due to the destination on this path, of any VC, ride on DATA frame ``f``."""
    for other in range(S.twin.shape[1]):
        t = S.twin[s, other]
        if t >= 0 and S.owed[t] and S.session[t].unacked > 0:
            S.owed[t] = 0
            f.ack_session = t
            f.ack_psn = rh.on_ack_sent(S.session[t], PSN_BITS)
            return


@compiled
def resend(S: State, a: int, vc: int, s: int, start_ps: int) -> None:
    """Send the next frame of session ``s`` again, end to end."""
    k = S.kernel[0]
    session = S.session[s]
    kept = copy_to_resend(S, s)
    rh_sender.next_resend(session, S.retry[s], PSN_BITS, start_ps)
    S.keep[s].again = kept
    i = clone(S, kept, S.frame[kept].start_ps)
    f = S.frame[i]
    f.again = 1
    f.again_ps = start_ps - f.start_ps
    ride_along(S, s, f)
    k.resent += 1
    record_frame(S, f)
    S.deficit[a, vc] -= f.size_bytes + ops.WIRE_EXTRA_BYTES
    S.burst[a, vc] += 1
    if S.burst[a, vc] >= k.service:
        rotate(S, a, vc, s)
    transmit(S, a, i, start_ps)


@compiled
def next_size(S: State, s: int) -> int:
    """Return the size of the frame that session ``s`` sends next."""
    if is_resending(S, s):
        return S.frame[copy_to_resend(S, s)].size_bytes
    return ops.frame_bytes(compose(S, s, -1))


@inlined
def on_slot(S: State, a: int, now_ps: int) -> None:
    """Endpoint port ``a`` looks at its work."""
    k = S.kernel[0]
    port = S.port[a]
    start_ps = begin_look(S, a, now_ps)
    if start_ps < 0:
        return
    take_pending(S, a, now_ps)
    if goes_first(S, a, start_ps):
        return
    short_of_credit = False
    held_by_llr = False
    control = k.rh and port.ctl_head >= 0 and S.ctl[port.ctl_head].ready_ps <= now_ps
    s = head_control(S, a, now_ps)
    if s >= 0 or control:
        n = cbfc.credits_needed(ops.ACK_FRAME_BYTES, k.overhead_bytes, k.credit_bytes)
        S.wanted[a, ops.VC_CONTROL] = n
        if not may_transmit(S, a, ops.ACK_FRAME_BYTES, ops.VC_CONTROL):
            held_by_llr = True
        elif may_charge(S, a, ops.VC_CONTROL, n):
            if control:
                send_control(S, a, start_ps)
            else:
                send_ack(S, a, s, start_ps)
            kick(S, a, look_ps(port, now_ps))
            return
        else:
            short_of_credit = True
    ready = 0
    s0 = -1
    s1 = -1
    s2 = -1
    n0 = 0
    n1 = 0
    n2 = 0
    for vc in range(3):
        if S.ring_head[a, vc] == 0:
            continue
        s = next_session(S, a, vc)
        if s < 0:
            continue
        size = next_size(S, s)
        n = cbfc.credits_needed(size, k.overhead_bytes, k.credit_bytes)
        if not may_transmit(S, a, size, line_vc(k, vc)):
            held_by_llr = True
            S.wanted[a, line_vc(k, vc)] = n
            continue
        if not may_charge(S, a, line_vc(k, vc), n):
            short_of_credit = True
            S.wanted[a, line_vc(k, vc)] = n
            continue
        ready |= 1 << vc
        if vc == 0:
            s0 = s
            n0 = n
        elif vc == 1:
            s1 = s
            n1 = n
        else:
            s2 = s
            n2 = n
    vc = switching.byte_turn(S.deficit, a, port.turn, ready, k.quantum_bytes)
    if vc >= 0:
        port.turn = vc
        if vc == 0:
            send_data(S, a, vc, s0, n0, start_ps)
        elif vc == 1:
            send_data(S, a, vc, s1, n1, start_ps)
        else:
            send_data(S, a, vc, s2, n2, start_ps)
        kick(S, a, look_ps(port, now_ps))
        return
    if short_of_credit or held_by_llr:
        sleep(S, a, now_ps, held_by_llr)
    elif port.parked > 0:
        block(port, ON_WINDOW, now_ps)
    if port.control_head >= 0 and S.flow[port.control_head].control_ps > now_ps:
        kick(S, a, S.flow[port.control_head].control_ps)
    if k.rh and port.ctl_head >= 0 and S.ctl[port.ctl_head].ready_ps > now_ps:
        kick(S, a, S.ctl[port.ctl_head].ready_ps)
    if port.pending_head >= 0:
        kick(S, a, S.reply[port.pending_head].ready_ps)
