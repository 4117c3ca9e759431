"""From a scenario to the arrays of the flow kernel.

Where every operation is spread over all paths alike (bulk packets by round robin or least queued, or a fabric with one path), an
operation is one piece over all ports of its ends at once: links are then all ports of a GPU together, all uplinks of a leaf, all
links down to it. Else operations are shared out over paths exactly as the packet simulator does, and links are single ports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...fabric.arrays import Fabric
from ...fabric.linkspec import FlowControl
from ...fabric.spec import FabricSpec
from ...protocol.multipath import Spray
from ...protocol.operations import FCS_BYTES, HEADER_BYTES, ICRC_BYTES, Kind
from ...protocol.tiers import leaf_uplink, spine_link
from ...scenario.scenario import RunOptions
from ...workload.bounds import endpoint_mebi_ps, endpoint_table
from ...workload.graph import OperationGraph
from ..records import zeros
from ..shares import MESSAGES, make_shares, unit_counts
from . import measure as m
from . import overhead
from . import records as rec

BUDGET = 60_000_000  # visits of links by lanes: about half a second
_PS_PER_S = 1e12

F8 = NDArray[np.float64]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The links of a run and the directed ports that each stands for.

    Attributes
    ----------
    capacity
        Bytes a ps, shape (links,).
    of_port
        Link of each directed port, -1 = none; shape (ports,).
    back
        Link of the other direction, its own number where there is none (memory); shape (links,).
    """

    capacity: F8
    of_port: I4
    back: I4


def spread_evenly(graph: OperationGraph, fabric: Fabric, options: RunOptions) -> bool:
    """Return whether every operation uses all paths of its ends alike."""
    if fabric.paths == 1:
        return True
    network = graph.moving
    bulk = np.isin(graph.kind[network], (*MESSAGES, Kind.GET))
    return options.spray in (Spray.ROUND_ROBIN, Spray.LEAST_QUEUED) and bool((bulk & (graph.stack[network] < 0)).all())


def whole_links(fabric: Fabric) -> Links:
    """Return links that stand for all ports of a GPU, all uplinks of a leaf, all links down to a leaf."""
    n = fabric.endpoints
    rate = fabric.port_rate_bps / 8 / _PS_PER_S
    peer = fabric.port_node[fabric.port_peer]
    of_port = np.full(fabric.ports, -1, np.int32)
    up, down = fabric.port_node < n, peer < n
    of_port[up] = fabric.port_node[up]
    of_port[down] = n + peer[down]
    links = 3 * n
    if fabric.two_tier:
        leaves = int(fabric.endpoint_leaf.max()) + 1
        leaf_of = np.full(fabric.nodes, -1, np.int32)
        leaf_of[peer[up]] = fabric.endpoint_leaf[fabric.port_node[up]]
        rising = (fabric.node_tier[fabric.port_node] == 0) & (fabric.node_tier[peer] == 1)
        falling = (fabric.node_tier[fabric.port_node] == 1) & (fabric.node_tier[peer] == 0)
        of_port[rising] = links + leaf_of[fabric.port_node[rising]]
        of_port[falling] = links + leaves + leaf_of[peer[falling]]
        links += 2 * leaves
    capacity = np.zeros(links)
    used = of_port >= 0
    np.add.at(capacity, of_port[used], rate[used])
    capacity[2 * n : 3 * n] = np.maximum(fabric.node_memory_Bps[:n], 1) / _PS_PER_S
    back = np.arange(links, dtype=np.int32)
    back[of_port[used]] = of_port[fabric.port_peer[used]]
    return Links(capacity, of_port, back)


def port_links(fabric: Fabric) -> Links:
    """Return one link a directed port, and behind them the memories."""
    rate = fabric.port_rate_bps / 8 / _PS_PER_S
    memory = np.maximum(fabric.node_memory_Bps[: fabric.endpoints], 1) / _PS_PER_S
    back = np.concatenate([fabric.port_peer, np.arange(fabric.ports, fabric.ports + fabric.endpoints)]).astype(np.int32)
    return Links(np.concatenate([rate, memory]), np.arange(fabric.ports, dtype=np.int32), back)


