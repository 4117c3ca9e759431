"""Closed form against words that were really encoded, interleaved, corrupted and decoded."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from scalefab.compiled import jit_enabled
from scalefab.errors import InputError
from scalefab.protocol.fec_codes import CODES, PAM4_A_SYMBOL, Fec
from scalefab.protocol.fec_loss import LineErrors, symbol_errors
from scalefab.protocol.fec_trials import Trials, corrupt, run_trials

CASES = [
    (Fec.RS272, 1.2e-3, 0.0, 1),
    (Fec.RS272, 8e-4, 0.75, 1),
    (Fec.RS272, 1.5e-3, 0.75, 4),
    (Fec.RS528, 7e-4, 0.5, 2),
    (Fec.RS544, 2e-3, 0.0, 2),
    (Fec.RS544, 2e-3, 0.75, 1),
]

compiled_only = pytest.mark.skipif(not jit_enabled(), reason="thousands of words take minutes when nothing is compiled")


def deviations(trials: Trials, which: Fec, line: LineErrors, depth: int) -> np.ndarray:
    """Return by how many standard errors each count is off: words with 0, 1 .. t wrong symbols, and failed ones."""
    expected = symbol_errors(CODES[which], line, depth) * trials.words
    found = np.append(trials.corrected, trials.failed)
    counted = expected >= 20  # below, a count is no normal variable
    return ((found - expected) / np.sqrt(expected * (1 - expected / trials.words)))[counted]


@compiled_only
@pytest.mark.parametrize(("which", "ber", "burst", "depth"), CASES)
def test_closed_form_and_trials_agree(which: Fec, ber: float, burst: float, depth: int) -> None:
    line = LineErrors(ber, burst)
    trials = run_trials(which, line, 20_000, depth=depth, seed=3)
    assert trials.words == 20_000 == trials.failed + trials.corrected.sum()
    assert trials.failed >= 10
    off = deviations(trials, which, line, depth)
    assert np.abs(off).max() < 4.0
    assert sqrt((off**2).mean()) < 1.8


@pytest.mark.long
@pytest.mark.parametrize(("which", "ber", "burst", "depth"), [*CASES, (Fec.RS272, 5e-4, 0.0, 4), (Fec.RS272, 3e-4, 0.75, 1)])
def test_closed_form_and_two_million_trials_agree(which: Fec, ber: float, burst: float, depth: int) -> None:
    line = LineErrors(ber, burst)
    trials = run_trials(which, line, 2_000_000, depth=depth, seed=11)
    off = deviations(trials, which, line, depth)
    expected = float(symbol_errors(CODES[which], line, depth)[-1])
    print(
        f"\n{CODES[which].name} BER {ber:g} burst {burst:g} depth {depth}: failed {trials.failed} of {trials.words}, closed form "
        f"{expected * trials.words:.1f}; symbol error counts off by at most {np.abs(off).max():.2f} standard errors; "
        f"miscorrected {trials.miscorrected}"
    )
    assert np.abs(off).max() < 4.5


@compiled_only
def test_frames_are_lost_as_the_formula_says() -> None:
    """Back to back frames of 84 B of line over the words of a line at depth 1: lost when one of their words failed."""
    from scalefab.protocol.fec import RS272, UNCORRECTABLE

    line, words = LineErrors(1.2e-3), 30_000
    random = np.random.Generator(np.random.Philox(5))
    sent = np.zeros((words, 272), np.uint16)
    corrupt(sent, line, random)
    failed = RS272.decode(sent)[1] == UNCORRECTABLE
    first = np.arange(0, words * 320 - 84, 84)
    lost = failed[first // 320] | failed[(first + 83) // 320]
    failure = failed.mean()
    assert failure > 0.005
    # 84 and 320 have the factor 4: a frame begins at 80 places only and touches 1 + 80 / 320 words, not 1 + 84 / 320.
    assert lost.mean() == pytest.approx(failure * (1 + 80 / 320), rel=0.03)


def test_the_same_seed_gives_the_same_trial() -> None:
    words = 300 if jit_enabled() else 2
    line = LineErrors(2e-3, 0.5)
    first, again, other = (run_trials(Fec.RS272, line, words, depth=2, seed=seed) for seed in (1, 1, 2))
    assert (first.words, first.failed, first.corrected.tolist()) == (again.words, again.failed, again.corrected.tolist())
    assert not jit_enabled() or first.corrected.tolist() != other.corrected.tolist()


def test_words_fill_whole_blocks() -> None:
    assert run_trials(Fec.RS272, LineErrors(0.0), 3, depth=2).words == 4
    with pytest.raises(InputError, match="interleave 17"):
        run_trials(Fec.RS272, LineErrors(0.0), 3, depth=17)


def wrong_bits(wire: np.ndarray) -> np.ndarray:
    return ((wire.reshape(-1, 1) >> np.arange(10)) & 1).reshape(-1)


@pytest.mark.parametrize("ber", [1e-4, 1e-2, 0.2])
def test_random_bits(ber: float) -> None:
    wire = np.zeros((1, 100_000), np.uint16)
    assert corrupt(wire, LineErrors(ber), np.random.Generator(np.random.Philox(1))) is False
    bits = wrong_bits(wire)
    assert abs(bits.sum() - 1e6 * ber) < 4 * sqrt(1e6 * ber)
    pairs = (bits[1:] & bits[:-1]).sum()
    assert abs(pairs - 1e6 * ber**2) < 4 * sqrt(1e6 * ber**2) + 1


@pytest.mark.parametrize(("ber", "burst"), [(1e-3, 0.75), (0.02, 0.3), (0.25, 0.5)])
def test_bursts_follow_the_chain(ber: float, burst: float) -> None:
    line = LineErrors(ber, burst)
    random = np.random.Generator(np.random.Philox(2))
    wire = np.zeros((400, 1_000), np.uint16)
    state = False
    for row in wire:  # the chain runs on over calls
        state = corrupt(row, line, random, state)
    pairs = wrong_bits(wire).reshape(-1, 2).sum(axis=1)
    assert pairs.max() == 1  # one bit of a wrong PAM4 symbol
    wrong = pairs == 1
    assert len(wrong) == 400_000 * PAM4_A_SYMBOL
    after_wrong, after_right = wrong[1:][wrong[:-1]], wrong[1:][~wrong[:-1]]
    assert abs(after_wrong.mean() - burst) < 4 * sqrt(burst * (1 - burst) / len(after_wrong))
    assert abs(after_right.mean() - line.enter) < 4 * sqrt(line.enter / len(after_right))
    bits = wrong_bits(wire)
    assert abs(int(bits[::2].sum()) - int(bits[1::2].sum())) < 4 * sqrt(bits.sum())
    starts = wrong[:: 1_000 * PAM4_A_SYMBOL][1:]  # the first symbol of a call, after the last of the call before
    assert abs(starts.mean() - line.ser) < 4 * sqrt(line.ser / len(starts)) + 0.01


def test_only_lines_in_order() -> None:
    with pytest.raises(ValueError, match="C-contiguous"):
        corrupt(np.zeros((4, 4), np.uint16).T[:, ::2], LineErrors(0.1), np.random.default_rng(1))
