"""Scripted ports, the sending side: a tester sends Ethernet frames at its rates, through links and switch as all others do.

A frame's `op` is its flow, its `psn` its number in the flow.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import llr
from ..protocol.llr import SEQUENCE_BITS
from .calendar import push
from .credits import may_charge
from .link import begin_look, goes_first, may_transmit, transmit
from .ordered_sets import settle, sleep
from .pools import new_frame
from .ports import kick, look_ps
from .rawflow import BY_VC, MARKED_INELIGIBLE
from .records import FAULT, NEVER_PS, RAW, State


@compiled
def on_raw_slot(S: State, a: int, now_ps: int) -> None:
    """Tester port ``a`` looks at its flows: of those that are due and may go, the one due longest sends."""
    start_ps = begin_look(S, a, now_ps)
    if start_ps < 0 or goes_first(S, a, start_ps):
        return
    best = -1
    next_ps = NEVER_PS
    short_of_credit = False
    held_by_llr = False
    for n in range(len(S.raw_flow)):
        r = S.raw_flow[n]
        if r.port != a or r.left == 0:
            continue
        if now_ps >= r.end_ps or r.due_ps >= r.end_ps:
            r.left = 0
        elif r.due_ps > now_ps:
            next_ps = min(next_ps, r.due_ps)
        elif best >= 0 and r.due_ps >= S.raw_flow[best].due_ps:
            continue
        elif not may_go(S, a, r):
            held_by_llr = True
        elif not may_charge(S, a, r.vc_up, r.credits_up):
            short_of_credit = True
        else:
            best = n
    if best >= 0:
        send_raw(S, a, best, start_ps)
        kick(S, a, look_ps(S.port[a], now_ps))
        return
    if next_ps < NEVER_PS:
        kick(S, a, next_ps)
    if short_of_credit or held_by_llr:
        sleep(S, a, now_ps, held_by_llr)


@compiled
def may_go(S: State, a: int, r: Any) -> bool:
    """Return whether LLR lets port ``a`` send a frame of a flow (or drop it at once); credits are another question."""
    if r.mark == BY_VC or S.kernel[0].llr == 0:
        return may_transmit(S, a, r.size_bytes, r.vc_up)
    if r.mark == MARKED_INELIGIBLE:
        return True
    link = S.link[a]
    return llr.on_new_frame(S.llr_tx[a], r.size_bytes, link.init_action, link.flush_action, SEQUENCE_BITS) != llr.NEW_WAIT


@compiled
def send_raw(S: State, a: int, n: int, start_ps: int) -> None:
    """Send the next frame of flow ``n``; the one after it is due a step later, or at once if this one is late by more."""
    r = S.raw_flow[n]
    i = new_frame(S, -1, RAW, start_ps)
    f = S.frame[i]
    f.op = n
    f.psn = r.sequence
    f.src = r.src
    f.dst = r.dst
    f.vc = r.vc_up
    f.size_bytes = r.size_bytes
    f.credits = r.credits_up
    f.answer = r.mark
    r.sequence += 1
    r.left -= 1
    discarded = S.link[a].discarded
    transmit(S, a, i, start_ps)
    if S.link[a].discarded != discarded:
        r.discarded += 1
    else:
        r.sent += 1
    r.due_ps += r.step_ps
    r.rest += r.step_rest
    if r.rest >= r.step_den:
        r.rest -= r.step_den
        r.due_ps += 1
    if r.due_ps < start_ps:
        r.due_ps = start_ps


@compiled
def settle_all(S: State, now_ps: int) -> None:
    """Bring every port up to date: what ordered sets that have gone by now changed."""
    for a in range(len(S.port)):
        settle(S, a, now_ps)


@compiled
def start_raw(S: State) -> None:
    """Wake every tester when its first frame is due. Faults of the same moment go first: their events come first."""
    at_ps = -1
    for n in range(len(S.fault)):
        if S.fault[n].at_ps > at_ps:
            at_ps = S.fault[n].at_ps
            push(S, at_ps, FAULT, 0, 0)
    for n in range(len(S.raw_flow)):
        kick(S, S.raw_flow[n].port, S.raw_flow[n].due_ps)
