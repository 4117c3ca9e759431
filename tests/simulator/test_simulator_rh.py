"""RH in the kernel: what links lose for good is sent again end to end, once executed; without losses nothing is sent twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from simulated import bare

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol import goodput
from scalefab.protocol.faults import threshold_of
from scalefab.scenario.scenario import Scenario
from scalefab.simulator import run as driver
from scalefab.simulator import states as builder
from scalefab.simulator.result import Result, Stage, Status
from scalefab.simulator.setup import Kept, make_state


def without_llr(scenario: Scenario) -> Scenario:
    spec = scenario.fabric.spec
    link = replace(spec.link, llr=replace(spec.link.llr, on=False))
    return replace(scenario, fabric=replace(scenario.fabric, spec=replace(spec, link=link)))


def with_copies(monkeypatch: pytest.MonkeyPatch, scenario: Scenario) -> Result:
    """Run with RH's copies and timers even where no frame can be lost."""
    with monkeypatch.context() as patch:
        patch.setattr(builder, "make_state", lambda *arguments: make_state(*arguments[:6], Kept.ALWAYS))
        return driver.simulate(scenario)


FRAME_PS = (2032 + 20) * 10
ONE_WAY_PS = 50_000 + 200_000 + 50_000  # two links and a switch
ROUND_PS = FRAME_PS + 2 * ONE_WAY_PS + (8 + 2032) * 10 + (8 + 64) * 10  # follower of the lost frame; NACK


def goodput_measured(loss: float, frames: int) -> tuple[float, Result]:
    scenario = without_llr(bare(f"point_to_point: {{bytes: {1984 * frames}B, posted: true}}", gpus=2))
    faults = (Fault(0, 0, FaultKind.LOSS_RATE, threshold_of(loss)),)
    result = driver.simulate(replace(scenario, faults=faults))
    return result.frames * FRAME_PS / result.completion_ps, result


@pytest.mark.parametrize(
    ("loss", "frames"),
    [
        pytest.param(1e-5, 4_000_000, marks=pytest.mark.long),
        pytest.param(1e-4, 1_000_000, marks=pytest.mark.long),
        (1e-3, 200_000),
        (1e-2, 100_000),
    ],
)
def test_goodput_under_end_to_end_loss_is_go_back_n(loss: float, frames: int) -> None:
    """goodput.rh: go-back-N, W = frame times from a lost frame to its repetition; RH alone, LLR is off."""
    measured, result = goodput_measured(loss, frames)
    assert result.status is Status.DONE and result.lost_frames == 0 and result.rh_path_errors == 0
    assert measured == pytest.approx(goodput.rh(loss, -(-ROUND_PS // FRAME_PS) + 1), rel=0.02)
    assert int(result.stage_ps.sum()) == result.frame_ps and result.stage_ps[Stage.RH_REPLAY] > 0


@pytest.mark.parametrize(
    "workload",
    [
        "all_to_all: {bytes_per_pair: 64KiB}",
        "all_to_all: {bytes_per_pair: 16KiB, operation: store, posted: false}",
        "incast: {bytes: 256KiB, dst: 0}",
        "permutation: {operation: get, bytes: 256KiB}",
    ],
)
def test_keeping_copies_changes_nothing_without_losses(monkeypatch: pytest.MonkeyPatch, workload: str) -> None:
    scenario = bare(workload, gpus=16)
    bare_run, kept = driver.simulate(scenario), with_copies(monkeypatch, scenario)
    assert kept.completion_ps == bare_run.completion_ps and kept.rh_replays == kept.rh_nacks == kept.rh_path_errors == 0
    assert (kept.ports.wire_bytes == bare_run.ports.wire_bytes).all()


@pytest.mark.parametrize("gpus", [64, pytest.param(1024, marks=pytest.mark.long)])
def test_an_incast_of_all_replays_nothing_and_shares_fairly(monkeypatch: pytest.MonkeyPatch, gpus: int) -> None:
    result = with_copies(monkeypatch, bare("incast: {bytes: 512KiB, dst: 0}", gpus=gpus))
    assert result.status is Status.DONE
    assert result.rh_replays == result.rh_nacks == result.rh_path_errors == 0
    done = result.operations.done_ps
    assert done.min() > 0.98 * done.max()


@pytest.mark.parametrize("loss", [1e-3, 1e-2])
@pytest.mark.parametrize(
    "workload",
    [
        "all_to_all: {bytes_per_pair: 64KiB}",
        "all_to_all: {bytes_per_pair: 16KiB, operation: store, posted: false}",
        "permutation: {operation: load, bytes: 64KiB, transaction: 128B}",
        "permutation: {operation: get, bytes: 256KiB}",
    ],
)
def test_all_is_executed_once_without_llr(workload: str, loss: float) -> None:
    scenario = without_llr(bare(workload, gpus=8))
    faults = tuple(Fault(0, port, FaultKind.LOSS_RATE, threshold_of(loss)) for port in range(scenario.fabric.ports))
    result = driver.simulate(replace(scenario, faults=faults))
    clean = driver.simulate(scenario)
    assert result.status is Status.DONE and result.lost_frames == 0 and result.rh_replays > 0
    assert result.data_bytes == clean.data_bytes and result.completion_ps > clean.completion_ps
    assert int(result.stage_ps.sum()) == result.frame_ps and (result.stage_ps >= 0).all()


def test_what_a_flush_drops_is_sent_again_end_to_end() -> None:
    def stop(port: int) -> tuple[Any, ...]:
        return Fault(2_000_000, port, FaultKind.ACK_PAUSE), Fault(40_000_000, port, FaultKind.ACK_RESUME)

    scenario = bare("all_to_all: {bytes_per_pair: 512KiB}", "fabric.llr.re_init_on_flush=on", gpus=4)
    faults = tuple(sorted((row for port in (0, 5) for row in stop(port)), key=lambda row: int(row.at_ps)))
    result = driver.simulate(replace(scenario, faults=faults))
    assert result.status is Status.DONE and result.lost_frames == 0
    assert any("LLR gave up" in note for note in result.notes)
