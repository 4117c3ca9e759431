"""SEN of load: paths over degraded or congested ports take about a quarter, and what is sprayed ends sooner than without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated import bare
from test_simulator_tiers import tiered

from scalefab.errors import InputError
from scalefab.fabric.faultspec import Fault, FaultKind
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate

RATE = FaultKind.RATE
SLOW = 200 * 10**9
FULL = 800 * 10**9


def run(scenario: Scenario, *rows: Fault) -> Result:
    result = simulate(replace(scenario, faults=tuple(sorted(rows, key=lambda row: row.at_ps))))
    assert result.status is Status.DONE and result.lost_frames == 0
    assert result.memory is not None and not result.memory.failures
    assert int(result.stage_ps.sum()) == result.frame_ps and (result.stage_ps >= 0).all()
    assert result.rh_replays == 0 and result.rh_path_errors == 0
    return result


def slow_plane(scenario: Scenario, at_ps: int, bps: int, ends: str) -> list[Fault]:
    """Plane 1 runs at another rate: the GPUs' ports into it, the switch's ports out of it, or both."""
    fabric = scenario.fabric
    ports = [p for p in range(fabric.endpoints * fabric.endpoint_ports) if int(fabric.port_plane[p]) == 1]
    chosen = {"gpu": ports, "switch": [int(fabric.port_peer[p]) for p in ports]}
    chosen["both"] = chosen["gpu"] + chosen["switch"]
    return [Fault(at_ps, port, RATE, bps) for port in chosen[ends]]


def share(result: Result) -> float:
    """Share of the GPUs' data bytes that plane 1 carries."""
    fabric = result.fabric
    ports = np.arange(fabric.endpoints * fabric.endpoint_ports)
    data = result.ports.data_bytes[ports]
    return float(data[fabric.port_plane[ports] == 1].sum() / data.sum())


@pytest.mark.parametrize("spray", ["round_robin", "least_queued"])
@pytest.mark.parametrize("ends", ["gpu", "switch", "both"])
def test_bulk_leaves_a_degraded_plane_by_its_weight(spray: str, ends: str) -> None:
    """A quarter of a turn: 1 of 5 frames on one of two planes; at a quarter of the rate both planes end together."""
    found = {}
    for sen in ("on", "off"):
        scenario = bare("permutation: {bytes: 8MiB}", "run.verify=memory", f"fabric.sen={sen}", gpus=4, stacks=2, spray=spray)
        found[sen] = run(scenario, *slow_plane(scenario, 0, SLOW, ends))
    # least queued over one's own slow port: fourfold the bytes of a line at a quarter, 1 of 17
    expected = 1 / 17 if (spray, ends) != ("round_robin", "gpu") and spray == "least_queued" and ends != "switch" else 0.2
    assert share(found["on"]) == pytest.approx(expected, abs=0.03)
    if spray == "round_robin":
        assert share(found["off"]) == pytest.approx(0.5, abs=0.01)
        assert found["on"].completion_ps < 0.45 * found["off"].completion_ps


def test_a_plane_at_its_rate_again_takes_its_half_again() -> None:
    scenario = bare("permutation: {bytes: 1MiB, repeat: 20}", "run.verify=memory", gpus=4, stacks=2)
    slow, back = slow_plane(scenario, 0, SLOW, "both"), slow_plane(scenario, 20_000_000, FULL, "both")
    assert share(run(scenario, *slow)) < 0.25
    assert 0.4 < share(run(scenario, *slow, *back)) < 0.5


def test_requests_leave_a_degraded_plane_but_for_a_quarter_of_the_buckets() -> None:
    entry = "permutation: {operation: store, bytes: 4MiB, posted: true}, start: 10us"
    scenario = bare(f"{{{entry}}}", "run.verify=memory", gpus=4, stacks=2)
    assert share(run(scenario, *slow_plane(scenario, 1_000_000, SLOW, "switch"))) == pytest.approx(0.125, abs=0.02)
    off = bare(f"{{{entry}}}", "run.verify=memory", "fabric.sen=off", gpus=4, stacks=2)
    assert share(run(off, *slow_plane(off, 1_000_000, SLOW, "switch"))) == pytest.approx(0.5, abs=0.02)


