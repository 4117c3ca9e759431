"""Names of nodes and links: what reports write can be read, and what means nothing or several links is told."""

from __future__ import annotations

import pytest
from fabric_domain import G, spec_of

from scalefab.errors import InputError
from scalefab.fabric.arrays import Fabric
from scalefab.fabric.build import build_fabric
from scalefab.fabric.names import find_link, find_node, node_name, place_of, port_name
from scalefab.fabric.spec import SpineSpec

EIGHT = build_fabric(spec_of(endpoints={"count": 16}))  # one port of a GPU a plane
FOUR = build_fabric(spec_of(endpoints={"count": 16}, switches={"planes": 4}))  # two
SPINE = SpineSpec("s", 2, 8, 800 * G, 250_000, 256 << 10)
TIERS = build_fabric(
    spec_of(
        endpoints={"count": 16, "stacks": 1},
        switches={"planes": 1, "radix": 8, "leaves": 4, "uplinks": 4, "uplink_paths": 4, "spine": SPINE},
    )
)


@pytest.mark.parametrize("fabric", [EIGHT, FOUR, TIERS], ids=["eight", "four", "tiers"])
def test_every_name_that_a_report_writes_is_read(fabric: Fabric) -> None:
    for port in range(fabric.ports):
        assert find_link(fabric, port_name(fabric, port)) == find_link(fabric, port_name(fabric, port).upper())
        found = find_link(fabric, port_name(fabric, port))
        assert (found.ports, found.directed) == ((port,), True)
        node, number = place_of(fabric, port)
        by_end = find_link(fabric, f"{node_name(fabric, node)} port {number}")
        assert (by_end.ports, by_end.directed) == ((port, int(fabric.port_peer[port])), False)
    for node in range(fabric.nodes):
        assert find_node(fabric, node_name(fabric, node)) == node


@pytest.mark.parametrize(
    ("fabric", "text", "name"),
    [
        (EIGHT, "gpu3.port0->switch", "GPU 3 -> switch plane 0"),
        (EIGHT, "switch -> gpu3.port7", "switch plane 7 -> GPU 3"),
        (EIGHT, "gpu_3 port_2 -> switch 2", "GPU 3 -> switch plane 2"),
        (EIGHT, "switch0.port5 -> gpu", "switch plane 0 -> GPU 5"),
        (FOUR, "gpu3.port6 -> switch2", "GPU 3 port 6 -> switch plane 2"),
        (TIERS, "gpu3 -> switch", "GPU 3 -> plane 0 leaf 0"),
        (TIERS, "plane0.leaf2.uplink3 -> spine", "plane 0 leaf 2 uplink 3 -> spine 1"),
        (TIERS, "leaf 2 uplink 3 -> spine 1", "plane 0 leaf 2 uplink 3 -> spine 1"),
        (TIERS, "spine0 -> leaf1.uplink2", "plane 0 spine 0 -> leaf 1 uplink 2"),
    ],
)
def test_short_forms(fabric: Fabric, text: str, name: str) -> None:
    (port,) = find_link(fabric, text).ports
    assert port_name(fabric, port) == name


@pytest.mark.parametrize(
    ("fabric", "text", "message"),
    [
        (EIGHT, "gpu3.port9", "GPU 3 has no port 9; expected port 0 .. 7"),
        (EIGHT, "gpu17.port0", "there is no GPU 17 in the domain; expected GPU 0 .. 15"),
        (EIGHT, "switch9.port0", "there is no plane 9 in the domain; expected plane 0 .. 7"),
        (
            EIGHT,
            "gpu3",
            "'gpu3' is the end of 8 links; expected one of them, such as GPU 3 -> switch plane 0 or GPU 3 -> switch plane 1",
        ),
        (
            FOUR,
            "gpu3 -> switch 2",
            "'gpu3 -> switch 2' names 2 links; expected one of them, such as GPU 3 port 2 -> switch plane 2 or "
            "GPU 3 port 6 -> switch plane 2",
        ),
        (
            EIGHT,
            "gpu3.port0 -> gpu4",
            "no link leads from 'gpu3.port0' to 'gpu4'; expected GPU 3 -> switch plane 0",
        ),
        (EIGHT, "gup3.port0", "'gup3.port0' names no link or node; did you mean 'gpu'?"),
        (EIGHT, "gpu3.prot0", "'gpu3.prot0' names no link or node; did you mean 'port'?"),
        (EIGHT, "gpu3.gpu4", "'gpu3.gpu4' names no link or node; expected such as gpu3.port0, gpu3.port0 -> switch"),
        (EIGHT, "3", "'3' names no link or node; expected such as gpu3.port0, gpu3.port0 -> switch"),
        (EIGHT, "gpu3 -> ", "'gpu3 -> ' names no link; expected such as gpu3.port0, gpu3.port0 -> switch"),
        (EIGHT, ". .", "'. .' names no link or node; expected such as gpu3.port0, gpu3.port0 -> switch"),
        (EIGHT, "port0", "a port of which node?; expected such as gpu3.port0, gpu3.port0 -> switch"),
        (EIGHT, "leaf0.port1", "there is no leaf, planes are single switches; expected such as switch0"),
        (EIGHT, "gpu3.uplink0", "GPU 3 has no uplink 0; expected such as gpu3.port0, gpu3.port0 -> switch"),
        (TIERS, "switch0.port1", "a plane has several switches; expected such as plane0.leaf2, plane0.spine1"),
        (TIERS, "plane0.leaf9 -> spine0", "there is no leaf 9 in a plane; expected leaf 0 .. 3"),
        (
            TIERS,
            "leaf0 -> spine0",
            "'leaf0 -> spine0' names 2 links; expected one of them, such as plane 0 leaf 0 uplink 0 -> spine 0 or "
            "plane 0 leaf 0 uplink 2 -> spine 0",
        ),
    ],
)
def test_names_that_mean_nothing_or_too_much(fabric: Fabric, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        find_link(fabric, text)
    assert str(caught.value) == message


def test_nodes_are_no_links() -> None:
    for text in ("gpu3.port0", "switch", "gpu"):
        with pytest.raises(InputError, match="names no single node"):
            find_node(EIGHT, text)
