"""From a scenario to the kernel's arrays: shares and sessions of the operation graph, credits, pools, start times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, Problem
from ..fabric.arrays import Fabric
from ..fabric.faultspec import Fault, FaultKind
from ..fabric.linkspec import LinkSpec, Sen, VcMap
from ..fabric.spec import NodeKind
from ..protocol import rh_sender
from ..protocol.faults import DRAW_BITS
from ..protocol.multipath import Spray
from ..protocol.operations import MESSAGE_MAX_PACKETS, VC_RESPONSE, WIRE_EXTRA_BYTES, Kind
from ..protocol.path_change import ASK
from ..protocol.reliability import SESSION
from ..protocol.rh_receiver import REPAIR
from ..protocol.tiers import sprayed_place
from ..protocol.vcmap import VCS_MAX
from ..scenario.scenario import RunOptions, Verify
from ..workload.graph import OperationGraph
from . import records as rec
from . import trace
from .calendar import BUCKETS
from .control import Control
from .linksetup import make_links
from .memory import segment_bases
from .rawflow import RAW_FLOW
from .records import POOL_MARGIN, SHARE_MARGIN, zeros
from .result import Stage
from .valuesetup import value_arrays

PAGE_BITS = 12
SPACES_MAX = 10_000_000
LATENCY_BINS = 512
LOAD_BINS = 256
FRAME_POOL = 1 << 16
SMALL_POOL = 1 << 14
MUCH_LOSS = 0.02  # own: of a line; above it 8 expiries of RH without a word, or LLR's limit of replays, may come
_CHANGING = (FaultKind.LINK_DOWN, FaultKind.PORT_DRAIN, FaultKind.ACK_PAUSE, FaultKind.ACK_FREEZE)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MAX_PS = 1 << 62

I4 = NDArray[np.int32]
I8 = NDArray[np.int64]


def page_hashes(addresses: I8, dst: I8) -> I8:
    """Vectorised `protocol.multipath.page_hash` (same integers)."""
    x = (addresses.astype(np.uint64) >> np.uint64(PAGE_BITS)) ^ (dst.astype(np.uint64) << np.uint64(45))
    with np.errstate(over="ignore"):
        return ((x * _GOLDEN) >> np.uint64(48)).astype(np.int64)


class Kept(IntEnum):
    """Whether RH keeps copies and runs its timers."""

    WHERE_LOST = 0  #: only where frames can be lost; else a late ACK is noticed (`records.KERNEL.late`)
    ALWAYS = 1


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Shares of all operations, grouped by operation: arrays of one length, and CSR pointers of requests and of GET data."""

    op: I4
    path: I4
    index: I4
    stride: I4
    count: I4
    answer: I4
    request_ptr: I4
    data_ptr: I4


