"""Port, memory and leaf cuts, compiled: what must pass each endpoint and leaf after the earliest moment that it can begin."""

from __future__ import annotations

import numpy as np

from ..compiled import compiled, compiled_entry
from ..protocol.operations import COMPUTE, GET, JOIN
from .chains import DOWN_DEN, DOWN_NUM, LEAF, PORTS, UP_DEN, UP_NUM, UPLINK_DEN, UPLINK_NUM, UPLINKS, line_ps
from .graph import I1, I2, I8

SOURCE, SINK, MEMORY, LEAF_UP, SPINE_DOWN = range(5)
CUTS = 5
MEBI_SHIFT = 20

# columns of a found cut, all int64; ENDPOINT is the leaf's number where the cut is a leaf's
PS, ENDPOINT, SINCE_PS, BYTES = range(4)


@compiled
def memory_ps(size: int, mebi_ps: int) -> int:
    """Return the time of ``size`` bytes at ``mebi_ps`` ps a MiB, rounded down; in KiB, so that products stay below 2^63."""
    return ((size >> 10) * mebi_ps) >> 10


@compiled
def _better(best: I8, row: int, ps: int, endpoint: int, since_ps: int, size: int) -> None:
    if ps > best[row, PS]:
        best[row, PS] = ps
        best[row, ENDPOINT] = endpoint
        best[row, SINCE_PS] = since_ps
        best[row, BYTES] = size


@compiled_entry
def endpoint_cuts(
    order: I8,
    kind: I1,
    src: I2,
    dst: I2,
    size: I8,
    ready: I8,
    request: I8,
    answer: I8,
    out: I8,
    into: I8,
    e: I8,
    mebi_ps: I8,
    leaf_out: I8,
    leaf_into: I8,
    last_frame_bytes: int,
    best: I8,
) -> None:
    """Fill ``best`` (shape (CUTS, 4)) with the tightest cut of each kind.

    Operations are taken latest first: whatever an endpoint moves for all operations that cannot be ready before t takes at
    least (their bytes / its rate) after t. With all operations of an endpoint, the flows' own totals ``out`` and ``into`` hold,
    which are tighter than sums over operations. The last frame's own stay in memory counts nowhere: it is executed when memory
    takes it.

    Parameters
    ----------
    order
        Operations by descending ``ready``, shape (n,).
    mebi_ps
        Time of 1 MiB in each endpoint's memory, shape (endpoints,).
    leaf_out, leaf_into
        The flows' totals between leaves, shape (leaves,).
    last_frame_bytes
        Most bytes of memory that one frame can concern.
    """
    endpoints = len(e)
    sent = np.zeros(endpoints, np.int64)
    received = np.zeros(endpoints, np.int64)
    stored = np.zeros(endpoints, np.int64)
    first_out = np.full(endpoints, -1, np.int64)
    first_in = np.full(endpoints, -1, np.int64)
    leaves = len(leaf_out)
    up, down = np.zeros(leaves, np.int64), np.zeros(leaves, np.int64)
    first_up, first_down = np.full(leaves, -1, np.int64), np.full(leaves, -1, np.int64)
    num, den = e[0, UPLINK_NUM], e[0, UPLINK_DEN] * e[0, UPLINKS]  # leaves are alike
    for i in order:
        if kind[i] in (JOIN, COMPUTE):
            continue
        s = int(src[i])
        d = int(dst[i])
        t = ready[i]
        sent[s] += request[i]
        received[d] += request[i]
        first_out[s] = t
        first_in[d] = t
        home = s if kind[i] == GET else d
        stored[home] += size[i]
        if kind[i] == GET:  # read at the target, written at the reader
            stored[d] += size[i]
            _better(best, MEMORY, t + memory_ps(max(stored[d] - last_frame_bytes, 0), mebi_ps[d]), d, t, stored[d])
        if answer[i] > 0:
            sent[d] += answer[i]
            received[s] += answer[i]
            first_out[d] = t
            first_in[s] = t
            _better(best, SOURCE, t + line_ps(sent[d], e[d, UP_NUM], e[d, UP_DEN] * e[d, PORTS]), d, t, sent[d])
            _better(best, SINK, t + line_ps(received[s], e[s, DOWN_NUM], e[s, DOWN_DEN] * e[s, PORTS]), s, t, received[s])
        _better(best, SOURCE, t + line_ps(sent[s], e[s, UP_NUM], e[s, UP_DEN] * e[s, PORTS]), s, t, sent[s])
        _better(best, SINK, t + line_ps(received[d], e[d, DOWN_NUM], e[d, DOWN_DEN] * e[d, PORTS]), d, t, received[d])
        a = e[s, LEAF]
        b = e[d, LEAF]
        if a != b:
            for back in range(2 if answer[i] > 0 else 1):
                x, y, wire = (b, a, answer[i]) if back else (a, b, request[i])
                up[x] += wire
                down[y] += wire
                first_up[x] = t
                first_down[y] = t
                _better(best, LEAF_UP, t + line_ps(up[x], num, den), x, t, up[x])
                _better(best, SPINE_DOWN, t + line_ps(down[y], num, den), y, t, down[y])
        behind = max(stored[home] - last_frame_bytes, 0)
        _better(best, MEMORY, t + memory_ps(behind, mebi_ps[home]), home, t, stored[home])
    for x in range(endpoints):
        if first_out[x] >= 0:
            t = first_out[x]
            _better(best, SOURCE, t + line_ps(out[x], e[x, UP_NUM], e[x, UP_DEN] * e[x, PORTS]), x, t, out[x])
        if first_in[x] >= 0:
            t = first_in[x]
            _better(best, SINK, t + line_ps(into[x], e[x, DOWN_NUM], e[x, DOWN_DEN] * e[x, PORTS]), x, t, into[x])
    for x in range(leaves):
        if first_up[x] >= 0:
            t = first_up[x]
            _better(best, LEAF_UP, t + line_ps(leaf_out[x], num, den), x, t, leaf_out[x])
        if first_down[x] >= 0:
            t = first_down[x]
            _better(best, SPINE_DOWN, t + line_ps(leaf_into[x], num, den), x, t, leaf_into[x])
