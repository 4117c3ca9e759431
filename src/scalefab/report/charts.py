"""The data of the report's charts, as plain lists: the page's own script draws them with Plotly."""

from __future__ import annotations

import json
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simulator.focus import Direction, find_focus, load_by_gpu
from ..simulator.metrics import frame_latency_cdf, operation_latencies_ps
from ..simulator.result import Result
from .faults import goodput_curve
from .palette import DARK, LIGHT, RAMP_DARK, RAMP_LIGHT

_MOST_ROWS, _MOST_BINS, _CDF_POINTS = 256, 256, 400
_PS_PER_US = 1e6


def chart_data(result: Result) -> dict[str, Any]:
    """Return everything that the page's script draws: link load over time by GPU and direction, latency CDFs, colours."""
    return {
        "goodput": goodput_curve(result),
        "focus": focus_curves(result),
        "load": load_over_time(result),
        "latency": latency_curves(result),
        "themes": _themes(),
    }


def _themes() -> dict[str, Any]:
    return {"light": LIGHT | {"ramp": list(RAMP_LIGHT)}, "dark": DARK | {"ramp": list(RAMP_DARK)}}


def load_over_time(result: Result) -> dict[str, Any]:
    """Return the load of all links of a GPU together, percent of their line rate, by time.

    ``out`` and ``into`` have one row a GPU (neighbours are averaged above 256 GPUs), one column a time bin (neighbours are
    averaged above 256); ``rows`` names the first GPU of each row, ``time_us`` the middle of each bin.
    """
    fabric = result.fabric
    bins = result.link_load.shape[1]
    bin_s = result.link_load_bin_ps / 1e12
    rows = ceil(fabric.endpoints / _MOST_ROWS)
    columns = ceil(bins / _MOST_BINS)
    data: dict[str, Any] = {
        "gpus_a_row": rows,
        "rows": list(range(0, fabric.endpoints, rows)),
        "time_us": [round((start + min(columns, bins - start) / 2) * bin_s * 1e6, 6) for start in range(0, bins, columns)],
    }
    for name, direction in (("out", Direction.OUT), ("into", Direction.INTO)):
        share = load_by_gpu(result, direction)
        data[name] = np.round(100 * _averaged(_averaged(share, rows, 0), columns, 1), 1).tolist()
    return data


def focus_curves(result: Result) -> dict[str, Any] | None:
    """Return the busiest GPU and the mean over time, percent of line rate, and bytes by GPU; None when nothing was sent."""
    focus = find_focus(result)
    if focus is None:
        return None
    bins = len(focus.mean)
    together = ceil(bins / _MOST_BINS)
    starts = range(0, bins, together)
    return {
        "gpu": focus.gpu,
        "verb": focus.direction.value,
        "time_us": [round((start + min(together, bins - start) / 2) * focus.bin_ps / _PS_PER_US, 6) for start in starts],
        "busiest": np.round(100 * _averaged(focus.busiest, together, 0), 1).tolist(),
        "other_verb": focus.direction.opposite.value,
        "other": np.round(100 * _averaged(focus.other, together, 0), 1).tolist(),
        "mean": np.round(100 * _averaged(focus.mean, together, 0), 1).tolist(),
        "mebibytes": np.round(focus.bytes_by_gpu / (1 << 20), 3).tolist(),
    }


def _averaged(values: NDArray[np.float64], together: int, axis: int) -> NDArray[np.float64]:
    """Return means of ``together`` neighbours along an axis; the last one may have fewer."""
    if together == 1:
        return values
    starts = np.arange(0, values.shape[axis], together)
    counts = np.diff(np.append(starts, values.shape[axis]))
    shape = [1] * values.ndim
    shape[axis] = -1
    return np.asarray(np.add.reduceat(values, starts, axis=axis) / counts.reshape(shape))


def latency_curves(result: Result) -> list[dict[str, Any]]:
    """Return one cumulative curve a kind of operation (done - ready) and one of data frames (executed - first bit)."""
    curves = []
    for name, sample in operation_latencies_ps(result).items():
        at = np.unique(np.linspace(0, len(sample) - 1, _CDF_POINTS).astype(np.int64))
        curves.append(_curve(f"{name} operations", sample[at], 100 * (at + 1) / len(sample)))
    frames = frame_latency_cdf(result)
    if frames is not None:
        edges, cumulative = frames
        curves.append(_curve("data frames", edges, 100 * cumulative / int(cumulative[-1])))
    return curves


def _curve(name: str, time_ps: NDArray[np.int64], share: NDArray[np.float64]) -> dict[str, Any]:
    return {"name": name, "us": (time_ps / _PS_PER_US).tolist(), "percent": np.round(share, 3).tolist()}


def inline_json(data: object) -> str:
    """Return JSON that can stand inside a script element: no character of it can end the element or open a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
