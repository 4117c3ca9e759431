"""PFC at a port (`protocol.pfc`): occupancy of receive buffers, PAUSE frames on the line, senders that stand still, a VC each.

A frame is judged by the buffer when its last byte is there (ARRIVE) and counted until its last byte has left (FREE). A PAUSE is a
MAC frame of 64 B that names all VCs that are due: it goes at the next frame boundary, before replays and new frames, takes
no credit and no LLR sequence, and is consumed at the port. It may be lost like any frame; it is told again.

Timers (a pause to be told again, a pause that runs out) are background: they alone are no progress.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..protocol import faults, pfc
from ..protocol.operations import PREAMBLE_BYTES, WIRE_EXTRA_BYTES
from .calendar import push
from .ports import add_load, kick, line_ps, look_ps
from .records import PAUSE, PAUSE_DUE, PAUSE_END, PAUSE_TIMER, State

_PS_BITS = 8_000_000_000_000


@compiled
def rate_bps(port: Any) -> int:
    """Return a port's line rate."""
    return _PS_BITS * port.den // port.num


@compiled
def takes(S: State, q: int, vc: int, size_bytes: int, now_ps: int) -> bool:
    """Take a frame into the receive buffer of port ``q`` if there is room; a PAUSE may be due then."""
    r = S.pause_rx[q, vc]
    if not pfc.on_packet(r, size_bytes):
        return False
    if r.due != pfc.NOTHING:
        owe_pause(S, q, now_ps)
    return True


@compiled
def gives(S: State, q: int, vc: int, size_bytes: int, now_ps: int) -> None:
    """A frame has left the receive buffer of port ``q``; the end of a pause may be due then."""
    r = S.pause_rx[q, vc]
    pfc.on_free(r, size_bytes)
    if r.due != pfc.NOTHING:
        owe_pause(S, q, now_ps)


@compiled
def owe_pause(S: State, q: int, now_ps: int) -> None:
    """Let port ``q`` send a PAUSE at its next frame boundary."""
    S.port[q].cc_due |= PAUSE_DUE
    kick(S, q, look_ps(S.port[q], now_ps))


@compiled
def may_go(S: State, a: int, vc: int) -> bool:
    """Return whether the far end lets port ``a`` send frames of ``vc``."""
    return pfc.may_send(S.pause_tx[a, vc], S.kernel[0].now_ps)


@compiled
def send_pause(S: State, q: int, start_ps: int) -> bool:
    """Send the PAUSE that port ``q`` owes, for all VCs that are due; return whether there was one."""
    port = S.port[q]
    port.cc_due &= ~PAUSE_DUE
    stop = 0
    go = 0
    for vc in range(S.pause_rx.shape[1]):
        r = S.pause_rx[q, vc]
        if r.due == pfc.NOTHING:
            continue
        if pfc.on_told(r, start_ps) > 0:
            stop |= 1 << vc
            arm_refresh(S, q, pfc.refresh_due_ps(r, rate_bps(port)))
        else:
            go |= 1 << vc
    if stop == 0 and go == 0:
        return False
    wire = pfc.FRAME_BYTES + WIRE_EXTRA_BYTES
    port.free_ps = start_ps + line_ps(port, wire)
    port.frame_end_ps = port.free_ps
    port.busy_ps += line_ps(port, wire)
    port.wire_bytes += wire
    S.link[q].pauses += 1
    k = S.kernel[0]
    add_load(S, q, start_ps if start_ps > k.now_ps else k.now_ps, wire)
    arrive_ps = start_ps + line_ps(port, PREAMBLE_BYTES + pfc.FRAME_BYTES) + port.delay_ps
    if not is_lost(S, q, wire, arrive_ps):
        push(S, arrive_ps, PAUSE, port.peer, stop | (go << pfc.PRIORITIES))
    return True


@compiled
def is_lost(S: State, q: int, wire_bytes: int, arrive_ps: int) -> bool:
    """Return whether the line loses or corrupts a PAUSE."""
    port = S.port[q]
    lost = False
    if S.kernel[0].lossy:
        lost = faults.loses(port.fault_key, port.fault_count, S.loss_threshold[S.link[q].line, wire_bytes] + S.link[q].loss)
        port.fault_count += 1
    return lost or (S.kernel[0].careful == 1 and arrive_ps > S.link[q].down_from_ps)


@compiled
def arm_refresh(S: State, q: int, due_ps: int) -> None:
    """Look again at the pauses of port ``q`` when the first one has to be told again: one such event a port."""
    link = S.link[q]
    if link.pause_timer == 0 and due_ps >= 0:
        link.pause_timer = 1
        S.kernel[0].background += 1
        push(S, due_ps, PAUSE_TIMER, q, 0)


@compiled
def on_pause_timer(S: State, q: int, now_ps: int) -> None:
    """A pause that port ``q`` has told may have to be told again."""
    S.kernel[0].background -= 1
    S.link[q].pause_timer = 0
    rate = rate_bps(S.port[q])
    next_ps = -1
    for vc in range(S.pause_rx.shape[1]):
        r = S.pause_rx[q, vc]
        if pfc.on_refresh(r, rate, now_ps):
            owe_pause(S, q, now_ps)
            continue
        due_ps = pfc.refresh_due_ps(r, rate)
        if due_ps >= 0 and (next_ps < 0 or due_ps < next_ps):
            next_ps = due_ps
    arm_refresh(S, q, next_ps)


@compiled
def on_pause(S: State, p: int, vcs: int, now_ps: int) -> None:
    """Port ``p`` takes a PAUSE: bit v = VC v stands still, bit 8 + v = it goes on."""
    port = S.port[p]
    S.link[p].pauses_in += 1
    rate = rate_bps(port)
    for vc in range(S.pause_tx.shape[1]):
        t = S.pause_tx[p, vc]
        if (vcs >> vc) & 1:
            pfc.on_pause(t, S.pause_rx[port.peer, vc].quanta, rate, now_ps)
            S.kernel[0].background += 1
            push(S, t.until_ps, PAUSE_END, p, 0)
        elif (vcs >> (vc + pfc.PRIORITIES)) & 1:
            pfc.on_pause(t, 0, rate, now_ps)
            kick(S, p, look_ps(port, now_ps))


@compiled
def on_pause_end(S: State, p: int, now_ps: int) -> None:
    """A pause of port ``p`` may have run out."""
    S.kernel[0].background -= 1
    kick(S, p, look_ps(S.port[p], now_ps))
