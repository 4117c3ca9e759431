"""Two-sided messages at the target: receives posted by software, messages that came before theirs (open profile section 1).

Message m of (src, queue) takes the m-th receive posted for it. One that comes first is kept among at most 64 unexpected messages
of its source (`own`: so no source takes another one's room); beyond that its packets are counted and dropped, and it is answered
RECEIVER_NOT_READY, to be sent anew with the same number. Its data must fit the receive, else status ADDRESS (`own`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .opcodes import Status

UNEXPECTED_MAX = 64
_NUMBERS = 1 << 16


@dataclass(frozen=True, slots=True)
class Receive:
    """A buffer that software has posted."""

    address: int
    size_bytes: int


@dataclass(slots=True)
class Unexpected:
    """A message that came before its receive, kept until both are there."""

    data: bytearray = field(default_factory=bytearray)
    receive: Receive | None = None
    match: int = 0
    context: int = 0
    immediate: bytes = b""
    is_whole: bool = False

    def write(self, offset: int, data: bytes) -> None:
        """Keep the bytes of one packet."""
        missing = offset + len(data) - len(self.data)
        if missing > 0:
            self.data += bytes(missing)
        self.data[offset : offset + len(data)] = data


@dataclass(frozen=True, slots=True)
class Place:
    """Where the packets of a message go: to a receive, to a message kept, or nowhere (``status`` says why)."""

    status: Status
    receive: Receive | None = None
    kept: Unexpected | None = None


class Receives:
    """All receives and unexpected messages of one target."""

    def __init__(self) -> None:
        self._posted: dict[tuple[int, int], int] = {}  # how many, ever
        self._waiting: dict[tuple[int, int, int], Receive] = {}
        self._kept: dict[tuple[int, int, int], Unexpected] = {}

    def post(self, src: int, queue: int, receive: Receive) -> tuple[int, Unexpected | None]:
        """Post a receive. Return the number of the message that it is for, and that message if all of it has come before."""
        number = self._posted.get((src, queue), 0)
        self._posted[src, queue] = (number + 1) % _NUMBERS
        kept = self._kept.get((src, queue, number))
        if kept is None:
            self._waiting[src, queue, number] = receive
            return number, None
        kept.receive = receive
        if not kept.is_whole:
            return number, None
        del self._kept[src, queue, number]
        return number, kept

    def place(self, src: int, queue: int, number: int) -> Place:
        """Say where a message's packets go, when the first of them comes."""
        receive = self._waiting.pop((src, queue, number), None)
        if receive is not None:
            return Place(Status.OK, receive=receive)
        if sum(1 for key in self._kept if key[0] == src) >= UNEXPECTED_MAX:
            return Place(Status.RECEIVER_NOT_READY)
        kept = self._kept[src, queue, number] = Unexpected()
        return Place(Status.OK, kept=kept)

    def take_whole(self, src: int, queue: int, number: int) -> bool:
        """Take a kept message, now whole, out if its receive is there; else it waits on."""
        kept = self._kept[src, queue, number]
        kept.is_whole = True
        if kept.receive is not None:
            del self._kept[src, queue, number]
        return kept.receive is not None
