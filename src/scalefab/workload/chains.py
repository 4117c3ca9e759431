"""Earliest times, compiled: how long an operation takes at least on an idle fabric, and when it can be ready at the earliest.

An idle operation: endpoint TX, its bytes over all ports that it can use, link, switch, link, endpoint RX, memory; and the way back if
it is answered (profile section 7). An operation that waits for several others is ready no earlier than the last of them, and no earlier
than all their bytes could leave each source and reach each target: so a phase behind a JOIN begins after the port cuts of the phase
before, GPU by GPU.
"""

from __future__ import annotations

import numpy as np

from ..compiled import compiled, compiled_entry
from ..protocol.operations import COMPUTE, FRAME_MIN_BYTES, GAP_BYTES, JOIN, PREAMBLE_BYTES, is_bulk
from .frames import alone_frames, alone_wire_bytes, items, largest_item, one_frame_bytes, smallest_item

_PAGE_SHIFT = 12

# columns of the endpoint table, all int64
TX_PS, RX_PS, MEMORY_PS, PORTS, STACK_PORTS, UP_NUM, UP_DEN, DOWN_NUM, DOWN_DEN, UP_DELAY_PS, DOWN_DELAY_PS, SWITCH_PS = range(12)
ENDPOINT_COLUMNS = 12


@compiled
def line_ps(size, num, den):  # type: ignore[no-untyped-def]
    """Return the time of ``size`` bytes at num / den ps a byte, rounded up."""
    return (size * num + den - 1) // den if size > 0 else 0


@compiled
def way_ps(e, s, d, frame):  # type: ignore[no-untyped-def]
    """Return the least time from the last bit out of ``s`` to the last bit into ``d`` for frames of at least ``frame`` bytes.

    A switch's first bit out is no earlier than first bit in + latency and last bit in (profile section 2).
    """
    out = line_ps(PREAMBLE_BYTES + frame, e[d, DOWN_NUM], e[d, DOWN_DEN])
    into = line_ps(PREAMBLE_BYTES + frame, e[s, UP_NUM], e[s, UP_DEN])
    through = out
    if e[s, UP_NUM] == e[d, DOWN_NUM] and e[s, UP_DEN] == e[d, DOWN_DEN]:
        through = max(e[s, SWITCH_PS] - into, 0) + out
    return e[s, UP_DELAY_PS] + through + e[d, DOWN_DELAY_PS]


@compiled
def send_ps(wire, largest, paths, num, den):  # type: ignore[no-untyped-def]
    """Return the least time from the first bit of frames to their last: spread over ``paths`` ports, no gap after the last ones."""
    spread = line_ps(wire - GAP_BYTES * paths, num, den * paths)
    return max(spread, line_ps(PREAMBLE_BYTES + largest, num, den))


@compiled
def idle_ps(kind, s, d, size, chunk, posted, address, stack, compute_ps, mtu, limit, pack, e):  # type: ignore[no-untyped-def]
    """Return the least time from ready to done of one operation alone."""
    if kind == JOIN or kind == COMPUTE:
        return compute_ps
    b0, n0, b1, n1, b2, n2 = items(kind, size, chunk, mtu, 0)
    frames = alone_frames(b0, n0, b1, n1, b2, n2, limit) if pack else n0 + n1 + n2
    paths = min(e[s, PORTS], e[d, PORTS])
    if stack >= 0:
        paths = min(paths, e[s, STACK_PORTS])
    if not is_bulk(kind):  # a page is bound to one path
        paths = min(paths, ((address + max(size, 1) - 1) >> _PAGE_SHIFT) - (address >> _PAGE_SHIFT) + 1)
    num, den = e[s, UP_NUM], e[s, UP_DEN]
    wire = alone_wire_bytes(b0, n0, b1, n1, b2, n2, limit, pack)
    small = one_frame_bytes(smallest_item(b0, n0, b1, n1, b2, n2))
    there = way_ps(e, s, d, small) + e[d, RX_PS] + e[d, MEMORY_PS]
    send = send_ps(wire, one_frame_bytes(largest_item(b0, n0, b1, n1, b2, n2)), max(min(paths, frames), 1), num, den)
    if posted:
        return e[s, TX_PS] + send + there
    a0, m0, a1, m1, a2, m2 = items(kind, size, chunk, mtu, 1)
    back_num, back_den = e[d, UP_NUM], e[d, UP_DEN]
    back_frames = alone_frames(a0, m0, a1, m1, a2, m2, limit) if pack else m0 + m1 + m2
    back_wire = alone_wire_bytes(a0, m0, a1, m1, a2, m2, limit, pack)
    back_small = one_frame_bytes(smallest_item(a0, m0, a1, m1, a2, m2))
    back_large = one_frame_bytes(largest_item(a0, m0, a1, m1, a2, m2))
    back = way_ps(e, d, s, back_small) + e[s, RX_PS]
    # either the last request goes out last and is answered, or the first request is executed and then all answers go out
    last = send + line_ps(PREAMBLE_BYTES + back_small, back_num, back_den)
    answers = send_ps(back_wire, back_large, max(min(paths, back_frames), 1), back_num, back_den)
    first = line_ps(PREAMBLE_BYTES + small, num, den) + answers
    return e[s, TX_PS] + there + e[d, TX_PS] + back + max(last, first)


