"""Tags of one (src, dst) pair at the source (open profile section 1, Tags).

Two spaces: bit 15 = 0 for LOAD, STORE*, REDUCE, FENCE, PROBE, RDMA_READ, any free value; bit 15 = 1 for ATOMIC, SEND*,
RDMA_WRITE*, taken serially modulo 2^15, one a message. A tag is free again after its response (posted message: after the ack of
its last packet). Posted STORE* and REDUCE take tag 0, which is therefore never given to anything else (`own`). At most 64
messages are open a pair, and a serial tag is less than 64 ahead of the oldest open one (`own`): else 64 results of later ones
could push the result of a slow one out of the target's cache, and asked again it would run twice (`result_cache`).
"""

from __future__ import annotations

from ..errors import InfeasibleError, Problem
from .opcodes import OPCODES, KindRule
from .profile import Opcode

SERIAL_BIT = 0x8000
SERIAL_MASK = 0x7FFF
OPEN_MESSAGES_MAX = 64
POSTED_TAG = 0


def is_serial(opcode: int) -> bool:
    """Whether an opcode takes its tags serially: ATOMIC, and every packet but RDMA_READ_RSP."""
    row = OPCODES[opcode]
    return opcode == Opcode.ATOMIC or (row.is_packet and row.kind is KindRule.CONTEXT)


class Tags:
    """Tags that one source has open at one target. Give back what was taken with `release`.

    Parameters
    ----------
    first_serial
        Where the serial space begins; for tests.
    open_max
        Serial tags from the oldest open one on, 64 at most: a target remembers as many results and messages.
    """

    def __init__(self, first_serial: int = 0, open_max: int = OPEN_MESSAGES_MAX) -> None:
        self._open: set[int] = set()
        self._serial_open = 0
        self._oldest_serial = first_serial & SERIAL_MASK
        self._next_serial = first_serial & SERIAL_MASK
        self._next_free = POSTED_TAG + 1
        self._open_max = open_max

    @property
    def open_count(self) -> int:
        """Tags taken and not given back."""
        return len(self._open)

    def may_take(self, opcode: int) -> bool:
        """Whether a tag for this opcode can be taken now; a serial one waits for the oldest when that is too far behind."""
        if is_serial(opcode):
            return (self._next_serial - self._oldest_serial) & SERIAL_MASK < self._open_max
        return len(self._open) - self._serial_open < SERIAL_MASK

    def take(self, opcode: int, *, posted: bool = False) -> int:
        """Return the tag of a new request.

        Raises
        ------
        InfeasibleError
            None is free: see `may_take`.
        """
        if posted and opcode in (Opcode.STORE, Opcode.STORE_MASKED, Opcode.REDUCE):
            return POSTED_TAG
        if not self.may_take(opcode):
            raise InfeasibleError([Problem(f"no tag is free for {OPCODES[opcode].name}, {len(self._open)} are open")])
        if is_serial(opcode):
            tag = self._next_serial | SERIAL_BIT
            self._next_serial = (self._next_serial + 1) & SERIAL_MASK
            self._serial_open += 1
        else:
            tag = self._next_free
            while tag in self._open or tag == POSTED_TAG:
                tag = (tag + 1) & SERIAL_MASK
            self._next_free = (tag + 1) & SERIAL_MASK
        self._open.add(tag)
        return tag

    def release(self, tag: int) -> None:
        """Give a tag back; KeyError if it is not open."""
        self._open.remove(tag)
        if tag & SERIAL_BIT:
            self._serial_open -= 1
            while self._oldest_serial != self._next_serial and self._oldest_serial | SERIAL_BIT not in self._open:
                self._oldest_serial = (self._oldest_serial + 1) & SERIAL_MASK
