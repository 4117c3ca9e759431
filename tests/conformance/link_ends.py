"""Two ends of a full-duplex link with LLR and CBFC, driven by whoever calls: frames and ordered sets share one FIFO each way.

VC 0 is LLR-eligible, VC 1 is not; both are lossless, with limits of their own and one of the port. Each packet carries its
number, which the functions under test never see.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scalefab.protocol import cbfc, llr

VCS = (0, 1)
ELIGIBLE_MASK, LOSSLESS_MASK = 0b01, 0b11
WIRE_ITEMS = 12  # that a cable holds


@dataclass(frozen=True)
class Widths:
    """Bits of sequence numbers, of credit counters, of what CF_UPDATE carries; and the limits that go with them."""

    sequence: int
    counter: int
    update: int
    window: int
    limit: int
    port_limit: int


SMALL = Widths(3, 5, 3, 3, 5, 7)
WIRE = Widths(llr.SEQUENCE_BITS, cbfc.COUNTER_BITS, cbfc.UPDATE_BITS, 40, 60, 90)


@dataclass(frozen=True)
class Packet:
    """A packet of a VC, or a CC_UPDATE (vc = -1) with its values."""

    vc: int
    number: int
    credits: int
    values: tuple[tuple[int, int], ...] = ()


@dataclass
class Item:
    """On the wire: ``kind`` is a frame ("seq" with a sequence number, "plain") or an ordered set."""

    kind: str
    a: int = 0
    b: int = 0
    packet: Packet | None = None


def record(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)[0]


@dataclass
class End:
    """One end: its sender with copies, its receiver with buffers, and the wire that leaves it."""

    widths: Widths
    replays_max: int
    start: int
    tx: Any = field(default_factory=lambda: record(llr.SENDER))
    rx: Any = field(default_factory=lambda: record(llr.RECEIVER))
    copies: deque[Packet] = field(default_factory=deque)
    wire: deque[Item] = field(default_factory=deque)
    now_ps: int = 0
    flushes: int = 0

    def __post_init__(self) -> None:
        w = self.widths
        counter = self.start % (1 << w.counter)
        self.port = record(cbfc.SENDER)
        self.out = [record(cbfc.SENDER) for _ in VCS]
        self.held = [record(cbfc.RECEIVER) for _ in VCS]
        self.buffers: list[deque[int]] = [deque() for _ in VCS]
        for credit in (*self.out, self.port, *self.held):
            credit.consumed = credit.freed = counter
        for credit in self.held:
            credit.reported = counter
        for credit in self.out:
            credit.limit = w.limit
        self.port.limit = w.port_limit
        self.sent = [0, 0]
        self.got = [-1, -1]  # last number taken
        self.gone: list[set[int]] = [set(), set()]  # numbers that may be missing: lost ineligible, flushed
        t = self.tx
        t.frames_max, t.bytes_max, t.replays_max, t.timer_limit_ps = w.window, 10**6, self.replays_max, 5
        llr.on_link_up(t, self.start % (1 << w.sequence), 0)

    @property
    def full(self) -> bool:
        return len(self.wire) >= WIRE_ITEMS

    # ---- sending ----

    def send(self, vc: int, n: int) -> bool:
        """Send a packet if LLR and credits allow it."""
        w = self.widths
        if self.full or not cbfc.may_send_port(self.out[vc], self.port, n, w.counter):
            return False
        packet = Packet(vc, self.sent[vc], n)
        if vc == 0 and not self._send_eligible(packet):
            return False
        if vc == 1:
            self.wire.append(Item("plain", packet=packet))
        cbfc.on_send_port(self.out[vc], self.port, n, w.counter)
        self.sent[vc] += 1
        return True

    def _send_eligible(self, packet: Packet) -> bool:
        if not llr.may_send(self.tx, 1, self.widths.sequence):
            return False
        seq = int(llr.on_send(self.tx, 1, self.widths.sequence, self.now_ps))
        self.copies.append(packet)
        self.wire.append(Item("seq", seq, packet=packet))
        return True

    def cc_update(self, eligible: bool) -> None:
        """Send the CC_UPDATE of the eligible or of the ineligible VCs."""
        mask = int(cbfc.cc_vcs(LOSSLESS_MASK, ELIGIBLE_MASK, eligible, 0))
        values = tuple((vc, int(cbfc.cc_value(self.out[vc]))) for vc in VCS if mask >> vc & 1)
        if self.full:
            return
        packet = Packet(-1, 0, 0, values)
        if eligible:
            self._send_eligible(packet)
        else:
            self.wire.append(Item("plain", packet=packet))

    def handshake(self) -> None:
        """Send INIT, or leave FLUSH."""
        if llr.on_re_init(self.tx, int(self.tx.init_data) + 1):
            return
        if self.tx.state == llr.TX_INIT and not self.full:
            self.wire.append(Item("init", int(self.tx.first_seq), int(self.tx.init_data)))

    def timer(self) -> None:
        """Let time pass until the replay timer fires, if it runs."""
        self.now_ps += 5
        llr.on_timer(self.tx, self.now_ps)
        self._note_flush()

    def resend(self) -> None:
        """Resend one copy of a running replay."""
        if self.tx.state == llr.TX_REPLAY and not self.full:
            una = int(self.tx.una_seq)
            seq = int(llr.next_replay(self.tx, self.widths.sequence, self.now_ps))
            self.wire.append(Item("seq", seq, packet=self.copies[(seq - una) % (1 << self.widths.sequence)]))

    def _note_flush(self) -> None:
        if self.tx.state == llr.TX_FLUSH and self.copies:
            self.flushes += 1
            self.gone[0] |= {packet.number for packet in self.copies if packet.vc == 0}
            self.copies.clear()

    # ---- answering ----

    def reply(self) -> None:
        """Send the ordered set that LLR owes."""
        reply = int(llr.reply_due(self.rx))
        if reply and not self.full:
            data = int(self.rx.echo_data)
            seq = int(llr.on_reply_sent(self.rx, reply, self.widths.sequence))
            self.wire.append(Item({llr.ACK: "ack", llr.NACK: "nack", llr.INIT_ECHO: "echo"}[reply], seq, data))

    def cf_update(self, vc: int) -> None:
        """Tell a VC's freed credits, whether there are new ones or not (a refresh)."""
        if not self.full:
            self.wire.append(Item("cf", vc, int(cbfc.on_report(self.held[vc], self.widths.update))))

    def drain(self, vc: int) -> None:
        """Let a packet leave the buffer."""
        if self.buffers[vc]:
            cbfc.on_free(self.held[vc], self.buffers[vc].popleft(), self.widths.counter)

    # ---- arrivals ----

    def take(self, item: Item, peer: End, quality: int = llr.GOOD) -> None:
        """Take what arrives from the other end."""
        bits = self.widths.sequence
        if item.packet is not None:
            eligible = item.kind == "seq"
            verdict = llr.on_frame(self.rx, item.a, quality, bits) if eligible else llr.on_ineligible(self.rx, quality)
            if verdict != llr.DROP:
                assert quality != llr.BAD
                self._accept(item.packet, peer)
            elif item.kind == "plain":
                peer.lose(item)
        elif item.kind == "init":
            llr.on_init(self.rx, item.a, item.b)
        elif item.kind == "echo":
            llr.on_init_echo(self.tx, item.a, item.b)
        elif item.kind == "cf":
            back = cbfc.on_update_port(self.out[item.a], self.port, item.b, self.widths.counter, self.widths.update)
            assert back >= 0, "CF_ERROR"
        else:
            freed = max(0, int(llr.freed_by(self.tx, item.a, bits)))
            n = (llr.on_ack if item.kind == "ack" else llr.on_nack)(self.tx, item.a, freed, bits, self.now_ps)
            for _ in range(int(n)):
                packet = self.copies.popleft()
                assert packet.vc < 0 or packet.number <= peer.got[0], "a copy is freed before its delivery"
            self._note_flush()

    def lose(self, item: Item) -> None:
        """Note that something of ours was lost on the wire; LLR brings back what has a sequence number."""
        if item.kind == "plain" and item.packet is not None and item.packet.vc >= 0:
            self.gone[item.packet.vc].add(item.packet.number)

    def _accept(self, packet: Packet, peer: End) -> None:
        if packet.vc < 0:
            for vc, consumed in packet.values:
                cbfc.on_cc_update(self.held[vc], consumed, self.widths.counter)
            return
        last = self.got[packet.vc]
        assert packet.number > last, "delivered twice or behind a later one"
        assert set(range(last + 1, packet.number)) <= peer.gone[packet.vc], "lost"
        self.got[packet.vc] = packet.number
        cbfc.on_receive(self.held[packet.vc], packet.credits, self.widths.counter)
        self.buffers[packet.vc].append(packet.credits)

    # ---- what must hold ----

    def check(self, peer: End) -> None:
        """Judge this end's sender and the other end's receiver."""
        w = self.widths
        assert len(self.copies) == llr.outstanding(self.tx, w.sequence) == int(self.tx.bytes_out) <= w.window
        if self.tx.state in (llr.TX_ADVANCE, llr.TX_REPLAY):
            assert (int(peer.rx.expected) - int(self.tx.una_seq)) % (1 << w.sequence) <= len(self.copies)
        used = [int(cbfc.used(self.out[vc], w.counter)) for vc in VCS]
        assert sum(used) == cbfc.used(self.port, w.counter) <= w.port_limit
        for vc in VCS:
            held = sum(peer.buffers[vc])
            assert held == cbfc.held(peer.held[vc], w.counter)
            assert held <= used[vc] <= w.limit
