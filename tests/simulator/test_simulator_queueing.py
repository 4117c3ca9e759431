"""Queues against Pollaczek-Khinchine: Poisson arrivals of equal frames at one line are M/D/1."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from simulated import bare

from scalefab.fabric.linkspec import LinkSpec, LlrSpec
from scalefab.protocol.operations import Kind
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Stage
from scalefab.simulator.run import simulate
from scalefab.workload.builder import GraphBuilder

FRAME_PS = (1984 + 48 + 20) * 10
BUFFER = "2097088B"  # 32,767 credits, the most that there are


def open_domain(gpus: int) -> Scenario:
    """A domain whose windows and credits never hold anything back."""
    settings = ("run.window=32767", f"fabric.switches.buffer={BUFFER}", f"fabric.gpus.buffer={BUFFER}")
    scenario = bare("point_to_point: {operation: put, bytes: 1984B}", *settings, gpus=gpus)
    # LLR's ordered sets are load of their own: 63 sources with an ACK for every other frame add 0.4 %, and 6 % of the wait.
    options = dataclasses.replace(scenario.options, sample_frames=0, capture_frames=0)
    spec = dataclasses.replace(scenario.fabric_spec, link=LinkSpec(llr=LlrSpec(on=False)))
    fabric = dataclasses.replace(scenario.fabric, spec=spec)
    return dataclasses.replace(scenario, options=options, fabric_spec=spec, fabric=fabric)


def poisson_run(scenario: Scenario, frames: int, load: float, seed: int, sources: int) -> Result:
    """One frame an operation, posted; arrivals of all sources together make ``load`` of one line; all go to the last GPU."""
    rng = np.random.default_rng(seed)
    start_ps = np.cumsum(rng.exponential(FRAME_PS / load, frames)).astype(np.int64)
    src = rng.integers(0, sources, frames) if sources > 1 else np.zeros(frames, np.int64)
    builder = GraphBuilder(1984, scenario.fabric.endpoints)
    group = builder.group("poisson", "poisson", 1984 * frames, scenario.fabric.endpoints)
    dst = scenario.fabric.endpoints - 1
    builder.operations(Kind.PUT, src, dst, 1984, group=group, address=0, posted=True, start_ps=start_ps)
    result = simulate(dataclasses.replace(scenario, graph=builder.build()))
    assert result.frames == frames and result.lost_frames == 0
    assert int(result.ports.window_wait_ps.sum()) == int(result.ports.credit_wait_ps.sum()) == 0
    return result


def md1_wait_ps(load: float) -> float:
    """Mean wait in queue of M/D/1 (Pollaczek-Khinchine): load / (2 (1 - load)) service times."""
    return load / (2 * (1 - load)) * FRAME_PS


def source_wait_ps(runs: list[Result]) -> float:
    return float(sum(int(r.stage_ps[Stage.SOURCE_QUEUE]) for r in runs)) / sum(r.frames for r in runs)


def test_source_port_is_md1_at_half_load() -> None:
    runs = [poisson_run(open_domain(2), 200_000, 0.5, seed=11, sources=1)]
    assert source_wait_ps(runs) == pytest.approx(md1_wait_ps(0.5), rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize("load", [0.5, 0.8, 0.95])
def test_source_port_is_md1(load: float) -> None:
    scenario = open_domain(2)
    runs = [poisson_run(scenario, 1_000_000, load, seed, sources=1) for seed in range(10)]
    measured, expected = source_wait_ps(runs), md1_wait_ps(load)
    print(f"\nM/D/1 source port, load {load:.2f}: wait {measured / 1e3:.3f} ns, closed form {expected / 1e3:.3f} ns")
    assert measured == pytest.approx(expected, rel=0.03)


@pytest.mark.long
@pytest.mark.parametrize("load", [0.5, 0.8, 0.95])
def test_switch_output_is_md1(load: float) -> None:
    """63 sources: each is so lightly loaded that its own line hardly spaces its frames; the queue is at the switch's output."""
    scenario = open_domain(64)
    runs = [poisson_run(scenario, 1_000_000, load, 100 + seed, sources=63) for seed in range(10)]
    waits = [int(r.stage_ps[Stage.ARBITER]) + int(r.stage_ps[Stage.SOURCE_QUEUE]) for r in runs]
    measured, expected = sum(waits) / sum(r.frames for r in runs), md1_wait_ps(load)
    print(f"\nM/D/1 switch output, load {load:.2f}: wait {measured / 1e3:.3f} ns, closed form {expected / 1e3:.3f} ns")
    assert measured == pytest.approx(expected, rel=0.03)
