"""Goodput over time, and what faults did to it: how far it fell and when it was back. No Numba here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..units import format_bandwidth, format_time
from .result import I8, Result

BACK = 0.95
"""Goodput is back when a bin reaches this share of the mean before the fault."""

_TAIL = 0.05  # own: the last bytes of a run are not looked at: it runs dry, whatever happened before
_PS_PER_S = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class Dip:
    """What goodput did after a fault; times are as fine as the bins.

    Attributes
    ----------
    at_ps
        When the fault began.
    before_Bps
        Mean goodput of all GPUs from the run's first data to the fault (where there is more, without the bin in which it starts).
    dip
        Lowest share of that mean in one bin, until goodput was back or the next fault began; 1 or more = it did not fall.
    lowest_ps
        When the lowest bin began.
    recovery_ps
        From the fault to the end of the first bin that was back, 0 = it never fell below `BACK`; None = not back before the next
        fault or the end.
    lost_ps
        How much longer the same bytes took than at the mean before, until goodput was back or the next fault or the end: what
        was missing of it, bin by bin.
    """

    at_ps: int
    before_Bps: float
    dip: float
    lowest_ps: int
    recovery_ps: int | None
    lost_ps: int

    def __str__(self) -> str:
        if self.recovery_ps == 0:
            return f"at {format_time(self.at_ps)} no dip"
        text = f"at {format_time(self.at_ps)} down to {100 * self.dip:.1f} % of {format_bandwidth(round(self.before_Bps))}, "
        back = "not back to 95 %" if self.recovery_ps is None else f"back to 95 % after {format_time(self.recovery_ps)}"
        return f"{text}{back}, {format_time(self.lost_ps)} lost"


def find_dips(result: Result) -> tuple[Dip, ...]:
    """Return one row a time bin in which faults began, by time; none for faults before the first data and in the tail."""
    bins, width_ps = result.executed_bins, result.executed_bin_ps
    filled = np.flatnonzero(bins)
    if not len(filled) or not len(result.fault_ps):
        return ()
    end = _end(bins)
    first = np.unique(result.fault_ps // width_ps, return_index=True)[1]
    times = [int(at_ps) for at_ps in result.fault_ps[first]]
    rows = []
    for number, at_ps in enumerate(times):
        here = at_ps // width_ps
        begin = int(filled[0]) + (here - int(filled[0]) > 1)
        until = min(end, times[number + 1] // width_ps if number + 1 < len(times) else end)
        if begin < here < until:
            rows.append(_dip(bins[begin:here], bins[here:until], at_ps, width_ps))
    return tuple(rows)


def _end(bins: I8) -> int:
    """Return the bin behind the last one that is looked at: the last bytes are, when something held them up altogether."""
    end = int(np.searchsorted(np.cumsum(bins), (1 - _TAIL) * int(bins.sum()))) + 1
    return len(bins) - 1 if (bins[end:] == 0).any() else end


def _dip(before: I8, after: I8, at_ps: int, width_ps: int) -> Dip:
    """Describe a fault at ``at_ps``, in the first of the bins ``after``."""
    mean = float(before.mean())
    share = after / mean
    here = at_ps // width_ps

    below = np.flatnonzero(share < BACK)
    recovery_ps: int | None = 0
    looked_at = len(share)
    if len(below):
        again = np.flatnonzero(share[below[0] :] >= BACK)
        recovery_ps = None
        if len(again):
            looked_at = int(below[0] + again[0])
            recovery_ps = (here + looked_at + 1) * width_ps - at_ps
    lowest = int(share[:looked_at].argmin())
    return Dip(
        at_ps=at_ps,
        before_Bps=mean * _PS_PER_S / width_ps,
        dip=float(share[lowest]),
        lowest_ps=(here + lowest) * width_ps,
        recovery_ps=recovery_ps,
        lost_ps=round(float(np.maximum(0.0, 1.0 - share[:looked_at]).sum()) * width_ps) if len(below) else 0,
    )


def dips_text(dips: tuple[Dip, ...]) -> str:
    """Return the deepest dips in words, in order of time."""
    worst = sorted(sorted(dips, key=lambda row: row.dip)[:3], key=lambda row: row.at_ps)
    rest = len(dips) - len(worst)
    return "; ".join(str(row) for row in worst) + (f"; and {rest} more faults, none deeper" if rest else "")
