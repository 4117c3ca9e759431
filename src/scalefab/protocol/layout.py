"""Every header of a frame as data (open profile section 1): what codec, dissector, documents and vectors are made from.

A header is a list of fields; to change the wire, change a row here. What follows TH stands in `opcodes`, a row an opcode; what
travels beside frames in `layout_link`, bodies of CONTROL frames in `layout_control`; `tables` lists all of it.
Bits count from 0 = first on the wire (most significant bit of byte 0). Header integers are big-endian, ICRC and FCS least
significant byte first.

Origins: ``pub`` stated in the published material about EthLink, ``pub2`` by a secondary public source only, ``sib`` taken over
from a public sibling (Broadcom SUE), ``own`` chosen for the open profile. This is an open profile, not ByteDance's
confidential wire format.
"""

from __future__ import annotations

from enum import IntEnum

from .fields import Field as Field
from .fields import Header as Header
from .fields import Join
from .fields import Origin as Origin
from .profile import HEADER_BYTES


class RhOp(IntEnum):
    """RH.op."""

    DATA = 0
    ACK = 1
    NACK = 2
    CONTROL = 3


class Order(IntEnum):
    """TH.order."""

    RELAXED = 0
    ACQUIRE = 1
    RELEASE = 2
    ACQ_REL = 3


class Scope(IntEnum):
    """TH.scope."""

    GPU = 0
    SYSTEM = 1


_PUB2, _SIB, _OWN = Origin.PUB2, Origin.SIB, Origin.OWN

ETHERTYPE_DATA = 0x88B5  # RH op DATA, ACK, NACK: IEEE local experimental 1 (own)
ETHERTYPE_CONTROL = 0x88B6  # RH op CONTROL and CC_UPDATE: IEEE local experimental 2 (own)
ID_MAX = 1023
FRAME_MAX_BYTES = 2048  # default, pub: "under 2 KB"
FRAME_MAX_LIMIT_BYTES = 9216
UNPADDED_MIN_BYTES = 60  # total_length below this is followed by zeroes: Ethernet's 64 B less FCS
CONTROL_BODY_BYTES = 32
ADDRESS_BITS = 57
TTL_SENT = 3
VERSION = 0
DSCP_PER_VC = 8
VLAN_OFFSET_BYTES = 12  # a tag stands between OEFH's five words and its EtherType

