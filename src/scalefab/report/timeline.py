"""The first part of a run as a timeline, before it becomes a file: tracks, slices, counters, marks.

Process = node, thread = port and VC; a slice is a frame on the line of its port, or an operation from ready to done; slices of
one frame carry its number as a flow; counters are credits in use and bytes held in the buffer at the other end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heappop, heappush
from typing import Any

import numpy as np

from ..errors import InputError, Problem
from ..protocol.profile import VCS, Kind
from ..simulator.metrics import node_name, port_name
from ..simulator.result import Result
from ..simulator.trace import Trace
from .capturefile import describe_frame

_MOST_LANES = 64  # rows of operations a GPU; more are counted and left out
_TRACKS_A_PORT = 2 + 3 * VCS
_NO_ARGUMENTS: Mapping[str, str | int] = {}


class TrackKind(IntEnum):
    """What a track shows."""

    SLICES = 0
    CREDITS = 1
    HELD_BYTES = 2


@dataclass(frozen=True, slots=True)
class Track:
    """One row: ``key`` is its number, ``process`` the node it belongs to; ``order`` sorts rows of a process."""

    key: int
    process: int
    name: str
    kind: TrackKind
    order: int


@dataclass(frozen=True, slots=True)
class Slice:
    """Something that takes time on a track; slices of one track never overlap. ``flow`` joins those of one frame, -1 = none."""

    track: int
    start_ps: int
    end_ps: int
    name: str
    flow: int = -1
    first: bool = False
    last: bool = False
    arguments: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """A value of a counter track from a time on."""

    track: int
    t_ps: int
    value: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that takes no time worth drawing."""

    track: int
    t_ps: int
    name: str
    arguments: Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Rows and what stands in them.

    Attributes
    ----------
    processes
        Names by node.
    tracks
        Every row that has something in it.
    slices, samples, marks
        In the order of time on each track.
    end_ps
        Where the traced part ends.
    left_out
        Operations that found no row.
    """

    processes: dict[int, str]
    tracks: tuple[Track, ...]
    slices: tuple[Slice, ...]
    samples: tuple[Sample, ...]
    marks: tuple[Mark, ...]
    end_ps: int
    left_out: int


def make_timeline(result: Result) -> Timeline:
    """Return the timeline of a run's traced part.

    Raises
    ------
    InputError
        The run recorded no frames.
    """
    trace = result.trace
    if trace is None or not len(trace.hops):
        raise InputError([Problem("the run recorded no frames", "a run with --capture 1 or more", key="RUN")])
    tracks: dict[int, Track] = {}
    slices = list(_frame_slices(result, trace, tracks))
    samples = list(_samples(result, trace, tracks))
    marks = list(_marks(result, trace, tracks))
    end_ps = int(trace.hops["end_ps"].max())
    operations, left_out = _operation_slices(result, end_ps, tracks)
    ordered = tuple(sorted(tracks.values(), key=lambda track: (track.process, track.order)))
    processes = {track.process: node_name(result.fabric, track.process) for track in ordered}
    return Timeline(processes, ordered, (*operations, *slices), tuple(samples), tuple(marks), end_ps, left_out)


def _track(result: Result, tracks: dict[int, Track], port: int, vc: int, kind: TrackKind) -> int:
    """Return the key of a port's track of a VC; vc = VCS: its ordered sets."""
    place = vc * 3 + kind
    key = port * _TRACKS_A_PORT + place
    if key not in tracks:
        what = "ordered sets" if vc == VCS else f"VC {vc}"
        told = {TrackKind.SLICES: "", TrackKind.CREDITS: ", credits in use", TrackKind.HELD_BYTES: ", bytes held at the peer"}
        name = f"{port_name(result.fabric, port)}, {what}{told[kind]}"
        tracks[key] = Track(key, int(result.fabric.port_node[port]), name, kind, _MOST_LANES + key)
    return key


def _by_time(rows: Any, name: str) -> Any:
    return rows[np.argsort(rows[name], kind="stable")]


