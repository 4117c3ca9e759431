"""REDUCE and ATOMIC arithmetic against NumPy and exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol.atomics import FLOATS, FloatFormat, add_floats, combine, reduce_into
from scalefab.protocol.opcodes import AtomicOp, ElementType

INTEGERS: dict[ElementType, Any] = {
    ElementType.U32: np.uint32,
    ElementType.U64: np.uint64,
    ElementType.I32: np.int32,
    ElementType.I64: np.int64,
}
NUMPY_FLOATS: dict[ElementType, tuple[Any, Any]] = {
    ElementType.F16: (np.float16, np.uint16),
    ElementType.F32: (np.float32, np.uint32),
    ElementType.F64: (np.float64, np.uint64),
}
UFUNCS = {
    AtomicOp.ADD: np.add,
    AtomicOp.MIN: np.minimum,
    AtomicOp.MAX: np.maximum,
    AtomicOp.AND: np.bitwise_and,
    AtomicOp.OR: np.bitwise_or,
    AtomicOp.XOR: np.bitwise_xor,
}
FLOAT_UFUNCS = {AtomicOp.ADD: np.add, AtomicOp.MIN: np.fmin, AtomicOp.MAX: np.fmax}


def edges(bits: int) -> list[int]:
    """Bit patterns around which arithmetic changes."""
    half = 1 << bits - 1
    return [0, 1, 2, half - 2, half - 1, half, half + 1, 2 * half - 2, 2 * half - 1]


def float_edges(f: FloatFormat) -> list[int]:
    """Zeroes, subnormals, ones, halves of an ulp, the largest, infinity, NaNs; of both signs."""
    one = f.bias << f.fraction
    plain = [0, 1, 2, (1 << f.fraction) - 1, 1 << f.fraction, (1 << f.fraction) + 1, one - 1, one, one + 1]
    plain += [one + (1 << f.fraction) - 1, (f.bias - f.fraction - 1) << f.fraction, (f.bias - f.fraction) << f.fraction]
    plain += [f.infinity - 1, f.infinity - 2, f.infinity, f.infinity + 1, f.nan, f.nan + 1]
    return plain + [bits | f.sign for bits in plain]


def pairs(element: ElementType, seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of bit patterns: all pairs of edges, random ones, and ones whose exponents are close."""
    bits = 8 * element.size_bytes
    some = np.array(float_edges(FLOATS[element]) if element in FLOATS else edges(bits), np.uint64)
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 1 << bits, count, np.uint64, endpoint=False) if bits < 64 else rng.integers(0, 2**64, count, np.uint64)
    b = rng.integers(0, 2**64, count, np.uint64) & np.uint64((1 << bits) - 1)
    near = a ^ (rng.integers(0, 1 << min(bits, 12), count, np.uint64))
    near[::2] ^= np.uint64(1 << bits - 1)
    return np.concatenate([np.repeat(some, len(some)), a, a]), np.concatenate([np.tile(some, len(some)), b, near])


@pytest.mark.parametrize("operation", UFUNCS, ids=lambda o: o.name)
@pytest.mark.parametrize("element", INTEGERS, ids=lambda e: e.name)
def test_integers(element: ElementType, operation: AtomicOp) -> None:
    dtype = INTEGERS[element]
    a, b = (x.astype(f"<u{element.size_bytes}") for x in pairs(element, 1, 500))
    expected = UFUNCS[operation](a.view(dtype), b.view(dtype))  # integers of NumPy arrays wrap
    assert reduce_into(operation, element, a.tobytes(), b.tobytes()) == expected.tobytes()


def _canonical(bits: np.ndarray, f: FloatFormat) -> np.ndarray:
    out = bits.copy()
    out[(bits.astype(np.uint64) & np.uint64(f.sign - 1)) > np.uint64(f.infinity)] = f.nan
    return out


@pytest.mark.parametrize("operation", FLOAT_UFUNCS, ids=lambda o: o.name)
@pytest.mark.parametrize("element", NUMPY_FLOATS, ids=lambda e: e.name)
def test_floats(element: ElementType, operation: AtomicOp) -> None:
    dtype, word = NUMPY_FLOATS[element]
    f = FLOATS[element]
    a, b = (x.astype(word) for x in pairs(element, 2, 4000))
    with np.errstate(all="ignore"):
        expected = FLOAT_UFUNCS[operation](a.view(dtype), b.view(dtype)).view(word)
    found = np.frombuffer(reduce_into(operation, element, a.tobytes(), b.tobytes()), word)
    zeroes = (a.astype(np.uint64) | b.astype(np.uint64)) & np.uint64(f.sign - 1) == 0
    signless = found[zeroes] & word(f.sign - 1) if operation is not AtomicOp.ADD else found[zeroes]
    wanted = expected[zeroes] & word(f.sign - 1) if operation is not AtomicOp.ADD else expected[zeroes]
    assert np.array_equal(signless, wanted)
    assert np.array_equal(found[~zeroes], _canonical(expected, f)[~zeroes])


