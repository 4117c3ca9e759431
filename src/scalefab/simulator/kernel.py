"""The compiled loop: take the earliest event, hand it to its stage, until something is worth telling the caller."""

from __future__ import annotations

from enum import IntEnum

from ..compiled import compiled, compiled_entry, named
from ..protocol import operations as ops
from .calendar import first, push, remove_first
from .ccupdate import on_cc_timer
from .drain import on_drained
from .failures import on_no_path
from .fence import renew
from .link import on_arrive, on_llr_timer
from .linkfaults import on_fault, on_pcs_timer
from .load import on_heard, on_silence
from .notify import on_load_timer, on_port_change, on_sen_timer
from .ordered_sets import free_buffer
from .pathchange import on_ask_timer, on_path_error, on_recheck
from .pause import on_pause, on_pause_end, on_pause_timer
from .raw import on_raw_slot, settle_all, start_raw
from .records import (
    ACK_TIMER,
    ACTIVATE,
    ARRIVE,
    ASK_TIMER,
    ASKING_PATIENCE_PS,
    CC_TIMER,
    CREDIT_FIELD_BITS,
    DELIVER,
    DRAINED,
    EGRESS,
    FAULT,
    FENCE_ANEW,
    FENCE_DONE,
    FREE,
    HANDSHAKE,
    HEARD,
    INIT_TIMER,
    LLR_TIMER,
    LOAD_TIMER,
    NO_PATH,
    PATH_LOST,
    PAUSE,
    PAUSE_END,
    PAUSE_TIMER,
    PCS_TIMER,
    POOL_MARGIN,
    PORT_CHANGE,
    RECHECK,
    RELEASE,
    RESUME,
    RETRY_TIMER,
    SEN_TIMER,
    SERVE_READ,
    SHARE_MARGIN,
    SILENCE,
    SLOT,
    START,
    TAKE,
    State,
)
from .retransmit import on_retry_timer
from .retry import link_up, on_handshake, on_init_timer
from .source import on_slot
from .spray import on_resume
from .switch import on_egress
from .target import activate, deliver, finish, on_ack_timer, on_take, start_shares


class Reason(IntEnum):
    """Why the kernel came back."""

    DONE = 0  #: every operation is done
    UNTIL = 1  #: the time limit is reached
    EVENTS = 2  #: the event limit is reached; call again
    NO_PROGRESS = 3  #: no event is left and operations are not done
    GROW = 4  #: a pool runs low; enlarge it and call again


@compiled
def on_start(S: State) -> None:
    """Begin: handshakes, CC timers, faults, the first operations."""
    k = S.kernel[0]
    for a in range(len(S.port)):
        if S.mine[a] == 0:
            continue
        link = S.link[a]
        if link.cc_gap_ps > 0:
            k.background += 1
            push(S, link.cc_gap_ps, CC_TIMER, a, 0)
        if k.careful and link.handshake:
            link_up(S, a, 0)
    if k.eventful:
        on_fault(S, 0)
    if k.raw:
        start_raw(S)
    if len(S.release) > 0:
        on_release(S, 0)


@compiled
def on_release(S: State, now_ps: int) -> None:
    """Start the operations without predecessors whose start time is now; wake up again for the next ones."""
    k = S.kernel[0]
    while k.release_at < len(S.release):
        i = S.release[k.release_at]
        o = S.op[i]
        begin_ps = S.start_ps[i] + (0 if ops.is_local(o.kind) else S.node[o.src].tx_ps)
        if begin_ps > now_ps:
            push(S, begin_ps, RELEASE, 0, 0)
            return
        k.release_at += 1
        o.ready_ps = S.start_ps[i]
        if not ops.is_local(o.kind):
            activate(S, i, now_ps)
        else:
            o.first_ps = S.start_ps[i]
            o.executed_ps = S.start_ps[i] + S.compute_ps[i]
            finish(S, i, S.start_ps[i] + S.compute_ps[i])


