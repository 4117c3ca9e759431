"""SEN, Switch Event Notification: what a switch tells of its ports, and what an endpoint makes of it (open profile section 6).

Switch, one record a port and group (`Group`)
---------------------------------------------
============================================= =================================================================================
event                                         action
============================================= =================================================================================
link state of the port changes, or its queues event = the switch's next number; three copies, 1 us apart, the first at once
cross a threshold                             (within 1 us)
copies are out                                the same event again every 100 us; CONGESTION_ON and DEGRADED every 5 us
VOQs of a port and VC > 3/4 of a VC's buffer  CONGESTION_ON
... < 1/4                                     CONGESTION_OFF
============================================= =================================================================================

Endpoint, one record a (switch, port, group)
--------------------------------------------
============================================= =================================================================================
event                                         action
============================================= =================================================================================
event newer than the last one                 acted on: path states change (`paths`), `path_change` for PORT_DOWN and DRAIN
same event                                    not acted on again; it breaks the silence
older event                                   ignored
more than 10 us of silence                    CONGESTION_ON, DEGRADED end, as if told; the same event again brings them back
============================================= =================================================================================

Who is told: tier 1, the endpoints attached to the switch; tier 0 and 2, all of the plane. Affected path ids to a destination in
[first, first + count): tier 0, those of (stack, port); tier 1 and 2, those of the plane with (dst + path.uplink) mod n = index.

Groups (`own`, docs/decisions/0014): down, up, degraded and drain are one state of a port's link, so PORT_UP ends all others;
congestion is a state of its own. DEGRADED is told as often as congestion, else 10 us of silence would always end it. A port that
never changed tells nothing. Event numbers are compared modulo 2^``bits`` (32 on the wire). SEN exists by the publication, its
format and times are `own`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import compiled
from . import paths
from .layout_control import ControlType, Tier
from .switching import leaf_uplink
from .tiers import UPLINK_IDS

EVENT_BITS = 32
COPIES = 3
COPY_PS = 1_000_000
REFRESH_PS = 100_000_000
AGAIN_PS = 5_000_000
SILENCE_PS = 10_000_000

PORT_DOWN = int(ControlType.PORT_DOWN)
PORT_UP = int(ControlType.PORT_UP)
DEGRADED = int(ControlType.DEGRADED)
CONGESTION_ON = int(ControlType.CONGESTION_ON)
CONGESTION_OFF = int(ControlType.CONGESTION_OFF)
DRAIN = int(ControlType.DRAIN)
_ATTACHED = int(Tier.ATTACHED)
_UPLINK_MASK = UPLINK_IDS - 1

TELLING = np.dtype(
    [
        ("kind", np.int32),  # ControlType told, 0 = nothing yet
        ("vc_mask", np.int32),
        ("copies", np.int32),  # of this event that have gone, at most COPIES
        ("event", np.int64),
        ("due_ps", np.int64),  # of the next copy
    ],
    align=True,
)
"""What a switch tells of one port and group; 2 a port, touched by events and repetitions only."""

HEARD = np.dtype(
    [
        ("kind", np.int32),  # ControlType in force, 0 = none
        ("vc_mask", np.int32),
        ("tier", np.int32),
        ("plane", np.int32),
        ("first_dst", np.int32),
        ("dst_count", np.int32),
        ("uplink", np.int32),  # index
        ("uplinks", np.int32),
        ("stack", np.int32),
        ("stack_port", np.int32),
        ("known", np.int32),  # 0 = nothing was heard yet
        ("event", np.int64),
        ("heard_ps", np.int64),
    ],
    align=True,
)
"""What an endpoint knows of one port and group of a switch; made when the first SEN of it comes."""


class Group(IntEnum):
    """What is told independently of each other."""

    LINK = 0
    CONGESTION = 1


class Hearing(IntEnum):
    """What a SEN does."""

    OLD = 0  #: ignored
    SAME = 1  #: known already
    ACT = 2  #: path states of the affected paths change


OLD, SAME, ACT = range(3)


@compiled
def group_of(kind: int) -> int:
    """Return the `Group` of a kind."""
    return 1 if kind == CONGESTION_ON or kind == CONGESTION_OFF else 0


# ---- switch ----


@compiled
def crossed(kind: int, queued_bytes: int, buffer_bytes: int) -> int:
    """Return CONGESTION_ON or CONGESTION_OFF when the queues of a (port, VC) cross a threshold, else 0; ``kind`` is told now."""
    if kind != CONGESTION_ON:
        return CONGESTION_ON if 4 * queued_bytes > 3 * buffer_bytes else 0
    return CONGESTION_OFF if 4 * queued_bytes < buffer_bytes else 0


@compiled
def on_change(t: Any, kind: int, vc_mask: int, event: int, now_ps: int) -> None:
    """Tell a new state under the switch's next ``event`` number; the first copy is due now."""
    t.kind = kind
    t.vc_mask = vc_mask
    t.event = event
    t.copies = 0
    t.due_ps = now_ps


