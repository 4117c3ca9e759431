"""Leaf-spine planes: every frame reaches its target over wired ports, and the links are used evenly where that is promised."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from fabric_domain import spec_of
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.errors import InfeasibleError, InputError
from scalefab.fabric.arrays import Fabric
from scalefab.fabric.build import build_fabric
from scalefab.fabric.query import one_way_ps, plane_bandwidth_bps, route, spine_node, switch_node
from scalefab.fabric.spec import CableSpec, FabricSpec, Fec, SpineSpec
from scalefab.fabric.tiers import derive, down_link_unevenness, oversubscription_text, plane_shape
from scalefab.fabric.wiring import advice, check_wiring
from scalefab.protocol.tiers import TTL

G = 10**9


def tiers_of(
    count: int = 1024,
    *,
    ports: int = 1,
    planes: int = 1,
    leaves: int = 32,
    uplinks: int = 32,
    spines: int = 32,
    uplink_paths: int = 16,
    radix: int = 64,
    spine_radix: int = 64,
    cables: CableSpec | None = None,
    **more: object,
) -> FabricSpec:
    spine = SpineSpec("spine", spines, spine_radix, 800 * G, 300_000, 512 * 1024, cables)
    second = {"leaves": leaves, "uplinks": uplinks, "uplink_paths": uplink_paths, "spine": spine}
    return spec_of(
        endpoints={"count": count, "stacks": ports},
        switches={"name": "leaf", "planes": planes, "radix": radix, **second},
        **more,
    )


@st.composite
def small_tiers(draw: st.DrawFn) -> FabricSpec:
    endpoint_ports, planes = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    count, leaves = draw(st.integers(2, 40)), draw(st.integers(2, 8))
    leaves = -(-count // -(-count // min(leaves, count)))
    links, spines = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    uplinks = links * spines
    paths = draw(st.integers(1, min(16, uplinks)))
    return tiers_of(
        count,
        ports=planes * endpoint_ports,
        planes=planes,
        leaves=leaves,
        uplinks=uplinks,
        spines=spines,
        uplink_paths=paths,
        radix=256,
    )


def walk(fabric: Fabric, path: int, src: int, dst: int) -> list[int]:
    """The open profile's rule, from the arrays alone, as a switch would follow it; returns the ports that the frame leaves by."""
    port_number, uplink = divmod(path, fabric.uplinks)
    port = int(fabric.node_first_port[src]) + port_number
    ports = [port]
    for _ in range(TTL):
        node = int(fabric.port_node[fabric.port_peer[port]])
        attached = int(fabric.port_peer[fabric.node_first_port[dst] + port_number])
        if fabric.port_node[attached] == node:
            port = attached
        elif fabric.node_tier[node] == 0:
            port = int(fabric.node_first_uplink[node]) + (dst + uplink) % int(fabric.node_uplinks[node])
        else:
            n, k = int(fabric.node_uplinks[fabric.endpoints]), int(fabric.node_down_links[node])
            port = int(fabric.node_first_port[node]) + int(fabric.endpoint_leaf[dst]) * k + (dst + uplink) // n % k
        assert fabric.port_node[port] == node  # a port of this switch
        ports.append(port)
        if fabric.port_node[fabric.port_peer[port]] == dst:
            return ports
    raise AssertionError("not there after three switches")


@given(small_tiers())
@settings(max_examples=60, deadline=None)
def test_every_frame_arrives_over_at_most_three_switches(spec: FabricSpec) -> None:
    assert check_wiring(spec) == []
    fabric = build_fabric(spec)
    used = Counter()
    for src in range(fabric.endpoints):
        for dst in range(fabric.endpoints):
            if src == dst:
                continue
            same = fabric.endpoint_leaf[src] == fabric.endpoint_leaf[dst]
            for path in range(fabric.paths):
                ports = walk(fabric, path, src, dst)
                assert tuple(ports) == route(fabric, path, src, dst)
                assert len(ports) == (2 if same else 4)
                assert {int(fabric.port_plane[port]) for port in ports} == {int(fabric.path_plane[path])}
                used.update(ports)
    # paths of equal plane and uplink id differ in their first and last ports only; every port to and from endpoints is used
    outer = [p for p in range(fabric.ports) if fabric.node_tier[fabric.port_node[p]] == -1]
    assert all(used[p] and used[int(fabric.port_peer[p])] for p in outer)


