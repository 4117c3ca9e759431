"""Path change: a sequence space is closed, what it did not deliver goes elsewhere, it is opened again (open profile section 4).

Sender (source of the space's DATA)
-----------------------------------
========= ============================================ ========================================================================
space     event                                        action -> space
========= ============================================ ========================================================================
OPEN      path not live (SEN, path error), and         CLOSE(nonce) over a live path -> CLOSING. Else (nothing un-acked, nothing
          `must_close`                                 sent since the last FENCE) the space stays OPEN and is left alone
OPENING   path not live                                as OPEN
CLOSING,  every 25.6 us without an answer              ask again, same nonce; 8 times, then the path it went over is in error
OPENING                                                too, and it is asked over another one, 8 times anew
CLOSING   CLOSED(psn), its nonce                       as ack psn; what lies behind psn, and only that, is queued again in its
                                                       old order with again = 1, before what waits -> CLOSED
CLOSED    path live again                              OPEN(nonce, psn = next) -> OPENING
OPENING   OPENED, its nonce                            -> OPEN: data may go
any       another nonce                                ignored
========= ============================================ ========================================================================

Receiver
--------
========= ============================================ ========================================================================
space     event                                        action -> space
========= ============================================ ========================================================================
any       CLOSE, newer nonce                           -> CLOSED; CLOSED(expected - 1) when all that was accepted is visible
CLOSED    OPEN, newer nonce                            expected = psn, so that anything older in flight is behind; OPENED -> OPEN
OPEN      OPEN, newer nonce                            OPENED
any       either, nonce equal to the last acted on     answered again, nothing changes
any       either, older nonce                          ignored
========= ============================================ ========================================================================

A nonce is drawn from a counter of the (src, dst) pair. "The last one acted on" is one **a space** (`own`, docs/decisions/0014):
one a pair would ignore for ever the request of one space that was lost while another space's later one was acted on
(``scalefab explore path-change --plant nonce-of-pair``). Distances of nonces are modulo 2^``nonce_bits`` (32 on the wire).

A path in error without a word from SEN is tried again (`own`): every 1203.2 us what is asked of its space goes over the path
itself; an answer ends the error.

Both ends do this for what they send, responses too. Where re-queued transactions go: `paths.chosen_path` for VC 0, the fall-back
path with h = tag for VC 1, any live path for VC 2. An unfinished FENCE is not queued again but begun anew (`ordering`). So
everything runs exactly once: what was accepted ran, what was not is behind CLOSED.psn, and a closed space accepts nothing.
Origin: `own`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled
from . import reliability as rh
from . import rh_sender

NONCE_BITS = 32
ASK_PS = 25_600_000
ASKS_MAX = 8
RECHECK_PS = 1_203_200_000  # own: as long as it took to give the path up

ASK = np.dtype(
    [
        ("nonce", np.int64),  # of what is asked; which of the two says the space's state
        ("asked_ps", np.int64),
        ("asks", np.int32),  # over the present path
        ("path", np.int32),  # that it was asked over
    ],
    align=True,
)
"""What a space's sender has asked, cold: needed in CLOSING and OPENING only."""


class AskTimer(IntEnum):
    """What waiting for an answer comes to."""

    NOT_YET = 0
    AGAIN = 1  #: ask again over the same path
    PATH_ERROR = 2  #: the path it was asked over is in error too: choose another, then `on_asked`


class Request(IntEnum):
    """What the receiver makes of a CLOSE or OPEN."""

    IGNORED = 0  #: older than the last one acted on
    ACTED = 1  #: answer, CLOSED as soon as all accepted is visible
    REPEATED = 2  #: answer as before, nothing has changed


NOT_YET, AGAIN, PATH_ERROR = range(3)
IGNORED, ACTED, REPEATED = range(3)


@compiled
def must_close(s: Any, r: Any, bits: int) -> bool:
    """Return whether a path that is not live any more leaves something to settle: frames un-acked, or since the last FENCE."""
    if s.state == rh.SPACE_OPENING:
        return True
    return s.state == rh.SPACE_OPEN and (rh.in_flight(s, bits) > 0 or s.next_psn != r.fenced_psn)


