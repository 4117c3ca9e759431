"""The counter-based generator, its substreams, and the thresholds of lost frames."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from scalefab.compiled import compiled_entry, jit_enabled
from scalefab.protocol.faults import draw, loses, loss_thresholds, philox, substream_key, threshold_of
from scalefab.protocol.fec_codes import Fec
from scalefab.protocol.fec_loss import LineErrors, frame_loss

MANY = 200_000 if jit_enabled() else 3_000


@compiled_entry
def draws(key: int, first: int, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = draw(key, first + i)


def sample(key: int, count: int = MANY, first: int = 0) -> np.ndarray:
    out = np.empty(count, np.int64)
    draws(key, first, out)
    return out


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [  # known answers of Random123
        ((0, 0), 0, (0xFF1DAE59, 0x6CD10DF2)),
        ((0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0x2C3F628B, 0xAB4FD7AD)),
        ((0x243F6A88, 0x85A308D3), 0x13198A2E, (0xDD7CE038, 0xF62A4C12)),
    ],
)
def test_philox_is_random123_s(counter: tuple[int, int], key: int, expected: tuple[int, int]) -> None:
    assert philox(counter[0], counter[1], key) == expected


def test_draws_are_the_same_in_every_mode_and_order() -> None:
    key = substream_key(1, "fault", 17)
    assert key == 0x3BCC3C2F82215A0F
    assert [draw(key, number) for number in (0, 1, 1 << 40)] == [0x15C5C72FF8168AA7, 0x18679C00F542C2B5, 0x113AA8968F8BB129]
    assert sample(key, 5, first=100).tolist() == [draw(key, number) for number in range(100, 105)]


def test_draws_are_uniform() -> None:
    values = sample(substream_key(1, "fault", 0)).astype(np.float64) / 2**62
    assert values.min() >= 0.0 and values.max() < 1.0
    assert abs(values.mean() - 0.5) < 4 * sqrt(1 / 12 / MANY)
    bins = np.bincount((values * 64).astype(int), minlength=64)
    chi2 = ((bins - MANY / 64) ** 2 / (MANY / 64)).sum()
    assert 63 - 4 * sqrt(126) < chi2 < 63 + 4 * sqrt(126)
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 4 / sqrt(MANY)


def test_every_bit_is_fair() -> None:
    values = sample(substream_key(3, "fault", 5))
    for bit in range(62):
        assert abs(((values >> bit) & 1).mean() - 0.5) < 4.5 * 0.5 / sqrt(MANY), bit


def test_substreams_are_independent() -> None:
    keys = {substream_key(seed, name, link) for seed in (1, 2) for name in ("fault", "path") for link in range(2_000)}
    assert len(keys) == 8_000
    a, b, c = (sample(substream_key(seed, "fault", link)) / 2**62 for seed, link in ((1, 0), (1, 1), (2, 0)))
    for x, y in ((a, b), (a, c), (b, c)):
        assert abs(np.corrcoef(x, y)[0, 1]) < 4 / sqrt(MANY)


@pytest.mark.parametrize("chance", [0.001, 0.1, 0.5])
def test_frames_are_lost_with_their_probability(chance: float) -> None:
    threshold = threshold_of(chance)
    lost = sample(substream_key(7, "fault", 3)) < threshold
    assert abs(lost.mean() - chance) < 4 * sqrt(chance * (1 - chance) / MANY)
    key = substream_key(7, "fault", 3)
    assert [bool(loses(key, number, threshold)) for number in range(50)] == lost[:50].tolist()
    # Gaps between losses have no memory: their mean is 1 / p and their spread too.
    gaps = np.diff(np.flatnonzero(lost))
    if len(gaps) > 100:
        assert gaps.mean() == pytest.approx(1 / chance, rel=5 / sqrt(len(gaps)))
        assert gaps.std() == pytest.approx(sqrt(1 - chance) / chance, rel=10 / sqrt(len(gaps)))


def test_limits() -> None:
    key = substream_key(1, "fault", 1)
    assert not any(loses(key, number, 0) for number in range(100))
    assert all(loses(key, number, threshold_of(1.0)) for number in range(100))
    assert threshold_of(0.5) == 1 << 61
    assert threshold_of(2.0**-62) == 1


@pytest.mark.parametrize("which", Fec)
@pytest.mark.parametrize(("ber", "burst"), [(1e-4, 0.0), (1e-4, 0.75), (0.0, 0.0), (0.1, 0.0)])
def test_thresholds_are_those_of_the_model(which: Fec, ber: float, burst: float) -> None:
    line = LineErrors(ber, burst)
    table = loss_thresholds(which, line, 4, 2048)
    assert table.dtype == np.int64
    assert len(table) == 2048 + 25  # a tag and 20 B of preamble and gap on top of the largest frame
    assert not table.flags.writeable
    assert (np.diff(table) >= 0).all()
    assert table.max() <= 1 << 62
    for wire in (84, 604, 2068):
        assert table[wire] / 2**62 == pytest.approx(frame_loss(which, line, wire, 4), rel=1e-9, abs=2.0**-62)
