"""SEN in the kernel: a switch tells endpoints of a port that went down or came up; they change paths. Own ports are seen at once.

Three copies, 1 us apart, then the state again every 100 us; frames of 64 B on VC 3, credited and LLR-eligible as all others.
Told are all endpoints that the switch reaches in its plane; which of their paths are concerned follows from the look-up rule,
there and back: the same path id takes other spines on its way back, and a space whose ACKs are lost is of no use.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import cbfc, paths, sen, switching
from ..protocol import operations as ops
from .calendar import push
from .load import forget_queued, own_rate
from .ordered_sets import free_buffer
from .pathchange import path_down, path_up
from .pathstate import append_reply, mark_reply
from .pools import lose_frame, new_frame
from .ports import kick, look_ps
from .reach import passes, port_in_plane
from .records import (
    COMES_UP,
    CONGESTS,
    DEGRADES,
    DRAIN_BEGINS,
    DRAIN_ENDS,
    GOES_DOWN,
    HEARD,
    LOAD_TIMER,
    SEN,
    SEN_TIMER,
    State,
)
from .switch_input import insert, output_port

_EVENT_BITS = 31
_COPY_PS = 1_000_000
_AGAIN_PS = 100_000_000


@compiled
def on_port_change(S: State, a: int, up: int, now_ps: int) -> None:
    """LLR of port ``a`` has given up, or is ready again, or it is to be taken down: the layers above hear of it."""
    link = S.link[a]
    if up == DEGRADES:
        on_rate(S, a, now_ps)
        return
    if up == DRAIN_BEGINS or up == DRAIN_ENDS:
        link.draining = 1 if up == DRAIN_BEGINS else 0
        if S.node[S.port[a].node].is_switch == 0:
            own_drain(S, a, now_ps)
        else:
            tell(S, a, now_ps)
        return
    if up == 1 - link.dead:
        return
    link.dead = 1 - up
    node = S.node[S.port[a].node]
    if node.is_switch == 0:
        own_port(S, a, up, now_ps)
        return
    if up == 0:
        drop_queued(S, a, now_ps)
    tell(S, a, now_ps)


@compiled
def on_rate(S: State, a: int, now_ps: int) -> None:
    """The rate of port ``a`` has changed: degraded, or not any more."""
    link = S.link[a]
    port = S.port[a]
    degraded = 1 if port.num * link.full_den > link.full_num * port.den else 0
    if degraded == link.degraded:
        return
    link.degraded = degraded
    if S.node[port.node].is_switch == 0:
        own_rate(S, a, now_ps)
    else:
        tell(S, a, now_ps)


@compiled
def tell(S: State, a: int, now_ps: int) -> None:
    """Let the switch tell the new state of its port ``a``."""
    if S.kernel[0].sen == 0:
        return
    link = S.link[a]
    link.sen_event = sen.next_event(link.sen_event, _EVENT_BITS)
    link.sen_copies = 0
    push(S, now_ps, SEN_TIMER, a, int(link.sen_event))


@compiled
def own_drain(S: State, a: int, now_ps: int) -> None:
    """An endpoint's own port is to be taken down, or not any more: paths that leave by it are left, or used again."""
    k = S.kernel[0]
    src = S.port[a].node
    first = (a - S.node[src].first_port) * k.uplinks
    for dst in range(k.endpoints):
        if dst == src or S.pair_first[src * k.endpoints + dst] < 0:
            continue
        for path in range(first, first + k.uplinks):
            if S.link[a].draining:
                path_down(S, src, dst, path, paths.DRAIN, now_ps)
            else:
                path_up(S, src, dst, path, paths.DRAIN, now_ps)


