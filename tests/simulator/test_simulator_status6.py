"""Operations whose pair has no live path end with status 6 after 2 ms; what waits for them never begins, all else goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import bare

from scalefab.errors import ExitCode
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.profile import NO_PATH_PS, Kind
from scalefab.report.record import flat_object
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Ending, Result, Status
from scalefab.simulator.run import simulate
from scalefab.simulator.tables import TableName, columns
from scalefab.simulator.verdict import Outcome, judge

DOWN, UP = FaultKind.LINK_DOWN, FaultKind.LINK_UP

WORKLOADS = (
    "all_to_all: {bytes_per_pair: 512KiB}",
    "all_to_all: {bytes_per_pair: 128KiB, operation: store, posted: false}",
    "permutation: {operation: get, bytes: 1MiB}",
    "permutation: {operation: load, bytes: 256KiB, transaction: 128B}",
    "permutation: {operation: put, bytes: 1MiB, posted: false}",
)


def run(scenario: Scenario, *rows: Fault) -> Result:
    return simulate(replace(scenario, faults=tuple(sorted(rows, key=lambda row: row.at_ps))))


def ended(result: Result) -> None:
    """Every operation has ended one way, what failed belongs to GPU 0, memory is right and the books balance."""
    graph, times = result.graph, result.operations
    assert result.status is Status.DONE
    failed, done = times.ending == Ending.TIMEOUT, times.done_ps >= 0
    assert failed.any() and not (failed & done).any()
    assert (done | (times.ending != Ending.OK)).all()
    assert ((graph.src == 0) | (graph.dst == 0))[failed].all()
    assert int(result.stage_ps.sum()) == result.frame_ps
    assert result.memory is not None and not result.memory.failures


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("spray", ["round_robin", "least_queued"])
def test_a_gpu_that_is_cut_off_fails_its_operations_and_no_others(workload: str, spray: str) -> None:
    scenario = bare(workload, "run.verify=memory", gpus=4, stacks=2, spray=spray)
    result = run(scenario, Fault(1_000_000, 0, DOWN), Fault(2_000_000, 1, DOWN))
    ended(result)
    others = (result.graph.src != 0) & (result.graph.dst != 0)
    assert (result.operations.done_ps[others] >= 0).all()
    assert result.completion_ps < NO_PATH_PS < result.now_ps


@pytest.mark.parametrize("sen", ["on", "off"])
def test_a_single_path_that_dies(sen: str) -> None:
    """Without SEN the others learn of it by RH's timer first, 1203.2 us, or by that of CLOSE."""
    result = run(bare(WORKLOADS[0], "run.verify=memory", f"fabric.sen={sen}", gpus=4), Fault(1_000_000, 0, DOWN))
    ended(result)
    assert (result.rh_path_errors > 0) == (sen == "off")


def test_what_waits_for_a_failed_operation_never_begins() -> None:
    result = run(bare("all_reduce: {size: 1MiB}", "run.verify=memory", gpus=4), Fault(1_000_000, 0, DOWN))
    graph, times = result.graph, result.operations
    assert result.status is Status.DONE
    unstarted = np.flatnonzero(times.ending == Ending.NOT_STARTED)
    assert len(unstarted) and (times.first_ps[unstarted] < 0).all() and (times.done_ps[unstarted] < 0).all()
    ends = times.ending != Ending.OK
    waits_for_one = np.zeros(len(graph), bool)
    for i in np.flatnonzero(ends):
        waits_for_one[graph.succ[graph.succ_ptr[i] : graph.succ_ptr[i + 1]]] = True
    assert (waits_for_one[unstarted]).all() and (times.ending[waits_for_one] == Ending.NOT_STARTED).all()


def test_operations_that_begin_while_a_pair_is_cut_fail_at_once_and_after_it_succeed() -> None:
    starts = ("0ns", "1us", "4ms", "9ms")
    entries = "\n  - ".join(
        f"{{point_to_point: {{bytes: 256KiB}}, name: p{i}, after: [], start: {at}}}" for i, at in enumerate(starts)
    )
    scenario = bare(entries, gpus=2)
    result = run(scenario, Fault(100_000_000, 0, DOWN), Fault(8_000_000_000, 0, UP))
    network = result.graph.kind != Kind.JOIN
    assert result.operations.ending[network].tolist() == [0, 0, 6, 0]
    assert result.status is Status.DONE


@pytest.mark.parametrize("workload", WORKLOADS)
def test_what_failed_is_not_sent_when_the_path_comes_back(workload: str) -> None:
    scenario = bare(
        f"{{{workload}}}\n  - {{point_to_point: {{src: 2, dst: 1, bytes: 1KiB}}, start: 6ms}}", "run.verify=memory", gpus=4
    )
    result = run(scenario, Fault(1_000_000, 0, DOWN), Fault(5_000_000_000, 0, UP))
    ended(result)


def test_verdict_json_and_table_say_so() -> None:
    result = run(bare("all_reduce: {size: 1MiB}", gpus=4), Fault(1_000_000, 0, DOWN))
    verdict = judge(result)
    assert verdict.outcome is Outcome.FAILED and verdict.exit_code == ExitCode.FAILED == 1
    failed, unstarted = result.count_endings(Ending.TIMEOUT), result.count_endings(Ending.NOT_STARTED)
    text = str(verdict.lines[0])
    assert f"{failed} of {len(result.graph)} operations ended with status 6 (timeout): no live path for 2 ms" in text
    assert f"{unstarted} more never began" in text
    assert verdict.bound_fraction == 0 and not any("beats" in text for text in verdict.warnings)
    flat = flat_object("x", result, verdict, "0")
    assert (flat["failed_operations"], flat["unstarted_operations"], flat["status"]) == (failed, unstarted, "failed")
    status = columns(result, TableName.OPERATIONS)["status"]
    assert status.tolist() == result.operations.ending.tolist()


def test_a_run_without_failures_says_zero() -> None:
    result = simulate(bare(WORKLOADS[0]))
    flat = flat_object("x", result, judge(result), "0")
    assert flat["failed_operations"] == flat["unstarted_operations"] == 0
    assert not columns(result, TableName.OPERATIONS)["status"].any()
