"""LLR's tables over all states and inputs of a 3-bit space, against a model that is written from the profile's tables alone.

The model keeps copies as a list of numbers and has no arithmetic on distances: what is ahead and what is behind is looked up in
lists. The functions under test have no lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from scalefab.protocol import llr
from scalefab.protocol.limits import FrameAction
from scalefab.protocol.llr import NewFrame, Quality, Reply, RxState, TxState, Verdict

BITS, SPACE, HALF = 3, 8, 4
SIZE, LIMIT_PS, NOW_PS, BEGUN_PS = 10, 5, 1_000, 990
REPLAYS_MAX, FIRST_SEQ, INIT_DATA = 2, 6, 0x1234


# ---- sender ----------------------------------------------------------------------------------------------------------------


@dataclass
class Sender:
    """The TX table: copies kept, copies of the running replay still to resend, replays so far, the timer's start."""

    state: TxState
    following: int  # what the next frame gets
    copies: list[int] = field(default_factory=list)
    resend: list[int] = field(default_factory=list)
    replays: int = 0
    timer_ps: int = -1
    errors: int = 0
    begun: int = 0
    flushes: int = 0

    def flush(self) -> None:
        self.state, self.copies, self.timer_ps = TxState.FLUSH, [], -1
        self.flushes += 1

    def replay(self) -> None:
        if self.replays + 1 > REPLAYS_MAX:
            self.flush()
            return
        self.replays += 1
        self.begun += 1
        self.state, self.resend = TxState.REPLAY, list(self.copies)

    def ack(self, n: int) -> int:
        oldest = self.copies[0] if self.copies else self.following
        in_range = [(oldest - 1) % SPACE, *self.copies]
        if n not in in_range:
            self.errors += 1
            return -1
        if self.state not in (TxState.ADVANCE, TxState.REPLAY):
            return -1
        freed = in_range.index(n)
        if freed:
            gone, self.copies = self.copies[:freed], self.copies[freed:]
            self.replays = 0
            self.timer_ps = NOW_PS if self.copies else -1
            if self.state is TxState.REPLAY:
                self.resend = [seq for seq in self.resend if seq not in gone]
                if not self.copies:
                    self.state = TxState.ADVANCE
        return freed

    def nack(self, n: int) -> int:
        freed = self.ack(n)
        if freed >= 0 and self.copies:
            self.replay()
        return freed

    def timer(self, now_ps: int) -> bool:
        if self.state is not TxState.ADVANCE or self.timer_ps < 0 or now_ps < self.timer_ps + LIMIT_PS:
            return False
        self.replay()
        return True

    def next_replay(self) -> int:
        if self.state is not TxState.REPLAY:
            return -1
        seq = self.resend.pop(0)
        if not self.resend:
            self.state, self.timer_ps = TxState.ADVANCE, NOW_PS
        return seq

    def may_send(self, window: int) -> bool:
        return self.state is TxState.ADVANCE and len(self.copies) < window


def sender_states() -> Iterator[Sender]:
    for una in range(SPACE):
        for out in range(HALF):
            copies = [(una + k) % SPACE for k in range(out)]
            following = (una + out) % SPACE
            for replays in range(REPLAYS_MAX + 1):
                yield Sender(TxState.ADVANCE, following, copies, [], replays, BEGUN_PS if out else -1)
                for left in range(1, out + 1):
                    yield Sender(TxState.REPLAY, following, copies, copies[out - left :], replays, BEGUN_PS)
        for state in (TxState.OFF, TxState.INIT, TxState.FLUSH):
            yield Sender(state, una)


def sender_record(m: Sender, window: int = HALF - 1) -> Any:
    t = np.zeros(1, llr.SENDER).view(np.recarray)[0]
    t.state, t.next_seq, t.first_seq, t.init_data = m.state, m.following, FIRST_SEQ, INIT_DATA
    t.una_seq = m.copies[0] if m.copies else m.following
    t.bytes_out, t.frames_max, t.bytes_max = SIZE * len(m.copies), window, SIZE * 100
    t.replays, t.replays_max = m.replays, REPLAYS_MAX
    t.replay_seq = m.resend[0] if m.resend else 0
    t.timer_ps, t.timer_limit_ps = m.timer_ps, LIMIT_PS
    return t


