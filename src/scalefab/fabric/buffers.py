"""Receive buffers in credits (open profile section 2); how large one must be says `headroom`."""

from __future__ import annotations

MAX_CREDITS = 32_767
"""Credits of a VC, at most: the CF_UPDATE counts freed ones modulo 2^15 (sib: UEC CBFC)."""


def packet_credits(size_bytes: int, overhead_bytes: int, credit_bytes: int) -> int:
    """Return how many credits a frame of ``size_bytes`` (DA .. FCS) takes: ceil((size + overhead) / credit).

    The same as `scalefab.protocol.cbfc.credits_needed` (a test holds them together), which needs the compiler.
    """
    return -(-(size_bytes + overhead_bytes) // credit_bytes)