def _value(bits: int, f: FloatFormat) -> Fraction:
    exponent, fraction = bits >> f.fraction & (1 << f.exponent) - 1, bits & (1 << f.fraction) - 1
    scale = Fraction(2) ** (max(exponent, 1) - f.bias - f.fraction)
    return (-1 if bits & f.sign else 1) * (fraction + ((1 << f.fraction) if exponent else 0)) * scale


def _nearest(exact: Fraction, f: FloatFormat) -> int:
    """The closest of all numbers of the format, the even one of two: by bisection over bit patterns, without rounding."""
    low, high = 0, f.infinity  # infinity stands where the next power of two would
    size = abs(exact)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _value(middle, f) <= size else (low, middle)
    top = Fraction(2) ** (f.bias + 1) if high == f.infinity else _value(high, f)
    below, above = size - _value(low, f), top - size
    nearest = low if below < above or (below == above and low % 2 == 0) else high
    return nearest | (f.sign if exact < 0 else 0)


@pytest.mark.parametrize("element", FLOATS, ids=lambda e: e.name)
def test_sums_are_rounded_once_to_nearest_even(element: ElementType) -> None:
    f = FLOATS[element]
    for a, b in zip(*(x.tolist() for x in pairs(element, 3, 300)), strict=True):
        if max(a & ~f.sign, b & ~f.sign) < f.infinity:
            exact = _value(a, f) + _value(b, f)
            if exact:
                assert add_floats(a, b, f) == _nearest(exact, f), (hex(a), hex(b))


@settings(max_examples=300)
@given(st.sampled_from(list(FLOATS)), st.data())
def test_operands_may_come_in_any_order(element: ElementType, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(list(FLOAT_UFUNCS)))
    size = element.size_bytes
    number = st.sampled_from(float_edges(FLOATS[element])) | st.integers(0, (1 << 8 * size) - 1)
    a, b = (data.draw(number).to_bytes(size, "little") for _ in "ab")
    assert combine(operation, element, a, b) == combine(operation, element, b, a)


@pytest.mark.parametrize("element", FLOATS, ids=lambda e: e.name)
def test_rules_of_nan_infinity_and_zero(element: ElementType) -> None:
    f, size = FLOATS[element], element.size_bytes
    one = f.bias << f.fraction
    signalling = f.infinity | 1

    def result(operation: AtomicOp, a: int, b: int) -> int:
        found = combine(operation, element, a.to_bytes(size, "little"), b.to_bytes(size, "little"))
        return int.from_bytes(found, "little")

    for nan in (f.nan, signalling, f.nan | f.sign):
        for operation in (AtomicOp.MIN, AtomicOp.MAX):
            assert result(operation, nan, one) == result(operation, one, nan) == one
            assert result(operation, nan, signalling) == f.nan
        assert result(AtomicOp.ADD, nan, one) == f.nan
    assert result(AtomicOp.ADD, f.infinity, f.infinity | f.sign) == f.nan
    assert result(AtomicOp.ADD, f.infinity, f.infinity) == f.infinity
    assert result(AtomicOp.ADD, f.infinity - 1, f.infinity - 1) == f.infinity
    assert result(AtomicOp.ADD, one, one | f.sign) == 0
    assert result(AtomicOp.ADD, f.sign, f.sign) == f.sign
    assert result(AtomicOp.MIN, 0, f.sign) == f.sign and result(AtomicOp.MAX, 0, f.sign) == 0


@pytest.mark.parametrize("element", ElementType, ids=lambda e: e.name)
def test_swap_and_compare_swap(element: ElementType) -> None:
    size = element.size_bytes
    old, new, other = b"\x01" * size, b"\x02" * size, b"\x03" * size
    assert combine(AtomicOp.SWAP, element, old, new) == new
    if element.is_integer:
        assert combine(AtomicOp.COMPARE_SWAP, element, old, old, new) == new
        assert combine(AtomicOp.COMPARE_SWAP, element, old, other, new) == old


def test_known_bf16_sums() -> None:
    """256 + 1 is a tie between 256 and 258; 257 is no bfloat16."""
    b = FLOATS[ElementType.BF16]
    assert add_floats(0x4380, 0x3F80, b) == 0x4380
    assert add_floats(0x4381, 0x3F80, b) == 0x4382  # 258 + 1: tie, up to the even 260
    assert add_floats(0x4380, 0x3F81, b) == 0x4381  # 256 + 1.0078