def same_sender(t: Any, m: Sender) -> None:
    assert TxState(int(t.state)) is m.state
    assert int(t.next_seq) == m.following
    assert int(llr.outstanding(t, BITS)) == len(m.copies)
    if m.copies:
        assert int(t.una_seq) == m.copies[0]
    assert int(t.bytes_out) == SIZE * len(m.copies)
    if m.state is TxState.REPLAY:
        assert int(t.replay_seq) == m.resend[0]
    if m.state in (TxState.ADVANCE, TxState.REPLAY):
        assert int(t.replays) == m.replays
    if m.state is not TxState.REPLAY:  # "timer stands still": what it says then is nobody's business
        assert int(t.timer_ps) == m.timer_ps
    assert (int(t.ack_errors), int(t.tx_replay), int(t.flushes)) == (m.errors, m.begun, m.flushes)


def copy(m: Sender) -> Sender:
    return replace(m, copies=list(m.copies), resend=list(m.resend))


def freed_bytes(t: Any, n: int) -> int:
    return SIZE * max(0, int(llr.freed_by(t, n, BITS)))


def test_sender_acks_and_nacks_over_all_states() -> None:
    for start in sender_states():
        for n in range(SPACE):
            m, t = copy(start), sender_record(start)
            assert int(llr.on_ack(t, n, freed_bytes(t, n), BITS, NOW_PS)) == m.ack(n)
            same_sender(t, m)
            m, t = copy(start), sender_record(start)
            assert int(llr.on_nack(t, n, freed_bytes(t, n), BITS, NOW_PS)) == m.nack(n)
            same_sender(t, m)


def test_sender_timer_replay_and_new_frames_over_all_states() -> None:
    for start in sender_states():
        for now_ps in (BEGUN_PS + LIMIT_PS - 1, BEGUN_PS + LIMIT_PS):
            m, t = copy(start), sender_record(start)
            assert bool(llr.on_timer(t, now_ps)) == m.timer(now_ps)
            same_sender(t, m)
        m, t = copy(start), sender_record(start)
        while True:  # a whole replay, as the driver does it
            expected = m.next_replay()
            assert int(llr.next_replay(t, BITS, NOW_PS)) == expected
            same_sender(t, m)
            if expected < 0:
                break
        for window in (1, 2, 3):
            m, t = copy(start), sender_record(start, window)
            assert bool(llr.may_send(t, SIZE, BITS)) == m.may_send(window)
            if m.may_send(window):
                assert int(llr.on_send(t, SIZE, BITS, NOW_PS)) == m.following
                if not m.copies:
                    m.timer_ps = NOW_PS
                m.copies.append(m.following)
                m.following = (m.following + 1) % SPACE
                same_sender(t, m)


def test_sender_limit_in_bytes() -> None:
    m = Sender(TxState.ADVANCE, 2, [0, 1], [], 0, BEGUN_PS)
    t = sender_record(m)
    t.bytes_max = 2 * SIZE + 4
    assert llr.may_send(t, 4, BITS)
    assert not llr.may_send(t, 5, BITS)


@pytest.mark.parametrize("init_action", FrameAction)
@pytest.mark.parametrize("flush_action", FrameAction)
def test_new_frames_by_state_and_action(init_action: FrameAction, flush_action: FrameAction) -> None:
    by_action = {
        FrameAction.BLOCK: NewFrame.WAIT,
        FrameAction.DISCARD: NewFrame.DISCARD,
        FrameAction.BEST_EFFORT: NewFrame.AS_INELIGIBLE,
    }
    for m in sender_states():
        expected = {TxState.INIT: by_action[init_action], TxState.FLUSH: by_action[flush_action]}.get(
            m.state, NewFrame.SEND if m.may_send(HALF - 1) else NewFrame.WAIT
        )
        assert llr.on_new_frame(sender_record(m), SIZE, int(init_action), int(flush_action), BITS) == expected


def test_sender_handshake_flush_and_link_over_all_states() -> None:
    for start in sender_states():
        for seq in range(SPACE):
            for data in (INIT_DATA, INIT_DATA + 1):
                m, t = copy(start), sender_record(start)
                ends = m.state is TxState.INIT and (seq, data) == (FIRST_SEQ, INIT_DATA)
                assert bool(llr.on_init_echo(t, seq, data)) == ends
                m.state = TxState.ADVANCE if ends else m.state
                same_sender(t, m)
        running = start.state in (TxState.ADVANCE, TxState.REPLAY)
        for limit_ps, oldest_ps, too_old in ((0, 0, False), (20, NOW_PS - 20, False), (20, NOW_PS - 21, True)):
            m, t = copy(start), sender_record(start)
            t.age_limit_ps = limit_ps
            gives_up = too_old and running and bool(m.copies)
            assert int(llr.age_due_ps(t, oldest_ps)) == (oldest_ps + 21 if limit_ps and running and m.copies else -1)
            assert bool(llr.on_age(t, oldest_ps, NOW_PS)) == gives_up
            if gives_up:
                m.flush()
            same_sender(t, m)
        for limit_ps, since_ps, too_long in ((0, 0, False), (50, -1, False), (50, NOW_PS - 50, False), (50, NOW_PS - 51, True)):
            m, t = copy(start), sender_record(start)
            t.pcs_limit_ps = limit_ps
            assert bool(llr.on_pcs_lost(t, since_ps, NOW_PS)) == (too_long and running)
            if too_long and running:
                m.flush()
            same_sender(t, m)
        again = Sender(TxState.INIT, FIRST_SEQ)
        t = sender_record(start)
        assert bool(llr.on_re_init(t, 7)) == (start.state is TxState.FLUSH)
        same_sender(t, again if start.state is TxState.FLUSH else start)
        t = sender_record(start)
        llr.on_link_up(t, FIRST_SEQ, 7)
        same_sender(t, again)
        assert int(t.init_data) == 7
        t = sender_record(start)
        llr.on_link_down(t)
        same_sender(t, Sender(TxState.OFF, start.following))


