"""One hop of a frame: charged once, numbered, put on the line, accepted or lost, resent until it gets through (LLR).

What becomes of a frame is drawn when it starts on the line, so the receiver's state is known at once and dropped followers never
become events; a NACK is one event (it wakes the sender). A copy in the replay buffer is a size; it holds the frame itself only
while the receiver has not accepted it.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import cbfc, faults, llr
from ..protocol.cbfc import COUNTER_BITS
from ..protocol.llr import SEQUENCE_BITS
from ..protocol.operations import PREAMBLE_BYTES, WIRE_EXTRA_BYTES
from .calendar import push
from .ccupdate import accept_cc, make_cc, note_move
from .credits import charge, has_room
from .line import occupy
from .linkfaults import LOST, SKIPPED, next_fate
from .ordered_sets import flush_update, settle
from .pause import send_pause, takes
from .pools import lose_frame
from .ports import add_load, kick, line_ps, look_ps, unblock
from .rawflow import BY_VC, MARKED_ELIGIBLE
from .records import ARRIVE, CC, LLR_TIMER, PAUSE_DUE, RAW, SEN, State
from .retry import copy_at, flushed
from .switch_input import forward

_GIVEN_UP, _POISONED_COPY = -1, -2


@compiled
def is_eligible(S: State, a: int, vc: int) -> bool:
    """Return whether frames of a VC go under LLR at port ``a``."""
    k = S.kernel[0]
    return k.llr == 1 and (k.mixed == 0 or (S.link[a].eligible >> vc) & 1 == 1)


@inlined
def may_transmit(S: State, a: int, size_bytes: int, vc: int) -> bool:
    """Return whether LLR lets port ``a`` send a new frame of this size and VC (or drop it at once)."""
    k = S.kernel[0]
    if not is_eligible(S, a, vc):
        return True
    if k.careful == 0 and k.lossy == 0:
        return llr.may_send(S.llr_tx[a], size_bytes, SEQUENCE_BITS)
    link = S.link[a]
    return llr.on_new_frame(S.llr_tx[a], size_bytes, link.init_action, link.flush_action, SEQUENCE_BITS) != llr.NEW_WAIT


@compiled
def transmit(S: State, a: int, i: int, start_ps: int) -> None:
    """Send frame ``i`` from port ``a`` for the first time."""
    f = S.frame[i]
    k = S.kernel[0]
    port = S.port[a]
    vc = f.vc
    if f.kind != CC:
        charge(S, a, vc, f.credits)
        if f.kind != SEN:
            note_move(S, k.now_ps)
    action = llr.NEW_SEND
    eligible = is_eligible(S, a, vc)
    if k.mixed and f.kind == RAW and f.answer != BY_VC:  # a tester marks single frames
        eligible = k.llr == 1 and f.answer == MARKED_ELIGIBLE
    if not eligible:
        action = llr.NEW_AS_INELIGIBLE
    elif k.careful or k.lossy:
        link = S.link[a]
        action = llr.on_new_frame(S.llr_tx[a], f.size_bytes, link.init_action, link.flush_action, SEQUENCE_BITS)
        if action == llr.NEW_DISCARD:
            link.discarded += 1
            lose_frame(S, i)
            return
    fate = next_fate(S, a, f) if k.careful and f.kind != CC else llr.GOOD
    if fate != SKIPPED:
        occupy(S, a, f, start_ps)
    f.mark_ps = start_ps
    if action == llr.NEW_AS_INELIGIBLE:
        send_plain(S, a, i, fate, start_ps)
        return
    seq = llr.on_send(S.llr_tx[a], f.size_bytes, SEQUENCE_BITS, start_ps)
    if port.copy_next - port.copy_una > port.copy_mask:
        widen(S, a)
    n = port.copy_next & port.copy_mask
    c = copy_at(S, a, port.copy_next)
    port.copy_next += 1
    c.size_bytes = f.size_bytes
    c.frame = i
    if k.careful or k.lossy:
        S.sent_ps[a, n] = start_ps
        if k.careful:
            arm_timer(S, a, start_ps)
    if fate == SKIPPED:
        c.arrive_ps = start_ps
        return
    arrive(S, a, c, seq, fate, start_ps)


@compiled
def widen(S: State, a: int) -> None:
    """Double the ring of copies of port ``a``, which is full.

    Entries are as many as LLR's limits allow, 2048 of 16 B; a link of usual length has 20 frames under way, so that a ring that
    used all of them walked through 32 KB a port.
    """
    port = S.port[a]
    old = port.copy_mask
    port.copy_mask = 2 * old + 1
    for n in range(port.copy_una, port.copy_next):
        if n & (old + 1):
            now, then = copy_at(S, a, n), copy_at(S, a, n & old)
            now.arrive_ps, now.size_bytes, now.frame = then.arrive_ps, then.size_bytes, then.frame
            if S.kernel[0].careful or S.kernel[0].lossy:
                S.sent_ps[a, n & port.copy_mask] = S.sent_ps[a, n & old]


@compiled
def line_quality(S: State, a: int, size_bytes: int, arrive_ps: int, fate: int) -> int:
    """Return what the line makes of a frame that port ``a`` sends: `Quality`, or `LOST`."""
    port = S.port[a]
    bad = False
    if S.kernel[0].lossy:  # drawn for each frame, so that another fault does not shift what the later ones meet
        number = port.fault_count
        port.fault_count += 1
        wire = size_bytes + WIRE_EXTRA_BYTES
        bad = faults.loses(port.fault_key, number, S.loss_threshold[S.link[a].line, wire] + S.link[a].loss)
    if S.kernel[0].careful and (fate == LOST or arrive_ps > S.link[a].down_from_ps):
        return LOST
    return llr.BAD if bad else fate


@inlined
def accept(S: State, a: int, i: int, arrive_ps: int, start_ps: int) -> None:
    """The link layer at the far end of port ``a`` passes frame ``i`` on."""
    f = S.frame[i]
    q = S.port[a].peer
    if f.kind == CC:
        accept_cc(S, a, i, arrive_ps)
        return
    if S.kernel[0].mixed and (S.link[a].lossless >> f.vc) & 1 == 0:  # whether there is room is seen when it has come
        f.stage_ps = start_ps
        push(S, arrive_ps, ARRIVE, a, i)
        return
    cbfc.on_receive(S.receiver[q, f.vc], f.credits, COUNTER_BITS)
    forward(S, a, i, start_ps)


@compiled
def on_arrive(S: State, a: int, i: int) -> None:
    """Frame ``i`` of a best-effort VC has come from port ``a``: it is dropped if there is no room."""
    f = S.frame[i]
    q = S.port[a].peer
    flush_update(S, q, S.kernel[0].now_ps)
    room = takes(S, q, f.vc, f.credits, S.kernel[0].now_ps) if S.kernel[0].pfc else has_room(S, q, f)
    if not room:
        S.link[q].no_room += 1
        lose_frame(S, i)
        return
    cbfc.on_receive(S.receiver[q, f.vc], f.credits, COUNTER_BITS)
    forward(S, a, i, f.stage_ps)


@compiled
def send_plain(S: State, a: int, i: int, fate: int, start_ps: int) -> None:
    """Frame ``i`` goes without a sequence number and without a copy: it is lost if the line loses or corrupts it."""
    f = S.frame[i]
    port = S.port[a]
    arrive_ps = start_ps + line_ps(port, PREAMBLE_BYTES + f.size_bytes) + port.delay_ps
    quality = line_quality(S, a, f.size_bytes, arrive_ps, fate)
    if quality == LOST or fate == SKIPPED:
        quality = llr.BAD
    verdict = llr.ACCEPT if quality == llr.GOOD else (llr.ACCEPT_POISONED if quality == llr.POISONED else llr.DROP)
    if S.kernel[0].llr:
        verdict = llr.on_ineligible(S.llr_rx[a], quality)
    if verdict == llr.DROP:
        S.link[a].line_lost += 1
        lose_frame(S, i)
        return
    accept(S, a, i, arrive_ps, start_ps)


@compiled
def is_poisoned(S: State, c: Any) -> bool:
    """Return whether copy ``c`` leaves with a poisoned FCS, whatever the line makes of it."""
    return c.frame == _POISONED_COPY or (c.frame >= 0 and S.frame[c.frame].poisoned == 1)


@inlined
def arrive(S: State, a: int, c: Any, seq: int, fate: int, start_ps: int) -> None:
    """Decide what becomes of the copy that is on the line of port ``a`` since ``start_ps``, and let the receiver judge it."""
    port = S.port[a]
    c.arrive_ps = start_ps + line_ps(port, PREAMBLE_BYTES + c.size_bytes) + port.delay_ps
    quality = llr.GOOD
    if S.kernel[0].lossy or S.kernel[0].careful:
        S.link[a].sequenced += 1
        quality = line_quality(S, a, c.size_bytes, c.arrive_ps, fate)
        if is_poisoned(S, c):
            S.link[a].sequenced_poisoned += 1
        if quality == LOST:
            arm_timer(S, a, start_ps)
            return
    rx = S.llr_rx[a]
    duplicates = rx.duplicate
    verdict = llr.on_frame(rx, seq, quality, SEQUENCE_BITS)
    q = S.port[port.peer]
    if verdict != llr.DROP:
        if port.copy_told == port.copy_accepted:
            port.untold_ps = c.arrive_ps
        port.copy_accepted += 1
        i = c.frame
        c.frame = _POISONED_COPY if quality == llr.POISONED else _GIVEN_UP
        f = S.frame[i]
        f.replay_ps += start_ps - f.mark_ps
        f.poisoned = 1 if quality == llr.POISONED else 0
        accept(S, a, i, c.arrive_ps, start_ps)
        return
    if rx.duplicate != duplicates:
        if rx.ack_due and q.reack_due_ps < 0:
            q.reack_due_ps = c.arrive_ps
    elif rx.state == llr.RX_SEND_NACK and q.nack_due_ps < 0:
        q.nack_due_ps = c.arrive_ps
        kick(S, port.peer, look_ps(q, c.arrive_ps))
    arm_timer(S, a, start_ps)


@compiled
def arm_timer(S: State, a: int, now_ps: int) -> None:
    """Let an event watch the replay timer of port ``a``: without faults ACKs come in time and none is needed."""
    port = S.port[a]
    if port.timer_set == 0:
        watch(S, a, now_ps + S.llr_tx[a].timer_limit_ps)


@compiled
def watch(S: State, a: int, due_ps: int) -> None:
    """Look at the replay timer of port ``a`` at ``due_ps``, or before if its oldest copy gets too old."""
    port = S.port[a]
    age_ps = llr.age_due_ps(S.llr_tx[a], S.sent_ps[a, port.copy_una & port.copy_mask])
    port.timer_set = 1
    S.kernel[0].background += 1
    push(S, age_ps if 0 <= age_ps < due_ps else due_ps, LLR_TIMER, a, 0)


@compiled
def resend(S: State, a: int, start_ps: int) -> None:
    """Send the next copy of a replay from port ``a``: line time, no credits."""
    k = S.kernel[0]
    port = S.port[a]
    t = S.llr_tx[a]
    una = t.una_seq
    seq = llr.next_replay(t, SEQUENCE_BITS, start_ps)
    c = copy_at(S, a, port.copy_una + ((seq - una) & ((1 << SEQUENCE_BITS) - 1)))
    wire = c.size_bytes + WIRE_EXTRA_BYTES
    time_ps = line_ps(port, wire)
    port.free_ps = start_ps + time_ps
    port.frame_end_ps = port.free_ps
    port.busy_ps += time_ps
    port.wire_bytes += wire
    port.replayed += 1
    add_load(S, a, start_ps if start_ps > k.now_ps else k.now_ps, wire)
    arrive(S, a, c, seq, llr.POISONED if is_poisoned(S, c) else llr.GOOD, start_ps)


@compiled
def on_llr_timer(S: State, a: int, now_ps: int) -> None:
    """The replay timer of port ``a`` may be due, or its oldest copy too old."""
    k = S.kernel[0]
    port = S.port[a]
    t = S.llr_tx[a]
    k.background -= 1
    settle(S, a, now_ps)
    port.timer_set = 0
    if port.copy_una < port.copy_next:
        llr.on_age(t, S.sent_ps[a, port.copy_una & port.copy_mask], now_ps)
    if llr.on_timer(t, now_ps):
        kick(S, a, look_ps(port, now_ps))
    if t.state == llr.TX_FLUSH:
        if port.copy_una < port.copy_next:
            flushed(S, a, now_ps)
    elif port.copy_una < port.copy_next:
        due_ps = llr.timer_due_ps(t)
        watch(S, a, due_ps if due_ps > now_ps else now_ps + t.timer_limit_ps)


@inlined
def begin_look(S: State, a: int, now_ps: int) -> int:
    """Begin a look of port ``a`` at its work: return when a frame could start, -1 = not now.

    Ordered sets that go at this boundary delay the frame behind them by their line time; what that frame will be is settled now
    (another event for those 80 ps at 800G would be one more a frame).
    """
    port = S.port[a]
    if port.sched_ps != now_ps:
        return -1  # superseded by an earlier look
    port.sched_ps = -1
    flush_update(S, a, now_ps)
    if port.frame_end_ps > now_ps:
        kick(S, a, port.free_ps)
        return -1
    unblock(port, now_ps)
    start_ps = port.free_ps if port.free_ps > now_ps else now_ps
    settle(S, a, now_ps)
    return start_ps


@inlined
def goes_first(S: State, a: int, start_ps: int) -> bool:
    """Send what goes before new frames at port ``a``, PAUSE, copies of a replay and CC_UPDATEs, and return True if there was one.

    Else make sure that the port looks when a NACK comes or is due.
    """
    port = S.port[a]
    if port.cc_due != 0 or (S.kernel[0].disturbed and S.llr_tx[a].state == llr.TX_REPLAY):
        return is_first(S, a, start_ps)
    await_nack(S, a)
    return False


@compiled
def is_first(S: State, a: int, start_ps: int) -> bool:
    """Send a PAUSE, a copy or a CC_UPDATE, whichever port ``a`` has, in that order; see `goes_first`."""
    port = S.port[a]
    if S.kernel[0].pfc and port.cc_due & PAUSE_DUE and send_pause(S, a, start_ps):
        kick(S, a, port.free_ps)
        return True
    if S.kernel[0].disturbed and S.llr_tx[a].state == llr.TX_REPLAY:
        resend(S, a, start_ps)
        kick(S, a, port.free_ps)  # a NACK that is owed goes at that boundary
        return True
    await_nack(S, a)
    return port.cc_due != 0 and cc_goes(S, a, start_ps)


@inlined
def await_nack(S: State, a: int) -> None:
    """Make sure that port ``a`` looks when a NACK comes or is due."""
    port = S.port[a]
    if port.nack_arrives_ps >= 0:
        kick(S, a, port.nack_arrives_ps)
    if port.nack_due_ps > S.kernel[0].now_ps:  # owed, but the frame that it complains of has not arrived yet
        kick(S, a, port.nack_due_ps)


@compiled
def cc_goes(S: State, a: int, start_ps: int) -> bool:
    """Send a CC_UPDATE that is due at port ``a``; return whether one went on the line."""
    i = make_cc(S, a, start_ps)
    if i < 0:
        return False
    f = S.frame[i]
    if not may_transmit(S, a, f.size_bytes, f.vc):
        lose_frame(S, i)
        return False
    S.port[a].cc_due &= ~(1 << f.first)
    S.link[a].cc_updates += 1
    transmit(S, a, i, start_ps)
    kick(S, a, look_ps(S.port[a], S.kernel[0].now_ps))
    return True
