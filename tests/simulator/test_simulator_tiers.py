"""Leaf-spine planes in the simulator: closed forms of one frame, nothing lost, links used as the routing rule says."""

from __future__ import annotations

import numpy as np
import pytest

from scalefab.fabric.query import one_way_ps, route
from scalefab.fabric.tiers import oversubscription_text, plane_shape
from scalefab.protocol import switching, tiers
from scalefab.protocol.tiers import sprayed_place
from scalefab.scenario import parse_scenario
from scalefab.scenario.scenario import Scenario
from scalefab.simulator.advice import Cause
from scalefab.simulator.metrics import LinkKind, link_kinds, plane_bytes, port_name
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate
from scalefab.simulator.verdict import judge
from scalefab.workload.bounds import LEAF_UPLINKS, SPINE_DOWN_LINKS, Bound, bound

TEXT = """
scalefab: 1
fabric:
  gpus: {{preset: ethlink-gpu-1x800g, count: {gpus}, stacks: {stacks}}}
  switches: {{planes: {stacks}, ports: {ports}, leaves: {leaves}, uplinks: {uplinks}{more}}}
  spine: {{count: {spines}, ports: 64, latency: 300ns}}
workload:
  - {workload}
run: {{spray: {spray}}}
"""


def tiered(workload: str, *overrides: str, **holes: object) -> Scenario:
    values = {"gpus": 16, "stacks": 1, "ports": 16, "leaves": 4, "uplinks": 4, "spines": 4, "more": "", "spray": "round_robin"}
    return parse_scenario(TEXT.format(workload=workload, **(values | holes)), "tiers.yaml", overrides)


def run(workload: str, *overrides: str, **holes: object) -> Result:
    return simulate(tiered(workload, *overrides, **holes))


def loads(result: Result, kind: LinkKind) -> np.ndarray:
    return result.ports.data_bytes[link_kinds(result.fabric) == kind]


@pytest.mark.parametrize(("dst", "size"), [(3, 64), (4, 64), (15, 1984)])
def test_one_frame_takes_the_closed_form(dst: int, size: int) -> None:
    result = run(f"point_to_point: {{operation: put, src: 0, dst: {dst}, bytes: {size}B, posted: true}}")
    frame = 24 + 16 + size + 8
    expected = one_way_ps(result.fabric, frame, dst=dst) + int(result.fabric.node_memory_ps[dst])
    assert result.completion_ps == expected
    assert result.bound_ps == expected  # the dependency chain knows the further switches


@pytest.mark.parametrize("spray", ["hash", "round_robin", "least_queued", "single"])
@pytest.mark.parametrize("stacks", [1, 2])
def test_every_byte_arrives(spray: str, stacks: int) -> None:
    result = run("all_to_all: {bytes_per_pair: 9KB}", stacks=stacks, spray=spray)
    assert (result.status, result.lost_frames) == (Status.DONE, 0)
    assert result.data_bytes == 16 * 15 * 9000
    assert result.completion_ps >= result.bound_ps
    assert int(result.stage_ps.sum()) == result.frame_ps
    # 12 of the 15 targets of each GPU are on other leaves
    between = 16 * 12 * 9000
    assert loads(result, LinkKind.FROM_GPU).sum() == loads(result, LinkKind.TO_GPU).sum() == 16 * 15 * 9000
    assert loads(result, LinkKind.UPLINK).sum() == loads(result, LinkKind.DOWN_LINK).sum() == between


def test_stores_loads_and_reads_find_their_way() -> None:
    for kind in ("load", "store", "get", "atomic"):
        size = 512 if kind == "atomic" else 4096
        more = ", transaction: 8B" if kind == "atomic" else ""
        result = run(f"permutation: {{operation: {kind}, bytes: {size}B, shift: 5{more}}}")
        assert (result.status, result.lost_frames, result.data_bytes) == (Status.DONE, 0, 16 * size)


def test_links_are_used_alike() -> None:
    """One frame a path id and pair: each link between leaf and spine carries the same bytes."""
    result = run("all_to_all: {bytes_per_pair: 7936B}")  # 4 full packets, 4 uplink ids
    for kind in LinkKind:
        assert len(set(loads(result, kind).tolist())) == 1, kind


def test_a_trace_of_one_pair_is_the_route() -> None:
    result = run("point_to_point: {operation: put, src: 1, dst: 14, bytes: 7936B}")
    fabric = result.fabric
    expected = np.zeros(fabric.ports, np.int64)
    for path in range(fabric.paths):
        expected[list(route(fabric, path, 1, 14))] += 1984
    assert result.ports.data_bytes.tolist() == expected.tolist()


def test_half_the_uplinks_are_the_limit() -> None:
    result = run("all_to_all: {bytes_per_pair: 256KiB}", uplinks=2, spines=2)
    verdict = judge(result)
    assert result.bound_cut == LEAF_UPLINKS and verdict.bound_fraction > 0.9
    assert verdict.limit.cause is Cause.UPLINK
    assert "2:1 oversubscribed (4 ports down, 2 up)" in verdict.limit.text
    assert verdict.suggestion.settings == ("fabric.switches.leaves=2", "fabric.switches.uplinks=8", "fabric.spine.count=8")
    better = run("all_to_all: {bytes_per_pair: 256KiB}", *verdict.suggestion.settings, uplinks=2, spines=2)
    assert better.completion_ps < 0.7 * result.completion_ps


