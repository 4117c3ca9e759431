"""A new opcode, ordered set, link frame or CONTROL type is one row: nothing else changes (docs/decisions/0005)."""

from __future__ import annotations

import pytest

from scalefab.errors import WireError
from scalefab.protocol.codec import decode, encode
from scalefab.protocol.fields import Field, Form, Header, Origin
from scalefab.protocol.frame import Th, Transaction, WireFormat, data_frame
from scalefab.protocol.layout import TH_REQUEST
from scalefab.protocol.layout_control import CONTROL_TYPES
from scalefab.protocol.layout_link import CTLOS_SEQ, ORDERED_SETS
from scalefab.protocol.opcodes import OPCODES, AddressRule, KindRule, LengthRule, OpcodeRow, Part, PartSize, opcode_table
from scalefab.protocol.record import Record, decode_control, decode_ordered_set, encode_control, encode_ordered_set

STORE_TAGGED = OpcodeRow(
    40,
    "STORE_TAGGED",
    (0,),
    TH_REQUEST,
    LengthRule.POWER_OF_TWO,
    KindRule.ZERO,
    (Part("colour", PartSize.EIGHT), Part("data", PartSize.LENGTH)),
    AddressRule.MULTIPLE_OF_LENGTH,
    "a store with a colour",
)


def test_a_new_opcode_is_one_row() -> None:
    wire = WireFormat(opcodes=opcode_table(*OPCODES.values(), STORE_TAGGED))
    one = Transaction(Th(40, 16, tag=7, address=0x40), (b"red.....", b"x" * 16))
    load = Transaction(Th(1, 64, tag=8))
    frame = data_frame(1, 2, 0, 5, [load, one, load])
    data = encode(frame, wire)
    assert len(data) == 24 + 16 + (16 + 8 + 16) + 16 + 8
    assert decode(data, wire) == frame
    with pytest.raises(WireError, match=r"OPCODE at th\.opcode"):
        decode(data)
    with pytest.raises(WireError, match="BODY at body"):
        encode(data_frame(1, 2, 0, 5, [Transaction(one.th, one.parts[1:])]), wire)
    with pytest.raises(ValueError, match="different numbers"):
        opcode_table(STORE_TAGGED, STORE_TAGGED)


def test_a_new_ordered_set_is_one_row() -> None:
    table = {**ORDERED_SETS, 0x20: Form(0x20, "PAUSE", CTLOS_SEQ, "stop", Origin.OWN)}
    one = Record(0x20, {"seq": 5})
    assert decode_ordered_set(encode_ordered_set(one, table), table) == one
    with pytest.raises(WireError, match="TYPE"):
        encode_ordered_set(one)


def test_a_new_control_type_is_one_row() -> None:
    fields = (
        Field("type", 0, 8, "what it is", Origin.OWN, table="control_types"),
        Field("text", 8, 240, "any", Origin.OWN),
        Field("reserved", 248, 8, "reserved", Origin.OWN),
    )
    table = {**CONTROL_TYPES, 32: Form(32, "HELLO", Header("HELLO", 32, fields), "say so", Origin.OWN)}
    one = Record(32, {"text": 1 << 200})
    assert decode_control(encode_control(one, table), table) == one
