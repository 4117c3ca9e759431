"""The link layer against its closed forms: go-back-N under loss, credits against the round trip; wraps; the kernel's two ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import bare

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.fabric.linkspec import LinkSpec, LlrSpec
from scalefab.protocol import goodput, llr
from scalefab.protocol.faults import threshold_of
from scalefab.scenario.scenario import Scenario
from scalefab.simulator import run as driver
from scalefab.simulator.result import Result, Status

RATE_BPS = 800 * 10**9
SIZE_BYTES = 2032  # a frame of 1984 B of data
FRAME_PS = (SIZE_BYTES + 20) * 10


def with_link(scenario: Scenario, link: LinkSpec) -> Scenario:
    return replace(scenario, fabric=replace(scenario.fabric, spec=replace(scenario.fabric.spec, link=link)))


def one_flow(frames: int, loss: float, first_seq: int = 0) -> Result:
    scenario = bare(f"point_to_point: {{bytes: {1984 * frames}B, posted: true}}", gpus=2)
    link = replace(scenario.fabric.spec.link, llr=LlrSpec(replay_count_max=llr.NO_REPLAY_LIMIT, first_seq=first_seq))
    faults = (Fault(0, 0, FaultKind.LOSS_RATE, threshold_of(loss)),) if loss else ()
    return driver.simulate(replace(with_link(scenario, link), faults=faults))


@pytest.mark.parametrize(
    ("loss", "frames"),
    [
        pytest.param(1e-5, 4_000_000, marks=pytest.mark.long),
        pytest.param(1e-4, 2_000_000, marks=pytest.mark.long),
        (1e-3, 200_000),
        (1e-2, 400_000),
    ],
)
def test_goodput_under_frame_loss_is_go_back_n(loss: float, frames: int) -> None:
    """`goodput.llr`: go-back-N (Lin and Costello) with LLR's second way to find a loss, the timer."""
    result = one_flow(frames, loss)
    assert result.status is Status.DONE and result.lost_frames == 0 and result.rh_replays == 0
    resent = goodput.nack_frames(SIZE_BYTES, RATE_BPS, 50_000, lost=False)
    by_timer = goodput.timer_frames(SIZE_BYTES, RATE_BPS, llr.REPLAY_TIMER_PS, resent)
    measured = result.frames * FRAME_PS / result.completion_ps
    expected = goodput.llr(loss, resent, by_timer)
    print(f"\nLLR   loss {loss:g}: goodput {measured:.5f}, closed form {expected:.5f}, {measured / expected - 1:+.3%}")
    assert measured == pytest.approx(expected, rel=0.02)
    if loss <= 1e-4:  # the timer is rare: the textbook's form alone
        assert measured == pytest.approx(goodput.go_back_n(loss, resent), rel=0.02)


