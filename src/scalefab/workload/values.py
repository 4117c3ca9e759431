"""Operations whose values are followed when memory is verified: what they compute; and what puts with signal write.

A LOAD is an OR with 0, a STORE and the first 8 B of each packet of a PUT a SWAP of which nobody reads the old value.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..protocol.opcodes import AtomicOp, ElementType

I1 = NDArray[np.int8]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]

INTEGERS = (ElementType.U32, ElementType.U64, ElementType.I32, ElementType.I64)


@dataclass(frozen=True, slots=True)
class Atomic:
    """What the transactions of an operation compute: operation(old, value); compare-swap: value where old = compare."""

    operation: AtomicOp = AtomicOp.ADD
    element: ElementType = ElementType.U64
    value: int = 1
    compare: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """A row an operation whose values are followed; values are 64 bits as they lie in memory, read as signed.

    Attributes
    ----------
    op
        Numbers of operations, ascending; shape (m,).
    operation, element
        `AtomicOp` and `ElementType`, integers; shape (m,).
    value, compare
        Operand; what compare-swap compares with; shape (m,).
    """

    op: I4 = field(default_factory=lambda: np.zeros(0, np.int32))
    operation: I1 = field(default_factory=lambda: np.zeros(0, np.int8))
    element: I1 = field(default_factory=lambda: np.zeros(0, np.int8))
    value: I8 = field(default_factory=lambda: np.zeros(0, np.int64))
    compare: I8 = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.op)


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """A row a PUT_SIGNAL: the u64 at an address is set, or increased, when all bytes of the message are visible.

    Attributes
    ----------
    op
        Numbers of operations, ascending; shape (m,).
    address, value
        Of the target; 64 bits read as signed; shape (m,).
    add
        1 = increase, 0 = set; shape (m,).
    """

    op: I4 = field(default_factory=lambda: np.zeros(0, np.int32))
    address: I8 = field(default_factory=lambda: np.zeros(0, np.int64))
    value: I8 = field(default_factory=lambda: np.zeros(0, np.int64))
    add: I1 = field(default_factory=lambda: np.zeros(0, np.int8))

    def __len__(self) -> int:
        return len(self.op)


def signed(value: int, element: ElementType) -> int:
    """Return the bits of an integer element, read as a signed number of 64 bits (32-bit elements: not sign-extended)."""
    bits = 8 * element.size_bytes
    value &= (1 << bits) - 1
    return value - (1 << 64) if value >> 63 else value


def size_bytes(element: I1) -> I8:
    """Return the size of each `ElementType`."""
    sizes = np.zeros(len(ElementType), np.int64)
    for one in ElementType:
        sizes[one] = one.size_bytes
    return sizes[element]
