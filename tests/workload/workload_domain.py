"""Fabrics and players that the tests of this folder share."""

from __future__ import annotations

from collections import Counter

import numpy as np

from scalefab.fabric.arrays import Fabric
from scalefab.fabric.build import build_fabric
from scalefab.fabric.spec import CableSpec, EndpointSpec, FabricSpec, Fec, MemorySpec, SwitchSpec
from scalefab.workload.build import build_graph
from scalefab.workload.graph import OperationGraph
from scalefab.workload.spec import Phase, WorkloadSpec

GB = 10**9


def fabric(
    count: int = 64,
    *,
    ports: int = 1,
    planes: int = 1,
    rate_bps: int = 800 * GB,
    frame_max: int = 2048,
    idle: bool = False,
    memory_Bps: int = 8_000 * GB,
) -> Fabric:
    """The benchmarks' fabric (links 50 ns, switch 200 ns, endpoints free), or with ``idle`` the latency budget of the profile."""
    endpoint_ps, memory_ps, switch_ps, link_ps = (50_000, 150_000, 250_000, -1) if idle else (0, 0, 200_000, 50_000)
    memory = MemorySpec(memory_Bps, memory_ps, 1 << 37)
    return build_fabric(
        FabricSpec(
            endpoints=EndpointSpec("gpu", count, ports, 1, rate_bps, endpoint_ps, endpoint_ps, 256 << 10, memory),
            switches=SwitchSpec("switch", planes, count * ports // planes, rate_bps, switch_ps, 256 << 10),
            cables=CableSpec(3000, "twinax", 13_800, link_ps),
            fec=Fec.RS272,
            fec_depth=0,
            header_stack="ethlink",
            frame_max=frame_max,
            phy_tx_ps=50_000,
            phy_rx_ps=50_000,
        )
    )


def graph_of(*phases: Phase, endpoints: int = 64, mtu: int = 1984) -> OperationGraph:
    return build_graph(WorkloadSpec(phases), endpoints, mtu)


def predecessors(graph: OperationGraph) -> list[list[int]]:
    before: list[list[int]] = [[] for _ in range(len(graph))]
    for i in range(len(graph)):
        for j in graph.succ[graph.succ_ptr[i] : graph.succ_ptr[i + 1]]:
            before[j].append(i)
    return before


def random_order(graph: OperationGraph, seed: int) -> list[int]:
    """Any order that respects the dependencies: what a network may do."""
    rng = np.random.default_rng(seed)
    left = graph.waits.copy()
    ready = [int(i) for i in np.flatnonzero(left == 0)]
    order = []
    while ready:
        i = ready.pop(int(rng.integers(len(ready))))
        order.append(i)
        for j in graph.succ[graph.succ_ptr[i] : graph.succ_ptr[i + 1]]:
            left[j] -= 1
            if left[j] == 0:
                ready.append(int(j))
    assert len(order) == len(graph)
    return order


class Buffers:
    """Each rank's buffer, block by block, as the multiset of ranks whose data it sums."""

    def __init__(self, ranks: int, blocks: int) -> None:
        self.held = [[Counter([rank]) for _ in range(blocks)] for rank in range(ranks)]

    def add(self, src: int, dst: int, block: int) -> None:
        self.held[dst][block] = self.held[dst][block] + self.held[src][block]

    def copy(self, src: int, dst: int, block: int) -> None:
        self.held[dst][block] = Counter(self.held[src][block])
