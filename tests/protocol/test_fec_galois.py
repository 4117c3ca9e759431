"""Parity and corrections equal to those of galois (extra ``long``), on many random words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fec_words import messages, spoilt

from scalefab.protocol.fec import RS272, RS528, RS544, UNCORRECTABLE, ReedSolomon

ENCODED, DECODED = 1_000, 20  # galois takes some 0.2 s to decode a word


@pytest.mark.long
@pytest.mark.parametrize("coder", [RS272, RS528, RS544], ids=lambda coder: coder.code.name)
def test_equal_to_galois(coder: ReedSolomon) -> None:
    galois: Any = pytest.importorskip("galois", reason="needs the extra 'long'")
    field = galois.GF(2**10, irreducible_poly="x^10 + x^3 + 1", primitive_element=2)
    code, t = coder.code, coder.code.t
    reference = galois.ReedSolomon(1023, 1023 - code.parity, field=field, alpha=field(2), c=0)
    assert tuple(int(c) for c in reference.generator_poly.coeffs) == coder.generator

    message = messages(coder, ENCODED, 21)
    word = coder.encode(message)
    assert (np.asarray(reference.encode(field(message))) == word).all()

    counts = [*range(t + 1), t + 1, t + 2, 2 * t, code.n // 2]
    given_up = beyond = 0
    for errors in counts:
        received = spoilt(word[:DECODED], errors, 100 + errors)
        corrected, found = coder.decode(received)
        told, expected = reference.decode(field(received), output="codeword", errors=True)
        expected = np.asarray(expected)
        assert (found == expected).all()
        right = expected != UNCORRECTABLE
        assert (corrected[right] == np.asarray(told)[right]).all()
        assert (corrected[~right] == received[~right]).all()
        if errors <= t:
            assert (found == errors).all() and (corrected == word[:DECODED]).all()
        else:
            beyond += DECODED
            given_up += int((found == UNCORRECTABLE).sum())
    print(
        f"\n{code.name}: parity of {ENCODED} words equal; decoded alike with 0 .. {t} errors ({DECODED} words each) and beyond "
        f"({', '.join(str(count) for count in counts[t + 1 :])} errors: {given_up} of {beyond} given up by both)"
    )
