"""A timeline as Chrome trace event JSON (chrome://tracing, ui.perfetto.dev). Times: µs, all picoseconds behind the point."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .timeline import Timeline, TrackKind

_FLOW = "frame"


def write_chrome(path: Path, timeline: Timeline) -> None:
    """Write a timeline as one JSON object."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"displayTimeUnit":"ns","otherData":{"source":"scalefab, simulated time"},"traceEvents":[\n')
        first = True
        for event in _events(timeline):
            file.write(("" if first else ",\n") + json.dumps(event, separators=(",", ":")))
            first = False
        file.write("\n]}\n")


def _us(t_ps: int) -> float:
    return t_ps / 1e6


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    for node, name in timeline.processes.items():
        yield _meta("process_name", node, {"name": name})
        yield _meta("process_sort_index", node, {"sort_index": node})
    for track in timeline.tracks:
        if track.kind is TrackKind.SLICES:
            yield _meta("thread_name", track.process, {"name": track.name}, track.key)
            yield _meta("thread_sort_index", track.process, {"sort_index": track.order}, track.key)
    process = {track.key: track.process for track in timeline.tracks}
    names = {track.key: track.name for track in timeline.tracks}
    for part in timeline.slices:
        place = {"pid": _pid(process[part.track]), "tid": part.track, "ts": _us(part.start_ps)}
        kind = "operation" if part.flow < 0 else _FLOW
        duration = _us(part.end_ps - part.start_ps)
        yield {"ph": "X", "name": part.name, "cat": kind, **place, "dur": duration, "args": dict(part.arguments)}
        if part.flow >= 0 and not (part.first and part.last):
            phase = "s" if part.first else ("f" if part.last else "t")
            yield {"ph": phase, "name": "way", "cat": _FLOW, "id": part.flow, **place, **({"bp": "e"} if phase == "f" else {})}
    for mark in timeline.marks:
        place = {"pid": _pid(process[mark.track]), "tid": mark.track, "ts": _us(mark.t_ps)}
        yield {"ph": "i", "s": "t", "name": mark.name, "cat": "link", **place, "args": dict(mark.arguments)}
    for sample in timeline.samples:
        place = {"pid": _pid(process[sample.track]), "ts": _us(sample.t_ps)}
        yield {"ph": "C", "name": names[sample.track], **place, "args": {"value": sample.value}}


def _pid(node: int) -> int:
    return node + 1  # 0 is the idle process to some viewers


def _meta(what: str, node: int, arguments: dict[str, Any], thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _pid(node), "tid": thread, "args": arguments}