def unit_counts(graph: OperationGraph, mtu: int) -> tuple[I8, I8]:
    """Return the packets or transactions that carry each operation, and its messages; JOIN and COMPUTE have none."""
    size, chunk = graph.bytes.astype(np.int64), graph.chunk.astype(np.int64)
    bulk = np.isin(graph.kind, (Kind.PUT, Kind.GET, Kind.SEND))
    network = ~np.isin(graph.kind, (Kind.JOIN, Kind.COMPUTE))
    message = np.where(
        (chunk <= 0) | (chunk >= size), np.minimum(np.maximum(size, 1), MESSAGE_MAX_PACKETS * mtu), np.maximum(chunk, 1)
    )
    whole = size // message
    rest = size - whole * message
    per = -(-message // mtu)
    packets = whole * per + -(-rest // mtu)
    messages = whole + (rest > 0)
    lsu_chunk = np.maximum(chunk, 1)
    transactions = -(-size // lsu_chunk)
    units = np.where(bulk, packets, transactions)
    parts = np.where(bulk, messages, transactions)
    return np.where(network, units, 0), np.where(network, parts, 0)


def _path_sets(graph: OperationGraph, fabric: Fabric) -> tuple[I8, I8]:
    """Return first path index and number of paths that each operation may use: all, or those of its stack."""
    n = len(graph)
    first, count = np.zeros(n, np.int64), np.full(n, fabric.paths, np.int64)
    bound = np.flatnonzero(graph.stack >= 0)
    if len(bound):
        stacks = graph.stack[bound].astype(np.int64)
        first[bound] = np.searchsorted(fabric.path_stack, stacks, "left")
        count[bound] = np.searchsorted(fabric.path_stack, stacks, "right") - first[bound]
    return first, count


def _expand(counts: I8) -> tuple[I8, I8]:
    """Return (owner, index in owner) for ``counts[i]`` items of each owner i."""
    owner = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    start = np.cumsum(counts) - counts
    return owner, np.arange(len(owner), dtype=np.int64) - np.repeat(start, counts)


def _lsu_shares(graph: OperationGraph, ids: I8, units: I8, first: I8, paths: I8) -> tuple[I8, I8, I8, I8]:
    """VC 0: transactions go by the page of their address; one share a page (a page = one path), in order of address."""
    size, chunk, address = graph.bytes[ids], np.maximum(graph.chunk[ids].astype(np.int64), 1), graph.address[ids]
    single = (paths[ids] == 1) | (graph.kind[ids] == Kind.GET)
    chunk = np.where(graph.kind[ids] == Kind.GET, np.maximum(size, 1), chunk)
    pages = np.where(single, 1, ((address + size - 1) >> PAGE_BITS) - (address >> PAGE_BITS) + 1)
    owner, page = _expand(pages)
    page_start = np.where(page == 0, address[owner], ((address[owner] >> PAGE_BITS) + page) << PAGE_BITS)
    # A transaction belongs to the page that its first byte lies in (sizes are powers of two and aligned: none straddles).
    begin = -(-(page_start - address[owner]) // chunk[owner])
    following = np.append(begin[1:], 0)
    last = np.append(owner[1:] != owner[:-1], True) if len(owner) else np.zeros(0, bool)
    count = np.where(last, units[ids][owner], following) - begin
    h = page_hashes(page_start, graph.dst[ids][owner].astype(np.int64))
    path = first[ids][owner] + ((h * paths[ids][owner]) >> 16)
    keep = count > 0
    return ids[owner[keep]], path[keep], begin[keep], count[keep]


def _pair_offsets(graph: OperationGraph, ids: I8, packets: I8) -> I8:
    """Return the packets that earlier operations of the same (src, dst) send: where an operation's round robin goes on."""
    pair = graph.src[ids].astype(np.int64) * (1 << 16) + graph.dst[ids]
    order = np.argsort(pair, kind="stable")
    before = np.cumsum(packets[order]) - packets[order]
    new = np.append(True, np.diff(pair[order]) != 0) if len(order) else np.zeros(0, bool)
    start = np.maximum.accumulate(np.where(new, before, 0)) if len(order) else before
    offsets = np.zeros(len(ids), np.int64)
    offsets[order] = before - start
    return offsets


def _message_shares(graph: OperationGraph, ids: I8, base: I8, n: I8, mtu: int) -> tuple[I8, I8, I8, I8, I8]:
    """Spray.HASH: each message on the path of its own address."""
    size = graph.bytes[ids].astype(np.int64)
    chunk = graph.chunk[ids].astype(np.int64)
    message = np.where((chunk <= 0) | (chunk >= size), size, np.maximum(chunk, 1))
    owner, m = _expand(-(-size // np.maximum(message, 1)))
    first_byte = m * message[owner]
    length = np.minimum(message[owner], size[owner] - first_byte)
    h = page_hashes(graph.address[ids][owner] + first_byte, graph.dst[ids][owner].astype(np.int64))
    path = base[owner] + ((h * n[owner]) >> 16)
    return ids[owner], path, m * -(-message[owner] // mtu), np.ones_like(owner), -(-length // mtu)


def _bulk_shares(
    graph: OperationGraph, ids: I8, units: I8, first: I8, paths: I8, spray: Spray, mtu: int, uplinks: int
) -> tuple[I8, I8, I8, I8, I8]:
    """VC 2: packets go by the policy; returns op, path, index, stride, count."""
    n, base, total = paths[ids], first[ids], units[ids]
    if spray is Spray.HASH:
        return _message_shares(graph, ids, base, n, mtu)
    if spray is Spray.SINGLE or bool((n == 1).all()):
        return ids, base, np.zeros_like(ids), np.ones_like(ids), total
    # each pair starts at a path of its own: short messages of all pairs would else share the first paths
    start = page_hashes(graph.src[ids].astype(np.int64) << PAGE_BITS, graph.dst[ids].astype(np.int64)) * n >> 16
    offset = (_pair_offsets(graph, ids, total) + start) % n
    if spray is Spray.LEAST_QUEUED:
        owner, j = _expand(n)
        stride = np.where(n[owner] > 1, 0, 1)
        return ids[owner], base[owner] + (offset[owner] + j) % n[owner], np.zeros_like(owner), stride, total[owner]
    owner, j = _expand(np.minimum(n, total))
    turn = np.remainder(j + offset[owner], n[owner], dtype=np.int64)
    path = base[owner] + sprayed_place(turn, n[owner] // uplinks, uplinks)
    rounds = total[owner] // n[owner]
    count: I8 = rounds + ((j - rounds) % n[owner] < total[owner] - rounds * n[owner])
    return ids[owner], path, j, n[owner], count


def make_shares(graph: OperationGraph, fabric: Fabric, units: I8, parts: I8, spray: Spray, mtu: int) -> Shares:
    """Divide every operation over the sessions that carry it."""
    first, paths = _path_sets(graph, fabric)
    n = len(graph)
    vc0 = np.flatnonzero(np.isin(graph.kind, (Kind.LOAD, Kind.STORE, Kind.REDUCE, Kind.ATOMIC, Kind.GET)))
    vc2 = np.flatnonzero(np.isin(graph.kind, (Kind.PUT, Kind.SEND)))
    gets = np.flatnonzero(graph.kind == Kind.GET)
    request_units = np.where(graph.kind == Kind.GET, parts, units)
    a_op, a_path, a_index, a_count = _lsu_shares(graph, vc0, request_units, first, paths)
    b_op, b_path, b_index, b_stride, b_count = _bulk_shares(graph, vc2, units, first, paths, spray, mtu, fabric.uplinks)
    c_op, c_path, c_index, c_stride, c_count = _bulk_shares(graph, gets, units, first, paths, spray, mtu, fabric.uplinks)
    op = np.concatenate([a_op, b_op, c_op])
    answer = np.concatenate([np.zeros(len(a_op) + len(b_op), np.int64), np.ones(len(c_op), np.int64)])
    order = np.lexsort((np.arange(len(op)), answer, op)) if len(a_op) or len(c_op) else np.arange(len(op))

    def joined(a: I8, b: I8, c: I8) -> I4:
        return np.concatenate([a, b, c])[order].astype(np.int32)

    op, answer = op[order], answer[order]
    per_op = np.bincount(op, minlength=n)
    data = np.bincount(op[answer == 1], minlength=n)
    end = np.cumsum(per_op)
    return Shares(
        op=op.astype(np.int32),
        path=joined(a_path, b_path, c_path),
        index=joined(a_index, b_index, c_index),
        stride=joined(np.ones_like(a_op), b_stride, c_stride),
        count=joined(a_count, b_count, c_count),
        answer=answer.astype(np.int32),
        request_ptr=np.stack([end - per_op, per_op - data]).astype(np.int32),
        data_ptr=np.stack([end - data, data]).astype(np.int32),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Sessions:
    """Used sequence spaces, sorted by (src, dst, path, vc); ``of_share`` maps shares to them."""

    key: I8
    src: I4
    dst: I4
    path: I4
    vc: I4
    of_share: I4
    answer: I4
    twin: I4


def make_sessions(graph: OperationGraph, fabric: Fabric, shares: Shares, changing: bool) -> Sessions:
    """Find the used (src, dst, path, VC): those of the shares, and VC 1 back where answers travel.

    ``changing``: links go down, so each used pair has a space for every path and VC, both ways.
    """
    n, paths = fabric.endpoints, fabric.paths
    src, dst = graph.src[shares.op].astype(np.int64), graph.dst[shares.op].astype(np.int64)
    back = shares.answer == 1
    src, dst = np.where(back, dst, src), np.where(back, src, dst)
    bulk = np.isin(graph.kind[shares.op], (Kind.PUT, Kind.SEND)) | back
    vc = np.where(bulk, 2, 0)

    def keys(a: I8, b: I8, path: I8, v: I8 | int) -> I8:
        return ((a * n + b) * paths + path) * 4 + v

    path = shares.path.astype(np.int64)
    key = keys(src, dst, path, vc)
    answered = (graph.posted[shares.op] == 0) & ~back & (graph.kind[shares.op] != Kind.GET)
    answer_key = keys(dst[answered], src[answered], path[answered], VC_RESPONSE)
    unique = np.unique(np.concatenate([key, answer_key])) if len(answer_key) else np.unique(key)
    if changing:
        pairs = np.unique(unique >> 2) // paths
        pairs = np.unique(np.concatenate([pairs, pairs % n * n + pairs // n]))
        if len(pairs) * paths * 3 > SPACES_MAX:
            text = f"{len(pairs)} pairs x {paths} paths x 3 VCs = {len(pairs) * paths * 3} sequence spaces while links go down"
            raise InputError([Problem(text, f"at most {SPACES_MAX}; fewer ranks, or fewer uplink paths", key="faults")])
        unique = (((pairs[:, None] * paths + np.arange(paths))[:, :, None] << 2) + np.arange(3)).reshape(-1)
    s_vc = unique & 3
    s_path = (unique >> 2) % paths
    pair = (unique >> 2) // paths
    s_src, s_dst = pair // n, pair % n

    def find(wanted: I8) -> I4:
        if len(unique) == 0:
            return np.full(len(wanted), -1, np.int32)
        at = np.minimum(np.searchsorted(unique, wanted), len(unique) - 1)
        return np.where(unique[at] == wanted, at, -1).astype(np.int32)

    reverse = keys(s_dst, s_src, s_path, 0)
    twin = np.full((len(unique), 3), -1, np.int32)
    for v in np.unique(s_vc):
        twin[:, v] = find(reverse + v)
    answer = np.where(s_vc == VC_RESPONSE, -1, find(reverse + VC_RESPONSE)).astype(np.int32)
    s_src, s_dst, s_path, s_vc = (column.astype(np.int32) for column in (s_src, s_dst, s_path, s_vc))
    return Sessions(unique, s_src, s_dst, s_path, s_vc, find(key), answer, twin)


def _nodes(fabric: Fabric) -> Any:
    node = zeros(fabric.nodes, rec.NODE)
    node.first_port = fabric.node_first_port
    node.is_switch = fabric.node_kind == NodeKind.SWITCH
    node.tier, node.first_uplink, node.uplinks = fabric.node_tier, fabric.node_first_uplink, fabric.node_uplinks
    node.down_links = fabric.node_down_links
    attached = fabric.port_node[fabric.port_peer[: fabric.endpoints * fabric.endpoint_ports]]
    node.leaf[attached] = np.repeat(fabric.endpoint_leaf, fabric.endpoint_ports)
    node.latency_ps = fabric.node_latency_ps
    node.tx_ps, node.rx_ps = fabric.node_tx_ps, fabric.node_rx_ps
    node.memory_ps = fabric.node_memory_ps
    # ps a byte = 1e12 / bandwidth, as a reduced fraction so that products stay far below 2^63
    bandwidth = np.maximum(fabric.node_memory_Bps, 1)
    common = np.gcd(bandwidth, 10**12)
    node.mem_num, node.mem_den = 10**12 // common, bandwidth // common
    unlimited = bandwidth >= fabric.spec.frame_max * 10**12  # a whole frame in a picosecond
    node.mem_num[unlimited], node.mem_den[unlimited] = 0, 1
    return node


def make_ports(fabric: Fabric) -> Any:
    """Return the PORT records of a fabric, without what `make_links` sets."""
    port = zeros(fabric.ports, rec.PORT)
    port.node, port.peer = fabric.port_node, fabric.port_peer
    port.num, port.den = fabric.port_ps_num, fabric.port_ps_den
    port.delay_ps = fabric.port_delay_ps
    for name in (
        "sched_ps",
        "cf_due_ps",
        "transit_head",
        "transit_tail",
        "held_port",
        "holder_head",
        "control_head",
        "control_tail",
        "ctl_head",
        "ctl_tail",
        "nack_due_ps",
        "reack_due_ps",
        "nack_arrives_ps",
    ):
        port[name] = -1
    port.pending_head = port.pending_tail = -1
    port.cf_last_ps = port.ack_last_ps = -(1 << 40)
    port.untold_ps = rec.NEVER_PS
    port.copy_mask = rec.COPIES_FIRST - 1
    return port


def _operations(graph: OperationGraph, units: I8, parts: I8, shares: Shares) -> Any:
    op = zeros(len(graph), rec.OPERATION)
    for name in ("kind", "posted", "src", "dst", "chunk", "waits", "bytes"):
        op[name] = getattr(graph, name)
    op.packets, op.answers = units, parts
    op.share_first, op.share_count = shares.request_ptr
    op.ready_ps = 0
    op.first_ps = op.executed_ps = op.done_ps = -1
    return op


def _reads(graph: OperationGraph, parts: I8, shares: Shares) -> Any:
    """Return what only GETs have; one row where there are none."""
    if not np.any(graph.kind == Kind.GET):
        return zeros(1, rec.READ)
    read = zeros(len(graph), rec.READ)
    read.requests = parts
    read.data_first, read.data_count = shares.data_ptr
    return read


def _path_arrays(fabric: Fabric, sessions: Sessions, changing: bool, switch_ports: int) -> dict[str, Any]:
    """Path states, and the block of sessions of each pair; single entries where no path changes."""
    n = fabric.endpoints if changing else 1
    first = np.full(n * n, -1, np.int64)
    if changing:
        block = fabric.paths * 3
        first[sessions.src[::block] * n + sessions.dst[::block]] = np.arange(0, len(sessions.key), block)
    return {
        "ask": zeros(max(1, len(sessions.key)) if changing else 1, ASK),
        "path_state": np.zeros(n * n * fabric.paths, np.int64),
        "path_id": np.array([fabric.path_id(path) for path in range(fabric.paths)], np.int64),
        "pair_first": first,
        "pair_nonce": np.zeros(n * n, np.int64),
        "pair_since": np.full(n * n, -1, np.int64),
        "heard": np.zeros((n, switch_ports if changing else 1), np.int64),
    }


def _load_arrays(fabric: Fabric, told: bool, queues: bool, switch_ports: int, vcs: int) -> dict[str, Any]:
    """What endpoints know of the load of switch ports, and the queues there; single entries where nobody tells."""
    n, ports = (fabric.endpoints, switch_ports) if told else (1, 1)
    return {
        "reduced": np.zeros((n * n * fabric.paths if told else 1, 3), np.int16),
        "heard_load": np.zeros((n, ports), np.int64),
        "force": np.zeros((n, ports), np.int16),
        "told_ps_at": np.zeros((n, 2 * ports), np.int64),
        "queued_bytes": np.zeros((switch_ports, vcs) if queues else (1, 1), np.int64),
    }


def _loses_much(threshold: Any, table: Sequence[Fault], frame_max: int) -> bool:
    """Whether some line loses so many frames that LLR or RH may give it up."""
    rates = [row.arg for row in table if row.kind is FaultKind.LOSS_RATE]
    wire = min(frame_max + WIRE_EXTRA_BYTES, threshold.shape[1] - 1)
    return max([*rates, int(threshold[:, wire].max())]) > MUCH_LOSS * 2**DRAW_BITS


def make_state(
    graph: OperationGraph,
    fabric: Fabric,
    options: RunOptions,
    horizon_ps: int,
    table: Sequence[Fault] = (),
    links: Sequence[LinkSpec] | None = None,
    kept: Kept = Kept.WHERE_LOST,
) -> rec.State:
    """Build the kernel's arrays for one run.

    Parameters
    ----------
    graph, fabric, options
        What to run, on what, how.
    horizon_ps
        Expected length of the run, for the width of the link-load bins (they widen by themselves when it is short).
    table
        Faults in order of time.
    links
        What each port is told; None = the same for all, `FabricSpec.link`.
    kept
        Whether RH keeps copies of frames.
    """
    spec = fabric.spec
    links = links if links is not None else (spec.link,) * fabric.ports
    units, parts = unit_counts(graph, spec.mtu)
    if len(units) and int(units.max()) >= 1 << 31:
        i = int(units.argmax())
        text = f"operation {i} of {int(graph.bytes[i])} bytes takes {int(units[i])} packets"
        raise InputError([Problem(text, "fewer than 2^31 packets an operation", key="workload")])
    shares = make_shares(graph, fabric, units, parts, options.spray, spec.mtu)
    port = make_ports(fabric)
    made = make_links(fabric, port, links, table, options.seed, spec.frame_max)
    routed = len(units) > 0  # the raw frames of a bench know no paths
    changing = routed and (
        any(row.kind in _CHANGING for row in table) or _loses_much(made.arrays["loss_threshold"], table, spec.frame_max)
    )
    told = routed and fabric.paths > 1 and spec.link.sen is not Sen.OFF  # with one path there is nothing to avoid
    slower = told and any(row.kind is FaultKind.RATE for row in table)
    queues = told and spec.link.sen is Sen.LOAD
    changing = bool(changing or slower or queues)
    sessions = make_sessions(graph, fabric, shares, changing)
    endpoint_ports = int(fabric.node_ports[: fabric.endpoints].sum())
    switch_ports = fabric.ports - endpoint_ports
    inputs = int(fabric.node_ports[fabric.endpoints :].max()) if fabric.nodes > fabric.endpoints else 1
    words = (inputs + 31) // 32

    share = zeros(len(shares.op) + (2 * SHARE_MARGIN if changing else 0), rec.SHARE)
    given = share[: len(shares.op)]
    given.op, given.session = shares.op, sessions.of_share
    given.index, given.stride, given.left, given.answer = shares.index, shares.stride, shares.count, shares.answer
    share.next = -1

    session = zeros(len(sessions.key), SESSION)
    session.src, session.dst, session.path, session.vc = sessions.src, sessions.dst, sessions.path, sessions.vc
    session.port = fabric.node_first_port[sessions.src] + sessions.path // fabric.uplinks
    session.peer_port = fabric.node_first_port[sessions.dst] + sessions.path // fabric.uplinks
    session.window = options.window_frames
    flow = zeros(len(sessions.key), rec.FLOW)
    for name in ("ring_next", "share_head", "share_tail", "reply_head", "reply_tail", "control_next"):
        flow[name] = -1
    flow.answer = sessions.answer

    vcs = made.switches["vcs"]

    session.srtt_ps = rh_sender.first_srtt_ps(fabric.endpoints, spec.frame_max, spec.endpoints.port_rate_bps)
    lossy = any(made.switches[name] for name in ("lossy", "careful", "mixed")) or kept is Kept.ALWAYS or changing
    spaces = max(1, len(session)) if lossy else 1
    retry = zeros(spaces, rh_sender.RETRY)
    keep = zeros(spaces, rec.KEEP)
    keep.head = keep.tail = keep.again = -1

    op = _operations(graph, units, parts, shares)
    begin = graph.start_ps + np.where(op.share_count > 0, fabric.node_tx_ps[op.src], 0)
    roots = np.flatnonzero(graph.waits == 0)
    release = roots[np.argsort(begin[roots], kind="stable")].astype(np.int32)

    dormant = int(np.count_nonzero((graph.waits > 0) & (units > 0)) + np.count_nonzero(graph.kind == Kind.GET))
    events = dormant + len(sessions.key) + 8 * fabric.ports + 2 * FRAME_POOL + 4 * SMALL_POOL

    responses = zeros(endpoint_ports, rec.RESPONSES)
    responses.limit_bytes = spec.endpoints.response_queue

    kernel = zeros(1, rec.KERNEL)
    k = kernel[0]
    k.endpoints, k.first_switch_port, k.words = fabric.endpoints, endpoint_ports, words
    k.voq_rows = switch_ports
    k.uplinks = fabric.uplinks
    k.pack, k.frame_max, k.mtu = int(options.pack), spec.frame_max, spec.mtu
    k.body_limit = spec.frame_max - 32
    k.window, k.ack_every, k.service = options.window_frames, options.ack_every_frames, options.service_frames
    k.one_vc = int(spec.link.vc_map is VcMap.ONE)
    k.credit_bytes, k.overhead_bytes = spec.credit_bytes, spec.overhead_bytes
    k.quantum_bytes, k.bins = spec.frame_max + WIRE_EXTRA_BYTES, LOAD_BINS
    for name, value in made.switches.items():
        k[name] = value
    k.rh = int(lossy)
    k.sen = int(spec.link.sen is not Sen.OFF)
    k.load, k.queues = int(slower or queues), int(queues)
    made.arrays["link"].full_num, made.arrays["link"].full_den = fabric.port_ps_num, fabric.port_ps_den
    k.paths, k.path_count, k.share_top = int(changing), fabric.paths, len(shares.op)
    k.ack_delay_ps, k.bin_bits = options.ack_delay_ps, max(0, (horizon_ps // (LOAD_BINS // 2)).bit_length() - 1)
    k.ctl_free = k.event_free = k.frame_free = k.run_free = k.reply_free = -1
    k.events_left, k.frames_left, k.runs_left, k.replies_left = events, FRAME_POOL, SMALL_POOL, SMALL_POOL
    k.dormant = dormant
    k.ops = len(graph)
    expected = int(units.sum())
    k.sample_room = min(options.sample_frames, expected + len(graph))
    k.sample_of = max(1, -(-2 * expected // max(1, options.sample_frames)))  # requests, and at most as many answers
    k.sample_salt = options.seed * 0x9E3779B1 % (1 << 31)
    k.trace_room = options.capture_frames
    k.completion_ps = 0
    k.executed_bits = k.bin_bits
    verified = options.verify is Verify.MEMORY
    k.verify = int(verified)
    bases = segment_bases(units) if verified else np.zeros(1, np.int64)
    followed = value_arrays(graph, units) if verified else value_arrays(graph, units[:0])
    k.values = int(verified and len(graph.values) > 0)

    return rec.State(
        kernel=kernel,
        event=zeros(events, rec.EVENT),
        bucket_head=np.zeros(BUCKETS, np.int32),
        bucket_tail=np.zeros(BUCKETS, np.int32),
        port=port,
        mine=np.ones(fabric.ports, np.int8),
        node=_nodes(fabric),
        **made.arrays,
        deficit=np.zeros((fabric.ports, vcs), np.int64),
        voq=zeros((switch_ports * vcs, inputs), rec.VOQ),
        voq_bits=np.zeros((switch_ports * vcs, words), np.int64),
        voq_count=np.zeros(switch_ports * vcs, np.int32),
        voq_last=np.full(switch_ports * vcs, -1, np.int32),
        ring_head=np.zeros((endpoint_ports, 3), np.int32),
        ring_tail=np.zeros((endpoint_ports, 3), np.int32),
        burst=np.zeros((endpoint_ports, 3), np.int32),
        responses=responses,
        held_head=np.zeros((endpoint_ports, vcs), np.int32),
        held_tail=np.zeros((endpoint_ports, vcs), np.int32),
        held_needs=np.zeros((endpoint_ports, vcs), np.int64),
        wanted=np.zeros((endpoint_ports, vcs), np.int32),
        frame=zeros(FRAME_POOL, rec.FRAME),
        run=zeros(SMALL_POOL, rec.RUN),
        reply=zeros(SMALL_POOL, rec.REPLY),
        session=session,
        retry=retry,
        repair=zeros(spaces, REPAIR),
        keep=keep,
        **_path_arrays(fabric, sessions, changing, switch_ports),
        **_load_arrays(fabric, slower or queues, queues, switch_ports, vcs),
        ctl=zeros(spaces * len(Control) if lossy else 1, rec.CTL),
        flow=flow,
        twin=sessions.twin,
        owed=np.zeros(max(1, len(session)), np.int8),
        share=share,
        op=op,
        start_ps=graph.start_ps,
        compute_ps=graph.compute_ps,
        address=graph.address,
        read=_reads(graph, parts, shares),
        op_status=np.zeros(max(1, len(op)) if changing else 1, np.int8),
        succ_ptr=np.ascontiguousarray(graph.succ_ptr, np.int64),
        succ=np.ascontiguousarray(graph.succ, np.int32),
        release=release,
        todo=np.zeros(len(graph) + 1, np.int32),
        stage_ps=np.zeros(len(Stage), np.int64),
        latency=np.zeros(LATENCY_BINS, np.int64),
        load=np.zeros((fabric.ports, LOAD_BINS), np.int64),
        executed_bins=np.zeros(LOAD_BINS, np.int64),
        segment_bits=np.zeros(max(1, int(bases[-1])), np.uint8),
        segment_base=bases,
        **followed,
        sample=zeros(max(1, int(k.sample_room)), trace.SAMPLE),
        traced=zeros(max(1, options.capture_frames), trace.TRACED),
        traced_run=zeros(4 * options.capture_frames + 1024, trace.TRACED_RUN),
        hop=zeros(4 * options.capture_frames + 4, trace.HOP),
        update=zeros(4 * options.capture_frames + 4, trace.UPDATE),
        raw_flow=zeros(1, RAW_FLOW),
        raw_vc=np.zeros((1, VCS_MAX), np.int64),
    )


def grow(state: rec.State) -> rec.State:
    """Return the state with every pool that runs low enlarged; indices stay valid."""
    k = state.kernel[0]
    changes: dict[str, Any] = {}
    for field, left, minimum in (
        ("event", "events_left", int(k.dormant) + 8 * SMALL_POOL),
        ("frame", "frames_left", FRAME_POOL // 4),
        ("run", "runs_left", SMALL_POOL // 4),
        ("reply", "replies_left", SMALL_POOL // 4),
    ):
        minimum = max(minimum, 2 * POOL_MARGIN)
        if int(k[left]) >= minimum:
            continue
        old = getattr(state, field)
        extra = len(old) + minimum
        new = zeros(len(old) + extra, old.dtype)
        new[: len(old)] = old
        changes[field] = new
        k[left] = int(k[left]) + extra
    if k.paths and len(state.share) - int(k.share_top) < 2 * SHARE_MARGIN:
        more = zeros(len(state.share) + 4 * SHARE_MARGIN, state.share.dtype)
        more[: len(state.share)] = state.share
        changes["share"] = more
    return state._replace(**changes)
