"""A port's line rate, and what follows from it."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .records import State

_PS_BITS = 8_000_000_000_000


@compiled
def greatest_common(a: int, b: int) -> int:
    """Return the greatest common divisor of two positive integers."""
    while b > 0:
        a, b = b, a % b
    return a


@compiled
def set_rate(S: State, a: int, rate_bps: int) -> None:
    """Let port ``a`` run at another rate from its next frame on: spacings are line time, so they change with it."""
    port: Any = S.port[a]
    common = greatest_common(_PS_BITS, rate_bps)
    old_num, old_den = port.num, port.den
    port.num = _PS_BITS // common
    port.den = rate_bps // common
    link = S.link[a]
    port.ack_gap_ps = scaled(port.ack_gap_ps, old_num, old_den, port.num, port.den)
    port.cf_gap_ps = scaled(port.cf_gap_ps, old_num, old_den, port.num, port.den)
    link.refresh_gap_ps = scaled(link.refresh_gap_ps, old_num, old_den, port.num, port.den)


@compiled
def scaled(gap_ps: int, old_num: int, old_den: int, num: int, den: int) -> int:
    """Return the time that the bytes of ``gap_ps`` take at the new rate."""
    return (gap_ps * old_den // old_num * num + den - 1) // den
