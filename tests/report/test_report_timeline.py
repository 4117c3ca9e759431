"""The timeline: rows, slices, flows and counters; as Chrome JSON and as native Perfetto."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from kept import make_trace

from scalefab.errors import InputError, MissingExtraError
from scalefab.protocol.profile import Kind
from scalefab.report.chrome import write_chrome
from scalefab.report.perfetto import write_perfetto
from scalefab.report.timeline import Timeline, TrackKind, make_timeline
from scalefab.simulator.result import Result


def traced() -> Result:
    result = synthetic.moe_skewed()
    return replace(result, trace=make_trace(result))


@pytest.fixture
def timeline() -> Timeline:
    return make_timeline(traced())


def test_frames_operations_and_counters_stand_in_rows_of_their_nodes(timeline: Timeline) -> None:
    tracks = {track.key: track for track in timeline.tracks}
    names = {(timeline.processes[track.process], track.name) for track in tracks.values()}
    assert ("GPU 0", "GPU 0 -> switch plane 0, VC 2") in names
    assert ("GPU 1", "GPU 1 -> switch plane 0, VC 3") in names
    assert ("switch plane 0", "switch plane 0 -> GPU 1, VC 2, credits in use") in names
    assert ("switch plane 0", "switch plane 0 -> GPU 1, VC 2, bytes held at the peer") in names
    assert ("switch plane 0", "switch plane 0 -> GPU 0, ordered sets") in names
    frames = [part for part in timeline.slices if part.flow >= 0]
    assert [(part.flow, part.first, part.last) for part in sorted(frames, key=lambda part: (part.flow, part.start_ps))] == [
        (flow, first, not first) for flow in range(3) for first in (True, False)
    ]
    assert frames[0].name == "PUT 0>1"
    assert any(part.name == "ACK 1>0" for part in frames)
    assert [mark.name for mark in timeline.marks] == ["CF_UPDATE"]
    assert timeline.end_ps == 510_720
    operations = [part for part in timeline.slices if part.flow < 0]
    assert len(operations) + timeline.left_out == len(traced().graph)


def test_slices_of_a_row_never_overlap(timeline: Timeline) -> None:
    rows: dict[int, list[Any]] = defaultdict(list)
    for part in timeline.slices:
        rows[part.track].append(part)
    for parts in rows.values():
        parts.sort(key=lambda part: part.start_ps)
        assert all(one.end_ps <= two.start_ps for one, two in pairwise(parts))


def test_operations_that_find_no_row_are_counted() -> None:
    result = synthetic.all_to_all(80, 1)
    timeline = make_timeline(replace(result, trace=make_trace(result)))
    assert timeline.left_out == 80 * (79 - 64)


def test_operations_that_send_nothing_are_not_drawn() -> None:
    result = traced()
    graph = replace(
        result.graph, kind=np.full(len(result.graph), Kind.JOIN, np.int8), src=np.full(len(result.graph), -1, np.int16)
    )
    with_joins = replace(result, graph=graph)
    assert all(part.flow >= 0 for part in make_timeline(with_joins).slices)


@pytest.mark.parametrize("how", ["none", "empty"])
def test_a_run_without_frames_is_told(how: str) -> None:
    result = traced()
    assert result.trace is not None
    trace = None if how == "none" else replace(result.trace, hops=result.trace.hops[:0])
    with pytest.raises(InputError, match="recorded no frames"):
        make_timeline(replace(result, trace=trace))


def test_chrome_json(timeline: Timeline, tmp_path: Path) -> None:
    write_chrome(tmp_path / "t.json", timeline)
    data = json.loads((tmp_path / "t.json").read_text())
    events = data["traceEvents"]
    by_phase = defaultdict(list)
    for event in events:
        by_phase[event["ph"]].append(event)
    assert set(by_phase) == {"M", "X", "s", "f", "i", "C"}
    assert len(by_phase["X"]) == len(timeline.slices)
    assert {event["id"] for event in by_phase["s"]} == {event["id"] for event in by_phase["f"]} == {0, 1, 2}
    first = next(event for event in by_phase["X"] if event["cat"] == "frame")
    assert (first["ts"], first["dur"], first["args"]["start_ps"]) == (0.05, 0.02048, 50_000)
    named = {(event["pid"], event["tid"]) for event in by_phase["M"] if event["name"] == "thread_name"}
    assert {(event["pid"], event["tid"]) for event in by_phase["X"]} <= named
    # a flow is bound to the slice that holds its time on its thread
    places = {(event["pid"], event["tid"], event["ts"]) for event in by_phase["X"]}
    assert {(event["pid"], event["tid"], event["ts"]) for event in (*by_phase["s"], *by_phase["f"])} <= places
    counter = next(event for event in by_phase["C"] if event["name"] == "GPU 0 -> switch plane 0, VC 2, credits in use")
    assert counter["args"] == {"value": 32}


def test_perfetto_is_read_back(timeline: Timeline, tmp_path: Path) -> None:
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    write_perfetto(tmp_path / "t.pftrace", timeline)
    trace = protos.Trace()
    trace.ParseFromString((tmp_path / "t.pftrace").read_bytes())
    packets = list(trace.packet)
    assert packets[0].sequence_flags == protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert {packet.trusted_packet_sequence_id for packet in packets} == {1}
    described = {p.track_descriptor.uuid: p.track_descriptor for p in packets if p.HasField("track_descriptor")}
    processes = {uuid for uuid, track in described.items() if track.HasField("process")}
    assert {described[uuid].process.process_name for uuid in processes} == set(timeline.processes.values())
    assert all(track.parent_uuid in processes for uuid, track in described.items() if uuid not in processes)
    counters = {uuid for uuid, track in described.items() if track.HasField("counter")}
    assert len(counters) == sum(track.kind is not TrackKind.SLICES for track in timeline.tracks)
    event = protos.TrackEvent
    events = [packet for packet in packets if packet.HasField("track_event")]
    assert [packet.timestamp for packet in events] == sorted(packet.timestamp for packet in events)
    open_slices: dict[int, int] = defaultdict(int)
    flows: dict[int, list[str]] = defaultdict(list)
    for packet in events:
        kind, uuid = packet.track_event.type, packet.track_event.track_uuid
        assert uuid in described
        open_slices[uuid] += {event.TYPE_SLICE_BEGIN: 1, event.TYPE_SLICE_END: -1}.get(kind, 0)
        assert 0 <= open_slices[uuid] <= 1
        assert (kind == event.TYPE_COUNTER) is (uuid in counters)
        for flow in packet.track_event.flow_ids:
            flows[flow].append("on")
        for flow in packet.track_event.terminating_flow_ids:
            flows[flow].append("end")
    assert set(open_slices.values()) == {0}
    assert dict(flows) == {flow: ["on", "end"] for flow in (1, 2, 3)}


def test_a_missing_package_is_told(timeline: Timeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "perfetto.protos.perfetto.trace", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'scalefab\[perfetto\]'"):
        write_perfetto(tmp_path / "t.pftrace", timeline)
    assert not (tmp_path / "t.pftrace").exists()
