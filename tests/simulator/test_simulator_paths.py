"""Ports, planes and spines that die or flap: spaces move to other paths, everything is executed once, on one tier and on two."""

from __future__ import annotations

from dataclasses import replace

import pytest
from simulated import bare
from test_simulator_tiers import tiered

from scalefab.fabric.arrays import Fabric
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.protocol.faults import threshold_of
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate

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


def whole(result: Result, clean: Result) -> None:
    assert result.status is Status.DONE and result.lost_frames == 0
    assert result.data_bytes == clean.data_bytes  # each packet was executed, and RH lets none be executed twice
    assert int(result.stage_ps.sum()) == result.frame_ps and (result.stage_ps >= 0).all()
    assert result.completion_ps >= result.bound_ps


def plane(fabric: Fabric, number: int) -> list[int]:
    """Ports of endpoints into a plane: with them down the plane is dead."""
    ports = fabric.endpoints * fabric.endpoint_ports
    return [port for port in range(ports) if int(fabric.port_plane[port]) == number]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_port_that_dies_moves_its_work_to_the_other_plane(workload: str) -> None:
    scenario = bare(workload, gpus=4, stacks=2)
    result = run(scenario, Fault(1_500_000, 3, DOWN))
    whole(result, simulate(scenario))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_port_that_comes_back_is_used_again(workload: str) -> None:
    scenario = bare(workload, "fabric.llr.data_age=2us", "fabric.llr.pcs_lost=2us", gpus=4, stacks=2)
    times = ((1_000_000, DOWN), (6_000_000, UP), (20_000_000, DOWN), (30_000_000, UP))
    result = run(scenario, *(Fault(at_ps, 3, kind) for at_ps, kind in times))
    whole(result, simulate(scenario))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_plane_that_dies_in_the_middle(workload: str) -> None:
    scenario = bare(workload, gpus=8, stacks=2)
    result = run(scenario, *(Fault(1_500_000, port, DOWN) for port in plane(scenario.fabric, 1)))
    whole(result, simulate(scenario))


@pytest.mark.parametrize("workload", WORKLOADS[:2])
@pytest.mark.parametrize("what", ["uplink", "flap", "spine"])
def test_uplinks_and_spines_die(workload: str, what: str) -> None:
    scenario = tiered(workload.replace("512KiB", "128KiB").replace("128KiB, op", "64KiB, op"))
    fabric = scenario.fabric
    uplink = next(int(first) for first in fabric.node_first_uplink if first >= 0) + 1
    spine = fabric.nodes - 1
    ports = range(int(fabric.node_first_port[spine]), int(fabric.node_first_port[spine] + fabric.node_ports[spine]))
    rows = {
        "uplink": [Fault(1_000_000, uplink, DOWN)],
        "flap": [Fault(1_000_000, uplink, DOWN), Fault(60_000_000, uplink, UP)],
        "spine": [Fault(1_000_000, port, DOWN) for port in ports],
    }
    whole(run(scenario, *rows[what]), simulate(scenario))


def test_bad_lines_a_flapping_link_and_a_dying_plane_at_once() -> None:
    scenario = bare("all_to_all: {bytes_per_pair: 256KiB}", gpus=16, stacks=4)
    fabric = scenario.fabric
    rows = [Fault(0, port, FaultKind.LOSS_RATE, threshold_of(1e-3)) for port in range(fabric.ports)]
    rows += [Fault(2_000_000, port, DOWN) for port in plane(fabric, 2)]
    for begin_ps in (1_000_000, 4_000_000, 7_000_000):
        rows += [Fault(begin_ps, 4, DOWN), Fault(begin_ps + 1_000_000, 4, UP)]
    whole(run(scenario, *rows), simulate(scenario))


def test_an_outage_that_llr_survives_changes_no_path() -> None:
    scenario = bare("all_to_all: {bytes_per_pair: 512KiB}", gpus=4, stacks=2)
    result = run(scenario, Fault(2_000_000, 3, DOWN), Fault(4_000_000, 3, UP))
    whole(result, simulate(scenario))
    assert int(result.ports.replayed_frames.sum()) > 0 and result.rh_replays == 0


