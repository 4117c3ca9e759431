"""The report's section on faults: goodput over time with a mark a fault, and what each did to it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..simulator.goodput import BACK, Dip, Recovery, find_dips
from ..simulator.result import Result
from ..units import format_bandwidth, format_time
from .sections import section, table

_ROWS, _MARKS = 64, 200  # that a person reads
_PS_PER_US = 1e6
_PS_PER_S = 1e12


def goodput_curve(result: Result) -> dict[str, Any] | None:
    """Return goodput of all GPUs together, GB/s, by the middle of each time bin, and fault times; None without faults."""
    bins, width_ps = result.executed_bins, result.executed_bin_ps
    if not len(bins) or not len(result.fault_ps):
        return None
    return {
        "time_us": np.round((np.arange(len(bins)) + 0.5) * width_ps / _PS_PER_US, 6).tolist(),
        "gigabytes": np.round(bins * (_PS_PER_S / width_ps / 1e9), 3).tolist(),
        "faults_us": (result.fault_ps[:_MARKS] / _PS_PER_US).tolist(),
        "end_us": len(bins) * width_ps / _PS_PER_US,
    }


def faults_section(result: Result) -> str:
    """Return the section, "" for a run without faults after its start."""
    if goodput_curve(result) is None:
        return ""
    dips = find_dips(result)
    columns = (
        ("fault at", "n"),
        ("goodput before", "n"),
        ("lowest", "n"),
        ("lowest from", "n"),
        ("then", "n"),
        ("time lost", "n"),
    )
    rest = len(dips) - _ROWS
    body = '<div class="plot low" id="plot-goodput"></div>'
    if dips:
        body += table(columns, [_cells(dip) for dip in dips[:_ROWS]])
    if rest > 0:
        body += f"<p>and {rest} more, see result.json</p>"
    note = (
        f"Data bytes that became visible in memory, all GPUs together, in bins of {format_time(result.executed_bin_ps)}; "
        f"dotted: a fault begins. Goodput is back when a bin reaches {100 * BACK:.0f} % of the mean before; where it settles "
        "lower, as without a plane, when it comes near that level. "
        "Time lost: how much longer the bytes took than at that mean. "
        "Faults before the first data and those while the last 5 % of the bytes move have no row."
    )
    return section("faults", "Goodput and faults", body, note)


def _cells(dip: Dip) -> tuple[str, ...]:
    told = (
        format_time(dip.at_ps),
        format_bandwidth(round(dip.before_Bps)),
        f"{100 * dip.dip:.1f} %",
        format_time(dip.lowest_ps),
        dip.back_text(),
        format_time(dip.lost_ps),
    )
    if dip.outcome is Recovery.NOT_RESOLVED:
        told = (*told[:2], "", "", f"not resolved: {dip.reason}", "")
    return tuple(escape(text) for text in told)
