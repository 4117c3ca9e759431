"""Random small domains, workloads and faults: all is delivered once, bytes add up by link, no bound is beaten."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulated import bare
from test_simulator_tiers import tiered

from scalefab.fabric.arrays import Fabric
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.faults import threshold_of
from scalefab.protocol.profile import Kind
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate

WORKLOADS = (
    "all_to_all: {bytes_per_pair: 48KiB}",
    "all_to_all: {bytes_per_pair: 8KiB, operation: store, posted: false}",
    "all_to_all: {bytes_per_pair: 64KiB, operation: send}",
    "incast: {bytes: 96KiB, dst: 1}",
    "permutation: {operation: get, bytes: 128KiB}",
    "permutation: {operation: load, bytes: 24KiB, transaction: 64B}",
    "permutation: {operation: put, bytes: 200KiB, posted: false}",
    "all_reduce: {size: 256KiB}",
    "permutation: {operation: atomic, bytes: 2KiB, transaction: 8B}",
    "all_to_all: {bytes_per_pair: 32KiB, atomics: 3}",  # the sums, and what each add brought back, are checked too
    "incast: {operation: atomic, bytes: 512B, atomic: {do: max, type: i32, value: 7}}",
    "permutation: {operation: put_signal, bytes: 60KiB, repeat: 2}",
    "program: {threads: ["
    "'0: store.posted 1:0x0 1; put.posted 1:0x10000 96KiB; fence; store.posted 1:0x2000 2; "
    "put_signal 1:0x40000 32KiB 0x80000 3; fence 1',"
    "'1: put.posted 0:0x10000 64KiB value=4; store.posted 0:0x0 5; load 0:0x9000 bytes=512B; fence; "
    "add.acq_rel 0:0x3000 6; fence 0']}",
)


@st.composite
def rows(draw: Any, ports: int, again: bool) -> list[Fault]:
    """One fault, with its end where it must have one for the run to finish.

    ``again``: LLR begins anew after FLUSH. Without that a link that gives up while nobody takes it down and up is dead for good.
    """
    port = draw(st.integers(0, ports - 1))
    at_ps = draw(st.integers(0, 8_000_000))
    later_ps = at_ps + draw(st.sampled_from([200_000, 3_000_000, 30_000_000, 90_000_000]))
    soon_ps = later_ps if again else at_ps + 3_000_000
    kind = draw(st.sampled_from(["frame", "loss", "sets", "late", "silent", "frozen", "slow", "stuck", "lanes", "flap", "drain"]))
    if kind == "frame":
        what = draw(
            st.sampled_from([FaultKind.LOSE_FRAME, FaultKind.CORRUPT_FRAME, FaultKind.POISON_FRAME, FaultKind.SKIP_SEQUENCE])
        )
        return [Fault(at_ps, port, what, draw(st.integers(1, 40)))]
    if kind == "loss":
        return [Fault(at_ps, port, FaultKind.LOSS_RATE, threshold_of(draw(st.sampled_from([1e-3, 5e-2 if again else 1e-2]))))]
    if kind == "sets":
        return [Fault(at_ps, port, FaultKind.LOSE_SETS, threshold_of(draw(st.sampled_from([0.01, 0.3 if again else 0.02]))))]
    if kind == "late":
        late = Fault(at_ps, port, FaultKind.DELAY_SETS, draw(st.integers(1, 3_000_000)))
        return [late, Fault(soon_ps, port, FaultKind.DELAY_SETS, 0)]
    if kind in ("silent", "frozen"):
        what = FaultKind.ACK_PAUSE if kind == "silent" else FaultKind.ACK_FREEZE
        return [Fault(at_ps, port, what, 0 if kind == "silent" else -1), Fault(soon_ps, port, FaultKind.ACK_RESUME)]
    if kind in ("slow", "stuck"):
        rate_bps = 50 * 10**9 if kind == "slow" else 0
        return [Fault(at_ps, port, FaultKind.DRAIN, rate_bps), Fault(later_ps, port, FaultKind.DRAIN, -1)]
    if kind == "lanes":
        return [Fault(at_ps, port, FaultKind.RATE, draw(st.sampled_from([100, 200, 400])) * 10**9)]
    if kind == "drain":
        begin, end = Fault(at_ps, port, FaultKind.PORT_DRAIN, 1), Fault(later_ps, port, FaultKind.PORT_DRAIN, 0)
        if draw(st.booleans()):  # called off
            return [begin, end]
        down_ps = (at_ps + later_ps) // 2
        return [begin, Fault(down_ps, port, FaultKind.LINK_DOWN), Fault(later_ps, port, FaultKind.LINK_UP), end]
    return [Fault(at_ps, port, FaultKind.LINK_DOWN), Fault(later_ps, port, FaultKind.LINK_UP)]


def plane_death(fabric: Fabric, plane: int, at_ps: int) -> list[Fault]:
    """A plane that dies for good: all links of GPUs into it.

    Not with re-INIT on FLUSH: such a link never tells the layers above that it is gone, and what it has not sent waits for ever.
    """
    ports = np.flatnonzero(fabric.port_plane[: fabric.endpoints * fabric.endpoint_ports] == plane)
    return [Fault(at_ps, int(port), FaultKind.LINK_DOWN) for port in ports]


Recipe = tuple[str, tuple[str, ...], dict[str, int] | None, tuple[Fault, ...]]


def build(workload: str, options: tuple[str, ...], shape: dict[str, int] | None) -> Scenario:
    """Return a domain of planes, or without a shape one of leaves and spines."""
    return tiered(workload, *options) if shape is None else bare(workload, *options, **shape)


@st.composite
def recipes(draw: Any) -> Recipe:
    """Workload, settings, shape, faults: what a scenario is made of (a scenario's own text would be too long to read)."""
    workload = draw(st.sampled_from(WORKLOADS))
    more = [[], ["fabric.llr.re_init_on_flush=on"], ["fabric.llr.enabled=off"], ["fabric.sen=off"], ["fabric.sen_congestion=on"]]
    spray = draw(st.sampled_from(["hash", "round_robin", "least_queued", "single"]))
    options = ["run.verify=memory", f"run.seed={draw(st.integers(1, 9))}", f"run.spray={spray}", *draw(st.sampled_from(more))]
    if draw(st.booleans()):
        options += ["fabric.gpus.tx_latency=50ns", "fabric.gpus.rx_latency=50ns", "fabric.gpus.memory.latency=150ns"]
    shape = None
    if draw(st.booleans()):
        buffer = draw(st.sampled_from(["8KiB", "64KiB", "256KiB"]))
        options += [f"fabric.switches.buffer={buffer}", f"fabric.gpus.buffer={buffer}"]
        shape = {"gpus": draw(st.integers(2, 6)), "stacks": draw(st.integers(1, 3))}
    fabric = build(workload, tuple(options), shape).fabric
    again = "fabric.llr.re_init_on_flush=on" in options
    table: list[Fault] = []
    down: set[int] = set()
    for _ in range(draw(st.integers(0, 4))):
        found = draw(rows(fabric.ports, again))
        if found[0].kind in (FaultKind.LINK_DOWN, FaultKind.PORT_DRAIN):
            link = int(fabric.port_link[found[0].port])
            if link in down:
                continue
            down.add(link)
        table += found
    if fabric.planes > 1 and not again and draw(st.integers(0, 3)) == 0:
        table += plane_death(fabric, draw(st.integers(0, fabric.planes - 1)), draw(st.integers(0, 8_000_000)))
    return workload, tuple(options), shape, tuple(sorted(table, key=lambda row: row.at_ps))


def check(recipe: Recipe) -> None:
    workload, options, shape, faults = recipe
    scenario = build(workload, options, shape)
    result = simulate(replace(scenario, faults=faults))
    clean = simulate(scenario)
    assert result.status is Status.DONE and result.lost_frames == 0
    memory = result.memory
    assert memory is not None and not memory.failures and memory.executed == memory.segments
    assert memory == clean.memory and result.data_bytes == clean.data_bytes == int(result.executed_bins.sum())
    assert int(result.stage_ps.sum()) == result.frame_ps and (result.stage_ps >= 0).all()
    assert np.array_equal(result.link_load.sum(axis=1), result.ports.wire_bytes)
    assert result.completion_ps >= result.bound_ps
    fences_hold(result)


def fences_hold(result: Result) -> None:
    """What a source issued to a target before a fence (each GPU of the programs has one thread) is executed when that is done."""
    graph, times = result.graph, result.operations
    for fence in np.flatnonzero(graph.kind == Kind.FENCE):
        alike = (graph.src == graph.src[fence]) & (graph.dst == graph.dst[fence]) & graph.moving
        before = np.flatnonzero(alike & (np.arange(len(graph)) < fence))
        assert (times.executed_ps[before] <= times.done_ps[fence]).all()
        after = np.flatnonzero(alike & (np.arange(len(graph)) > fence))
        assert (times.ready_ps[after] >= times.done_ps[fence]).all()


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(recipes())
def test_all_is_delivered_once(recipe: Recipe) -> None:
    check(recipe)


@pytest.mark.long
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(recipes())
def test_all_is_delivered_once_at_length(recipe: Recipe) -> None:
    check(recipe)


def down(at_ps: int, *ports: int) -> tuple[Fault, ...]:
    return tuple(Fault(at_ps, port, FaultKind.LINK_DOWN) for port in ports)


FOUND: dict[str, Recipe] = {
    # a port that comes up sends before its GPU hears so: what followed to the same page went another way and came first
    "all paths down, then up": (
        "all_to_all: {bytes_per_pair: 8KiB, operation: store, posted: false}",
        ("run.verify=memory", "run.spray=hash", "fabric.llr.enabled=off"),
        None,
        (*down(0, 0), Fault(90_000_000, 0, FaultKind.LINK_UP)),
    ),
    # answers of a dead port moved to others, and the request that waited for their room at the old one was not woken
    "a request waits at a dead port": (
        "permutation: {operation: load, bytes: 24KiB, transaction: 64B}",
        (
            *("run.verify=memory", "run.spray=hash", "fabric.gpus.tx_latency=50ns", "fabric.gpus.rx_latency=50ns"),
            *("fabric.gpus.memory.latency=150ns", "fabric.switches.buffer=8KiB", "fabric.gpus.buffer=8KiB"),
        ),
        {"gpus": 5, "stacks": 3},
        (
            *(Fault(0, port, FaultKind.RATE, 400 * 10**9) for port in (0, 12)),
            *down(435_976, 1, 4, 7, 10, 13),
        ),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_random_runs_have_found(name: str) -> None:
    check(FOUND[name])
