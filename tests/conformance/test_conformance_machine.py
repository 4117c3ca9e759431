"""A hypothesis machine over two ends and a bad cable: whatever happens, the ends agree once the cable is good again."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from link_ends import SMALL, WIRE, End, Widths
from machines import CountedMachine, run_machine

from scalefab.protocol import llr

SIDES = st.sampled_from((0, 1))
VC = st.sampled_from((0, 1))
ORDERED = ("ack", "nack", "echo", "init", "cf")


class Link(CountedMachine):
    """Two ends, a wire each way; what is first on a wire arrives, is lost, corrupted, or (ordered sets) comes twice."""

    @initialize(
        widths=st.sampled_from((SMALL, WIRE)),
        replays=st.sampled_from((1, 3, llr.NO_REPLAY_LIMIT)),
        before_wrap=st.integers(0, 6),
        shaken=st.booleans(),
    )
    def begin(self, widths: Widths, replays: int, before_wrap: int, shaken: bool) -> None:
        self.ends = (End(widths, replays, -before_wrap), End(widths, replays, -before_wrap))
        for end in self.ends:
            end.handshake()
        for _ in range(4 * shaken):
            self._good_round()

    @rule(side=SIDES, vc=VC, credits=st.integers(1, 3), count=st.integers(1, 4))
    def send(self, side: int, vc: int, credits: int, count: int) -> None:
        for _ in range(count):
            self.ends[side].send(vc, credits)

    @rule(side=SIDES, count=st.integers(1, 6))
    def deliver(self, side: int, count: int) -> None:
        for _ in range(count):
            if self.ends[side].wire:
                self.ends[1 - side].take(self.ends[side].wire.popleft(), self.ends[side])

    @rule(side=SIDES)
    def lose(self, side: int) -> None:
        if self.ends[side].wire:
            self.ends[side].lose(self.ends[side].wire.popleft())
            self.seen["lost"] += 1

    @rule(side=SIDES, quality=st.sampled_from((llr.BAD, llr.POISONED)))
    def spoil(self, side: int, quality: int) -> None:
        if self.ends[side].wire and self.ends[side].wire[0].packet is not None:
            self.ends[1 - side].take(self.ends[side].wire.popleft(), self.ends[side], quality)

    @rule(side=SIDES)
    def twice(self, side: int) -> None:
        if self.ends[side].wire and self.ends[side].wire[0].kind in ORDERED:
            self.ends[1 - side].take(self.ends[side].wire[0], self.ends[side])

    @rule(side=SIDES)
    def answer(self, side: int) -> None:
        self.ends[side].reply()

    @rule(side=SIDES, count=st.integers(1, 4))
    def resend(self, side: int, count: int) -> None:
        for _ in range(count):
            self.ends[side].resend()

    @rule(side=SIDES)
    def timer(self, side: int) -> None:
        self.ends[side].timer()
        self.ends[side].handshake()

    @rule(side=SIDES, vc=VC, drained=st.integers(0, 3))
    def credits_back(self, side: int, vc: int, drained: int) -> None:
        for _ in range(drained):
            self.ends[side].drain(vc)
        self.ends[side].cf_update(vc)

    @rule(rounds=st.integers(1, 3), vc=VC, credits=st.integers(1, 3))
    def run_well(self, rounds: int, vc: int, credits: int) -> None:
        """Move on: without this, most runs spend their time on a few packets."""
        for _ in range(rounds):
            for end in self.ends:
                while end.send(vc, credits):
                    pass
            self._good_round()

    @rule(side=SIDES, eligible=st.booleans())
    def cc_update(self, side: int, eligible: bool) -> None:
        self.ends[side].cc_update(eligible)

    @invariant()
    def promises(self) -> None:
        self.seen["steps"] += 1
        for side in (0, 1):
            self.ends[side].check(self.ends[1 - side])

    def teardown(self) -> None:
        """From here on nothing is lost: all that was not given up arrives, and every credit comes back."""
        if not hasattr(self, "ends"):
            return
        for _ in range(60):
            self._good_round()
        for _ in range(4):
            for end in self.ends:
                end.cc_update(True)
                end.cc_update(False)
            for _ in range(10):
                self._good_round()
        for side in (0, 1):
            end, peer = self.ends[side], self.ends[1 - side]
            end.check(peer)
            assert end.tx.state == llr.TX_ADVANCE
            assert not end.copies
            for vc in (0, 1):
                assert set(range(peer.got[vc] + 1, end.sent[vc])) <= end.gone[vc]
                assert int(end.out[vc].consumed) == int(end.out[vc].freed) == int(peer.held[vc].consumed)
            self.seen["packets"] += sum(end.sent)
            self.seen["flushes"] += end.flushes
            self.seen["wraps"] += end.sent[0] > -end.start

    def _good_round(self) -> None:
        for side in (0, 1):
            end, peer = self.ends[side], self.ends[1 - side]
            coming = [item for item in (*end.wire, *peer.wire) if item.kind != "cf"]
            waits = coming or llr.reply_due(peer.rx)
            while end.tx.state == llr.TX_REPLAY and not end.full:
                end.resend()
            while end.wire:
                peer.take(end.wire.popleft(), end)
            for vc in (0, 1):
                end.drain(vc)
                end.cf_update(vc)
            while llr.reply_due(end.rx) and not end.full:
                end.reply()
            if not waits:  # a timer of two round trips
                end.timer()
            end.handshake()


def test_two_ends_and_a_bad_cable() -> None:
    seen = run_machine(Link, max_examples=20, stateful_step_count=60, derandomize=True)
    assert seen["steps"] > 300
    assert seen["wraps"] > 0


@pytest.mark.long
def test_two_ends_and_a_bad_cable_for_100_000_steps() -> None:
    total: Counter[str] = Counter()
    while total["steps"] < 100_000:
        total += run_machine(Link, max_examples=50, stateful_step_count=400)
    assert total["flushes"] > 10
    assert total["wraps"] > 100