def test_all_planes_degraded_counts_for_none() -> None:
    scenario = bare("{permutation: {bytes: 1MiB}, start: 10us}", "run.verify=memory", gpus=4, stacks=2)
    rows = [Fault(0, port, RATE, SLOW) for port in range(scenario.fabric.ports)]
    assert share(run(scenario, *rows)) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("where", ["uplink", "down_link"])
def test_a_degraded_link_between_leaf_and_spine_is_avoided_by_those_whose_paths_it_is_on(where: str) -> None:
    found = {}
    for sen in ("on", "off"):
        scenario = tiered("permutation: {bytes: 2MiB, shift: 4}", "run.verify=memory", f"fabric.sen={sen}")
        fabric = scenario.fabric
        uplink = next(int(first) for first in fabric.node_first_uplink if first >= 0) + 1
        port = uplink if where == "uplink" else int(fabric.port_peer[uplink])
        found[sen] = (run(scenario, Fault(0, port, RATE, int(fabric.port_rate_bps[port]) // 4)), port)
    (on, port), (off, _) = found["on"], found["off"]
    assert int(off.ports.data_bytes[port]) > 0
    assert int(on.ports.data_bytes[port]) < 0.6 * int(off.ports.data_bytes[port])
    assert on.completion_ps < 0.8 * off.completion_ps


def hot_port(spray: str, congestion: str) -> Scenario:
    """GPUs 1 .. 4 fill the output of plane 1 to GPU 0; GPU 5 sends to GPU 0 over both planes."""
    hot = "\n  - ".join(
        f"{{point_to_point: {{src: {gpu}, dst: 0, bytes: 4MiB}}, name: h{gpu}, after: []}}" for gpu in range(1, 5)
    )
    entries = f"{hot}\n  - {{point_to_point: {{src: 5, dst: 0, bytes: 4MiB}}, name: probe, after: [], start: 30us}}"
    scenario = bare(entries, "run.verify=memory", f"fabric.sen_congestion={congestion}", gpus=6, stacks=2, spray=spray)
    graph = scenario.graph
    return replace(scenario, graph=replace(graph, stack=np.where(graph.src == 5, -1, 1).astype(graph.stack.dtype)))


@pytest.mark.parametrize("spray", ["round_robin", "least_queued"])
def test_bulk_leaves_a_congested_port_by_its_weight(spray: str) -> None:
    found, ends = {}, {}
    for congestion in ("on", "off"):
        result = found[congestion] = run(hot_port(spray, congestion))
        probe = int(np.flatnonzero(result.graph.src == 5)[0])
        ends[congestion] = int(result.operations.done_ps[probe] - result.operations.ready_ps[probe])
    carried = {key: result.ports.data_bytes[10:12] for key, result in found.items()}
    part = {key: float(data[1] / data.sum()) for key, data in carried.items()}
    assert part["on"] < 0.25
    if spray == "round_robin":
        assert part["off"] == pytest.approx(0.5, abs=0.01) and part["on"] == pytest.approx(0.2, abs=0.03)
    assert ends["on"] < ends["off"]


def test_congestion_that_is_over_counts_no_more() -> None:
    scenario = hot_port("round_robin", "on")
    graph = scenario.graph
    late = replace(graph, start_ps=np.where(graph.src == 5, 500_000_000, graph.start_ps))
    result = run(replace(scenario, graph=late))
    data = result.ports.data_bytes[10:12]
    assert float(data[1] / data.sum()) == pytest.approx(0.5, abs=0.01)


def test_congestion_told_where_nothing_is_congested_changes_nothing() -> None:
    ends = [
        run(bare("all_to_all: {bytes_per_pair: 64KiB}", "run.verify=memory", f"fabric.sen_congestion={word}", gpus=4, stacks=2))
        for word in ("on", "off")
    ]
    assert ends[0].completion_ps == ends[1].completion_ps


def test_telling_of_congestion_needs_sen() -> None:
    with pytest.raises(InputError, match="sen_congestion"):
        bare("all_to_all: {bytes_per_pair: 64KiB}", "fabric.sen=off", "fabric.sen_congestion=on")