@compiled_entry
def idle_times(kind, src, dst, size, chunk, posted, address, stack, compute_ps, mtu, limit, pack, e, out):  # type: ignore[no-untyped-def]
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
def _note(book, least, stamp, mark, v, endpoint, size, ready):  # type: ignore[no-untyped-def]
    """Add bytes to an endpoint's book of node ``v``; returns 1 when the endpoint is new there."""
    if stamp[endpoint] != v + mark:
        stamp[endpoint] = v + mark
        book[endpoint] = size
        least[endpoint] = ready
        return 1
    book[endpoint] += size
    least[endpoint] = min(least[endpoint], ready)
    return 0


@compiled_entry
def earliest(kind, src, dst, start_ps, succ_ptr, succ, waits, idle, request, answer, e, ready):  # type: ignore[no-untyped-def]
    """Fill ``ready`` with the earliest time that each operation can be ready; shape (n,).

    ``request`` and ``answer`` are `flows.flow_bytes`' additive bytes. Returns the earliest end of all.
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
    out_book, out_least, out_stamp = np.zeros(endpoints, np.int64), np.zeros(endpoints, np.int64), np.full(endpoints, -1, np.int64)
    in_book, in_least, in_stamp = np.zeros(endpoints, np.int64), np.zeros(endpoints, np.int64), np.full(endpoints, -1, np.int64)
    out_seen, in_seen = np.empty(endpoints, np.int32), np.empty(endpoints, np.int32)
    fixed = least_way(e)
    end = 0
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
            t = max(t, ready[p] + idle[p])
            if several and request[p] > 0:
                s = int(src[p])
                d = int(dst[p])
                if _note(out_book, out_least, out_stamp, 0, v, s, request[p], ready[p]):
                    out_seen[outs] = s
                    outs += 1
                if _note(in_book, in_least, in_stamp, 0, v, d, request[p], ready[p]):
                    in_seen[ins] = d
                    ins += 1
                if answer[p] > 0:
                    if _note(out_book, out_least, out_stamp, 0, v, d, answer[p], ready[p]):
                        out_seen[outs] = d
                        outs += 1
                    if _note(in_book, in_least, in_stamp, 0, v, s, answer[p], ready[p]):
                        in_seen[ins] = s
                        ins += 1
        for k in range(outs):
            x = out_seen[k]
            size = out_book[x] - GAP_BYTES * e[x, PORTS]
            t = max(t, out_least[x] + fixed + line_ps(size, e[x, UP_NUM], e[x, UP_DEN] * e[x, PORTS]))
        for k in range(ins):
            x = in_seen[k]
            size = in_book[x] - GAP_BYTES * e[x, PORTS]
            t = max(t, in_least[x] + fixed + line_ps(size, e[x, DOWN_NUM], e[x, DOWN_DEN] * e[x, PORTS]))
        ready[v] = t
        end = max(end, t + idle[v])
        for k in range(succ_ptr[v], succ_ptr[v + 1]):
            j = succ[k]
            left[j] -= 1
            if left[j] == 0:
                order[placed] = j
                placed += 1
    return end


@compiled
def least_way(e):  # type: ignore[no-untyped-def]
    """Return the least time that a bit spends outside of ports' queues and lines, from ready to executed, between any endpoints."""
    tx = e[0, TX_PS]
    way = e[0, UP_DELAY_PS] + e[0, DOWN_DELAY_PS]
    rx = e[0, RX_PS]
    for x in range(len(e)):
        tx = min(tx, e[x, TX_PS])
        rx = min(rx, e[x, RX_PS])
        into = line_ps(PREAMBLE_BYTES + FRAME_MIN_BYTES, e[x, UP_NUM], e[x, UP_DEN])
        way = min(way, e[x, UP_DELAY_PS] + max(e[x, SWITCH_PS] - into, 0) + e[x, DOWN_DELAY_PS])
    return tx + way + rx
