"""Which uplink and which down-link a path id means in a leaf-spine plane (open profile section 2, own).

Apart from `switching` so that fabrics and drawings can ask without a compiler: plain integer arithmetic, for NumPy arrays too;
`switching` hands both functions on, compiled. A frame passes at most leaf, spine, leaf: three switches, which is what the ttl of
3 allows.
"""

from __future__ import annotations

from typing import Any

UPLINK_IDS = 16
"""Values of the path id's uplink field: 4 bits of entropy (`own`)."""

TTL = 3
"""Switches that a frame may pass (own, profile section 1)."""


def leaf_uplink(dst: Any, uplink: Any, uplinks: int) -> Any:
    """Return the uplink that a leaf sends a frame to when its destination is attached elsewhere.

    Parameters
    ----------
    dst
        Destination endpoint.
    uplink
        The path id's uplink field.
    uplinks
        Uplinks of the leaf, n.
    """
    return (dst + uplink) % uplinks


def spine_link(dst: Any, uplink: Any, uplinks: int, links: int) -> Any:
    """Return which of its ``links`` links to the destination's leaf a spine sends a frame to; ``uplinks`` = n of a leaf."""
    return ((dst + uplink) // uplinks) % links


def sprayed_place(turn: Any, ports: Any, uplinks: int) -> Any:
    """Return the path index that round robin takes in its turn: ports first, then uplink ids.

    Path ids count uplinks fastest; taken in that order, a message of a few packets would leave by one port (own). In a single
    tier the turn is the path index.

    Parameters
    ----------
    turn
        0 .. ports x uplinks - 1.
    ports, uplinks
        Ports of the pair, uplink ids.
    """
    return turn % ports * uplinks + turn // ports