@given(small_tiers())
@settings(max_examples=60, deadline=None)
def test_wiring_is_sound(spec: FabricSpec) -> None:
    fabric, shape = build_fabric(spec), plane_shape(spec)
    every, peer, node = np.arange(fabric.ports), fabric.port_peer, fabric.port_node
    assert np.array_equal(peer[peer], every) and np.array_equal(np.sort(peer), every)
    assert np.array_equal(fabric.port_link, fabric.port_link[peer])
    assert np.bincount(fabric.port_link).tolist() == [2] * (fabric.ports // 2)
    assert np.array_equal(fabric.port_plane, fabric.port_plane[peer])
    assert np.array_equal(node, np.repeat(np.arange(fabric.nodes), fabric.node_ports))
    assert np.array_equal(fabric.node_first_port[1:], np.cumsum(fabric.node_ports)[:-1])
    tier = fabric.node_tier
    joined = {(int(a), int(b)) for a, b in zip(tier[node], tier[node[peer]], strict=True)}
    assert joined == {(-1, 0), (0, -1), (0, 1), (1, 0)}
    assert fabric.nodes == fabric.endpoints + spec.switches.planes * shape.switches
    for plane in range(fabric.planes):
        for leaf in range(shape.leaves):
            a = switch_node(fabric, plane, leaf)
            here = fabric.endpoint_leaf == leaf
            down = slice(int(fabric.node_first_port[a]), int(fabric.node_first_uplink[a]))
            ends = node[peer[down]]
            assert ends.tolist() == np.flatnonzero(here).tolist() * shape.endpoint_ports
            up = np.arange(shape.uplinks) + fabric.node_first_uplink[a]
            assert fabric.node_uplinks[a] == shape.uplinks
            assert node[peer[up]].tolist() == [spine_node(fabric, plane, j % shape.spines) for j in range(shape.uplinks)]
        for spine in range(shape.spines):
            b = spine_node(fabric, plane, spine)
            ports = np.arange(fabric.node_ports[b]) + fabric.node_first_port[b]
            assert fabric.node_down_links[b] == shape.links
            expected = [switch_node(fabric, plane, leaf) for leaf in range(shape.leaves) for _ in range(shape.links)]
            assert node[peer[ports]].tolist() == expected
    ids = [fabric.path_id(path) for path in range(fabric.paths)]
    assert ids == sorted(set(ids)) and len(ids) == fabric.endpoint_ports * spec.switches.uplink_paths


@pytest.mark.parametrize(
    ("count", "leaves", "uplinks", "spines"), [(32, 4, 8, 8), (32, 4, 4, 4), (64, 4, 4, 2), (48, 4, 6, 6), (64, 4, 8, 4)]
)
def test_links_are_used_evenly(count: int, leaves: int, uplinks: int, spines: int) -> None:
    """All to all over all uplink ids: each uplink of a leaf and each down-link of a spine carries the same number of pairs."""
    fabric = build_fabric(
        tiers_of(count, leaves=leaves, uplinks=uplinks, spines=spines, uplink_paths=min(16, uplinks), radix=256)
    )
    used = Counter()
    for src in range(count):
        for dst in range(count):
            for path in range(fabric.paths):
                used.update(route(fabric, path, src, dst)[1:-1] if src != dst else ())
    between = [
        p
        for p in range(fabric.ports)
        if fabric.node_tier[fabric.port_node[p]] + fabric.node_tier[fabric.port_node[fabric.port_peer[p]]] == 1
    ]
    assert len(between) == 2 * leaves * uplinks
    assert len({used[p] for p in between}) == 1
    assert down_link_unevenness(plane_shape(fabric.spec), fabric.uplinks) == 1.0
    assert advice(fabric.spec) == ()


def test_uneven_down_links_are_told() -> None:
    """Leaves of n endpoints and k links: (dst + uplink) div n is nearly one number for the whole leaf."""
    spec = tiers_of(128, leaves=4, uplinks=32, spines=8, uplink_paths=16)
    shape = plane_shape(spec)
    assert (shape.links, shape.oversubscription) == (4, 1)
    assert down_link_unevenness(shape, 16) == 4 * 56 / 64  # spine 7: sums 7, 15, 23, 31 of 8 + 16 + 16 + 16 (dst, id)
    (text,) = advice(spec)
    assert text.startswith("fabric.spine.count: of the 4 links from a spine to a leaf one carries 3.50x the mean")
    assert text.endswith("one link each (count: 32) is even")


def test_layout_of_a_small_plane() -> None:
    # 5 endpoints, 2 leaves (3 + 2), 4 uplinks to 2 spines: ports 0..4, leaf 5..11 and 12..17, spines 18..21 and 22..25
    fabric = build_fabric(tiers_of(5, leaves=2, uplinks=4, spines=2, uplink_paths=4))
    assert fabric.node_first_port.tolist() == [0, 1, 2, 3, 4, 5, 12, 18, 22]
    assert fabric.node_tier.tolist() == [-1] * 5 + [0, 0, 1, 1]
    assert fabric.node_first_uplink.tolist() == [-1] * 5 + [8, 14, -1, -1]
    assert fabric.node_uplinks.tolist() == [0] * 5 + [4, 4, 0, 0]
    assert fabric.node_down_links.tolist() == [0] * 7 + [2, 2]
    assert fabric.endpoint_leaf.tolist() == [0, 0, 0, 1, 1]
    assert fabric.port_peer[8:12].tolist() == [18, 22, 19, 23]  # leaf 0: spine 0, 1, 0, 1
    assert fabric.port_peer[14:18].tolist() == [20, 24, 21, 25]
    assert fabric.port_link[8:12].tolist() == [5, 6, 7, 8]
    assert (fabric.uplinks, fabric.paths, fabric.endpoint_ports) == (4, 4, 1)
    assert [fabric.path_id(k) for k in range(4)] == [0, 1, 2, 3]
    # to endpoint 3 with uplink id 2: uplink (3 + 2) mod 4 = 1, spine 1, link (5 div 4) mod 2 = 1
    assert route(fabric, 2, 0, 3) == (0, 9, 25, 12)


def test_a_single_tier_says_so() -> None:
    fabric = build_fabric(spec_of())
    assert (fabric.uplinks, fabric.two_tier, fabric.endpoint_ports) == (1, False, 8)
    assert set(fabric.node_first_uplink.tolist()) == {-1}
    assert not fabric.node_uplinks.any() and not fabric.node_down_links.any() and not fabric.endpoint_leaf.any()
    assert fabric.node_tier.tolist() == [-1] * 64 + [0] * 8


def test_times_of_two_tiers() -> None:
    fabric = build_fabric(tiers_of())
    # within a leaf as in a single tier; else a leaf, a spine (300 ns) and two cables without PHY (13.8 ns) more
    assert one_way_ps(fabric, 64, dst=31) == 477_600 + 720
    assert one_way_ps(fabric, 64, dst=32) == 477_600 + 720 + 250_000 + 300_000 + 2 * 13_800
    assert plane_bandwidth_bps(fabric, 0) == 1024 * 800 * G
    spine = fabric.node_tier[fabric.port_node] == 1
    assert set(fabric.port_delay_ps[spine].tolist()) == {13_800}
    assert set(fabric.port_buffer_bytes[spine].ravel().tolist()) == {512 * 1024}
    assert set(fabric.port_delay_ps[fabric.port_peer[spine]].tolist()) == {13_800}


def test_cables_between_switches() -> None:
    def delays(**more: object) -> set[int]:
        fabric = build_fabric(tiers_of(**more))
        return set(fabric.port_delay_ps[fabric.node_tier[fabric.port_node] == 1].tolist())

    assert delays(fec=Fec.RS544) == {13_800 + 12_800}
    assert delays(fec=Fec.NONE) == {13_800}  # never below the cable
    assert delays(cables=CableSpec(30_000, "fiber", 147_000)) == {147_000}
    assert delays(cables=CableSpec(0, "", 0, 80_000)) == {80_000}


def test_a_stated_delay_is_every_links() -> None:
    spec = tiers_of()
    stated = build_fabric(replace(spec, cables=CableSpec(0, "", 0, 50_000)))
    assert set(stated.port_delay_ps.tolist()) == {50_000}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"leaves": 25, "uplinks": 32},
            "fabric.switches.uplinks: each leaf needs 73 ports of 800 Gb/s (41 to GPUs, 32 up), the switch (leaf) has 64; "
            "expected at most 23 uplinks, 32 leaves or switches with 73 ports",
        ),
        (
            {"leaves": 8, "uplinks": 32},
            "fabric.switches.leaves: each leaf needs 160 ports of 800 Gb/s (128 to GPUs, 32 up), the switch (leaf) has 64; "
            "expected 32 leaves or switches with 160 ports",
        ),
        (
            {"spines": 8},
            "fabric.spine.count: each spine needs 128 ports of 800 Gb/s (32 leaves x 4), the spine (spine) has 64; "
            "expected 16 spines a plane or spines with 128 ports",
        ),
        (
            {"spine_radix": 16},
            "fabric.spine.count: each spine needs 32 ports of 800 Gb/s (32 leaves x 1), the spine (spine) has 16; "
            "expected at most 16 leaves (more planes make them larger) or spines with 32 ports",
        ),
        (
            {"spines": 12},
            "fabric.spine.count: 12 spines do not share the 32 uplinks of a leaf evenly; expected count: 1, 2, 4, 8, 16 or 32",
        ),
        (
            {"count": 9, "leaves": 4, "uplinks": 4, "spines": 4, "uplink_paths": 4},
            "fabric.switches.leaves: 4 leaves of 3 GPUs, but 3 of them hold all 9; expected 3 leaves",
        ),
        ({"leaves": 1}, "fabric.switches.leaves: one leaf needs no spine; expected 2 .. 1024"),
        (
            {"uplink_paths": 17},
            "fabric.switches.uplink_paths: uplink ids of a pair: 17; "
            "expected 1 .. 16 (a leaf has 32 uplinks, the path id has room for 16)",
        ),
        ({"uplinks": 0, "uplink_paths": 1}, "fabric.switches.uplinks: uplinks of a leaf: 0; expected a positive value"),
        ({"spines": 0}, "fabric.spine.count: spines of a plane: 0; expected a positive value"),
        ({"spine_radix": 0}, "fabric.spine.ports: ports of a spine: 0; expected a positive value"),
    ],
)
def test_what_does_not_fit(changes: dict[str, int], text: str) -> None:
    spec = tiers_of(**changes)
    assert [str(problem) for problem in check_wiring(spec)] == [text]
    with pytest.raises(InputError) as caught:
        build_fabric(spec)
    assert isinstance(caught.value, InfeasibleError) == any(word in text for word in ("each ", "evenly", "hold all"))