def test_without_a_limit_of_replays_nothing_is_flushed() -> None:
    t = sender_record(Sender(TxState.ADVANCE, 1, [0], [], 0, BEGUN_PS))
    t.replays_max = llr.NO_REPLAY_LIMIT
    for k in range(600):
        assert llr.on_timer(t, 10**6 * (k + 1))
        assert int(llr.next_replay(t, BITS, 10**6 * (k + 1))) == 0
    assert (TxState(int(t.state)), int(t.tx_replay)) == (TxState.ADVANCE, 600)


def test_no_limit_of_zero_replays() -> None:
    t = sender_record(Sender(TxState.ADVANCE, 1, [0], [], 0, BEGUN_PS))
    t.replays_max = 0
    assert llr.on_timer(t, NOW_PS)
    assert (TxState(int(t.state)), int(t.tx_replay), int(t.flushes)) == (TxState.FLUSH, 0, 1)


# ---- receiver --------------------------------------------------------------------------------------------------------------


@dataclass
class Receiver:
    """The RX table: what is due, and what was counted."""

    state: RxState
    expected: int
    ack_due: bool = False
    echo: tuple[int, int] | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def frame(self, seq: int, quality: Quality) -> Verdict:
        if self.state is RxState.OFF:
            return Verdict.DROP
        ahead = [(self.expected + k) % SPACE for k in range(1, HALF)]
        behind = [(self.expected - k) % SPACE for k in range(1, HALF + 1)]
        self.count({Quality.GOOD: "rx_ok", Quality.BAD: "rx_bad", Quality.POISONED: "rx_poisoned"}[quality])
        if seq == self.expected:
            self.count({Quality.GOOD: "good", Quality.BAD: "bad", Quality.POISONED: "poisoned"}[quality])
        elif seq in ahead:
            self.count("missing")
        else:
            assert seq in behind
            self.count("duplicate")
        if seq == self.expected and quality is not Quality.BAD:
            self.expected = (seq + 1) % SPACE
            self.state, self.ack_due = RxState.SEND_ACKS, True
            return Verdict.ACCEPT if quality is Quality.GOOD else Verdict.ACCEPT_POISONED
        if self.state is RxState.SEND_ACKS:
            if seq in behind:
                self.ack_due = True
            else:
                self.state, self.ack_due = RxState.SEND_NACK, False
        return Verdict.DROP

    def due(self) -> Reply:
        if self.state is RxState.SEND_NACK:
            return Reply.NACK
        if self.echo:
            return Reply.INIT_ECHO
        return Reply.ACK if self.ack_due else Reply.NOTHING

    def sent(self, reply: Reply) -> int:
        if reply is Reply.INIT_ECHO:
            assert self.echo
            seq, self.echo = self.echo[0], None
            return seq
        if reply is Reply.NACK:
            self.state = RxState.NACK_SENT
        self.ack_due = False
        return (self.expected - 1) % SPACE


COUNTS = ("good", "bad", "poisoned", "missing", "duplicate", "rx_ok", "rx_bad", "rx_poisoned")


def receiver_states() -> Iterator[Receiver]:
    for expected in range(SPACE):
        for echo in (None, (3, INIT_DATA)):
            for ack_due in (False, True):
                yield Receiver(RxState.SEND_ACKS, expected, ack_due, echo)
            for state in (RxState.SEND_NACK, RxState.NACK_SENT):
                yield Receiver(state, expected, False, echo)
        yield Receiver(RxState.OFF, expected)


