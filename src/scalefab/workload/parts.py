"""What the generators of a workload share: the part of a graph that one entry becomes, ranks, and even shares of a buffer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import Problem
from ..protocol.profile import Kind
from .builder import BULK, default_transaction
from .graph import I4, I8


@dataclass(frozen=True, slots=True)
class Part:
    """The operations of one entry that others may wait on.

    Attributes
    ----------
    roots
        Operations that wait for nothing inside the entry.
    leaves
        Operations that nothing inside the entry waits for: the entry is done when they are.
    group
        The group that reports show its end in.
    """

    roots: I4
    leaves: I4
    group: int


def shares(size_bytes: int, parts: int, unit: int = 1) -> I8:
    """Spread ``size_bytes`` over ``parts`` in whole units: the first ones get one unit more; the sum is exact, shape (parts,)."""
    units = size_bytes // unit
    out = np.full(parts, units // parts, np.int64)
    out[: units % parts] += 1
    return out * unit


def rank_count(asked: int, endpoints: int, key: str, problems: list[Problem]) -> int:
    """Return how many endpoints take part (0 = all), or note a problem."""
    ranks = asked or endpoints
    if not 2 <= ranks <= endpoints:
        problems.append(Problem(f"{ranks} ranks", f"2 .. {endpoints}, the endpoints of the fabric", key=f"{key}.ranks"))
    return ranks


def transaction(kind: Kind, size_bytes: int, asked: int, key: str, problems: list[Problem]) -> int:
    """Return the bytes of a transaction of an LSU kind (0 asked = the default), 0 for bulk kinds, or note a problem."""
    if kind in BULK:
        if asked:
            problems.append(Problem(f"is read by nothing, a {kind.name} moves whole packets", "none", key=f"{key}.transaction"))
        return 0
    return asked or default_transaction(kind, max(size_bytes, 1))


def rotated_pairs(ranks: int) -> tuple[I4, I4]:
    """Return every ordered pair, source by source, each source's targets from its next neighbour on.

    So no two sources send to the same target at the same step: senders that run in lockstep never collide. Shape (n (n-1),).
    """
    src = np.repeat(np.arange(ranks, dtype=np.int32), ranks - 1)
    step = np.tile(np.arange(1, ranks, dtype=np.int32), ranks)
    dst = src + step
    dst[dst >= ranks] -= ranks
    return src, dst
