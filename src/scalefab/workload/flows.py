"""Wire bytes that leave and reach every endpoint at least, flow by flow; a flow is (from, to, VC): what may share frames.

Within a flow, operations may share frames ("the sender packs what waits for the same (dst, path, vc)", profile section 1), so the
frames of a flow are at least: those of items that fit with nothing, plus the larger of (rest bytes / frame) and, for every k, the
items that no frame takes more than k of, divided by k. A flow of one operation is exact.
"""

from __future__ import annotations

import numpy as np

from ..compiled import compiled, compiled_entry
from ..protocol.operations import COMPUTE, JOIN, request_vc, response_vc
from .frames import (
    MIN_WIRE_BYTES,
    OVERHEAD_BYTES,
    alone_wire_bytes,
    crowd,
    items,
    lonely,
    shared_wire_bytes,
    smallest_item,
)
from .graph import I1, I2, I4, I8

DATA_VCS = 3
_SMALLEST_ITEM_BYTES = 8  # a response without data


@compiled
def _flow(kind: int, src: int, dst: int, answer: int, endpoints: int) -> int:
    """Return the number of the flow that one direction of an operation belongs to."""
    if answer:
        return (response_vc(kind) * endpoints + dst) * endpoints + src
    return (request_vc(kind) * endpoints + src) * endpoints + dst


@compiled_entry
def flow_bytes(
    kind: I1,
    src: I2,
    dst: I2,
    size: I8,
    chunk: I4,
    posted: I1,
    endpoints: int,
    mtu: int,
    limit: int,
    pack: int,
    request: I8,
    answer: I8,
    out: I8,
    into: I8,
    leaf: I4,
    leaf_out: I8,
    leaf_into: I8,
) -> None:
    """Fill the least wire bytes of operations, endpoints and leaves.

    Parameters
    ----------
    kind, src, dst, size, chunk, posted
        Columns of the graph, shape (n,).
    endpoints, mtu, limit, pack
        The fabric's; ``limit`` = bytes of transactions a frame takes, ``pack`` 0 = one transaction a frame.
    request, answer
        Out: bytes that each direction of an operation adds at least, safe to be summed over any set; shape (n,).
    out, into
        Out: bytes that leave and reach each endpoint in the whole graph, shape (endpoints,).
    leaf
        Leaf of each endpoint, shape (endpoints,).
    leaf_out, leaf_into
        Out: bytes that leave and reach each leaf from and for the others, shape (leaves,).
    """
    n = len(kind)
    flows = DATA_VCS * endpoints * endpoints
    head = np.full(flows, -1, np.int32)
    link = np.full(2 * n, -1, np.int32)
    vc_smallest = np.full(DATA_VCS, 1 << 40, np.int64)
    for i in range(n):
        if kind[i] in (JOIN, COMPUTE):
            continue
        for a in range(1 if posted[i] else 2):
            f = _flow(int(kind[i]), int(src[i]), int(dst[i]), a, endpoints)
            link[2 * i + a] = head[f]
            head[f] = 2 * i + a
            b0, n0, b1, n1, b2, n2 = items(int(kind[i]), size[i], int(chunk[i]), mtu, a)
            vc = f // (endpoints * endpoints)
            vc_smallest[vc] = min(vc_smallest[vc], smallest_item(b0, n0, b1, n1, b2, n2))
    by_class = np.zeros(limit // _SMALLEST_ITEM_BYTES + 1, np.int64)
    for f in range(flows):
        e = head[f]
        if e < 0:
            continue
        single = link[e] < 0
        smallest = 1 << 40
        while e >= 0 and pack and not single:
            i = e >> 1
            b0, n0, b1, n1, b2, n2 = items(int(kind[i]), size[i], int(chunk[i]), mtu, e & 1)
            smallest = min(smallest, smallest_item(b0, n0, b1, n1, b2, n2))
            e = link[e]
        total = 0
        frames = 0
        rest = 0
        most = 0
        e = head[f]
        while e >= 0:
            i = e >> 1
            b0, n0, b1, n1, b2, n2 = items(int(kind[i]), size[i], int(chunk[i]), mtu, e & 1)
            if single or not pack:
                added = alone_wire_bytes(b0, n0, b1, n1, b2, n2, limit, pack)
                total += added
            else:
                added = shared_wire_bytes(b0, n0, b1, n1, b2, n2, limit, vc_smallest[f // (endpoints * endpoints)])
                for b, m in ((b0, n0), (b1, n1), (b2, n2)):
                    if m == 0:
                        continue
                    total += b * m
                    if lonely(b, m, limit, smallest):
                        frames += m
                    else:
                        rest += b * m
                        k = crowd(b, limit)
                        by_class[k] += m
                        most = max(most, k)
            if e & 1:
                answer[i] = added
            else:
                request[i] = added
            e = link[e]
        if pack and not single:
            shared = (rest + limit - 1) // limit
            count = 0
            for k in range(1, most + 1):
                count += by_class[k]
                by_class[k] = 0
                shared = max(shared, (count + k - 1) // k)
            frames += shared
            total = max(total + OVERHEAD_BYTES * frames, MIN_WIRE_BYTES * frames)
        pair = f % (endpoints * endpoints)
        a = pair // endpoints
        b = pair % endpoints
        out[a] += total
        into[b] += total
        if leaf[a] != leaf[b]:
            leaf_out[leaf[a]] += total
            leaf_into[leaf[b]] += total
