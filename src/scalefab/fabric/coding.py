"""What a link's FEC costs and what it leaves: latency, frame loss, goodput with LLR, for each code and for none.

Goodput with LLR, go-back-N over the link's loop (`own`, from the profile's section 2): a lost frame is sent again with everything
that left after it until its NACK was there, W frames in all,

    W = max(1, loop / frame time),    loop = 2 x link delay + 2 x frame time + 8 B,    frame time = (frame + 20 B) / rate
    goodput = rate x frame / (frame + 20 B) x (1 - FLR) / (1 - FLR + FLR x W)

The link delay is cable + PHY of both ends + FEC time (`timing.link_delay_ps`); one frame must be whole before it can be judged,
one of the other direction may stand before the NACK, which itself takes 8 B. ACKs, the replay timer (a NACK that is lost) and the
limit of replays are not counted. Losses count as independent: LLR sends frames that fell together again together, so bursts cost
less. All codes and no code are given the same port rate, as the profile does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from ..errors import InputError, Problem
from ..protocol.fec_codes import CODES, MAX_DEPTH, Fec, block_time_exact_ps, fec_time_exact_ps, usual_depth
from ..protocol.fec_loss import LineErrors, coded_loss, codeword_failure, frame_loss, uncoded_loss
from ..protocol.profile import ORDERED_SET_BYTES, WIRE_EXTRA_BYTES
from ..units import parse_time_ps
from .catalogue import defaults
from .spec import CableSpec
from .timing import PORT_RATES_BPS, cable_delay_ps, link_delay_ps, ps_per_byte
from .wiring import FRAME, LONGEST_MM

_CURVE_BER = (1e-10, 1e-2)
_CURVE_POINTS_A_DECADE = 12
CURVE_FLOOR = 1e-24  # what is rarer is never met


@dataclass(frozen=True, slots=True)
class LinkQuestion:
    """One link, as `link_figures` is asked about it.

    Parameters
    ----------
    rate_bps
        Port rate, one of `timing.PORT_RATES_BPS`.
    line
        How the line errs before FEC.
    depth
        Codeword interleave, 0 = the usual one for the rate.
    frame_bytes
        Frame, 64 .. 9216 B.
    length_mm, medium
        The cable.
    phy_ps
        PHY latency of both ends together.

    Raises
    ------
    InputError
        Values outside, all at once.
    """

    rate_bps: int
    line: LineErrors
    depth: int
    frame_bytes: int
    length_mm: int
    medium: str
    phy_ps: int

    def __post_init__(self) -> None:
        problems = []
        if self.rate_bps not in PORT_RATES_BPS:
            known = ", ".join(f"{rate // 10**9}Gb/s" for rate in PORT_RATES_BPS)
            problems.append(Problem(f"{self.rate_bps / 1e9:g} Gb/s is no port rate", f"one of {known}", key="rate"))
        if not 0 <= self.depth <= MAX_DEPTH:
            problems.append(Problem(f"interleave {self.depth}", f"1 .. {MAX_DEPTH}, or 0 for the usual one", key="depth"))
        if not FRAME[0] <= self.frame_bytes <= FRAME[1]:
            problems.append(Problem(f"frame of {self.frame_bytes} B", f"{FRAME[0]} .. {FRAME[1]} B", key="frame"))
        if not 0 <= self.length_mm <= LONGEST_MM:
            problems.append(Problem(f"cable of {self.length_mm} mm", f"0 .. {LONGEST_MM} mm", key="length"))
        if problems:
            raise InputError(problems)

    @property
    def interleave(self) -> int:
        """Codewords of a block."""
        return self.depth or usual_depth(self.rate_bps)

    @property
    def wire_bytes(self) -> int:
        """Line time of a frame, preamble and gap counted."""
        return self.frame_bytes + WIRE_EXTRA_BYTES

    @property
    def frame_ps(self) -> Fraction:
        """Line time of a frame, ps."""
        return self.wire_bytes * Fraction(*ps_per_byte(self.rate_bps))


@dataclass(frozen=True, slots=True)
class LinkFigures:
    """What one code does on a link.

    Attributes
    ----------
    fec, name
        The code.
    depth
        Codewords of a block, 0 without FEC.
    block_ps, fec_ps
        Time of a block on the line, and with decoding and encoding, exactly.
    link_ps
        One-way delay of the link: cable, PHYs, FEC.
    codeword_failure
        Probability that a codeword cannot be corrected; None without FEC.
    frame_loss
        Probability that a frame is lost on this link, before LLR.
    replay_frames
        W, frames that one loss costs.
    goodput_bps
        Frame bits a second that LLR brings across, and ``lossless_bps`` what a line without errors would.
    """

    fec: Fec
    name: str
    depth: int
    block_ps: Fraction
    fec_ps: Fraction
    link_ps: int
    codeword_failure: float | None
    frame_loss: float
    replay_frames: float
    goodput_bps: float
    lossless_bps: float
    frames_a_second: float

    @property
    def seconds_a_loss(self) -> float:
        """Mean time between lost frames on a full link, s."""
        lost = self.frame_loss * self.frames_a_second
        return 1.0 / lost if lost > 0.0 else inf


def default_medium() -> str:
    """Return what cables are made of when nobody says otherwise."""
    return str(defaults()["cables"]["medium"])


def default_phy_ps() -> int:
    """Return the PHY latency of both ends of a link when nobody says otherwise, ps (section 7)."""
    usual = defaults()
    return parse_time_ps(usual["phy_tx"]) + parse_time_ps(usual["phy_rx"])


def link_figures(asked: LinkQuestion) -> tuple[LinkFigures, ...]:
    """Return the figures of no FEC and of every code, in that order."""
    return tuple(_figures(fec, asked) for fec in Fec)


def _figures(fec: Fec, asked: LinkQuestion) -> LinkFigures:
    depth = 0 if fec is Fec.NONE else asked.interleave
    cable = CableSpec(asked.length_mm, asked.medium, cable_delay_ps(asked.length_mm, asked.medium))
    link_ps = link_delay_ps(cable, asked.phy_ps, fec, asked.rate_bps, depth)
    if fec is Fec.NONE:
        failure, loss = None, uncoded_loss(asked.line, asked.wire_bytes)
    else:
        failure = codeword_failure(fec, asked.line, depth)
        loss = coded_loss(CODES[fec], failure, asked.wire_bytes, depth)
    loop_ps = 2 * link_ps + 2 * asked.frame_ps + ORDERED_SET_BYTES * Fraction(*ps_per_byte(asked.rate_bps))
    replay = max(1.0, float(loop_ps / asked.frame_ps))
    lossless = asked.rate_bps * asked.frame_bytes / asked.wire_bytes
    return LinkFigures(
        fec=fec,
        name=CODES[fec].name if fec in CODES else "none",
        depth=depth,
        block_ps=block_time_exact_ps(fec, asked.rate_bps, depth),
        fec_ps=fec_time_exact_ps(fec, asked.rate_bps, depth),
        link_ps=link_ps,
        codeword_failure=failure,
        frame_loss=loss,
        replay_frames=replay,
        goodput_bps=lossless * (1.0 - loss) / (1.0 - loss + loss * replay),
        lossless_bps=lossless,
        frames_a_second=float(10**12 / asked.frame_ps),
    )


def loss_curves(asked: LinkQuestion) -> dict[Fec, list[tuple[float, float]]]:
    """Return (bit error ratio, frame loss) of every code along the bit error ratio, where loss is at least `CURVE_FLOOR`.

    From 1e-10 to 1e-2, further where the question's own ratio lies outside.
    """
    low, high = min(_CURVE_BER[0], asked.line.ber or 1.0), max(_CURVE_BER[1], asked.line.ber)
    points = round(np.log10(high / low) * _CURVE_POINTS_A_DECADE) + 1
    curves: dict[Fec, list[tuple[float, float]]] = {}
    for fec in Fec:
        curve = []
        for ber in np.geomspace(low, high, points):
            loss = frame_loss(fec, LineErrors(float(ber), asked.line.burst), asked.wire_bytes, asked.interleave)
            if loss >= CURVE_FLOOR:
                curve.append((float(ber), loss))
        curves[fec] = curve
    return curves
