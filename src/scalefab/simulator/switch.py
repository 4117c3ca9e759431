"""A switch: frames that come in, VOQs, the arbiter of an output, the next hop."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import cbfc, switching
from ..protocol.cbfc import COUNTER_BITS
from ..protocol.operations import ORDERED_SET_BYTES, PREAMBLE_BYTES, VC_CONTROL, WIRE_EXTRA_BYTES
from .calendar import push
from .ports import block, credit_mark, flush_update, hold_buffer, kick, line_ps, occupy, settle, unblock, update_arrival_ps
from .records import DELIVER, ON_CREDIT, State


@compiled
def output_port(S: State, node: int, f: Any) -> int:
    """Look up: the switch port attached to the destination's port of the frame's path."""
    path = S.session[f.session].path
    return S.port[S.node[f.dst].first_port + path].peer


@compiled
def forward(S: State, a: int, i: int, start_ps: int) -> None:
    """Frame ``i`` starts to leave port ``a`` at ``start_ps``: bring it into the next switch's output, or to its endpoint."""
    f = S.frame[i]
    port = S.port[a]
    q = port.peer
    f.in_port = q
    f.cable_ps += port.delay_ps
    last_in_ps = start_ps + line_ps(port, PREAMBLE_BYTES + f.size_bytes) + port.delay_ps
    node = S.node[S.port[q].node]
    if node.is_switch == 0:
        push(S, last_in_ps + node.rx_ps, DELIVER, q, i)
        return
    f.lookup_ps += node.latency_ps
    f.stage_ps = switching.first_bit_out_ps(start_ps + port.delay_ps, last_in_ps, node.latency_ps)
    out = output_port(S, S.port[q].node, f)
    insert(S, out, i)
    o = S.port[out]
    kick(S, out, f.stage_ps if f.stage_ps > o.free_ps else o.free_ps)


@compiled
def insert(S: State, out: int, i: int) -> None:
    """Add a frame to the output's list of frames that come, by time: at the tail nearly always."""
    o = S.port[out]
    f = S.frame[i]
    f.next = -1
    if o.transit_head < 0:
        o.transit_head = i
        o.transit_tail = i
    elif S.frame[o.transit_tail].stage_ps <= f.stage_ps:
        S.frame[o.transit_tail].next = i
        o.transit_tail = i
    elif S.frame[o.transit_head].stage_ps > f.stage_ps:
        f.next = o.transit_head
        o.transit_head = i
    else:
        p = o.transit_head
        n = S.frame[p].next
        while S.frame[n].stage_ps <= f.stage_ps:
            p = n
            n = S.frame[p].next
        f.next = n
        S.frame[p].next = i


@compiled
def enqueue_arrived(S: State, a: int, now_ps: int) -> None:
    """Move the frames that may leave by now into the VOQs of output ``a``: the arbiter sees no frame that has not come."""
    port = S.port[a]
    i = port.transit_head
    base = (a - S.kernel[0].first_switch_port) * 4
    first_port = S.node[port.node].first_port
    while i >= 0 and S.frame[i].stage_ps <= now_ps:
        f = S.frame[i]
        following = f.next
        f.next = -1
        f.mark_ps = credit_mark(port, f.stage_ps)
        row = base + f.vc
        index = f.in_port - first_port
        if S.voq_head[row, index] == 0:
            S.voq_head[row, index] = i + 1
            switching.mark_waiting(S.voq_bits, row, index)
        else:
            S.frame[S.voq_tail[row, index] - 1].next = i
        S.voq_tail[row, index] = i + 1
        port.queued += 1
        i = following
    port.transit_head = i


@compiled
def candidate(S: State, a: int, row: int, vc: int) -> int:
    """Return the input whose frame VC ``vc`` of output ``a`` would send next: -1 = none waits, -2 = no credits for it.

    Deficit round robin by bytes: an input keeps its turn while what is left of it covers the frame at its head.
    """
    j = S.voq_last[row + vc]
    left = S.voq_deficit[row + vc, j] if j >= 0 else 0
    if (
        left <= 0
        or not switching.is_waiting(S.voq_bits, row + vc, j)
        or left < S.frame[S.voq_head[row + vc, j] - 1].size_bytes + WIRE_EXTRA_BYTES
    ):
        j = switching.next_input(S.voq_bits, row + vc, S.kernel[0].words, j)
    if j >= 0 and not cbfc.may_send(S.sender[a, vc], S.frame[S.voq_head[row + vc, j] - 1].credits, COUNTER_BITS):
        return -2
    return j


