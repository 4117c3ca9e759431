"""Goodput over time, and what faults did to it: how far it fell and when it was back. No Numba here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ..units import format_bandwidth, format_time
from .result import I8, Result

BACK = 0.95
"""Goodput is back when a bin reaches this share of the mean before the fault."""

FRAMES_LEAST = 64
"""A bin with fewer frames than that varies by more than 1 - `BACK` without any fault (own: 1 / sqrt(64) is 12 %)."""

SETTLED = 0.05
"""Goodput has settled when the bins of the second half of what follows stay this close to their mean."""

_SPREADS = 3.0  # own: a bin has fallen when it lies this many standard deviations of those before the fault below their mean
_SPREAD_MOST = 0.2  # own: of bins that vary more nothing is said
_SETTLED_BINS = 8
_TAIL = 0.05  # own: the last bytes of a run are not looked at: it runs dry, whatever happened before
_PS_PER_S = 1_000_000_000_000


class Recovery(StrEnum):
    """How goodput went on after a fault."""

    NO_DIP = "no_dip"  #: it never fell
    BACK = "back"  #: to `BACK` of the mean before
    LOWER = "lower"  #: settled below that, as where a plane is gone for good
    NOT_BACK = "not_back"  #: before the next fault or the end
    NOT_RESOLVED = "not_resolved"  #: the bins vary too much by themselves to tell


@dataclass(frozen=True, slots=True)
class Dip:
    """What goodput did after a fault; times are as fine as the bins.

    Attributes
    ----------
    outcome
        How it went on.
    at_ps
        When the fault began.
    before_Bps
        Mean goodput of all GPUs from the run's first data to the fault (where there is more, without the bin in which it starts).
    dip
        Lowest share of that mean in one bin, until goodput was back or the next fault began; 1 or more = it did not fall.
    lowest_ps
        When the lowest bin began.
    recovery_ps
        From the fault to the end of the first bin that was back, or had reached `BACK` of the level at which it settled; 0 = it
        never fell; None = neither before the next fault or the end, or not resolved.
    level
        Share of the mean before at which it went on: 1 = as before; where it settled lower, that; 0 = not back, or not resolved.
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
    outcome: Recovery
    level: float
    reason: str = ""  #: why it is not resolved, and what would

    def __str__(self) -> str:
        at = f"at {format_time(self.at_ps)}"
        if self.outcome is Recovery.NO_DIP:
            return f"{at} no dip"
        if self.outcome is Recovery.NOT_RESOLVED:
            return f"{at} not resolved: {self.reason}"
        text = f"{at} down to {100 * self.dip:.1f} % of {format_bandwidth(round(self.before_Bps))}, "
        return f"{text}{self.back_text()}, {format_time(self.lost_ps)} lost"

    def back_text(self) -> str:
        """Return what became of it in words."""
        after = "" if self.recovery_ps is None else f" after {format_time(self.recovery_ps)}"
        return {
            Recovery.NO_DIP: "no dip",
            Recovery.BACK: f"back to {100 * BACK:.0f} %{after}",
            Recovery.LOWER: f"settled at {100 * self.level:.1f} %{after}",
            Recovery.NOT_BACK: f"not back to {100 * BACK:.0f} %",
            Recovery.NOT_RESOLVED: "not resolved",
        }[self.outcome]


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
            rows.append(_dip(bins[begin:here], bins[here:until], at_ps, width_ps, result.data_bytes / max(1, result.frames)))
    return tuple(rows)


def _end(bins: I8) -> int:
    """Return the bin behind the last one that is looked at: the last bytes are, when something held them up altogether."""
    end = int(np.searchsorted(np.cumsum(bins), (1 - _TAIL) * int(bins.sum()))) + 1
    return len(bins) - 1 if (bins[end:] == 0).any() else end


def _dip(before: I8, after: I8, at_ps: int, width_ps: int, frame_bytes: float) -> Dip:
    """Describe a fault at ``at_ps``, in the first of the bins ``after``."""
    mean = float(before.mean())
    share = after / mean
    here = at_ps // width_ps
    spread = float(before.std()) / mean
    fell = min(BACK, 1.0 - _SPREADS * spread)

    reason = _why_not(mean / max(1.0, frame_bytes), spread)
    below = np.flatnonzero(share < fell)
    outcome, level, looked_at = Recovery.NO_DIP, 1.0, len(share)
    recovery_ps: int | None = 0
    if reason:
        outcome, recovery_ps, level = Recovery.NOT_RESOLVED, None, 0.0
    elif len(below):
        again = np.flatnonzero(share[below[0] :] >= BACK)
        if len(again):
            outcome, looked_at = Recovery.BACK, int(below[0] + again[0])
            back = looked_at
        else:
            level, back = _settled(share, spread)
            outcome = Recovery.LOWER if level else Recovery.NOT_BACK
        recovery_ps = (here + back + 1) * width_ps - at_ps if outcome is not Recovery.NOT_BACK else None
    lowest = int(share[:looked_at].argmin())
    return Dip(
        at_ps=at_ps,
        before_Bps=mean * _PS_PER_S / width_ps,
        dip=float(share[lowest]),
        lowest_ps=(here + lowest) * width_ps,
        recovery_ps=recovery_ps,
        lost_ps=round(float(np.maximum(0.0, 1.0 - share[:looked_at]).sum()) * width_ps) if len(below) and not reason else 0,
        outcome=outcome,
        level=level,
        reason=reason,
    )


def _why_not(frames: float, spread: float) -> str:
    """Return why nothing can be told of bins that hold so many frames and vary so much, "" = it can."""
    if frames < FRAMES_LEAST:
        return f"{frames:.0f} frames a bin; {FRAMES_LEAST} would do, more data or more GPUs"
    if spread > _SPREAD_MOST:
        return f"goodput varies by {100 * spread:.0f} % before it already"
    return ""


def _settled(share: Any, spread: float) -> tuple[float, int]:
    """Return the level at which goodput has settled, and the first bin that came near it; (0, 0) when it has not."""
    tail = share[len(share) // 2 :]
    level = float(tail.mean())
    if len(share) < _SETTLED_BINS or level <= 0.0:
        return 0.0, 0
    near = np.abs(tail / level - 1.0) <= max(SETTLED, _SPREADS * spread)
    if float(near.mean()) < BACK:
        return 0.0, 0
    lowest = int(share[: len(share) // 2].argmin())
    return level, lowest + int(np.flatnonzero(share[lowest:] >= BACK * level)[0])


def dips_text(dips: tuple[Dip, ...]) -> str:
    """Return the deepest dips in words, in order of time."""
    told = sorted(dips, key=lambda row: (row.outcome is Recovery.NOT_RESOLVED, row.dip))
    worst = sorted(told[:3], key=lambda row: row.at_ps)
    rest = len(dips) - len(worst)
    return "; ".join(str(row) for row in worst) + (f"; and {rest} more faults, none deeper" if rest else "")
