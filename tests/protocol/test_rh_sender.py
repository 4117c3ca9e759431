"""RH's sender against a model that keeps each copy: every state of a 3-bit space and every input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from scalefab.protocol import reliability as rh
from scalefab.protocol import rh_sender as tx
from scalefab.protocol.rh_sender import Expiry

BITS, SPACE = 3, 8
WINDOW = 4
SRTT_PS = 8_000_000  # 4 srtt is above the 25.6 us, 8 srtt below the 204.8 us
BEGUN_PS, RESENT_PS, NOW_PS = 1_000, 5_000_000, 20_000_000
TRIES_MAX, EXPIRIES_MAX = 3, 5


@dataclass
class Copy:
    """A frame in flight, and how often it was sent."""

    psn: int
    sends: int = 1


@dataclass
class Sender:
    """The table with lists and no modulo arithmetic beyond naming a PSN."""

    following: int
    copies: list[Copy] = field(default_factory=list)
    resend: list[int] = field(default_factory=list)  # PSNs that still wait to be resent, first first
    tries: int = 0
    expiries: int = 0
    heard: bool = False
    timed: int = -1  # PSN
    srtt_ps: int = SRTT_PS
    timer_ps: int = BEGUN_PS
    open: bool = True

    def ack(self, n: int, now_ps: int) -> int:
        names = [(self.following - len(self.copies) - 1 + k) % SPACE for k in range(len(self.copies) + 1)]
        if n not in names:
            return -1
        freed = names.index(n)
        if not freed:
            self.heard = True
            return 0
        gone = [copy.psn for copy in self.copies[:freed]]
        self.copies = self.copies[freed:]
        self.resend = [psn for psn in self.resend if psn not in gone]
        if self.timed in gone:
            self.srtt_ps += (now_ps - BEGUN_PS - self.srtt_ps) >> 3
            self.timed = -1
        elif self.timed >= 0 and gone and now_ps - BEGUN_PS > self.srtt_ps:
            self.srtt_ps += (now_ps - BEGUN_PS - self.srtt_ps) >> 3
        self.timer_ps = now_ps
        self.tries = self.expiries = 0
        self.heard = False
        return freed

    def nack(self, n: int, now_ps: int, resent_ps: int) -> int:
        freed = self.ack(n, now_ps)
        if freed < 0 or not self.copies or not self.open:
            return freed
        guarded = self.copies[0].sends > 1 and now_ps - resent_ps < self.srtt_ps / 2
        if not guarded:
            self.resend = [copy.psn for copy in self.copies]
        return freed

    def rto_ps(self) -> int:
        base = max(25_600_000, 4 * self.srtt_ps)
        return base if not self.expiries else min(base * 2**self.expiries, max(204_800_000, 8 * self.srtt_ps))

    def timer(self, now_ps: int) -> Expiry:
        if not self.copies or not self.open or now_ps < self.timer_ps + self.rto_ps():
            return Expiry.NOT_YET
        self.timer_ps = now_ps
        self.expiries += 1
        self.tries += not self.heard
        self.heard = False
        if self.tries == TRIES_MAX or self.expiries == EXPIRIES_MAX:
            return Expiry.PATH_ERROR
        self.resend = [copy.psn for copy in self.copies]
        return Expiry.RESEND

    def next_resend(self, now_ps: int) -> int:
        if not self.resend or not self.open:
            return -1
        psn = self.resend.pop(0)
        copy = next(one for one in self.copies if one.psn == psn)
        copy.sends += 1
        if copy is self.copies[0]:
            self.timer_ps = now_ps
        if psn == self.timed:
            self.timed = -1
        return psn

    def copied(self) -> Sender:
        return replace(self, copies=[replace(copy) for copy in self.copies], resend=list(self.resend))


def states() -> Iterator[Sender]:
    for una in (0, 5, 7):
        for flying in range(WINDOW + 1):
            psns = [(una + k) % SPACE for k in range(flying)]
            for repeated in range(flying + 1):
                copies = [Copy(psn, 1 + (k < repeated)) for k, psn in enumerate(psns)]
                for left in {0, flying, max(0, flying - repeated), max(0, flying - 1)} - {0} | {0}:
                    if left and flying - left > repeated:
                        continue  # a resend that has passed a frame has sent it again
                    for timed in [-1, *psns[repeated:]]:
                        for tries, expiries, heard in ((0, 0, False), (0, 0, True), (1, 1, False), (2, 3, True), (2, 4, False)):
                            resend = psns[flying - left :] if left else []
                            begun = Sender((una + flying) % SPACE, copies, resend, tries, expiries, heard, timed)
                            yield begun.copied()


def records(m: Sender) -> tuple[Any, Any]:
    s: Any = np.zeros(1, rh.SESSION).view(np.recarray)[0]
    r: Any = np.zeros(1, tx.RETRY).view(np.recarray)[0]
    s.next_psn, s.una_psn = m.following, (m.following - len(m.copies)) % SPACE
    s.window, s.timer_ps = WINDOW, m.timer_ps
    s.timed, s.timed_psn, s.timed_ps = m.timed >= 0, max(0, m.timed), BEGUN_PS
    s.state = rh.SPACE_OPEN if m.open else rh.SPACE_CLOSING
    r.resending, r.resend_from = bool(m.resend), len(m.copies) - len(m.resend) if m.resend else 0
    r.repeated = sum(copy.sends > 1 for copy in m.copies)
    r.tries, r.expiries, r.heard, s.srtt_ps, r.resent_ps = m.tries, m.expiries, m.heard, m.srtt_ps, RESENT_PS
    s.trouble = bool(r.resending or r.repeated or r.tries or r.expiries or r.heard)
    return s, r


def same(s: Any, r: Any, m: Sender) -> None:
    assert (int(s.next_psn), int(rh.in_flight(s, BITS))) == (m.following, len(m.copies))
    assert bool(r.resending) == bool(m.resend)
    if m.resend:
        assert (int(s.una_psn) + int(r.resend_from)) % SPACE == m.resend[0]
    assert int(r.repeated) == sum(copy.sends > 1 for copy in m.copies)
    assert all(copy.sends > 1 for copy in m.copies[: int(r.repeated)])
    assert (int(r.tries), int(r.expiries), bool(r.heard)) == (m.tries, m.expiries, m.heard)
    assert (int(s.timed_psn) if s.timed else -1) == m.timed
    assert int(s.srtt_ps) == m.srtt_ps
    if m.copies:
        assert int(s.timer_ps) == m.timer_ps
    rests = not (r.resending or r.repeated or r.tries or r.expiries or r.heard)
    assert s.trouble or rests  # what has gone wrong is never overlooked


def test_acks_over_all_states() -> None:
    count = 0
    for start in states():
        for n in range(SPACE):
            m, (s, r) = start.copied(), records(start)
            assert int(tx.on_ack(s, r, n, BITS, NOW_PS)) == m.ack(n, NOW_PS)
            same(s, r, m)
            assert bool(tx.may_send(s, r, BITS)) == (not m.resend and len(m.copies) < WINDOW)
            count += 1
    assert count > 10_000


@pytest.mark.parametrize("now_ps", [RESENT_PS + SRTT_PS // 2 - 1, RESENT_PS + SRTT_PS // 2])
def test_nacks_over_all_states(now_ps: int) -> None:
    for start in states():
        for n in range(SPACE):
            m, (s, r) = start.copied(), records(start)
            expected = m.nack(n, now_ps, RESENT_PS)
            assert int(tx.on_nack(s, r, n, BITS, now_ps)) == expected
            same(s, r, m)


def test_the_timer_and_a_whole_resend_over_all_states() -> None:
    for start in states():
        for late in (-1, 0):
            m, (s, r) = start.copied(), records(start)
            due_ps = BEGUN_PS + m.rto_ps()
            assert int(tx.timer_due_ps(s, r, BITS)) == (due_ps if m.copies else -1)
            assert int(tx.on_timer(s, r, BITS, due_ps + late, TRIES_MAX, EXPIRIES_MAX)) == m.timer(due_ps + late)
            same(s, r, m)
            while True:
                psn = m.next_resend(NOW_PS)
                assert int(tx.next_resend(s, r, BITS, NOW_PS)) == psn
                same(s, r, m)
                if psn < 0:
                    break


def test_new_frames_over_all_states() -> None:
    for start in states():
        m, (s, r) = start.copied(), records(start)
        if not tx.may_send(s, r, BITS):
            continue
        assert int(tx.on_send(s, BITS, NOW_PS)) == m.following
        if not m.copies:
            m.timer_ps = NOW_PS
        if m.timed < 0:
            m.timed = m.following
            assert int(s.timed_ps) == NOW_PS
        m.copies.append(Copy(m.following))
        m.following = (m.following + 1) % SPACE
        same(s, r, m)


def test_a_space_that_is_not_open_sends_nothing() -> None:
    for start in states():
        start.open = False
        m, (s, r) = start.copied(), records(start)
        assert not tx.may_send(s, r, BITS) and tx.next_resend(s, r, BITS, NOW_PS) == -1
        assert tx.timer_due_ps(s, r, BITS) == -1
        assert tx.on_timer(s, r, BITS, 1 << 50, TRIES_MAX, EXPIRIES_MAX) == Expiry.NOT_YET
        for n in range(SPACE):
            m, (s, r) = start.copied(), records(start)
            assert int(tx.on_nack(s, r, n, BITS, NOW_PS)) == m.nack(n, NOW_PS, RESENT_PS)
            same(s, r, m)


def test_eight_expiries_without_a_sign_of_life_take_1203_us() -> None:
    s, r = fresh()
    tx.on_send(s, rh.PSN_BITS, 0)
    now_ps, expiries = 0, []
    while True:
        now_ps = int(tx.timer_due_ps(s, r, rh.PSN_BITS))
        assert tx.on_timer(s, r, rh.PSN_BITS, now_ps - 1, tx.TRIES_MAX, tx.EXPIRIES_MAX) == Expiry.NOT_YET
        expiries.append(int(tx.on_timer(s, r, rh.PSN_BITS, now_ps, tx.TRIES_MAX, tx.EXPIRIES_MAX)))
        if expiries[-1] == Expiry.PATH_ERROR:
            break
        assert tx.next_resend(s, r, rh.PSN_BITS, now_ps) == 0
    assert (len(expiries), now_ps) == (8, 1_203_200_000)


def test_a_sign_of_life_holds_off_path_error_until_32_expiries() -> None:
    s, r = fresh()
    tx.on_send(s, rh.PSN_BITS, 0)
    for expiry in range(1, 33):
        due_ps = int(tx.timer_due_ps(s, r, rh.PSN_BITS))
        what = tx.on_timer(s, r, rh.PSN_BITS, due_ps, tx.TRIES_MAX, tx.EXPIRIES_MAX)
        assert what == (Expiry.PATH_ERROR if expiry == 32 else Expiry.RESEND)
        assert tx.on_ack(s, r, 65_535, rh.PSN_BITS, due_ps) == 0  # an ACK that frees nothing
    assert r.tries == 1  # the first expiry had heard nothing before


def test_progress_begins_everything_anew() -> None:
    s, r = fresh()
    for _ in range(3):
        tx.on_send(s, rh.PSN_BITS, 0)
    assert tx.on_timer(s, r, rh.PSN_BITS, 30_000_000, 8, 32) == Expiry.RESEND
    assert tx.on_ack(s, r, 0, rh.PSN_BITS, 40_000_000) == 1
    assert int(s.srtt_ps) == 6_400_000 + (40_000_000 - 6_400_000) // 8  # frame 0 was sent once: the resend had not begun
    assert tx.timer_due_ps(s, r, rh.PSN_BITS) == 40_000_000 + 4 * int(s.srtt_ps)
    assert [int(tx.next_resend(s, r, rh.PSN_BITS, 41_000_000)) for _ in range(3)] == [1, 2, -1]
    assert tx.on_ack(s, r, 2, rh.PSN_BITS, 50_000_000) == 2
    assert s.trouble == 0


def test_a_frame_that_leaves_later_is_timed_from_there() -> None:
    s, r = fresh()
    psn = int(tx.on_send(s, rh.PSN_BITS, 100))
    tx.on_departure(s, psn, 5_000)
    assert (int(s.timer_ps), int(s.timed_ps)) == (5_000, 5_000)
    tx.on_send(s, rh.PSN_BITS, 6_000)
    tx.on_departure(s, psn + 1, 9_000)  # neither the oldest nor the timed one
    assert (int(s.timer_ps), int(s.timed_ps)) == (5_000, 5_000)
    tx.on_ack(s, r, psn, rh.PSN_BITS, 8_005_000)
    assert int(s.srtt_ps) == 6_400_000 + (8_000_000 - 6_400_000) // 8


def test_no_sample_of_a_frame_sent_twice() -> None:
    s, r = fresh()
    tx.on_send(s, rh.PSN_BITS, 0)
    tx.on_timer(s, r, rh.PSN_BITS, 30_000_000, 8, 32)
    tx.next_resend(s, r, rh.PSN_BITS, 30_000_000)
    tx.on_ack(s, r, 0, rh.PSN_BITS, 90_000_000)
    assert int(s.srtt_ps) == tx.SRTT_FIRST_PS


def test_srtt_before_the_first_sample_is_half_an_incast_of_all() -> None:
    assert tx.first_srtt_ps(64, 2048, 800 * 10**9) == tx.SRTT_FIRST_PS
    assert tx.first_srtt_ps(1024, 2048, 800 * 10**9) == 10_485_760
    assert tx.first_srtt_ps(1024, 9216, 100 * 10**9) == 377_487_360


def fresh() -> tuple[Any, Any]:
    s: Any = np.zeros(1, rh.SESSION).view(np.recarray)[0]
    r: Any = np.zeros(1, tx.RETRY).view(np.recarray)[0]
    s.window, s.srtt_ps = rh.WINDOW_FRAMES, tx.SRTT_FIRST_PS
    return s, r
