"""One point, run: what a worker does, on this machine or on another. Takes and returns plain data."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ..errors import InputError, ScalefabError
from .points import Point

FIGURES = (
    "completion_us",
    "bound_us",
    "bound_percent",
    "algbw_GBps",
    "busbw_GBps",
    "data_bytes",
    "wire_bytes",
    "frames",
    "ack_frames",
    "lost_frames",
    "events",
    "limited_by",
    "fidelity",
    "wall_s",
    "peak_MB",
)
"""Figures of a row, in the order of its columns."""


@dataclass(frozen=True, slots=True)
class Task:
    """A point as it travels to a worker: the scenario's text, the name it is known by, all settings."""

    key: str
    point: Point
    text: str
    path: str
    overrides: tuple[str, ...]


def run_task(task: Task) -> dict[str, Any]:
    """Run a point and return its row: figures, or the error that it ended with."""
    begun, started = time.perf_counter(), datetime.now(UTC)
    row: dict[str, Any] = {
        "key": task.key,
        "number": task.point.number,
        "settings": dict(task.point.settings),
        "worker": f"{platform.node()}:{os.getpid()}",
        "started_utc": started.isoformat(timespec="milliseconds"),
    }
    try:
        row |= _figures(task)
    except ScalefabError as error:
        row |= {"status": "error", "error": error_text(error)}
    except MemoryError:
        row |= {"status": "error", "error": "not enough memory for this point"}
    return row | {"took_s": round(time.perf_counter() - begun, 3)}


def error_text(error: ScalefabError) -> str:
    """Return an error in one line: the first problem, and how many more there are."""
    if not isinstance(error, InputError):
        return str(error)
    more = len(error.problems) - 1
    return f"{error.problems[0]}{f' (and {more} more)' if more else ''}"


def _figures(task: Task) -> dict[str, Any]:
    from ..scenario import parse_scenario
    from ..scenario.fidelity import Fidelity
    from ..simulator.run import simulate
    from ..simulator.verdict import judge

    scenario = parse_scenario(task.text, task.path, task.overrides)
    scenario = replace(scenario, options=replace(scenario.options, sample_frames=0, capture_frames=0))
    result = simulate(scenario)
    verdict = judge(result)
    framed = result.fidelity is Fidelity.PACKET
    return {
        "status": verdict.outcome.value,
        "completion_us": round(result.completion_ps / 1e6, 6),
        "bound_us": round(result.bound_ps / 1e6, 6),
        "bound_percent": round(100 * verdict.bound_fraction, 3),
        "algbw_GBps": round(verdict.algbw_Bps / 1e9, 6),
        "busbw_GBps": round(verdict.busbw_Bps / 1e9, 6),
        "data_bytes": int(result.data_bytes),
        "wire_bytes": int(result.wire_bytes),
        "frames": int(result.frames) if framed else None,
        "ack_frames": int(result.ack_frames) if framed else None,
        "lost_frames": int(result.lost_frames) if framed else None,
        "events": int(result.events),
        "limited_by": verdict.limit.cause.value,
        "fidelity": result.fidelity.value,
        "wall_s": round(result.wall_s, 6),
        "peak_MB": round(result.peak_MB, 1),
        "warnings": list(dict.fromkeys((*verdict.failures, *verdict.warnings))),
    }
