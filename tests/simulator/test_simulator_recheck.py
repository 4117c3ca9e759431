"""Paths that swallow frames without a word: RH gives them up, work moves, and they are used again when they work."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated import bare

from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.faults import threshold_of
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Ending, Result, Status
from scalefab.simulator.run import simulate

LOSS = FaultKind.LOSS_RATE
MS = 1_000_000_000

WORKLOADS = (
    "all_to_all: {bytes_per_pair: 256KiB}",
    "all_to_all: {bytes_per_pair: 64KiB, operation: store, posted: false}",
    "permutation: {operation: get, bytes: 512KiB}",
)


def twice(workload: str, *settings: str, stacks: int = 2) -> Scenario:
    """The workload at the start, and again after 12 ms."""
    entries = f"{{{workload}}}\n  - {{{workload}, name: later, start: 12ms}}"
    return bare(entries, "run.verify=memory", *settings, gpus=4, stacks=stacks)


def run(scenario: Scenario, *rows: Fault) -> Result:
    return simulate(replace(scenario, faults=tuple(sorted(rows, key=lambda row: row.at_ps))))


def black_hole(ports: tuple[int, ...], end_ps: int) -> list[Fault]:
    """The directions out of the ports lose every frame from 1 us on."""
    rows = [Fault(1_000_000, port, LOSS, threshold_of(1.0)) for port in ports]
    return rows + [Fault(end_ps, port, LOSS, 0) for port in ports if end_ps]


def whole(result: Result, clean: Result) -> None:
    assert result.status is Status.DONE and result.lost_frames == 0
    assert result.data_bytes == clean.data_bytes
    assert result.memory is not None and not result.memory.failures
    assert not (result.operations.ending != Ending.OK).any()


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("way", ["out", "in", "both"])
@pytest.mark.parametrize("llr", ["off", "on"])
def test_a_black_hole_is_left_and_used_again_when_it_works(workload: str, way: str, llr: str) -> None:
    """LLR that re-initialises for ever keeps its port up, so nobody tells of it; without LLR nobody knows."""
    settings = ("fabric.llr.enabled=off",) if llr == "off" else ("fabric.llr.re_init_on_flush=on",)
    scenario = twice(workload, *settings)
    clean = simulate(scenario)
    peer = int(scenario.fabric.port_peer[3])
    ports = {"out": (3,), "in": (peer,), "both": (3, peer)}[way]
    ended = run(scenario, *black_hole(ports, 3 * MS))
    whole(ended, clean)
    assert ended.rh_path_errors > 0
    assert ended.completion_ps < 12 * MS + 1.2 * (clean.completion_ps - 12 * MS)  # as if nothing had been
    if way == "out":
        lasting = run(scenario, *black_hole(ports, 0))
        whole(lasting, clean)
        carried = [int(result.ports.data_bytes[[3, peer]].sum()) for result in (lasting, ended, clean)]
        assert carried[1] - carried[0] > 0.2 * carried[2]


def test_a_switch_output_whose_credits_a_black_hole_swallows_stops_its_plane_and_the_run_says_so() -> None:
    """Nothing is lost for want of room, so what waits for that output holds what is behind it; CONTROL frames ask for ever."""
    scenario = twice(WORKLOADS[0], "fabric.llr.enabled=off")
    result = run(scenario, *black_hole((int(scenario.fabric.port_peer[3]),), 0))
    assert result.status is Status.NO_PROGRESS and result.waits is not None and result.waits.roots
    assert result.now_ps < 30 * MS


def test_the_only_path_comes_back_before_operations_fail() -> None:
    """Given up after 1203.2 us, looked at again as much later: 2 ms without a path are not over yet."""
    scenario = twice(WORKLOADS[0], "fabric.llr.enabled=off", stacks=1)
    whole(run(scenario, *black_hole((1,), 2 * MS)), simulate(scenario))


def test_the_only_path_comes_back_too_late() -> None:
    scenario = twice(WORKLOADS[0], "fabric.llr.enabled=off", stacks=1)
    result = run(scenario, *black_hole((1,), 5 * MS))
    assert result.status is Status.DONE and result.count_endings(Ending.TIMEOUT) > 0
    assert result.memory is not None and not result.memory.failures


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_flapping_link_without_sen(workload: str) -> None:
    scenario = twice(workload, "fabric.sen=off")
    down, up = FaultKind.LINK_DOWN, FaultKind.LINK_UP
    rows = [Fault(int(begin_ms * MS), 3, down) for begin_ms in (0.001, 1.5, 3.0)]
    rows += [Fault(int(end_ms * MS), 3, up) for end_ms in (1.4, 2.9, 4.4)]
    scenario = replace(scenario, faults=())
    result, clean = run(scenario, *rows), simulate(scenario)
    whole(result, clean)
    assert result.rh_path_errors > 0
    assert result.completion_ps < 12 * MS + 1.2 * (clean.completion_ps - 12 * MS)
