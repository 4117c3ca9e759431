"""The compiled integer operations of ATOMIC against those on bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol.atomic_values import combine_integers
from scalefab.protocol.atomics import combine
from scalefab.protocol.opcodes import AtomicOp, ElementType
from scalefab.workload.values import INTEGERS, signed

EDGES = [0, 1, 2, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
WORDS = st.one_of(st.sampled_from(EDGES), st.integers(0, (1 << 64) - 1))


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize("operation", list(AtomicOp))
@settings(max_examples=60, deadline=None)
@given(old=WORDS, operand=WORDS, compare=st.one_of(WORDS, st.none()))
def test_the_same_to_the_bit(operation: AtomicOp, element: ElementType, old: int, operand: int, compare: int | None) -> None:
    compare = old if compare is None else compare
    size = element.size_bytes

    def raw(value: int) -> bytes:
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    if operation is AtomicOp.COMPARE_SWAP:
        expected = combine(operation, element, raw(old), raw(compare), raw(operand))
    else:
        expected = combine(operation, element, raw(old), raw(operand))
    now = combine_integers(int(operation), int(element), signed(old, element), signed(operand, element), signed(compare, element))
    assert raw(now) == expected and now == signed(int.from_bytes(expected, "little"), element)
