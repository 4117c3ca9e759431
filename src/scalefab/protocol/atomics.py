"""What REDUCE and ATOMIC compute (open profile section 1, `own`): eight operations on eight element types, to the last bit.

Integers wrap. Floating point is IEEE 754: results are rounded to nearest even, subnormal numbers are kept, min and max of a NaN
and x is x. Where the profile is silent: a NaN that is computed is the positive quiet one with an empty payload, in add and in
min and max of two NaNs alike, and -0 is less than +0, so that a result never depends on the order in which two operands come.

Everything is computed with whole numbers, so no processor's own arithmetic decides a bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from .opcodes import AtomicOp, ElementType


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """Bits of the exponent and of the fraction behind the leading one."""

    exponent: int
    fraction: int

    @property
    def bias(self) -> int:
        """What is added to an exponent."""
        return (1 << self.exponent - 1) - 1

    @property
    def infinity(self) -> int:
        """Bits of +infinity."""
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def nan(self) -> int:
        """Bits of the NaN that is computed."""
        return self.infinity | 1 << self.fraction - 1

    @property
    def sign(self) -> int:
        """Bit of the sign."""
        return 1 << self.exponent + self.fraction


FLOATS = {
    ElementType.F16: FloatFormat(5, 10),
    ElementType.BF16: FloatFormat(8, 7),
    ElementType.F32: FloatFormat(8, 23),
    ElementType.F64: FloatFormat(11, 52),
}
_SIGNED = (ElementType.I32, ElementType.I64)


def combine(operation: int, element: int, old: bytes, operand: bytes, swap: bytes = b"") -> bytes:
    """Return what one element in memory becomes.

    Parameters
    ----------
    operation, element
        `AtomicOp` and `ElementType`, a pair that the profile allows.
    old
        The element in memory, little-endian.
    operand
        The request's operand; of compare-swap what ``old`` must be.
    swap
        Compare-swap: the new value.
    """
    kind = ElementType(element)
    if operation == AtomicOp.SWAP:
        return operand
    if operation == AtomicOp.COMPARE_SWAP:
        return swap if old == operand else old
    a, b = int.from_bytes(old, "little"), int.from_bytes(operand, "little")
    float_format = FLOATS.get(kind)
    if float_format is not None:
        value = _combine_floats(AtomicOp(operation), a, b, float_format)
    else:
        value = _combine_integers(AtomicOp(operation), a, b, 8 * kind.size_bytes, kind in _SIGNED)
    return value.to_bytes(kind.size_bytes, "little")


def reduce_into(operation: int, element: int, old: bytes, data: bytes) -> bytes:
    """Return what the elements in memory become: `combine`, element by element."""
    size = ElementType(element).size_bytes
    return b"".join(combine(operation, element, old[i : i + size], data[i : i + size]) for i in range(0, len(data), size))


def _combine_integers(operation: AtomicOp, a: int, b: int, bits: int, is_signed: bool) -> int:
    if operation is AtomicOp.ADD:
        return (a + b) & ((1 << bits) - 1)
    if operation is AtomicOp.AND:
        return a & b
    if operation is AtomicOp.OR:
        return a | b
    if operation is AtomicOp.XOR:
        return a ^ b
    flip = 1 << bits - 1 if is_signed else 0  # two's complement orders like unsigned numbers with the sign bit turned over
    return (min if operation is AtomicOp.MIN else max)(a, b, key=lambda x: x ^ flip)


def _combine_floats(operation: AtomicOp, a: int, b: int, f: FloatFormat) -> int:
    if operation is AtomicOp.ADD:
        return add_floats(a, b, f)
    if _is_nan(a, f) or _is_nan(b, f):
        return f.nan if _is_nan(a, f) and _is_nan(b, f) else b if _is_nan(a, f) else a
    return (min if operation is AtomicOp.MIN else max)(a, b, key=lambda x: -(x & ~f.sign) - 1 if x & f.sign else x)


def _is_nan(bits: int, f: FloatFormat) -> bool:
    return bits & ~f.sign > f.infinity


def add_floats(a: int, b: int, f: FloatFormat) -> int:
    """Return the bits of the sum of two numbers given as bits, rounded once to nearest even."""
    if _is_nan(a, f) or _is_nan(b, f):
        return f.nan
    if a & ~f.sign == f.infinity or b & ~f.sign == f.infinity:
        if a ^ b == f.sign and a & ~f.sign == f.infinity:
            return f.nan  # infinities of unlike sign
        return a if a & ~f.sign == f.infinity else b
    total = _units(a, f) + _units(b, f)
    if total == 0:
        return a & b & f.sign  # +0 but for -0 and -0
    return _rounded(abs(total), f) | (f.sign if total < 0 else 0)


def _units(bits: int, f: FloatFormat) -> int:
    """Return a finite number in units of the smallest subnormal one."""
    exponent, fraction = bits >> f.fraction & (1 << f.exponent) - 1, bits & (1 << f.fraction) - 1
    value = fraction if exponent == 0 else (fraction | 1 << f.fraction) << exponent - 1
    return -value if bits & f.sign else value


def _rounded(units: int, f: FloatFormat) -> int:
    drop = units.bit_length() - (f.fraction + 1)
    if drop <= 0:
        return units  # subnormal, or the first binade: exact, and bits as they stand
    kept, rest, half = units >> drop, units & (1 << drop) - 1, 1 << drop - 1
    if rest > half or (rest == half and kept & 1):
        kept += 1  # a carry into the next power of two ends in the exponent, where it belongs
    return min((drop << f.fraction) + kept, f.infinity)
