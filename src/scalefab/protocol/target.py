"""What a target does with the transactions of an accepted frame: memory, messages, answers, status (open profile section 1).

The golden model: synchronous, so whatever has been executed is visible, and FENCE is answered at once. Transactions run in list
order. An answer travels on VC 1, data of RDMA_READ on VC 2. Posted requests are answered only if they fail, with ERROR. Reads and
probes that are marked posted run and say nothing (`own`).

ATOMIC and SEND* leave their result in a cache of 64 a source, by tag (`result_cache`): with ``again`` a hit is answered, not
executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from . import result_cache
from .bits import unpack
from .frame import Frame, Th, Transaction, TransactionError, WireFormat
from .inbox import Delivery, Inbox
from .layout import READ_TOTAL
from .memory import RIGHTS, Memory
from .messages import packets_of
from .opcodes import LengthRule, Status
from .profile import VC_BULK, VC_RESPONSE, Opcode
from .windows import Rights

_SOURCES = 1024  # RH.src has 10 bits
_ANSWERS = {
    Opcode.LOAD: Opcode.LOAD_RSP,
    Opcode.STORE: Opcode.STORE_RSP,
    Opcode.STORE_MASKED: Opcode.STORE_RSP,
    Opcode.REDUCE: Opcode.STORE_RSP,
    Opcode.ATOMIC: Opcode.ATOMIC_RSP,
    Opcode.FENCE: Opcode.FENCE_RSP,
    Opcode.PROBE: Opcode.PROBE_RSP,
}
_MESSAGES = (Opcode.RDMA_WRITE, Opcode.RDMA_WRITE_IMM, Opcode.RDMA_WRITE_SIG, Opcode.SEND, Opcode.SEND_IMM)
_CACHED = (Opcode.ATOMIC, Opcode.SEND, Opcode.SEND_IMM)


@dataclass(frozen=True, slots=True)
class Answer:
    """One transaction that goes back, and the VC that it goes in."""

    vc: int
    transaction: Transaction


class Target:
    """A memory that answers.

    Parameters
    ----------
    memory
        Bytes and windows.
    wire
        What the link has agreed on; None = defaults.
    """

    def __init__(self, memory: Memory, wire: WireFormat | None = None) -> None:
        self.memory = memory
        self.wire = wire or WireFormat()
        self._inbox = Inbox(memory, self.wire.mtu)
        self._tags = np.zeros((_SOURCES, result_cache.RESULTS_MAX), np.int64)
        self._results: dict[tuple[int, int], Answer | None] = {}  # by (source, slot)

    @property
    def deliveries(self) -> Sequence[Delivery]:
        """What software has heard of, oldest first."""
        return self._inbox.deliveries

    def post_receive(self, src: int, queue: int, address: int, size_bytes: int) -> None:
        """Let software post a receive; see `inbox.Inbox.post_receive`."""
        self._inbox.post_receive(src, queue, address, size_bytes)

    def execute(self, frame: Frame) -> list[Answer]:
        """Execute the transactions of a DATA frame that was accepted; answers of other targets' requests are none."""
        answers: list[Answer] = []
        for one in frame.transactions:
            answers += self._execute(frame.rh.src, frame.rh.partition, frame.rh.again, one)
        return answers

    def refuse(self, error: TransactionError) -> list[Answer]:
        """Answer a good frame whose list does not parse: nothing of it is executed."""
        return [_status_answer(Opcode.ERROR, error.tag, Status.UNSUPPORTED)]

    def _execute(self, src: int, partition: int, again: int, one: Transaction) -> Iterator[Answer]:
        th = one.th
        row = self.wire.opcodes[th.opcode]
        if row.is_response or th.opcode == Opcode.NOP:
            return
        if th.opcode in _CACHED and again:
            slot = int(result_cache.lookup(self._tags, src, th.tag))
            if slot >= 0:
                known = self._results[src, slot]
                if known is not None and th.last:
                    yield known
                return
        if th.opcode in _MESSAGES:
            answer = self._message(src, partition, one)
        elif th.opcode == Opcode.RDMA_READ:
            yield from self._read(partition, one)
            return
        elif th.opcode in RIGHTS:
            answer = self._touch(partition, one)
        elif th.opcode in (Opcode.FENCE, Opcode.PROBE):
            answer = None if th.posted else _status_answer(_ANSWERS[Opcode(th.opcode)], th.tag, Status.OK)
        else:
            answer = _status_answer(Opcode.ERROR, th.tag, Status.UNSUPPORTED)
        if th.opcode == Opcode.ATOMIC:
            self._remember(src, th.tag, answer)
        if answer is not None:
            yield answer

    def _remember(self, src: int, tag: int, answer: Answer | None) -> None:
        self._results[src, int(result_cache.keep(self._tags, src, tag))] = answer

    def _touch(self, partition: int, one: Transaction) -> Answer | None:
        th = one.th
        status, data = self.memory.touch(one, partition)
        if th.posted:
            return None if status is Status.OK else _status_answer(Opcode.ERROR, th.tag, status)
        opcode = _ANSWERS[Opcode(th.opcode)]
        if self.wire.opcodes[opcode].length is LengthRule.NONE:
            return _status_answer(opcode, th.tag, status)
        answer = Th(opcode, th.length, posted=1, kind=status, tag=th.tag)
        return Answer(VC_RESPONSE, Transaction(answer, (data,) if status is Status.OK else ()))

    def _message(self, src: int, partition: int, one: Transaction) -> Answer | None:
        th = one.th
        status = self._inbox.take(src, partition, one)
        if status is None:
            return None
        answer = None
        if status is not Status.OK and th.posted:
            answer = _status_answer(Opcode.ERROR, th.tag, status)
        elif not th.posted:
            answer = _status_answer(Opcode.COMPLETION, th.tag, status)
        if th.opcode in _CACHED and status is not Status.RECEIVER_NOT_READY:
            self._remember(src, th.tag, answer)
        else:
            result_cache.pass_by(self._tags, src, th.tag)
        return answer

    def _read(self, partition: int, one: Transaction) -> Iterator[Answer]:
        th = one.th
        total = unpack(READ_TOTAL, one.parts[0])["total"]
        status = self.memory.permit(th.kind, partition, th.address, total, Rights.READ)
        if status is not Status.OK:
            yield Answer(VC_BULK, Transaction(Th(Opcode.RDMA_READ_RSP, 1, posted=1, kind=status, tag=th.tag)))
            return
        data = self.memory.read(th.address, total)
        for p in packets_of(total, self.wire.mtu):
            head = Th(Opcode.RDMA_READ_RSP, p.length, posted=1, last=p.last, tag=th.tag, context=p.index)
            yield Answer(VC_BULK, Transaction(head, (data[p.start : p.start + p.length],)))


def _status_answer(opcode: Opcode, tag: int, status: Status) -> Answer:
    return Answer(VC_RESPONSE, Transaction(Th(opcode, posted=1, kind=status, tag=tag)))
