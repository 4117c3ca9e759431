"""Messages: cut into packets at the source, counted at the target (open profile section 1, Messages).

Packets may come in any order over paths. When the last one has come, the message is whole at its index + 1 packets. A read is
whole likewise. The data of packet i begin at i x mtu, and its TH carries its own target address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from .profile import MESSAGE_MAX_PACKETS


class Arrival(Enum):
    """What a packet did to its message."""

    PART = "more are missing"
    WHOLE = "all are there"
    WRONG = "it came before, or lies beyond the last one"


@dataclass(slots=True)
class Assembly:
    """Packets of one message that have come; ``seen`` has bit i set for packet i, ``packets`` is 0 until the last has come."""

    seen: int = 0
    packets: int = 0
    bytes_count: int = field(default=0)

    def add(self, index: int, last: int, length: int) -> Arrival:
        """Count a packet of ``length`` bytes."""
        after = self.seen >> (index + 1)
        if self.seen >> index & 1 or (self.packets and index >= self.packets) or (last and (self.packets or after)):
            return Arrival.WRONG
        self.seen |= 1 << index
        self.bytes_count += length
        if last:
            self.packets = index + 1
        return Arrival.WHOLE if self.packets and self.seen == (1 << self.packets) - 1 else Arrival.PART


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet of a message: its data are bytes ``start`` .. ``start + length - 1`` of it."""

    index: int
    start: int
    length: int
    last: int


def packets_of(size_bytes: int, mtu: int) -> Iterator[Packet]:
    """Cut a message of 1 .. 65 536 x mtu bytes; ValueError for another size."""
    if not 1 <= size_bytes <= MESSAGE_MAX_PACKETS * mtu:
        raise ValueError(f"{size_bytes} bytes are no message of 1 .. {MESSAGE_MAX_PACKETS} packets of {mtu}")
    for index, start in enumerate(range(0, size_bytes, mtu)):
        length = min(mtu, size_bytes - start)
        yield Packet(index, start, length, int(start + length == size_bytes))


def messages_of(size_bytes: int, mtu: int) -> Iterator[tuple[int, int]]:
    """Cut an operation into messages: (start, bytes) of each; ValueError for less than a byte."""
    if size_bytes < 1:
        raise ValueError(f"{size_bytes} bytes are no operation")
    largest = MESSAGE_MAX_PACKETS * mtu
    for start in range(0, size_bytes, largest):
        yield start, min(largest, size_bytes - start)
