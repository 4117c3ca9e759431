"""Control ordered sets: CF_UPDATE of CBFC; ACK, NACK, INIT, INIT_ECHO of LLR. They share the line with frames, 8 B each.

They cost no events. A port that owes one knows when it is due; it leaves at the next frame boundary after that, decided when
someone looks: the port at its next slot, its peer when it settles, or the next change of the counters. Only a sender that is
blocked, or that a NACK is coming to, is woken by an event. Of several that are due: NACK, INIT, INIT_ECHO, ACK, CF_UPDATE.
"""

from __future__ import annotations

from ..compiled import compiled, inlined
from ..protocol.cbfc import UPDATE_BITS
from ..protocol.operations import ORDERED_SET_BYTES
from .credits import count_freed, is_told, refresh, send_update, take_updates
from .pause import gives
from .ports import block, kick, line_ps
from .records import NEVER_PS, ON_CREDIT, ON_LLR, State
from .retry import ack_due_ps, nack_due_ps, send_ack_set, send_echo, send_init, take_acks


@inlined
def flush_update(S: State, q: int, now_ps: int) -> None:
    """Bring port ``q`` up to date: buffers that frames have left by now, then the ordered sets that went by now."""
    port = S.port[q]
    while port.holder_head >= 0:
        out = S.port[port.holder_head]
        if out.held_ps > now_ps:
            break
        send_due_sets(S, q, out.held_ps)
        count_freed(S, q, out.held_vc, out.held_credits, out.held_ps)
        out.held_port = -1
        port.holder_head = out.held_next
    send_due_sets(S, q, now_ps)


@compiled
def send_due_sets(S: State, q: int, now_ps: int) -> None:
    """Send the ordered sets that port ``q`` owed by now, at the frame boundaries at which they went."""
    k = S.kernel[0]
    port = S.port[q]
    while port.frame_end_ps <= now_ps:  # sets that are due go one behind the other there, before the next frame
        cf_ps = port.cf_due_ps if port.cf_due_ps >= 0 else NEVER_PS
        ack_ps = ack_due_ps(S, q) if k.llr else NEVER_PS
        nack_ps = nack_due_ps(S, q) if k.llr else NEVER_PS
        due_ps = min(cf_ps, ack_ps, nack_ps)
        refresh_ps = port.refresh_ps
        if k.careful and handshake_due_ps(S, q) <= min(due_ps, refresh_ps, now_ps):
            leave_ps = max(handshake_due_ps(S, q), port.free_ps)
            if nack_ps <= leave_ps:
                send_ack_set(S, q, leave_ps, 1)
            elif 0 <= S.link[q].init_due_ps <= leave_ps:
                send_init(S, q, leave_ps)
            else:
                send_echo(S, q, leave_ps)
            continue
        if due_ps > now_ps:
            if refresh_ps > now_ps:
                return
            refresh(S, q, refresh_ps if refresh_ps > port.free_ps else port.free_ps, now_ps)
            continue
        leave_ps = due_ps if due_ps > port.free_ps else port.free_ps
        if nack_ps <= leave_ps:
            send_ack_set(S, q, leave_ps, 1)
        elif ack_ps <= leave_ps:
            send_ack_set(S, q, leave_ps, 0)
        else:
            send_update(S, q, leave_ps)


@compiled
def handshake_due_ps(S: State, q: int) -> int:
    """Return when port ``q`` owes an INIT or an INIT_ECHO, `NEVER_PS` = neither."""
    link = S.link[q]
    due_ps = NEVER_PS
    if link.init_due_ps >= 0:
        due_ps = link.init_due_ps
    if 0 <= link.echo_due_ps < due_ps:
        due_ps = link.echo_due_ps
    return due_ps


@inlined
def settle(S: State, p: int, now_ps: int) -> None:
    """Bring credits and acknowledged copies of port ``p`` up to date."""
    flush_update(S, S.port[p].peer, now_ps)
    take_acks(S, p, now_ps)
    take_updates(S, p, now_ps)


