"""One hop of a frame: charged once, numbered, put on the line, accepted or lost, resent until it gets through (LLR).

What becomes of a frame is drawn when it starts on the line, so the receiver's state is known at once and dropped followers never
become events; a NACK is one event (it wakes the sender). A copy in the replay buffer is a size; it holds the frame itself only
while the receiver has not accepted it.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import cbfc, faults, llr
from ..protocol.cbfc import COUNTER_BITS
from ..protocol.llr import SEQUENCE_BITS
from ..protocol.operations import PREAMBLE_BYTES, WIRE_EXTRA_BYTES
from .calendar import push
from .ordered_sets import flush_update, settle
from .ports import add_load, kick, line_ps, unblock
from .recorder import gap_free_ps, record_hop
from .records import LLR_TIMER, State
from .switch_input import forward


@compiled
def may_transmit(S: State, a: int, size_bytes: int) -> bool:
    """Return whether LLR lets port ``a`` send a new frame of this size."""
    return S.kernel[0].llr == 0 or llr.may_send(S.llr_tx[a], size_bytes, SEQUENCE_BITS)


@compiled
def occupy(S: State, a: int, f: Any, start_ps: int) -> None:
    """Put a frame on the line of port ``a`` at ``start_ps``: line time and statistics."""
    port = S.port[a]
    wire = f.size_bytes + WIRE_EXTRA_BYTES
    time_ps = line_ps(port, wire)
    port.free_ps = start_ps + time_ps
    port.frame_end_ps = port.free_ps
    port.busy_ps += time_ps
    port.wire_bytes += wire
    port.data_bytes += f.payload_bytes
    if f.kind == 0:
        port.frames += 1
    else:
        port.ack_frames += 1
    now_ps = S.kernel[0].now_ps
    add_load(S, a, start_ps if start_ps > now_ps else now_ps, wire)
    if f.trace_row >= 0:
        record_hop(S, a, f, start_ps, gap_free_ps(port.free_ps, port.num, port.den))


@compiled
def transmit(S: State, a: int, i: int, start_ps: int) -> None:
    """Send frame ``i`` from port ``a`` for the first time."""
    f = S.frame[i]
    port = S.port[a]
    cbfc.on_send(S.sender[a, f.vc], f.credits, COUNTER_BITS)
    cbfc.on_receive(S.receiver[port.peer, f.vc], f.credits, COUNTER_BITS)
    occupy(S, a, f, start_ps)
    if S.kernel[0].llr == 0:
        forward(S, a, i, start_ps)
        return
    seq = llr.on_send(S.llr_tx[a], f.size_bytes, SEQUENCE_BITS, start_ps)
    c = S.copy[a, port.copy_next & (S.kernel[0].copies - 1)]
    port.copy_next += 1
    c.size_bytes = f.size_bytes
    c.frame = i
    f.mark_ps = start_ps
    arrive(S, a, c, seq, start_ps)


@compiled
def arrive(S: State, a: int, c: Any, seq: int, start_ps: int) -> None:
    """Decide what becomes of the copy that is on the line of port ``a`` since ``start_ps``, and let the receiver judge it."""
    port = S.port[a]
    c.arrive_ps = start_ps + line_ps(port, PREAMBLE_BYTES + c.size_bytes) + port.delay_ps
    quality = llr.GOOD
    if S.kernel[0].lossy:
        if faults.loses(port.fault_key, port.fault_count, S.loss_threshold[c.size_bytes + WIRE_EXTRA_BYTES]):
            quality = llr.BAD
        port.fault_count += 1
    rx = S.llr_rx[a]
    duplicates = rx.duplicate
    verdict = llr.on_frame(rx, seq, quality, SEQUENCE_BITS)
    q = S.port[port.peer]
    if verdict != llr.DROP:
        port.copy_accepted += 1
        i = c.frame
        c.frame = -1
        S.frame[i].replay_ps += start_ps - S.frame[i].mark_ps
        forward(S, a, i, start_ps)
        return
    if rx.duplicate != duplicates:
        if rx.ack_due and q.reack_due_ps < 0:
            q.reack_due_ps = c.arrive_ps
    elif rx.state == llr.RX_SEND_NACK and q.nack_due_ps < 0:
        q.nack_due_ps = c.arrive_ps
        kick(S, port.peer, c.arrive_ps if c.arrive_ps > q.free_ps else q.free_ps)
    if port.timer_set == 0:
        port.timer_set = 1
        push(S, start_ps + S.llr_tx[a].timer_limit_ps, LLR_TIMER, a, 0)


@compiled
def resend(S: State, a: int, start_ps: int) -> None:
    """Send the next copy of a replay from port ``a``: line time, no credits."""
    k = S.kernel[0]
    port = S.port[a]
    t = S.llr_tx[a]
    una = t.una_seq
    seq = llr.next_replay(t, SEQUENCE_BITS, start_ps)
    c = S.copy[a, (port.copy_una + ((seq - una) & ((1 << SEQUENCE_BITS) - 1))) & (k.copies - 1)]
    wire = c.size_bytes + WIRE_EXTRA_BYTES
    time_ps = line_ps(port, wire)
    port.free_ps = start_ps + time_ps
    port.frame_end_ps = port.free_ps
    port.busy_ps += time_ps
    port.wire_bytes += wire
    port.replayed += 1
    add_load(S, a, start_ps if start_ps > k.now_ps else k.now_ps, wire)
    arrive(S, a, c, seq, start_ps)


@compiled
def on_llr_timer(S: State, a: int, now_ps: int) -> None:
    """The replay timer of port ``a`` may be due; it runs only while something was dropped (else ACKs come in time)."""
    port = S.port[a]
    t = S.llr_tx[a]
    settle(S, a, now_ps)
    port.timer_set = 0
    if llr.on_timer(t, now_ps):
        kick(S, a, now_ps if now_ps > port.free_ps else port.free_ps)
    if t.state != llr.TX_FLUSH and port.copy_una < port.copy_next:
        due_ps = llr.timer_due_ps(t)
        port.timer_set = 1
        push(S, due_ps if due_ps > now_ps else now_ps + t.timer_limit_ps, LLR_TIMER, a, 0)


@compiled
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


@compiled
def replays(S: State, a: int, start_ps: int) -> bool:
    """Resend a copy if port ``a`` is in a replay and return True; else make sure that it looks when a NACK comes or is due."""
    port = S.port[a]
    if S.llr_tx[a].state == llr.TX_REPLAY:
        resend(S, a, start_ps)
        kick(S, a, port.free_ps)  # a NACK that is owed goes at that boundary
        return True
    if port.nack_arrives_ps >= 0:
        kick(S, a, port.nack_arrives_ps)
    if port.nack_due_ps >= 0:  # owed, but the frame that it complains of has not arrived yet
        kick(S, a, port.nack_due_ps)
    return False
