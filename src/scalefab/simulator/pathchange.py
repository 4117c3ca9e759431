"""Path change in the kernel: spaces of a path that is not live are closed, what they did not deliver goes elsewhere, once.

Both ends do it for what they send. A path is not live for an endpoint when its own port is down, when a SEN says so (`notify`),
or when RH gave it up (path error).
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import path_change, paths
from ..protocol import reliability as rh
from ..protocol.path_change import ASK_PS, NONCE_BITS
from ..protocol.reliability import PSN_BITS
from .calendar import push
from .control import ACK_NOW, ACK_REQ, CLOSE, CLOSED, OPEN, OPENED, OWN_PATH, post
from .failures import has_failed, note_no_path, note_path
from .fence import begin_anew, is_fence
from .kept import free_kept
from .pathstate import (
    WATCHED,
    append_reply,
    append_share,
    awake,
    other_space,
    path_live,
    redirect,
    some_live_path,
    space_of,
    state_index,
)
from .pools import new_reply, release_frame
from .ports import credit_mark, window_mark
from .recheck import ask_itself, ask_path_again, waits_for_recheck, watch_path
from .records import ASK_TIMER, PARKED, State
from .responses import answer_bytes, on_queued, wake_held
from .retransmit import wake_session


@compiled
def path_down(S: State, src: int, dst: int, path: int, why: int, now_ps: int) -> None:
    """A path from ``src`` to ``dst`` may not be used any more, ``why``: a bit of `paths.PathState`."""
    n = state_index(S, src, dst, path)
    was_live = paths.is_live(S.path_state[n])
    S.path_state[n] |= why
    if why == paths.ERROR:
        watch_path(S, n, now_ps)
    if not was_live:
        return
    if some_live_path(S, src, dst, path) < 0:
        note_no_path(S, src, dst, now_ps)
    for vc in range(3):
        s = space_of(S, src, dst, path, vc)
        if s < 0:
            return
        if path_change.must_close(S.session[s], S.retry[s], PSN_BITS):
            begin(S, s, CLOSE, now_ps)
        elif S.session[s].state == rh.SPACE_OPEN:
            move_waiting(S, s, now_ps)


@compiled
def path_up(S: State, src: int, dst: int, path: int, why: int, now_ps: int) -> None:
    """What kept ``src`` from a path to ``dst`` is over; its spaces are opened again."""
    n = state_index(S, src, dst, path)
    if S.path_state[n] & why == 0:
        return
    S.path_state[n] &= ~why
    if not paths.is_live(S.path_state[n]):
        return
    note_path(S, src, dst)
    for vc in range(3):
        s = space_of(S, src, dst, path, vc)
        if s < 0:
            return
        if S.session[s].state == rh.SPACE_CLOSED:
            begin(S, s, OPEN, now_ps)
        elif S.session[s].state == rh.SPACE_OPENING:  # it was asked while the path was in error
            ask(S, s, now_ps)
        else:
            wake_session(S, s, now_ps)
    free_stranded(S, src, dst, now_ps)
    begin_anew(S, src, dst, now_ps)


@compiled
def free_stranded(S: State, src: int, dst: int, now_ps: int) -> None:
    """Move what waits at spaces of paths that are not live, because no path was.

    A port that comes up sends before its GPU hears so: what such a space has under way then is closed first, or what follows it
    to the same page would overtake it on another path.
    """
    for path in range(S.kernel[0].path_count):
        if path_live(S, src, dst, path):
            continue
        for vc in range(3):
            s = space_of(S, src, dst, path, vc)
            if S.session[s].state == rh.SPACE_CLOSING or (S.flow[s].share_head < 0 and S.flow[s].reply_head < 0):
                continue
            if S.session[s].state == rh.SPACE_OPEN and rh.in_flight(S.session[s], PSN_BITS) > 0:
                begin(S, s, CLOSE, now_ps)
            else:
                move_waiting(S, s, now_ps)


@compiled
def on_recheck(S: State, n: int, now_ps: int) -> None:
    """A path that was in error a while ago may work again."""
    k = S.kernel[0]
    k.background -= 1
    S.path_state[n] &= ~WATCHED
    if not ask_path_again(S, n, now_ps):
        pair = n // k.path_count
        begin(S, space_of(S, pair // k.endpoints, pair % k.endpoints, n % k.path_count, 0), CLOSE, now_ps)


@compiled
def begin(S: State, s: int, what: int, now_ps: int) -> None:
    """Ask CLOSE or OPEN of session ``s``."""
    session = S.session[s]
    pair = session.src * S.kernel[0].endpoints + session.dst
    S.pair_nonce[pair] = path_change.next_nonce(S.pair_nonce[pair], 31)
    if what == CLOSE:
        done = path_change.begin_close(session, S.retry[s], S.ask[s], S.pair_nonce[pair])
    else:
        done = path_change.begin_open(session, S.ask[s], S.pair_nonce[pair])
    if done:
        ask(S, s, now_ps)


@compiled
def ask(S: State, s: int, now_ps: int) -> None:
    """Ask what session ``s`` has to ask, over a live path, and look again when an answer is overdue."""
    session = S.session[s]
    a = S.ask[s]
    path = session.path
    if session.state == rh.SPACE_CLOSING:
        path = a.path
        if path < 0 or not path_live(S, session.src, session.dst, path):
            path = some_live_path(S, session.src, session.dst, session.path)
    S.kernel[0].background += 1
    push(S, now_ps + ASK_PS, ASK_TIMER, s, 0)
    path_change.on_asked(a, path, now_ps)
    if path >= 0:
        what = CLOSE if session.state == rh.SPACE_CLOSING else OPEN
        post(S, s, what, path, session.next_psn if what == OPEN else 0, a.nonce, now_ps)


@compiled
def on_ask_timer(S: State, s: int, now_ps: int) -> None:
    """An answer to CLOSE or OPEN of session ``s`` may be overdue."""
    S.kernel[0].background -= 1
    session = S.session[s]
    if session.state != rh.SPACE_CLOSING and (session.state != rh.SPACE_OPENING or waits_for_recheck(S, s)):
        return
    a = S.ask[s]
    what = path_change.on_ask_timer(a, now_ps)
    if what == path_change.NOT_YET:  # it was asked anew since
        return
    if what == path_change.PATH_ERROR and a.path >= 0:
        path = a.path
        a.path = -1
        S.kernel[0].path_errors += 1
        path_down(S, session.src, session.dst, path, paths.ERROR, now_ps)
    ask(S, s, now_ps)


@compiled
def on_path_error(S: State, s: int, now_ps: int) -> None:
    """RH gives up the path of session ``s``."""
    session = S.session[s]
    S.kernel[0].path_errors += 1
    if S.kernel[0].paths:
        path_down(S, session.src, session.dst, session.path, paths.ERROR, now_ps)


@compiled
def on_control(S: State, f: Any, now_ps: int) -> None:
    """Take a CONTROL frame: what it asks is answered, what it answers is acted on."""
    s = f.session
    what = f.stride
    session = S.session[s]
    if what == ACK_REQ:
        post(S, s, ACK_NOW, OWN_PATH, 0, 0, now_ps)
    elif what == CLOSE or what == OPEN:
        answer(S, s, what, f.psn, f.first, f.path, now_ps)
    elif what == CLOSED:
        delivered = path_change.on_closed(session, S.retry[s], S.ask[s], f.psn, f.first, PSN_BITS, now_ps)
        if delivered >= 0:
            free_kept(S, s, delivered)
            queue_again(S, s, now_ps)
            if path_live(S, session.src, session.dst, session.path):
                begin(S, s, OPEN, now_ps)
            elif some_live_path(S, session.src, session.dst, session.path) < 0:
                ask_itself(S, s, now_ps)
    elif what == OPENED and path_change.on_opened(session, S.ask[s], f.first):
        if f.path == session.path:
            path_up(S, session.src, session.dst, session.path, paths.ERROR, now_ps)
        wake_session(S, s, now_ps)


@compiled
def answer(S: State, s: int, what: int, psn: int, nonce: int, came_by: int, now_ps: int) -> None:
    """Answer CLOSE or OPEN of session ``s`` at its receiver.

    CLOSED goes over a path that is live from there, if none is over that of the question. OPENED goes over the path that is
    opened, whatever is known of it: it shows that the way back works, too.
    """
    session = S.session[s]
    q = S.repair[s]
    if what == CLOSE:
        if S.responses[session.peer_port].held > 0:  # something accepted may not be executed yet: it will be asked again
            return
        taken = path_change.on_close(session, q, nonce, NONCE_BITS)
    else:
        taken = path_change.on_open(session, q, psn, nonce, NONCE_BITS)
    if taken == path_change.IGNORED:
        return
    path = session.path
    if what == CLOSE or S.link[session.peer_port].dead:
        path = some_live_path(S, session.dst, session.src, session.path)
    if path < 0:
        path = came_by
    if S.link[S.node[session.dst].first_port + path // S.kernel[0].uplinks].dead:
        return
    if what == CLOSE:
        visible_ps = q.visible_ps if q.visible_ps > now_ps else now_ps
        post(S, s, CLOSED, path, path_change.closed_psn(session, PSN_BITS), nonce, visible_ps)
    else:
        post(S, s, OPENED, path, 0, nonce, now_ps)


@compiled
def queue_again(S: State, s: int, now_ps: int) -> None:
    """Queue what session ``s`` has not delivered elsewhere, in its old order, before what waits there; then what waits here."""
    k = S.kernel[0]
    k.change += 1
    kept = S.keep[s]
    while kept.head >= 0:
        i = kept.head
        f = S.frame[i]
        kept.head = f.next
        run_again(S, s, f.op, f.first, f.count, f.stride, f.answer, f.ready_ps, now_ps)
        n = f.more
        while n >= 0:
            r = S.run[n]
            run_again(S, s, r.op, r.first, r.count, r.stride, f.answer, f.ready_ps, now_ps)
            n = r.next
        k.sent -= 1  # it will be sent as another frame
        release_frame(S, i)
    move_waiting(S, s, now_ps)


@compiled
def run_again(S: State, s: int, op: int, first: int, count: int, stride: int, is_answer: int, ready_ps: int, now_ps: int) -> None:
    """Queue a run of transactions of session ``s`` at the session that takes over."""
    k = S.kernel[0]
    if has_failed(S, op) or is_fence(S, op):
        return
    t = other_space(S, s, op, first)
    if t < 0:
        t = s
    flow = S.flow[t]
    kept = S.keep[t]
    if kept.change != k.change:
        kept.change = k.change
        kept.again_tail = -1
    port = S.session[t].port
    k.again_runs += 1
    if S.session[t].vc == 1:
        n = new_reply(S)
        r = S.reply[n]
        r.op = op
        r.first = first
        r.count = count
        r.session = t
        r.answered_ps = ready_ps
        r.ready_ps = now_ps
        r.credit_mark_ps = credit_mark(S.port[port], now_ps)
        r.window_mark_ps = window_mark(S.port[port], now_ps)
        on_queued(S, port, answer_bytes(S, op, first, count))
        if kept.again_tail < 0:
            r.next = flow.reply_head
            flow.reply_head = n
        else:
            r.next = S.reply[kept.again_tail].next
            S.reply[kept.again_tail].next = n
        if r.next < 0:
            flow.reply_tail = n
    else:
        n = k.share_top
        k.share_top += 1
        share = S.share[n]
        share.op = op
        share.session = t
        share.index = first
        share.stride = stride
        share.left = count
        share.answer = is_answer
        share.ready_ps = ready_ps + S.node[S.session[t].src].tx_ps
        share.credit_mark_ps = credit_mark(S.port[port], now_ps)
        share.window_mark_ps = window_mark(S.port[port], now_ps)
        if kept.again_tail < 0:
            share.next = flow.share_head
            flow.share_head = n
        else:
            share.next = S.share[kept.again_tail].next
            S.share[kept.again_tail].next = n
        if share.next < 0:
            flow.share_tail = n
    kept.again_tail = n
    awake(S, t, now_ps)


@compiled
def move_waiting(S: State, s: int, now_ps: int) -> None:
    """Move what waits in session ``s`` to the sessions that take over; without a live path it stays."""
    flow = S.flow[s]
    n = flow.share_head
    flow.share_head = -1
    while n >= 0:
        following = S.share[n].next
        if not is_fence(S, S.share[n].op):
            append_share(S, n, redirect(S, s, S.share[n].op, S.share[n].index), now_ps)
        n = following
    n = flow.reply_head
    flow.reply_head = -1
    while n >= 0:
        following = S.reply[n].next
        t = redirect(S, s, S.reply[n].op, S.reply[n].first)
        move_room(S, n, S.session[s].port, S.session[t].port)
        append_reply(S, n, t, now_ps)
        n = following
    if flow.place == PARKED and flow.share_head < 0 and flow.reply_head < 0:
        wake_session(S, s, now_ps)  # it has nothing to wait for any more
    begin_anew(S, S.session[s].src, S.session[s].dst, now_ps)


@compiled
def move_room(S: State, n: int, here: int, there: int) -> None:
    """Move the room that answer ``n`` takes in a response queue to another port; who waits for it at the old one goes on.

    At a port that is dead nothing else would wake it: a request stayed in the receive buffer for ever.
    """
    if here != there:
        r = S.reply[n]
        size = answer_bytes(S, r.op, r.first, r.count)
        S.responses[here].bytes -= size
        on_queued(S, there, size)
        wake_held(S, here, S.kernel[0].now_ps)
