"""The fault table carried out: links that go down, lose lanes, frames or ordered sets; receivers that are slow or silent.

Times are known beforehand: a frame that starts knows whether its link will be down when it should arrive (`LINK.down_from_ps`).
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..fabric.faultspec import FaultKind
from ..protocol import llr
from ..protocol.llr import SEQUENCE_BITS
from .calendar import push
from .drain import set_drain
from .ordered_sets import flush_update, settle
from .ports import kick, look_ps
from .rates import set_rate
from .records import (
    ACKS_FROZEN,
    ACKS_GO,
    ACKS_PAUSED,
    DEGRADES,
    DRAIN_BEGINS,
    DRAIN_ENDS,
    FAULT,
    NEVER_PS,
    PCS_TIMER,
    PORT_CHANGE,
    State,
)
from .retry import flushed, link_up

LOST, SKIPPED = 3, 4
"""Fates of a frame on the line beside `llr.Quality`: the receiver sees nothing; the frame is not put on the line."""

_LINK_DOWN, _LINK_UP, _RATE = int(FaultKind.LINK_DOWN), int(FaultKind.LINK_UP), int(FaultKind.RATE)
_LOSE, _CORRUPT, _POISON, _SKIP = (
    int(FaultKind.LOSE_FRAME),
    int(FaultKind.CORRUPT_FRAME),
    int(FaultKind.POISON_FRAME),
    int(FaultKind.SKIP_SEQUENCE),
)
_LOSS_RATE, _LINE_ERRORS = int(FaultKind.LOSS_RATE), int(FaultKind.LINE_ERRORS)
_LOSE_SETS, _DELAY_SETS = int(FaultKind.LOSE_SETS), int(FaultKind.DELAY_SETS)
_ACK_PAUSE, _ACK_FREEZE, _ACK_RESUME = int(FaultKind.ACK_PAUSE), int(FaultKind.ACK_FREEZE), int(FaultKind.ACK_RESUME)
_CC_STOP, _CC_RESUME, _DRAIN = int(FaultKind.CC_STOP), int(FaultKind.CC_RESUME), int(FaultKind.DRAIN)
_PORT_DRAIN = int(FaultKind.PORT_DRAIN)


@compiled
def on_fault(S: State, now_ps: int) -> None:
    """Carry out the rows of the fault table whose time is now; wake up again for the next ones."""
    k = S.kernel[0]
    while k.fault_at < len(S.fault):
        row = S.fault[k.fault_at]
        if row.at_ps > now_ps:
            push(S, row.at_ps, FAULT, 0, 0)
            return
        k.fault_at += 1
        k.data_ps = now_ps  # what stood still may go on
        a = row.port
        flush_update(S, a, now_ps)
        settle(S, a, now_ps)
        carry_out(S, a, k.fault_at - 1, now_ps)
        kick(S, a, look_ps(S.port[a], now_ps))


@compiled
def carry_out(S: State, a: int, n: int, now_ps: int) -> None:
    """Carry out row ``n`` of the fault table at port ``a``."""
    row = S.fault[n]
    link = S.link[a]
    kind = row.kind
    if kind == _LINK_DOWN:
        go_down(S, a, n, now_ps)
    elif kind == _LINK_UP:
        go_up(S, a, n, now_ps)
    elif kind == _RATE:
        set_rate(S, a, row.arg)
        if S.kernel[0].load:
            push(S, now_ps, PORT_CHANGE, a, DEGRADES)
    elif _LOSE <= kind <= _SKIP:
        row.number = link.number + row.arg
        row.next = link.fault_head
        link.fault_head = n
        if row.number < link.next_number:
            link.next_number = row.number
    elif kind == _LOSS_RATE:
        link.loss = row.arg
    elif kind == _LINE_ERRORS:
        link.line = row.arg
    elif kind == _LOSE_SETS:
        link.set_loss = row.arg
    elif kind == _DELAY_SETS:
        link.set_delay_ps = row.arg
    elif kind == _ACK_PAUSE:
        link.ack_mode = ACKS_PAUSED
    elif kind == _ACK_FREEZE:
        link.ack_mode = ACKS_FROZEN
        sender = S.port[S.port[a].peer]
        told = S.llr_rx[S.port[a].peer].expected - 1 - (sender.copy_accepted - sender.copy_told)
        link.frozen_seq = row.arg if row.arg >= 0 else told & ((1 << SEQUENCE_BITS) - 1)
    elif kind == _ACK_RESUME:
        link.ack_mode = ACKS_GO
        port = S.port[a]
        if 0 <= port.nack_due_ps < now_ps:  # what was owed meanwhile goes from now on
            port.nack_due_ps = now_ps
        if port.ack_last_ps < now_ps - port.ack_gap_ps:
            port.ack_last_ps = now_ps - port.ack_gap_ps
    elif kind == _CC_STOP or kind == _CC_RESUME:
        link.cc_stopped = 1 if kind == _CC_STOP else 0
    elif kind == _PORT_DRAIN:
        push(S, now_ps, PORT_CHANGE, a, DRAIN_BEGINS if row.arg else DRAIN_ENDS)
        push(S, now_ps, PORT_CHANGE, int(S.port[a].peer), DRAIN_BEGINS if row.arg else DRAIN_ENDS)
    elif kind == _DRAIN:
        for vc in range(S.kernel[0].vcs):
            if row.vc < 0 or row.vc == vc:
                set_drain(S, a, vc, row.arg, now_ps)


@compiled
def next_fate(S: State, a: int, f: Any) -> int:
    """Count a new frame of port ``a`` and return what single-frame faults make of it: `Quality`, `LOST` or `SKIPPED`.

    Of several faults of one frame the gravest holds, whatever their order: skipped, lost, wrong FCS, poisoned.
    A poisoned frame stays so in its replay.
    """
    link = S.link[a]
    link.number += 1
    fate = llr.POISONED if f.poisoned else llr.GOOD
    if link.number != link.next_number:
        return fate
    following = NEVER_PS
    n = link.fault_head
    while n >= 0:
        row = S.fault[n]
        if row.number == link.number:
            if row.kind == _SKIP:
                fate = SKIPPED
            elif row.kind == _LOSE and fate != SKIPPED:
                fate = LOST
            elif row.kind == _CORRUPT and fate != SKIPPED and fate != LOST:
                fate = llr.BAD
            elif row.kind == _POISON:
                f.poisoned = 1
                if fate == llr.GOOD:
                    fate = llr.POISONED
        elif link.number < row.number < following:
            following = row.number
        n = row.next
    link.next_number = following
    return fate


@compiled
def go_down(S: State, a: int, n: int, now_ps: int) -> None:
    """The link of port ``a`` carries nothing until its next LINK_UP; both ends notice that PCS is lost."""
    up_ps = NEVER_PS
    m = n + 1
    while m < len(S.fault) and up_ps == NEVER_PS:
        row = S.fault[m]
        if row.kind == _LINK_UP and (row.port == a or row.port == S.port[a].peer):
            up_ps = row.at_ps
        m += 1
    end_down(S, a, up_ps, now_ps)
    end_down(S, S.port[a].peer, up_ps, now_ps)


@compiled
def end_down(S: State, a: int, up_ps: int, now_ps: int) -> None:
    """Port ``a`` carries nothing before ``up_ps``."""
    flush_update(S, a, now_ps)
    settle(S, a, now_ps)
    port = S.port[a]
    S.link[a].pcs_since_ps = now_ps
    if port.free_ps < up_ps:
        port.free_ps = up_ps
    port.frame_end_ps = port.free_ps
    due_ps = llr.pcs_due_ps(S.llr_tx[a], now_ps)
    if due_ps >= 0:
        push(S, due_ps, PCS_TIMER, a, 0)


@compiled
def on_pcs_timer(S: State, a: int, now_ps: int) -> None:
    """PCS of port ``a`` may have been lost too long."""
    settle(S, a, now_ps)
    if llr.on_pcs_lost(S.llr_tx[a], S.link[a].pcs_since_ps, now_ps):
        flushed(S, a, now_ps)


@compiled
def go_up(S: State, a: int, n: int, now_ps: int) -> None:
    """The link of port ``a`` carries again; LLR that has given up begins anew."""
    down_ps = NEVER_PS
    m = n + 1
    while m < len(S.fault) and down_ps == NEVER_PS:
        row = S.fault[m]
        if row.kind == _LINK_DOWN and (row.port == a or row.port == S.port[a].peer):
            down_ps = row.at_ps
        m += 1
    end_up(S, a, down_ps, now_ps)
    end_up(S, S.port[a].peer, down_ps, now_ps)


@compiled
def end_up(S: State, a: int, down_ps: int, now_ps: int) -> None:
    """Port ``a`` carries again, until ``down_ps``."""
    port = S.port[a]
    S.link[a].pcs_since_ps = -1
    S.link[a].down_from_ps = down_ps
    if port.free_ps >= NEVER_PS:
        port.free_ps = now_ps
        port.frame_end_ps = now_ps
    if S.kernel[0].llr and S.llr_tx[a].state == llr.TX_FLUSH:
        link_up(S, a, now_ps)
    elif S.link[a].dead:  # without LLR there is no handshake
        S.llr_tx[a].state = llr.TX_ADVANCE
        push(S, now_ps, PORT_CHANGE, a, 1)
    kick(S, a, look_ps(port, now_ps))