def test_1024_gpus_are_the_most() -> None:
    assert check_wiring(tiers_of()) == []
    assert check_wiring(tiers_of(1025, leaves=33))[0].key == "fabric.gpus.count"


def test_settings_of_a_second_tier_without_one() -> None:
    (problem,) = check_wiring(spec_of(switches={"uplinks": 4}))
    assert problem.key == "fabric.switches" and "read by nothing" in problem.message


def test_small_buffers_on_long_cables_are_told() -> None:
    texts = advice(tiers_of(cables=CableSpec(1_000_000, "fiber", 4_900_000)))
    assert [text.split(":")[0] for text in texts] == ["fabric.switches.buffer", "fabric.spine.buffer"]


@pytest.mark.parametrize(
    ("wanted", "stated", "found"),
    [
        ((1024, 1, 64, 64), {}, (32, 32, 32)),
        ((512, 1, 64, 64), {}, (16, 32, 32)),
        ((96, 1, 64, 64), {}, (3, 32, 32)),
        ((16, 1, 64, 64), {}, (2, 8, 8)),
        ((100, 2, 64, 64), {}, (7, 30, 30)),
        ((1024, 1, 64, 64), {"uplinks": 16}, (22, 16, 16)),
        ((1024, 1, 80, 64), {"uplinks": 16}, (16, 16, 4)),  # 64 down, 16 up: four links to each of four spines are even
        ((1024, 1, 64, 64), {"spines": 12}, (37, 36, 12)),
        ((1024, 1, 64, 64), {"leaves": 64}, (64, 16, 16)),
        ((9, 1, 6, 64), {}, (3, 3, 3)),
    ],
)
def test_what_is_left_out_is_derived(wanted: tuple[int, ...], stated: dict[str, int], found: tuple[int, ...]) -> None:
    plane = derive(*wanted, **stated)
    assert (plane.leaves, plane.uplinks, plane.spines) == found


@given(st.integers(2, 1024), st.integers(1, 4), st.sampled_from([16, 64, 128, 256, 512]))
@settings(max_examples=200, deadline=None)
def test_what_is_derived_can_be_wired(count: int, ports: int, radix: int) -> None:
    plane = derive(count, ports, radix, radix)
    spec = tiers_of(
        count,
        ports=ports,
        leaves=plane.leaves,
        uplinks=plane.uplinks,
        spines=plane.spines,
        uplink_paths=min(16, plane.uplinks),
        radix=radix,
        spine_radix=radix,
    )
    problems = check_wiring(spec)
    assert all("the spine (spine) has" in problem.message for problem in problems)
    assert not problems or plane.leaves > radix
    assert plane_shape(spec).oversubscription <= 1


def test_oversubscription_in_words() -> None:
    assert oversubscription_text(plane_shape(tiers_of())) == "non-blocking (32 ports down, 32 up)"
    spec = tiers_of(uplinks=16, spines=16)
    assert oversubscription_text(plane_shape(spec)) == "2:1 oversubscribed (32 ports down, 16 up)"
    spec = tiers_of(uplinks=24, spines=24)
    assert oversubscription_text(plane_shape(spec)) == "1.33:1 oversubscribed (32 ports down, 24 up)"