@compiled
def on_egress(S: State, a: int, now_ps: int) -> None:
    """Output ``a`` looks at its work."""
    port = S.port[a]
    if port.sched_ps != now_ps:
        return  # superseded by an earlier look
    port.sched_ps = -1
    flush_update(S, a, now_ps)
    # A CF_UPDATE that goes at this boundary delays the frame behind it by its line time; what that frame will be is settled now
    # (another event for those 80 ps at 800G would be one more a frame).
    start_ps = port.free_ps if port.free_ps > now_ps else now_ps
    if start_ps - now_ps > 4 * line_ps(port, ORDERED_SET_BYTES):
        kick(S, a, start_ps)
        return
    unblock(port, now_ps)
    settle(S, a, now_ps)
    enqueue_arrived(S, a, now_ps)
    if port.queued == 0:
        if port.transit_head >= 0:
            kick(S, a, S.frame[port.transit_head].stage_ps)
        return
    row = (a - S.kernel[0].first_switch_port) * 4
    vc = VC_CONTROL
    j = candidate(S, a, row, VC_CONTROL)
    if j < 0:
        j0 = candidate(S, a, row, 0)
        j1 = candidate(S, a, row, 1)
        j2 = candidate(S, a, row, 2)
        ready = (1 if j0 >= 0 else 0) | (2 if j1 >= 0 else 0) | (4 if j2 >= 0 else 0)
        vc = switching.byte_turn(S.deficit, a, port.turn, ready, S.kernel[0].quantum_bytes)
        if vc < 0:
            wait_for_credit(S, a, now_ps)
            return
        port.turn = vc
        j = j0 if vc == 0 else (j1 if vc == 1 else j2)
        S.deficit[a, vc] -= S.frame[S.voq_head[row + vc, j] - 1].size_bytes + WIRE_EXTRA_BYTES
    send(S, a, row + vc, j, start_ps)


@compiled
def wait_for_credit(S: State, a: int, now_ps: int) -> None:
    """Frames wait but none has credits: sleep until the next CF_UPDATE or the next frame comes."""
    port = S.port[a]
    block(port, ON_CREDIT, now_ps)
    t_ps = update_arrival_ps(S, a)
    if t_ps >= 0:
        kick(S, a, t_ps)
    if port.transit_head >= 0:
        kick(S, a, S.frame[port.transit_head].stage_ps)


@compiled
def send(S: State, a: int, row: int, j: int, start_ps: int) -> None:
    """Send the head of a VOQ."""
    port = S.port[a]
    i = S.voq_head[row, j] - 1
    f = S.frame[i]
    wire = f.size_bytes + WIRE_EXTRA_BYTES
    if S.voq_deficit[row, j] < wire:  # its turn begins; a turn is at least the largest frame
        S.voq_deficit[row, j] += S.kernel[0].quantum_bytes
    S.voq_deficit[row, j] -= wire
    S.voq_last[row] = j
    S.voq_head[row, j] = f.next + 1
    if f.next < 0:
        switching.mark_empty(S.voq_bits, row, j)
        S.voq_deficit[row, j] = 0
    port.queued -= 1
    waited = start_ps - f.stage_ps
    hold = port.credit_wait_ps - f.mark_ps
    f.hold_ps += hold
    f.arbiter_ps += waited - hold
    came_by = f.in_port
    occupy(S, a, f, start_ps)
    hold_buffer(S, a, came_by, f.vc, f.credits, port.free_ps)
    forward(S, a, i, start_ps)
    if port.queued > 0:
        kick(S, a, port.free_ps)
    elif port.transit_head >= 0:
        t_ps = S.frame[port.transit_head].stage_ps
        kick(S, a, t_ps if t_ps > port.free_ps else port.free_ps)