def credit_limited(credits: int, cable_ps: int, frames: int) -> float:
    """One flow whose switch port grants so few credits; returns data frames' share of the line."""
    scenario = bare(
        f"point_to_point: {{bytes: {1984 * frames}B, posted: true}}",
        f"fabric.switches.buffer={64 * credits}B",
        f"fabric.gpus.buffer={64 * 32_767}B",  # the second link must not be the one that waits
        f"fabric.cables.delay={cable_ps}ps",
        "run.window=32767",
        "fabric.llr.bytes_max=1GiB",
        "fabric.llr.frames_max=100000",
        gpus=2,
    )
    result = driver.simulate(scenario)
    assert result.status is Status.DONE
    assert result.trace is not None
    start = np.sort(result.trace.sample["start_ps"])
    turns = 20 * (credits // 32)
    return float(turns * FRAME_PS / (start[-1] - start[-1 - turns]))


CREDITS = (32, 64, 96, 160, 320, 640, 1280, 4096, 8192)
CABLES_M = (1, 3, 10, 40, 100, 500)


def check_credits(credits: int, cable_m: int) -> None:
    """`goodput.cbfc`: 5 ns a metre; the frame leaves the buffer when the switch has sent it on."""
    cable_ps = 5_000 * cable_m
    window = credits // 32  # a frame takes ceil(2032 / 64) credits
    expected = goodput.cbfc(window, FRAME_PS, cable_ps + 200_000 + FRAME_PS, 80 + cable_ps, 64_000)
    measured = credit_limited(credits, cable_ps, 60 * window + 2_000)
    error = measured / expected - 1
    print(f"\nCBFC  {credits:5} credits, {cable_m:3} m: throughput {measured:.5f}, form {expected:.5f}, {error:+.3%}")
    assert measured == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("cable_m", [1, 40, 500])
@pytest.mark.parametrize("credits", [32, 320, 1280])
def test_throughput_follows_credits_and_cable(credits: int, cable_m: int) -> None:
    check_credits(credits, cable_m)


@pytest.mark.long
@pytest.mark.parametrize("cable_m", CABLES_M)
@pytest.mark.parametrize("credits", CREDITS)
def test_throughput_follows_credits_and_cable_everywhere(credits: int, cable_m: int) -> None:
    check_credits(credits, cable_m)


def test_without_spacing_the_form_is_credits_by_round_trip() -> None:
    for window in (1, 3, 17):
        expected = min(1.0, window * 20_000 / 1_000_000)
        assert goodput.cbfc(window, 20_000, 900_000, 100_000, 0) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("frames", [400, pytest.param((1 << 20) + 5_000, marks=pytest.mark.long)])
def test_sequence_numbers_wrap(frames: int) -> None:
    """By starting just below 2^20, and in the long set by really sending more than 2^20 frames; credits wrap there too."""
    first = (1 << 20) - 150 if frames < 1_000 else 0
    result = one_flow(frames, 1e-2 if frames < 1_000 else 1e-4, first)
    assert result.status is Status.DONE and result.lost_frames == 0 and result.rh_replays == 0
    assert int(result.ports.llr_nacks.sum()) > 0
    assert int(result.ports.frames[0]) == frames


@pytest.mark.parametrize(
    "workload",
    [
        "all_to_all: {bytes_per_pair: 64KiB}",
        "all_to_all: {bytes_per_pair: 16KiB, operation: store, posted: false}",
        "incast: {bytes: 128KiB, dst: 0}",
        "permutation: {operation: get, bytes: 256KiB}",
    ],
)
def test_a_harmless_fault_changes_nothing(workload: str) -> None:
    """The kernel's careful way (sets may be late, copies, timers) is the fast way to the picosecond."""
    scenario = bare(workload, gpus=8)
    fast = driver.simulate(scenario)
    careful = driver.simulate(replace(scenario, faults=(Fault(0, 0, FaultKind.DELAY_SETS, 0),)))
    assert careful.completion_ps == fast.completion_ps
    assert (careful.frames, careful.ack_frames) == (fast.frames, fast.ack_frames)
    np.testing.assert_array_equal(careful.ports.llr_acks, fast.ports.llr_acks)


def test_a_number_left_out_while_credits_are_short() -> None:
    """The frame takes no line time, so its port must look again at once and not in the past."""
    small = ("fabric.switches.buffer=8KiB", "fabric.gpus.buffer=8KiB")
    scenario = bare("all_to_all: {bytes_per_pair: 48KiB}", *small, gpus=2)
    result = driver.simulate(replace(scenario, faults=(Fault(0, 0, FaultKind.SKIP_SEQUENCE, 5),)))
    assert result.status is Status.DONE and result.lost_frames == 0


def test_what_was_owed_while_acks_paused_goes_when_they_resume() -> None:
    small = ("fabric.switches.buffer=8KiB", "fabric.gpus.buffer=8KiB")
    scenario = bare("all_to_all: {bytes_per_pair: 48KiB}", *small, gpus=2)
    faults = (Fault(0, 0, FaultKind.ACK_PAUSE), Fault(0, 2, FaultKind.LOSE_FRAME, 1), Fault(3_000_000, 0, FaultKind.ACK_RESUME))
    result = driver.simulate(replace(scenario, faults=faults))
    assert result.status is Status.DONE and result.lost_frames == 0 and result.completion_ps > 3_000_000
