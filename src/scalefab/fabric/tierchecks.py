"""Whether leaf-spine planes can be wired: what `wiring` asks about the second tier, and what a buildable one does badly."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Problem
from ..units import format_rate
from .spec import FabricSpec, SpineSpec
from .tiers import PlaneShape, down_link_unevenness, most_uplink_paths, plane_shape

UNEVEN = 1.25  # own: a down-link with 25 % more than the mean is worth a word
_MOST_WAYS = 8  # own: longer lists of numbers are not read


def tier_ranges(spec: FabricSpec) -> Iterator[Problem]:
    """Yield counts that no plane may have."""
    switches, spine = spec.switches, spec.switches.spine
    if spine is None:
        if (switches.leaves, switches.uplinks, switches.uplink_paths) != (1, 0, 1):
            message = "leaves, uplinks and their path ids are read by nothing without a second tier"
            yield Problem(message, "fabric.spine, or none of them", key="fabric.switches")
        return
    most = max(2, spec.endpoints.count)
    if not 2 <= switches.leaves <= most:
        one = "one leaf needs no spine" if switches.leaves == 1 else f"leaves of a plane: {switches.leaves}"
        yield Problem(one, f"2 .. {most}", key="fabric.switches.leaves")
    if switches.uplinks < 1:
        yield Problem(f"uplinks of a leaf: {switches.uplinks}", "a positive value", key="fabric.switches.uplinks")
    ids = most_uplink_paths(switches.uplinks)
    if not 1 <= switches.uplink_paths <= ids:
        message = f"uplink ids of a pair: {switches.uplink_paths}"
        expected = f"1 .. {ids} (a leaf has {max(switches.uplinks, 0)} uplinks, the path id has room for 16)"
        yield Problem(message, expected, key="fabric.switches.uplink_paths")
    if spine.count < 1:
        yield Problem(f"spines of a plane: {spine.count}", "a positive value", key="fabric.spine.count")
    if spine.radix < 1:
        yield Problem(f"ports of a spine: {spine.radix}", "a positive value", key="fabric.spine.ports")


def tier_fit(spec: FabricSpec) -> Iterator[Problem]:
    """Yield what is short in leaf-spine planes: GPUs for a leaf, ports of leaf and spine, an even share of the uplinks."""
    switches, spine = spec.switches, spec.switches.spine
    if spine is None or min(switches.leaves - 1, switches.uplinks, spine.count, spine.radix) < 1:
        return  # out of range, told there
    shape = plane_shape(spec)
    if spine.port_rate_bps != switches.port_rate_bps:
        yield Problem(
            f"spine ports run at {format_rate(spine.port_rate_bps)}, leaf ports at {format_rate(switches.port_rate_bps)}",
            "the same rate at both ends of a cable",
            key="fabric.spine.port_rate",
        )
    if shape.last_leaf_endpoints < 1:
        filled = -(-shape.endpoints // shape.leaf_endpoints)
        message = f"{shape.leaves} leaves of {shape.leaf_endpoints} GPUs, but {filled} of them hold all {shape.endpoints}"
        yield Problem(message, f"{filled} leaves", key="fabric.switches.leaves")
    yield from _leaf_radix(spec, shape)
    if shape.uplinks % shape.spines:
        divisors = [str(n) for n in range(1, shape.uplinks + 1) if shape.uplinks % n == 0]
        yield Problem(
            f"{shape.spines} spines do not share the {shape.uplinks} uplinks of a leaf evenly",
            "count: " + _one_of(divisors if len(divisors) <= _MOST_WAYS else [*divisors[:3], *divisors[-3:]]),
            key="fabric.spine.count",
        )
    else:
        yield from _spine_radix(shape, spine)


def _leaf_radix(spec: FabricSpec, shape: PlaneShape) -> Iterator[Problem]:
    switches = spec.switches
    needed = shape.down + shape.uplinks
    if needed <= switches.radix:
        return
    ways = []
    if switches.radix > shape.down:
        ways.append(f"at most {switches.radix - shape.down} uplinks")
    fit = (switches.radix - shape.uplinks) // shape.endpoint_ports
    if fit >= 1:
        ways.append(f"{-(-shape.endpoints // fit)} leaves")
    ways.append(f"switches with {needed} ports")
    name = f" ({switches.name})" if switches.name else ""
    yield Problem(
        f"each leaf needs {needed} ports of {format_rate(switches.port_rate_bps)} ({shape.down} to GPUs, {shape.uplinks} up), "
        f"the switch{name} has {switches.radix}",
        _one_of(ways),
        key="fabric.switches.uplinks" if shape.down < switches.radix else "fabric.switches.leaves",
    )


def _spine_radix(shape: PlaneShape, spine: SpineSpec) -> Iterator[Problem]:
    needed = shape.leaves * shape.links
    if needed <= spine.radix:
        return
    ways = []
    counts = (n for n in range(shape.spines + 1, shape.uplinks + 1) if shape.uplinks % n == 0)
    more = next((n for n in counts if shape.leaves * (shape.uplinks // n) <= spine.radix), None)
    if more is not None:
        ways.append(f"{more} spines a plane")
    elif shape.leaves > spine.radix:
        ways.append(f"at most {spine.radix} leaves (more planes make them larger)")
    ways.append(f"spines with {needed} ports")
    name = f" ({spine.name})" if spine.name else ""
    yield Problem(
        f"each spine needs {needed} ports of {format_rate(spine.port_rate_bps)} ({shape.leaves} leaves x {shape.links}), "
        f"the spine{name} has {spine.radix}",
        _one_of(ways),
        key="fabric.spine.count",
    )


def tier_advice(spec: FabricSpec) -> Iterator[str]:
    """Yield what a buildable second tier does badly: down-links loaded unevenly."""
    switches, spine = spec.switches, spec.switches.spine
    if spine is None:
        return
    shape = plane_shape(spec)
    uneven = down_link_unevenness(shape, switches.uplink_paths)
    if shape.links > 1 and uneven >= UNEVEN:
        yield (
            f"fabric.spine.count: of the {shape.links} links from a spine to a leaf one carries {uneven:.2f}x the mean when all "
            f"GPUs receive alike: the routing rule takes link (destination + uplink id) div {shape.uplinks} mod {shape.links}; "
            f"one link each (count: {shape.uplinks}) is even"
        )


def _one_of(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