@compiled
def own_port(S: State, a: int, up: int, now_ps: int) -> None:
    """An endpoint's own port went down or came up: all paths that leave by it."""
    k = S.kernel[0]
    src = S.port[a].node
    first = (a - S.node[src].first_port) * k.uplinks
    if up == 0:
        drop_control(S, a)
        i = S.port[a].pending_head
        S.port[a].pending_head = -1
        while i >= 0:  # answers that would leave by it wait at their spaces, which are closed now
            following = S.reply[i].next
            mark_reply(S, i, now_ps)
            append_reply(S, i, S.reply[i].session, now_ps)
            i = following
    for dst in range(k.endpoints):
        if dst == src or S.pair_first[src * k.endpoints + dst] < 0:
            continue
        for path in range(first, first + k.uplinks):
            if up:
                path_up(S, src, dst, path, paths.DOWN | paths.ERROR, now_ps)
            else:
                path_down(S, src, dst, path, paths.DOWN, now_ps)


@compiled
def drop_control(S: State, a: int) -> None:
    """Control frames that wait at a dead port are asked anew elsewhere."""
    k = S.kernel[0]
    port = S.port[a]
    while port.ctl_head >= 0:
        n = port.ctl_head
        c = S.ctl[n]
        S.keep[c.session].asked &= ~(1 << c.what)
        port.ctl_head = c.next
        c.next = k.ctl_free
        k.ctl_free = n


@compiled
def drop_queued(S: State, a: int, now_ps: int) -> None:
    """Drop what waits at a dead switch output: a switch never picks another member."""
    k = S.kernel[0]
    port = S.port[a]
    i = port.transit_head
    port.transit_head = -1
    while i >= 0:
        following = S.frame[i].next
        drop_frame(S, a, i, now_ps)
        i = following
    for vc in range(k.vcs):
        row = a - k.first_switch_port + vc * k.voq_rows
        for j in range(S.voq.shape[1]):
            i = S.voq[row, j].head - 1
            if i < 0:
                continue
            S.voq[row, j].head = 0
            S.voq[row, j].deficit = 0
            switching.mark_empty(S.voq_bits, row, j)
            while i >= 0:
                following = S.frame[i].next
                port.queued -= 1
                S.voq_count[row] -= 1
                drop_frame(S, a, i, now_ps)
                i = following
    if k.queues:
        forget_queued(S, a, now_ps)


@compiled
def drop_frame(S: State, a: int, i: int, now_ps: int) -> None:
    """Drop a frame that waits at output ``a`` and give its room back."""
    f = S.frame[i]
    if f.in_port != a:  # a SEN of this switch holds no room
        free_buffer(S, f.in_port, f.vc, f.credits, now_ps)
    S.link[a].dead_drops += 1
    lose_frame(S, i)


@compiled
def on_sen_timer(S: State, a: int, b: int, now_ps: int) -> None:
    """Tell the state of switch port ``a``: one of three copies of event ``b``, or again after 100 us (``b`` inverted)."""
    k = S.kernel[0]
    link = S.link[a]
    event = ~b if b < 0 else b
    if b < 0:  # not by the copies: a newer event may have begun anew to count them
        k.background -= 1
    if event != link.sen_event:
        return
    link.sen_copies += 1
    if link.sen_copies < 3:
        push(S, now_ps + _COPY_PS, SEN_TIMER, a, event)
    else:
        k.background += 1
        again_ps = sen.AGAIN_PS if link.degraded and link.dead == 0 and link.draining == 0 else _AGAIN_PS
        push(S, now_ps + again_ps, SEN_TIMER, a, ~event)
    what = COMES_UP
    if link.dead:
        what = GOES_DOWN
    elif link.draining:
        what = DRAIN_BEGINS
    elif link.degraded:
        what = DEGRADES
    tell_all(S, a, what, event, 0, now_ps)


@compiled
def on_load_timer(S: State, a: int, b: int, now_ps: int) -> None:
    """Tell the congestion of switch port ``a``, as `on_sen_timer` tells its state; again every 5 us while it lasts."""
    k = S.kernel[0]
    link = S.link[a]
    event = ~b if b < 0 else b
    if b < 0:
        k.background -= 1
    if event != link.load_event:
        return
    link.load_copies += 1
    if link.load_copies < 3:
        push(S, now_ps + _COPY_PS, LOAD_TIMER, a, event)
    else:
        k.background += 1
        push(S, now_ps + (sen.AGAIN_PS if link.load_mask else _AGAIN_PS), LOAD_TIMER, a, ~event)
    tell_all(S, a, CONGESTS, event, int(link.load_mask), now_ps)


