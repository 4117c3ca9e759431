"""LLR on every port: links that lose frames deliver all of them, once, in order, and say what it cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from simulated import bare

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.fabric.linkspec import LlrSpec
from scalefab.protocol import llr
from scalefab.protocol.faults import threshold_of
from scalefab.protocol.fec_codes import Fec
from scalefab.protocol.fec_loss import LineErrors, frame_loss
from scalefab.simulator import run as driver
from scalefab.simulator import states as builder
from scalefab.simulator.result import Ending, Result, Stage, Status
from scalefab.simulator.setup import make_state


def lossy(monkeypatch: pytest.MonkeyPatch, workload: str, loss: float, *overrides: str, **holes: Any) -> tuple[Result, Any]:
    """Run with every link corrupting a share of its frames; also returns the kernel's arrays."""
    kept = []

    def keep(*arguments: Any) -> Any:
        kept.append(make_state(*arguments))
        return kept[0]

    monkeypatch.setattr(builder, "make_state", keep)
    scenario = bare(workload, *overrides, **holes)
    # at 5 % a frame in 160,000 is lost four times running: no limit
    link = replace(scenario.fabric.spec.link, llr=LlrSpec(replay_count_max=llr.NO_REPLAY_LIMIT))
    fabric = replace(scenario.fabric, spec=replace(scenario.fabric.spec, link=link))
    faults = tuple(Fault(0, port, FaultKind.LOSS_RATE, threshold_of(loss)) for port in range(fabric.ports)) if loss else ()
    return driver.simulate(replace(scenario, fabric=fabric, faults=faults)), kept[0]


@pytest.mark.parametrize("loss", [1e-3, 1e-2, 5e-2])
@pytest.mark.parametrize(
    "workload",
    [
        "all_to_all: {bytes_per_pair: 128KiB}",
        "all_to_all: {bytes_per_pair: 16KiB, operation: store, posted: false}",
        "incast: {bytes: 64KiB, dst: 0}",
        "permutation: {operation: get, bytes: 256KiB}",
    ],
)
def test_lossy_links_deliver_everything_once(monkeypatch: pytest.MonkeyPatch, workload: str, loss: float) -> None:
    clean, _ = lossy(monkeypatch, workload, 0.0, gpus=8)
    result, state = lossy(monkeypatch, workload, loss, gpus=8)
    assert result.status is Status.DONE
    assert result.frames == result.frames_sent and result.data_bytes == clean.data_bytes
    assert int(result.stage_ps.sum()) == result.frame_ps and (result.stage_ps >= 0).all()
    assert int(state.session.gaps.sum()) == 0 and result.rh_nacks == 0
    if loss < 5e-2:  # the end-to-end layer notices nothing; at 5 % links take longer than its timer for some frames
        assert int(state.session.duplicates.sum()) == result.rh_replays == 0
    assert (state.llr_tx.state == llr.TX_ADVANCE).all() and int(state.llr_tx.flushes.sum()) == 0
    if loss >= 1e-2:
        assert int(result.ports.replayed_frames.sum()) > 0 and int(result.ports.llr_nacks.sum()) > 0
        assert result.stage_ps[Stage.LINK_REPLAY] > 0
        assert result.completion_ps > clean.completion_ps


def test_every_copy_is_acknowledged_in_the_end_and_no_ack_is_wasted(monkeypatch: pytest.MonkeyPatch) -> None:
    result, state = lossy(monkeypatch, "all_to_all: {bytes_per_pair: 64KiB}", 0.0, gpus=8)
    np.testing.assert_array_equal(state.port.copy_accepted, state.port.copy_next)
    sent = result.ports.frames + result.ports.ack_frames
    assert (result.ports.llr_acks <= sent[result.fabric.port_peer]).all()
    assert int(result.ports.llr_nacks.sum()) == int(result.ports.replayed_frames.sum()) == 0


