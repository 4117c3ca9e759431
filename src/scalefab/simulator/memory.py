"""What the verification of memory found (``run.verify: memory``). No Numba here."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocol.opcodes import AtomicOp, ElementType
from ..protocol.profile import Kind
from ..workload.graph import OperationGraph

I8 = NDArray[np.int64]

_ONES = np.array([bin(value).count("1") for value in range(256)], np.int64)


def segment_bases(segments: Any) -> Any:
    """Return the first byte of each operation's bits, and behind the last one their number; shape (n + 1,)."""
    return np.append(0, np.cumsum((np.asarray(segments, np.int64) + 7) // 8))


@dataclass(frozen=True, slots=True, eq=False)
class CellValues:
    """Values at addresses, by (dst, address) ascending, as 64 bits read as signed; and what operations brought back.

    Attributes
    ----------
    dst, address, value
        Shape (addresses,).
    op, returned
        Operations, and the value that their first transaction found; shape (m,).
    """

    dst: I8
    address: I8
    value: I8
    op: I8
    returned: I8


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


def addresses_of(graph: OperationGraph, units: Any) -> tuple[I8, I8, I8]:
    """Return target, address, and row of ``graph.values`` of every transaction whose value is followed."""
    op = graph.values.op
    count = np.asarray(units, np.int64)[op]
    row = np.repeat(np.arange(len(op), dtype=np.int64), count)
    index = np.arange(len(row), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
    return graph.dst[op].astype(np.int64)[row], graph.address[op][row] + index * graph.chunk[op].astype(np.int64)[row], row


def with_values(memory: Memory, graph: OperationGraph, units: Any, cell: Any, valued: Any) -> Memory:
    """Add final values, and check those that do not depend on the order of operations once all are executed."""
    used = cell[cell.used == 1]
    order = np.lexsort((used.address, used.dst))
    dst, address, value = (np.asarray(used[name][order], np.int64) for name in ("dst", "address", "value"))
    text = np.stack([dst, address, value]).astype("<i8").tobytes()
    cells = CellValues(dst, address, value, graph.values.op.astype(np.int64), np.asarray(valued.returned, np.int64))
    wrong = _wrong(graph, units, dst, address, value) if memory.executed == memory.segments and not memory.failures else 0
    return replace(memory, addresses=len(value), wrong=wrong, digest=sha256(text).hexdigest(), cells=cells)


_FOLDS = {AtomicOp.ADD: np.add, AtomicOp.AND: np.bitwise_and, AtomicOp.OR: np.bitwise_or, AtomicOp.XOR: np.bitwise_xor}
_WHOLE = (ElementType.U64, ElementType.U32)


def _wrong(graph: OperationGraph, units: Any, dst: I8, address: I8, value: I8) -> int:
    """Count addresses on which all operations are the same one of a kind that may come in any order, and another value stands."""
    rows = graph.values
    to, at, row = addresses_of(graph, units)
    place = _places(dst, address, to, at)
    kind = np.where(graph.kind[rows.op] == Kind.ATOMIC, rows.operation.astype(np.int64) * 8 + rows.element, -1)[row]
    least, most = np.full(len(value), 1 << 30, np.int64), np.full(len(value), -1, np.int64)
    np.minimum.at(least, place, kind)
    np.maximum.at(most, place, kind)
    wrong = 0
    for operation, fold in _FOLDS.items():
        for element in _WHOLE:
            alike = (least == most) & (most == int(operation) * 8 + int(element))
            mine = alike[place]
            if not mine.any():
                continue
            expected = np.zeros(len(value), np.uint64)
            fold.at(expected, place[mine], rows.value[row[mine]].view(np.uint64))
            if element is ElementType.U32:
                expected &= np.uint64(0xFFFFFFFF)
            wrong += int(np.count_nonzero(expected[alike] != value[alike].view(np.uint64)))
    return wrong


def _places(dst: I8, address: I8, to: I8, at: I8) -> I8:
    """Return where each (to, at) stands among the pairs (dst, address), which are in order."""
    first = np.searchsorted(dst, to, "left")
    out = np.zeros(len(to), np.int64)
    for target in np.unique(to):
        mine = to == target
        own = np.flatnonzero(dst == target)
        out[mine] = first[mine] + np.searchsorted(address[own], at[mine])
    return out