def receiver_record(m: Receiver) -> Any:
    r = np.zeros(1, llr.RECEIVER).view(np.recarray)[0]
    r.state, r.expected, r.ack_due = m.state, m.expected, m.ack_due
    r.last_seq = m.expected - 1
    if m.echo:
        r.echo_due, r.echo_seq, r.echo_data = 1, *m.echo
    return r


def same_receiver(r: Any, m: Receiver) -> None:
    assert RxState(int(r.state)) is m.state
    assert int(r.expected) == m.expected
    assert bool(r.ack_due) == m.ack_due
    assert bool(r.echo_due) == (m.echo is not None)
    assert {name: int(r[name]) for name in COUNTS if int(r[name])} == m.counts
    assert Reply(int(llr.reply_due(r))) is m.due()


def copy_receiver(m: Receiver) -> Receiver:
    return replace(m, counts=dict(m.counts))


def test_receiver_over_all_states_and_inputs() -> None:
    for start in receiver_states():
        same_receiver(receiver_record(start), start)
        for seq in range(SPACE):
            for quality in Quality:
                m, r = copy_receiver(start), receiver_record(start)
                assert Verdict(int(llr.on_frame(r, seq, int(quality), BITS))) is m.frame(seq, quality)
                same_receiver(r, m)
            r = receiver_record(start)
            llr.on_init(r, seq, 77)
            same_receiver(r, Receiver(RxState.SEND_ACKS, seq, False, (seq, 77)))
            assert (int(r.echo_seq), int(r.echo_data)) == (seq, 77)
        reply = start.due()
        if reply is not Reply.NOTHING:
            m, r = copy_receiver(start), receiver_record(start)
            assert int(llr.on_reply_sent(r, int(reply), BITS)) == m.sent(reply)
            same_receiver(r, m)
        r = receiver_record(start)
        llr.on_receiver_down(r)
        same_receiver(r, Receiver(RxState.OFF, start.expected))


@pytest.mark.parametrize("quality", Quality)
@pytest.mark.parametrize("state", RxState)
def test_ineligible_frames_are_taken_by_fcs_alone(state: RxState, quality: Quality) -> None:
    m = Receiver(state, 5)
    r = receiver_record(m)
    taken = state is not RxState.OFF and quality is Quality.GOOD
    assert Verdict(int(llr.on_ineligible(r, int(quality)))) is (Verdict.ACCEPT if taken else Verdict.DROP)
    same_receiver(r, m)


@pytest.mark.parametrize(
    ("seqs", "replays"),
    [
        ([6, 7, 0, 1], 0),  # in order, over the wrap
        ([6, 0, 1, 7, 0, 1], 1),  # 7 lost, then a replay from it
        ([6, 7, 6, 7, 0], 1),  # the ACK was lost: the replay begins with duplicates
        ([6, 7, 6, 7, 6, 7], 2),
        ([6, 0, 0, 7], 2),
    ],
)
def test_starts_of_a_replay_are_counted(seqs: list[int], replays: int) -> None:
    r = receiver_record(Receiver(RxState.OFF, 0))
    llr.on_init(r, 6, 1)
    for seq in seqs:
        llr.on_frame(r, seq, int(Quality.GOOD), BITS)
    assert int(r.replays) == replays


def test_numbers_of_the_profile() -> None:
    assert (llr.SEQUENCE_BITS, llr.INIT_INTERVAL_PS, llr.REPLAY_TIMER_PS, llr.REPLAY_COUNT_MAX) == (20, 10**6, 5 * 10**6, 3)
    assert (llr.NO_REPLAY_LIMIT, llr.PCS_LOST_PS, llr.DATA_AGE_PS, llr.CTLOS_SPACING_BYTES) == (255, 50 * 10**6, 20 * 10**6, 2048)
    for names, plain in (
        (TxState, (llr.TX_OFF, llr.TX_INIT, llr.TX_ADVANCE, llr.TX_REPLAY, llr.TX_FLUSH)),
        (RxState, (llr.RX_OFF, llr.RX_SEND_ACKS, llr.RX_SEND_NACK, llr.RX_NACK_SENT)),
        (Quality, (llr.GOOD, llr.BAD, llr.POISONED)),
        (Verdict, (llr.DROP, llr.ACCEPT, llr.ACCEPT_POISONED)),
        (Reply, (llr.NO_REPLY, llr.ACK, llr.NACK, llr.INIT_ECHO)),
        (FrameAction, (llr.BLOCK, llr.DISCARD, llr.BEST_EFFORT)),
        (NewFrame, (llr.NEW_WAIT, llr.NEW_DISCARD, llr.NEW_AS_INELIGIBLE, llr.NEW_SEND)),
    ):
        assert tuple(int(name) for name in names) == plain  # the compiled integers mirror the names
