"""LLR at a port: ACKs and NACKs that it owes and takes, INIT and INIT_ECHO, and what FLUSH drops.

The receiver judges a frame when it starts on the line (`link`); so an INIT, which travels before the frames behind it, begins the
receiver's space when it leaves. Its INIT_ECHO is due when it has arrived.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import faults, llr
from ..protocol.llr import INIT_INTERVAL_PS, SEQUENCE_BITS
from .calendar import push
from .line import put_set
from .pools import lose_frame
from .ports import kick, look_ps
from .records import ACKS_FROZEN, ACKS_PAUSED, COPIES_FIRST, COPY_BITS, HANDSHAKE, INIT_TIMER, NEVER_PS, PORT_CHANGE, State

_MASK = (1 << SEQUENCE_BITS) - 1
_INIT_STREAM = 1 << 60  # numbers of a direction's substream that no frame reaches


@inlined
def copy_at(S: State, a: int, n: int) -> Any:
    """Return the entry of the ``n``-th copy of port ``a``."""
    i = n & S.port[a].copy_mask
    return S.copy[(i >> COPY_BITS) * len(S.port) + a, i & (COPIES_FIRST - 1)]


@inlined
def ack_due_ps(S: State, q: int) -> int:
    """Return when port ``q`` owes its peer an ACK (the first copy untold has arrived, spacing kept), `NEVER_PS` = owes none."""
    port = S.port[q]
    sender = S.port[port.peer]
    due_ps = sender.untold_ps
    if port.reack_due_ps >= 0 and port.reack_due_ps < due_ps:
        due_ps = port.reack_due_ps
    if due_ps == NEVER_PS or (S.kernel[0].careful and S.link[q].ack_mode == ACKS_PAUSED):
        return NEVER_PS
    earliest_ps = port.ack_last_ps + port.ack_gap_ps
    return due_ps if due_ps > earliest_ps else earliest_ps


@inlined
def nack_due_ps(S: State, q: int) -> int:
    """Return when port ``q`` owes its peer a NACK, `NEVER_PS` = owes none."""
    due_ps = S.port[q].nack_due_ps
    if due_ps < 0 or (S.kernel[0].careful and S.link[q].ack_mode != 0):
        return NEVER_PS
    return due_ps


@compiled
def send_ack_set(S: State, q: int, leave_ps: int, nack: int) -> None:
    """Send ACK or NACK of all that had arrived and was accepted at port ``q`` when it leaves."""
    k = S.kernel[0]
    port = S.port[q]
    p = port.peer
    sender = S.port[p]
    while sender.copy_told < sender.copy_accepted and copy_at(S, p, sender.copy_told).arrive_ps <= leave_ps:
        sender.copy_told += 1
    sender.untold_ps = NEVER_PS
    if sender.copy_told < sender.copy_accepted:
        sender.untold_ps = copy_at(S, p, sender.copy_told).arrive_ps
    rx = S.llr_rx[p]
    seq = (rx.expected - 1 - (sender.copy_accepted - sender.copy_told)) & _MASK
    if k.careful and S.link[q].ack_mode == ACKS_FROZEN:
        seq = S.link[q].frozen_seq
    arrive_ps = put_set(S, q, leave_ps)
    port.reack_due_ps = -1
    if nack:
        port.llr_nacks += 1
        port.nack_due_ps = -1
        llr.on_reply_sent(rx, llr.NACK, SEQUENCE_BITS)
    else:
        port.llr_acks += 1
        port.ack_last_ps = leave_ps
    if arrive_ps == NEVER_PS:
        return
    if sender.ack_count == k.ack_ring:  # full: the oldest have arrived long ago, nobody looked
        take_acks(S, p, leave_ps)
    a = S.ack_ring[p, (sender.ack_head + sender.ack_count) & (k.ack_ring - 1)]
    sender.ack_count += 1
    a.t_ps = arrive_ps
    a.seq = seq
    a.nack = nack
    if nack:
        sender.nack_arrives_ps = arrive_ps
        kick(S, p, arrive_ps)


@inlined
def take_acks(S: State, p: int, now_ps: int) -> None:
    """Apply the ACKs and NACKs that have arrived at port ``p``."""
    k = S.kernel[0]
    port = S.port[p]
    while port.ack_count > 0:
        a = S.ack_ring[p, port.ack_head & (k.ack_ring - 1)]
        if a.t_ps > now_ps:
            return
        take_ack_set(S, p, a.seq, a.nack, a.t_ps)
        port.ack_head = (port.ack_head + 1) & (k.ack_ring - 1)
        port.ack_count -= 1


@inlined
def take_ack_set(S: State, p: int, seq: int, nack: int, t_ps: int) -> None:
    """The sender of port ``p`` takes an ACK or NACK that has come at ``t_ps``."""
    k = S.kernel[0]
    port = S.port[p]
    t = S.llr_tx[p]
    freed_bytes = 0
    n = llr.freed_by(t, seq, SEQUENCE_BITS)
    for i in range(n):
        freed_bytes += copy_at(S, p, port.copy_una + i).size_bytes
    if nack:
        port.nacks_in += 1
        port.nack_arrives_ps = -1
        n = llr.on_nack(t, seq, freed_bytes, SEQUENCE_BITS, t_ps)
    else:
        port.acks_in += 1
        n = llr.on_ack(t, seq, freed_bytes, SEQUENCE_BITS, t_ps)
    if n > 0:
        if k.careful:  # an ACK that was never true (frozen ahead) frees copies that did not get through
            drop_copies(S, p, n)
        else:
            port.copy_una += n
    if t.state == llr.TX_FLUSH:
        flushed(S, p, k.now_ps)


@compiled
def drop_copies(S: State, a: int, count: int) -> None:
    """Let go of the oldest ``count`` copies of port ``a``; frames that have not got through are lost."""
    port = S.port[a]
    for _ in range(count):
        c = copy_at(S, a, port.copy_una)
        if c.frame >= 0:
            S.link[a].flushed += 1
            lose_frame(S, c.frame)
            c.frame = -1
        port.copy_una += 1


@compiled
def flushed(S: State, a: int, now_ps: int) -> None:
    """LLR of port ``a`` is in FLUSH: its copies are gone; INIT follows at once if the port was told so."""
    port = S.port[a]
    link = S.link[a]
    drop_copies(S, a, int(port.copy_next - port.copy_una))
    if link.re_init:
        if llr.on_re_init(S.llr_tx[a], new_init_data(S, a)):
            begin_init(S, a, now_ps)
        return
    if S.kernel[0].paths and link.dead == 0:
        push(S, now_ps, PORT_CHANGE, a, 0)
    if link.flush_action != llr.BLOCK:
        kick(S, a, look_ps(port, now_ps))


@compiled
def new_init_data(S: State, a: int) -> int:
    """Return the init_data of the next handshake of port ``a``: 16 random bits."""
    return faults.draw(S.port[a].fault_key, _INIT_STREAM + int(S.llr_tx[a].flushes) + S.link[a].inits) & 0xFFFF


@compiled
def begin_init(S: State, a: int, now_ps: int) -> None:
    """Send the first INIT at the next frame boundary, then one every microsecond until an echo comes."""
    S.link[a].init_due_ps = now_ps
    kick(S, a, look_ps(S.port[a], now_ps))
    S.kernel[0].background += 1
    push(S, now_ps + INIT_INTERVAL_PS, INIT_TIMER, a, int(S.llr_tx[a].init_data))


@compiled
def on_init_timer(S: State, a: int, init_data: int, now_ps: int) -> None:
    """Send another INIT if the handshake with that init_data is not over."""
    S.kernel[0].background -= 1
    t = S.llr_tx[a]
    if t.state == llr.TX_INIT and t.init_data == init_data:
        begin_init(S, a, now_ps)


@compiled
def link_up(S: State, a: int, now_ps: int) -> None:
    """LLR of port ``a`` begins anew."""
    llr.on_link_up(S.llr_tx[a], S.llr_tx[a].first_seq, new_init_data(S, a))
    begin_init(S, a, now_ps)


@compiled
def send_init(S: State, a: int, leave_ps: int) -> None:
    """Put the INIT that port ``a`` owes on its line; the space of its direction begins with it."""
    port = S.port[a]
    link = S.link[a]
    t = S.llr_tx[a]
    link.init_due_ps = -1
    if t.state != llr.TX_INIT:
        return
    link.inits += 1
    arrive_ps = put_set(S, a, leave_ps)
    if arrive_ps == NEVER_PS:
        return
    llr.on_init(S.llr_rx[a], t.first_seq, t.init_data)
    port.copy_accepted = port.copy_next
    port.copy_told = port.copy_next
    port.untold_ps = NEVER_PS
    S.port[port.peer].nack_due_ps = -1
    S.port[port.peer].reack_due_ps = -1
    push(S, arrive_ps, HANDSHAKE, port.peer, -1)


@compiled
def send_echo(S: State, q: int, leave_ps: int) -> None:
    """Put the INIT_ECHO that port ``q`` owes on its line."""
    link = S.link[q]
    p = S.port[q].peer
    link.echo_due_ps = -1
    link.echoes += 1
    llr.on_reply_sent(S.llr_rx[p], llr.INIT_ECHO, SEQUENCE_BITS)
    arrive_ps = put_set(S, q, leave_ps)
    if arrive_ps != NEVER_PS:
        push(S, arrive_ps, HANDSHAKE, p, int(S.llr_rx[p].echo_data))


@compiled
def on_handshake(S: State, a: int, echo_data: int, now_ps: int) -> None:
    """Port ``a`` takes an INIT (``echo_data`` = -1) or an INIT_ECHO."""
    link = S.link[a]
    if echo_data < 0:
        link.inits_in += 1
        link.echo_due_ps = now_ps
        kick(S, a, look_ps(S.port[a], now_ps))
        return
    link.echoes_in += 1
    t = S.llr_tx[a]
    if llr.on_init_echo(t, S.llr_rx[a].echo_seq, echo_data):
        if S.kernel[0].paths and link.dead:
            push(S, now_ps, PORT_CHANGE, a, 1)
        kick(S, a, look_ps(S.port[a], now_ps))