@pytest.mark.parametrize("llr", ["on", "off"])
def test_sen_finds_a_dead_port_long_before_the_retry_timer(llr: str) -> None:
    """Without SEN senders wait for RH: 8 expiries without a sign of life, 1203.2 us."""
    ends = {}
    for sen in ("on", "off"):
        settings = (f"fabric.sen={sen}", f"fabric.llr.enabled={llr}")
        scenario = bare("all_to_all: {bytes_per_pair: 512KiB}", *settings, gpus=4, stacks=2)
        result = run(scenario, Fault(1_500_000, 3, DOWN))
        whole(result, simulate(scenario))
        ends[sen] = result.completion_ps
        assert (result.rh_path_errors > 0) == (sen == "off")
    assert ends["on"] < 100_000_000 and 1_000_000_000 < ends["off"] < 2_000_000_000


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("back", [False, True])
def test_a_plane_that_is_drained_before_it_goes_down(workload: str, back: bool) -> None:
    """Work leaves in time: nothing is lost on the way, so RH sends nothing again."""
    scenario = bare(workload, gpus=8, stacks=2)
    rows = []
    for port in plane(scenario.fabric, 1):
        rows += [Fault(1_000_000, port, FaultKind.PORT_DRAIN, 1), Fault(31_000_000, port, DOWN)]
        if back:
            rows += [Fault(40_000_000, port, UP), Fault(40_000_000, port, FaultKind.PORT_DRAIN, 0)]
    result = run(scenario, *rows)
    whole(result, simulate(scenario))
    assert result.rh_replays == 0 and result.rh_path_errors == 0


@pytest.mark.parametrize("what", ["port", "spine"])
def test_a_drained_port_and_spine_lose_nothing(what: str) -> None:
    scenario = tiered("all_to_all: {bytes_per_pair: 128KiB}") if what == "spine" else bare(WORKLOADS[0], gpus=4, stacks=2)
    fabric = scenario.fabric
    last = fabric.nodes - 1
    spine = range(int(fabric.node_first_port[last]), int(fabric.node_first_port[last] + fabric.node_ports[last]))
    ports = [3] if what == "port" else list(spine)
    rows = [Fault(1_000_000, port, FaultKind.PORT_DRAIN, 1) for port in ports]
    rows += [Fault(21_000_000, port, DOWN) for port in ports]
    result = run(scenario, *rows)
    whole(result, simulate(scenario))
    assert result.rh_replays == 0 and result.rh_path_errors == 0


def test_a_drain_that_is_called_off_lets_the_path_be_used_again() -> None:
    scenario = bare("permutation: {bytes: 128KiB, repeat: 200}", gpus=4, stacks=2)
    ports = plane(scenario.fabric, 1)
    rows = [Fault(1_000_000, port, FaultKind.PORT_DRAIN, 1) for port in ports]
    rows += [Fault(21_000_000, port, FaultKind.PORT_DRAIN, 0) for port in ports]
    result, clean = run(scenario, *rows), simulate(scenario)
    whole(result, clean)
    drained = run(scenario, *rows[: len(ports)])
    whole(drained, clean)
    assert clean.completion_ps < result.completion_ps < 0.75 * drained.completion_ps
    assert int(drained.ports.data_bytes[ports].sum()) < int(result.ports.data_bytes[ports].sum())


def test_a_port_that_changes_again_while_it_is_told_does_not_keep_the_run_going() -> None:
    """The repetition of an event (after 100 us) falls between the copies of the next one."""
    scenario = bare("all_to_all: {bytes_per_pair: 8MiB}", gpus=4, stacks=2)
    rows = [Fault(1_000_000, 3, FaultKind.PORT_DRAIN, 1), Fault(102_500_000, 3, FaultKind.PORT_DRAIN, 0)]
    result = run(scenario, *rows)
    whole(result, simulate(scenario))
    assert result.now_ps < 10 * result.completion_ps


@pytest.mark.parametrize("workload", WORKLOADS)
def test_work_that_found_no_live_path_takes_the_first_that_comes_back(workload: str) -> None:
    scenario = bare(workload, gpus=2, stacks=2)
    result = run(scenario, *(Fault(0, port, DOWN) for port in (0, 1, 3)), Fault(90_000_000, 0, UP))
    whole(result, simulate(scenario))
    assert result.completion_ps > 90_000_000


def test_waits_of_work_that_moves_are_counted_port_by_port() -> None:
    scenario = bare("all_reduce: {size: 256KiB}", gpus=3, stacks=3)
    drain = [Fault(0, 0, FaultKind.PORT_DRAIN, 1), Fault(3_000_000, 0, FaultKind.PORT_DRAIN, 0)]
    result = run(scenario, drain[0], Fault(1_500_000, 0, DOWN), Fault(3_000_000, 0, UP), drain[1])
    whole(result, simulate(scenario))
