"""RH's sender under faults: the window, NACK, progress-based retry timer, path error (open profile section 4).

======================================================== ====================================================================
event                                                    action
======================================================== ====================================================================
frame ready, open, next - una < window, no resend waits  psn = next, next += 1; it leaves now (`on_departure` if later)
ack n by any frame, una - 1 <= n < next                  una = n + 1; if that freed any: tries = expiries = 0, rto = base,
                                                         timer restarts; out of range: counted, ignored
NACK n                                                   as ack n; then resend una .. next - 1, unless una was resent less
                                                         than srtt / 2 ago
rto after the later of last progress, una's last         tries += 1 unless an ack or NACK of this space came since the last
departure and the last expiry                            expiry (or progress); resend una .. next - 1, send ACK_REQ, rto
                                                         doubles
tries = 8 (1203.2 us without a sign of life), or 32      path error: the path leaves the live set, `path_change`
expiries without progress
======================================================== ====================================================================

rto = min(base x 2^expiries, max(204.8 us, 8 srtt)), base = max(25.6 us, 4 srtt). srtt += (sample - srtt) >> 3, a sample from a
frame's departure to its ack, of frames sent once only (Karn). At first srtt = max(6.4 us, endpoints x frame_max / port rate / 2).

What the profile leaves open (`own`, docs/decisions/0014): one frame at a time is timed for srtt, so no frame carries a time of
its own, and each ACK before its own tells that its round trip is longer than what has passed; the timer counts from the last
expiry too, so that a resend which waits for a port does not expire again at once; the NACK guard takes the time of the last
resend that began at una or before it.

Frames that have been sent more than once are always the first ones from una on (go-back-N resends from there), so their number
(``repeated``) says all of Karn's rule, and offsets from una say where a resend stands. Origins: go-back-N `sib` (SUE); the
timer's times and limits `own`, reasons in the profile. Copies of frames are the driver's: frame una + k is the k-th oldest.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled, inlined
from . import reliability as rh

RTO_PS = 25_600_000
RTO_MAX_PS = 204_800_000
SRTT_FIRST_PS = 6_400_000
TRIES_MAX = 8
EXPIRIES_MAX = 32
_BACKOFF_MAX = 3  # base x 8 is the longest rto, whatever srtt: max(25.6, 4 srtt) x 8 >= max(204.8, 8 srtt)

RETRY = np.dtype(
    [
        ("resending", np.int32),  # not 0: a resend is under way
        ("resend_from", np.int32),  # next to resend, counted from una
        ("repeated", np.int32),  # frames from una on that were sent more than once
        ("tries", np.int32),  # expiries without a sign of life
        ("expiries", np.int32),  # without progress
        ("heard", np.int32),  # not 0: a sign of life since the last expiry
        ("fenced_psn", np.int32),  # next_psn behind the last FENCE that was answered: see `ordering`
        ("resent_frames", np.int32),
        ("nacks", np.int32),
        ("nacks_guarded", np.int32),
        ("timeouts", np.int32),
        ("path_errors", np.int32),
        ("resent_ps", np.int64),  # when a resend last sent una
    ],
    align=True,
)
"""The sender's cold part, one a session (56 B): touched by faults only."""


class Expiry(IntEnum):
    """What the retry timer asks for."""

    NOT_YET = 0
    RESEND = 1  #: resend una .. next - 1, and send ACK_REQ
    PATH_ERROR = 2


NOT_YET, RESEND, PATH_ERROR = range(3)


