"""`atomics.combine` for integers, compiled: a value is 64 bits read as a signed number (32-bit elements: 0 .. 2^32 - 1).

Sums go by halves and comparisons turn the sign over, so that no intermediate leaves 63 bits and compiled and interpreted code
agree. The same operations on bytes, and on floating point, are in `atomics`; a test holds the two against each other. `own`.
"""

from __future__ import annotations

from ..compiled import compiled
from .opcodes import AtomicOp, ElementType

_M32 = 0xFFFFFFFF
_HIGH = -(1 << 63)
_ADD, _MIN, _MAX, _AND = int(AtomicOp.ADD), int(AtomicOp.MIN), int(AtomicOp.MAX), int(AtomicOp.AND)
_OR, _XOR, _SWAP = int(AtomicOp.OR), int(AtomicOp.XOR), int(AtomicOp.SWAP)
_U32, _U64, _I32 = int(ElementType.U32), int(ElementType.U64), int(ElementType.I32)


@compiled
def combine_integers(operation: int, element: int, old: int, operand: int, compare: int) -> int:
    """Return what an integer in memory becomes; compare-swap: ``operand`` where it is ``compare``."""
    if operation == _ADD:
        low = (old & _M32) + (operand & _M32)
        if element == _U32 or element == _I32:
            return low & _M32
        high = ((old >> 32) + (operand >> 32) + (low >> 32)) & _M32
        if high >> 31:
            high -= 1 << 32
        return (high << 32) | (low & _M32)
    if operation == _AND:
        return old & operand
    if operation == _OR:
        return old | operand
    if operation == _XOR:
        return old ^ operand
    if operation == _MIN:
        return operand if ordered(operand, element) < ordered(old, element) else old
    if operation == _MAX:
        return operand if ordered(operand, element) > ordered(old, element) else old
    if operation == _SWAP:
        return operand
    return operand if old == compare else old


@compiled
def ordered(value: int, element: int) -> int:
    """Return a number that orders as the element does."""
    if element == _U64:
        return value ^ _HIGH
    if element == _I32:
        return value ^ 0x80000000
    return value
