"""A timeline as a native Perfetto trace: TrackEvent packets through the protobuf classes of the ``perfetto`` package (extra)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError
from .timeline import Timeline, TrackKind

_SEQUENCE = 1
_PS_A_NS = 1000
_TRACK_BASE = 1 << 32  # track uuids: processes below, rows above


def write_perfetto(path: Path, timeline: Timeline) -> None:
    """Write a timeline. Perfetto counts ns: times are rounded down, the picoseconds stand in the arguments.

    Raises
    ------
    MissingExtraError
        The package ``perfetto`` is not installed.
    """
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
        from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder
    except ImportError:
        raise MissingExtraError("perfetto", "perfetto") from None
    with path.open("wb") as file:
        builder = StreamingTraceProtoBuilder(file)
        for index, fill in enumerate((*_descriptors(timeline, protos), *_events(timeline, protos))):
            packet = builder.create_packet()
            packet.trusted_packet_sequence_id = _SEQUENCE
            if index == 0:
                packet.sequence_flags = protos.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            fill(packet)
            builder.write_packet(packet)


def _process(node: int) -> int:
    return node + 1


def _descriptors(timeline: Timeline, protos: Any) -> Iterator[Any]:
    for node, name in timeline.processes.items():

        def process(packet: Any, node: int = node, name: str = name) -> None:
            packet.track_descriptor.uuid = _process(node)
            packet.track_descriptor.process.pid = _process(node)
            packet.track_descriptor.process.process_name = name
            packet.track_descriptor.child_ordering = protos.TrackDescriptor.EXPLICIT

        yield process
    for track in timeline.tracks:

        def row(packet: Any, track: Any = track) -> None:
            described = packet.track_descriptor
            described.uuid = _TRACK_BASE + track.key
            described.parent_uuid = _process(track.process)
            described.name = track.name
            described.sibling_order_rank = track.order
            if track.kind is TrackKind.HELD_BYTES:
                described.counter.unit = protos.CounterDescriptor.UNIT_SIZE_BYTES
            elif track.kind is TrackKind.CREDITS:
                described.counter.unit_name = "credits"

        yield row


def _events(timeline: Timeline, protos: Any) -> list[Any]:
    """Everything that has a time, in its order; what ends somewhere comes before what begins there."""
    event = protos.TrackEvent
    found: list[tuple[int, int, Any]] = []
    for part in timeline.slices:

        def begin(packet: Any, part: Any = part) -> None:
            packet.timestamp = part.start_ps // _PS_A_NS
            packet.track_event.type = event.TYPE_SLICE_BEGIN
            packet.track_event.track_uuid = _TRACK_BASE + part.track
            packet.track_event.name = part.name
            packet.track_event.categories.append("operation" if part.flow < 0 else "frame")
            if part.flow >= 0:
                flows = packet.track_event.terminating_flow_ids if part.last else packet.track_event.flow_ids
                flows.append(part.flow + 1)
            _annotate(packet.track_event, part.arguments)

        def end(packet: Any, part: Any = part) -> None:
            packet.timestamp = part.end_ps // _PS_A_NS
            packet.track_event.type = event.TYPE_SLICE_END
            packet.track_event.track_uuid = _TRACK_BASE + part.track

        found.append((part.start_ps, 1, begin))
        found.append((max(part.end_ps, part.start_ps), 0 if part.end_ps > part.start_ps else 2, end))
    for mark in timeline.marks:

        def instant(packet: Any, mark: Any = mark) -> None:
            packet.timestamp = mark.t_ps // _PS_A_NS
            packet.track_event.type = event.TYPE_INSTANT
            packet.track_event.track_uuid = _TRACK_BASE + mark.track
            packet.track_event.name = mark.name
            _annotate(packet.track_event, mark.arguments)

        found.append((mark.t_ps, 1, instant))
    for sample in timeline.samples:

        def count(packet: Any, sample: Any = sample) -> None:
            packet.timestamp = sample.t_ps // _PS_A_NS
            packet.track_event.type = event.TYPE_COUNTER
            packet.track_event.track_uuid = _TRACK_BASE + sample.track
            packet.track_event.counter_value = sample.value

        found.append((sample.t_ps, 1, count))
    found.sort(key=lambda item: item[:2])
    return [fill for _, _, fill in found]


def _annotate(event: Any, arguments: Mapping[str, str | int]) -> None:
    for name, value in arguments.items():
        annotation = event.debug_annotations.add()
        annotation.name = name
        if isinstance(value, str):
            annotation.string_value = value
        else:
            annotation.int_value = value
