"""Figures derived from a result: groups, links, efficiency, latencies, stages. No words and no Numba here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ..fabric.arrays import Fabric
from ..fabric.names import node_name as node_name
from ..fabric.names import port_name as port_name
from ..protocol.profile import ACK_FRAME_BYTES, ORDERED_SET_BYTES, WIRE_EXTRA_BYTES, Kind
from ..workload.graph import Group
from .result import Result, Stage, Status

F8 = NDArray[np.float64]
I8 = NDArray[np.int64]

_PS_PER_S = 10**12


class LinkKind(IntEnum):
    """Where a directed port leads; loads are compared within a kind."""

    FROM_GPU = 0
    TO_GPU = 1
    UPLINK = 2  #: leaf to spine
    DOWN_LINK = 3  #: spine to leaf


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """One group of the workload.

    ``time_ps`` = last done - first ready of its operations (in an unfinished group: now - first ready). ``algbw_Bps`` =
    size_bytes / time and ``busbw_Bps`` = algbw x the group's factor (nccl-tests); both None while the group is unfinished
    or when it took no time. ``line_fraction`` = busbw / all ports of one GPU.
    """

    name: str
    collective: str
    ranks: int
    operations: int
    done: int
    size_bytes: int
    data_bytes: int
    start_ps: int
    time_ps: int
    algbw_Bps: float | None
    busbw_Bps: float | None
    line_fraction: float | None

    @property
    def complete(self) -> bool:
        """Whether all its operations are done."""
        return self.done == self.operations


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """One directed port. ``utilisation`` = wire time / run time, ``ratio`` = bytes / mean of the used ports of its kind."""

    port: int
    name: str
    wire_bytes: int
    utilisation: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Where the wire bytes that endpoints sent went, as fractions of 1."""

    data: float
    headers: float
    acks: float
    ordered_sets: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of one population, ps."""

    name: str
    count: int
    p50_ps: int
    p99_ps: int
    p999_ps: int
    max_ps: int


def horizon_ps(result: Result) -> int:
    """Return the time that rates are taken over: completion, or the time reached by an unfinished run."""
    return result.completion_ps if result.status is Status.DONE else result.now_ps


def line_rate_Bps(fabric: Fabric) -> int:
    """Return what all ports of one GPU can send, bytes/s."""
    endpoint = fabric.spec.endpoints
    return endpoint.ports * endpoint.port_rate_bps // 8


def group_metrics(result: Result) -> tuple[GroupMetrics, ...]:
    """Return one row a group, in the order of the workload."""
    graph, times = result.graph, result.operations
    line = line_rate_Bps(result.fabric)
    rows = []
    for index, group in enumerate(graph.groups):
        member = graph.group == index
        done = times.done_ps[member]
        ready = times.ready_ps[member]
        started = ready[ready >= 0]
        finished = int(np.count_nonzero(done >= 0))
        start = int(started.min()) if len(started) else 0
        complete = finished == len(done) and finished > 0
        end = int(done.max()) if complete else result.now_ps
        time_ps = end - start if len(started) else 0
        algbw = group.size_bytes * _PS_PER_S / time_ps if complete and time_ps > 0 else None
        busbw = None if algbw is None else algbw * group.bus_numerator / group.bus_denominator
        rows.append(
            GroupMetrics(
                name=group.name,
                collective=group.collective,
                ranks=group.ranks,
                operations=len(done),
                done=finished,
                size_bytes=group.size_bytes,
                data_bytes=int(graph.bytes[member].sum()),
                start_ps=start,
                time_ps=time_ps,
                algbw_Bps=algbw,
                busbw_Bps=busbw,
                line_fraction=None if busbw is None else busbw / line,
            )
        )
    return tuple(rows)


def overall_bandwidth_Bps(result: Result, groups: tuple[GroupMetrics, ...]) -> tuple[float, float]:
    """Return (algbw, busbw) of the run, bytes/s.

    A run of one finished group has that group's. Else busbw is what each rank moved a second, data bytes / ranks / time,
    which is what the nccl-tests factors turn algbw into; algbw is the same divided by the factor of the only group, or equal
    to it when there are several (no one factor holds).
    """
    if len(groups) == 1 and groups[0].algbw_Bps is not None and groups[0].busbw_Bps is not None:
        return groups[0].algbw_Bps, groups[0].busbw_Bps
    time_ps = horizon_ps(result)
    ranks = max((g.ranks for g in groups), default=0)
    if time_ps <= 0 or ranks <= 0:
        return 0.0, 0.0
    moved = result.data_bytes * _PS_PER_S / ranks / time_ps
    only: Group | None = result.graph.groups[0] if len(groups) == 1 else None
    if only is None or only.bus_numerator == 0:
        return moved, moved
    return moved * only.bus_denominator / only.bus_numerator, moved


def utilisation(result: Result) -> F8:
    """Return the share of the run that each directed port spent on wire bytes; shape (ports,)."""
    time_ps = horizon_ps(result)
    if time_ps <= 0:
        return np.zeros(result.fabric.ports)
    capacity = result.fabric.port_rate_bps.astype(np.float64) / 8 * (time_ps / _PS_PER_S)
    return result.ports.wire_bytes / capacity


def is_uplink(fabric: Fabric) -> NDArray[np.bool_]:
    """Return which directed ports leave an endpoint; shape (ports,)."""
    return np.asarray(fabric.port_node < fabric.endpoints)


def link_kinds(fabric: Fabric) -> NDArray[np.int8]:
    """Return the `LinkKind` of each directed port; shape (ports,)."""
    here, there = fabric.node_tier[fabric.port_node], fabric.node_tier[fabric.port_node[fabric.port_peer]]
    kinds = np.where(here < there, np.where(here < 0, LinkKind.FROM_GPU, LinkKind.UPLINK), LinkKind.DOWN_LINK)
    return np.where(there < 0, LinkKind.TO_GPU, kinds).astype(np.int8)


def mean_of_used(values: I8) -> float:
    """Return the mean of what is not 0: GPUs and links that take no part say nothing about balance. 0 when nothing is used."""
    used = values[values > 0]
    return float(used.mean()) if len(used) else 0.0


def link_load(result: Result, port: int) -> LinkLoad:
    """Return the load of one directed port."""
    kinds = link_kinds(result.fabric)
    peers = result.ports.wire_bytes[kinds == kinds[port]]
    mean = mean_of_used(peers)
    wire = int(result.ports.wire_bytes[port])
    return LinkLoad(
        port=port,
        name=port_name(result.fabric, port),
        wire_bytes=wire,
        utilisation=float(utilisation(result)[port]),
        ratio=wire / mean if mean > 0 else 0.0,
    )


def hot_links(result: Result, count: int) -> tuple[LinkLoad, ...]:
    """Return the ``count`` directed ports of most wire bytes; ties: lower port."""
    order = np.argsort(-result.ports.wire_bytes, kind="stable")[:count]
    return tuple(link_load(result, int(port)) for port in order if result.ports.wire_bytes[port] > 0)


def endpoint_bytes(result: Result) -> tuple[I8, I8]:
    """Return wire bytes sent and received by each endpoint; shapes (endpoints,)."""
    fabric = result.fabric
    up = is_uplink(fabric)
    wire = result.ports.wire_bytes
    peer_node = fabric.port_node[fabric.port_peer]
    sent = np.bincount(fabric.port_node[up], weights=wire[up], minlength=fabric.endpoints)
    to_gpu = peer_node < fabric.endpoints
    received = np.bincount(peer_node[to_gpu], weights=wire[to_gpu], minlength=fabric.endpoints)
    return sent[: fabric.endpoints].astype(np.int64), received[: fabric.endpoints].astype(np.int64)


def plane_bytes(result: Result) -> I8:
    """Return wire bytes that endpoints sent into each plane; shape (planes,)."""
    up = is_uplink(result.fabric)
    planes = result.fabric.port_plane[up]
    return np.bincount(planes, weights=result.ports.wire_bytes[up], minlength=result.fabric.planes).astype(np.int64)


def efficiency(result: Result) -> Efficiency | None:
    """Return where the endpoints' wire bytes went, None when nothing was sent."""
    up = is_uplink(result.fabric)
    wire = int(result.ports.wire_bytes[up].sum())
    if wire == 0:
        return None
    data = int(result.ports.data_bytes[up].sum()) / wire
    acks = int(result.ports.ack_frames[up].sum()) * (ACK_FRAME_BYTES + WIRE_EXTRA_BYTES) / wire
    ordered = int(result.ports.cf_updates[up].sum()) * ORDERED_SET_BYTES / wire
    return Efficiency(data=data, headers=max(0.0, 1.0 - data - acks - ordered), acks=acks, ordered_sets=ordered)


