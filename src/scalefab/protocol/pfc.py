"""PFC, priority-based flow control, of one link direction and VC: the alternative to CBFC (IEEE 802.1Q clause 36, `pub`).

======== ====================================== =========================================================================
side     event                                  action
======== ====================================== =========================================================================
receiver packet, room in the buffer             occupancy += size; at XOFF or above and not paused: PAUSE(quanta) due
receiver packet, no room                        drop: thresholds or head-room are wrong
receiver packet has left the buffer             occupancy -= size; at XON or below and paused: PAUSE(0) due
receiver paused for half of what it asked       PAUSE(quanta) due again, so that the sender's timer never runs out
sender   PAUSE(quanta), quanta > 0              the VC stands still for quanta x 512 bit times from now
sender   PAUSE(0)                               the VC goes on
sender   new packet                             goes only when the VC does not stand still; a packet on the line is finished
======== ====================================== =========================================================================

A PAUSE is one MAC control frame of 64 B; it names up to 8 priorities, each VC is one. It is not credited, and not LLR-eligible
(`own`: a replay would tell a pause that is over); that it may be lost is why it is told again (`own`: after half of its time).
Head-room, the bytes that still come after XOFF, stands in `limits`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled, inlined

QUANTUM_BITS = 512  # pub: IEEE 802.3 Annex 31B
QUANTA_MAX = 65_535
FRAME_BYTES = 64
PRIORITIES = 8

RECEIVER = np.dtype(
    [
        ("occupancy_bytes", np.int64),
        ("xoff_bytes", np.int64),
        ("xon_bytes", np.int64),
        ("buffer_bytes", np.int64),
        ("peak_bytes", np.int64),
        ("told_ps", np.int64),  # when the last PAUSE left
        ("quanta", np.int64),  # asked for in a PAUSE
        ("paused", np.int32),  # 1 = the sender was told to stand still
        ("due", np.int32),  # Due
        ("pauses", np.int32),  # PAUSE frames sent, of either kind
        ("drops", np.int32),
    ],
    align=True,
)
"""Per port and VC, at the receiving end."""

SENDER = np.dtype([("until_ps", np.int64), ("pauses", np.int32), ("resumes", np.int32)], align=True)
"""Per port and VC, at the sending end: it stands still before ``until_ps``."""


class Due(IntEnum):
    """What the receiver has to tell."""

    NOTHING = 0
    XOFF = 1  #: PAUSE(quanta)
    XON = 2  #: PAUSE(0)


NOTHING, XOFF, XON = range(3)


@compiled
def quantum_ps(quanta: int, rate_bps: int) -> int:
    """Return the time of ``quanta`` pause quanta at a line rate, rounded up."""
    one = QUANTUM_BITS * 1_000_000_000_000  # ps x rate of one quantum; 65 535 times that would not fit 64 bits
    return quanta * (one // rate_bps) - (-quanta * (one % rate_bps)) // rate_bps


@compiled
def on_packet(r: Any, size_bytes: int) -> bool:
    """Take a packet into the buffer; return whether there was room."""
    if r.occupancy_bytes + size_bytes > r.buffer_bytes:
        r.drops += 1
        return False
    r.occupancy_bytes += size_bytes
    if r.occupancy_bytes > r.peak_bytes:
        r.peak_bytes = r.occupancy_bytes
    if r.occupancy_bytes >= r.xoff_bytes:
        if not r.paused:
            r.due = XOFF
        elif r.due == XON:  # it went up again before the XON was out
            r.due = NOTHING
    return True


@inlined
def on_free(r: Any, size_bytes: int) -> None:
    """Let a packet leave the buffer."""
    r.occupancy_bytes -= size_bytes
    if r.occupancy_bytes <= r.xon_bytes:
        if r.paused:
            r.due = XON
        elif r.due == XOFF:  # it went down again before the XOFF was out
            r.due = NOTHING


@compiled
def refresh_due_ps(r: Any, rate_bps: int) -> int:
    """Return when the pause is to be told again, -1 = never as things are."""
    if not r.paused or r.due == XON:
        return -1
    return r.told_ps + quantum_ps(r.quanta, rate_bps) // 2


@compiled
def on_refresh(r: Any, rate_bps: int, now_ps: int) -> bool:
    """Make the PAUSE due again if it is time; return whether it is."""
    due_ps = refresh_due_ps(r, rate_bps)
    if due_ps < 0 or now_ps < due_ps:
        return False
    r.due = XOFF
    return True


@compiled
def on_told(r: Any, now_ps: int) -> int:
    """Note that what was due is on the line; return the quanta that it carries (0 = go on)."""
    r.paused = 1 if r.due == XOFF else 0
    r.due = NOTHING
    r.pauses += 1
    r.told_ps = now_ps
    return r.quanta if r.paused else 0


@compiled
def on_pause(t: Any, quanta: int, rate_bps: int, now_ps: int) -> None:
    """Take one VC's quanta of a PAUSE."""
    if quanta > 0:
        t.until_ps = now_ps + quantum_ps(quanta, rate_bps)
        t.pauses += 1
    else:
        t.until_ps = now_ps
        t.resumes += 1


@inlined
def may_send(t: Any, now_ps: int) -> bool:
    """Return whether a new packet of the VC may go."""
    return now_ps >= t.until_ps
