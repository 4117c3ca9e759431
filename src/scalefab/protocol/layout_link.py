"""What travels beside the frames of a link as data (open profile section 2): preambles, ordered sets, CC_UPDATE, the raw
carrier's frame of ordered sets, and the LLDP TLV. A new ordered set or link frame is one row of its table here.
"""

from __future__ import annotations

from enum import IntEnum

from .fields import Field, Form, Header, Join, Origin, Repeat, by_number

_SIB, _OWN, _PUB = Origin.SIB, Origin.OWN, Origin.PUB

SEQ_BITS = 20  # LLR sequence numbers and CBFC counters
START = 0xFB
CONTROL_START = 0x5C
VCS_MAX = 32
CC_VALUES = 16  # consumed counters of one CC_UPDATE
LINK_SA = 0x0200_0000_0000
LINK_DA = 0x0180_C200_000E
"""Nearest-bridge group address: consumed at the port, before look-up. CC_UPDATE is told by it."""


class OrderedSet(IntEnum):
    """Types of control ordered sets that the link's machines speak of."""

    ACK = 1
    NACK = 2
    INIT = 3
    INIT_ECHO = 4
    CF_UPDATE = 0x10


class LinkFrame(IntEnum):
    """Types of frames between two ports."""

    CC_UPDATE = 0x20
    CTLOS = 0x21


class Fec(IntEnum):
    """LLDP TLV: fec."""

    NONE = 0
    RS_272 = 1
    RS_528 = 2
    RS_544 = 3


PREAMBLE_LLR = Header(
    "PREAMBLE_LLR",
    8,
    (
        Field("start", 0, 8, "start of frame", _PUB, constant=START),
        Field("seq_high", 8, 4, "seq[19:16]", _SIB),
        Field("mark", 12, 4, "a sequence number is here", _SIB, constant=7),
        Field("seq_low", 16, 16, "seq[15:0]", _SIB),
        Field("fill", 32, 24, "filling", _PUB, constant=0x55_55_55),
        Field("sfd", 56, 8, "start frame delimiter", _PUB, constant=0xD5),
    ),
    joins=(Join("seq", ("seq_high", "seq_low"), "LLR sequence number, one per eligible frame"),),
)
"""Before a frame that LLR repeats."""

PREAMBLE = Header(
    "PREAMBLE",
    8,
    (
        Field("start", 0, 8, "start of frame", _PUB, constant=START),
        Field("fill", 8, 48, "filling", _PUB, constant=0x55_55_55_55_55_55),
        Field("sfd", 56, 8, "start frame delimiter", _PUB, constant=0xD5),
    ),
)
"""Before a frame that LLR does not repeat: Ethernet's own."""

PREAMBLES = (PREAMBLE_LLR, PREAMBLE)

_SET = (
    Field("start", 0, 8, "start of a control ordered set", _SIB, constant=CONTROL_START),
    Field("type", 8, 8, "what it is", _SIB, table="ordered_sets"),
)
_SEQ = (Field("seq", 16, 20, "LLR sequence number", _SIB), Field("mark", 36, 4, "fixed", _SIB, constant=6))
CTLOS_SEQ = Header("CTLOS_SEQ", 8, (*_SET, *_SEQ, Field("reserved", 40, 24, "reserved", _SIB)))
CTLOS_INIT = Header(
    "CTLOS_INIT",
    8,
    (
        *_SET,
        *_SEQ,
        Field("init_data", 40, 16, "random number of one initialisation", _SIB),
        Field("reserved", 56, 8, "reserved", _SIB),
    ),
)
CF_UPDATE = Header(
    "CF_UPDATE",
    8,
    (
        *_SET,
        Field("vc0", 16, 5, "first VC", _SIB),
        Field("freed0", 21, 15, "credits that vc0 has freed, low bits of the counter", _SIB),
        Field("mark", 36, 4, "fixed", _SIB, constant=6),
        Field("vc1", 40, 5, "second VC; the first again if only one has news", _SIB),
        Field("freed1", 45, 15, "credits that vc1 has freed, low bits of the counter", _SIB),
        Field("reserved", 60, 4, "reserved", _SIB),
    ),
)

ORDERED_SETS = by_number(
    Form(0x01, "ACK", CTLOS_SEQ, "all up to seq accepted", _SIB),
    Form(0x02, "NACK", CTLOS_SEQ, "all up to seq accepted, the next is missing or broken", _SIB),
    Form(0x03, "INIT", CTLOS_INIT, "the next sequence number will be seq", _SIB),
    Form(0x04, "INIT_ECHO", CTLOS_INIT, "answer to INIT: its seq and init_data", _SIB),
    Form(0x10, "CF_UPDATE", CF_UPDATE, "credits freed at the receiver, two VCs", _SIB),
)
"""Every control ordered set (CtlOS, 8 B of line time between frames) by its type."""

