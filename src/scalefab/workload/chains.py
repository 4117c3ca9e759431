"""Earliest times, compiled: how long an operation takes at least on an idle fabric, and when it can be ready at the earliest.

An idle operation: endpoint TX, its bytes over all ports that it can use, links, switches (three between leaves), endpoint RX,
memory; and the way back if it is answered (profile section 7). An operation that waits for several others is ready no earlier
than the last of them, and no earlier than all their bytes could leave each source and reach each target: so a phase behind a
JOIN begins after the port cuts of the phase before, GPU by GPU, and after those of its leaves.
"""

from __future__ import annotations

import numpy as np

from ..compiled import compiled, compiled_entry
from ..protocol.operations import COMPUTE, FENCE, GAP_BYTES, JOIN, PREAMBLE_BYTES, is_bulk
from .frames import alone_wire_bytes, items, largest_item, one_frame_bytes, smallest_item
from .graph import I1, I2, I4, I8

_PAGE_SHIFT = 12

# columns of the endpoint table, all int64
TX_PS, RX_PS, MEMORY_PS, PORTS, STACK_PORTS, UP_NUM, UP_DEN, DOWN_NUM, DOWN_DEN, UP_DELAY_PS, DOWN_DELAY_PS, SWITCH_PS = range(12)
# its leaf, the uplinks of that in all planes, the rate of those, leaf to spine and back, the spine
LEAF, UPLINKS, UPLINK_NUM, UPLINK_DEN, BETWEEN_PS, SPINE_PS = range(12, 18)
ENDPOINT_COLUMNS = 18


@compiled
def line_ps(size: int, num: int, den: int) -> int:
    """Return the time of ``size`` bytes at num / den ps a byte, rounded up."""
    return (size * num + den - 1) // den if size > 0 else 0


@compiled
def way_ps(e: I8, s: int, d: int, frame: int) -> int:
    """Return the least time from the last bit out of ``s`` to the last bit into ``d`` for frames of at least ``frame`` bytes.

    A switch's first bit out is no earlier than first bit in + latency and last bit in (profile section 2).
    """
    out = line_ps(PREAMBLE_BYTES + frame, e[d, DOWN_NUM], e[d, DOWN_DEN])
    into = line_ps(PREAMBLE_BYTES + frame, e[s, UP_NUM], e[s, UP_DEN])
    through = out
    if e[s, UP_NUM] == e[d, DOWN_NUM] and e[s, UP_DEN] == e[d, DOWN_DEN]:
        through = max(e[s, SWITCH_PS] - into, 0) + out
    beyond = 0
    if e[s, LEAF] != e[d, LEAF]:
        # ports of one rate from end to end: each further switch takes its latency, or the frame's time where that is longer
        further = line_ps(PREAMBLE_BYTES + frame, e[s, UPLINK_NUM], e[s, UPLINK_DEN])
        beyond = e[s, BETWEEN_PS] + max(e[s, SPINE_PS], further) + max(e[s, SWITCH_PS], further)
    return int(e[s, UP_DELAY_PS] + through + beyond + e[d, DOWN_DELAY_PS])


@compiled
def send_ps(wire: int, largest: int, paths: int, num: int, den: int) -> int:
    """Return the least time from the first bit of frames to their last, over ``paths`` ports, no gap after the last ones."""
    spread = line_ps(wire - GAP_BYTES * paths, num, den * paths)
    return max(spread, line_ps(PREAMBLE_BYTES + largest, num, den))