def _frame_slices(result: Result, trace: Trace, tracks: dict[int, Track]) -> Iterator[Slice]:
    hops = _by_time(trace.hops, "start_ps")
    seen: set[int] = set()
    last = {int(frame): index for index, frame in enumerate(hops["frame"])}
    for index, hop in enumerate(hops):
        row = int(hop["frame"])
        frame = trace.frames[row]
        first = row not in seen
        seen.add(row)
        yield Slice(
            _track(result, tracks, int(hop["port"]), int(frame["vc"]), TrackKind.SLICES),
            int(hop["start_ps"]),
            int(hop["end_ps"]),
            _frame_name(result, trace, frame),
            int(frame["id"]),
            first,
            last[row] == index,
            {
                "frame": describe_frame(result, trace, row),
                "size_bytes": int(frame["size_bytes"]),
                "payload_bytes": int(frame["payload_bytes"]),
                "start_ps": int(hop["start_ps"]),
                "end_ps": int(hop["end_ps"]),
            },
        )


def _frame_name(result: Result, trace: Trace, frame: Any) -> str:
    if frame["kind"]:
        return f"ACK {frame['src']}>{frame['dst']}"
    op = int(trace.runs[int(frame["run_first"])]["op"])
    return f"{Kind(int(result.graph.kind[op])).name}{' answer' if frame['answer'] else ''} {frame['src']}>{frame['dst']}"


def _samples(result: Result, trace: Trace, tracks: dict[int, Track]) -> Iterator[Sample]:
    for hop in _by_time(trace.hops, "start_ps"):
        port, vc, t_ps = int(hop["port"]), int(trace.frames[int(hop["frame"])]["vc"]), int(hop["start_ps"])
        yield Sample(_track(result, tracks, port, vc, TrackKind.CREDITS), t_ps, int(hop["credits"]))
        yield Sample(_track(result, tracks, port, vc, TrackKind.HELD_BYTES), t_ps, int(hop["held_bytes"]))


def _marks(result: Result, trace: Trace, tracks: dict[int, Track]) -> Iterator[Mark]:
    for update in _by_time(trace.updates, "t_ps"):
        arguments = {name: int(update[name]) for name in ("vc0", "c0", "vc1", "c1", "t_ps")}
        yield Mark(
            _track(result, tracks, int(update["port"]), VCS, TrackKind.SLICES), int(update["t_ps"]), "CF_UPDATE", arguments
        )


def _operation_slices(result: Result, end_ps: int, tracks: dict[int, Track]) -> tuple[list[Slice], int]:
    """Return the operations that were ready in the traced part, each on a free row of its source, and how many found none."""
    graph, times = result.graph, result.operations
    chosen = np.flatnonzero((times.ready_ps >= 0) & (times.ready_ps <= end_ps) & (graph.src >= 0) & (graph.bytes > 0))
    chosen = chosen[np.argsort(times.ready_ps[chosen], kind="stable")]
    busy: dict[int, list[tuple[int, int]]] = {}  # by GPU: (free from, lane)
    found: list[Slice] = []
    left_out = 0
    base = result.fabric.ports * _TRACKS_A_PORT
    for op in chosen.tolist():
        gpu, ready, done = int(graph.src[op]), int(times.ready_ps[op]), int(times.done_ps[op])
        end = done if done >= 0 else result.now_ps
        lanes = busy.setdefault(gpu, [])
        if lanes and lanes[0][0] <= ready:
            lane = heappop(lanes)[1]
        elif len(lanes) < _MOST_LANES:
            lane = len(lanes)
        else:
            left_out += 1
            continue
        heappush(lanes, (end, lane))
        key = base + gpu * _MOST_LANES + lane
        if key not in tracks:
            tracks[key] = Track(key, gpu, f"operations {lane}", TrackKind.SLICES, lane)
        name = f"{Kind(int(graph.kind[op])).name} to GPU {int(graph.dst[op])}"
        arguments: dict[str, str | int] = {
            "operation": op,
            "group": graph.groups[int(graph.group[op])].name,
            "size_bytes": int(graph.bytes[op]),
            "ready_ps": ready,
            "first_bit_ps": int(times.first_ps[op]),
            "done_ps": done,
        }
        found.append(Slice(key, ready, end, name, arguments=arguments))
    return found, left_out
