"""Why bytes are refused: the words of `WireError.reason`."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """`WireError.reason`: a receiver's checks in their order, each a drop with its own counter, then the sender's own."""

    FCS = "FCS"
    POISONED = "POISONED"
    ETHERTYPE = "ETHERTYPE"
    LENGTH = "LENGTH"
    DST = "DST"
    ICRC = "ICRC"
    VERSION = "VERSION"
    SRC = "SRC"
    PARTITION = "PARTITION"
    OP = "OP"
    VC = "VC"
    ACK = "ACK"
    PSN = "PSN"
    OPCODE = "OPCODE"
    RANGE = "RANGE"
    BODY = "BODY"
    TYPE = "TYPE"  #: an ordered set, link frame or CONTROL body of a type without a row
    CONSTANT = "CONSTANT"  #: a fixed field of an ordered set, preamble, link frame or TLV is another one
    BUFFER = "BUFFER"  #: the caller's buffer is too small for the frame