def operation_latencies_ps(result: Result) -> dict[str, I8]:
    """Return sorted (done - ready) of the finished data operations, by kind name, ps."""
    kind, times = result.graph.kind, result.operations
    finished = (times.done_ps >= 0) & (times.ready_ps >= 0) & ((result.graph.bytes > 0) | (kind == Kind.FENCE))
    found: dict[str, I8] = {}
    for member in Kind:
        if member in (Kind.COMPUTE, Kind.JOIN):
            continue
        chosen = finished & (kind == member)
        if chosen.any():
            found[member.name] = np.sort(times.done_ps[chosen] - times.ready_ps[chosen])
    return found


def latency_rows(result: Result) -> tuple[Latency, ...]:
    """Return percentiles (nearest rank) of operations by kind, then of data frames (from the histogram: upper edges)."""
    rows = [
        Latency(name, len(sample), _rank(sample, 0.50), _rank(sample, 0.99), _rank(sample, 0.999), int(sample[-1]))
        for name, sample in operation_latencies_ps(result).items()
    ]
    frames = frame_latency_cdf(result)
    if frames is not None:
        edges, cumulative = frames
        total = int(cumulative[-1])
        at = [int(edges[int(np.searchsorted(cumulative, share * total))]) for share in (0.50, 0.99, 0.999, 1.0)]
        rows.append(Latency("data frames", total, *at))
    return tuple(rows)


def _rank(sorted_sample: I8, share: float) -> int:
    return int(sorted_sample[max(0, int(np.ceil(share * len(sorted_sample))) - 1)])


def frame_latency_cdf(result: Result) -> tuple[I8, I8] | None:
    """Return (upper edges in ps, cumulative frames) of the filled bins of the frame latency histogram, None when it is empty."""
    counts = result.latency_counts
    filled = np.flatnonzero(counts)
    if not len(filled):
        return None
    upper = result.latency_edges_ps[np.minimum(filled + 1, len(result.latency_edges_ps) - 1)]
    return upper.astype(np.int64), np.cumsum(counts)[filled].astype(np.int64)


def stage_shares(result: Result) -> dict[Stage, float]:
    """Return the share of each stage in the time of all executed data frames; they add up to 1 (all 0 without frames)."""
    total = int(result.stage_ps.sum())
    return {stage: (int(result.stage_ps[stage]) / total if total else 0.0) for stage in Stage}
