"""Planes that nothing ties together, each on a thread: the same result to the last picosecond and counter."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from simulated import bare

from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate

UNLIMITED = "fabric.gpus.memory.bandwidth=100000TB/s"
TWICE = "all_to_all: {{bytes_per_pair: {0}, stack: 0}}\n  - all_to_all: {{bytes_per_pair: {1}, stack: 1}}\n    after: []"
ASIDE = {"graph", "fabric", "wall_s", "compile_s", "peak_MB", "notes", "trace"}  # given, this machine's, or compared below


def two(first: str = "200KiB", second: str = "200KiB", *overrides: str, **holes: Any) -> Scenario:
    scenario = bare(TWICE.format(first, second), UNLIMITED, *overrides, gpus=8, stacks=2, **holes)
    return replace(scenario, options=replace(scenario.options, capture_frames=0))


def assert_same(one: Result, other: Result) -> None:
    for field in fields(Result):
        if field.name in ASIDE:
            continue
        a, b = getattr(one, field.name), getattr(other, field.name)
        if hasattr(a, "__dataclass_fields__"):
            for part in fields(a):
                np.testing.assert_array_equal(getattr(a, part.name), getattr(b, part.name), err_msg=f"{field.name}.{part.name}")
        elif isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b, err_msg=field.name)
        else:
            assert a == b, field.name
    assert sorted(one.trace.sample.tolist()) == sorted(other.trace.sample.tolist())


CASES = {
    "equal": (),
    "one ends long before the other": ("200KiB", "900KiB"),
    "errors on every link": ("200KiB", "300KiB", "fabric.ber=1e-6", "fabric.burst=0.2"),
    "pauses": ("200KiB", "300KiB", "fabric.flow_control=pfc"),
    "latencies, and a start later": ("200KiB", "300KiB", "fabric.gpus.tx_latency=80ns", "workload.1.start=1500ns"),
    "no retry": ("200KiB", "300KiB", "fabric.llr.enabled=off"),
}


@pytest.mark.parametrize("name", CASES)
def test_two_threads_give_the_result_of_one(name: str) -> None:
    scenario = two(*CASES[name])
    one, both = simulate(scenario), simulate(scenario, threads=2)
    assert one.status is Status.DONE
    assert not [note for note in both.notes if note.startswith("one thread")]
    assert_same(one, both)


def test_more_threads_than_planes() -> None:
    assert_same(simulate(two()), simulate(two(), threads=5))


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (bare("all_to_all: {bytes_per_pair: 64KiB}", gpus=4), "one plane"),
        (bare("all_to_all: {bytes_per_pair: 64KiB}", UNLIMITED, gpus=4, stacks=2), "operations tie the planes together"),
        (bare(TWICE.format("64KiB", "64KiB"), gpus=4, stacks=2), "bandwidth of its memory"),
        (two("64KiB", "64KiB", "run.verify=memory"), "run.verify"),
        (two("64KiB", "64KiB", "faults=[{link: gpu1.port0, at: 3us, down: on}]"), "faults"),
    ],
)
def test_what_ties_planes_together_is_told(scenario: Scenario, reason: str) -> None:
    result = simulate(scenario, threads=2)
    told = [note for note in result.notes if note.startswith("one thread")]
    assert len(told) == 1
    assert reason in told[0]
    assert_same(simulate(replace(scenario, options=replace(scenario.options, capture_frames=0))), result)


def test_a_dependency_from_plane_to_plane_ties_them() -> None:
    text = "all_to_all: {bytes_per_pair: 64KiB, stack: 0}\n  - all_to_all: {bytes_per_pair: 64KiB, stack: 1}"
    result = simulate(bare(text, UNLIMITED, gpus=4, stacks=2), threads=2)
    assert any("by what they wait for" in note for note in result.notes)


def test_a_time_limit_ends_all_parts_at_the_same_time() -> None:
    scenario = two("200KiB", "300KiB", "run.until=9us")
    one, both = simulate(scenario), simulate(scenario, threads=2)
    assert one.status is both.status is Status.PARTIAL
    np.testing.assert_array_equal(one.operations.done_ps, both.operations.done_ps)
    np.testing.assert_array_equal(one.ports.wire_bytes, both.ports.wire_bytes)