@compiled
def idle_ps(
    kind: int,
    s: int,
    d: int,
    size: int,
    chunk: int,
    posted: int,
    address: int,
    stack: int,
    compute_ps: int,
    mtu: int,
    limit: int,
    pack: int,
    e: I8,
) -> int:
    """Return the least time from ready to done of one operation alone."""
    if kind in (JOIN, COMPUTE):
        return compute_ps
    b0, n0, b1, n1, b2, n2 = items(kind, size, chunk, mtu, 0)
    paths = min(e[s, PORTS], e[d, PORTS])
    if stack >= 0:
        paths = min(paths, e[s, STACK_PORTS])
    if not is_bulk(kind):  # a page is bound to one path
        paths = min(paths, ((address + max(size, 1) - 1) >> _PAGE_SHIFT) - (address >> _PAGE_SHIFT) + 1)
    num, den = e[s, UP_NUM], e[s, UP_DEN]
    # half-empty frames on more paths may end earlier than full ones on few: as many paths as items, bytes as if packed
    wire = alone_wire_bytes(b0, n0, b1, n1, b2, n2, limit, pack)
    small = one_frame_bytes(smallest_item(b0, n0, b1, n1, b2, n2))
    memory_ps = 0 if kind == FENCE else e[d, MEMORY_PS]  # what a FENCE waits for may be visible already
    there = way_ps(e, s, d, small) + e[d, RX_PS] + memory_ps
    send = send_ps(wire, one_frame_bytes(largest_item(b0, n0, b1, n1, b2, n2)), max(min(paths, n0 + n1 + n2), 1), num, den)
    if posted:
        return int(e[s, TX_PS] + send + there)
    a0, m0, a1, m1, a2, m2 = items(kind, size, chunk, mtu, 1)
    back_num, back_den = e[d, UP_NUM], e[d, UP_DEN]
    back_wire = alone_wire_bytes(a0, m0, a1, m1, a2, m2, limit, pack)
    back_small = one_frame_bytes(smallest_item(a0, m0, a1, m1, a2, m2))
    back_large = one_frame_bytes(largest_item(a0, m0, a1, m1, a2, m2))
    back = way_ps(e, d, s, back_small) + e[s, RX_PS]
    # either the last request goes out last and is answered, or the first request is executed and then all answers go out
    last = send + line_ps(PREAMBLE_BYTES + back_small, back_num, back_den)
    answers = send_ps(back_wire, back_large, max(min(paths, m0 + m1 + m2), 1), back_num, back_den)
    first = line_ps(PREAMBLE_BYTES + small, num, den) + answers
    return int(e[s, TX_PS] + there + e[d, TX_PS] + back + max(last, first))


@compiled_entry
def idle_times(
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
    e: I8,
    out: I8,
) -> None:
    """Fill ``out`` with `idle_ps` of every operation; ``e`` = endpoint table, shape (endpoints, ENDPOINT_COLUMNS)."""
    for i in range(len(kind)):
        out[i] = idle_ps(
            int(kind[i]),
            int(src[i]),
            int(dst[i]),
            size[i],
            int(chunk[i]),
            int(posted[i]),
            address[i],
            int(stack[i]),
            compute_ps[i],
            mtu,
            limit,
            pack,
            e,
        )


@compiled
def _note(book: I8, least: I8, stamp: I8, v: int, endpoint: int, size: int, ready: int) -> int:
    """Add bytes to an endpoint's book of node ``v``; returns 1 when the endpoint is new there."""
    if stamp[endpoint] != v:
        stamp[endpoint] = v
        book[endpoint] = size
        least[endpoint] = ready
        return 1
    book[endpoint] += size
    least[endpoint] = min(least[endpoint], ready)
    return 0


@compiled
def _ports_ps(size: int, e: I8, x: int, num: int) -> int:
    """Return the time of bytes over all ports of endpoint ``x``, no gap after the last ones; ``num`` = UP_NUM or DOWN_NUM."""
    return line_ps(size - GAP_BYTES * e[x, PORTS], e[x, num], e[x, num + 1] * e[x, PORTS])


@compiled
def _leaf_ps(size: int, e: I8) -> int:
    """Return the time of bytes over all uplinks of a leaf, which are as many as its down-links from spines; leaves are alike."""
    return line_ps(size - GAP_BYTES * e[0, UPLINKS], e[0, UPLINK_NUM], e[0, UPLINK_DEN] * e[0, UPLINKS])


