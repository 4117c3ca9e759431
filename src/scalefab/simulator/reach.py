"""Whose paths a switch port is on: by walking the look-up rule, not by inverting it."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .records import State
from .switch_input import output_port


@compiled
def port_in_plane(S: State, e: int, plane: int) -> int:
    """Return the index of endpoint ``e``'s first port in a plane, -1 = it has none."""
    first = S.node[e].first_port
    for q in range(S.kernel[0].path_count // S.kernel[0].uplinks):
        if S.link[first + q].plane == plane:
            return q
    return -1


@compiled
def passes(S: State, src: int, dst: int, path: int, a: int, f: Any) -> bool:
    """Return whether the path leaves a switch by port ``a``, by the look-up rule; a frame's record is the cursor."""
    own_dst, own_path = f.dst, f.path
    f.dst = dst
    f.path = path
    at = S.port[S.port[S.node[src].first_port + path // S.kernel[0].uplinks].peer].node
    found = False
    for _ in range(3):
        out = output_port(S, at, f)
        if out == a:
            found = True
            break
        at = S.port[S.port[out].peer].node
        if S.node[at].is_switch == 0:
            break
    f.dst = own_dst
    f.path = own_path
    return found