def _loop(S: State, until_ps: int, max_events: int) -> tuple[int, int, int]:
    """Simulate until done, ``until_ps`` (exclusive), or about ``max_events`` events.

    Returns
    -------
    tuple of int
        `Reason`, now in ps, events handled by this call.
    """
    k = S.kernel[0]
    events = 0
    margin = POOL_MARGIN
    while True:
        if k.raw and k.waiting == 0:
            settle_all(S, until_ps)
            return 0, k.now_ps, events
        if k.waiting == k.background and k.raw == 0:
            if k.hold:
                if k.waiting == 0:
                    return 1, k.now_ps, events
            elif k.done == k.ops:
                return 0, k.now_ps, events
            elif k.waiting == 0 or k.now_ps - k.moved_ps > k.patience_ps:
                return 3, k.now_ps, events
            if k.paths and k.now_ps - k.data_ps > ASKING_PATIENCE_PS:
                return 3, k.now_ps, events
        if events >= max_events:
            return 2, k.now_ps, events
        if k.events_left < margin + k.dormant or k.frames_left < 8 or k.runs_left < margin or k.replies_left < margin:
            return 4, k.now_ps, events
        if (k.paths or k.ordered) and len(S.share) - k.share_top < SHARE_MARGIN:
            return 4, k.now_ps, events
        i = first(S)
        e = S.event[i]
        t_ps = e.t_ps
        if t_ps >= until_ps:
            if k.raw:
                settle_all(S, until_ps)
            return 1, k.now_ps, events
        kind = e.kind
        a = e.a
        b = e.b
        remove_first(S, i)
        k.now_ps = t_ps
        events += 1
        k.events += 1
        if kind == SLOT:
            if k.raw:
                on_raw_slot(S, a, t_ps)
            else:
                on_slot(S, a, t_ps)
        elif kind == EGRESS:
            on_egress(S, a, t_ps)
        elif kind == DELIVER:
            deliver(S, a, b, t_ps)
        elif kind == ACK_TIMER:
            on_ack_timer(S, a, t_ps)
        elif kind == ACTIVATE:
            activate(S, a, t_ps)
        elif kind == SERVE_READ:
            start_shares(S, S.read[a].data_first, S.read[a].data_count, t_ps)
        elif kind == FREE:
            free_buffer(S, a, b >> CREDIT_FIELD_BITS, b & ((1 << CREDIT_FIELD_BITS) - 1), t_ps)
        elif k.pfc and kind == PAUSE:
            on_pause(S, a, b, t_ps)
        elif k.pfc and kind == PAUSE_TIMER:
            on_pause_timer(S, a, t_ps)
        elif k.pfc and kind == PAUSE_END:
            on_pause_end(S, a, t_ps)
        elif kind == TAKE:
            on_take(S, a, t_ps)
        elif k.disturbed and kind == LLR_TIMER:
            on_llr_timer(S, a, t_ps)
        elif kind == RELEASE:
            on_release(S, t_ps)
        elif kind == CC_TIMER:
            on_cc_timer(S, a, t_ps)
        elif k.mixed and kind == ARRIVE:
            on_arrive(S, a, b)
        elif k.eventful and kind == FAULT:
            on_fault(S, t_ps)
        elif k.eventful and kind == INIT_TIMER:
            on_init_timer(S, a, b, t_ps)
        elif k.eventful and kind == HANDSHAKE:
            on_handshake(S, a, b, t_ps)
        elif k.eventful and kind == PCS_TIMER:
            on_pcs_timer(S, a, t_ps)
        elif k.paths and kind == ASK_TIMER:
            on_ask_timer(S, a, t_ps)
        elif k.eventful and kind == SEN_TIMER:
            on_sen_timer(S, a, b, t_ps)
        elif k.eventful and kind == PORT_CHANGE:
            on_port_change(S, a, b, t_ps)
        elif k.rh and kind == PATH_LOST:
            on_path_error(S, a, t_ps)
        elif k.rh and kind == RETRY_TIMER:
            on_retry_timer(S, a, t_ps)
        elif k.drained and kind == DRAINED:
            on_drained(S, a, b, t_ps)
        elif k.load and kind == RESUME:
            on_resume(S, a, t_ps)
        elif k.load and kind == LOAD_TIMER:
            on_load_timer(S, a, b, t_ps)
        elif k.load and kind == HEARD:
            on_heard(S, a, b, t_ps)
        elif k.load and kind == SILENCE:
            on_silence(S, a, b, t_ps)
        elif k.paths and kind == RECHECK:
            on_recheck(S, a, t_ps)
        elif k.paths and kind == NO_PATH:
            on_no_path(S, a, t_ps)
        elif k.ordered and kind == FENCE_DONE:
            finish(S, a, t_ps)
        elif k.ordered and kind == FENCE_ANEW:
            renew(S, a, t_ps)
        elif kind == START:
            on_start(S)
        else:  # of a kind that the settings rule out
            k.past += 1


run_kernel = compiled_entry(named(_loop, "run_kernel"))
"""The loop for every run."""

run_lean = compiled_entry(named(_loop, "run_lean"))
"""The same loop for bundles with fixed settings (`variant`): a name of its own, so that each is kept on disk by itself."""
