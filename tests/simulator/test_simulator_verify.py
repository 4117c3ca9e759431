"""``run.verify: memory``: every segment is executed exactly once, whatever happens to links; a second execution is told."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated import bare
from test_simulator_paths import DOWN, UP, WORKLOADS, plane, run

from scalefab.cli.app import run_app
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.faults import threshold_of
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.memory import find_memory, segment_bases
from scalefab.simulator.records import State
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate
from scalefab.simulator.setup import make_state
from scalefab.simulator.verdict import Outcome, judge
from scalefab.simulator.verify import mark_executed

ON = "run.verify=memory"
SPRAYS = ("hash", "round_robin", "least_queued", "single")


def once(result: Result) -> None:
    memory = result.memory
    assert result.status is Status.DONE and memory is not None
    assert memory.executed == memory.segments > 0
    assert (memory.twice, memory.missing, memory.outside) == (0, 0, 0)
    assert str(memory) == f"{memory.segments} segments executed exactly once"
    assert int(result.executed_bins.sum()) == result.data_bytes


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("spray", SPRAYS)
def test_without_faults(workload: str, spray: str) -> None:
    once(simulate(bare(workload, ON, gpus=4, stacks=2, spray=spray)))


@pytest.mark.parametrize("llr", ["on", "off"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_frames_that_links_lose(workload: str, llr: str) -> None:
    scenario = bare(workload, ON, f"fabric.llr.enabled={llr}", gpus=4, stacks=2)
    rate = threshold_of(1e-2)
    result = run(scenario, *(Fault(0, port, FaultKind.LOSS_RATE, rate) for port in range(scenario.fabric.ports)))
    once(result)
    assert (result.rh_replays > 0) == (llr == "off")


def test_bit_errors() -> None:
    result = simulate(bare(WORKLOADS[0], ON, "fabric.ber=1e-3", gpus=4, stacks=2))
    once(result)
    assert int(result.ports.replayed_frames.sum()) > 0


@pytest.mark.parametrize("spray", SPRAYS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_plane_that_dies(workload: str, spray: str) -> None:
    scenario = bare(workload, ON, gpus=4, stacks=2, spray=spray)
    once(run(scenario, *(Fault(1_500_000, port, DOWN) for port in plane(scenario.fabric, 1))))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_lines_lose_frames_while_a_port_flaps(workload: str) -> None:
    scenario = bare(workload, ON, "fabric.llr.enabled=off", gpus=4, stacks=2)
    rate = threshold_of(1e-3)
    rows = [Fault(0, port, FaultKind.LOSS_RATE, rate) for port in range(scenario.fabric.ports)]
    once(run(scenario, *rows, Fault(1_000_000, 3, DOWN), Fault(9_000_000, 3, UP), Fault(30_000_000, 3, DOWN)))


def test_a_verified_run_is_the_same_run() -> None:
    plain, verified = (simulate(bare(WORKLOADS[0], *more, gpus=4, stacks=2)) for more in ((), (ON,)))
    assert plain.memory is None
    assert (plain.completion_ps, plain.events, plain.frame_ps) == (verified.completion_ps, verified.events, verified.frame_ps)


def test_a_partial_run_misses_nothing() -> None:
    result = simulate(bare(WORKLOADS[0], ON, "run.until=5us"))
    memory = result.memory
    assert result.status is Status.PARTIAL and memory is not None
    assert 0 < memory.executed < memory.segments and not memory.failures
    assert str(memory).endswith("the others not at all: unfinished")


def state_of(scenario: Scenario) -> State:
    return make_state(scenario.graph, scenario.fabric, scenario.options, 1)


def interpreted(function: Any) -> Any:
    """The plain function of a compiled one; where nothing is compiled, itself."""
    return getattr(function, "py_func", function)


def test_a_second_execution_and_a_strange_one_are_counted() -> None:
    scenario = bare("permutation: {bytes: 40000B}", ON, gpus=4)
    state = state_of(scenario)
    mark = interpreted(mark_executed)
    packets = state.op.packets
    for op in range(len(packets)):
        mark(state, op, 0, int(packets[op]) - (op == 1), 1)
    mark(state, 2, 3, 2, 1)
    mark(state, 3, int(packets[3]) - 1, 2, 1)
    k = state.kernel[0]
    assert (int(k.twice), int(k.outside)) == (3, 1)
    memory = find_memory(
        state.segment_bits, state.segment_base, packets, np.ones(len(packets), bool), int(k.twice), int(k.outside)
    )
    assert (memory.executed, memory.missing) == (int(packets.sum()) - 1, 1)
    assert len(memory.failures) == 3 and "1 segments of finished operations that were never" in str(memory)


@pytest.mark.parametrize("paths", [1, 2, 3, 8])
def test_runs_of_a_round_robin_cover_every_packet_once(paths: int) -> None:
    scenario = bare("point_to_point: {src: 0, dst: 1, bytes: 99000B}", ON, gpus=4)
    state = state_of(scenario)
    packets = int(state.op.packets[0])
    for place in range(paths):
        count = packets // paths + (0 if packets % paths == 0 else int((place - packets // paths) % paths < packets % paths))
        interpreted(mark_executed)(state, 0, place, count, paths)
    assert int(np.unpackbits(state.segment_bits).sum()) == packets
    assert int(state.kernel[0].twice) == int(state.kernel[0].outside) == 0


def test_bases_leave_whole_bytes() -> None:
    assert segment_bases([1, 8, 9, 0, 3]).tolist() == [0, 1, 2, 4, 4, 5]


def test_a_double_execution_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    result = simulate(bare("permutation: {bytes: 40000B}", ON))
    assert result.memory is not None and judge(result).outcome is Outcome.DONE
    verdict = judge(replace(result, memory=replace(result.memory, twice=1)))
    assert verdict.outcome is Outcome.FAILED and int(verdict.exit_code) == 1
    assert verdict.failures == ("memory: 1 executions of segments that had been executed before",)


TEXT = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 4, stacks: 1}, switches: {planes: 1, ports: 4}}
workload:
  - permutation: {bytes: 40000B}
run: {verify: memory}
"""


def test_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "verified.yaml"
    file.write_text(TEXT)
    assert run_app(["run", str(file), "--out", str(tmp_path / "a")]) == 0
    assert "Verified    84 segments executed exactly once" in capsys.readouterr().out
    assert run_app(["run", str(file), "--json", "--out", str(tmp_path / "b")]) == 0
    found = json.loads(capsys.readouterr().out)["memory"]
    assert found == {"segments": 84, "executed": 84, "twice": 0, "missing": 0, "outside": 0}
    assert os.path.exists(tmp_path / "b")
