"""A run as CSV: one row an operation, a directed link, a stage. Units stand in the column names; -1 = never."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..protocol.profile import Kind
from ..simulator.metrics import node_name, port_name, stage_shares, utilisation
from ..simulator.result import STAGE_LABELS, Result, Stage

OPERATION_COLUMNS = (
    "operation",
    "group",
    "kind",
    "src_gpu",
    "dst_gpu",
    "vc",
    "size_bytes",
    "ready_ps",
    "first_bit_ps",
    "executed_ps",
    "done_ps",
    "latency_ps",
)
LINK_COLUMNS = (
    "port",
    "link",
    "from",
    "to",
    "plane",
    "rate_bps",
    "frames",
    "ack_frames",
    "cf_updates",
    "data_bytes",
    "wire_bytes",
    "busy_ps",
    "utilisation_percent",
    "credit_wait_ps",
    "window_wait_ps",
    "peak_queue_bytes",
)
LOST_TIME_COLUMNS = ("stage", "label", "time_ps", "percent", "mean_ps_a_frame")

# Rows turned into text at once: large enough that NumPy's tolist() carries the cost, small enough to stay in the cache.
_CHUNK_ROWS = 65_536


def write_operations(path: Path, result: Result) -> None:
    """Write one row an operation of the graph; a million rows take a few seconds and no more than one chunk of text."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(OPERATION_COLUMNS) + "\n")
        for text in _operation_chunks(result):
            file.write(text)


def _operation_chunks(result: Result) -> Iterator[str]:
    graph, times = result.graph, result.operations
    kinds = [kind.name for kind in Kind]
    groups = [quoted(group.name) for group in graph.groups]
    for start in range(0, len(graph), _CHUNK_ROWS):
        rows = slice(start, start + _CHUNK_ROWS)
        finished = (times.done_ps[rows] >= 0) & (times.ready_ps[rows] >= 0)
        latency = np.where(finished, times.done_ps[rows] - times.ready_ps[rows], -1)
        columns = (
            range(start, start + len(latency)),
            [groups[index] for index in graph.group[rows].tolist()],
            [kinds[index] for index in graph.kind[rows].tolist()],
            graph.src[rows].tolist(),
            graph.dst[rows].tolist(),
            graph.vc[rows].tolist(),
            graph.bytes[rows].tolist(),
            times.ready_ps[rows].tolist(),
            times.first_ps[rows].tolist(),
            times.executed_ps[rows].tolist(),
            times.done_ps[rows].tolist(),
            latency.tolist(),
        )
        yield "".join(["%d,%s,%s,%d,%d,%d,%d,%d,%d,%d,%d,%d\n" % row for row in zip(*columns, strict=True)])  # noqa: UP031 - twice as fast


def write_links(path: Path, result: Result) -> None:
    """Write one row a directed port."""
    fabric, ports = result.fabric, result.ports
    shares = utilisation(result) * 100
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(LINK_COLUMNS)
        for port in range(fabric.ports):
            node, peer = int(fabric.port_node[port]), int(fabric.port_node[fabric.port_peer[port]])
            writer.writerow(
                (
                    port,
                    port_name(fabric, port),
                    node_name(fabric, node),
                    node_name(fabric, peer),
                    int(fabric.port_plane[port]),
                    int(fabric.port_rate_bps[port]),
                    int(ports.frames[port]),
                    int(ports.ack_frames[port]),
                    int(ports.cf_updates[port]),
                    int(ports.data_bytes[port]),
                    int(ports.wire_bytes[port]),
                    int(ports.busy_ps[port]),
                    f"{shares[port]:.4f}",
                    int(ports.credit_wait_ps[port]),
                    int(ports.window_wait_ps[port]),
                    int(ports.peak_queue_bytes[port]),
                )
            )


def write_lost_time(path: Path, result: Result) -> None:
    """Write one row a stage; the times add up to the time of all executed data frames."""
    shares = stage_shares(result)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(LOST_TIME_COLUMNS)
        for stage in Stage:
            time_ps = int(result.stage_ps[stage])
            mean = time_ps / result.frames if result.frames else 0.0
            writer.writerow((stage.name.lower(), STAGE_LABELS[stage], time_ps, f"{100 * shares[stage]:.6f}", f"{mean:.3f}"))


def quoted(text: str) -> str:
    """Return a cell as CSV wants it (RFC 4180 quotes only where needed)."""
    cell = io.StringIO()
    csv.writer(cell, lineterminator="").writerow((text,))
    return cell.getvalue()
