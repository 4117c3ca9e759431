"""Two endpoints with RH over two paths, driven by whoever calls: both send operations of two buckets, both execute them.

Bucket b is at home on path b. Operations of a bucket are numbered, and must be executed in this order whatever paths they take;
the functions under test never see the numbers. A path is a FIFO each way for DATA and one for ACKs and NACKs; CONTROL and
FENCE_RSP keep no order with anything. FENCE_RSP is never lost: on the wire it is DATA of the other direction.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scalefab.protocol import ordering, path_change, paths, rh_receiver, rh_sender
from scalefab.protocol import reliability as rh

PATHS = BUCKETS = (0, 1)
FENCE = -1  # a bucket's name in a space's copies: a FENCE, not an operation
WIRE_ITEMS = 12
NONCE_BITS = 32


@dataclass(frozen=True)
class Width:
    """Bits of a PSN, and the window that goes with it."""

    bits: int
    window: int


SMALL, WIRE = Width(3, 3), Width(rh.PSN_BITS, 20)


def record(dtype: Any) -> Any:
    return np.zeros(1, dtype).view(np.recarray)[0]


@dataclass
class Space:
    """What one end knows of a path: its sender with copies, and its receiver."""

    width: Width
    start: int
    tx: Any = field(default_factory=lambda: record(rh.SESSION))
    retry: Any = field(default_factory=lambda: record(rh_sender.RETRY))
    ask: Any = field(default_factory=lambda: record(path_change.ASK))
    rx: Any = field(default_factory=lambda: record(rh.SESSION))
    repair: Any = field(default_factory=lambda: record(rh_receiver.REPAIR))
    copies: deque[tuple[int, int]] = field(default_factory=deque)  # (bucket or FENCE, number)
    data: deque[tuple[int, int, int, int]] = field(default_factory=deque)  # on the wire: psn, bucket, number, ack_psn or -1
    answers: deque[tuple[bool, int]] = field(default_factory=deque)  # on the wire, of this end's receiver: NACK?, ack_psn
    live: bool = True

    def __post_init__(self) -> None:
        first = self.start % (1 << self.width.bits)
        self.tx.next_psn = self.tx.una_psn = self.rx.expected = self.retry.fenced_psn = first
        self.tx.window, self.tx.srtt_ps = self.width.window, rh_sender.SRTT_FIRST_PS


class End:
    """One endpoint."""

    def __init__(self, width: Width, start: int) -> None:
        self.bits = width.bits
        self.spaces = [Space(width, start) for _ in PATHS]
        self.waiting: list[deque[int]] = [deque() for _ in BUCKETS]
        self.at = list(BUCKETS)  # the path of a bucket
        self.issued = [0, 0]
        self.executed = [0, 0]  # of the other end's operations
        self.control: list[tuple[str, int, int, int]] = []  # on the way to the other end: what, path, nonce, psn
        self.fence_rsp: list[tuple[int, int]] = []  # likewise: path, PSN of the FENCE
        self.nonce = 0
        self.now_ps = 0
        self.path_errors = 0
        self.requeued = 0

    # ---- sending ----

    def issue(self, bucket: int) -> None:
        self.waiting[bucket].append(self.issued[bucket])
        self.issued[bucket] += 1

    def send(self, path: int) -> bool:
        """Send what is next on a path: a resend, else the next operation of a bucket that is there."""
        space = self.spaces[path]
        if not space.live or len(space.data) >= WIRE_ITEMS:
            return False
        psn = int(rh_sender.next_resend(space.tx, space.retry, self.bits, self.now_ps))
        if psn >= 0:
            self._put(space, psn, space.copies[(psn - int(space.tx.una_psn)) % (1 << self.bits)])
            return True
        for bucket in BUCKETS:
            if self.at[bucket] == path and self.waiting[bucket]:
                return self._new(space, bucket)
        return False

    def fence(self, path: int) -> bool:
        return self.spaces[path].live and self._new(self.spaces[path], FENCE)

    def _new(self, space: Space, bucket: int) -> bool:
        if len(space.data) >= WIRE_ITEMS or not rh_sender.may_send(space.tx, space.retry, self.bits):
            return False
        item = bucket, self.waiting[bucket].popleft() if bucket != FENCE else 0
        psn = int(rh_sender.on_send(space.tx, self.bits, self.now_ps))
        space.copies.append(item)
        self._put(space, psn, item)
        return True

    def _put(self, space: Space, psn: int, item: tuple[int, int]) -> None:
        ack = int(rh_receiver.on_reply_sent(space.rx, self.bits)) if space.rx.unacked else -1
        space.data.append((psn, *item, ack))

    def place_buckets(self) -> None:
        """Move buckets as `paths` and `path_change` allow."""
        for bucket in BUCKETS:
            here, there = self.spaces[self.at[bucket]], self.spaces[1 - self.at[bucket]]
            if not there.live or there.tx.state != rh.SPACE_OPEN:
                continue
            if not here.live or here.tx.state != rh.SPACE_OPEN:
                moves = here.tx.state != rh.SPACE_CLOSING
            else:
                moves = self.at[bucket] != bucket and paths.bucket_may_move(here.tx, here.retry, self.bits)
            if moves:
                assert not any(name == bucket for name, _ in here.copies), "moved while something is un-acked"
                self.at[bucket] = 1 - self.at[bucket]

    # ---- paths ----

    def down(self, path: int) -> None:
        space = self.spaces[path]
        space.live = False
        if path_change.must_close(space.tx, space.retry, self.bits):
            path_change.begin_close(space.tx, space.retry, space.ask, self._draw_nonce())

    def up(self, path: int) -> None:
        self.spaces[path].live = True

    def _draw_nonce(self) -> int:
        self.nonce = int(path_change.next_nonce(self.nonce, NONCE_BITS))
        return self.nonce

    def ask(self, path: int) -> None:
        """Ask (again) what is open, over any live path."""
        space = self.spaces[path]
        if len(self.control) >= WIRE_ITEMS or not any(other.live for other in self.spaces):
            return
        if space.live and space.tx.state == rh.SPACE_CLOSED:
            path_change.begin_open(space.tx, space.ask, self._draw_nonce())
        if space.tx.state in (rh.SPACE_CLOSING, rh.SPACE_OPENING):
            what, psn = ("CLOSE", 0) if space.tx.state == rh.SPACE_CLOSING else ("OPEN", int(space.tx.next_psn))
            self.control.append((what, path, int(space.ask.nonce), psn))

    def timer(self, path: int) -> None:
        """Let time pass until the retry timer fires, if it runs; ACK_REQ is answered by whoever calls `answer`."""
        space = self.spaces[path]
        due_ps = int(rh_sender.timer_due_ps(space.tx, space.retry, self.bits))
        if due_ps < 0 or not space.live:
            return
        self.now_ps = max(self.now_ps, due_ps)
        limits = rh_sender.TRIES_MAX, rh_sender.EXPIRIES_MAX
        if rh_sender.on_timer(space.tx, space.retry, self.bits, self.now_ps, *limits) == rh_sender.PATH_ERROR:
            self.path_errors += 1
            self.down(path)

    # ---- receiving ----

    def answer(self, path: int, asked: bool = False) -> None:
        space = self.spaces[path]
        if (space.rx.unacked or asked) and len(space.answers) < WIRE_ITEMS:
            space.answers.append((False, int(rh_receiver.on_reply_sent(space.rx, self.bits))))

    def take_data(self, path: int, item: tuple[int, int, int, int], peer: End) -> None:
        space = self.spaces[path]
        psn, bucket, number, ack = item
        if ack >= 0:
            self._free(space, int(rh_sender.on_ack(space.tx, space.retry, ack, self.bits, self.now_ps)), peer)
        what = rh_receiver.on_data(space.rx, space.repair, psn, self.bits, self.now_ps)
        if what == rh_receiver.GAP_NACK:
            space.answers.append((True, int(rh_receiver.on_reply_sent(space.rx, self.bits))))
        if what != rh_receiver.ACCEPT:
            return
        if bucket == FENCE:
            self.fence_rsp.append((path, psn))
            return
        assert number == self.executed[bucket], "executed twice, or before another one"
        self.executed[bucket] += 1

    def take_answer(self, path: int, nack: bool, psn: int, peer: End) -> None:
        space = self.spaces[path]
        function = rh_sender.on_nack if nack else rh_sender.on_ack
        self._free(space, int(function(space.tx, space.retry, psn, self.bits, self.now_ps)), peer)

    def _free(self, space: Space, freed: int, peer: End) -> None:
        for _ in range(freed):
            bucket, number = space.copies.popleft()
            assert bucket == FENCE or number < peer.executed[bucket], "freed before it was executed"

    def take_fence_rsp(self, path: int, psn: int) -> None:
        ordering.on_fenced(self.spaces[path].retry, psn, self.bits)

    def take_control(self, what: str, path: int, nonce: int, psn: int, peer: End) -> None:
        space = self.spaces[path]
        if what == "CLOSE":
            if path_change.on_close(space.rx, space.repair, nonce, NONCE_BITS) != path_change.IGNORED:
                self.control.append(("CLOSED", path, nonce, int(path_change.closed_psn(space.rx, self.bits))))
        elif what == "OPEN":
            if path_change.on_open(space.rx, space.repair, psn, nonce, NONCE_BITS) != path_change.IGNORED:
                self.control.append(("OPENED", path, nonce, 0))
        elif what == "OPENED":
            path_change.on_opened(space.tx, space.ask, nonce)
        else:
            freed = int(path_change.on_closed(space.tx, space.retry, space.ask, psn, nonce, self.bits, self.now_ps))
            if freed >= 0:
                self._free(space, freed, peer)
                self._queue_again(space)

    def _queue_again(self, space: Space) -> None:
        while space.copies:
            bucket, number = space.copies.pop()
            if bucket != FENCE:  # a FENCE is not queued again: the test begins another one when it likes
                self.waiting[bucket].appendleft(number)
                self.requeued += 1

    # ---- what must hold ----

    def check(self, peer: End) -> None:
        for space, other in zip(self.spaces, peer.spaces, strict=True):
            flying = int(rh.in_flight(space.tx, self.bits))
            assert flying == len(space.copies) <= space.width.window
            if space.tx.state == rh.SPACE_OPEN and other.rx.rx_state == rh.SPACE_OPEN:
                assert (int(other.rx.expected) - int(space.tx.una_psn)) % (1 << self.bits) <= flying
        for bucket in BUCKETS:
            assert list(self.waiting[bucket]) == sorted(self.waiting[bucket])
