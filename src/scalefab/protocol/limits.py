"""What a link must hold to run at line rate: limits of LLR, of CBFC and of PFC, from its rate, cable and frames.

With T the time from a frame's first bit to the answer that covers it, in the profile's words (section 2; the conformance
cases use the same)::

    T             = 2 x cable + PHY of both ends + (largest frame own + largest frame back + ordered set spacing) / rate
    bytes_max     = rate x T                            timer        = max(5 us, 2 T)
    frames_max    = bytes_max / 84                      data age     = (replays + 1) x timer
    credit_limit  = (rate x T + 2 x CF spacing + 2 x largest frame) / credit
    buffer        = rate x T + 2 x CF spacing + largest frame
    PFC head-room = rate x (2 x cable + PHY + response) + largest frame own + largest frame back + one PAUSE

all rounded up. Frames count with preamble and gap inside T (that is what gives the profile's 6 265 frames for 500 m), and PHY of
both ends is TX + RX at each of two ends. No Numba here: scenarios and reports read these.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from .profile import FRAME_MIN_BYTES, WIRE_EXTRA_BYTES

REPLAY_TIMER_MIN_PS = 5_000_000
REPLAY_COUNT_MAX = 3
NO_REPLAY_LIMIT = 255
PCS_LOST_PS = 50_000_000
CTLOS_SPACING_BYTES = 2_048
CF_SPACING_BYTES = 6_400
CF_SPACING_LEAST_BYTES = 800
CREDIT_BYTES = 64
REFRESH_BYTES = 262_144
CC_INTERVAL_PS = 256_000_000
SEQUENCE_HALF = 1 << 19
OUTSTANDING_BYTES_MAX = 1 << 30  # own: counters of 32 bits hold it; 5 ms of cable at 800G need less
PHY_PS = 200_000
"""PHY of both ends: TX 50 ns + RX 50 ns at each (sib: SUE budget, profile section 7)."""

CABLE_PS_PER_M = 5_000
"""What the figures of profile section 2 reckon with (fibre, rounded); a scenario's cables have their own."""

_PS_BITS = 8 * 10**12
PAUSE_WIRE_BYTES = FRAME_MIN_BYTES + WIRE_EXTRA_BYTES


class FrameAction(IntEnum):
    """What becomes of eligible frames in INIT (init_action) and in FLUSH (flush_action); names of SAI."""

    BLOCK = 0
    DISCARD = 1
    BEST_EFFORT = 2


@dataclass(frozen=True, slots=True)
class LinkShape:
    """A link, as far as its limits ask.

    Parameters
    ----------
    rate_bps
        Line rate.
    cable_ps
        One-way delay of the cable.
    phy_ps
        PHY of both ends, the round trip's.
    frame_own_bytes, frame_back_bytes
        Largest frame in this direction, and in the other one, DA .. FCS.
    ctlos_spacing_bytes, cf_spacing_bytes
        Line time between ACKs, and between CF_UPDATEs.
    """

    rate_bps: int
    cable_ps: int
    phy_ps: int = PHY_PS
    frame_own_bytes: int = 2_048
    frame_back_bytes: int = 2_048
    ctlos_spacing_bytes: int = CTLOS_SPACING_BYTES
    cf_spacing_bytes: int = CF_SPACING_BYTES


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _turn_bytes(link: LinkShape) -> int:
    """Return the part of T that is counted in bytes."""
    return link.frame_own_bytes + link.frame_back_bytes + 2 * WIRE_EXTRA_BYTES + link.ctlos_spacing_bytes


def line_time_ps(size_bytes: int, rate_bps: int) -> int:
    """Return the time that bytes take on the line, rounded up."""
    return _up(size_bytes * _PS_BITS, rate_bps)


def round_trip_ps(link: LinkShape) -> int:
    """Return T in ps."""
    return 2 * link.cable_ps + link.phy_ps + line_time_ps(_turn_bytes(link), link.rate_bps)


def outstanding_bytes(link: LinkShape) -> int:
    """Return rate x T: the bytes that LLR must keep; 500 m at 800G: 526 184."""
    return _up((2 * link.cable_ps + link.phy_ps) * link.rate_bps, _PS_BITS) + _turn_bytes(link)


def outstanding_frames(size_bytes: int) -> int:
    """Return the frames that fill so many bytes of line: smallest ones, 84 B each."""
    return _up(size_bytes, FRAME_MIN_BYTES + WIRE_EXTRA_BYTES)


def replay_timer_ps(link: LinkShape) -> int:
    """Return the replay timer: two round trips, at least 5 us."""
    return max(REPLAY_TIMER_MIN_PS, 2 * round_trip_ps(link))


def data_age_ps(timer_ps: int, replay_count_max: int = REPLAY_COUNT_MAX) -> int:
    """Return the data age: all replays and the wait before the first one."""
    return (replay_count_max + 1) * timer_ps


def credit_limit(link: LinkShape, credit_bytes: int = CREDIT_BYTES) -> int:
    """Return the credits of a VC that keep the line full, rounding of packets to whole credits aside."""
    largest = max(link.frame_own_bytes, link.frame_back_bytes)
    return _up(outstanding_bytes(link) + 2 * link.cf_spacing_bytes + 2 * largest, credit_bytes)


