"""RH's sender in the kernel: acknowledgements free copies, NACKs and the retry timer send again."""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import rh_sender
from ..protocol.reliability import PSN_BITS
from ..protocol.rh_sender import EXPIRIES_MAX, RTO_PS, TRIES_MAX
from .calendar import push
from .control import ACK_REQ, OWN_PATH, post
from .kept import free_kept
from .ports import kick, look_ps
from .records import NOWHERE, PARKED, PATH_LOST, RETRY_TIMER, State
from .rings import enter_ring


@compiled
def take_ack(S: State, s: int, ack_psn: int, nack: int, now_ps: int) -> None:
    """The sender of session ``s`` learns of an acknowledgement; a session that waited for it goes on."""
    k = S.kernel[0]
    session = S.session[s]
    r = S.retry[s if k.rh else 0]  # without loss nobody reads what an ACK writes there
    if k.rh == 0 and now_ps - session.timer_ps > RTO_PS and 0 <= rh_sender.timer_due_ps(session, r, PSN_BITS) < now_ps:
        k.late += 1  # RH would have sent again by now
    if nack:
        freed = rh_sender.on_nack(session, r, ack_psn, PSN_BITS, now_ps)
    else:
        freed = rh_sender.on_ack(session, r, ack_psn, PSN_BITS, now_ps)
    if k.rh and freed > 0:
        free_kept(S, s, freed)
    if freed > 0 or nack:
        wake_session(S, s, now_ps)


@compiled
def wake_session(S: State, s: int, now_ps: int) -> None:
    """Let session ``s`` send if it may: its window has room again, or there is something to send again."""
    flow = S.flow[s]
    resends = S.kernel[0].rh == 1 and S.session[s].trouble != 0 and S.retry[s].resending != 0
    if flow.place == PARKED:
        S.port[S.session[s].port].parked -= 1
    elif flow.place != NOWHERE or not resends:
        return
    enter_ring(S, s)
    a = S.session[s].port
    kick(S, a, look_ps(S.port[a], now_ps))


@compiled
def arm_retry(S: State, s: int) -> None:
    """Let an event watch the retry timer of session ``s``, which has frames in flight."""
    kept = S.keep[s]
    if kept.timer_set == 0:
        watch_retry(S, s, rh_sender.timer_due_ps(S.session[s], S.retry[s], PSN_BITS))


@compiled
def watch_retry(S: State, s: int, due_ps: int) -> None:
    """Look at the retry timer of session ``s`` at ``due_ps``."""
    S.keep[s].timer_set = 1
    S.kernel[0].background += 1
    push(S, due_ps, RETRY_TIMER, s, 0)


@compiled
def on_retry_timer(S: State, s: int, now_ps: int) -> None:
    """The retry timer of session ``s`` may have expired."""
    k = S.kernel[0]
    session = S.session[s]
    r = S.retry[s]
    k.background -= 1
    S.keep[s].timer_set = 0
    due_ps = rh_sender.timer_due_ps(session, r, PSN_BITS)
    if due_ps < 0:
        return
    if due_ps <= now_ps:
        what = rh_sender.on_timer(session, r, PSN_BITS, now_ps, TRIES_MAX, EXPIRIES_MAX)
        if what == rh_sender.PATH_ERROR:
            push(S, now_ps, PATH_LOST, s, 0)
            return
        post(S, s, ACK_REQ, OWN_PATH, 0, 0, now_ps)
        wake_session(S, s, now_ps)
        due_ps = rh_sender.timer_due_ps(session, r, PSN_BITS)
    watch_retry(S, s, due_ps)
