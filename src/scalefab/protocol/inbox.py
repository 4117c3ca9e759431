"""Messages that arrive: packets of RDMA_WRITE* and SEND*, then immediate or signal, then COMPLETION (open profile section 1).

Where the profile is silent (`own`): a packet that fails its check gives its message that status, the first one to fail counts; a
message with a status other than OK delivers neither immediate nor signal. A packet that comes twice, or lies beyond the last one,
is UNSUPPORTED. A 65th open message is refused with ERROR, status UNSUPPORTED.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .atomics import combine
from .bits import unpack
from .frame import Transaction
from .layout import SEND_ADDRESS, SIGNAL
from .memory import Memory
from .messages import Arrival, Assembly
from .opcodes import AtomicOp, ElementType, Status
from .profile import Opcode
from .receives import Place, Receive, Receives, Unexpected
from .tags import OPEN_MESSAGES_MAX
from .windows import Rights

_SENDS = (Opcode.SEND, Opcode.SEND_IMM)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What software hears of: a message received, or an immediate in a context's completion queue.

    ``queue``, ``message`` and ``match`` are those of SEND*, -1 for RDMA_WRITE_IMM. ``status`` is ADDRESS where a message that
    came before its receive turned out larger than that.
    """

    src: int
    context: int
    bytes_count: int
    immediate: bytes = b""
    queue: int = -1
    message: int = -1
    match: int = -1
    status: Status = Status.OK


@dataclass(slots=True)
class _Open:
    assembly: Assembly = field(default_factory=Assembly)
    status: Status = Status.OK
    place: Place | None = None
    tail: Transaction | None = None  # the last packet, which may come before others

    def fail(self, status: Status) -> None:
        if self.status is Status.OK:
            self.status = status


class Inbox:
    """Open messages of all sources at one target."""

    def __init__(self, memory: Memory, mtu: int) -> None:
        self._memory = memory
        self._mtu = mtu
        self._open: dict[tuple[int, int], _Open] = {}
        self._receives = Receives()
        self.deliveries: list[Delivery] = []

    def post_receive(self, src: int, queue: int, address: int, size_bytes: int) -> None:
        """Let software post a receive for the next message number of (src, queue); ValueError outside the memory."""
        if not self._memory.contains(address, size_bytes):
            raise ValueError(f"{size_bytes} bytes at {address:#x} are not in the memory")
        number, kept = self._receives.post(src, queue, Receive(address, size_bytes))
        if kept is not None:
            self._hand_over(src, queue, number, kept)

    def take(self, src: int, partition: int, one: Transaction) -> Status | None:
        """Take one packet. Return the message's status when it is whole (or refused), None while packets are missing."""
        th = one.th
        message = self._open.get((src, th.tag))
        if message is None:
            if sum(1 for other, _ in self._open if other == src) >= OPEN_MESSAGES_MAX:
                return Status.UNSUPPORTED
            message = self._open[src, th.tag] = _Open()
        arrival = message.assembly.add(th.context, th.last, th.length)
        if arrival is Arrival.WRONG:
            message.fail(Status.UNSUPPORTED)
            return None
        if th.last:
            message.tail = one
        message.fail(self._place(src, partition, one, message) if th.opcode in _SENDS else self._put(partition, one))
        if arrival is Arrival.PART:
            return None
        del self._open[src, th.tag]
        assert message.tail is not None
        if th.opcode in _SENDS:
            self._finish_send(src, message.tail, message)
        elif message.status is Status.OK:
            message.fail(self._finish_put(src, partition, message.tail, message.assembly.bytes_count))
        return message.status

    def _put(self, partition: int, one: Transaction) -> Status:
        th = one.th
        status = self._memory.permit(th.kind, partition, th.address, th.length, Rights.WRITE)
        if status is Status.OK:
            self._memory.write(th.address, one.parts[-1])
        return status

    def _finish_put(self, src: int, partition: int, last: Transaction, bytes_count: int) -> Status:
        th = last.th
        if th.opcode == Opcode.RDMA_WRITE_IMM:
            self.deliveries.append(Delivery(src, th.kind, bytes_count, last.parts[0]))
        if th.opcode != Opcode.RDMA_WRITE_SIG:
            return Status.OK
        signal = unpack(SIGNAL, last.parts[0])
        address, value = signal["address"], last.parts[1]
        needed = Rights.ATOMIC if signal["add"] else Rights.WRITE
        status = self._memory.permit(th.kind, partition, address, len(value), needed)
        if status is Status.OK:
            if signal["add"]:
                value = combine(AtomicOp.ADD, ElementType.U64, self._memory.read(address, len(value)), value)
            self._memory.write(address, value)
        return status

    def _place(self, src: int, partition: int, one: Transaction, message: _Open) -> Status:
        """Put the data of one SEND packet where its message goes."""
        th = one.th
        if message.place is None:
            status = self._memory.admit(th.kind, partition, Rights.WRITE)
            address = unpack(SEND_ADDRESS, th.address.to_bytes(SEND_ADDRESS.size_bytes))
            message.place = Place(status) if status else self._receives.place(src, address["queue"], address["message"])
        place, offset = message.place, th.context * self._mtu
        if place.kept is not None:
            place.kept.write(offset, one.parts[-1])
        elif place.receive is not None:
            if offset + th.length > place.receive.size_bytes:
                return Status.ADDRESS
            start = place.receive.address + offset
            status = self._memory.permit(th.kind, partition, start, th.length, Rights.WRITE)
            if status is not Status.OK:
                return status
            self._memory.write(start, one.parts[-1])
        return place.status

    def _finish_send(self, src: int, last: Transaction, message: _Open) -> None:
        th, place = last.th, message.place
        assert place is not None
        address = unpack(SEND_ADDRESS, th.address.to_bytes(SEND_ADDRESS.size_bytes))
        queue, number, match = address["queue"], address["message"], address["match"]
        immediate = last.parts[0] if th.opcode == Opcode.SEND_IMM else b""
        if place.kept is not None:
            place.kept.match, place.kept.immediate, place.kept.context = match, immediate, th.kind
            if self._receives.take_whole(src, queue, number):
                self._hand_over(src, queue, number, place.kept)
        elif message.status is Status.OK:
            self.deliveries.append(Delivery(src, th.kind, message.assembly.bytes_count, immediate, queue, number, match))

    def _hand_over(self, src: int, queue: int, number: int, kept: Unexpected) -> None:
        """Copy a message that came before its receive, which is there now."""
        assert kept.receive is not None
        status = Status.OK if len(kept.data) <= kept.receive.size_bytes else Status.ADDRESS
        if status is Status.OK:
            self._memory.write(kept.receive.address, bytes(kept.data))
        self.deliveries.append(Delivery(src, kept.context, len(kept.data), kept.immediate, queue, number, kept.match, status))
