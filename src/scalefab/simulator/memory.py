"""What the verification of memory found (``run.verify: memory``). No Numba here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

I8 = NDArray[np.int64]

_ONES = np.array([bin(value).count("1") for value in range(256)], np.int64)


def segment_bases(segments: Any) -> Any:
    """Return the first byte of each operation's bits, and behind the last one their number; shape (n + 1,)."""
    return np.append(0, np.cumsum((np.asarray(segments, np.int64) + 7) // 8))


@dataclass(frozen=True, slots=True, eq=False)
class CellValues:
    """Values at addresses, by (dst, address) ascending, as 64 bits read as signed; and what atomics brought back.

    Attributes
    ----------
    dst, address, value
        Shape (addresses,).
    op, fetched
        Of every transaction of an atomic its operation, and the value that it found; shape (transactions,).
    """

    dst: I8
    address: I8
    value: I8
    op: I8
    fetched: I8


@dataclass(frozen=True, slots=True)
class Memory:
    """Segments = packets of bulk operations and transactions of the others, at their target; a GET's where its data goes.

    Attributes
    ----------
    segments
        Of all operations.
    executed
        Segments that were executed, once or more.
    twice
        Executions of a segment that had been executed before.
    missing
        Segments of finished operations that were not executed.
    outside
        Executions of segments that their operation does not have.
    disorder
        Transactions that were executed before an earlier one of their operation to the same page (VC 0 promises that order).
    addresses
        Whose values were followed.
    wrong
        Addresses whose value is not what all operations on it make, where that does not depend on their order.
    unfetched
        Addresses that are only added to, always the same, whose adds did not bring back each partial sum exactly once.
    digest
        Of all final values, SHA-256; "" when none were followed. Equal digests = equal values.
    cells
        The values; None when none were followed.
    """

    segments: int
    executed: int
    twice: int
    missing: int
    outside: int = 0
    disorder: int = 0
    addresses: int = 0
    wrong: int = 0
    unfetched: int = 0
    digest: str = ""
    cells: CellValues | None = field(default=None, compare=False)

    @property
    def failures(self) -> tuple[str, ...]:
        """What is wrong, empty when every segment of a finished operation was executed exactly once."""
        told = (
            (self.twice, "executions of segments that had been executed before"),
            (self.missing, "segments of finished operations that were never executed"),
            (self.outside, "executions of segments that their operation does not have"),
            (self.disorder, "transactions executed before an earlier one to the same page"),
            (self.wrong, f"of {self.addresses} addresses hold another value than their operations make"),
            (self.unfetched, f"of {self.addresses} addresses did not give each partial sum to exactly one add"),
        )
        return tuple(f"{count} {what}" for count, what in told if count)

    def __str__(self) -> str:
        if self.failures:
            return f"{self.executed} of {self.segments} segments executed; " + "; ".join(self.failures)
        if self.executed < self.segments:
            return f"{self.executed} of {self.segments} segments executed exactly once, the others not at all: unfinished"
        told = f"{self.segments} segments executed exactly once"
        return f"{told}; values at {self.addresses} addresses, digest {self.digest[:16]}" if self.addresses else told


def find_memory(bits: Any, bases: Any, segments: Any, finished: Any, twice: int, outside: int, disorder: int = 0) -> Memory:
    """Count the bits of a run.

    Parameters
    ----------
    bits
        uint8, eight segments a byte.
    bases
        `segment_bases`.
    segments
        By operation.
    finished
        bool by operation.
    twice, outside, disorder
        Counted by the kernel.
    """
    segments = np.asarray(segments, np.int64)
    up_to = np.append(0, np.cumsum(_ONES[bits]))
    executed = up_to[bases[1:]] - up_to[bases[:-1]]
    return Memory(
        segments=int(segments.sum()),
        executed=int(executed.sum()),
        twice=twice,
        missing=int((segments - executed)[np.asarray(finished, bool)].sum()),
        outside=outside,
        disorder=disorder,
    )
