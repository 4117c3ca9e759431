"""Load of links over time: wire bytes by link and bin. When the bins are full, they widen: two become one."""

from __future__ import annotations

from ...compiled import compiled
from .records import BINS, State


@compiled
def widen(S: State) -> None:
    """Let every bin take the time of two."""
    k = S.kernel[0]
    k.bin_ps *= 2
    half = BINS // 2
    for link in range(len(S.link)):
        for b in range(half):
            S.load[link, b] = S.load[link, 2 * b] + S.load[link, 2 * b + 1]
        for b in range(half, BINS):
            S.load[link, b] = 0.0


@compiled
def book(S: State, link: int, t_ps: int) -> None:
    """Book what has passed a link up to ``t_ps``."""
    k = S.kernel[0]
    here = S.link[link]
    begin = here.since_ps
    if t_ps <= begin:
        return
    here.since_ps = t_ps
    if here.used <= 0.0:
        return
    while t_ps > k.bin_ps * BINS:
        widen(S)
    while begin < t_ps:
        b = begin // k.bin_ps
        end = min((b + 1) * k.bin_ps, t_ps)
        S.load[link, b] += here.used * (end - begin)
        begin = end
