"""What goes on a port's line: frames with their line time and statistics, and ordered sets between them."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import faults
from ..protocol.operations import ORDERED_SET_BYTES, WIRE_EXTRA_BYTES
from .ports import add_load, line_ps
from .recorder import gap_free_ps, record_hop
from .records import CC, DATA, NEVER_PS, State


@inlined
def occupy(S: State, a: int, f: Any, start_ps: int) -> None:
    """Put a frame on the line of port ``a`` at ``start_ps``: line time and statistics."""
    port = S.port[a]
    wire = f.size_bytes + WIRE_EXTRA_BYTES
    time_ps = line_ps(port, wire)
    port.free_ps = start_ps + time_ps
    port.frame_end_ps = port.free_ps
    port.busy_ps += time_ps
    port.wire_bytes += wire
    port.data_bytes += f.payload_bytes
    if f.kind == DATA:
        port.frames += 1
    elif f.kind != CC:
        port.ack_frames += 1
    now_ps = S.kernel[0].now_ps
    add_load(S, a, start_ps if start_ps > now_ps else now_ps, wire)
    if f.trace_row >= 0:
        record_hop(S, a, f, start_ps, gap_free_ps(port.free_ps, port.num, port.den))


@inlined
def put_set(S: State, q: int, leave_ps: int) -> int:
    """Put an ordered set on the line of port ``q`` at ``leave_ps``; return when it arrives, `NEVER_PS` = it is lost."""
    port = S.port[q]
    time_ps = line_ps(port, ORDERED_SET_BYTES)
    port.free_ps = leave_ps + time_ps
    port.busy_ps += time_ps
    port.wire_bytes += ORDERED_SET_BYTES
    add_load(S, q, leave_ps, ORDERED_SET_BYTES)
    arrive_ps = leave_ps + time_ps + port.delay_ps
    return faulty_arrival_ps(S, q, arrive_ps) if S.kernel[0].careful else arrive_ps


@compiled
def faulty_arrival_ps(S: State, q: int, arrive_ps: int) -> int:
    """Return when an ordered set of port ``q`` arrives that would arrive at ``arrive_ps`` without faults."""
    link = S.link[q]
    number = link.set_count
    link.set_count += 1
    if arrive_ps > link.down_from_ps or faults.loses(link.set_key, number, link.set_loss):
        return NEVER_PS
    arrive_ps += link.set_delay_ps
    if arrive_ps < link.set_last_ps:  # a delay that ended does not let sets overtake
        arrive_ps = link.set_last_ps
    link.set_last_ps = arrive_ps
    return arrive_ps