@compiled_entry
def earliest(
    kind: I1,
    src: I2,
    dst: I2,
    start_ps: I8,
    succ_ptr: I8,
    succ: I4,
    waits: I4,
    idle: I8,
    request: I8,
    answer: I8,
    e: I8,
    ready: I8,
) -> tuple[int, int]:
    """Fill ``ready`` with the earliest time that each operation can be ready; shape (n,).

    ``request`` and ``answer`` are `flows.flow_bytes`' additive bytes. Returns the earliest end of all, and how many operations
    that use the network or compute stand one after the other on the way to it.
    """
    n = len(kind)
    endpoints = len(e)
    pred_ptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        pred_ptr[i + 1] = pred_ptr[i] + waits[i]
    fill = pred_ptr[:-1].copy()
    pred = np.empty(len(succ), np.int32)
    for i in range(n):
        for k in range(succ_ptr[i], succ_ptr[i + 1]):
            j = succ[k]
            pred[fill[j]] = i
            fill[j] += 1
    left = waits.copy()
    order = np.empty(n, np.int32)
    placed = 0
    for i in range(n):
        if left[i] == 0:
            order[placed] = i
            placed += 1
    # one book for endpoints and, behind them, leaves
    books = endpoints + e[:, LEAF].max() + 1
    out_book, out_least, out_stamp = np.zeros(books, np.int64), np.zeros(books, np.int64), np.full(books, -1, np.int64)
    in_book, in_least, in_stamp = np.zeros(books, np.int64), np.zeros(books, np.int64), np.full(books, -1, np.int64)
    out_seen, in_seen = np.empty(books, np.int32), np.empty(books, np.int32)
    fixed = least_way(e)
    row = np.zeros(n, np.int32)  # operations on the way here, this one included
    end = 0
    longest = 0
    at = 0
    while at < placed:
        v = order[at]
        at += 1
        t = start_ps[v]
        several = pred_ptr[v + 1] - pred_ptr[v] > 1
        outs = 0
        ins = 0
        for k in range(pred_ptr[v], pred_ptr[v + 1]):
            p = pred[k]
            if ready[p] + idle[p] > t or row[v] == 0:
                row[v] = row[p]
            t = max(t, ready[p] + idle[p])
            if several and request[p] > 0:
                s = int(src[p])
                d = int(dst[p])
                for back in range(2 if answer[p] > 0 else 1):
                    x, y, size = (d, s, answer[p]) if back else (s, d, request[p])
                    for between in range(1 if e[s, LEAF] == e[d, LEAF] else 2):
                        if between:
                            x, y = endpoints + e[x, LEAF], endpoints + e[y, LEAF]
                        if _note(out_book, out_least, out_stamp, v, x, size, ready[p]):
                            out_seen[outs] = x
                            outs += 1
                        if _note(in_book, in_least, in_stamp, v, y, size, ready[p]):
                            in_seen[ins] = y
                            ins += 1
        for k in range(outs):
            x = out_seen[k]
            t = max(
                t, out_least[x] + fixed + (_leaf_ps(out_book[x], e) if x >= endpoints else _ports_ps(out_book[x], e, x, UP_NUM))
            )
        for k in range(ins):
            x = in_seen[k]
            t = max(
                t, in_least[x] + fixed + (_leaf_ps(in_book[x], e) if x >= endpoints else _ports_ps(in_book[x], e, x, DOWN_NUM))
            )
        ready[v] = t
        if kind[v] != JOIN:
            row[v] += 1
        if t + idle[v] > end:
            end = t + idle[v]
            longest = row[v]
        for k in range(succ_ptr[v], succ_ptr[v + 1]):
            j = succ[k]
            left[j] -= 1
            if left[j] == 0:
                order[placed] = j
                placed += 1
    return end, longest


@compiled
def least_way(e: I8) -> int:
    """Return the least time from ready to executed that no line and no queue takes, between any two endpoints."""
    tx = e[0, TX_PS]
    rx = e[0, RX_PS]
    way = 1 << 60
    for x in range(len(e)):
        tx = min(tx, e[x, TX_PS])
        rx = min(rx, e[x, RX_PS])
        alike = e[x, UP_NUM] == e[x, DOWN_NUM] and e[x, UP_DEN] == e[x, DOWN_DEN]
        way = min(way, e[x, UP_DELAY_PS] + (e[x, SWITCH_PS] if alike else 0) + e[x, DOWN_DELAY_PS])
    return int(tx + way + rx)