def test_what_the_second_tier_limits_is_said_first() -> None:
    """Without the bound in reach: one plane of two is used, its one uplink a leaf is full."""
    result = run("all_to_all: {bytes_per_pair: 64KiB}", stacks=2, spray="single", uplinks=1, spines=1)
    limit = judge(result).limit
    assert limit.cause is Cause.UPLINK and not limit.by_bound
    assert limit.text.startswith("leaf uplinks: they are loaded alike, the busiest is 9")
    assert "4:1 oversubscribed (4 ports down, 1 up); switch output busy: " in limit.text


def test_links_that_the_rule_uses_unevenly_are_the_limit() -> None:
    """(destination + uplink id) div 8 is nearly one number for a leaf of 8: one of its four links from a spine carries most."""
    holes = {"gpus": 32, "leaves": 4, "uplinks": 8, "spines": 2}
    result = run("all_to_all: {bytes_per_pair: 256KiB}", **holes)
    verdict = judge(result)
    assert verdict.limit.cause is Cause.DOWN_LINK and verdict.bound_fraction < 0.6
    assert verdict.limit.text.startswith("spine down-links: plane 0 spine 1 -> leaf ")
    assert "carries 2.6x the mean of its kind" in verdict.limit.text
    assert result.rh_replays > 0  # so uneven that RH's timer expires in the queue of the one link
    assert verdict.suggestion.settings == ("fabric.spine.count=8",)
    even = run("all_to_all: {bytes_per_pair: 256KiB}", *verdict.suggestion.settings, **holes)
    assert judge(even).bound_fraction > 0.9


def test_names_of_links() -> None:
    fabric = tiered("all_to_all: {bytes_per_pair: 1KB}", uplinks=4, spines=2).fabric
    up = int(fabric.node_first_uplink[16])
    assert port_name(fabric, up + 3) == "plane 0 leaf 0 uplink 3 -> spine 1"
    assert port_name(fabric, int(fabric.port_peer[up + 3])) == "plane 0 spine 1 -> leaf 0 uplink 3"
    assert port_name(fabric, 5) == "GPU 5 -> plane 0 leaf 1"
    single = tiered("all_to_all: {bytes_per_pair: 1KB}").fabric
    assert port_name(single, int(single.node_first_uplink[16])) == "plane 0 leaf 0 -> spine 0"


def test_bounds_between_leaves() -> None:
    scenario = tiered("all_to_all: {bytes_per_pair: 256KiB}", uplinks=2, spines=1, more=", uplink_paths: 2", ports=32)
    cuts = {cut.name: cut for cut in bound(scenario.graph, scenario.fabric, pack=True).cuts}
    packets = -(-(256 << 10) // 1984)
    wire = 4 * 12 * ((256 << 10) + packets * 68 + 0)
    for name in (LEAF_UPLINKS, SPINE_DOWN_LINKS):
        assert cuts[name].ps == wire * 10 // 2
        assert oversubscription_text(plane_shape(scenario.fabric_spec)) in cuts[name].detail
    assert "4 x" not in cuts[LEAF_UPLINKS].detail and "1 x 2 links of 800 Gb/s" in cuts[LEAF_UPLINKS].detail
    near = tiered("permutation: {bytes: 1MiB, shift: 1, ranks: 4}")  # ranks 0 .. 3 share a leaf
    cuts = {cut.name: cut.ps for cut in bound(near.graph, near.fabric, pack=True).cuts}
    assert cuts[LEAF_UPLINKS] == cuts[SPINE_DOWN_LINKS] == 0


def test_phases_between_leaves_add_up() -> None:
    """A second phase begins when the first has passed the uplinks."""
    one = bound_of("[{permutation: {bytes: 1MiB, shift: 4, posted: true}}]")
    two = bound_of("[{permutation: {bytes: 1MiB, shift: 4, posted: true}}, {permutation: {bytes: 1MiB, shift: 8, posted: true}}]")
    assert one.cut == two.cut == LEAF_UPLINKS
    assert two.ps >= 1.99 * one.ps


def bound_of(workload: str) -> Bound:
    scenario = tiered("all_to_all: {bytes_per_pair: 1KB}", f"workload={workload}", uplinks=1, spines=1)
    return bound(scenario.graph, scenario.fabric, pack=True)


def test_one_rule_compiled_and_not() -> None:
    for dst in range(0, 1024, 37):
        for uplink in range(16):
            assert switching.leaf_uplink(dst, uplink, 12) == tiers.leaf_uplink(dst, uplink, 12) == (dst + uplink) % 12
            assert switching.spine_link(dst, uplink, 12, 3) == tiers.spine_link(dst, uplink, 12, 3)


def test_turns_take_every_path_once_and_ports_first() -> None:
    places = sprayed_place(np.arange(8 * 16), 8, 16)
    assert sorted(places.tolist()) == list(range(128))
    assert (places[:8] // 16).tolist() == list(range(8))
    assert sprayed_place(np.arange(8), 8, 1).tolist() == list(range(8))


def test_short_messages_of_all_pairs_spread_over_planes() -> None:
    """One packet a pair: no plane may carry much more than the others."""
    moved = plane_bytes(run("all_to_all: {bytes_per_pair: 1984B}", stacks=8))
    assert len(moved) == 8 and moved.max() < 1.25 * moved.mean()