def test_goodput_under_loss_is_go_back_n(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loss costs the frames of one NACK round trip: T = n t (1 + p k), k = ceil(round trip / t) (go-back-N).

    One long flow crosses two links; the second one's losses overlap with the first one's, so T lies between one link's and two
    links' worth; a resent frame that is lost again waits for the timer (p of the losses, 5 us each).
    """
    loss, size = 2e-3, 64 << 20
    clean, _ = lossy(monkeypatch, f"point_to_point: {{bytes: {size}B, posted: true}}", 0.0, gpus=2)
    result, _ = lossy(monkeypatch, f"point_to_point: {{bytes: {size}B, posted: true}}", loss, gpus=2)
    frames, frame_ps = result.frames, 2052 * 10
    resent = int(result.ports.replayed_frames.sum())
    nacks = int(result.ports.llr_nacks.sum())
    assert nacks == pytest.approx(2 * loss * frames, rel=0.25)
    round_trip_ps = (
        2040 * 10 + 2 * 50_000 + 80
    )  # the lost frame's end, the NACK's way back; it waits for no frame: the way back is idle
    per_loss = resent / nacks
    assert round_trip_ps / frame_ps - 1 <= per_loss <= round_trip_ps / frame_ps + 2
    extra_ps = result.completion_ps - clean.completion_ps
    assert 0.4 * resent * frame_ps <= extra_ps <= 1.1 * resent * frame_ps + nacks * loss * 3 * 5_000_000 + 10_000_000


@pytest.mark.parametrize(
    ("fec", "ber", "burst", "depth"), [("rs272", 5e-4, 0.0, 4), ("none", 1e-7, 0.0, 4), ("rs272", 3e-4, 0.75, 1)]
)
def test_links_lose_what_fec_leaves(fec: str, ber: float, burst: float, depth: int) -> None:
    """The share of frames that links lose is the closed form's, within the sampling error of some thousand losses or fewer."""
    overrides = [f"fabric.fec={fec}", f"fabric.ber={ber}", f"fabric.burst={burst}"]
    overrides += [f"fabric.fec_depth={depth}"] if fec != "none" else []
    result = driver.simulate(bare("all_to_all: {bytes_per_pair: 2MiB}", *overrides, gpus=8))
    assert result.status is Status.DONE and result.lost_frames == 0
    nacks, sent = int(result.ports.llr_nacks.sum()), int(result.ports.frames.sum())
    chance = frame_loss(Fec[fec.upper()], LineErrors(ber, burst), 2052, depth)
    expected = chance * sent
    assert expected > 30
    assert abs(nacks - expected) < 6 * expected**0.5 + 0.1 * expected
    assert result.completion_ps > result.bound_ps


def test_lines_with_few_errors_cost_nothing_and_seeds_choose_the_lost_frames() -> None:
    quiet = driver.simulate(bare("all_to_all: {bytes_per_pair: 64KiB}", "fabric.ber=1e-9", gpus=8))
    clean = driver.simulate(bare("all_to_all: {bytes_per_pair: 64KiB}", gpus=8))
    assert quiet.completion_ps == clean.completion_ps
    workload, fec, ber = "all_to_all: {bytes_per_pair: 512KiB}", "fabric.fec=none", "fabric.ber=1e-7"
    seeds = [driver.simulate(bare(workload, fec, ber, seed, gpus=8)) for seed in ("run.seed=1", "run.seed=1", "run.seed=2")]
    assert seeds[0].completion_ps == seeds[1].completion_ps != seeds[2].completion_ps


def test_a_line_too_bad_for_llr_ends_with_its_reason() -> None:
    result = driver.simulate(bare("all_to_all: {bytes_per_pair: 256KiB}", "fabric.fec=none", "fabric.ber=3e-5", gpus=4))
    assert result.status is Status.DONE and result.count_endings(Ending.TIMEOUT) > 0  # of GPUs that no path is left to
    assert any("LLR gave up" in note for note in result.notes)
    assert int(result.stage_ps.sum()) == result.frame_ps
