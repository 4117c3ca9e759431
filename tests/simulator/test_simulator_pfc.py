"""PFC instead of CBFC: nothing lost with its head-room, frames lost with too little, the same throughput, a VC at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from simulated import bare

from scalefab.errors import InputError
from scalefab.fabric.build import build_fabric
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.fabric.linkspec import FlowControl, LinkSpec, PfcSpec, VcMap
from scalefab.protocol.limits import pfc_headroom_bytes
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.linksetup import shape_of
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate
from scalefab.simulator.setup import make_state
from scalefab.simulator.waits import WaitReason

INCAST = "incast: {bytes: 512KiB, dst: 0}"
PFC = LinkSpec(flow_control=FlowControl.PFC)


def told(scenario: Scenario, link: LinkSpec) -> Scenario:
    spec = replace(scenario.fabric_spec, link=link)
    return replace(scenario, fabric_spec=spec, fabric=build_fabric(spec))


def run(workload: str, link: LinkSpec, *overrides: str, **holes: Any) -> Result:
    return simulate(told(bare(workload, *overrides, **holes), link))


def headroom(scenario: Scenario) -> int:
    return pfc_headroom_bytes(shape_of(scenario.fabric, 0, scenario.fabric_spec.link, scenario.fabric_spec.frame_max))


@pytest.mark.parametrize("delay", ["50ns", "500ns"])
@pytest.mark.parametrize("gpus", [3, 8])
def test_an_incast_loses_nothing_with_computed_headroom(gpus: int, delay: str) -> None:
    overrides = (f"fabric.cables.delay={delay}", "fabric.switches.buffer=192KiB", "fabric.gpus.buffer=192KiB")
    result = run(INCAST, PFC, *overrides, gpus=gpus)
    assert result.status is Status.DONE and result.lost_frames == 0
    assert not any("no room" in note for note in result.notes)
    assert int(result.stage_ps.sum()) == result.frame_ps
    room = 192 << 10
    assert room // 2 < int(result.ports.peak_credit_bytes.max()) <= room  # it was needed
    assert result.cf_updates == 0


def test_too_little_headroom_loses_frames() -> None:
    overrides = ("fabric.cables.delay=500ns", "fabric.switches.buffer=192KiB", "fabric.gpus.buffer=192KiB")
    late = replace(PFC, pfc=PfcSpec(xoff_bytes=(192 << 10) - 20_000))
    result = run(INCAST, late, *overrides, gpus=8)
    assert result.status is Status.DONE and result.lost_frames == 0 and result.rh_replays > 0  # RH sends them again
    assert any("found no room" in note for note in result.notes)


def test_without_flow_control_frames_without_room_are_dropped() -> None:
    link = LinkSpec(flow_control=FlowControl.NONE)
    full = run(INCAST, link, "fabric.switches.buffer=64KiB", gpus=8)
    assert full.status is Status.DONE and full.lost_frames == 0 and full.rh_replays > 0
    assert any("found no room" in note for note in full.notes)
    ample = run("all_to_all: {bytes_per_pair: 64KiB}", link, gpus=4)
    assert ample.status is Status.DONE and ample.lost_frames == 0


@pytest.mark.parametrize(
    "workload",
    [
        INCAST,
        "all_to_all: {bytes_per_pair: 256KiB}",
        "permutation: {bytes: 1MiB}",
        "all_to_all: {bytes_per_pair: 64KiB, posted: false}",
    ],
)
def test_throughput_is_that_of_cbfc(workload: str) -> None:
    paused, credited = (run(workload, link, gpus=8) for link in (PFC, LinkSpec()))
    assert paused.status is credited.status is Status.DONE
    assert paused.completion_ps == pytest.approx(credited.completion_ps, rel=0.01)


def test_a_pause_holds_one_vc_only() -> None:
    """GPU 0 takes nothing of VC 0 until 40 us: stores to it stand still, bulk writes run at the line's rate meanwhile."""
    loads = "point_to_point: {operation: store, src: 1, dst: 0, bytes: 2MiB, transaction: 256B, posted: true}"
    puts = "point_to_point: {operation: put, src: 2, dst: 0, bytes: 2MiB, posted: true}"
    scenario = told(bare(f"{loads}\n  - {puts}\n    after: []", gpus=3), PFC)
    table = (Fault(0, 0, FaultKind.DRAIN, 0, 0), Fault(40_000_000, 0, FaultKind.DRAIN, -1, 0))
    alone = simulate(told(bare(puts, gpus=3), PFC))
    result = simulate(replace(scenario, faults=table))
    assert result.status is Status.DONE and result.lost_frames == 0
    stores, writes = result.operations.done_ps[:2]
    assert stores > 40_000_000
    shared_ps = (256 << 10) * 10  # the stores that fill GPU 0's buffer before they are paused share the line, 10 ps a byte
    assert alone.completion_ps < writes < (alone.completion_ps + shared_ps) * 1.02


def test_a_pause_is_told_again_and_ends_by_itself() -> None:
    """A pause of few quanta is told again for as long as the buffer is full: nothing is lost."""
    short = replace(PFC, pfc=PfcSpec(quanta=200))
    scenario = told(
        bare("point_to_point: {operation: store, src: 1, dst: 0, bytes: 2MiB, transaction: 256B, posted: true}", gpus=2), short
    )
    table = (Fault(0, 0, FaultKind.DRAIN, 0, 0), Fault(60_000_000, 0, FaultKind.DRAIN, -1, 0))
    result = simulate(replace(scenario, faults=table))
    assert result.status is Status.DONE and result.lost_frames == 0
    assert result.completion_ps > 60_000_000


def test_request_loops_deadlock_under_pfc_too() -> None:
    entries = [f"permutation: {{operation: load, bytes: 256KiB, transaction: 256B, shift: {shift}}}" for shift in (1, 2, 3)]
    workload = entries[0] + "".join(f"\n  - {entry}\n    after: []" for entry in entries[1:])
    buffers = ("fabric.gpus.buffer=32KiB", "fabric.switches.buffer=32KiB")

    def with_queue(link: LinkSpec) -> Result:
        scenario = bare(workload, *buffers, gpus=4)
        spec = scenario.fabric_spec
        spec = replace(spec, link=link, endpoints=replace(spec.endpoints, response_queue_bytes=2048))
        return simulate(replace(scenario, fabric_spec=spec, fabric=build_fabric(spec)))

    stuck = with_queue(replace(PFC, vc_map=VcMap.ONE))
    assert stuck.status is Status.NO_PROGRESS and stuck.waits is not None and stuck.waits.cycle
    assert WaitReason.PAUSE in {edge.reason for edge in stuck.waits.cycle}
    assert not any("defect" in root.text for root in stuck.waits.roots)
    assert with_queue(PFC).status is Status.DONE


def test_thresholds_and_what_is_refused() -> None:
    scenario = told(bare(INCAST, gpus=3), PFC)
    state = make_state(scenario.graph, scenario.fabric, scenario.options, 1)
    r = state.pause_rx[0, 0]
    assert r.buffer_bytes - r.xoff_bytes == headroom(scenario) + 2048 and r.xoff_bytes - r.xon_bytes == 2 * 2048
    with pytest.raises(InputError, match="at most 8"):
        wide = replace(PFC, vcs=16)
        make_state(scenario.graph, told(scenario, wide).fabric, scenario.options, 1)
    with pytest.raises(InputError, match="on all links or on none"):
        links = [PFC] * (scenario.fabric.ports - 1) + [LinkSpec()]
        make_state(scenario.graph, scenario.fabric, scenario.options, 1, links=links)
    assert np.all(state.pause_rx.quanta == 65_535)