_ETHERNET = (
    Field("da", 0, 48, "the port at the other end of the link", _SIB, constant=LINK_DA),
    Field("sa", 48, 48, "a port; locally administered", _OWN, constant=LINK_SA),
    Field("ethertype", 96, 16, "the profile's control EtherType, 0x88B6 by default", _OWN),
    Field("type", 112, 8, "what it is", _OWN, table="link_frames"),
)
CC_UPDATE = Header(
    "CC_UPDATE",
    60,
    (
        *_ETHERNET,
        Field("reserved", 120, 8, "reserved", _OWN),
        Field("vc_mask", 128, 32, "1 << v: VC v has a value", _OWN),
        *(
            Field(
                f"consumed{i}", 160 + 20 * i, 20, f"credits consumed by the mask's VC number {i}, lowest VC first; else 0", _OWN
            )
            for i in range(CC_VALUES)
        ),
    ),
)
CTLOS_FRAME = Header(
    "CTLOS_FRAME",
    16,
    (*_ETHERNET, Field("n", 120, 8, "ordered sets that follow", _OWN, limits=(1, 255))),
    repeat=Repeat(Field("set", 0, 64, "one control ordered set", _OWN), "n"),
)

LINK_FRAMES = by_number(
    Form(0x20, "CC_UPDATE", CC_UPDATE, "the sender's consumed credits: those of lost packets return", _SIB),
    Form(0x21, "CTLOS", CTLOS_FRAME, "ordered sets on a carrier that has none (raw Ethernet)", _OWN),
)
"""Every frame between two ports by its type; the frame check sequence follows, at byte 60 or later."""

LLDP_OUI = 0x02_45_4C
LLDP_TLV = Header(
    "LLDP_TLV",
    38,
    (
        Field("tlv_type", 0, 7, "organisation specific (IEEE 802.1AB)", _PUB, constant=127),
        Field("tlv_length", 7, 9, "bytes that follow: 36 + 2 x vc_count", _PUB),
        Field("oui", 16, 24, "locally chosen, for tests", _OWN, constant=LLDP_OUI),
        Field("subtype", 40, 8, "this TLV", _OWN, constant=1),
        Field("version", 48, 8, "of the profile: 0", _OWN),
        Field("llr", 56, 1, "link-level retry", _OWN),
        Field("cbfc", 57, 1, "credit-based flow control", _OWN),
        Field("slap_safe", 58, 1, "ids carried as local addresses", _OWN),
        Field("reserved0", 59, 5, "reserved", _OWN),
        Field("vc_count", 64, 8, "virtual channels", _OWN, limits=(1, VCS_MAX)),
        Field("fec", 72, 8, "forward error correction", _OWN, values=Fec),
        Field("credit_bytes", 80, 16, "bytes of a credit", _OWN, limits=(32, 2048)),
        Field("overhead_bytes", 96, 8, "added to each packet when credits are counted", _OWN, limits=(-16, 127), sign="signed"),
        Field("variant", 104, 8, "of OEFH: 0", _OWN),
        Field("frame_max", 112, 16, "largest frame in bytes", _OWN, limits=(128, 9216)),
        Field("ctlos_spacing_bytes", 128, 16, "line time between the starts of two ACKs", _OWN, limits=(400, 16_384)),
        Field("lossless_mask", 144, 32, "1 << v: VC v is lossless", _OWN),
        Field("reserved1", 176, 16, "reserved", _OWN),
        Field("data_ethertype", 192, 16, "of RH op DATA, ACK, NACK", _OWN, limits=(0x600, 0xFFFF)),
        Field("control_ethertype", 208, 16, "of RH op CONTROL and of link frames", _OWN, limits=(0x600, 0xFFFF)),
        Field("id", 224, 16, "endpoint or switch", _OWN),
        Field("stack", 240, 8, "of the endpoint", _OWN),
        Field("port", 248, 8, "of the stack, or of the switch", _OWN),
        Field("plane", 256, 8, "of the port", _OWN),
        Field("reserved2", 264, 8, "reserved", _OWN),
        Field("reserved3", 272, 32, "reserved", _OWN),
    ),
    repeat=Repeat(
        Field("credits", 0, 16, "credits of a VC that the receiver's buffer holds", _OWN, limits=(0, 32_767)), "vc_count"
    ),
)
LLDP_PRIVATE = frozenset(("tlv_length", "ctlos_spacing_bytes", "id", "stack", "port", "plane", "credits"))
"""What both ends of a link may say differently; a difference in any other field keeps the link down."""
