"""Leaf-spine planes in numbers: what a plane is made of, what follows from what is left out, how evenly its links are used.

Endpoint e hangs on leaf e // (endpoints a leaf). Uplink j of a leaf goes to spine j mod spines as link j // spines, so each spine
has k = uplinks / spines links to every leaf. A leaf sends to uplink (dst + uplink id) mod n, and whatever spine that is, all its
k links end at the destination's leaf: a frame passes at most three switches (open profile section 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..protocol.tiers import UPLINK_IDS, leaf_uplink, spine_link
from .spec import FabricSpec


@dataclass(frozen=True, slots=True)
class PlaneShape:
    """One plane; all are alike. A single tier is one leaf without uplinks.

    Attributes
    ----------
    endpoints, endpoint_ports
        Endpoints, and ports of each of them in this plane.
    leaves, leaf_endpoints
        Leaves, and endpoints of each; the last leaf may have fewer.
    uplinks, spines
        Uplinks of a leaf, n; spines.
    """

    endpoints: int
    endpoint_ports: int
    leaves: int
    leaf_endpoints: int
    uplinks: int
    spines: int

    @property
    def down(self) -> int:
        """Ports of a leaf that go to endpoints (the last leaf may use fewer)."""
        return self.leaf_endpoints * self.endpoint_ports

    @property
    def links(self) -> int:
        """Links between one leaf and one spine, k; 0 in a single tier."""
        return self.uplinks // self.spines if self.spines else 0

    @property
    def last_leaf_endpoints(self) -> int:
        """Endpoints of the last leaf."""
        return self.endpoints - (self.leaves - 1) * self.leaf_endpoints

    @property
    def switches(self) -> int:
        """Leaves and spines together."""
        return self.leaves + self.spines

    @property
    def oversubscription(self) -> Fraction:
        """Ports of a full leaf to endpoints / its uplinks; 1 or less = non-blocking, and 0 in a single tier."""
        return Fraction(self.down, self.uplinks) if self.uplinks else Fraction(0)


def plane_shape(spec: FabricSpec) -> PlaneShape:
    """Return what each plane of a domain is made of. Values that cannot be wired give a shape that cannot either."""
    gpus, switches = spec.endpoints, spec.switches
    return PlaneShape(
        endpoints=gpus.count,
        endpoint_ports=-(-gpus.ports // switches.planes),
        leaves=switches.leaves,
        leaf_endpoints=-(-gpus.count // switches.leaves),
        uplinks=switches.uplinks,
        spines=switches.spine.count if switches.spine is not None else 0,
    )


def oversubscription_text(shape: PlaneShape) -> str:
    """Return the ratio for people, such as ``"2:1 oversubscribed (32 ports down, 16 up)"``."""
    ratio = shape.oversubscription
    ports = f"({shape.down} ports down, {shape.uplinks} up)"
    if ratio <= 1:
        return f"non-blocking {ports}"
    number = str(ratio.numerator) if ratio.denominator == 1 else f"{float(ratio):.2f}".rstrip("0")
    return f"{number}:1 oversubscribed {ports}"


def planes_text(spec: FabricSpec) -> str:
    """Return what the planes are made of, for people: ``"8 switch planes"``, ``"1 plane of 32 leaves and 32 spines, ..."``."""
    planes, shape = spec.switches.planes, plane_shape(spec)
    if not shape.spines:
        return f"{planes} switch plane{'' if planes == 1 else 's'}"
    spines = f"{shape.spines} spine{'' if shape.spines == 1 else 's'}"
    return f"{planes} plane{'' if planes == 1 else 's'} of {shape.leaves} leaves and {spines}, {oversubscription_text(shape)}"


@dataclass(frozen=True, slots=True)
class Derived:
    """Leaves of a plane, uplinks of a leaf, spines of a plane."""

    leaves: int
    uplinks: int
    spines: int


def derive(
    endpoints: int,
    endpoint_ports: int,
    leaf_radix: int,
    spine_radix: int,
    *,
    leaves: int | None = None,
    uplinks: int | None = None,
    spines: int | None = None,
) -> Derived:
    """Return the smallest non-blocking plane, with what the user stated kept as it is.

    Leaves are as full as they can be with an uplink for every port down. Spines are as few as reach every leaf *and* use all
    their down-links alike: the routing rule spreads a leaf's traffic over k links from each spine only where a leaf has a
    multiple of n x k endpoints, so in a non-blocking plane k is 1 (`down_link_unevenness`).

    Parameters
    ----------
    endpoints, endpoint_ports
        Endpoints of the domain, ports of each in a plane.
    leaf_radix, spine_radix
        Ports of a switch.
    leaves, uplinks, spines
        What the user stated.
    """
    if leaves is None:
        full = _fullest_leaf(endpoints, endpoint_ports, leaf_radix, uplinks, spines)
        leaves = min(max(2, -(-endpoints // full)), endpoints)
        leaves = -(-endpoints // -(-endpoints // leaves))  # 9 endpoints on leaves of 3 are 3 leaves, not 4 with an empty one
    of_leaf = -(-endpoints // max(leaves, 1))
    if uplinks is None:
        uplinks = _round_up(of_leaf * endpoint_ports, spines or 1)
    if spines is None:
        spines = _fewest_spines(of_leaf, uplinks, leaves, spine_radix)
    return Derived(leaves, uplinks, spines)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _fullest_leaf(endpoints: int, ports: int, radix: int, uplinks: int | None, spines: int | None) -> int:
    if uplinks is not None:
        return min(endpoints, max(1, (radix - uplinks) // ports))
    fits = (d for d in range(endpoints, 0, -1) if d * ports + _round_up(d * ports, spines or 1) <= radix)
    return next(fits, 1)


def _fewest_spines(of_leaf: int, uplinks: int, leaves: int, radix: int) -> int:
    for links in range(uplinks, 1, -1):
        if uplinks % links == 0 and of_leaf % (uplinks * links) == 0 and leaves * links <= radix:
            return uplinks // links
    return max(uplinks, 1)


def down_link_unevenness(shape: PlaneShape, uplink_paths: int) -> float:
    """Return the load of the fullest spine down-link / the mean, when every endpoint receives alike over all uplink ids."""
    dst = np.arange(shape.endpoints)[:, None]
    uplink = np.arange(uplink_paths)[None, :]
    up = leaf_uplink(dst, uplink, shape.uplinks)
    link = spine_link(dst, uplink, shape.uplinks, shape.links)
    place = (dst // shape.leaf_endpoints * shape.links + link) * shape.spines + up % shape.spines
    full = (shape.endpoints // shape.leaf_endpoints) * shape.uplinks  # a leaf that is not full would count as unevenness
    used = np.bincount(place.ravel(), minlength=full)[:full]
    return float(used.max() / used.mean())


def most_uplink_paths(uplinks: int) -> int:
    """Return how many uplink ids can mean different uplinks: as many as a leaf has, at most 16."""
    return max(1, min(UPLINK_IDS, uplinks))
