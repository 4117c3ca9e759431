"""A ring of records in memory that two processes share: one writes, one reads, neither waits for the other.

========= =====================================================================================================================
bytes     what
========= =====================================================================================================================
0         bytes that the reader has taken since the beginning (int64); in a cache line pair of its own
128       bytes that the writer has put in (int64), likewise
256       data, a power of two: each record as its length (int64), then its bytes padded to 8; length -1: go on at the beginning
========= =====================================================================================================================

The writer writes a record first and then its counter (release); the reader reads that (acquire) before it reads the record. So
each sees whole records, and each writes one counter only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, compiled_entry
from ..compiled.atomics import load_acquire, store_release

TAKEN, PUT = 0, 16  # words of 8 B
HEADER_BYTES = 256
_LENGTH_BYTES = 8
_WRAP = -1
NOTHING = -1
"""What `pop` returns when no record is there."""

TOO_SHORT = -2
"""What `pop` returns when the next record does not fit the buffer; it stays."""


@compiled
def push_record(words: Any, lengths: Any, data: Any, record: Any, size_bytes: int) -> bool:
    """Put a record in; False: no room. ``lengths`` and ``data`` are the same bytes as int64 and as uint8."""
    need = _LENGTH_BYTES + ((size_bytes + 7) & ~7)
    put = words[PUT]
    capacity = len(data)
    at = put & (capacity - 1)
    skipped = capacity - at if capacity - at < need else 0
    if put + skipped + need - load_acquire(words, TAKEN) > capacity:
        return False
    if skipped:
        lengths[at >> 3] = _WRAP
        at = 0
    lengths[at >> 3] = size_bytes
    at += _LENGTH_BYTES
    for i in range(size_bytes):
        data[at + i] = record[i]
    store_release(words, PUT, put + skipped + need)
    return True


@compiled
def pop_record(words: Any, lengths: Any, data: Any, buffer: Any) -> int:
    """Take the next record into ``buffer``: its bytes, `NOTHING` or `TOO_SHORT`."""
    taken = words[TAKEN]
    if load_acquire(words, PUT) == taken:
        return NOTHING
    capacity = len(data)
    at = taken & (capacity - 1)
    if lengths[at >> 3] == _WRAP:
        taken += capacity - at
        at = 0
    size_bytes = lengths[at >> 3]
    if size_bytes > len(buffer):
        return TOO_SHORT
    at += _LENGTH_BYTES
    for i in range(size_bytes):
        buffer[i] = data[at + i]
    store_release(words, TAKEN, taken + _LENGTH_BYTES + ((size_bytes + 7) & ~7))
    return int(size_bytes)


@compiled_entry
def push(words: Any, lengths: Any, data: Any, record: Any, size_bytes: int) -> bool:
    """`push_record` for Python."""
    return push_record(words, lengths, data, record, size_bytes)


@compiled_entry
def pop(words: Any, lengths: Any, data: Any, buffer: Any) -> int:
    """`pop_record` for Python."""
    return pop_record(words, lengths, data, buffer)


class Ring:
    """A view of a ring in shared memory.

    Parameters
    ----------
    memory
        Bytes of the ring, aligned to 8: header and data.
    """

    def __init__(self, memory: NDArray[np.uint8]) -> None:
        capacity = len(memory) - HEADER_BYTES
        if capacity < 64 or capacity & (capacity - 1):
            raise ValueError(f"{len(memory)} bytes are no ring: {HEADER_BYTES} and a power of two of at least 64")
        self._words = memory[:HEADER_BYTES].view(np.int64)
        self._data = memory[HEADER_BYTES:]
        self._lengths = self._data.view(np.int64)
        self.record_max_bytes = capacity // 2 - _LENGTH_BYTES  # it fits whatever lies before the end

    def push(self, record: bytes) -> bool:
        """Put a record in; False: no room now. ValueError: longer than a record of this ring can be."""
        if len(record) > self.record_max_bytes:
            raise ValueError(f"a record of {len(record)} bytes in a ring for {self.record_max_bytes}")
        return bool(push(self._words, self._lengths, self._data, np.frombuffer(record, np.uint8), len(record)))

    def pop(self, buffer: NDArray[np.uint8]) -> int:
        """Take the next record into ``buffer``; see `pop_record`."""
        return int(pop(self._words, self._lengths, self._data, buffer))
