"""Parameters and times of the codes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from scalefab.errors import InputError
from scalefab.protocol.fec_codes import (
    CODES,
    USUAL_DEPTH,
    Fec,
    block_time_exact_ps,
    fec_time_exact_ps,
    fec_time_ps,
    usual_depth,
)

G = 10**9


def test_parameters_are_the_profile_s() -> None:
    rows = {
        code.fec: (code.n, code.k, code.t, code.bits, code.blocks, code.pad_symbols, code.data_bytes) for code in CODES.values()
    }
    assert rows == {
        Fec.RS272: (272, 258, 7, 2720, 10, 1, 320),
        Fec.RS528: (528, 514, 7, 5280, 20, 0, 640),
        Fec.RS544: (544, 514, 15, 5440, 20, 0, 640),
    }


def test_block_times_at_800G() -> None:
    assert block_time_exact_ps(Fec.RS272, 800 * G, 1) == 3_200
    assert block_time_exact_ps(Fec.RS544, 800 * G, 1) == 6_400
    assert block_time_exact_ps(Fec.RS272, 800 * G) == 12_800
    assert block_time_exact_ps(Fec.NONE, 800 * G) == 0


@pytest.mark.parametrize(
    ("fec", "rate_G", "depth", "time_ps"),
    [
        (Fec.RS272, 800, 4, 50_800),  # 12.8 + 35 + 3 ns
        (Fec.RS272, 800, 0, 50_800),
        (Fec.RS272, 800, 1, 41_200),
        (Fec.RS272, 400, 0, 50_800),  # depth 2
        (Fec.RS272, 200, 0, 63_600),  # depth 2
        (Fec.RS272, 100, 0, 63_600),  # depth 1
        (Fec.RS544, 800, 0, 63_600),
        (Fec.RS544, 100, 0, 89_200),
        (Fec.RS528, 800, 0, 62_848),  # 21120 bits at 850 Gb/s = 24847.06 ps, up
        (Fec.NONE, 800, 0, 0),
    ],
)
def test_fec_time(fec: Fec, rate_G: int, depth: int, time_ps: int) -> None:
    assert fec_time_ps(fec, rate_G * G, depth) == time_ps


def test_fec_time_is_exact_before_it_is_rounded() -> None:
    assert fec_time_exact_ps(Fec.RS528, 800 * G) == Fraction(21_120 * 1000, 850) + 38_000


def test_usual_depth_keeps_a_block_short() -> None:
    assert [usual_depth(rate) for rate in USUAL_DEPTH] == [1, 2, 2, 4]
    with pytest.raises(InputError, match="no usual FEC depth for ports of 50 Gb/s; expected one of 100 Gb/s, 200"):
        usual_depth(50 * G)