def buffer_bytes(link: LinkShape) -> int:
    """Return the receive buffer of a VC that keeps the line full; 500 m at 800G: 541 032."""
    return outstanding_bytes(link) + 2 * link.cf_spacing_bytes + link.frame_own_bytes


def pfc_headroom_bytes(link: LinkShape, response_ps: int = 0) -> int:
    """Return what a receiver must still take after it has decided on XOFF.

    The PAUSE waits behind a largest frame that has just begun, takes its own line time, crosses the cable; the sender answers
    after ``response_ps``, and finishes a largest frame that it has just begun; what is on the cable then still comes. (`pub`:
    IEEE 802.1Q annex on PFC buffer requirements; PHY figures as everywhere in the profile.)
    """
    in_flight = _up((2 * link.cable_ps + link.phy_ps + response_ps) * link.rate_bps, _PS_BITS)
    return in_flight + link.frame_own_bytes + link.frame_back_bytes + 2 * WIRE_EXTRA_BYTES + PAUSE_WIRE_BYTES


def refresh_interval_ps(rate_bps: int) -> int:
    """Return how often each VC is told again, the line time of 262 144 B."""
    return line_time_ps(REFRESH_BYTES, rate_bps)


@dataclass(frozen=True, slots=True)
class LlrLimits:
    """LLR settings of a port; 0 = off (data age, PCS lost)."""

    outstanding_frames: int
    outstanding_bytes: int
    replay_timer_ps: int
    replay_count_max: int = REPLAY_COUNT_MAX
    pcs_lost_ps: int = PCS_LOST_PS
    data_age_ps: int = 20_000_000
    ctlos_spacing_bytes: int = CTLOS_SPACING_BYTES


def computed_llr(link: LinkShape, replay_count_max: int = REPLAY_COUNT_MAX) -> LlrLimits:
    """Return the limits of LLR that keep a link at line rate; 500 m at 800G: 526 184 B, 6 265 frames, 10.52 us."""
    size = outstanding_bytes(link)
    timer_ps = replay_timer_ps(link)
    return LlrLimits(
        min(outstanding_frames(size), SEQUENCE_HALF - 1),
        size,
        timer_ps,
        replay_count_max,
        data_age_ps=data_age_ps(timer_ps, replay_count_max),
        ctlos_spacing_bytes=link.ctlos_spacing_bytes,
    )


_DEFAULT_BYTES = ((100, 15_600), (200, 31_184), (400, 58_768), (800, 135_000))


def default_llr(rate_bps: int) -> LlrLimits:
    """Return the profile's defaults of a port rate: bytes of the SAI samples (sib; 100G scaled), frames = bytes / 84 (own).

    A rate between two of them has those of the higher one; above 800G they are scaled.
    """
    for gigabits, size in _DEFAULT_BYTES:
        if rate_bps <= gigabits * 10**9:
            return LlrLimits(outstanding_frames(size), size, REPLAY_TIMER_MIN_PS)
    size = _up(_DEFAULT_BYTES[-1][1] * rate_bps, 800 * 10**9)
    return LlrLimits(outstanding_frames(size), size, REPLAY_TIMER_MIN_PS)


_DEFAULT_BUFFERS = ((100, 32), (200, 64), (400, 128), (800, 256))


def default_buffer_bytes(rate_bps: int) -> int:
    """Return the profile's receive buffer of a VC (own): 32, 64, 128, 256 KiB at 100, 200, 400, 800G; above, scaled."""
    for gigabits, kib in _DEFAULT_BUFFERS:
        if rate_bps <= gigabits * 10**9:
            return kib << 10
    return _up((256 << 10) * rate_bps, 800 * 10**9)


@dataclass(frozen=True, slots=True)
class SampleProfile:
    """One of the sample LLR profiles that came with the public tables (sib: SAI)."""

    rate_bps: int
    reach_mm: int
    limits: LlrLimits


def _sample(gigabits: int, reach_m: int, limits: LlrLimits) -> SampleProfile:
    return SampleProfile(gigabits * 10**9, reach_m * 1_000, limits)


SAMPLE_PROFILES = (
    _sample(200, 5, LlrLimits(61, 31_184, 5_000_000, 3, 50_000_000, 20_000_000, 2_048)),
    _sample(200, 40, LlrLimits(71, 35_952, 5_500_000, 3, 55_000_000, 24_000_000, 2_048)),
    _sample(400, 5, LlrLimits(115, 58_768, 5_000_000, 3, 50_000_000, 20_000_000, 2_048)),
    _sample(400, 40, LlrLimits(133, 67_760, 5_500_000, 3, 55_000_000, 24_000_000, 2_048)),
    _sample(800, 40, LlrLimits(264, 135_000, 5_000_000, 3, 0, 0)),  # PCS lost and data age are not given
)
"""Frames of these stop 64 B frames at about 3/4 of an 800G line of 3 m, which is why the defaults take bytes / 84 instead."""
