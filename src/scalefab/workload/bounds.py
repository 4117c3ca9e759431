"""The least time that a graph can take on a fabric: the maximum over every cut. The only home of closed-form bounds.

================ ====================================================================================================
cut              what must pass it
================ ====================================================================================================
source ports     wire bytes that an endpoint sends, requests and answers, over its ports together
sink ports       wire bytes that an endpoint receives, over its ports together
planes           wire bytes of all endpoints, one way through all planes
leaf uplinks     wire bytes from the endpoints of a leaf to those of others, over its uplinks in all planes together
spine down-links wire bytes to the endpoints of a leaf from those of others, over all links from spines to it
target memory    bytes that concern an endpoint's memory, at its bandwidth
dependency chain idle time of operations along the graph, and port cuts between phases that a JOIN parts
================ ====================================================================================================

A frame of n bytes (OEFH .. FCS) takes n + 20 B of line (preamble, gap). Frames are counted as if packing were perfect; ACK
frames, CF_UPDATEs, queues, windows and credits cost nothing here, so no run beats its bound. Cuts begin when the first operation
that they concern can be ready (start times, chains, earlier phases). Everything is an integer, rounded up once a total.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..fabric.arrays import Fabric
from ..fabric.tiers import oversubscription_text, plane_shape
from ..protocol.profile import FCS_BYTES, HEADER_BYTES, ICRC_BYTES, TH_REQUEST_BYTES, Kind
from ..units import format_bandwidth, format_rate, format_size, format_time
from .graph import I8, OperationGraph

SOURCE_PORTS = "source ports"
SINK_PORTS = "sink ports"
PLANES = "planes"
LEAF_UPLINKS = "leaf uplinks"
SPINE_DOWN_LINKS = "spine down-links"
TARGET_MEMORY = "target memory"
DEPENDENCY_CHAIN = "dependency chain"


@dataclass(frozen=True, slots=True)
class Cut:
    """One lower bound: its name, its time in ps, and in words what it is made of."""

    name: str
    ps: int
    detail: str


@dataclass(frozen=True, slots=True)
class Bound:
    """The lower bound of a graph on a fabric.

    Attributes
    ----------
    ps
        No run can end earlier.
    cut
        Name of the cut that sets it.
    cuts
        All of them, the binding one first.
    """

    ps: int
    cut: str
    cuts: tuple[Cut, ...]


def bound(graph: OperationGraph, fabric: Fabric, *, pack: bool) -> Bound:
    """Return the lower bound of the time from 0 to the last operation's end.

    Parameters
    ----------
    graph
        Its endpoints must be the fabric's.
    fabric
        Rates, latencies and frame_max are read; errors and failures are not.
    pack
        Whether transactions share frames (`RunOptions.pack`).
    """
    # compiled code is imported where it is needed: reports read names and dataclasses of this module without a compiler
    from .chains import PORTS, UP_DEN, UP_NUM, earliest, idle_times, line_ps
    from .cuts import CUTS, LEAF_UP, MEMORY, SINK, SOURCE, SPINE_DOWN, endpoint_cuts
    from .flows import flow_bytes

    n, endpoints, spec = len(graph), fabric.endpoints, fabric.spec
    limit = spec.frame_max - HEADER_BYTES - ICRC_BYTES - FCS_BYTES
    packed = int(pack)
    table = endpoint_table(fabric)
    request, answer = np.zeros(n, np.int64), np.zeros(n, np.int64)
    out, into = np.zeros(endpoints, np.int64), np.zeros(endpoints, np.int64)
    leaf = fabric.endpoint_leaf
    leaf_out, leaf_into = np.zeros(int(leaf.max()) + 1, np.int64), np.zeros(int(leaf.max()) + 1, np.int64)
    columns = (graph.kind, graph.src, graph.dst, graph.bytes, graph.chunk, graph.posted)
    flow_bytes(*columns, endpoints, spec.mtu, limit, packed, request, answer, out, into, leaf, leaf_out, leaf_into)
    idle, ready = np.zeros(n, np.int64), np.zeros(n, np.int64)
    idle_times(*columns, graph.address, graph.stack, graph.compute_ps, spec.mtu, limit, packed, table, idle)
    dependencies = (graph.succ_ptr, graph.succ, graph.waits)
    chain_ps, row = earliest(graph.kind, graph.src, graph.dst, graph.start_ps, *dependencies, idle, request, answer, table, ready)

    order = np.argsort(-ready, kind="stable")
    best = np.zeros((CUTS, 4), np.int64)
    last_frame = _last_frame_bytes(graph, limit, packed)
    mebi_ps = endpoint_mebi_ps(fabric)
    sizes = (graph.bytes, ready, request, answer, out, into)
    endpoint_cuts(order, graph.kind, graph.src, graph.dst, *sizes, table, mebi_ps, leaf_out, leaf_into, last_frame, best)

    rate = format_rate(int(fabric.port_rate_bps[0]))
    wire, ports = int(out.sum()), int(table[:, PORTS].sum())
    moving = graph.moving
    begin = int(ready[moving].min()) if bool(moving.any()) else 0
    planes_ps = begin + int(line_ps(wire, int(table[0, UP_NUM]), int(table[0, UP_DEN]) * ports)) if wire else 0
    port_text = f"on the wire over {int(table[0, PORTS])} x {rate}"
    cuts = [
        _at_place(SOURCE_PORTS, best[SOURCE], "GPU", "sends", port_text),
        _at_place(SINK_PORTS, best[SINK], "GPU", "receives", port_text),
        Cut(
            PLANES,
            planes_ps,
            f"{format_size(wire)} on the wire, one way over {fabric.planes} planes of {ports // fabric.planes} x {rate}",
        ),
        _at_place(TARGET_MEMORY, best[MEMORY], "GPU", "holds", f"moved at {format_bandwidth(int(fabric.node_memory_Bps[0]))}"),
        Cut(DEPENDENCY_CHAIN, int(chain_ps), _row_text(int(row))),
    ]
    if fabric.two_tier:
        shape = plane_shape(spec)
        links = f"over {fabric.planes} x {shape.uplinks} links of {rate}; {oversubscription_text(shape)}"
        cuts.append(_at_place(LEAF_UPLINKS, best[LEAF_UP], "leaf", "sends", f"to other leaves {links}"))
        cuts.append(_at_place(SPINE_DOWN_LINKS, best[SPINE_DOWN], "leaf", "receives", f"from other leaves {links}"))
    cuts.sort(key=lambda cut: -cut.ps)
    return Bound(cuts[0].ps, cuts[0].name, tuple(cuts))


def _at_place(name: str, found: I8, what: str, verb: str, how: str) -> Cut:
    ps, number, since, size = (int(value) for value in found)
    if not ps:
        return Cut(name, 0, "nothing to move")
    late = f" from {format_time(since)} on" if since else ""
    return Cut(name, ps, f"{what} {number} {verb} {format_size(size)} {how}{late}")


def _row_text(row: int) -> str:
    return "one operation on an idle fabric" if row == 1 else f"{row} operations in a row on an idle fabric"


def endpoint_table(fabric: Fabric) -> I8:
    """Return what the compiled cuts read of each endpoint, shape (endpoints, ENDPOINT_COLUMNS); ports and leaves are alike."""
    from . import chains

    n = fabric.endpoints
    up = fabric.node_first_port[:n]
    down = fabric.port_peer[up]
    table = np.zeros((n, chains.ENDPOINT_COLUMNS), np.int64)
    table[:, chains.TX_PS] = fabric.node_tx_ps[:n]
    table[:, chains.RX_PS] = fabric.node_rx_ps[:n]
    table[:, chains.MEMORY_PS] = fabric.node_memory_ps[:n]
    table[:, chains.PORTS] = fabric.node_ports[:n]
    table[:, chains.STACK_PORTS] = np.bincount(fabric.path_stack).max() // fabric.uplinks
    table[:, chains.UP_NUM], table[:, chains.UP_DEN] = fabric.port_ps_num[up], fabric.port_ps_den[up]
    table[:, chains.DOWN_NUM], table[:, chains.DOWN_DEN] = fabric.port_ps_num[down], fabric.port_ps_den[down]
    table[:, chains.UP_DELAY_PS], table[:, chains.DOWN_DELAY_PS] = fabric.port_delay_ps[up], fabric.port_delay_ps[down]
    table[:, chains.SWITCH_PS] = fabric.node_latency_ps[fabric.port_node[down]]
    table[:, chains.LEAF] = fabric.endpoint_leaf
    if fabric.two_tier:
        leaf = int(fabric.port_node[down[0]])
        uplink = int(fabric.node_first_uplink[leaf])
        back = int(fabric.port_peer[uplink])
        table[:, chains.UPLINKS] = int(fabric.node_uplinks[leaf]) * fabric.planes
        table[:, chains.UPLINK_NUM], table[:, chains.UPLINK_DEN] = fabric.port_ps_num[uplink], fabric.port_ps_den[uplink]
        table[:, chains.BETWEEN_PS] = fabric.port_delay_ps[uplink] + fabric.port_delay_ps[back]
        table[:, chains.SPINE_PS] = fabric.node_latency_ps[fabric.port_node[back]]
    return table


def endpoint_mebi_ps(fabric: Fabric) -> I8:
    """Return the time of 1 MiB in each endpoint's memory in ps, rounded down; shape (endpoints,)."""
    rates = np.maximum(fabric.node_memory_Bps[: fabric.endpoints], 1)
    known: dict[int, int] = {int(rate): min((10**12 << 20) // int(rate), 1 << 40) for rate in np.unique(rates)}
    times: NDArray[np.int64] = np.array([known[int(rate)] for rate in rates], np.int64)
    return times


def _last_frame_bytes(graph: OperationGraph, limit: int, pack: int) -> int:
    """Return the most bytes of memory that one frame can concern: its own data, or what the LOADs in it ask for."""
    loads = graph.kind == Kind.LOAD
    if not bool(loads.any()):
        return limit
    chunk = int(graph.chunk[loads].max())
    return max(limit, (limit // TH_REQUEST_BYTES if pack else 1) * chunk)