@compiled
def update_arrival_ps(S: State, p: int) -> int:
    """Return when the next CF_UPDATE reaches port ``p`` at the earliest, -1 when none is known."""
    port = S.port[p]
    if port.cf_count > 0:
        return S.cf_ring[p, port.cf_head & (S.kernel[0].cf_ring - 1)].t_ps
    q = S.port[port.peer]
    due_ps = q.cf_due_ps
    if due_ps < 0 and q.holder_head >= 0:
        due_ps = S.port[q.holder_head].held_ps
        earliest = q.cf_last_ps + q.cf_gap_ps
        if earliest > due_ps:
            due_ps = earliest
    if due_ps < 0 and S.kernel[0].careful and news_lost(S, p):
        due_ps = q.refresh_ps
    if due_ps < 0 or due_ps >= NEVER_PS:
        return -1
    leave_ps = due_ps if due_ps > q.free_ps else q.free_ps
    return leave_ps + line_ps(q, ORDERED_SET_BYTES) + q.delay_ps


@compiled
def news_lost(S: State, p: int) -> bool:
    """Return whether a CF_UPDATE to port ``p`` was lost that told of freed credits (none is on its way now)."""
    low = (1 << UPDATE_BITS) - 1
    for vc in range(S.kernel[0].vcs):
        if (S.sender[p, vc].freed - S.receiver[S.port[p].peer, vc].reported) & low != 0 and is_told(S, S.port[p].peer, vc):
            return True
    return False


@compiled
def ack_arrival_ps(S: State, p: int) -> int:
    """Return when the next ACK or NACK reaches port ``p`` at the earliest, -1 when none is known."""
    port = S.port[p]
    if port.ack_count > 0:
        return S.ack_ring[p, port.ack_head & (S.kernel[0].ack_ring - 1)].t_ps
    q = S.port[port.peer]
    due_ps = ack_due_ps(S, port.peer)
    if due_ps == NEVER_PS:
        return -1
    leave_ps = due_ps if due_ps > q.free_ps else q.free_ps
    return leave_ps + line_ps(q, ORDERED_SET_BYTES) + q.delay_ps


@compiled
def sleep(S: State, a: int, now_ps: int, held_by_llr: bool) -> None:
    """Frames wait at port ``a`` but none may go: look again when the next ordered set comes that may free one."""
    block(S.port[a], ON_LLR if held_by_llr else ON_CREDIT, now_ps)
    t_ps = update_arrival_ps(S, a)
    if t_ps >= 0:
        kick(S, a, t_ps if t_ps > now_ps else now_ps + 1)
    if held_by_llr:
        t_ps = ack_arrival_ps(S, a)
        if t_ps >= 0:
            kick(S, a, t_ps if t_ps > now_ps else now_ps + 1)


@inlined
def free_buffer(S: State, q: int, vc: int, credits: int, now_ps: int) -> None:
    """A packet leaves the receive buffer of port ``q`` now: its credits are due to go back."""
    if S.kernel[0].pfc:
        gives(S, q, vc, credits, now_ps)
        return
    flush_update(S, q, now_ps)
    count_freed(S, q, vc, credits, now_ps)
    wake_sender(S, q)


@inlined
def wake_sender(S: State, q: int) -> None:
    """If the sender into port ``q``'s buffer is blocked, let it look when the next CF_UPDATE reaches it."""
    p = S.port[q].peer
    if S.port[p].blocked == ON_CREDIT:
        t_ps = update_arrival_ps(S, p)
        if t_ps >= 0:  # best effort returns none; one that told nothing new may have come while it slept
            kick(S, p, t_ps if t_ps > S.kernel[0].now_ps else S.kernel[0].now_ps)


@inlined
def hold_buffer(S: State, a: int, q: int, vc: int, credits: int, until_ps: int) -> None:
    """The frame that output ``a`` puts on its line holds room in the buffer of port ``q`` until ``until_ps``.

    No event marks the end: the list of holders is worked off whenever someone looks at port ``q``.
    """
    out = S.port[a]
    if out.held_port >= 0:
        flush_update(S, out.held_port, S.kernel[0].now_ps)
    port = S.port[q]
    out.held_port = q
    out.held_vc = vc
    out.held_credits = credits
    out.held_ps = until_ps
    out.held_next = -1
    if port.holder_head < 0:
        port.holder_head = a
        port.holder_tail = a
    elif S.port[port.holder_tail].held_ps <= until_ps:
        S.port[port.holder_tail].held_next = a
        port.holder_tail = a
    elif S.port[port.holder_head].held_ps > until_ps:
        out.held_next = port.holder_head
        port.holder_head = a
    else:
        p = port.holder_head
        n = S.port[p].held_next
        while S.port[n].held_ps <= until_ps:
            p = n
            n = S.port[p].held_next
        out.held_next = n
        S.port[p].held_next = a
    wake_sender(S, q)
