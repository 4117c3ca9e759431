"""At most 64 ATOMICs of a source are unanswered at a target, counted from the oldest one on (profile section 1)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated import bare, run_bare

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.tags import OPEN_MESSAGES_MAX
from scalefab.simulator.result import Status
from scalefab.simulator.run import simulate

ROUND_TRIP_PS = (
    626_560  # 64 B request and answer frames with 64 and 63 transactions before the last one, 50 ns links, 200 ns switch
)


@pytest.mark.parametrize("stacks", [1, 4])
@pytest.mark.parametrize("rounds", [1, 2, 8])
def test_so_many_go_a_round_trip(stacks: int, rounds: int) -> None:
    count = rounds * OPEN_MESSAGES_MAX
    result = run_bare(f"point_to_point: {{operation: atomic, bytes: {8 * count}B}}", "run.verify=memory", stacks=stacks)
    assert result.memory is not None and not result.memory.failures
    assert result.completion_ps == pytest.approx(rounds * ROUND_TRIP_PS, rel=0.001)


def test_targets_have_tags_of_their_own() -> None:
    one = run_bare("point_to_point: {operation: atomic, bytes: 4KiB}")
    both = run_bare("incast: {operation: atomic, bytes: 4KiB, dst: 0}", gpus=4)
    assert both.completion_ps < 1.3 * one.completion_ps  # three sources, one target: their windows do not share


def test_no_limit_where_it_cannot_be_met() -> None:
    scenario = bare("all_to_all: {bytes_per_pair: 64B, atomics: 64}")
    assert simulate(scenario).status is Status.DONE


@pytest.mark.parametrize("at_ps", [700_000, 1_900_000, 4_000_000])
def test_tags_come_back_across_a_path_change(at_ps: int) -> None:
    text = "permutation: {operation: atomic, bytes: 16KiB, transaction: 8B}"  # four pages, on several paths
    scenario = bare(text, "run.verify=memory", stacks=3)
    faults = (Fault(at_ps, 1, FaultKind.LINK_DOWN), Fault(at_ps + 30_000_000, 1, FaultKind.LINK_UP))
    result = simulate(replace(scenario, faults=faults))
    assert result.status is Status.DONE and result.memory is not None and not result.memory.failures


def test_tags_of_operations_that_end_with_status_6_are_free_again() -> None:
    text = "point_to_point: {operation: atomic, bytes: 64KiB, repeat: 2}"
    scenario = bare(text)
    faults = (Fault(3_000_000, 1, FaultKind.LINK_DOWN), Fault(3_000_000_000, 1, FaultKind.LINK_UP))
    result = simulate(replace(scenario, faults=faults))
    assert result.status is Status.DONE and (result.operations.ending != 0).all()