@compiled
def next_event(last: int, bits: int) -> int:
    """Return the event number after ``last`` of a switch; the first one is 1."""
    return (last + 1) & ((1 << bits) - 1)


@compiled
def copy_due_ps(t: Any) -> int:
    """Return when the next copy goes, -1 = nothing to tell."""
    return t.due_ps if t.kind != 0 else -1


@compiled
def on_copy_sent(t: Any) -> None:
    """Set the time of the next copy or repetition, counted from when this one was due."""
    if t.copies < COPIES:
        t.copies += 1
    if t.copies < COPIES:
        t.due_ps += COPY_PS
    else:
        t.due_ps += AGAIN_PS if t.kind == CONGESTION_ON or t.kind == DEGRADED else REFRESH_PS


# ---- endpoint ----


@compiled
def on_sen(h: Any, kind: int, vc_mask: int, event: int, bits: int, now_ps: int) -> int:
    """Take a SEN about (switch, port, group) of ``h``: `Hearing`. After ACT the driver fills in whom it concerns."""
    d = (event - h.event) & ((1 << bits) - 1)
    if h.known != 0 and d >= 1 << (bits - 1):
        return OLD
    h.heard_ps = now_ps
    if h.known != 0 and d == 0 and h.kind == kind:
        return SAME
    h.known = 1
    h.event = event
    h.kind = kind
    h.vc_mask = vc_mask
    return ACT


@compiled
def on_silence(h: Any, now_ps: int) -> bool:
    """End CONGESTION_ON or DEGRADED after more than 10 us of silence (one lost repetition does not); return whether it ended."""
    if (h.kind != CONGESTION_ON and h.kind != DEGRADED) or now_ps - h.heard_ps <= SILENCE_PS:
        return False
    h.kind = 0
    return True


@compiled
def affects(h: Any, dst: int, path_id: int, plane: int) -> bool:
    """Return whether a SEN speaks of the path ``path_id`` (in ``plane``) to ``dst``."""
    if dst < h.first_dst or dst >= h.first_dst + h.dst_count:
        return False
    if h.tier == _ATTACHED:
        return path_id >> 6 == h.stack and (path_id >> 4) & 3 == h.stack_port
    return plane == h.plane and leaf_uplink(dst, path_id & _UPLINK_MASK, h.uplinks) == h.uplink


@compiled
def path_state(h: Any, vc: int) -> int:
    """Return the `paths.PathState` bits that a state in force means for frames of ``vc``."""
    if h.kind == PORT_DOWN:
        return paths.DOWN
    if h.kind == DRAIN:
        return paths.DRAIN
    if h.vc_mask & (1 << vc) == 0:
        return 0
    if h.kind == DEGRADED:
        return paths.DEGRADED
    return paths.CONGESTED if h.kind == CONGESTION_ON else 0
