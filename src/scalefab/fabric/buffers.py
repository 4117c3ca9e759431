"""Receive buffers in credits, and how large one must be to keep a link busy (open profile section 2)."""

from __future__ import annotations

from ..protocol.profile import WIRE_EXTRA_BYTES
from .spec import CableSpec, FabricSpec

MAX_CREDITS = 32_767
"""Credits of a VC, at most: the CF_UPDATE counts freed ones modulo 2^15 (sib: UEC CBFC)."""

CTLOS_SPACING_BYTES = 2_048  # line time between control ordered sets, profile section 2 (sib: UEC LLR)


def packet_credits(size_bytes: int, overhead_bytes: int, credit_bytes: int) -> int:
    """Return how many credits a frame of ``size_bytes`` (DA .. FCS) takes: ceil((size + overhead) / credit).

    The same as `scalefab.protocol.cbfc.credits_needed` (a test holds them together), which needs the compiler.
    """
    return -(-(size_bytes + overhead_bytes) // credit_bytes)


def full_rate_buffer_bytes(spec: FabricSpec, cables: CableSpec | None = None) -> int:
    """Return the receive buffer a VC that keeps a link at line rate, in bytes; ``cables`` = other ones than the domain's.

    rate x (T + 2 x CF spacing / rate) + largest frame, T = 2 x cable + PHY of both ends + (a largest frame each way, with
    preamble and gap, + spacing of control ordered sets) / rate; a PHY transmits and receives at both ends. 3 m of twinax at
    800G and 2048 B frames: 43 792 B. Where the user stated the whole delay of a link, twice that stands for cable and PHYs.
    """
    cables = spec.cables if cables is None else cables
    stated = cables.link_delay_ps >= 0
    round_trip_ps = 2 * (cables.link_delay_ps if stated else cables.delay_ps + spec.phy_tx_ps + spec.phy_rx_ps)
    in_flight = -(-round_trip_ps * spec.switches.port_rate_bps // (8 * 10**12))
    turn_round = 2 * (spec.frame_max + WIRE_EXTRA_BYTES) + CTLOS_SPACING_BYTES
    return in_flight + turn_round + 2 * spec.cf_spacing_bytes + spec.frame_max