OEFH = Header(
    "OEFH",
    14,
    (
        Field("dst_id", 0, 16, "destination endpoint, the switch's only look-up key; 0 .. 1023", _PUB2),
        Field("reserved0", 16, 16, "reserved", _PUB2),
        Field("reserved1", 32, 16, "reserved", _PUB2),
        Field("src_id", 48, 16, "source endpoint; 0 in switch event notifications", _PUB2),
        Field("total_length", 64, 16, "bytes from the first OEFH byte to the end of ICRC, as if untagged", _PUB2),
        Field(
            "entropy",
            80,
            16,
            "path id (first ten bits) and hash",
            _PUB2,
            parts=(
                Field("stack", 80, 4, "stack of the GPU", _OWN),
                Field("port", 84, 2, "port of the stack", _OWN),
                Field("uplink", 86, 4, "uplink of the first-tier switch, 0 in a single tier", _OWN),
                Field("hash", 90, 6, "low bits of the page hash, informational", _OWN),
            ),
        ),
        Field("ethertype", 96, 16, "0x88B5 for RH op DATA, ACK, NACK; 0x88B6 for CONTROL", _OWN),
    ),
)
NET = Header(
    "NET",
    2,
    (
        Field("ar", 0, 1, "1 = the sender sprays this flow (informational)", _PUB2),
        Field("reserved", 1, 3, "reserved", _PUB2),
        Field("ttl", 4, 4, "sent as 3; a switch drops at 0, else forwards ttl - 1", _PUB2),
        Field("dscp", 8, 6, "8 x vc", _PUB2),
        Field("ecn", 14, 2, "sent 0, not acted on", _PUB2),
    ),
)
RH = Header(
    "RH",
    8,
    (
        Field("version", 0, 2, "0", _SIB, constant=VERSION),
        Field("op", 2, 2, "what the frame is", _SIB, values=RhOp),
        Field("again", 4, 1, "holds a transaction that was sent before in another sequence space", _OWN),
        Field("reserved0", 5, 1, "reserved", _SIB),
        Field("src", 6, 10, "source endpoint", _SIB),
        Field("psn", 16, 16, "DATA: sequence number; else 0", _SIB),
        Field("vc", 32, 2, "virtual channel on every link: DATA 0 .. 2, others 3", _SIB),
        Field("ack_vc", 34, 2, "the VC that ack_psn speaks of", _OWN),
        Field("ack", 36, 1, "ack_psn is valid; ACK, NACK: 1", _OWN),
        Field("reserved1", 37, 1, "reserved", _SIB),
        Field("partition", 38, 10, "tenant, 0 default", _SIB),
        Field("ack_psn", 48, 16, "last in-order PSN accepted in the space that it answers", _SIB),
    ),
)
_TH_FIELDS = (
    Field("opcode", 0, 6, "operation or answer", _OWN, table="opcodes"),
    Field("order", 6, 2, "memory order (informs)", _OWN, values=Order),
    Field("scope", 8, 2, "memory scope (informs)", _OWN, values=Scope),
    Field("posted", 10, 1, "no response wanted; responses: 1", _OWN),
    Field("last", 11, 1, "last packet of its message; single-packet operations and responses: 1", _OWN),
    Field("length", 12, 12, "data bytes carried or asked for, 1 .. 4096, less 1; 0 where there are none", _OWN, bias=1),
    Field("kind", 24, 8, "operation and type, or context id, or status; else 0", _OWN),
    Field("tag", 32, 16, "ties response to request", _OWN),
    Field("context", 48, 16, "memory window, or packet index; responses: 0 but RDMA_READ_RSP", _OWN),
)
TH_RESPONSE = Header("TH", 8, _TH_FIELDS)
TH_REQUEST = Header("TH", 16, (*_TH_FIELDS, Field("address", 64, 64, "57 bits used; SEND*: queue, message, match", _OWN)))
ICRC = Header("ICRC", 4, (Field("icrc", 0, 32, "CRC-32 end to end, from OEFH to the last body pad", _PUB2),), "little")
FCS = Header("FCS", 4, (Field("fcs", 0, 32, "Ethernet CRC-32 of one link; its complement = poisoned", Origin.PUB),), "little")
VLAN = Header(
    "VLAN",
    4,
    (
        Field("tpid", 0, 16, "IEEE 802.1Q tag", Origin.PUB, constant=0x8100),
        Field("pcp", 16, 3, "priority", Origin.PUB),
        Field("dei", 19, 1, "drop eligible", Origin.PUB),
        Field("vid", 20, 12, "VLAN id", Origin.PUB),
    ),
)
SLAP_ID = Header(
    "SLAP_ID",
    2,
    (
        Field("zero", 0, 2, "0", _OWN, constant=0),
        Field("id_high", 2, 2, "id[9:8]", _OWN),
        Field("local", 4, 4, "a locally administered unicast address", _OWN, constant=2),
        Field("id_low", 8, 8, "id[7:0]", _OWN),
    ),
    joins=(Join("id", ("id_high", "id_low"), "plain id, 0 .. 1023"),),
)
"""How dst_id and src_id are carried under the option ``slap_safe`` (IEEE 802c local address space)."""

READ_TOTAL = Header(
    "READ", 8, (Field("total", 0, 32, "bytes wanted, 1 .. 65 536 x mtu", _OWN), Field("reserved", 32, 32, "reserved", _OWN))
)
SIGNAL = Header(
    "SIGNAL",
    8,
    (
        Field("add", 0, 1, "0 set, 1 add", _OWN),
        Field("reserved", 1, 6, "reserved", _OWN),
        Field("address", 7, 57, "of the u64 at the target", _OWN),
    ),
)
SEND_ADDRESS = Header(
    "SEND_ADDRESS",
    8,
    (
        Field("queue", 0, 16, "receive queue", _OWN),
        Field("message", 16, 16, "message number of (src, dst, queue), from 0", _OWN),
        Field("match", 32, 32, "for the user", _OWN),
    ),
)
"""What TH.address holds in SEND*."""

FIXED_HEADERS = (OEFH, NET, RH)
TOTAL_LENGTH_MIN = HEADER_BYTES + ICRC.size_bytes
ICRC_MASK = ((14, 0x7F), (15, 0xFF))
"""(byte, bits or-ed in) while ICRC is computed: NET's reserved, ttl, dscp, ecn, which a switch may change (`pub2`)."""
