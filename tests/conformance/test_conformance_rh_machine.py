"""A hypothesis machine over two endpoints, two paths and bad channels: each operation is executed once, in its bucket's order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from machines import CountedMachine, run_machine
from rh_ends import BUCKETS, PATHS, SMALL, WIRE, End, Width

from scalefab.protocol import path_change, rh_receiver
from scalefab.protocol import reliability as rh

SIDES = st.sampled_from((0, 1))
PATH = st.sampled_from(PATHS)
BUCKET = st.sampled_from(BUCKETS)


class Endpoints(CountedMachine):
    """What is first on a wire arrives, is lost, or arrives twice; CONTROL in any order; paths go down and come up."""

    @initialize(width=st.sampled_from((SMALL, WIRE)), before_wrap=st.integers(0, 6))
    def begin(self, width: Width, before_wrap: int) -> None:
        self.ends = (End(width, -before_wrap), End(width, -before_wrap))

    @rule(side=SIDES, bucket=BUCKET, count=st.integers(1, 4))
    def issue(self, side: int, bucket: int, count: int) -> None:
        for _ in range(count):
            self.ends[side].issue(bucket)

    @rule(side=SIDES, path=PATH, count=st.integers(1, 5))
    def send(self, side: int, path: int, count: int) -> None:
        self.ends[side].place_buckets()
        for _ in range(count):
            self.ends[side].send(path)

    @rule(side=SIDES, path=PATH)
    def fence(self, side: int, path: int) -> None:
        self.ends[side].fence(path)

    @rule(side=SIDES, path=PATH, count=st.integers(1, 5), twice=st.booleans())
    def deliver(self, side: int, path: int, count: int, twice: bool) -> None:
        end, peer = self.ends[side], self.ends[1 - side]
        for _ in range(count):
            if end.spaces[path].data:
                item = end.spaces[path].data.popleft()
                for _ in range(1 + twice):
                    peer.take_data(path, item, end)

    @rule(side=SIDES, path=PATH)
    def lose(self, side: int, path: int) -> None:
        if self.ends[side].spaces[path].data:
            self.ends[side].spaces[path].data.popleft()
            self.seen["lost"] += 1

    @rule(side=SIDES, path=PATH, asked=st.booleans())
    def answer(self, side: int, path: int, asked: bool) -> None:
        self.ends[side].answer(path, asked)

    @rule(side=SIDES, path=PATH, lost=st.booleans(), twice=st.booleans())
    def deliver_answer(self, side: int, path: int, lost: bool, twice: bool) -> None:
        end, peer = self.ends[side], self.ends[1 - side]
        if end.spaces[path].answers:
            item = end.spaces[path].answers.popleft()
            for _ in range(0 if lost else 1 + twice):
                peer.take_answer(path, *item, end)

    @rule(side=SIDES, path=PATH)
    def timer(self, side: int, path: int) -> None:
        self.ends[side].timer(path)

    @rule(side=SIDES, us=st.integers(1, 8))
    def wait(self, side: int, us: int) -> None:
        self.ends[side].now_ps += us * 1_000_000

    @rule(path=PATH, lost=st.booleans())
    def down(self, path: int, lost: bool) -> None:
        if not self.ends[0].spaces[path].live:
            return
        self.seen["downs"] += 1
        for end in self.ends:
            end.down(path)
            if lost:
                end.spaces[path].data.clear()
                end.spaces[path].answers.clear()

    @rule(path=PATH, sent=st.integers(1, 4), taken=st.integers(0, 4), acked=st.booleans(), lost=st.booleans())
    def fail_under_load(self, path: int, sent: int, taken: int, acked: bool, lost: bool) -> None:
        """Let a path go down while frames are un-acknowledged on it, some of them accepted."""
        for side in (0, 1):
            for _ in range(sent):
                self.issue(side, path, 1)
            self.send(side, path, sent)
            self.deliver(side, path, taken, False)
            if acked:
                self.answer(1 - side, path, False)
                self.deliver_answer(1 - side, path, False, False)
        self.down(path, lost)

    @rule(path=PATH)
    def up(self, path: int) -> None:
        for end in self.ends:
            end.up(path)

    @rule(side=SIDES, path=PATH)
    def ask(self, side: int, path: int) -> None:
        self.ends[side].ask(path)

    @rule(side=SIDES, data=st.data(), lost=st.booleans(), twice=st.booleans())
    def deliver_control(self, side: int, data: st.DataObject, lost: bool, twice: bool) -> None:
        end, peer = self.ends[side], self.ends[1 - side]
        if end.control:
            item = end.control.pop(data.draw(st.integers(0, len(end.control) - 1)))
            for _ in range(0 if lost else 1 + twice):
                peer.take_control(*item, end)

    @rule(side=SIDES)
    def deliver_fence_rsp(self, side: int) -> None:
        if self.ends[side].fence_rsp:
            self.ends[1 - side].take_fence_rsp(*self.ends[side].fence_rsp.pop())

    @rule(rounds=st.integers(1, 4), count=st.integers(0, 6), repaired=st.booleans())
    def run_well(self, rounds: int, count: int, repaired: bool) -> None:
        """Move on: without this, most runs spend their time on a few operations."""
        for end in self.ends:
            for path in PATHS if repaired else ():
                end.up(path)
            for bucket in BUCKETS:
                for _ in range(count):
                    end.issue(bucket)
        for _ in range(rounds):
            self._good_round()

    @invariant()
    def promises(self) -> None:
        self.seen["steps"] += 1
        for side in (0, 1):
            self.ends[side].check(self.ends[1 - side])

    def teardown(self) -> None:
        """From here on nothing is lost and all paths are up: all is executed, acknowledged, open, and every bucket is at home."""
        if not hasattr(self, "ends"):
            return
        for end in self.ends:
            for path in PATHS:
                end.up(path)
        for _ in range(100 + 2 * sum(sum(end.issued) for end in self.ends)):
            self._good_round()
            if all(map(self._at_rest, self.ends)):
                break
        for side in (0, 1):
            end, peer = self.ends[side], self.ends[1 - side]
            end.check(peer)
            assert end.issued == peer.executed
            assert self._at_rest(end)
            self.seen["operations"] += sum(end.issued)
            self.seen["requeued"] += end.requeued
            self.seen["path errors"] += end.path_errors
            self.seen["wraps"] += int(end.spaces[0].tx.next_psn) < end.spaces[0].start % (1 << end.bits)

    @staticmethod
    def _at_rest(end: End) -> bool:
        spaces = end.spaces
        idle = not any(space.copies or space.data or space.answers or space.tx.state for space in spaces)
        return idle and not any(end.waiting) and not end.control and end.at == list(BUCKETS)

    def _good_round(self) -> None:
        for side in (0, 1):
            end, peer = self.ends[side], self.ends[1 - side]
            end.now_ps += rh_receiver.NACK_AGAIN_PS
            end.place_buckets()
            for path in PATHS:
                space = end.spaces[path]
                for bucket in BUCKETS:
                    if end.at[bucket] == path != bucket and not space.copies and end.spaces[bucket].tx.state == rh.SPACE_OPEN:
                        end.fence(path)
                while end.send(path):
                    pass
                quiet = not space.data and not peer.spaces[path].answers and not end.control and not peer.control
                while space.data:
                    peer.take_data(path, space.data.popleft(), end)
                while space.answers:
                    peer.take_answer(path, *space.answers.popleft(), end)
                end.answer(path)
                if quiet:
                    end.timer(path)
                    end.ask(path)
            while end.fence_rsp:
                peer.take_fence_rsp(*end.fence_rsp.pop())
            while end.control:
                peer.take_control(*end.control.pop(), end)


def test_two_endpoints_and_two_bad_paths() -> None:
    seen = run_machine(Endpoints, max_examples=80, stateful_step_count=60, derandomize=True)
    assert seen["steps"] > 300
    assert seen["requeued"] > 0 and seen["wraps"] > 0 and seen["downs"] > 0


def test_the_machine_finds_a_blind_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """All un-acked is queued again, whatever CLOSED says."""
    shipped = path_change.on_closed

    def blind(s: Any, r: Any, a: Any, psn: int, nonce: int, bits: int, now_ps: int) -> int:
        return min(0, int(shipped(s, r, a, psn, nonce, bits, now_ps)))

    monkeypatch.setattr(path_change, "on_closed", blind)
    with pytest.raises(AssertionError, match="executed twice"):
        run_machine(
            Endpoints,
            max_examples=200,
            stateful_step_count=60,
            derandomize=True,
            phases=(Phase.generate,),
            report_multiple_bugs=False,
        )


@pytest.mark.long
def test_two_endpoints_and_two_bad_paths_for_100_000_steps() -> None:
    total: Counter[str] = Counter()
    while total["steps"] < 100_000:
        total += run_machine(Endpoints, max_examples=50, stateful_step_count=400)
    assert total["requeued"] > 200
    assert total["operations"] > 10_000
    assert total["wraps"] > 100
