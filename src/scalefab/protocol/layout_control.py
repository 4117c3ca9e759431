"""Bodies of CONTROL frames as data (open profile sections 4 and 6): RH's own messages and Switch Event Notifications.

A new type is one row of `CONTROL_TYPES`. SEN exists by the publication, every bit of it is chosen for the open profile.
"""

from __future__ import annotations

from enum import IntEnum

from .fields import Field, Form, Header, Origin, by_number

_OWN = Origin.OWN


class ControlType(IntEnum):
    """Types of CONTROL bodies that the mechanisms speak of."""

    PORT_DOWN = 1
    PORT_UP = 2
    DEGRADED = 3
    CONGESTION_ON = 4
    CONGESTION_OFF = 5
    DRAIN = 6
    ACK_REQ = 16
    CLOSE = 17
    CLOSED = 18
    OPEN = 19
    OPENED = 20


class Tier(IntEnum):
    """SEN: which port of which switch."""

    ATTACHED = 0
    UPLINK = 1
    SPINE_DOWN = 2


_TYPE = Field("type", 0, 8, "what it is", _OWN, table="control_types")

SPACE_CONTROL = Header(
    "SPACE_CONTROL",
    32,
    (
        _TYPE,
        Field("status", 8, 8, "0", _OWN),
        Field("vc", 16, 8, "VC of the sequence space", _OWN, limits=(0, 2)),
        Field("reserved0", 24, 8, "reserved", _OWN),
        Field("path", 32, 16, "path id of the sequence space", _OWN, limits=(0, 1023)),
        Field("reserved1", 48, 16, "reserved", _OWN),
        Field("psn", 64, 16, "CLOSED: last accepted; OPEN: the sender's next; else 0", _OWN),
        Field("reserved2", 80, 16, "reserved", _OWN),
        Field("nonce", 96, 32, "counts up per (src, dst); an answer repeats it", _OWN),
        Field("reserved3", 128, 128, "reserved", _OWN),
    ),
)
SEN = Header(
    "SEN",
    32,
    (
        _TYPE,
        Field("severity", 8, 8, "for people", _OWN),
        Field("switch", 16, 16, "switch id, a space of its own", _OWN),
        Field("event", 32, 32, "counts per switch", _OWN),
        Field("port", 64, 16, "of the switch", _OWN),
        Field("first_dst", 80, 16, "first endpoint that is reached by it", _OWN, limits=(0, 1023)),
        Field("dst_count", 96, 16, "endpoints from first_dst on", _OWN, limits=(0, 1024)),
        Field("tier", 112, 8, "what the port leads to", _OWN, values=Tier),
        Field("plane", 120, 8, "of the switch", _OWN),
        Field("time_ns", 128, 64, "when it was detected, ns", _OWN),
        Field("vc_mask", 192, 32, "1 << v: VC v is concerned", _OWN),
        Field("uplink", 224, 8, "tier 1, 2: index of the uplink", _OWN),
        Field("uplinks", 232, 8, "tier 1, 2: n uplinks", _OWN),
        Field("stack", 240, 8, "tier 0: stack of the endpoint", _OWN, limits=(0, 15)),
        Field("stack_port", 248, 8, "tier 0: port of that stack", _OWN, limits=(0, 3)),
    ),
)

CONTROL_TYPES = by_number(
    Form(1, "PORT_DOWN", SEN, "a port has gone: paths through it are left", _OWN),
    Form(2, "PORT_UP", SEN, "a port is there again", _OWN),
    Form(3, "DEGRADED", SEN, "a port runs with errors or at a lower rate", _OWN),
    Form(4, "CONGESTION_ON", SEN, "the queues of a port and VC are long", _OWN),
    Form(5, "CONGESTION_OFF", SEN, "they are short again", _OWN),
    Form(6, "DRAIN", SEN, "a port will go: paths through it are left", _OWN),
    Form(16, "ACK_REQ", SPACE_CONTROL, "answer with an ACK of (path, vc) now", _OWN),
    Form(17, "CLOSE", SPACE_CONTROL, "stop the sequence space", _OWN),
    Form(18, "CLOSED", SPACE_CONTROL, "answer to CLOSE, when all accepted there is visible", _OWN),
    Form(19, "OPEN", SPACE_CONTROL, "accept again, from psn", _OWN),
    Form(20, "OPENED", SPACE_CONTROL, "answer to OPEN", _OWN),
)
"""Every body of a CONTROL frame by its type."""