@compiled
def tell_all(S: State, a: int, what: int, event: int, vc_mask: int, now_ps: int) -> None:
    """Send a copy of an event of switch port ``a`` to all endpoints of its plane."""
    for e in range(S.kernel[0].endpoints):
        q = port_in_plane(S, e, int(S.link[a].plane))
        if q >= 0:
            send_sen(S, a, e, q, what, event, vc_mask, now_ps)


@compiled
def send_sen(S: State, a: int, e: int, q: int, what: int, event: int, vc_mask: int, now_ps: int) -> None:
    """Put a SEN about port ``a`` for endpoint ``e`` into an output of its switch that is alive."""
    k = S.kernel[0]
    at = S.port[a].node
    i = new_frame(S, -1, SEN, now_ps)
    f = S.frame[i]
    f.dst = e
    f.src = 0
    f.vc = ops.VC_CONTROL
    f.size_bytes = ops.ACK_FRAME_BYTES
    f.credits = cbfc.credits_needed(ops.ACK_FRAME_BYTES, k.overhead_bytes, k.credit_bytes)
    f.op = a
    f.first = event
    f.stride = what
    f.ack_psn = vc_mask
    f.psn = 0
    out = -1
    for u in range(k.uplinks):  # a live uplink
        f.path = q * k.uplinks + u
        way = output_port(S, at, f)
        if S.link[way].dead == 0:
            out = way
            break
    if out < 0:
        lose_frame(S, i)
        k.lost -= 1
        return
    f.in_port = out
    f.stage_ps = now_ps
    k.sen_frames += 1
    insert(S, out, i)
    kick(S, out, look_ps(S.port[out], now_ps))


@compiled
def on_sen(S: State, f: Any, now_ps: int) -> None:
    """Endpoint ``f.dst`` takes a SEN: acted on once an event."""
    k = S.kernel[0]
    a = f.op
    e = f.dst
    n = a - k.first_switch_port
    if f.stride == CONGESTS:
        if f.first >= S.heard_load[e, n]:
            S.heard_load[e, n] = f.first
            push(S, now_ps, HEARD, e, (n << 4) | 8 | (f.ack_psn & 7))
        return
    if ((f.first - S.heard[e, n]) & ((1 << _EVENT_BITS) - 1)) - 1 >= (1 << (_EVENT_BITS - 1)) - 1:
        if k.load and f.stride == DEGRADES and f.first == S.heard[e, n]:
            push(S, now_ps, HEARD, e, (n << 4) | 1)  # it breaks the silence
        return  # the same event, or an older one
    S.heard[e, n] = f.first
    if k.load:
        push(S, now_ps, HEARD, e, (n << 4) | (1 if f.stride == DEGRADES else 0))
    plane = S.link[a].plane
    for q in range(k.path_count // k.uplinks):
        if S.link[S.node[e].first_port + q].plane != plane:
            continue
        for dst in range(k.endpoints):
            if dst == e or S.pair_first[e * k.endpoints + dst] < 0:
                continue
            for path in range(q * k.uplinks, (q + 1) * k.uplinks):
                if passes(S, e, dst, path, a, f) or passes(S, dst, e, path, a, f):
                    hear(S, e, dst, path, f.stride, now_ps)


@compiled
def hear(S: State, src: int, dst: int, path: int, what: int, now_ps: int) -> None:
    """Act on what was told of a path: down, drain and up are one state of the port's link, each ends the others."""
    if what == GOES_DOWN:
        path_down(S, src, dst, path, paths.DOWN, now_ps)
    elif what == DRAIN_BEGINS:
        path_down(S, src, dst, path, paths.DRAIN, now_ps)
        path_up(S, src, dst, path, paths.DOWN | paths.ERROR, now_ps)
    else:
        path_up(S, src, dst, path, paths.DOWN | paths.DRAIN | paths.ERROR, now_ps)
