"""The profile's own figures come out of the formulas: 500 m, defaults, buffers, and the sample profiles carry their lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scalefab.fabric.buffers import MAX_CREDITS, packet_credits
from scalefab.protocol import cbfc, limits, llr
from scalefab.protocol.limits import CABLE_PS_PER_M, LinkShape

G = 10**9
FAR = LinkShape(800 * G, 500 * CABLE_PS_PER_M)


def near(gigabits: int) -> LinkShape:
    return LinkShape(gigabits * G, 3 * CABLE_PS_PER_M)


def kilobytes(size: int) -> int:
    return round(size / 1000)


def test_500_m_at_800g() -> None:
    found = limits.computed_llr(FAR)
    assert -(-found.outstanding_bytes // 1000) == 527  # a limit, so the profile rounds it up; 526 184 B make its 6 265 frames
    assert found.outstanding_frames == 6_265
    assert -(-found.replay_timer_ps // 10**6) == 11
    assert found.data_age_ps == 4 * found.replay_timer_ps
    assert kilobytes(limits.buffer_bytes(FAR)) == 541
    assert limits.round_trip_ps(FAR) == 5_000_000 + 200_000 + 61_840


@pytest.mark.parametrize(("gigabits", "kb", "default_kib"), [(800, 44, 256), (400, 33, 128), (200, 27, 64), (100, 24, 32)])
def test_buffers_of_3_m_and_their_defaults(gigabits: int, kb: int, default_kib: int) -> None:
    assert kilobytes(limits.buffer_bytes(near(gigabits))) == kb
    assert limits.default_buffer_bytes(gigabits * G) == default_kib * 1024
    assert limits.buffer_bytes(near(gigabits)) <= limits.default_buffer_bytes(gigabits * G)


@pytest.mark.parametrize(
    ("gigabits", "size", "frames"), [(800, 135_000, 1608), (400, 58_768, 700), (200, 31_184, 372), (100, 15_600, 186)]
)
def test_defaults_of_llr_fill_3_m(gigabits: int, size: int, frames: int) -> None:
    found = limits.default_llr(gigabits * G)
    assert (found.outstanding_bytes, found.outstanding_frames) == (size, frames)
    assert (found.replay_timer_ps, found.replay_count_max, found.data_age_ps) == (5_000_000, 3, 20_000_000)
    assert (found.pcs_lost_ps, found.ctlos_spacing_bytes) == (50_000_000, 2_048)
    assert found.data_age_ps == limits.data_age_ps(found.replay_timer_ps)
    assert found.outstanding_bytes >= limits.outstanding_bytes(near(gigabits))


def test_rates_between_and_above_the_defaults() -> None:
    assert limits.default_llr(106 * G) == limits.default_llr(200 * G)
    assert limits.default_llr(1600 * G).outstanding_bytes == 270_000
    assert limits.default_buffer_bytes(1600 * G) == 512 * 1024
    assert limits.default_buffer_bytes(106 * G) == 64 * 1024


def test_limits_by_hand() -> None:
    link = LinkShape(800 * G, 0, phy_ps=0, frame_own_bytes=9_216, frame_back_bytes=64)
    turn = 9_216 + 64 + 40 + 2_048
    assert limits.outstanding_bytes(link) == turn
    assert limits.round_trip_ps(link) == turn * 10
    assert limits.replay_timer_ps(link) == 5_000_000
    assert limits.credit_limit(link) == -(-(turn + 12_800 + 2 * 9_216) // 64)
    assert limits.pfc_headroom_bytes(link) == 9_216 + 64 + 40 + 84
    assert limits.pfc_headroom_bytes(link, response_ps=1_000_000) == 9_216 + 64 + 40 + 84 + 100_000
    assert limits.refresh_interval_ps(800 * G) == 2_621_440
    assert limits.credit_limit(replace(FAR, frame_own_bytes=9_216, frame_back_bytes=9_216)) <= MAX_CREDITS


def test_a_longer_cable_asks_for_more_of_everything() -> None:
    shapes = [LinkShape(800 * G, metres * CABLE_PS_PER_M) for metres in (1, 3, 40, 500, 2_000)]
    for of in (
        limits.outstanding_bytes,
        limits.credit_limit,
        limits.buffer_bytes,
        limits.pfc_headroom_bytes,
        limits.round_trip_ps,
    ):
        values = [of(shape) for shape in shapes]
        assert values == sorted(set(values))


def test_frames_never_reach_half_of_the_sequence_space() -> None:
    assert limits.computed_llr(LinkShape(800 * G, 10**9)).outstanding_frames == (1 << 19) - 1


@pytest.mark.parametrize("sample", limits.SAMPLE_PROFILES)
def test_samples_keep_the_bytes_of_their_line(sample: limits.SampleProfile) -> None:
    """Largest frames at line rate, by the profile's formula with the sample's own reach and spacing."""
    cable_ps = sample.reach_mm * CABLE_PS_PER_M // 1000
    link = LinkShape(sample.rate_bps, cable_ps, ctlos_spacing_bytes=sample.limits.ctlos_spacing_bytes)
    assert sample.limits.outstanding_bytes >= limits.outstanding_bytes(link)
    assert sample.limits.replay_timer_ps >= 2 * limits.round_trip_ps(link)
    default = limits.default_llr(sample.rate_bps)
    assert sample.limits.outstanding_frames < default.outstanding_frames  # smallest frames stop there: why ours differ


def test_constants_are_those_of_the_transition_functions() -> None:
    assert limits.REPLAY_TIMER_MIN_PS == llr.REPLAY_TIMER_PS
    assert limits.REPLAY_COUNT_MAX == llr.REPLAY_COUNT_MAX
    assert limits.CTLOS_SPACING_BYTES == llr.CTLOS_SPACING_BYTES
    assert 2 * limits.SEQUENCE_HALF == 1 << llr.SEQUENCE_BITS
    assert (limits.CF_SPACING_BYTES, limits.REFRESH_BYTES) == (cbfc.CF_SPACING_BYTES, cbfc.REFRESH_BYTES)
    assert limits.CREDIT_BYTES == cbfc.CREDIT_BYTES
    assert limits.CC_INTERVAL_PS == cbfc.CC_INTERVAL_PS
    assert packet_credits(9_216, 0, limits.CREDIT_BYTES) == 144
