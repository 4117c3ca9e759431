"""Requests that wait for room for their responses: with all DATA on one VC they deadlock, with the VCs of the profile never."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import bare

from scalefab.fabric.build import build_fabric
from scalefab.fabric.linkspec import VcMap
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Stage, Status
from scalefab.simulator.run import simulate
from scalefab.simulator.verdict import judge
from scalefab.simulator.waits import WaitReason

GPUS = 4


def together(*entries: str) -> str:
    """Entries of a workload that start at once."""
    return entries[0] + "".join(f"\n  - {entry}\n    after: []" for entry in entries[1:])


def from_all(operation: str, size: str, transaction: str = "") -> list[str]:
    """Every GPU at every other one, at once."""
    extra = f", transaction: {transaction}" if transaction else ""
    return [f"permutation: {{operation: {operation}, bytes: {size}{extra}, shift: {shift}}}" for shift in range(1, GPUS)]


LOADS = together(*from_all("load", "32KiB", "256B"))
MIXED = together(*from_all("get", "32KiB"), *from_all("store", "32KiB", "64B"), *from_all("load", "16KiB", "64B"))
ATOMICS = together(*from_all("atomic", "8KiB", "8B"), *from_all("put", "32KiB"))
LONG_WAY = together(*from_all("load", "256KiB", "32B"))
PATTERNS = {"loads": LOADS, "mixed": MIXED, "atomics": ATOMICS, "small loads": LONG_WAY}


def told(scenario: Scenario, vc_map: VcMap, queue_bytes: int | None) -> Scenario:
    """The scenario with another VC map and response queue."""
    spec = scenario.fabric_spec
    endpoints = replace(spec.endpoints, response_queue_bytes=queue_bytes)
    spec = replace(spec, link=replace(spec.link, vc_map=vc_map), endpoints=endpoints)
    return replace(scenario, fabric_spec=spec, fabric=build_fabric(spec))


def run(workload: str, vc_map: VcMap, buffer: str, queue_bytes: int | None, *overrides: str, gpus: int = GPUS) -> Result:
    buffers = (f"fabric.gpus.buffer={buffer}", f"fabric.switches.buffer={buffer}")
    return simulate(told(bare(workload, *buffers, *overrides, gpus=gpus), vc_map, queue_bytes))


@pytest.mark.parametrize("pattern", ["loads", "mixed", "small loads"])
@pytest.mark.parametrize("buffer", ["4KiB", "8KiB"])
def test_one_vc_for_all_deadlocks_and_the_cycle_is_named(pattern: str, buffer: str) -> None:
    result = run(PATTERNS[pattern], VcMap.ONE, buffer, 2048)
    assert result.status is Status.NO_PROGRESS
    waits = result.waits
    assert waits is not None and waits.cycle
    for edge, following in zip(waits.cycle, (*waits.cycle[1:], waits.cycle[0]), strict=True):
        assert edge.on == following.waiter
    assert len({edge.waiter for edge in waits.cycle}) == len(waits.cycle)
    reasons = {edge.reason for edge in waits.cycle}
    assert WaitReason.CREDIT in reasons and WaitReason.LEAVES_BY in reasons
    assert any(edge.reason is WaitReason.RESPONSE_ROOM for edge in waits.edges)
    for edge in waits.edges:
        if edge.reason is WaitReason.CREDIT:
            assert edge.needed > edge.left >= 0 and edge.limit == (4096 if buffer == "4KiB" else 8192) // 64
    assert not any("defect" in root.text for root in waits.roots)
    verdict = judge(result)
    assert verdict.exit_code == 4
    assert "deadlock" in str(verdict.lines[0])


@pytest.mark.parametrize("pattern", list(PATTERNS))
@pytest.mark.parametrize("queue_bytes", [8, 600, 4096, None])
@pytest.mark.parametrize("buffer", ["4KiB", "8KiB", "40KiB"])
def test_the_vcs_of_the_profile_never_do(pattern: str, queue_bytes: int | None, buffer: str) -> None:
    for seed in range(1, 4):
        result = run(PATTERNS[pattern], VcMap.PROFILE, buffer, queue_bytes, f"run.seed={seed}", "run.window=32")
        assert result.status is Status.DONE and result.lost_frames == 0 and result.waits is None
        assert int(result.stage_ps.sum()) == result.frame_ps
        assert int(np.count_nonzero(result.operations.done_ps < 0)) == 0


@pytest.mark.parametrize("window", [1, 2, 5])
def test_an_ack_on_a_request_that_waits_is_read_at_once(window: int) -> None:
    """Else a window of the very responses that hold the room would wait for an ACK inside the request that waits for the room."""
    result = run(LOADS, VcMap.PROFILE, "8KiB", 8, f"run.window={window}")
    assert result.status is Status.DONE


def test_ample_buffers_hide_the_danger() -> None:
    """One VC works as long as nothing fills up: why it goes unseen."""
    one = run(LOADS, VcMap.ONE, "256KiB", None)
    assert one.status is Status.DONE and one.stage_ps[Stage.RESPONSE_ROOM] == 0


def test_posted_operations_need_no_room() -> None:
    workload = "all_to_all: {bytes_per_pair: 32KiB, operation: store, transaction: 64B}"
    least, ample = run(workload, VcMap.PROFILE, "64KiB", 8), run(workload, VcMap.PROFILE, "64KiB", None)
    assert (least.completion_ps, least.events) == (ample.completion_ps, ample.events)


def test_reads_need_no_room() -> None:
    """A read request is a descriptor; its data is fetched when the port can send it."""
    workload = together(*from_all("get", "64KiB"))
    assert run(workload, VcMap.PROFILE, "64KiB", 8).completion_ps == run(workload, VcMap.PROFILE, "64KiB", None).completion_ps


@pytest.mark.parametrize("loads", [1, 2, 9, 30])
def test_room_for_one_response_serves_requests_one_after_the_other(loads: int) -> None:
    """Closed form: the next request is taken when the response before it goes on the line, one transmit latency after its own."""
    workload = f"point_to_point: {{operation: load, src: 0, dst: 1, bytes: {256 * loads}B, transaction: 256B}}"
    slow = ["fabric.gpus.tx_latency=1us", "run.pack=off"]
    scenario = bare(workload, *slow, gpus=2)
    first = simulate(bare(workload.replace(f"{256 * loads}B", "256B"), *slow, gpus=2))
    result = simulate(told(scenario, VcMap.PROFILE, 264))
    assert result.status is Status.DONE
    assert abs(result.completion_ps - first.completion_ps - (loads - 1) * 1_000_000) <= 200 * loads  # an ordered set is 80 ps
    two = simulate(told(scenario, VcMap.PROFILE, 2 * 264))
    assert abs(two.completion_ps - first.completion_ps - (loads - 1) // 2 * 1_000_000) <= 200 * loads + 30_000
    if loads > 1:
        assert result.stage_ps[Stage.RESPONSE_ROOM] > 0


def test_a_completion_takes_room_when_the_last_packet_comes() -> None:
    """A write without room for its COMPLETION stays in the buffer, and what follows it on VC 2 waits."""
    workload = together(*from_all("put", "8KiB"))
    slow = ["fabric.gpus.tx_latency=2us"]
    tight = run(workload, VcMap.PROFILE, "64KiB", 8, *slow)
    ample = run(workload, VcMap.PROFILE, "64KiB", None, *slow)
    assert tight.status is ample.status is Status.DONE
    assert tight.completion_ps > ample.completion_ps and tight.stage_ps[Stage.RESPONSE_ROOM] > 0
    assert tight.frames == ample.frames
