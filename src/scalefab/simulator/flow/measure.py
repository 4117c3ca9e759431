"""What each operation takes of links, memory and time, compiled; sizes and latencies are the bounds' (`workload.chains`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import compiled, compiled_entry
from ...protocol.operations import COMPUTE, FENCE, GAP_BYTES, GET, JOIN, LOAD, PREAMBLE_BYTES, is_bulk
from ...workload.chains import (
    LEAF,
    MEMORY_PS,
    PORTS,
    RX_PS,
    TX_PS,
    UP_DEN,
    UP_NUM,
    idle_ps,
    line_ps,
    send_ps,
    way_ps,
)
from ...workload.cuts import memory_ps
from ...workload.frames import alone_wire_bytes, items, largest_item, one_frame_bytes, smallest_item
from ...workload.graph import I1, I2, I4, I8
from .overhead import control_bytes, data_frames

MAIN_VC = np.array([1, 0, 0, 0, 2, 2, 2, 0, 0, 0], np.int64)
"""VC that the data of each kind travel in: a LOAD's are responses (1), a GET's are bulk (2)."""


@compiled
def reads(kind: int) -> bool:
    """Return whether an operation's data come back from its target."""
    return kind == LOAD or kind == GET


@compiled_entry
def measure(
    kind: I1,
    src: I2,
    dst: I2,
    size: I8,
    chunk: I4,
    posted: I1,
    address: I8,
    stack: I1,
    compute_ps: I8,
    mtu: int,
    limit: int,
    pack: int,
    spread: int,
    ways: int,
    ack_every: int,
    ctlos_spacing: int,
    cf_spacing: int,
    e: I8,
    mebi_ps: I8,
    op: Any,
) -> None:
    """Fill the constant fields of ``op``.

    Parameters
    ----------
    kind, src, dst, size, chunk, posted, address, stack, compute_ps
        Columns of the graph, shape (n,).
    mtu, limit, pack
        As in `workload.bounds`.
    spread
        1 = an operation flows over all its ports as one piece.
    ways, ack_every, ctlos_spacing, cf_spacing
        See `overhead.control_bytes`.
    e, mebi_ps
        Endpoint table, time of 1 MiB in each endpoint's memory.
    """
    for i in range(len(kind)):
        o = op[i]
        what = int(kind[i])
        if what == JOIN or what == COMPUTE or what == FENCE:
            o.alone = 1
            o.answer_ps = compute_ps[i]
            if what == FENCE:
                o.answer_ps = idle_ps(
                    what, int(src[i]), int(dst[i]), size[i], 1, 0, address[i], int(stack[i]), 0, mtu, limit, pack, e
                )
            continue
        s = int(src[i])
        d = int(dst[i])
        there = 1 if reads(what) else 0
        b0, n0, b1, n1, b2, n2 = items(what, size[i], int(chunk[i]), mtu, there)
        o.wire_bytes = alone_wire_bytes(b0, n0, b1, n1, b2, n2, limit, pack)
        frames = data_frames(b0, n0, b1, n1, b2, n2, limit, pack)
        o.control_bytes = control_bytes(what, int(posted[i]), frames, o.wire_bytes, ways, ack_every, ctlos_spacing, cf_spacing)
        o.data_bytes = size[i]
        o.memory_ratio = size[i] / o.wire_bytes
        large = one_frame_bytes(largest_item(b0, n0, b1, n1, b2, n2))
        a, z = (d, s) if there else (s, d)
        num, den = e[a, UP_NUM], e[a, UP_DEN]
        gap = line_ps(GAP_BYTES, num, den)
        if spread:
            ports = max(min(min(e[s, PORTS], e[d, PORTS]), n0 + n1 + n2), 1)
            o.send_ps = send_ps(o.wire_bytes, large, ports, num, den) + gap
        frame = min(mtu, size[i])
        tail = way_ps(e, a, z, large) + e[z, RX_PS] - gap
        if not (there and what == LOAD):
            tail += max(e[z, MEMORY_PS], memory_ps(frame, mebi_ps[z]))
        o.tail_ps = tail
        o.lead_ps = e[s, TX_PS]
        if posted[i] and not there:
            continue
        b0, n0, b1, n1, b2, n2 = items(what, size[i], int(chunk[i]), mtu, 1 - there)
        o.side_bytes = alone_wire_bytes(b0, n0, b1, n1, b2, n2, limit, pack)
        o.side_ratio = o.side_bytes / o.wire_bytes
        small = one_frame_bytes(smallest_item(b0, n0, b1, n1, b2, n2))
        if there:
            out = line_ps(PREAMBLE_BYTES + small, e[s, UP_NUM], e[s, UP_DEN]) + way_ps(e, s, d, small)
            o.lead_ps += out + e[d, RX_PS] + e[d, MEMORY_PS] + e[d, TX_PS]
            if is_bulk(what):
                o.lead_ps += memory_ps(size[i], mebi_ps[d])
        else:
            back = line_ps(PREAMBLE_BYTES + small, e[d, UP_NUM], e[d, UP_DEN]) + way_ps(e, d, s, small)
            o.answer_ps = e[d, TX_PS] + back + e[s, RX_PS]


@compiled_entry
def whole_lanes(
    kind: I1, src: I2, dst: I2, main_vc: I8, e: I8, up: int, down: int, side: int, op: Any, piece: Any, table: I4, link: I4
) -> int:
    """Make one piece of each operation, and lanes over all ports of their ends; return how many lanes.

    Parameters
    ----------
    main_vc
        `MAIN_VC`.
    up, down
        First link of the leaves' uplinks and of the links down to them; -1 = a single tier.
    side
        1 = lanes list the links of the way back.
    table
        All -1, shape (3 * endpoints * endpoints,); the lane of each (VC, from, to).
    link
        Out: links of lanes, shape (operations, width).
    """
    n = len(e)
    lanes = 0
    pieces = 0
    width = link.shape[1]
    for i in range(len(kind)):
        if op[i].alone:
            continue
        what = int(kind[i])
        a, z = int(src[i]), int(dst[i])
        if reads(what):
            a, z = z, a
        key = (main_vc[what] * n + a) * n + z
        lane = table[key]
        if lane < 0:
            lane = lanes
            lanes += 1
            table[key] = lane
            c = 0
            for way in range(2 if side else 1):
                x, y = (z, a) if way else (a, z)
                link[lane, c] = x
                link[lane, c + 1] = n + y
                c += 2
                if up >= 0:
                    if e[x, LEAF] != e[y, LEAF]:
                        link[lane, c] = up + e[x, LEAF]
                        link[lane, c + 1] = down + e[y, LEAF]
                    c += 2
            link[lane, width - 1] = 2 * n + (a if what == LOAD else z)
        piece[pieces].op = i
        piece[pieces].lane = lane
        piece[pieces].next = -1
        piece[pieces].wire_bytes = op[i].wire_bytes
        op[i].first_piece = pieces
        op[i].pieces = 1
        op[i].left = 1
        pieces += 1
    return lanes


@compiled_entry
def count_members(link: I4, lanes: int, count: I8) -> None:
    """Count the lanes of each link, as offsets: ``count[l + 1]`` ends the segment of link l, shape (links + 1,)."""
    for lane in range(lanes):
        for c in range(link.shape[1]):
            if link[lane, c] >= 0:
                count[link[lane, c] + 1] += 1
    for i in range(1, len(count)):
        count[i] += count[i - 1]
