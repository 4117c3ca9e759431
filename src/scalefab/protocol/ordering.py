"""Order across paths and VCs: FENCE, release and acquire, put-with-signal (open profile section 5).

Order without any of it: same (src, dst, 4 KiB page, VC 0), as issued. Nothing else.

======================================= =======================================================================================
event                                   action
======================================= =======================================================================================
fence to dst begins                     FENCE as next PSN on every space to dst with frames un-acked or waiting, at least on one;
                                        operations issued before it are "earlier"
FENCE accepted at the target            FENCE_RSP when all it has accepted from this source, on any path and VC, is visible
FENCE_RSP, of this attempt              one space less to wait for; that space has nothing since the last FENCE (`on_fenced`)
response of an earlier operation        one less to wait for
nothing left                            done
path change, fence not done             its FENCE is not queued again: it begins anew on the spaces as they are then
operation with release, acq_rel         a fence, then the operation
operation with acquire, acq_rel         later operations of the source wait for its response; cached remote lines are invalidated
scope gpu, system                       a fence to one dst, to all
packet of RDMA_WRITE_SIG                counted; the last one to be missing makes the message whole, and when all its bytes are
                                        visible the signal is written, then COMPLETION goes
======================================= =======================================================================================

The source enforces it; order and scope bits (`layout.Order`, `layout.Scope`) on the wire inform. A posted operation has no
response: the FENCE behind it on its space covers it. Several fences may be under way, a record each. Origin: `own`; that order
across paths is the upper layer's `pub`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from . import reliability as rh

ISSUED = np.dtype(
    [
        ("serial", np.int64),  # operations issued so far
        ("nonce", np.int64),  # last one drawn for a CLOSE or OPEN: see `path_change`
        ("unanswered", np.int32),  # operations without their response
        ("acquires", np.int32),  # ... that later operations wait for
    ],
    align=True,
)
"""What a source has issued to one destination."""

FENCE = np.dtype(
    [
        ("serial", np.int64),  # operations before this one are earlier
        ("attempt", np.int32),  # 0 = it never began
        ("spaces", np.int32),  # FENCE_RSP to come, of this attempt
        ("earlier", np.int32),  # responses of earlier operations to come
    ],
    align=True,
)
"""One fence to one destination."""

MESSAGE = np.dtype(
    [
        ("seen", np.int32),  # packets that have come
        ("packets", np.int32),  # of the message, 0 until the last one has come
        ("visible_ps", np.int64),  # when all that has come is visible
    ],
    align=True,
)
"""A message that arrives, in whatever order: each packet comes once, so a count is enough."""


@compiled
def releases(order: int) -> bool:
    """Return whether a fence goes before the operation."""
    return order & 2 != 0


@compiled
def acquires(order: int) -> bool:
    """Return whether later operations wait for the response."""
    return order & 1 != 0


@compiled
def may_issue(i: Any) -> bool:
    """Return whether an operation may be issued: no acquire is without its response."""
    return i.acquires == 0


@compiled
def on_issue(i: Any, order: int, posted: bool) -> int:
    """Issue an operation: its serial number."""
    serial = i.serial
    i.serial += 1
    if not posted:
        i.unanswered += 1
        if acquires(order):
            i.acquires += 1
    return serial


@compiled
def on_response(i: Any, order: int) -> bool:
    """Take the response that ends an operation; return whether later operations may go on now and lines are invalidated."""
    i.unanswered -= 1
    if not acquires(order):
        return False
    i.acquires -= 1
    return i.acquires == 0


@compiled
def needs_fence(s: Any, waiting_frames: int, bits: int) -> bool:
    """Return whether a fence sends FENCE on this space."""
    return rh.in_flight(s, bits) > 0 or waiting_frames > 0


@compiled
def begin_fence(f: Any, i: Any, spaces: int) -> None:
    """Begin a fence behind all that was issued; ``spaces``: how many need a FENCE, 0 = it goes on any one."""
    f.serial = i.serial
    f.earlier = i.unanswered
    f.attempt = 0
    begin_anew(f, spaces)


@compiled
def begin_anew(f: Any, spaces: int) -> None:
    """Begin the fence anew after a path change: responses of FENCEs sent before do not count any more."""
    f.attempt += 1
    f.spaces = spaces if spaces > 0 else 1


@compiled
def on_earlier(f: Any, serial: int) -> bool:
    """Take a response, whose operation was issued as ``serial``; return whether the fence is done by it."""
    if serial >= f.serial or f.earlier == 0:
        return False
    f.earlier -= 1
    return is_done(f)


@compiled
def on_fence_rsp(f: Any, attempt: int) -> bool:
    """Take a FENCE_RSP; return whether the fence is done by it."""
    if attempt != f.attempt or f.spaces == 0:
        return False
    f.spaces -= 1
    return is_done(f)


@compiled
def is_done(f: Any) -> bool:
    """Return whether nothing is left to wait for."""
    return f.attempt > 0 and f.spaces == 0 and f.earlier == 0


@compiled
def on_fenced(r: Any, fence_psn: int, bits: int) -> None:
    """Note at the space's sender (`rh_sender.RETRY`) that its FENCE with this PSN was answered."""
    mask = (1 << bits) - 1
    if (fence_psn + 1 - r.fenced_psn) & mask < 1 << (bits - 1):
        r.fenced_psn = (fence_psn + 1) & mask


@compiled
def on_visible(q: Any, visible_ps: int) -> None:
    """Note when what was accepted is visible: of a space (`rh_receiver.REPAIR`), of a message, of a whole source."""
    if visible_ps > q.visible_ps:
        q.visible_ps = visible_ps


@compiled
def answer_ps(q: Any, now_ps: int) -> int:
    """Return when CLOSED (of a space) or FENCE_RSP (of a source) may go: now, or when all that was accepted is visible."""
    return q.visible_ps if q.visible_ps > now_ps else now_ps


@compiled
def on_packet(m: Any, index: int, last: bool, visible_ps: int) -> bool:
    """Count a packet of a message; return whether it is whole, and then its signal may be written at ``m.visible_ps``."""
    m.seen += 1
    if last:
        m.packets = index + 1
    on_visible(m, visible_ps)
    return m.seen == m.packets
