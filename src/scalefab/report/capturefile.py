"""The capture of a run, ``capture.pcapng``: the first frames, byte by byte, at every port that they leave by.

One interface a directed port, named as reports name the port; with ``phy`` a second one, ``PORT.phy``, with preambles and
CF_UPDATE ordered sets (open profile section 2). A packet's time is that of the first bit of its preamble, rounded down to ns;
its comment has the picoseconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..capture.pcapng import Interface, LinkType, Writer
from ..errors import InputError, Problem
from ..protocol.profile import FCS_BYTES, Kind
from ..simulator.metrics import port_name
from ..simulator.result import Result
from ..simulator.trace import Trace

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario

CAPTURE_FILE = "capture.pcapng"
_STACK = "ethlink"
_COMMENT = (
    "Simulated. EthLink open profile version 0; not ByteDance's confidential wire format. Payload: each word its own address."
)


def require_capture(header_stack: str) -> None:
    """Make sure that frames of a fabric can be written, before the run.

    Raises
    ------
    InputError
        Another header stack than the open profile's: only sizes of those are simulated.
    """
    if header_stack != _STACK:
        message = f"frames of the header stack '{header_stack}' cannot be captured, only their sizes are known"
        raise InputError([Problem(message, f"fabric.header_stack {_STACK}", key="--capture")])


def write_capture(path: Path, scenario: Scenario, result: Result, *, phy: bool) -> None:
    """Write the capture of a run.

    Parameters
    ----------
    path
        File to write.
    scenario, result
        The run; a result without trace makes a capture without packets.
    phy
        Whether to write the ``PORT.phy`` interfaces too.
    """
    from .. import __version__

    trace = result.trace
    ports = _ports(trace, phy) if trace is not None else []
    interfaces = [_interface(result, port, LinkType.ETHERNET) for port in ports]
    if phy:
        interfaces += [_interface(result, port, LinkType.USER0) for port in ports]
    with path.open("wb") as stream:
        writer = Writer(stream, interfaces, application=f"scalefab {__version__}", comment=_COMMENT)
        if trace is not None:
            _write_packets(writer, scenario, result, trace, {port: i for i, port in enumerate(ports)}, phy)


def _ports(trace: Trace, phy: bool) -> list[int]:
    used = [trace.hops["port"], trace.updates["port"]] if phy else [trace.hops["port"]]
    return [int(port) for port in np.unique(np.concatenate(used))]


def _interface(result: Result, port: int, link_type: LinkType) -> Interface:
    plain = link_type is LinkType.ETHERNET
    name = port_name(result.fabric, port)
    return Interface(
        name if plain else f"{name}.phy",
        link_type,
        FCS_BYTES if plain else -1,
        int(result.fabric.port_rate_bps[port]),
        "frames" if plain else "preambles, frames and ordered sets",
    )


def _write_packets(writer: Writer, scenario: Scenario, result: Result, trace: Trace, index: dict[int, int], phy: bool) -> None:
    from ..protocol.link import Preamble, encode_preamble
    from ..protocol.record import cf_update, encode_ordered_set
    from .frames import FrameMaker, at_hop

    maker = FrameMaker(result.graph, result.fabric, trace, scenario.options.spray)
    hops, updates = trace.hops, trace.updates
    hop_number = _hop_numbers(hops)
    rows = np.argsort(hops["start_ps"], kind="stable")
    times = np.sort(updates["t_ps"]) if phy else updates["t_ps"][:0]
    due = np.argsort(updates["t_ps"], kind="stable")[: len(times)]
    encoded: dict[int, bytes] = {}
    preamble = encode_preamble(Preamble())  # no link of a simulation without LLR numbers its frames
    sent = 0

    def send_updates(until_ps: int) -> None:
        nonlocal sent
        while sent < len(due) and int(times[sent]) <= until_ps:
            update = updates[due[sent]]
            words = {name: int(update[name]) for name in ("vc0", "c0", "vc1", "c1")}
            comment = f"CF_UPDATE: VC {words['vc0']} has freed {words['c0']}, VC {words['vc1']} {words['c1']} credits (mod 2^15)"
            at_ps = int(update["t_ps"])
            data = encode_ordered_set(cf_update((words["vc0"], words["c0"]), (words["vc1"], words["c1"])))
            writer.packet(len(index) + index[int(update["port"])], at_ps, data, f"{comment}; t = {at_ps} ps")
            sent += 1

    last = {int(frame): int(row) for row, frame in zip(rows, hops["frame"][rows], strict=True)}
    for row in rows.tolist():
        hop = hops[row]
        frame, start_ps = int(hop["frame"]), int(hop["start_ps"])
        send_updates(start_ps)
        if frame not in encoded:
            encoded[frame] = maker.encoded(frame)
        data = at_hop(encoded[frame], int(hop_number[row]))
        if last[frame] == row:
            del encoded[frame]
        comment = _comment(result, trace, hop, int(hop_number[row]))
        interface = index[int(hop["port"])]
        writer.packet(interface, start_ps, data, comment)
        if phy:
            writer.packet(len(index) + interface, start_ps, preamble + data, comment)
    send_updates(1 << 62)


def _hop_numbers(hops: Any) -> Any:
    """Return how many hops of the same frame came before each row."""
    order = np.lexsort((hops["start_ps"], hops["frame"]))
    frames = hops["frame"][order]
    starts = np.flatnonzero(np.diff(frames, prepend=-1))
    number = np.arange(len(hops)) - np.repeat(starts, np.diff(np.append(starts, len(hops))))
    found = np.empty(len(hops), np.int64)
    found[order] = number
    return found


def describe_frame(result: Result, trace: Trace, row: int) -> str:
    """Return what a frame of the trace is, in one line."""
    frame = trace.frames[row]
    way = f"GPU {frame['src']} -> GPU {frame['dst']}, path {frame['path']}"
    if frame["kind"]:
        return f"ACK of VC {frame['ack_vc']} up to PSN {frame['ack_psn']}, {way}"
    runs = trace.runs[int(frame["run_first"]) : int(frame["run_first"]) + int(frame["run_count"])]
    parts = []
    for op, first, count in runs[:4].tolist():
        what = f"{Kind(int(result.graph.kind[op])).name} {op}{' answer' if frame['answer'] else ''}"
        parts.append(f"{what} part {first}" if count == 1 else f"{what} parts {first} to {first + count - 1}")
    more = f" and {len(runs) - 4} more" if len(runs) > 4 else ""
    ack = f", ACK of VC {frame['ack_vc']} up to PSN {frame['ack_psn']}" if frame["ack"] else ""
    return f"{', '.join(parts)}{more}, {way}, VC {frame['vc']}, PSN {frame['psn']}{ack}"


def _comment(result: Result, trace: Trace, hop: Any, number: int) -> str:
    row = int(hop["frame"])
    what = f"frame {int(trace.frames[row]['id'])} hop {number}: {describe_frame(result, trace, row)}"
    return (
        f"{what}; t = {int(hop['start_ps'])} ps; "
        f"{int(hop['credits'])} credits in use, {int(hop['held_bytes'])} B held at the peer"
    )
