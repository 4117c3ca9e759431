"""Names of nodes and links: how reports call them, and what a user's text means: the same words are read and written.

A link is named by one of its ports (``gpu3.port0``, ``plane0.leaf2.uplink5``), or by both ends with an arrow, which also says the
direction: ``gpu3.port0 -> switch``, ``plane 0 leaf 3 -> spine 1``. Spaces, dots and capitals count for nothing, so a name that a
report shows can be copied: ``GPU 12 -> switch plane 3``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from ..errors import InputError, Problem
from .arrays import Fabric
from .tiers import plane_shape

_WORDS = ("gpu", "switch", "plane", "leaf", "spine", "port", "uplink")
_TOKEN = re.compile(r"[a-z]+|[0-9]+|[^a-z0-9 ._]+")
EXPECTED = "such as gpu3.port0, gpu3.port0 -> switch"
EXPECTED_TIERS = "such as gpu3.port0, plane0.leaf2.uplink5, plane 0 leaf 2 -> spine 1"


def node_name(fabric: Fabric, node: int) -> str:
    """Return ``GPU 12``, ``switch plane 3``, or in two tiers ``plane 3 leaf 0`` and ``plane 3 spine 1``."""
    if node < fabric.endpoints:
        return f"GPU {node}"
    if not fabric.two_tier:
        return f"switch plane {node - fabric.endpoints}"
    shape = plane_shape(fabric.spec)
    plane, place = divmod(node - fabric.endpoints, shape.switches)
    return f"plane {plane} " + (f"leaf {place}" if place < shape.leaves else f"spine {place - shape.leaves}")


def port_name(fabric: Fabric, port: int) -> str:
    """Return the name of a directed port, such as ``switch plane 3 -> GPU 12``; the GPU's port is named where several fit.

    Between leaf and spine the uplink is named where several join them: ``plane 0 leaf 3 uplink 17 -> spine 1``.
    """
    node = int(fabric.port_node[port])
    peer_port = int(fabric.port_peer[port])
    peer = int(fabric.port_node[peer_port])
    source, target = node_name(fabric, node), node_name(fabric, peer)
    if min(node, peer) >= fabric.endpoints:
        leaf, leaf_port = (node, port) if fabric.node_tier[node] == 0 else (peer, peer_port)
        several = f" uplink {leaf_port - int(fabric.node_first_uplink[leaf])}" if plane_shape(fabric.spec).links > 1 else ""
        target = target.split(" ", 2)[2]  # the plane is said once
        return f"{source}{several} -> {target}" if leaf == node else f"{source} -> {target}{several}"
    gpu, gpu_port = (node, port) if node < fabric.endpoints else (peer, peer_port)
    first, count = int(fabric.node_first_port[gpu]), int(fabric.node_ports[gpu])
    planes = fabric.port_plane[first : first + count]
    if int(np.count_nonzero(planes == fabric.port_plane[gpu_port])) > 1:
        label = f"{node_name(fabric, gpu)} port {gpu_port - first}"
        return f"{label} -> {target}" if gpu == node else f"{source} -> {label}"
    return f"{source} -> {target}"


@dataclass(frozen=True, slots=True)
class Place:
    """What a name means: directed ports, and whether it said a direction (else they are both directions of a link)."""

    ports: tuple[int, ...]
    directed: bool


def find_link(fabric: Fabric, text: str) -> Place:
    """Return the link that a user names.

    Raises
    ------
    InputError
        No such link, or several; says what there is.
    """
    ends = text.split("->")
    if len(ends) > 2 or not all(end.strip() for end in ends):
        raise _wrong(f"'{text}' names no link", _expected(fabric))
    parts = [_parts(fabric, end) for end in ends]
    if len(parts) == 1:
        ports = _ports_of(fabric, parts[0], {})
        if len(ports) != 1:
            raise _several(fabric, f"'{text}' is the end of {len(ports)} links", ports)
        return Place((ports[0], int(fabric.port_peer[ports[0]])), directed=False)
    here, there = _ports_of(fabric, parts[0], parts[1]), set(_ports_of(fabric, parts[1], parts[0]))
    found = [port for port in here if int(fabric.port_peer[port]) in there]
    if not found:
        raise _several(fabric, f"no link leads from '{ends[0].strip()}' to '{ends[1].strip()}'", here)
    if len(found) > 1:
        raise _several(fabric, f"'{text}' names {len(found)} links", found)
    return Place((found[0],), directed=True)


def find_node(fabric: Fabric, text: str) -> int:
    """Return the node that a user names, such as ``gpu3``, ``switch 0``, ``plane0.leaf2``.

    Raises
    ------
    InputError
        No such node, or a name of a link or of several nodes.
    """
    parts = _parts(fabric, text)
    nodes = _nodes_of(fabric, parts, {})
    if "port" in parts or "uplink" in parts or len(nodes) != 1:
        raise _wrong(f"'{text}' names no single node", "such as gpu3, " + ("plane0.leaf2" if fabric.two_tier else "switch0"))
    return nodes[0]


def find_nodes(fabric: Fabric, text: str) -> list[int]:
    """Return the nodes that a user names: one (`find_node`), or all switches of a plane, such as ``plane 1``.

    Raises
    ------
    InputError
        No such node or plane, or a name of a link.
    """
    parts = _parts(fabric, text)
    if fabric.two_tier and set(parts) <= {"plane", "switch"} and max(parts.values()) >= 0:
        plane = _number("plane", max(parts.values()), fabric.planes, "the domain")
        size = plane_shape(fabric.spec).switches
        return list(range(fabric.endpoints + plane * size, fabric.endpoints + (plane + 1) * size))
    return [find_node(fabric, text)]


def _wrong(message: str, expected: str = "", near: str = "") -> InputError:
    return InputError([Problem(message, expected, near)])


def _expected(fabric: Fabric) -> str:
    return EXPECTED_TIERS if fabric.two_tier else EXPECTED


def _several(fabric: Fabric, message: str, ports: list[int]) -> InputError:
    shown = [port_name(fabric, port) for port in ports[:2]]
    if len(set(shown)) < len(shown):  # a report's name fits both
        shown = [f"{node_name(fabric, n)} port {p}" for n, p in (place_of(fabric, port) for port in ports[:2])]
    some = "one of them, such as " if len(ports) > 1 else ""
    return _wrong(message, some + " or ".join(shown))


def place_of(fabric: Fabric, port: int) -> tuple[int, int]:
    """Return node and number of a directed port."""
    node = int(fabric.port_node[port])
    return node, port - int(fabric.node_first_port[node])


def _parts(fabric: Fabric, text: str) -> dict[str, int]:
    """Return the words of one end with their numbers, -1 = none given."""
    parts: dict[str, int] = {}
    word = ""
    for token in _TOKEN.findall(text.lower()):
        if token.isdecimal() and word and parts[word] < 0 and len(token) <= 6:
            parts[word] = int(token)
            continue
        word = token
        if word not in _WORDS or word in parts:
            near = get_close_matches(word, [known for known in _WORDS if known not in parts], n=1)
            raise _wrong(f"'{text.strip()}' names no link or node", "" if near else _expected(fabric), near[0] if near else "")
        parts[word] = -1
    if not parts:
        raise _wrong(f"'{text.strip()}' names no link or node", _expected(fabric))
    return parts


def _number(what: str, number: int, count: int, of: str) -> int:
    if number >= count:
        raise _wrong(f"there is no {what} {number} in {of}", f"{what} 0 .. {count - 1}")
    return number


def _nodes_of(fabric: Fabric, parts: Mapping[str, int], other: Mapping[str, int]) -> list[int]:
    """Return the nodes that an end may be; ``other`` = the end across the arrow, whose plane need not be said twice."""
    planes = fabric.planes
    if "gpu" in parts:
        number = parts["gpu"]
        return list(range(fabric.endpoints)) if number < 0 else [_number("GPU", number, fabric.endpoints, "the domain")]
    shape = plane_shape(fabric.spec)
    plane = parts.get("plane", -1)
    if plane < 0 and "switch" in parts:
        plane = parts["switch"]
    if plane < 0:
        plane = max(other.get("plane", -1), other.get("switch", -1) if "plane" not in other else -1)
    wanted = range(planes) if plane < 0 else [_number("plane", plane, planes, "the domain")]
    kind = next((kind for kind in ("leaf", "spine") if kind in parts), "")
    if kind and not fabric.two_tier:
        raise _wrong(f"there is no {kind}, planes are single switches", "such as switch0")
    if fabric.two_tier and not kind and ("plane" in parts or parts.get("switch", -1) >= 0):
        raise _wrong("a plane has several switches", "such as plane0.leaf2, plane0.spine1")
    if not kind and not {"switch", "plane"} & set(parts):
        raise _wrong("a port of which node?", _expected(fabric))
    first, count = (shape.leaves, shape.spines) if kind == "spine" else (0, shape.leaves if kind == "leaf" else shape.switches)
    number = parts.get(kind, -1) if kind else -1
    if number >= 0:
        first, count = first + _number(kind, number, count, "a plane"), 1
    return [fabric.endpoints + p * shape.switches + first + i for p in wanted for i in range(count)]


def _ports_of(fabric: Fabric, parts: Mapping[str, int], other: Mapping[str, int]) -> list[int]:
    """Return the directed ports that an end may be."""
    nodes = _nodes_of(fabric, parts, other)
    word = "uplink" if "uplink" in parts else "port"
    number = parts.get(word, -1)
    found: list[int] = []
    for node in nodes:
        first, count = int(fabric.node_first_port[node]), int(fabric.node_ports[node])
        if word == "uplink":
            first, count = int(fabric.node_first_uplink[node]), int(fabric.node_uplinks[node])
        if number < 0:
            found += range(first, first + count)
        elif number < count:
            found.append(first + number)
        elif len(nodes) == 1:
            name = node_name(fabric, node)
            raise _wrong(f"{name} has no {word} {number}", f"{word} 0 .. {count - 1}" if count else _expected(fabric))
    return found
