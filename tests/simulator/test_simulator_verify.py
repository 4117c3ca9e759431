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
    assert not memory.failures
    assert str(memory).startswith(f"{memory.segments} segments executed exactly once")
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
    counts = {"twice": 0, "missing": 0, "outside": 0, "disorder": 0, "addresses": 0, "wrong": 0, "unfetched": 0}
    assert found == {"segments": 84, "executed": 84, **counts, "digest": ""}
    assert os.path.exists(tmp_path / "b")


def values(result: Result) -> list[int]:
    assert result.memory is not None and result.memory.cells is not None
    return result.memory.cells.value.tolist()


ATOMIC = "incast: {operation: atomic, bytes: 64B, repeat: 3, address: 0x4000, atomic: {WORK}}"


@pytest.mark.parametrize(
    ("work", "value"),
    [
        ("do: add, value: 5", 0),  # each source has addresses of its own
        ("do: add, type: i32, value: -1", 0),
    ],
)
def test_sources_with_addresses_of_their_own(work: str, value: int) -> None:
    result = simulate(bare(ATOMIC.replace("WORK", work), ON, gpus=4))
    once(result)
    step = 5 if "5" in work else (1 << 32) - 1
    assert set(values(result)) == {step}
    assert result.memory is not None and result.memory.addresses == 3 * 3 * (8 if "5" in work else 16)


def shared(work: str, *faults: Fault, gpus: int = 4, repeat: int = 1) -> Result:
    """Permutations of every shift: each GPU's neighbours all work on the same addresses."""
    each = f"permutation: {{operation: atomic, bytes: 4KiB, address: 0x4000, shift: N, repeat: {repeat}, atomic: {{{work}}}}}"
    text = "\n".join(f"  - {{after: [], {each.replace('N', str(n))}}}" for n in range(1, gpus))
    scenario = bare(each.replace("N", "1"), ON, gpus=gpus, stacks=2)
    from scalefab.scenario import parse_scenario

    whole = scenario.text[: scenario.text.index("  - ")] + text + scenario.text[scenario.text.index("\nrun:") :]
    return run(parse_scenario(whole, "x.yaml", (ON,)), *faults)


@pytest.mark.parametrize(
    ("work", "value"),
    [
        ("do: add, value: 5", 15),
        ("do: add, value: 18446744073709551615", -3),
        ("do: max, type: i64, value: -7", 0),
        ("do: min, type: i64, value: -7", -7),
        ("do: max, value: 18446744073709551609", -7),
        ("do: or, value: 6", 6),
        ("do: xor, value: 6", 6),
        ("do: and, value: 6", 0),
        ("do: swap, type: u32, value: 9", 9),
        ("do: compare_swap, value: 9", 9),
        ("do: compare_swap, value: 9, compare: 1", 0),
    ],
)
def test_values_that_several_sources_work_on(work: str, value: int) -> None:
    result = shared(work)
    once(result)
    assert set(values(result)) == {value}


def test_a_sum_that_is_wrong_fails_the_run() -> None:
    from scalefab.simulator.valuecheck import with_values

    scenario = bare("all_to_all: {bytes_per_pair: 1KiB, atomics: 3}", ON, gpus=4)
    state = state_of(scenario)
    mark = interpreted(mark_executed)
    packets = state.op.packets
    for op in range(len(packets)):
        mark(state, op, 0, int(packets[op]), 1)
    found = find_memory(state.segment_bits, state.segment_base, packets, np.ones(len(packets), bool), 0, 0)
    good = with_values(found, scenario.graph, packets, scenario.fabric.spec.mtu, state.cell, state.fetched)
    assert (good.addresses, good.wrong) == (12, 0) and set(good.cells.value.tolist()) == {3}
    state.cell.value[np.flatnonzero(state.cell.used)[0]] += 1
    bad = with_values(found, scenario.graph, packets, scenario.fabric.spec.mtu, state.cell, state.fetched)
    assert bad.wrong == 1 and bad.failures == ("1 of 12 addresses hold another value than their operations make",)
    assert bad.digest != good.digest


def test_transactions_out_of_order_are_counted() -> None:
    state = state_of(bare("permutation: {operation: store, bytes: 8KiB, transaction: 256B}", ON, gpus=4))
    mark = interpreted(mark_executed)
    for first, count in ((0, 3), (4, 1), (16, 2), (3, 1)):  # 4 before 3; 16 begins another page
        mark(state, 0, first, count, 1)
    assert int(state.kernel[0].disorder) == 1


@pytest.mark.parametrize("llr", ["on", "off"])
def test_values_under_faults_are_those_without(llr: str) -> None:
    text = "all_to_all: {bytes_per_pair: 128KiB, atomics: 64}"
    scenario = bare(text, ON, f"fabric.llr.enabled={llr}", gpus=8, stacks=2)
    clean = simulate(scenario)
    rows = [Fault(0, port, FaultKind.LOSS_RATE, threshold_of(1e-3)) for port in range(scenario.fabric.ports)]
    rows += [Fault(500_000, port, DOWN) for port in plane(scenario.fabric, 1)]
    rows += [Fault(1_000_000, 3 * 2, DOWN), Fault(2_000_000, 3 * 2, UP)]
    result = run(scenario, *rows)
    for one in (clean, result):
        once(one)
        assert set(values(one)) == {7}
    assert result.memory == clean.memory


def test_values_are_kept_with_the_run(tmp_path: Path) -> None:
    from scalefab.report.store import load_result, save_result

    result = simulate(bare("all_to_all: {bytes_per_pair: 1KiB, atomics: 3}", ON, gpus=4))
    save_result(tmp_path / "r.npz", result)
    again = load_result(tmp_path / "r.npz")
    assert again.memory == result.memory and values(again) == values(result) == [3] * 12
    assert again.graph.values.op.tolist() == result.graph.values.op.tolist()