def route_links(fabric: Fabric, src: I8, dst: I8, path: I8) -> I4:
    """Return the ports of each way (`fabric.query.route`, vectorised), shape (lanes, 2 or 4); -1 = none."""
    first = fabric.node_first_port[src] + path // fabric.uplinks
    last = fabric.port_peer[fabric.node_first_port[dst] + path // fabric.uplinks]
    if not fabric.two_tier:
        return np.stack([first, last], axis=1).astype(np.int32)
    leaf = fabric.port_node[fabric.port_peer[first]]
    uplink = fabric.path_uplink[path].astype(np.int64)
    uplinks = fabric.node_uplinks[leaf].astype(np.int64)
    up = fabric.node_first_uplink[leaf] + leaf_uplink(dst, uplink, uplinks)
    spine = fabric.port_node[fabric.port_peer[up]]
    links = fabric.node_down_links[spine].astype(np.int64)
    down = fabric.node_first_port[spine] + fabric.endpoint_leaf[dst] * links + spine_link(dst, uplink, uplinks, links)
    far = fabric.endpoint_leaf[src] != fabric.endpoint_leaf[dst]
    return np.stack([first, np.where(far, up, -1), np.where(far, down, -1), last], axis=1).astype(np.int32)


def _path_lanes(graph: OperationGraph, fabric: Fabric, options: RunOptions, op: Any, side: bool) -> tuple[Any, I4]:
    """Return pieces and the links of their lanes where operations are shared out over paths."""
    mtu = fabric.spec.mtu
    units, parts = unit_counts(graph, mtu)
    shares = make_shares(graph, fabric, units, parts, options.spray, mtu)
    kind = graph.kind[shares.op]
    mine = np.flatnonzero((shares.answer == 1) | (kind != Kind.GET))
    which, path = shares.op[mine], shares.path[mine].astype(np.int64)
    back = np.isin(graph.kind[which], (Kind.LOAD, Kind.GET))
    src, dst = graph.src[which].astype(np.int64), graph.dst[which].astype(np.int64)
    src, dst = np.where(back, dst, src), np.where(back, src, dst)
    vc = m.MAIN_VC[graph.kind[which]]
    key = ((src * fabric.endpoints + dst) * fabric.paths + path) * 4 + vc
    _, first, lane = np.unique(key, return_index=True, return_inverse=True)
    per_op = np.bincount(which, minlength=len(graph))
    count = np.where(shares.stride[mine] == 0, -(-units[which] // per_op[which]), shares.count[mine])

    piece = zeros(len(which), rec.PIECE)
    piece.op, piece.lane, piece.next = which, lane, -1
    piece.wire_bytes = np.maximum(1, -(-op.wire_bytes[which] * count // np.maximum(units[which], 1)))
    op.pieces = op.left = per_op
    op.first_piece = np.cumsum(per_op) - per_op

    src, dst, path, vc = src[first], dst[first], path[first], vc[first]
    ways = [route_links(fabric, src, dst, path)]
    if side:
        ways.append(route_links(fabric, dst, src, path))
    memory = fabric.ports + np.where(vc == 1, src, dst)
    return piece, np.concatenate([*ways, memory[:, None].astype(np.int32)], axis=1)


def _whole_lanes(graph: OperationGraph, fabric: Fabric, op: Any, table: I8, side: bool) -> tuple[Any, I4]:
    n, network = fabric.endpoints, int(np.count_nonzero(op.alone == 0))
    main = 4 if fabric.two_tier else 2
    leaves = int(fabric.endpoint_leaf.max()) + 1
    piece = zeros(network, rec.PIECE)
    link = np.full((network, main * (2 if side else 1) + 1), -1, np.int32)
    up, down = (3 * n, 3 * n + leaves) if fabric.two_tier else (-1, -1)
    place = np.full(3 * n * n, -1, np.int32)
    columns = (graph.kind, graph.src, graph.dst)
    lanes = m.whole_lanes(*columns, m.MAIN_VC, table, up, down, int(side), op, piece, place, link)
    return piece, np.ascontiguousarray(link[:lanes])


def _control_settings(spec: FabricSpec, options: RunOptions, paths: int) -> tuple[int, int, int, int]:
    """Return ways, ack_every, ctlos_spacing and cf_spacing of `overhead.control_bytes`."""
    dealt = options.spray in (Spray.ROUND_ROBIN, Spray.LEAST_QUEUED)
    llr, credit = spec.link.llr, spec.link.flow_control is FlowControl.CBFC
    return (
        paths if dealt else 1,
        options.ack_every_frames,
        llr.ctlos_spacing_bytes if llr.on else 0,
        spec.cf_spacing_bytes if credit else 0,
    )


def _kept(links: Links, op: Any, piece: Any, lane_link: I4, main: int, side: bool) -> F8:
    """Return the share of its capacity that each link keeps for data (`overhead`)."""
    wire, control = np.zeros(len(links.capacity), np.int64), np.zeros(len(links.capacity), np.int64)
    overhead.add_up(op, piece, lane_link, main, np.zeros(int(side), np.int8), wire, control)
    pays = np.where(links.back == np.arange(len(wire)), 0, control[links.back])
    kept: F8 = np.where(wire > 0, wire / np.maximum(wire + pays, 1), 1.0)
    return kept


def load_kernels(graph: OperationGraph, fabric: Fabric) -> None:
    """Compile or load what `make_flow` calls, on no operation at all."""
    table, mebi = endpoint_table(fabric), endpoint_mebi_ps(fabric)
    op, piece = zeros(0, rec.OPERATION), zeros(0, rec.PIECE)
    columns = (graph.kind, graph.src, graph.dst, graph.bytes, graph.chunk, graph.posted, graph.address, graph.stack)
    none: Any = tuple(column[:0] for column in (*columns, graph.compute_ps))
    calls: tuple[Any, Any] = (m.measure, m.whole_lanes)
    calls[0](*none, 64, 64, 1, 1, 1, 1, 1, 1, table, mebi, op)
    nothing = np.zeros((0, 3), np.int32)
    calls[1](*none[:3], m.MAIN_VC, table, -1, -1, 0, op, piece, nothing[:, 0].copy(), nothing)
    m.count_members(nothing, 0, np.zeros(1, np.int64))
    total = np.zeros(1, np.int64)
    overhead.add_up(op, piece, nothing, 2, np.zeros(0, np.int8), total, total.copy())


def make_flow(
    graph: OperationGraph, fabric: Fabric, options: RunOptions, horizon_ps: int, budget: int
) -> tuple[rec.State, Links]:
    """Build the flow kernel's arrays for one run.

    Parameters
    ----------
    graph, fabric, options
        What to run, on what, how.
    horizon_ps
        Expected length of the run: its lower bound.
    budget
        Visits of links by lanes; see `flow.kernel`.
    """
    spec, n = fabric.spec, len(graph)
    whole = spread_evenly(graph, fabric, options)
    table, mebi = endpoint_table(fabric), endpoint_mebi_ps(fabric)
    op = zeros(n, rec.OPERATION)
    op.waits, op.start_ps = graph.waits, graph.start_ps
    op.first_ps = op.executed_ps = op.done_ps = -1
    limit = spec.frame_max - HEADER_BYTES - ICRC_BYTES - FCS_BYTES
    columns = (graph.kind, graph.src, graph.dst, graph.bytes, graph.chunk, graph.posted, graph.address, graph.stack)
    control = _control_settings(spec, options, fabric.paths)
    m.measure(*columns, graph.compute_ps, spec.mtu, limit, int(options.pack), int(whole), *control, table, mebi, op)
    side = bool(op.side_bytes.any())
    if whole:
        links = whole_links(fabric)
        piece, lane_link = _whole_lanes(graph, fabric, op, table, side)
    else:
        links = port_links(fabric)
        piece, lane_link = _path_lanes(graph, fabric, options, op, side)
    lanes, width = lane_link.shape

    lane = zeros(max(1, lanes), rec.LANE)
    lane.head = lane.tail = lane.place = lane.stamp = -1
    lane.finish_ps = rec.NEVER_PS
    link = zeros(len(links.capacity), rec.LINK)
    offsets = np.zeros(len(link) + 1, np.int64)
    m.count_members(lane_link, lanes, offsets)
    link.first = offsets[:-1]
    main = (width - 1) // (2 if side else 1)
    link.capacity = links.capacity * _kept(links, op, piece, lane_link, main, side)

    roots = np.flatnonzero(graph.waits == 0)
    begin = op.start_ps[roots] + op.lead_ps[roots]
    if len(begin) and bool((begin[1:] < begin[:-1]).any()):
        roots = roots[np.argsort(begin, kind="stable")]
    kernel = zeros(1, rec.KERNEL)
    k = kernel[0]
    k.horizon_ps, k.budget = max(1, horizon_ps), budget
    k.width = width
    k.main = main
    k.bin_ps = max(1, -(-horizon_ps // (rec.BINS // 2)))
    waiting = int(np.count_nonzero((op.waits > 0) & (op.alone == 0)))
    state = rec.State(
        kernel=kernel,
        op=op,
        piece=piece,
        lane=lane,
        link=link,
        lane_link=lane_link,
        member=np.zeros(int(offsets[-1]) + 1, np.int32),
        where=np.zeros(lane_link.shape, np.int32),
        active=np.zeros(max(1, lanes), np.int32),
        dirty=np.zeros(len(link), np.int32),
        component=np.zeros(len(link), np.int32),
        heap=zeros(waiting + 2, rec.START),
        release=roots.astype(np.int32),
        todo=np.zeros(n + 1, np.int32),
        succ_ptr=np.ascontiguousarray(graph.succ_ptr, np.int64),
        succ=np.ascontiguousarray(graph.succ, np.int32),
        load=np.zeros((len(link), rec.BINS)),
    )
    return state, links
