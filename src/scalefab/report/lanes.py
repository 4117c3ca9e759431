"""The timeline of operations in the report: one lane a GPU, drawn as positioned boxes, so that it prints and needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

import numpy as np
from numpy.typing import NDArray

from ..protocol.profile import Kind
from ..simulator.result import Result
from ..units import format_time
from .palette import GROUPS_LIGHT
from .sections import section

MOST_LANES = 64
_MOST_SINGLE = 2_000  # more boxes than that are a smear and a slow page: one box a GPU and group then
_MOST_DEEP = 4  # single operations side by side in a lane
_ROW_PX, _LEAST_PX = 5, 10
_TICKS = 5
_LAST_TICK = 0.8  # so that it does not run into the end's label on a narrow page


@dataclass(frozen=True, slots=True)
class Box:
    """One or several operations of a source GPU. Times in ps; ``middle`` = half of them are done."""

    gpu: int
    group: int
    ready: int
    first: int
    middle: int
    end: int
    count: int
    title: str


def lanes_section(result: Result) -> str:
    """Return the timeline of operations, "" when none was ready."""
    graph, times = result.graph, result.operations
    chosen = np.flatnonzero((times.ready_ps >= 0) & (graph.src >= 0) & (graph.kind != Kind.JOIN))
    if not len(chosen):
        return ""
    gpus = _lanes(result, chosen)
    shown = chosen[np.isin(graph.src[chosen], gpus)]
    boxes = [_single(result, op) for op in shown.tolist()] if len(shown) <= _MOST_SINGLE else []
    single = bool(boxes) and all(len(_stacked([box for box in boxes if box.gpu == gpu])) <= _MOST_DEEP for gpu in gpus)
    if not single:
        boxes = _gathered(result, shown)
    until = max(box.end for box in boxes) or 1
    last = max(boxes, key=lambda box: (box.end, -box.gpu)).gpu
    rows = "".join(_lane(gpu, [box for box in boxes if box.gpu == gpu], until, gpu == last) for gpu in gpus)
    key = "".join(
        f'<span style="--c:{_colour(index)}">{escape(group.name)}</span>'
        for index, group in enumerate(graph.groups[: len(GROUPS_LIGHT)])
    )
    body = f'<div class="legend">{key}</div><div class="lanes">{rows}<span></span>{_ticks(until)}</div>'
    return section("operations", "Operations over time", body, _note(result, len(gpus), single, last))


def _note(result: Result, lanes: int, single: bool, last: int) -> str:
    told = "One lane a source GPU"
    if lanes < result.fabric.endpoints:
        told += f", {lanes} of {result.fabric.endpoints} GPUs"
    what = "one box an operation" if single else "one box for all operations of a group"
    ends = "until it is done" if single else "full until half of them are done, lighter until the last one is"
    return f"{told}; {what}: pale from ready to the first bit, {ends}. The operations of GPU {last} end last."


def _lanes(result: Result, chosen: NDArray[np.int64]) -> list[int]:
    """Return the GPUs to draw: all that issue something, or an even choice of them with the one that ends last."""
    done = np.where(result.operations.done_ps[chosen] >= 0, result.operations.done_ps[chosen], result.now_ps)
    used = np.unique(result.graph.src[chosen])
    if len(used) <= MOST_LANES:
        return [int(gpu) for gpu in used]
    last = result.graph.src[chosen][int(np.argmax(done))]
    picked = used[np.linspace(0, len(used) - 1, MOST_LANES).astype(np.int64)]
    picked[np.argmin(np.abs(picked.astype(np.int64) - int(last)))] = last
    return [int(gpu) for gpu in picked]


def _single(result: Result, op: int) -> Box:
    graph, times = result.graph, result.operations
    ready, done = int(times.ready_ps[op]), int(times.done_ps[op])
    end = done if done >= 0 else result.now_ps
    first = int(times.first_ps[op])
    first = min(first, end) if first >= 0 else end
    kind = Kind(int(graph.kind[op])).name
    title = f"{kind} {op} of {graph.groups[int(graph.group[op])].name} to GPU {int(graph.dst[op])}"
    took = f"{format_time(end - ready)} from {format_time(ready)}"
    return Box(int(graph.src[op]), int(graph.group[op]), ready, first, end, end, 1, f"{title}: {took}")


def _gathered(result: Result, ops: NDArray[np.int64]) -> list[Box]:
    graph, times = result.graph, result.operations
    key = graph.src[ops].astype(np.int64) * len(graph.groups) + graph.group[ops]
    order = np.argsort(key, kind="stable")
    found = []
    for part in np.split(ops[order], np.flatnonzero(np.diff(key[order])) + 1):
        done = np.where(times.done_ps[part] >= 0, times.done_ps[part], result.now_ps)
        begun = times.first_ps[part][times.first_ps[part] >= 0]
        ready, end = int(times.ready_ps[part].min()), int(done.max())
        first = int(begun.min()) if len(begun) else end
        middle = max(first, int(np.sort(done)[(len(done) - 1) // 2]))
        gpu, group = int(graph.src[part[0]]), int(graph.group[part[0]])
        told = f"GPU {gpu}, {graph.groups[group].name}, {len(part)} operations: ready {format_time(ready)}"
        title = f"{told}, half done {format_time(middle)}, done {format_time(end)}"
        found.append(Box(gpu, group, ready, min(first, end), min(middle, end), end, len(part), title))
    return found


def _stacked(boxes: Sequence[Box]) -> list[list[Box]]:
    """Return rows of boxes that do not overlap, each box in the first row that is free."""
    rows: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: (box.ready, box.group)):
        row = next((row for row in rows if row[-1].end <= box.ready), None)
        if row is None:
            rows.append(row := [])
        row.append(box)
    return rows


def _lane(gpu: int, boxes: Sequence[Box], until: int, last: bool) -> str:
    rows = _stacked(boxes)
    each = max(_ROW_PX, _LEAST_PX // max(1, len(rows)))
    drawn = "".join(_drawn(box, row * each, each - 1, until) for row, line in enumerate(rows) for box in line)
    mark = ' class="hot"' if last else ""
    return f'<span{mark}>GPU {gpu}</span><div class="lane" style="height:{max(each * len(rows), _LEAST_PX)}px">{drawn}</div>'


def _drawn(box: Box, top: int, height: int, until: int) -> str:
    parts = (("wait", box.ready, box.first), ("", box.first, box.middle), ("tail", box.middle, box.end))
    style = f"top:{top}px;height:{height}px;--c:{_colour(box.group)}"
    return "".join(
        f'<i{f" class={kind}" if kind else ""} title="{escape(box.title)}" '
        f'style="left:{100 * start / until:.3f}%;width:{100 * (end - start) / until:.3f}%;{style}"></i>'
        for kind, start, end in parts
        if end > start
    )


def _colour(group: int) -> str:
    return f"var(--g{group % len(GROUPS_LIGHT)})"


def _ticks(until_ps: int) -> str:
    step = until_ps / _TICKS
    power = 10 ** floor(log10(step))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step)
    at = [int(step * i) for i in range(ceil(until_ps / step))]
    labels = [(time, format_time(time)) for time in at if time < _LAST_TICK * until_ps] + [(until_ps, format_time(until_ps))]
    return (
        '<div class="ticks">' + "".join(f'<b style="left:{100 * t / until_ps:.3f}%">{text}</b>' for t, text in labels) + "</div>"
    )
