"""From a scenario to the kernel's arrays: ports, nodes, operations, pools, start times."""

from __future__ import annotations

from collections.abc import Sequence
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
from ..protocol.opcodes import AtomicOp
from ..protocol.operations import OPERAND_BYTES, WIRE_EXTRA_BYTES, Kind
from ..protocol.path_change import ASK
from ..protocol.reliability import SESSION
from ..protocol.rh_receiver import REPAIR
from ..protocol.vcmap import VCS_MAX
from ..scenario.scenario import RunOptions, Verify
from ..workload.graph import OperationGraph
from . import records as rec
from . import trace
from .calendar import calendar_bits
from .control import Control
from .linksetup import make_links
from .memory import segment_bases
from .ordersetup import order_arrays
from .rawflow import RAW_FLOW
from .records import POOL_MARGIN, SHARE_MARGIN, zeros
from .result import Stage
from .shares import Sessions, Shares, make_sessions, make_shares, unit_counts
from .valuesetup import value_arrays

LATENCY_BINS = 512
LOAD_BINS = 256
FRAME_POOL = 1 << 16
SMALL_POOL = 1 << 14
MUCH_LOSS = 0.02  # own: of a line; above it 8 expiries of RH without a word, or LLR's limit of replays, may come
_CHANGING = (FaultKind.LINK_DOWN, FaultKind.PORT_DRAIN, FaultKind.ACK_PAUSE, FaultKind.ACK_FREEZE)

I4 = NDArray[np.int32]
I8 = NDArray[np.int64]


class Kept(IntEnum):
    """Whether RH keeps copies and runs its timers."""

    WHERE_LOST = 0  #: only where frames can be lost; else a late ACK is noticed (`records.KERNEL.late`)
    ALWAYS = 1


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
    power = node.mem_den & (node.mem_den - 1) == 0
    node.mem_shift = np.where(power, np.round(np.log2(node.mem_den)).astype(np.int64), -1)
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
    op.cursor[graph.values.op[graph.values.operation == AtomicOp.COMPARE_SWAP]] = OPERAND_BYTES
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
    # what only divides the work is let go of as soon as it is in records: 60 of 685 MB with a million sequence spaces
    op, read, share_count = _operations(graph, units, parts, shares), _reads(graph, parts, shares), len(shares.op)
    del parts
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

    share = zeros(share_count + (2 * SHARE_MARGIN if changing or np.any(graph.kind == Kind.FENCE) else 0), rec.SHARE)
    given = share[:share_count]
    given.op, given.session = shares.op, sessions.of_share
    given.index, given.stride, given.left, given.answer = shares.index, shares.stride, shares.count, shares.answer
    share.next = -1
    del shares, given

    session = zeros(len(sessions.key), SESSION)
    session.src, session.dst, session.path, session.vc = sessions.src, sessions.dst, sessions.path, sessions.vc
    session.port = fabric.node_first_port[sessions.src] + sessions.path // fabric.uplinks
    session.peer_port = fabric.node_first_port[sessions.dst] + sessions.path // fabric.uplinks
    session.window = options.window_frames
    flow = zeros(len(sessions.key), rec.FLOW)
    for name in ("ring_next", "share_head", "share_tail", "reply_head", "reply_tail", "control_next"):
        flow[name] = -1
    flow.answer = sessions.answer
    ordering, fences, counted = order_arrays(graph, op, sessions, fabric.endpoints, changing)
    changed = _path_arrays(fabric, sessions, changing, switch_ports)
    twin = sessions.twin
    del sessions

    vcs = made.switches["vcs"]

    session.srtt_ps = rh_sender.first_srtt_ps(fabric.endpoints, spec.frame_max, spec.endpoints.port_rate_bps)
    lossy = any(made.switches[name] for name in ("lossy", "careful", "mixed")) or kept is Kept.ALWAYS or changing
    spaces = max(1, len(session)) if lossy else 1
    retry = zeros(spaces, rh_sender.RETRY)
    keep = zeros(spaces, rec.KEEP)
    keep.head = keep.tail = keep.again = -1

    begin = graph.start_ps + np.where(graph.networked, fabric.node_tx_ps[op.src], 0)
    roots = np.flatnonzero(graph.waits == 0)
    release = roots[np.argsort(begin[roots], kind="stable")].astype(np.int32)

    dormant = int(np.count_nonzero((graph.waits > 0) & graph.networked) + np.count_nonzero(graph.kind == Kind.GET))
    dormant += rec.FENCE_EVENTS * fences
    events = dormant + len(session) + 8 * fabric.ports + 2 * FRAME_POOL + 4 * SMALL_POOL

    responses = zeros(endpoint_ports, rec.RESPONSES)
    responses.limit_bytes = spec.endpoints.response_queue

    kernel = zeros(1, rec.KERNEL)
    k = kernel[0]
    k.width_bits, bucket_bits = calendar_bits(fabric.ports)
    k.bucket_mask = (1 << bucket_bits) - 1
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
    k.disturbed = int(k.lossy or k.careful)
    k.eventful = int(len(table) > 0 or k.disturbed or changing)
    k.sen = int(spec.link.sen is not Sen.OFF)
    k.load, k.queues = int(slower or queues), int(queues)
    made.arrays["link"].full_num, made.arrays["link"].full_den = fabric.port_ps_num, fabric.port_ps_den
    k.paths, k.path_count, k.share_top = int(changing), fabric.paths, share_count
    frame_ps = 2 * spec.frame_max * int(fabric.port_ps_num.max()) // int(fabric.port_ps_den.min())
    k.ack_delay_ps = options.ack_delay_ps
    # no bin shorter than two frames: a frame counts where it begins, and a link would seem busy for 250 % of a bin
    k.bin_bits = max(frame_ps.bit_length(), (horizon_ps // (LOAD_BINS // 2)).bit_length() - 1)
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
    followed = value_arrays(graph, units if verified else units[:0], spec.mtu)
    k.values = int(verified and len(graph.values) + len(graph.signals) > 0)
    k.ordered, k.tags = int(fences > 0), int(counted)

    return rec.State(
        kernel=kernel,
        event=zeros(events, rec.EVENT),
        bucket_head=np.zeros(1 << bucket_bits, np.int32),
        bucket_tail=np.zeros(1 << bucket_bits, np.int32),
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
        **changed,
        **_load_arrays(fabric, slower or queues, queues, switch_ports, vcs),
        ctl=zeros(spaces * len(Control) if lossy else 1, rec.CTL),
        flow=flow,
        twin=twin,
        owed=np.zeros(max(1, len(session)), np.int8),
        share=share,
        op=op,
        start_ps=graph.start_ps,
        compute_ps=graph.compute_ps,
        address=graph.address,
        read=read,
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
        **ordering,
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
    if (k.paths or k.ordered) and len(state.share) - int(k.share_top) < 2 * SHARE_MARGIN:
        more = zeros(len(state.share) + 4 * SHARE_MARGIN, state.share.dtype)
        more[: len(state.share)] = state.share
        changes["share"] = more
    return state._replace(**changes)
