"""RH, end-to-end reliability of one sequence space (src, dst, path, VC): the record, and what happens without faults (section 4).

Retry and NACK stand in `rh_sender` and `rh_receiver`, closing and opening a space in `path_change`; they call what is here.

======== ============================================ ==========================================================
side     event                                        action
======== ============================================ ==========================================================
sender   frame ready, next - una < window             psn = next, next += 1
sender   ack n, una - 1 <= n < next                   una = n + 1; out of range: counted, ignored
receiver d = psn - expected = 0                       accept, expected += 1, an ACK is due
receiver d ahead                                      drop (a gap)
receiver d behind                                     drop, acknowledged again, never executed again
receiver ACK due                                      rides on the next DATA frame to that source on the path, any VC;
                                                      else alone after ``ACK_EVERY_FRAMES`` or ``ACK_DELAY_PS``
======== ============================================ ==========================================================

Distances are modulo 2^``bits`` (16 on the wire; an argument, so that a 3-bit space can be explored): 0 equal, below half ahead,
else behind. Go-back-N and 16-bit PSN: `sib` (SUE); window, ACK pacing and service order: `own`, reasons in the profile.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled, inlined

PSN_BITS = 16
WINDOW_FRAMES = 1024  # own: 2 us at 320 Mpps
ACK_EVERY_FRAMES = 16  # own: 4 frames / 200 ns cost 4 % of W1 and 12 % of W4
ACK_DELAY_PS = 2_000_000
SERVICE_FRAMES = 16  # own: fewer, and all-to-all makes almost an ACK frame a data frame

SESSION = np.dtype(
    [
        # what a receiver touches for a frame, together: with 1024 endpoints a space is in no cache when its next frame comes
        ("expected", np.int32),
        ("unacked", np.int32),  # accepted frames that no ACK has covered yet
        ("since_ps", np.int64),  # when the oldest un-acked frame was accepted
        ("rx_state", np.int16),  # receiver's `Space`: OPEN or CLOSED
        ("gap", np.int16),  # receiver: not 0: a NACK has told the present gap
        ("src", np.int16),
        ("dst", np.int16),
        ("path", np.int16),  # path index
        ("vc", np.int16),
        ("port", np.int32),  # the source port that its DATA leave by
        ("peer_port", np.int32),  # the target's port: ACKs leave by it
        ("next_psn", np.int32),
        ("una_psn", np.int32),
        ("window", np.int16),
        ("state", np.int16),  # sender's `Space`
        ("trouble", np.int16),  # not 0: rh_sender.RETRY holds something; 0: an ACK need not look there
        ("timed", np.int16),  # not 0: the departure of timed_psn is being timed for srtt
        ("timed_psn", np.int32),
        ("ack_errors", np.int32),
        ("duplicates", np.int32),
        ("gaps", np.int32),
        ("timer_ps", np.int64),  # sender: later of last progress, una's last departure, last expiry
        ("timed_ps", np.int64),
        ("srtt_ps", np.int64),
    ],
    align=True,
)
"""One sequence space, both ends, **the hot part** (96 B): all that frames and ACKs touch without faults. The sender's and the
receiver's fields are apart, so one record serves a simulation. All zeros = a space that is open at PSN 0 (but for `window`).
What only faults touch is cold: `rh_sender.RETRY`, `rh_receiver.REPAIR`, `path_change.ASK`."""


class Space(IntEnum):
    """States of a sequence space. The receiver knows OPEN and CLOSED only."""

    OPEN = 0
    CLOSING = 1  #: CLOSE is asked: nothing is sent
    CLOSED = 2
    OPENING = 3  #: OPEN is asked: nothing is sent


SPACE_OPEN, SPACE_CLOSING, SPACE_CLOSED, SPACE_OPENING = range(4)


class OnAck(IntEnum):
    """What an acknowledgement did to the sender."""

    IGNORED = -1  #: out of range
    NOTHING = 0  #: in range, frees nothing; positive numbers = frames freed


class OnData(IntEnum):
    """What the receiver does with a DATA frame."""

    DUPLICATE = 0
    ACCEPT = 1
    GAP = 2


DUPLICATE, ACCEPT, GAP = range(3)


@compiled
def in_flight(s: Any, bits: int) -> int:
    """Return frames sent and not acknowledged."""
    return (s.next_psn - s.una_psn) & ((1 << bits) - 1)


@inlined
def may_send(s: Any, bits: int) -> bool:
    """Return whether the window has room for one more frame."""
    return in_flight(s, bits) < s.window


@inlined
def on_send(s: Any, bits: int) -> int:
    """Take the next PSN."""
    psn = s.next_psn
    s.next_psn = (psn + 1) & ((1 << bits) - 1)
    return psn


@compiled
def on_ack(s: Any, ack_psn: int, bits: int) -> int:
    """Take a cumulative acknowledgement: `OnAck`, or the number of frames that it freed."""
    mask = (1 << bits) - 1
    freed = (ack_psn - s.una_psn + 1) & mask
    if freed > in_flight(s, bits):
        s.ack_errors += 1
        return -1
    s.una_psn = (ack_psn + 1) & mask
    return freed


@inlined
def on_data(s: Any, psn: int, bits: int, now_ps: int) -> int:
    """Judge a DATA frame at the receiver: `OnData`."""
    mask = (1 << bits) - 1
    d = (psn - s.expected) & mask
    if d == 0:
        s.expected = (s.expected + 1) & mask
        if s.unacked == 0:
            s.since_ps = now_ps
        s.unacked += 1
        return ACCEPT
    if d < 1 << (bits - 1):
        s.gaps += 1
        return GAP
    s.duplicates += 1
    if s.unacked == 0:
        s.since_ps = now_ps
    s.unacked += 1
    return DUPLICATE


@compiled
def ack_alone_due(s: Any, every_frames: int, delay_ps: int, now_ps: int) -> bool:
    """Return whether a standalone ACK must go now: enough frames, or the oldest has waited long enough."""
    return s.unacked > 0 and (s.unacked >= every_frames or now_ps - s.since_ps >= delay_ps)


@compiled
def on_ack_sent(s: Any, bits: int) -> int:
    """Return the ack_psn to send now (last in-order PSN accepted); nothing is due after it."""
    s.unacked = 0
    return (s.expected - 1) & ((1 << bits) - 1)