def first_srtt_ps(endpoints: int, frame_max_bytes: int, rate_bps: int) -> int:
    """Return srtt before the first sample, in a domain of ``endpoints`` with ports of ``rate_bps``: half of an incast of all."""
    return max(SRTT_FIRST_PS, -(-endpoints * frame_max_bytes * 8 * 10**12 // (2 * rate_bps)))


@compiled
def rto_ps(s: Any, r: Any) -> int:
    """Return the timer's length now."""
    base = 4 * s.srtt_ps
    if base < RTO_PS:
        base = RTO_PS
    if r.expiries == 0:
        return base
    longest = 8 * s.srtt_ps
    if longest < RTO_MAX_PS:
        longest = RTO_MAX_PS
    doubled = base << (r.expiries if r.expiries < _BACKOFF_MAX else _BACKOFF_MAX)
    return doubled if doubled < longest else longest


@compiled
def timer_due_ps(s: Any, r: Any, bits: int) -> int:
    """Return when the timer expires, -1 while it stands still: for drivers that keep events. It may move later, never earlier."""
    if s.state != rh.SPACE_OPEN or rh.in_flight(s, bits) == 0:
        return -1
    return s.timer_ps + rto_ps(s, r)


@inlined
def may_send(s: Any, r: Any, bits: int) -> bool:
    """Return whether a new frame may go: open, room in the window, and no resend that goes first."""
    if s.state != rh.SPACE_OPEN or (s.trouble != 0 and r.resending != 0):
        return False
    return rh.in_flight(s, bits) < s.window


@compiled
def on_send(s: Any, bits: int, now_ps: int) -> int:
    """Take the next PSN for a frame that leaves now; see `on_departure` for one that leaves later."""
    psn = rh.on_send(s, bits)
    if psn == s.una_psn:
        s.timer_ps = now_ps
    if s.timed == 0:
        s.timed = 1
        s.timed_psn = psn
        s.timed_ps = now_ps
    return psn


@compiled
def on_departure(s: Any, psn: int, now_ps: int) -> None:
    """Say when a frame has left the port, where that is later than `on_send` or `next_resend`."""
    if psn == s.una_psn:
        s.timer_ps = now_ps
    if s.timed != 0 and psn == s.timed_psn:
        s.timed_ps = now_ps


@compiled
def next_resend(s: Any, r: Any, bits: int, now_ps: int) -> int:
    """Return the PSN to resend now (its copy is number psn - una), -1 when no resend waits."""
    if r.resending == 0 or s.state != rh.SPACE_OPEN:
        return -1
    psn = (s.una_psn + r.resend_from) & ((1 << bits) - 1)
    if r.resend_from == 0:
        r.resent_ps = now_ps
        s.timer_ps = now_ps
    if s.timed != 0 and psn == s.timed_psn:
        s.timed = 0  # Karn: an ack could mean either copy
    r.resend_from += 1
    if r.repeated < r.resend_from:
        r.repeated = r.resend_from
    r.resent_frames += 1
    if r.resend_from >= rh.in_flight(s, bits):
        r.resending = 0
    return psn


@compiled
def on_ack(s: Any, r: Any, ack_psn: int, bits: int, now_ps: int) -> int:
    """Take a cumulative acknowledgement that any frame carries: `reliability.OnAck`, or the number of copies to free."""
    freed = rh.on_ack(s, ack_psn, bits)
    if freed < 0:
        return freed
    if freed == 0:
        r.heard = 1
        s.trouble = 1
        return freed
    s.timer_ps = now_ps
    if s.timed != 0:
        passed_ps = now_ps - s.timed_ps
        if ((ack_psn - s.timed_psn) & ((1 << bits) - 1)) < freed:
            s.timed = 0
            s.srtt_ps += (passed_ps - s.srtt_ps) >> 3
        elif passed_ps > s.srtt_ps:  # not yet acknowledged: its round trip is longer than that
            s.srtt_ps += (passed_ps - s.srtt_ps) >> 3
    if s.trouble != 0:
        r.tries = 0
        r.expiries = 0
        r.heard = 0
        r.repeated = r.repeated - freed if r.repeated > freed else 0
        r.resend_from = r.resend_from - freed if r.resend_from > freed else 0
        if rh.in_flight(s, bits) == 0:
            r.resending = 0
        if r.resending == 0:
            r.resend_from = 0
            s.trouble = 1 if r.repeated > 0 else 0
    return freed


@compiled
def on_nack(s: Any, r: Any, ack_psn: int, bits: int, now_ps: int) -> int:
    """Take a NACK: as `on_ack`, then a resend is under way unless una was resent less than srtt / 2 ago."""
    freed = on_ack(s, r, ack_psn, bits, now_ps)
    if freed < 0:
        return freed
    r.nacks += 1
    if s.state != rh.SPACE_OPEN or rh.in_flight(s, bits) == 0:
        return freed
    if r.repeated > 0 and now_ps - r.resent_ps < s.srtt_ps >> 1:
        r.nacks_guarded += 1
        return freed
    _begin_resend(s, r)
    return freed


@compiled
def on_timer(s: Any, r: Any, bits: int, now_ps: int, tries_max: int, expiries_max: int) -> int:
    """Let the timer expire if it is time: `Expiry`. After PATH_ERROR the driver closes the space (`path_change.begin_close`)."""
    due_ps = timer_due_ps(s, r, bits)
    if due_ps < 0 or now_ps < due_ps:
        return NOT_YET
    s.trouble = 1
    s.timer_ps = now_ps
    r.timeouts += 1
    r.expiries += 1
    if r.heard == 0:
        r.tries += 1
    r.heard = 0
    if r.tries >= tries_max or r.expiries >= expiries_max:
        r.path_errors += 1
        return PATH_ERROR
    _begin_resend(s, r)
    return RESEND


@compiled
def _begin_resend(s: Any, r: Any) -> None:
    """Begin, or begin again, to resend from una."""
    s.trouble = 1
    r.resending = 1
    r.resend_from = 0


@compiled
def forget(s: Any, r: Any, bits: int) -> None:
    """Drop all copies: the space holds nothing any more, its next PSN stays."""
    s.una_psn = s.next_psn
    s.trouble = 0
    s.timed = 0
    r.resending = 0
    r.resend_from = 0
    r.repeated = 0
    r.tries = 0
    r.expiries = 0
    r.heard = 0