@compiled
def next_nonce(last: int, nonce_bits: int) -> int:
    """Return the nonce after ``last`` of a pair; the first one is 1."""
    return (last + 1) & ((1 << nonce_bits) - 1)


@compiled
def on_asked(a: Any, path: int, now_ps: int) -> None:
    """Note that what is asked goes over ``path`` now: first, again, or over another path."""
    a.asks = a.asks + 1 if a.path == path else 1
    a.path = path
    a.asked_ps = now_ps


@compiled
def on_ask_timer(a: Any, now_ps: int) -> int:
    """Say what to do while no answer has come: `AskTimer`."""
    if now_ps - a.asked_ps < ASK_PS:
        return NOT_YET
    return AGAIN if a.asks < ASKS_MAX else PATH_ERROR


@compiled
def _begin_ask(s: Any, a: Any, state: int, nonce: int) -> None:
    s.state = state
    a.nonce = nonce
    a.asks = 0
    a.path = -1


@compiled
def begin_close(s: Any, r: Any, a: Any, nonce: int) -> bool:
    """Stop the space and ask CLOSE(``nonce``); the driver sends it and says so by `on_asked`. False: nothing is to be closed."""
    if s.state != rh.SPACE_OPEN and s.state != rh.SPACE_OPENING:
        return False
    r.resending = 0
    s.timed = 0
    _begin_ask(s, a, rh.SPACE_CLOSING, nonce)
    return True


@compiled
def on_closed(s: Any, r: Any, a: Any, psn: int, nonce: int, bits: int, now_ps: int) -> int:
    """Take CLOSED: how many of the oldest copies are delivered, -1 = ignored. The rest (in order) is to be queued again.

    After it the space is CLOSED and empty; its next PSN stays.
    """
    if s.state != rh.SPACE_CLOSING or nonce != a.nonce:
        return -1
    freed = 0
    if rh.in_flight(s, bits) > 0:  # else an OPEN was given up, and a receiver that never saw it speaks of an older PSN
        freed = rh_sender.on_ack(s, r, psn, bits, now_ps)
        if freed < 0:
            return -1
    rh_sender.forget(s, r, bits)
    r.fenced_psn = s.next_psn  # CLOSED came when all that was accepted was visible
    s.state = rh.SPACE_CLOSED
    return freed


@compiled
def begin_open(s: Any, a: Any, nonce: int) -> bool:
    """Ask OPEN(``nonce``, psn = `reliability.SESSION` next_psn) for a path that is live again; False: it is not closed."""
    if s.state != rh.SPACE_CLOSED:
        return False
    _begin_ask(s, a, rh.SPACE_OPENING, nonce)
    return True


@compiled
def on_opened(s: Any, a: Any, nonce: int) -> bool:
    """Take OPENED; return whether data may go now."""
    if s.state != rh.SPACE_OPENING or nonce != a.nonce:
        return False
    s.state = rh.SPACE_OPEN
    return True


@compiled
def _request(q: Any, nonce: int, nonce_bits: int) -> int:
    d = (nonce - q.nonce) & ((1 << nonce_bits) - 1)
    if d == 0:
        return REPEATED
    if d >= 1 << (nonce_bits - 1):
        return IGNORED
    q.nonce = nonce
    return ACTED


@compiled
def on_close(s: Any, q: Any, nonce: int, nonce_bits: int) -> int:
    """Take CLOSE at the receiver: `Request`; ``q`` is its `rh_receiver.REPAIR`."""
    what = _request(q, nonce, nonce_bits)
    if what == ACTED:
        s.rx_state = rh.SPACE_CLOSED
        s.gap = 0
    return what


@compiled
def closed_psn(s: Any, bits: int) -> int:
    """Return what CLOSED says: the last PSN accepted. An ACK is not due any more."""
    return rh.on_ack_sent(s, bits)


@compiled
def on_open(s: Any, q: Any, psn: int, nonce: int, nonce_bits: int) -> int:
    """Take OPEN(``psn``) at the receiver: `Request`."""
    what = _request(q, nonce, nonce_bits)
    if what == ACTED and s.rx_state == rh.SPACE_CLOSED:
        s.rx_state = rh.SPACE_OPEN
        s.expected = psn
        s.unacked = 0
        s.gap = 0
    return what
