"""Results made by hand for the tests of verdict and report: arrays that fit together, no simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from scalefab.fabric.build import build_fabric
from scalefab.fabric.spec import CableSpec, EndpointSpec, FabricSpec, Fec, MemorySpec, SwitchSpec
from scalefab.protocol.profile import ACK_FRAME_BYTES, ORDERED_SET_BYTES, WIRE_EXTRA_BYTES, Kind
from scalefab.simulator.result import OperationTimes, PortTable, Result, Stage, Status
from scalefab.workload.graph import Group, OperationGraph

RATE_BPS = 800 * 10**9
MIB = 1 << 20


def make_fabric(gpus: int = 8, planes: int = 4, paths: int | None = None, frame_max: int = 2048) -> Any:
    """A single tier: every GPU has ``paths`` (default: planes) ports of 800 Gb/s."""
    paths = planes if paths is None else paths
    memory = MemorySpec(bandwidth_Bps=8 * 10**12, latency_ps=150_000, capacity_bytes=192 << 30)
    return build_fabric(
        FabricSpec(
            endpoints=EndpointSpec("gpu", gpus, paths, 1, RATE_BPS, 50_000, 50_000, 256 << 10, memory),
            switches=SwitchSpec("switch", planes, max(64, gpus * paths // planes), RATE_BPS, 250_000, 256 << 10),
            cables=CableSpec(3_000, "twinax", 13_800),
            fec=Fec.RS272,
            fec_depth=0,
            header_stack="ethlink",
            frame_max=frame_max,
            phy_tx_ps=50_000,
            phy_rx_ps=50_000,
        )
    )


def make_graph(
    src: np.ndarray,
    dst: np.ndarray,
    size: np.ndarray,
    groups: tuple[Group, ...],
    group: np.ndarray | None = None,
    kind: Kind = Kind.PUT,
    chain: bool = False,
) -> OperationGraph:
    """Operations of one kind; ``chain``: each waits for the one before."""
    n = len(src)
    zeros = np.zeros(n, np.int64)
    edges = np.arange(1, n, dtype=np.int32) if chain else np.empty(0, np.int32)
    succ_ptr = np.minimum(np.arange(n + 1), len(edges)).astype(np.int64)
    waits = np.zeros(n, np.int32)
    waits[edges] = 1
    return OperationGraph(
        kind=np.full(n, kind, np.int8),
        src=src.astype(np.int16),
        dst=dst.astype(np.int16),
        vc=np.full(n, 2, np.int8),
        order=zeros.astype(np.int8),
        stack=np.full(n, -1, np.int8),
        posted=np.ones(n, np.int8),
        chunk=zeros.astype(np.int32),
        bytes=size.astype(np.int64),
        address=zeros,
        start_ps=zeros,
        compute_ps=zeros,
        tag=zeros.astype(np.int32),
        group=np.zeros(n, np.int32) if group is None else group.astype(np.int32),
        succ_ptr=succ_ptr,
        succ=edges,
        waits=waits,
        groups=groups,
    )


def make_result(
    fabric: Any,
    graph: OperationGraph,
    *,
    completion_ps: int,
    bound_ps: int,
    bound_cut: str,
    stages: dict[Stage, int],
    status: Status = Status.DONE,
    plane_weights: np.ndarray | None = None,
    **changes: Any,
) -> Result:
    """A result whose port counters follow from the graph; ``stages`` are parts of the time of the frames."""
    paths, gpus, ports = fabric.paths, fabric.endpoints, fabric.ports
    weights = np.full(paths, 1 / paths) if plane_weights is None else plane_weights
    overhead = 68 / fabric.spec.mtu
    sent = np.bincount(graph.src, weights=graph.bytes, minlength=gpus)[:gpus]
    received = np.bincount(graph.dst, weights=graph.bytes, minlength=gpus)[:gpus]
    data, frames = np.zeros(ports, np.int64), np.zeros(ports, np.int64)
    for gpu in range(gpus):
        for path in range(paths):
            up = int(fabric.node_first_port[gpu]) + path
            data[up] = int(sent[gpu] * weights[path])
            data[fabric.port_peer[up]] = int(received[gpu] * weights[path])
    frames[:] = -(-data // fabric.spec.mtu)
    acks = frames // 16
    updates = data // 6400
    wire = data + (data * overhead).astype(np.int64) + acks * (ACK_FRAME_BYTES + WIRE_EXTRA_BYTES) + updates * ORDERED_SET_BYTES
    up = fabric.port_node < gpus
    n = len(graph)
    done = np.linspace(completion_ps * 0.4, completion_ps, n).astype(np.int64) if n else np.zeros(0, np.int64)
    first = np.full(n, 60_000, np.int64)
    times = OperationTimes(np.zeros(n, np.int64), first, executed_ps=done, done_ps=done, ending=np.zeros(n, np.int8))
    bins = 64
    shape = np.clip(np.sin(np.linspace(0.3, 2.9, bins)) * 1.6, 0, 1)
    load = (wire[:, None] * (shape / shape.sum())[None, :]).astype(np.int64)
    total_frames = int(frames[up].sum())
    stage_ps = np.zeros(len(Stage), np.int64)
    for stage, part in stages.items():
        stage_ps[stage] = part * total_frames * 10_000
    edges = np.unique(np.geomspace(500_000, max(completion_ps, 1_000_000), 65).astype(np.int64))
    counts = np.zeros(len(edges) - 1, np.int64)
    if total_frames:
        bell = np.exp(-(((np.arange(len(counts)) - len(counts) * 0.45) / 9) ** 2))
        counts[:] = (bell / bell.sum() * total_frames).astype(np.int64)
        counts[len(counts) // 2] += total_frames - int(counts.sum())
    zeros = np.zeros(ports, np.int64)
    result = Result(
        status=status,
        graph=graph,
        fabric=fabric,
        seed=1,
        completion_ps=completion_ps,
        now_ps=completion_ps,
        bound_ps=bound_ps,
        bound_cut=bound_cut,
        operations=times,
        ports=PortTable(frames, acks, updates, data, wire, wire * 10, *[zeros] * 7),
        frames=total_frames,
        frames_sent=total_frames,
        ack_frames=int(acks[up].sum()),
        cf_updates=int(updates.sum()),
        data_bytes=int(data[up].sum()),
        wire_bytes=int(wire[up].sum()),
        events=3 * total_frames,
        stage_ps=stage_ps,
        frame_ps=int(stage_ps.sum()),
        latency_edges_ps=edges,
        latency_counts=counts,
        link_load_bin_ps=-(-completion_ps // bins),
        link_load=load,
        operations_done=n,
        wall_s=0.5,
        compile_s=0.0,
        peak_MB=100.0,
    )
    return replace(result, **changes)


def all_to_all(gpus: int = 8, planes: int = 4, pair_bytes: int = MIB, **changes: Any) -> Result:
    """Everyone to everyone, near the bound of the source ports."""
    fabric = make_fabric(gpus, planes, frame_max=changes.pop("frame_max", 2048))
    src, dst = (a.ravel() for a in np.meshgrid(np.arange(gpus), np.arange(gpus), indexing="ij"))
    src, dst = src[src != dst], dst[src != dst]
    group = Group("exchange", "all_to_all", gpus * pair_bytes, gpus, gpus - 1, gpus)
    graph = make_graph(src, dst, np.full(len(src), pair_bytes), (group,))
    wire = (gpus - 1) * pair_bytes * (1 + 68 / fabric.spec.mtu) / planes
    bound = int(wire * 10) + 700_000
    stages = {Stage.SOURCE_QUEUE: 700, Stage.ARBITER: 150, Stage.SERIALISE: 50, Stage.CABLE: 50, Stage.LOOKUP: 50}
    defaults: dict[str, Any] = {
        "completion_ps": bound * 100 // 98,
        "bound_ps": bound,
        "bound_cut": "source ports",
        "stages": stages,
    }
    return make_result(fabric, graph, **(defaults | changes))


def moe_skewed(gpus: int = 8, planes: int = 4, **changes: Any) -> Result:
    """Dispatch and combine with a hot GPU: its sink ports bind."""
    fabric = make_fabric(gpus, planes)
    src, dst = (a.ravel() for a in np.meshgrid(np.arange(gpus), np.arange(gpus), indexing="ij"))
    src, dst = src[src != dst], dst[src != dst]
    hot = gpus // 2 - 1
    size = np.where(dst == hot, 4 * MIB, MIB) * (20 + dst * 37 % 11) // 20 * 8 // gpus
    both = np.concatenate
    groups = (
        Group("dispatch", "moe_dispatch", 11 * MIB, gpus, gpus - 1, gpus),
        Group("combine", "moe_combine", 11 * MIB, gpus, gpus - 1, gpus),
    )
    graph = make_graph(
        both([src, dst]), both([dst, src]), both([size, size // 4]), groups, both([np.zeros(len(src)), np.ones(len(src))])
    )
    stages = {Stage.SOURCE_QUEUE: 180, Stage.ARBITER: 610, Stage.SWITCH_CREDIT: 90, Stage.SERIALISE: 20, Stage.CABLE: 100}
    bound = int(np.bincount(dst, weights=size).max() * 1.25 * (1 + 68 / fabric.spec.mtu) / planes * 10)
    defaults: dict[str, Any] = {
        "completion_ps": bound * 100 // 95,
        "bound_ps": bound,
        "bound_cut": "sink ports",
        "stages": stages,
    }
    return make_result(fabric, graph, **(defaults | changes))


def ring(gpus: int = 8, steps: int = 14, **changes: Any) -> Result:
    """A ring whose steps wait for each other: the dependency chain binds."""
    fabric = make_fabric(gpus, 1)
    src = np.arange(gpus * steps) % gpus
    group = Group("all-reduce", "all_reduce", gpus * 64 * 1024, gpus, 2 * (gpus - 1), gpus)
    graph = make_graph(src, (src + 1) % gpus, np.full(len(src), 64 * 1024), (group,), chain=True)
    stages = {Stage.SOURCE_QUEUE: 100, Stage.SERIALISE: 200, Stage.CABLE: 300, Stage.LOOKUP: 250, Stage.ENDPOINT_TX: 150}
    defaults: dict[str, Any] = {
        "completion_ps": 21_000_000,
        "bound_ps": 20_000_000,
        "bound_cut": "dependency chain",
        "stages": stages,
    }
    return make_result(fabric, graph, **(defaults | changes))


def nothing_moved() -> Result:
    """A run that says done and delivered no byte."""
    fabric = make_fabric(4, 1)
    group = Group("idle", "point_to_point", 0, 2, 1, 1)
    graph = make_graph(np.array([0]), np.array([1]), np.array([0]), (group,))
    return make_result(fabric, graph, completion_ps=1_000_000, bound_ps=0, bound_cut="", stages={})


def partial() -> Result:
    """Stopped half way."""
    whole = all_to_all()
    done = whole.operations.done_ps.copy()
    half = len(done) // 2
    done[half:] = -1
    times = replace(whole.operations, done_ps=done, executed_ps=done)
    return replace(
        whole,
        status=Status.PARTIAL,
        operations=times,
        operations_done=half,
        data_bytes=whole.data_bytes // 2,
        completion_ps=int(done.max()),
        now_ps=whole.completion_ps // 2,
    )
