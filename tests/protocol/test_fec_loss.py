"""The error model: the profile's thresholds, an enumeration of every error pattern of a small code, and limits."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from scalefab.errors import InputError
from scalefab.protocol.fec_codes import CODES, PAM4_A_SYMBOL, Code, Fec
from scalefab.protocol.fec_loss import LineErrors, codeword_failure, frame_loss, symbol_errors, uncoded_loss

# Open profile section 3: frame loss ratio 6.2e-10 within 4 % at these bit error ratios.
THRESHOLDS = [(Fec.RS272, 9.92e-5, 0.0), (Fec.RS544, 3.77e-4, 0.0), (Fec.RS272, 8.88e-9, 0.75), (Fec.RS544, 5.79e-5, 0.75)]


@pytest.mark.parametrize(("which", "ber", "burst"), THRESHOLDS)
def test_thresholds_of_the_profile(which: Fec, ber: float, burst: float) -> None:
    assert frame_loss(which, LineErrors(ber, burst)) == pytest.approx(6.2e-10, rel=0.04)


@pytest.mark.parametrize(("which", "ber"), [(Fec.RS272, 9.92e-5), (Fec.RS544, 3.77e-4), (Fec.RS528, 1e-7), (Fec.RS272, 1e-2)])
def test_random_errors_are_binomial(which: Fec, ber: float) -> None:
    code = CODES[which]
    q = -np.expm1(10 * np.log1p(-ber))
    binomial = [comb(code.n, i) * q**i * (1 - q) ** (code.n - i) for i in range(code.n + 1)]
    found = symbol_errors(code, LineErrors(ber))
    assert found[:-1] == pytest.approx(binomial[: code.t + 1], rel=1e-10)
    assert found[-1] == pytest.approx(sum(binomial[code.t + 1 :]), rel=1e-10)


@pytest.mark.parametrize(
    ("n", "depth", "ber", "burst"), [(3, 1, 0.05, 0.75), (3, 1, 0.1, 0.3), (3, 1, 0.25, 0.9), (2, 2, 0.1, 0.6)]
)
def test_bursts_equal_the_sum_over_all_error_patterns(n: int, depth: int, ber: float, burst: float) -> None:
    """Every pattern of wrong PAM4 symbols over a block, with its probability under the chain."""
    line = LineErrors(ber, burst)
    p, a = line.enter, line.burst
    length = n * depth * PAM4_A_SYMBOL
    pattern = np.arange(1 << length)
    wrong = np.stack([(pattern >> i & 1).astype(bool) for i in range(length)], axis=1)
    # Before the first symbol the chain is stationary, so the first is wrong with the stationary probability.
    chance = np.where(wrong[:, 0], line.ser, 1 - line.ser)
    for i in range(1, length):
        chance *= np.where(wrong[:, i - 1], np.where(wrong[:, i], a, 1 - a), np.where(wrong[:, i], p, 1 - p))
    symbol = wrong.reshape(-1, n * depth, PAM4_A_SYMBOL).any(axis=2)
    for word in range(depth):
        errors = symbol[:, word::depth].sum(axis=1)
        expected = [chance[errors == i].sum() for i in range(2)] + [chance[errors > 1].sum()]
        code = Code(Fec.NONE, "small", n, n - 2, 0)
        assert symbol_errors(code, line, depth) == pytest.approx(expected, rel=1e-9)
    if depth == 1:
        assert uncoded_loss(line, 1) == pytest.approx(1 - chance[~wrong[:, :4].any(axis=1)].sum(), rel=1e-9)


def test_line_of_the_model() -> None:
    line = LineErrors(1e-4, 0.75)
    p, a = line.enter, line.burst
    assert line.ser == pytest.approx(p / (p + 1 - a), rel=1e-12)
    assert line.ser / 2 == pytest.approx(line.ber)
    assert LineErrors(1e-4).ser == pytest.approx(2e-4, rel=1e-3)


def test_tails_keep_their_digits() -> None:
    """Far out, P(more than t) is P(t + 1) alone, which is known."""
    ber = 1e-12
    q = -np.expm1(10 * np.log1p(-ber))
    assert codeword_failure(Fec.RS544, LineErrors(ber)) == pytest.approx(comb(544, 16) * q**16, rel=1e-8)
    assert codeword_failure(Fec.RS544, LineErrors(ber, 0.75)) > 0.0
    for burst in (0.0, 0.5, 0.99):
        assert symbol_errors(CODES[Fec.RS272], LineErrors(1e-3, burst), 4).sum() == pytest.approx(1.0, abs=1e-11)


def test_interleaving_parts_bursts_and_leaves_random_errors() -> None:
    bursts = [codeword_failure(Fec.RS272, LineErrors(1e-5, 0.75), depth) for depth in (1, 2, 4, 8)]
    assert bursts == sorted(bursts, reverse=True)
    assert bursts[2] < 1e-6 * bursts[0]
    random = [codeword_failure(Fec.RS272, LineErrors(1e-4), depth) for depth in (1, 4)]
    assert random[0] == random[1]


def test_frame_loss_grows_with_the_frame_and_ends_at_one() -> None:
    line = LineErrors(1e-4)
    failure = codeword_failure(Fec.RS272, line)
    assert frame_loss(Fec.RS272, line) == pytest.approx(failure * (1 + 84 / 320), rel=1e-12)
    assert frame_loss(Fec.RS272, line, 2068, 4) == pytest.approx(failure * (4 + 2068 / 320), rel=1e-12)
    assert frame_loss(Fec.RS272, LineErrors(0.2), 2068) == 1.0
    assert frame_loss(Fec.NONE, LineErrors(1e-6)) == pytest.approx(84 * 8 * 1e-6, rel=1e-3)
    assert frame_loss(Fec.NONE, LineErrors(1e-6, 0.75)) == pytest.approx(84 * 4 * 0.25 * 2e-6, rel=1e-2)


@pytest.mark.parametrize("which", Fec)
@pytest.mark.parametrize("burst", [0.0, 0.75])
def test_a_line_without_errors_loses_nothing(which: Fec, burst: float) -> None:
    assert frame_loss(which, LineErrors(0.0, burst), 9236) == 0.0


def test_what_no_line_is() -> None:
    with pytest.raises(InputError) as caught:
        LineErrors(0.3, 1.0)
    assert [str(problem) for problem in caught.value.problems] == [
        "ber: bit error ratio 0.3; expected 0 .. 0.25",
        "burst: P(error after error) 1.0; expected 0 .. 1, 1 excluded",
    ]
    with pytest.raises(InputError):
        LineErrors(float("nan"), float("nan"))
    with pytest.raises(InputError, match=r"depth: interleave 0; expected 1 \.\. 16"):
        codeword_failure(Fec.RS272, LineErrors(1e-4), 0)
