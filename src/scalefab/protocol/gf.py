"""GF(2^10) with x^10 + x^3 + 1 and alpha = 2 (open profile section 3; ``sib``: ETC LL-FEC, IEEE 802.3), by logarithms.

A product is ``EXP[LOG[a] + LOG[b]]`` without a branch: the logarithm of 0 is so large that every sum with it falls into the
part of ``EXP`` that is 0. Compiled code takes both tables in as constants.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

FIELD = 1024
ORDER = FIELD - 1  # of alpha
POLYNOMIAL = 0x409  # x^10 + x^3 + 1
LOG_ZERO = 2 * ORDER  # larger than the sum of two logarithms of non-zero elements


def _tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    exp = np.zeros(2 * LOG_ZERO + 1, np.int32)
    log = np.full(FIELD, LOG_ZERO, np.int32)
    element = 1
    for power in range(ORDER):
        exp[power] = exp[power + ORDER] = element
        log[element] = power
        element <<= 1
        if element & FIELD:
            element ^= POLYNOMIAL
    exp.setflags(write=False)
    log.setflags(write=False)
    return exp, log


EXP, LOG = _tables()
"""``EXP[i]`` = alpha^i for 0 <= i < 2046 and 0 above; ``LOG[a]`` = 0 .. 1022, `LOG_ZERO` for 0."""


@compiled
def multiply(a: int, b: int) -> int:
    """Return a x b."""
    return EXP[LOG[a] + LOG[b]]


@compiled
def divide(a: int, b: int) -> int:
    """Return a / b for b != 0."""
    return EXP[LOG[a] + ORDER - LOG[b]] if a else 0


def generator_polynomial(parity: int) -> tuple[int, ...]:
    """Return (x - alpha^0)(x - alpha^1) .. (x - alpha^(parity - 1)), highest power first: ``parity`` + 1 coefficients."""
    coefficients = [1]
    for root in range(parity):
        alpha = int(EXP[root])
        shifted = [*coefficients, 0]
        for i, c in enumerate(coefficients):
            shifted[i + 1] ^= int(EXP[LOG[c] + LOG[alpha]])
        coefficients = shifted
    return tuple(coefficients)
