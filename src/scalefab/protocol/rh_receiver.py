"""RH's receiver under faults: gaps told once, duplicates acknowledged, closed spaces deaf (open profile section 4).

====== ================= ====================================================================================================
space  event             action
====== ================= ====================================================================================================
open   DATA, d = 0       accept, expected += 1, re-arm NACK, execute in PSN order, an ACK is due
open   DATA, d ahead     drop; NACK(expected - 1) once per gap; again if its psn is not newer than the last one ahead (a new run
                         lost its head), or 5 us after the last NACK
open   DATA, d behind    drop, an ACK is due: acknowledged again, never executed again
closed any DATA          drop, count
any    ACK_REQ           ACK(expected - 1) now
====== ================= ====================================================================================================

A NACK is always its own frame and goes at once; it acknowledges as an ACK does, so nothing is due after it.
An ACK means accepted, not visible. When all that was accepted is visible stands in ``visible_ps``: CLOSED (and FENCE_RSP, over
all spaces of a source) waits for it. Origins: `sib` (SUE) go-back-N with NACK; the two ways to tell a gap again `own`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled
from . import reliability as rh

NACK_AGAIN_PS = 5_000_000

REPAIR = np.dtype(
    [
        ("ahead_psn", np.int32),  # of the last frame ahead, while a gap is told
        ("nacks", np.int32),
        ("closed_drops", np.int32),
        ("nonce", np.int64),  # of the last CLOSE or OPEN acted on: see `path_change`
        ("nack_ps", np.int64),  # when the last NACK was due
        ("visible_ps", np.int64),  # when all that was accepted here is visible
    ],
    align=True,
)
"""The receiver's cold part, one a session (40 B): touched by faults only."""


class Taken(IntEnum):
    """What the receiver does with a DATA frame; the first three are `reliability.OnData`."""

    DUPLICATE = 0
    ACCEPT = 1
    GAP = 2
    GAP_NACK = 3  #: drop, and send a NACK now
    CLOSED = 4


DUPLICATE, ACCEPT, GAP, GAP_NACK, CLOSED = range(5)


@compiled
def on_data(s: Any, r: Any, psn: int, bits: int, now_ps: int) -> int:
    """Judge a DATA frame: `Taken`."""
    if s.rx_state == rh.SPACE_CLOSED:
        r.closed_drops += 1
        return CLOSED
    verdict = rh.on_data(s, psn, bits, now_ps)
    if verdict == rh.ACCEPT:
        s.gap = 0
        return ACCEPT
    if verdict == rh.DUPLICATE:
        return DUPLICATE
    newer = (psn - r.ahead_psn - 1) & ((1 << bits) - 1) < (1 << (bits - 1)) - 1
    due = s.gap == 0 or not newer or now_ps - r.nack_ps >= NACK_AGAIN_PS
    r.ahead_psn = psn
    if not due:
        return GAP
    s.gap = 1
    r.nack_ps = now_ps
    r.nacks += 1
    return GAP_NACK


@compiled
def on_reply_sent(s: Any, bits: int) -> int:
    """Return the ack_psn of an ACK or NACK that leaves now, or rides on a DATA frame; nothing is due after it."""
    return rh.on_ack_sent(s, bits)
