"""How long a link takes: cable, PHY and FEC, in integer picoseconds.

Sources: open profile section 3 (FEC times: `protocol.fec_codes`) and section 7 (latency budget: sib, SUE). A link's delay is

    cable + PHY + (FEC time - 50.8 ns),   never below its cable's

because the budget's PHY figures hold RS-272 at 800G and depth 4, 50.8 ns. Fractions of a picosecond are kept until the sum is
complete, then rounded up once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from math import ceil
from types import MappingProxyType

from ..errors import InputError, Problem
from ..protocol.fec_codes import USUAL_DEPTH, Fec, fec_time_exact_ps
from .spec import CableSpec, FabricSpec

PORT_RATES_BPS = tuple(USUAL_DEPTH)
"""Port rates of the profile (pub: 1x800, 2x400, 4x200, 4x100 a stack)."""

BUDGET_FEC_PS = 50_800
"""FEC time inside the PHY figures of section 7: RS-272 at 800G, depth 4."""


@dataclass(frozen=True, slots=True)
class Medium:
    """What a cable is made of: one-way delay of a metre in ps, and the source of that figure."""

    name: str
    ps_per_m: int
    source: str


MEDIA: Mapping[str, Medium] = MappingProxyType(
    {
        medium.name: medium
        for medium in (
            Medium("twinax", 4_600, "open profile section 7 (sib: SUE budget)"),
            Medium("fiber", 4_900, "own: group index 1.468 of standard single-mode fibre at 1310 nm"),
        )
    }
)


def cable_delay_ps(length_mm: int, medium: str) -> int:
    """Return the one-way delay of a cable in ps, rounded up.

    Raises
    ------
    InputError
        Unknown medium; carries the near miss and the key ``fabric.cables.medium``.
    """
    known = MEDIA.get(medium)
    if known is None:
        near = get_close_matches(medium, MEDIA, n=1)
        problem = Problem(
            f"no medium '{medium}'", f"one of {', '.join(MEDIA)}", near[0] if near else "", key="fabric.cables.medium"
        )
        raise InputError([problem])
    return -(-length_mm * known.ps_per_m // 1000)


def link_delay_ps(cables: CableSpec, phy_ps: int, fec: Fec, rate_bps: int, depth: int = 0) -> int:
    """Return the one-way delay of one direction of a link in ps.

    Parameters
    ----------
    cables
        The cable; its ``link_delay_ps`` replaces everything else when the user stated it (>= 0).
    phy_ps
        PHY latency that counts on this link: the source endpoint's TX or the target endpoint's RX, ps; 0 between switches.
    fec, rate_bps, depth
        Code, port rate and interleave (0 = usual).
    """
    if cables.link_delay_ps >= 0:
        return cables.link_delay_ps
    total = cables.delay_ps + phy_ps + fec_time_exact_ps(fec, rate_bps, depth) - BUDGET_FEC_PS
    return max(cables.delay_ps, ceil(total))


def up_delay_ps(spec: FabricSpec) -> int:
    """Return the delay of a link from an endpoint to its switch, ps (PHY TX of the source inside)."""
    return link_delay_ps(spec.cables, spec.phy_tx_ps, spec.fec, spec.endpoints.port_rate_bps, spec.fec_depth)


def down_delay_ps(spec: FabricSpec) -> int:
    """Return the delay of a link from a switch to an endpoint, ps (PHY RX of the target inside)."""
    return link_delay_ps(spec.cables, spec.phy_rx_ps, spec.fec, spec.switches.port_rate_bps, spec.fec_depth)


def spine_delay_ps(spec: FabricSpec) -> int:
    """Return the delay of a link between leaf and spine, ps: no endpoint's PHY is on it, a switch's are inside its latency.

    In a single tier, what such a link would take.
    """
    switches, spine = spec.switches, spec.switches.spine
    cables = spine.cables if spine is not None and spine.cables is not None else spec.cables
    return link_delay_ps(cables, 0, spec.fec, switches.port_rate_bps, spec.fec_depth)


def ps_per_byte(rate_bps: int) -> tuple[int, int]:
    """Return 8e12 / rate as a reduced fraction (numerator, denominator) of ps a byte: (10, 1) at 800 Gb/s."""
    exact = Fraction(8 * 10**12, rate_bps)
    return exact.numerator, exact.denominator
