"""Faults from a scenario, run: each does what it says, everything still arrives once, and ends end."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated import bare

from scalefab.fabric.names import find_link
from scalefab.scenario import read_scenario
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate

EXAMPLE = Path(__file__).parents[2] / "examples" / "flapping-link.yaml"
WORK = "all_to_all: {bytes_per_pair: 128KiB}"


def with_faults(*entries: str, more: tuple[str, ...] = (), workload: str = WORK) -> Scenario:
    text = ", ".join(f"{{{entry}}}" for entry in entries)
    return bare(workload, f"faults=[{text}]", *more)


def run(*entries: str, more: tuple[str, ...] = (), workload: str = WORK) -> Result:
    return simulate(with_faults(*entries, more=more, workload=workload) if entries else bare(workload, *more))


def delivered(result: Result, clean: Result) -> bool:
    return result.status is Status.DONE and (result.data_bytes, result.frames) == (clean.data_bytes, clean.frames)


@pytest.mark.parametrize(
    ("entry", "at_least_ps"),
    [
        ("at: 1us, until: 3us, link: gpu1.port0, down: on", 1_900_000),
        ("at: 1us, link: gpu1.port0, flap: {period: 2us, down: 500ns, count: 2}", 900_000),
        ("at: 1us, until: 2us, node: gpu1, down: on", 900_000),
        ("link: gpu1.port0 -> switch, lanes: 2 of 4", 3_900_000),  # 393 KiB take twice their 3.9 us and more
        ("link: gpu1.port0, rate: 200Gb/s", 11_700_000),
        ("until: 2us, link: gpu1.port0 -> switch, rate: 400Gb/s", 900_000),
        ("node: gpu1, slow_receiver: 400Gb/s", 1_000_000),
        ("until: 3us, node: gpu1, slow_receiver: 0Gb/s", 0),
        ("link: gpu1.port0, loss: 0.01", 1),
        ("all: on, loss: 0.01", 1),
        ("link: gpu1.port0 -> switch, lose_frame: 3", 1),
        ("link: switch -> gpu1.port0, corrupt_frame: 3", 1),
        ("all: on, lose_sets: 0.3", 0),
        ("all: on, delay_sets: 2us", 0),
        ("until: 3us, node: gpu1, ack_pause: on", 0),
    ],
)
def test_every_fault_costs_time_and_nothing_else(entry: str, at_least_ps: int) -> None:
    clean, result = run(), run(entry)
    assert delivered(result, clean)
    assert result.completion_ps - clean.completion_ps >= at_least_ps


def test_without_llr_the_end_to_end_layer_sends_again() -> None:
    clean = run(more=("fabric.llr.enabled=off",))
    for entry in (
        "link: gpu1.port0 -> switch, lose_frame: 3",
        "all: on, loss: 0.001",
        "at: 1us, until: 2us, node: gpu1, down: on",
    ):
        result = run(entry, more=("fabric.llr.enabled=off",))
        assert delivered(result, clean) and result.completion_ps > clean.completion_ps


def test_faults_that_are_over_cost_nothing_later() -> None:
    late = "at: 1ms, until: 2ms, all: on"
    clean = run()
    for kind in ("lanes: 1 of 4", "loss: 0.5", "ber: 0.01", "down: on", "slow_receiver: 1Gb/s"):
        assert run(f"{late}, {kind}").completion_ps == clean.completion_ps


def test_errors_of_all_links_are_the_fabric_s_own() -> None:
    lines = ("fabric.ber=1.0e-3", "fabric.burst=0.5")
    own, clean = run(more=lines), run()
    named = run("all: on, ber: 1.0e-3, burst: 0.5")
    assert own.completion_ps == named.completion_ps > clean.completion_ps
    assert list(own.ports.replayed_frames) == list(named.ports.replayed_frames)


def test_errors_of_a_named_direction_stay_there_and_end() -> None:
    scenario = with_faults("until: 2us, link: gpu1.port0 -> switch, ber: 1.6e-3, burst: 0.5")
    result = simulate(scenario)
    (port,) = find_link(scenario.fabric, "gpu1.port0 -> switch").ports
    replayed = result.ports.replayed_frames
    assert replayed[port] > 0 and replayed.sum() == replayed[port]
    longer = run("link: gpu1.port0 -> switch, ber: 1.6e-3, burst: 0.5")
    assert delivered(longer, result) and longer.ports.replayed_frames[port] > replayed[port]
    # a better line than the fabric's
    lines = ("fabric.ber=1.0e-3", "fabric.burst=0.5")
    mended = run("link: gpu1.port0 -> switch, ber: 0.0", more=lines).ports.replayed_frames
    assert mended[port] == 0 and mended.sum() > 0


def test_the_same_seed_gives_the_same_picoseconds() -> None:
    entries = ("all: on, loss: 0.01", "all: on, lose_sets: 0.1", "link: gpu1.port0, ber: 1.0e-3, burst: 0.5")
    first, again, other = run(*entries), run(*entries), run(*entries, more=("run.seed=2",))
    assert first.completion_ps == again.completion_ps != other.completion_ps
    assert delivered(other, first)


def test_the_example_finishes_and_each_of_its_faults_counts() -> None:
    scenario = read_scenario(EXAMPLE)
    assert scenario.warnings == () and len(scenario.faults) > 20
    result = simulate(scenario)
    assert result.status is Status.DONE and result.frames == result.frames_sent
    assert result.ports.replayed_frames.sum() > 0
    assert result.completion_ps > 1.2 * result.bound_ps
