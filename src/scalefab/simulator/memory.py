"""What the verification of memory found (``run.verify: memory``). No Numba here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_ONES = np.array([bin(value).count("1") for value in range(256)], np.int64)


def segment_bases(segments: Any) -> Any:
    """Return the first byte of each operation's bits, and behind the last one their number; shape (n + 1,)."""
    return np.append(0, np.cumsum((np.asarray(segments, np.int64) + 7) // 8))


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
    """

    segments: int
    executed: int
    twice: int
    missing: int
    outside: int = 0

    @property
    def failures(self) -> tuple[str, ...]:
        """What is wrong, empty when every segment of a finished operation was executed exactly once."""
        told = (
            (self.twice, "executions of segments that had been executed before"),
            (self.missing, "segments of finished operations that were never executed"),
            (self.outside, "executions of segments that their operation does not have"),
        )
        return tuple(f"{count} {what}" for count, what in told if count)

    def __str__(self) -> str:
        if self.failures:
            return f"{self.executed} of {self.segments} segments executed; " + "; ".join(self.failures)
        if self.executed < self.segments:
            return f"{self.executed} of {self.segments} segments executed exactly once, the others not at all: unfinished"
        return f"{self.segments} segments executed exactly once"


def find_memory(bits: Any, bases: Any, segments: Any, finished: Any, twice: int, outside: int) -> Memory:
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
    twice, outside
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
    )
