"""The ten lines of a verdict, as golden texts, and what a run's outcome is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from scalefab.errors import ExitCode
from scalefab.simulator.advice import Cause, percent
from scalefab.simulator.metrics import group_metrics, hot_links, latency_rows, port_name, stage_shares
from scalefab.simulator.result import Result, Stage, Status
from scalefab.simulator.verdict import Outcome, judge

GOLDEN = Path(__file__).parent / "golden"
LABELS = ["Result", "Bandwidth", "Bound", "Groups", "Limited by", "Lost time", "Hot links", "Efficiency", "Latency", "Try next"]
CASES = {
    "source": synthetic.all_to_all,
    "sink": synthetic.moe_skewed,
    "chain": synthetic.ring,
    "zero": synthetic.nothing_moved,
    "beaten": lambda: synthetic.all_to_all(completion_ps=10_000_000),
    "partial": synthetic.partial,
}


@pytest.mark.parametrize("name", CASES)
def test_words(name: str) -> None:
    verdict = judge(CASES[name]())
    said = "\n".join(
        [str(verdict), *(f"failure: {text}" for text in verdict.failures), *(f"warning: {text}" for text in verdict.warnings)]
    )
    assert said + "\n" == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_ten_lines_in_one_order(name: str) -> None:
    verdict = judge(CASES[name]())
    assert [line.label for line in verdict.lines] == LABELS
    assert all("\n" not in line.text and line.text for line in verdict.lines)


def test_zero_bytes_is_a_failure() -> None:
    verdict = judge(synthetic.nothing_moved())
    assert verdict.outcome is Outcome.FAILED
    assert verdict.exit_code is ExitCode.FAILED


def test_a_beaten_bound_is_warned_about_and_a_met_one_is_not() -> None:
    assert any("beats its own lower bound" in text for text in judge(synthetic.all_to_all(completion_ps=10_000_000)).warnings)
    result = synthetic.all_to_all()
    assert judge(replace(result, bound_ps=result.completion_ps)).warnings == ()


def test_lost_frames_fail_a_done_run_and_not_a_partial_one() -> None:
    result = synthetic.all_to_all()
    lost = replace(result, frames_sent=result.frames + 3)
    assert judge(lost).outcome is Outcome.FAILED
    assert "3 data frames were sent and never executed" in judge(lost).lines[0].text
    assert judge(replace(lost, status=Status.PARTIAL)).outcome is Outcome.PARTIAL


def test_stage_times_that_do_not_add_up_fail() -> None:
    result = synthetic.all_to_all()
    verdict = judge(replace(result, frame_ps=result.frame_ps + 1))
    assert verdict.outcome is Outcome.FAILED
    assert "lost-time table is wrong" in verdict.failures[0]


def test_outcomes_and_exit_codes() -> None:
    result = synthetic.all_to_all()
    assert judge(result).exit_code == 0
    assert judge(replace(result, status=Status.PARTIAL)).exit_code == 5
    assert judge(replace(result, status=Status.NO_PROGRESS)).exit_code == 4


def test_waits_are_named_when_the_bound_is_far() -> None:
    verdict = judge(synthetic.moe_skewed(bound_ps=10_000_000))
    assert verdict.limit.cause is Cause.SINK
    assert verdict.limit.text.startswith("switch output busy: 61 % of the time of a frame; GPU 3's ports receive 2.2x the mean")


@pytest.mark.parametrize(
    ("stage", "setting"),
    [
        (Stage.WINDOW, "run.window"),
        (Stage.SOURCE_CREDIT, "fabric.switches.buffer"),
        (Stage.SWITCH_CREDIT, "fabric.gpus.buffer"),
        (Stage.MEMORY_WAIT, "fabric.gpus.memory.bandwidth"),
    ],
)
def test_each_wait_has_its_setting(stage: Stage, setting: str) -> None:
    verdict = judge(synthetic.all_to_all(bound_ps=1_000, stages={stage: 900, Stage.CABLE: 100}))
    assert [text.split("=")[0] for text in verdict.suggestion.settings] == [setting]


def test_an_idle_network_is_limited_by_latency() -> None:
    verdict = judge(synthetic.ring(bound_ps=1_000_000))
    assert verdict.limit.cause is Cause.LATENCY


def test_uneven_planes_ask_for_spray() -> None:
    weights = np.array([0.7, 0.1, 0.1, 0.1])
    verdict = judge(synthetic.all_to_all(plane_weights=weights, bound_ps=1_000))
    assert verdict.suggestion.settings == ("run.spray=round_robin",)


def test_large_frames_are_suggested_only_where_they_help() -> None:
    assert judge(synthetic.all_to_all()).suggestion.settings == ("fabric.frame_max=4160B",)
    assert "fabric.frame_max=4160B" not in judge(synthetic.all_to_all(frame_max=4160)).suggestion.settings


def test_group_metrics_follow_nccl_tests() -> None:
    result = synthetic.all_to_all()
    (group,) = group_metrics(result)
    seconds = result.completion_ps / 1e12
    assert group.algbw_Bps == pytest.approx(8 * synthetic.MIB / seconds)
    assert group.busbw_Bps == pytest.approx(7 * synthetic.MIB / seconds)
    assert group.line_fraction == pytest.approx(7 * synthetic.MIB / seconds / 400e9)


def test_an_unfinished_group_has_no_bandwidth() -> None:
    (group,) = group_metrics(synthetic.partial())
    assert (group.done, group.operations, group.busbw_Bps) == (28, 56, None)


def test_several_groups_share_the_data_moved_by_a_rank() -> None:
    result = synthetic.moe_skewed()
    verdict = judge(result)
    assert verdict.algbw_Bps == verdict.busbw_Bps == pytest.approx(result.data_bytes / 8 / (result.completion_ps / 1e12))


def test_names_tell_ports_apart_only_where_needed() -> None:
    one, two = synthetic.make_fabric(4, 2), synthetic.make_fabric(4, 2, paths=4)
    assert port_name(one, 1) == "GPU 0 -> switch plane 1"
    assert port_name(one, int(one.port_peer[1])) == "switch plane 1 -> GPU 0"
    assert port_name(two, 3) == "GPU 0 port 3 -> switch plane 1"
    assert port_name(two, int(two.port_peer[3])) == "switch plane 1 -> GPU 0 port 3"


def test_hot_links_are_sorted_and_compared_with_used_ones() -> None:
    links = hot_links(synthetic.moe_skewed(), 5)
    assert [link.name for link in links[:4]] == [f"switch plane {plane} -> GPU 3" for plane in range(4)]
    assert [link.wire_bytes for link in links] == sorted((link.wire_bytes for link in links), reverse=True)
    assert links[0].ratio > 2


def test_percentiles_are_nearest_rank_and_frames_upper_edges() -> None:
    result = synthetic.all_to_all()
    edges = np.array([0, 10, 20, 40])
    result = replace(result, latency_edges_ps=edges, latency_counts=np.array([50, 49, 1, 0]))
    operations, frames = latency_rows(result)
    latency = np.sort(result.operations.done_ps)
    assert (operations.p50_ps, operations.p99_ps, operations.max_ps) == (latency[27], latency[55], latency[55])
    assert (frames.count, frames.p50_ps, frames.p99_ps, frames.max_ps) == (100, 10, 20, 40)


@given(st.lists(st.integers(0, 10**15), min_size=len(Stage), max_size=len(Stage)).filter(any))
def test_shares_add_up_to_one(times: list[int]) -> None:
    result: Result = replace(_EMPTY, stage_ps=np.array(times, np.int64))
    assert sum(stage_shares(result).values()) == pytest.approx(1.0)


_EMPTY = synthetic.nothing_moved()


def test_percent_has_its_unit() -> None:
    assert percent(0.98333) == "98.3 %"


def test_a_result_is_judged_without_a_compiler() -> None:
    code = "import scalefab.simulator.verdict, sys; sys.exit('numba' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
