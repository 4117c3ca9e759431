"""Where a frame goes that a port sends: into the next switch's output, by its time, or to its endpoint."""

from __future__ import annotations

from typing import Any

from ..compiled import inlined
from ..protocol import switching
from ..protocol.operations import PREAMBLE_BYTES
from .calendar import push
from .pools import lose_frame
from .ports import kick, line_ps
from .rawend import enter_switch
from .records import CREDIT_FIELD_BITS, DELIVER, FREE, RAW, State


@inlined
def output_port(S: State, at: int, f: Any) -> int:
    """Look up: the port attached to the destination's port of the frame's path, or the way there over a spine."""
    if f.kind == RAW:  # testers have one port each
        return S.port[S.node[f.dst].first_port].peer
    path = f.path
    ids = S.kernel[0].uplinks
    ids_over = path if ids == 1 else path // ids  # no division in a domain of one tier
    attached = S.port[S.node[f.dst].first_port + ids_over].peer
    there = S.port[attached].node
    if there == at:
        return attached
    node, leaf = S.node[at], S.node[there]
    if node.tier == 0:
        return node.first_uplink + switching.leaf_uplink(f.dst, path % ids, node.uplinks)
    link = switching.spine_link(f.dst, path % ids, leaf.uplinks, node.down_links)
    return node.first_port + leaf.leaf * node.down_links + link


@inlined
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
    if S.kernel[0].paths and S.link[out].dead:  # a dead member: dropped, a switch never picks another
        push(S, last_in_ps, FREE, q, (int(f.vc) << CREDIT_FIELD_BITS) | int(f.credits))
        S.link[out].dead_drops += 1
        lose_frame(S, i)
        return
    if f.kind == RAW:
        enter_switch(S, f)
    insert(S, out, i)
    o = S.port[out]
    kick(S, out, f.stage_ps if f.stage_ps > o.free_ps else o.free_ps)


@inlined
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
