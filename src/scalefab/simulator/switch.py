"""An output of a switch: VOQs, the arbiter, what goes on the line next."""

from __future__ import annotations

from ..compiled import compiled, inlined
from ..protocol import switching
from ..protocol.operations import VC_CONTROL, WIRE_EXTRA_BYTES
from .calendar import push
from .credits import may_charge
from .link import begin_look, goes_first, may_transmit, transmit
from .load import count_arrived, count_queued
from .ordered_sets import hold_buffer, sleep
from .ports import credit_mark, kick, look_ps
from .records import CREDIT_FIELD_BITS, FREE, RAW, State

NOTHING, NO_CREDIT, HELD = -1, -2, -3
"""Why no input of a VC sends: none waits, credits are missing, LLR holds the frame."""


@inlined
def enqueue_arrived(S: State, a: int, now_ps: int) -> None:
    """Move the frames that may leave by now into the VOQs of output ``a``: the arbiter sees no frame that has not come."""
    port = S.port[a]
    i = port.transit_head
    base = a - S.kernel[0].first_switch_port
    first_port = S.node[port.node].first_port
    while i >= 0 and S.frame[i].stage_ps <= now_ps:
        f = S.frame[i]
        following = f.next
        f.next = -1
        f.mark_ps = credit_mark(port, f.stage_ps)
        row = base + f.vc * S.kernel[0].voq_rows
        index = f.in_port - first_port
        if S.voq[row, index].head == 0:
            S.voq[row, index].head = i + 1
            switching.mark_waiting(S.voq_bits, row, index)
        else:
            S.frame[S.voq[row, index].tail - 1].next = i
        S.voq[row, index].tail = i + 1
        S.voq_count[row] += 1
        port.queued += 1
        i = following
    port.transit_head = i


@inlined
def candidate(S: State, a: int, row: int, vc: int) -> int:
    """Return the input whose frame VC ``vc`` of output ``a`` sends next, or `NOTHING`, `NO_CREDIT`, `HELD`.

    Deficit round robin by bytes: an input keeps its turn while what is left of it covers the frame at its head.
    """
    if S.voq_count[row] == 0:  # else an empty VC costs a look at the bits of all inputs, three of them a frame
        return NOTHING
    j = S.voq_last[row]
    left = S.voq[row, j].deficit if j >= 0 else 0
    if (
        left <= 0
        or not switching.is_waiting(S.voq_bits, row, j)
        or left < S.frame[S.voq[row, j].head - 1].size_bytes + WIRE_EXTRA_BYTES
    ):
        j = switching.next_input(S.voq_bits, row, S.kernel[0].words, j)
    if j < 0:
        return NOTHING
    f = S.frame[S.voq[row, j].head - 1]
    if not may_charge(S, a, vc, f.credits):
        return NO_CREDIT
    return j if may_transmit(S, a, f.size_bytes, vc) else HELD


@inlined
def on_egress(S: State, a: int, now_ps: int) -> None:
    """Output ``a`` looks at its work."""
    port = S.port[a]
    start_ps = begin_look(S, a, now_ps)
    if start_ps < 0:
        return
    if S.kernel[0].queues:
        count_arrived(S, a, now_ps)
    enqueue_arrived(S, a, now_ps)
    if goes_first(S, a, start_ps):
        return
    if port.queued == 0:
        if port.transit_head >= 0:
            kick(S, a, S.frame[port.transit_head].stage_ps)
        return
    base = a - S.kernel[0].first_switch_port
    rows = S.kernel[0].voq_rows
    vc = VC_CONTROL
    j = candidate(S, a, base + VC_CONTROL * rows, VC_CONTROL)
    if j < 0:
        j0 = candidate(S, a, base, 0)
        j1 = candidate(S, a, base + rows, 1)
        j2 = candidate(S, a, base + 2 * rows, 2)
        ready = (1 if j0 >= 0 else 0) | (2 if j1 >= 0 else 0) | (4 if j2 >= 0 else 0)
        held = j == HELD or j0 == HELD or j1 == HELD or j2 == HELD
        vcs = S.kernel[0].vcs
        for further in range(4, vcs):
            j = candidate(S, a, base + further * rows, further)
            if j >= 0:
                ready |= 1 << further
            held = held or j == HELD
        vc = switching.byte_turn(S.deficit, a, port.turn, ready, S.kernel[0].quantum_bytes, vcs)
        if vc < 0:
            wait_to_send(S, a, now_ps, held)
            return
        port.turn = vc
        j = (j0 if vc == 0 else j1 if vc == 1 else j2) if vc < 3 else candidate(S, a, base + vc * rows, vc)
        S.deficit[a, vc] -= S.frame[S.voq[base + vc * rows, j].head - 1].size_bytes + WIRE_EXTRA_BYTES
    send(S, a, base + vc * rows, j, start_ps)


@compiled
def wait_to_send(S: State, a: int, now_ps: int, held_by_llr: bool) -> None:
    """Frames wait but none may go: sleep until the next ordered set or the next frame comes."""
    port = S.port[a]
    sleep(S, a, now_ps, held_by_llr)
    if port.transit_head >= 0:
        kick(S, a, S.frame[port.transit_head].stage_ps)


@inlined
def send(S: State, a: int, row: int, j: int, start_ps: int) -> None:
    """Send the head of a VOQ."""
    port = S.port[a]
    i = S.voq[row, j].head - 1
    f = S.frame[i]
    wire = f.size_bytes + WIRE_EXTRA_BYTES
    if S.voq[row, j].deficit < wire:  # its turn begins; a turn is at least the largest frame
        S.voq[row, j].deficit += S.kernel[0].quantum_bytes
    S.voq[row, j].deficit -= wire
    S.voq_last[row] = j
    S.voq[row, j].head = f.next + 1
    if f.next < 0:
        switching.mark_empty(S.voq_bits, row, j)
        S.voq[row, j].deficit = 0
    port.queued -= 1
    S.voq_count[row] -= 1
    if S.kernel[0].queues:
        count_queued(S, a, int(f.vc), -int(f.size_bytes), S.kernel[0].now_ps)
    waited = start_ps - f.stage_ps
    hold = port.credit_wait_ps - f.mark_ps
    f.hold_ps += hold
    f.arbiter_ps += waited - hold
    came_by = f.in_port
    vc = f.vc
    credits = f.credits
    in_vc = vc
    if f.kind == RAW:  # the link that it came by may have had it in another VC
        in_vc, credits = f.first, f.count
    transmit(S, a, i, start_ps)
    free_ps = look_ps(port, start_ps)  # a frame that is discarded leaves its buffer at once and the line idle
    if came_by == a:  # a SEN of this switch: it held no room
        pass
    elif S.kernel[0].pfc:  # the end of a pause has to go as soon as there is room
        push(S, free_ps, FREE, came_by, (int(in_vc) << CREDIT_FIELD_BITS) | int(credits))
    else:
        hold_buffer(S, a, came_by, in_vc, credits, free_ps)
    if port.queued > 0:
        kick(S, a, free_ps)
    elif port.transit_head >= 0:
        t_ps = S.frame[port.transit_head].stage_ps
        kick(S, a, t_ps if t_ps > free_ps else free_ps)
