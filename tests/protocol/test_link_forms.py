"""Preambles, ordered sets, link frames, CONTROL bodies, LLDP TLV, the raw carrier: the profile's bytes, round trips, bad ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_frames import WIRES, frames, u

from scalefab.errors import WireError
from scalefab.protocol import record as rec
from scalefab.protocol import tables
from scalefab.protocol.bits import pack, read
from scalefab.protocol.codec import decode, decode_raw, encode, encode_raw
from scalefab.protocol.fields import Field, Form, Header, Join, Origin, Repeat, by_number
from scalefab.protocol.frame import WireFormat, control_frame
from scalefab.protocol.icrc import poison
from scalefab.protocol.layout_control import CONTROL_TYPES, ControlType
from scalefab.protocol.layout_link import LINK_FRAMES, LLDP_PRIVATE, LLDP_TLV, ORDERED_SETS, LinkFrame, OrderedSet
from scalefab.protocol.link import (
    Preamble,
    cc_update,
    consumed_of,
    decode_link_frame,
    decode_preamble,
    encode_link_frame,
    encode_preamble,
    is_link_frame,
    ordered_sets_frame,
    ordered_sets_of,
)
from scalefab.protocol.lldp import Difference, LldpTlv, decode_lldp, differences, encode_lldp
from scalefab.protocol.record import Record

CC_HEX = "0180c200000e020000000000" + "88b6" + "20" + "00" + "00000003" + "0000112345" + "00" * 35 + "3a380d4d"


def refused(call: Callable[..., Any], *args: Any, **more: Any) -> str:
    with pytest.raises(WireError) as caught:
        call(*args, **more)
    return f"{caught.value.reason} {caught.value.field}"


def seal(body: bytes) -> bytes:
    return body + crc32(body).to_bytes(4, "little")


# --- the profile's own bytes -------------------------------------------------------------------------------------------


def test_preambles() -> None:
    assert encode_preamble(Preamble(0x12345)).hex(" ") == "fb 17 23 45 55 55 55 d5"
    assert encode_preamble(Preamble()).hex(" ") == "fb 55 55 55 55 55 55 d5"


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (rec.llr_ack(0x12345), "5c 01 12 34 56 00 00 00"),
        (rec.llr_nack(0x12345), "5c 02 12 34 56 00 00 00"),
        (rec.llr_init(0x12345, 0xBEEF), "5c 03 12 34 56 be ef 00"),
        (rec.llr_init(0, 0xBEEF, OrderedSet.INIT_ECHO), "5c 04 00 00 06 be ef 00"),
        (rec.cf_update((0, 0x2345), (2, 0x10)), "5c 10 02 34 56 10 01 00"),
        (rec.cf_update((31, 0x7FFF)), "5c 10 ff ff f6 ff ff f0"),
    ],
)
def test_ordered_sets(one: Record, text: str) -> None:
    assert rec.encode_ordered_set(one).hex(" ") == text
    assert rec.decode_ordered_set(bytes.fromhex(text)) == one


def test_cc_update() -> None:
    (one,) = cc_update({0: 1, 1: 0x12345})
    assert encode_link_frame(one).hex() == CC_HEX
    assert consumed_of(decode_link_frame(bytes.fromhex(CC_HEX))) == {0: 1, 1: 0x12345}
    assert is_link_frame(bytes.fromhex(CC_HEX)) and not is_link_frame(b"\x01\x80\xc2\0\0\x0f" + bytes(58))


def test_cc_update_of_more_than_16_vcs_takes_two_frames() -> None:
    consumed = {vc: vc * 1000 for vc in range(31, -1, -1)}
    both = cc_update(consumed)
    assert [hex(one["vc_mask"]) for one in both] == ["0xffff", "0xffff0000"]
    assert {vc: n for one in both for vc, n in consumed_of(decode_link_frame(encode_link_frame(one))).items()} == consumed
    assert len(cc_update(dict.fromkeys(range(16), 0))) == 1


def test_a_control_body_byte_by_byte() -> None:
    close = rec.space_control(ControlType.CLOSE, path=0x2A5, vc=2, nonce=0x01020304)
    assert rec.encode_control(close).hex() == "11 00 02 00 02a5 0000 0000 0000 01020304".replace(" ", "") + "00" * 16
    opened = rec.space_control(ControlType.OPENED, 1, 0, 9, psn=0xFFFE)
    assert rec.encode_control(opened)[8:10].hex() == "fffe"


def test_a_switch_event_byte_by_byte() -> None:
    values = {"severity": 2, "switch": 0x0102, "event": 0x03040506, "port": 0x0708, "first_dst": 0x0102, "dst_count": 0x0400}
    values |= {
        "tier": 2,
        "plane": 9,
        "time_ns": 0x1122334455667788,
        "vc_mask": 0xA0B0C0D0,
        "uplink": 3,
        "uplinks": 16,
        "stack": 15,
        "stack_port": 3,
    }
    event = rec.switch_event(ControlType.PORT_DOWN, **values)
    text = "01 02 0102 03040506 0708 0102 0400 02 09 1122334455667788 a0b0c0d0 03 10 0f 03"
    assert rec.encode_control(event).hex() == text.replace(" ", "")
    frame = control_frame(0, 12, rec.encode_control(event))
    assert len(encode(frame)) == 64
    assert rec.decode_control(decode(encode(frame)).control) == event


def test_lldp_byte_by_byte() -> None:
    tlv = LldpTlv(
        (4096, 0x7FFF), llr=1, cbfc=0, slap_safe=1, overhead_bytes=-3, lossless_mask=3, id=0x0102, stack=1, port=2, plane=3
    )
    text = "fe28 02454c 01 00 a0 02 01 0040 fd 00 0800 0800 00000003 0000 88b5 88b6 0102 01 02 03 00 00000000 1000 7fff"
    assert encode_lldp(tlv).hex() == text.replace(" ", "")
    assert decode_lldp(bytes.fromhex(text) + b"the next TLV") == tlv
    assert int.from_bytes(bytes.fromhex("fe28")) == 127 << 9 | 36 + 2 * 2


def test_raw_carrier_puts_the_preamble_behind_icrc() -> None:
    frame = control_frame(1, 2, bytes(32))
    plain, raw = encode(frame), encode_raw(frame, Preamble(0x12345))
    assert raw[:60] == plain[:60]  # total_length 60: ICRC ends at byte 60
    assert raw[60:68].hex(" ") == "fb 17 23 45 55 55 55 d5" and len(raw) == 72
    assert decode_raw(raw) == (frame, Preamble(0x12345))
    assert decode_raw(plain) == (frame, None)


# --- round trips -------------------------------------------------------------------------------------------------------


def records(table: dict[int, Form]) -> st.SearchStrategy[Record]:
    """Any record of a table, from its rows alone."""

    @st.composite
    def draw_one(draw: st.DrawFn) -> Record:
        row = draw(st.sampled_from(sorted(table.values(), key=lambda r: r.number)))
        values: dict[str, Any] = {}
        for f, _, _ in row.header.steps:
            if f.constant is None and not f.table and f.name != "ethertype":
                values[f.name] = draw(st.sampled_from(f.values) if f.values else st.integers(f.least, f.most))
        if row.number == LinkFrame.CC_UPDATE and table is LINK_FRAMES:
            vcs = draw(st.sets(st.integers(0, 31), min_size=1, max_size=16))
            values["vc_mask"] = sum(1 << vc for vc in vcs)
        if row.header.repeat:
            values[row.header.repeat.element.name] = tuple(draw(u(64)) for _ in range(values[row.header.repeat.count]))
        return Record(row.number, values)

    return draw_one()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_round_trip_of_every_row(data: st.DataObject) -> None:
    one = data.draw(records(ORDERED_SETS))
    assert rec.decode_ordered_set(rec.encode_ordered_set(one)) == one
    body = data.draw(records(CONTROL_TYPES))
    assert rec.decode_control(rec.encode_control(body)) == body
    frame = data.draw(records(LINK_FRAMES))
    wire = data.draw(st.sampled_from(WIRES))
    encoded = encode_link_frame(frame, wire)
    assert len(encoded) >= 64 and decode_link_frame(encoded, wire) == frame
    assert hash(decode_link_frame(encoded, wire)) == hash(frame)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_round_trip_on_the_raw_carrier(data: st.DataObject) -> None:
    wire = data.draw(st.sampled_from(WIRES))
    frame = data.draw(frames(wire))
    preamble = Preamble(data.draw(st.none() | u(20)))
    encoded = encode_raw(frame, preamble, wire)
    assert decode_raw(encoded, wire) == (frame, preamble)
    assert decode_raw(encoded[:-4], wire, with_fcs=False) == (frame, preamble)
    assert encode_raw(frame, preamble, wire, with_fcs=False) == encoded[:-4]


def lldp_tlvs() -> st.SearchStrategy[LldpTlv]:
    limits = {f.name: st.integers(f.least, f.most) for f in LLDP_TLV.fields if not f.is_reserved and f.constant is None}
    names = set(LldpTlv.__slots__) - {"credits", "lossless_mask", "fec"}
    credits = st.lists(st.integers(0, 32_767), min_size=1, max_size=32).map(tuple)
    some = st.builds(LldpTlv, credits, fec=st.integers(0, 3), **{name: limits[name] for name in names})
    return some.flatmap(lambda t: u(len(t.credits)).map(lambda mask: replace(t, lossless_mask=mask)))


@settings(max_examples=80, deadline=None)
@given(lldp_tlvs(), lldp_tlvs())
def test_round_trip_of_lldp(one: LldpTlv, other: LldpTlv) -> None:
    assert decode_lldp(encode_lldp(one)) == one
    assert differences(one, one) == ()
    named = {d.field for d in differences(one, other)}
    for name in LldpTlv.__slots__:
        if name != "credits":
            assert (name in named) is (name not in LLDP_PRIVATE and getattr(one, name) != getattr(other, name))


def test_a_difference_names_both_sides() -> None:
    ours = LldpTlv((4096,) * 4, frame_max=2048, id=1)
    theirs = LldpTlv((1024,) * 2, frame_max=4160, id=2, lossless_mask=3)
    assert differences(ours, theirs) == (
        Difference("vc_count", 4, 2),
        Difference("frame_max", 2048, 4160),
        Difference("lossless_mask", 15, 3),
    )


# --- bad ones ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "LENGTH ordered_set"),
        ("5c 01 12 34 56 00 00", "LENGTH ordered_set"),
        ("5c 05 12 34 56 00 00 00", "TYPE record.type"),
        ("5d 01 12 34 56 00 00 00", "CONSTANT ctlos_seq.start"),
        ("5c 01 12 34 57 00 00 00", "CONSTANT ctlos_seq.mark"),
        ("5c 10 02 34 50 10 01 00", "CONSTANT cf_update.mark"),
    ],
)
def test_bad_ordered_sets(text: str, wanted: str) -> None:
    assert refused(rec.decode_ordered_set, bytes.fromhex(text)) == wanted


def test_reserved_bits_of_ordered_sets_are_ignored() -> None:
    assert rec.decode_ordered_set(bytes.fromhex("5c01123456ffffff")) == rec.llr_ack(0x12345)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fb5555555555d5", "LENGTH preamble"),
        ("fb172345555555d4", "CONSTANT preamble_llr.sfd"),
        ("fb172345555545d5", "CONSTANT preamble_llr.fill"),
        ("fa172345555555d5", "CONSTANT preamble_llr.start"),
        ("fb545555555555d5", "CONSTANT preamble.fill"),
    ],
)
def test_bad_preambles(text: str, wanted: str) -> None:
    assert refused(decode_preamble, bytes.fromhex(text)) == wanted


def test_bad_raw_forms() -> None:
    frame = control_frame(1, 2, bytes(32))
    raw = bytearray(encode_raw(frame, Preamble(1)))
    raw[67] = 0
    assert refused(decode_raw, seal(bytes(raw[:-4]))) == "CONSTANT preamble_llr.sfd"
    short = seal(bytes(raw[:64]))  # 4 of 8 bytes: no preamble
    assert decode_raw(short) == (frame, None)
    assert refused(encode_raw, frame, Preamble(1 << 20)) == "RANGE preamble_llr.seq"


def test_bad_link_frames() -> None:
    good = bytes.fromhex(CC_HEX)
    assert refused(decode_link_frame, good[:-1] + b"\0") == "FCS fcs"
    broken = bytearray(good)
    poison(broken)
    assert refused(decode_link_frame, broken) == "POISONED fcs"
    assert refused(decode_link_frame, seal(good[:59])) == "LENGTH frame"
    assert refused(decode_link_frame, seal(good[:12] + b"\x88\xcc" + good[14:60])) == "ETHERTYPE link.ethertype"
    assert refused(decode_link_frame, seal(good[:14] + b"\x22" + good[15:60])) == "TYPE record.type"
    assert refused(decode_link_frame, seal(b"\0" + good[1:60])) == "CONSTANT cc_update.da"
    assert refused(decode_link_frame, seal(good[:16] + bytes(4) + good[20:60])) == "RANGE cc_update.vc_mask"
    assert refused(decode_link_frame, seal(good[:16] + b"\0\1\xff\xff" + good[20:60])) == "RANGE cc_update.vc_mask"
    sets = good[:14] + b"\x21"
    assert refused(decode_link_frame, seal(sets + b"\0" + bytes(44))) == "RANGE ctlos_frame.n"
    assert refused(decode_link_frame, seal(sets + b"\6" + bytes(44))) == "LENGTH ctlos_frame.n"
    five = decode_link_frame(seal(sets + b"\5" + bytes(44)))
    assert refused(ordered_sets_of, five) == "TYPE record.type"
    for vcs in ({}, {32: 0}, {-1: 0}):
        assert refused(cc_update, vcs) == "RANGE cc_update.vc_mask"
    assert refused(encode_link_frame, cc_update({0: 1 << 20})[0]) == "RANGE cc_update.consumed0"
    assert refused(encode_link_frame, ordered_sets_frame([])) == "RANGE ctlos_frame.n"


def test_bad_control_bodies() -> None:
    assert refused(rec.decode_control, bytes(31)) == "LENGTH control"
    assert refused(rec.decode_control, b"\x07" + bytes(31)) == "TYPE record.type"
    assert refused(rec.decode_control, bytes([17, 0, 3]) + bytes(29)) == "RANGE space_control.vc"
    assert refused(rec.decode_control, bytes([1]) + bytes(13) + b"\3" + bytes(17)) == "RANGE sen.tier"
    assert refused(rec.encode_control, Record(99, {})) == "TYPE record.type"
    assert refused(rec.encode_control, Record(16, {"vc": 0})) == "BODY space_control"
    assert refused(rec.encode_control, rec.space_control(16, 1 << 10, 0, 0)) == "RANGE space_control.path"
    assert refused(rec.encode_control, rec.space_control(16, 0, 0, "7")) == "RANGE space_control.nonce"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at", "byte", "wanted"),
    [
        (0, 0xFC, "CONSTANT lldp_tlv.tlv_type"),
        (1, 0x29, "LENGTH lldp_tlv.tlv_length"),
        (2, 0x03, "CONSTANT lldp_tlv.oui"),
        (5, 0x02, "CONSTANT lldp_tlv.subtype"),
        (8, 0x00, "RANGE lldp_tlv.vc_count"),
        (8, 0x03, "LENGTH lldp_tlv.vc_count"),
        (9, 0x04, "RANGE lldp_tlv.fec"),
        (11, 0x1F, "RANGE lldp_tlv.credit_bytes"),
        (12, 0xEF, "RANGE lldp_tlv.overhead_bytes"),
        (21, 0x07, "RANGE lldp_tlv.lossless_mask"),
        (38, 0x80, "RANGE lldp_tlv.credits"),
    ],
)
def test_bad_lldp(at: int, byte: int, wanted: str) -> None:
    data = bytearray(encode_lldp(LldpTlv((4096, 4096), lossless_mask=3)))
    data[at] = byte
    assert refused(decode_lldp, data) == wanted


def test_lldp_refuses_what_no_port_can_say() -> None:
    assert refused(encode_lldp, LldpTlv(())) == "RANGE lldp_tlv.vc_count"
    assert refused(encode_lldp, LldpTlv((1,) * 33)) == "RANGE lldp_tlv.vc_count"
    assert refused(encode_lldp, LldpTlv((1,))) == "RANGE lldp_tlv.lossless_mask"
    assert refused(encode_lldp, LldpTlv((1,) * 4, fec=9)) == "RANGE lldp_tlv.fec"
    assert refused(decode_lldp, b"") == "LENGTH lldp_tlv"


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=120))
def test_any_bytes_give_a_value_or_one_error(data: bytes) -> None:
    for call in (rec.decode_ordered_set, rec.decode_control, decode_link_frame, decode_lldp, decode_preamble, decode_raw):
        for some in (data, bytes.fromhex(CC_HEX)[:20] + data, seal(bytes.fromhex(CC_HEX)[:14] + data)):
            try:
                call(some)
            except WireError as error:
                assert error.reason and error.field and -1 <= error.offset_bytes <= len(some)


# --- tables ------------------------------------------------------------------------------------------------------------


def test_every_layout_stands_in_one_section() -> None:
    listed = [header.name for section in tables.SECTIONS for header in section.headers]
    assert len({id(h) for s in tables.SECTIONS for h in s.headers}) == len(listed)
    for rows in tables.FORMS.values():
        assert {row.header.name for row in rows.values()} <= set(listed)
        assert all(number == row.number and row.meaning for number, row in rows.items())
    for section in tables.SECTIONS:
        for header in section.headers:
            for f in header.fields:
                assert f.meaning and (not f.table or tables.value_names(f))


def test_enumerations_agree_with_their_tables() -> None:
    for enum, rows in ((OrderedSet, ORDERED_SETS), (LinkFrame, LINK_FRAMES), (ControlType, CONTROL_TYPES)):
        assert {m.value: m.name for m in enum} == {number: row.name for number, row in rows.items()}


def test_tables_refuse_a_number_twice_and_lists_without_a_count() -> None:
    row = ORDERED_SETS[1]
    with pytest.raises(ValueError, match="two rows"):
        by_number(row, row)
    one = Field("a", 0, 8, "", Origin.OWN)
    with pytest.raises(ValueError, match="no field b"):
        Header("X", 1, (one,), repeat=Repeat(one, "b"))
    with pytest.raises(ValueError, match="no field b"):
        Header("X", 1, (one,), joins=(Join("j", ("a", "b"), ""),))


def test_joined_and_signed_fields() -> None:
    one = Header(
        "X",
        2,
        (
            Field("high", 0, 4, "", Origin.OWN),
            Field("x", 4, 4, "", Origin.OWN, sign="signed"),
            Field("low", 8, 8, "", Origin.OWN),
        ),
        joins=(Join("both", ("high", "low"), ""),),
    )
    assert pack(one, {"both": 0xABC, "x": -1}).hex() == "afbc"
    assert read(one, bytes.fromhex("a8bc")) == {"both": 0xABC, "x": -8}
    assert refused(pack, one, {"both": 0x1000, "x": 0}) == "RANGE x.both"
    assert refused(pack, one, {"both": 0, "x": 8}) == "RANGE x.x"


def test_wire_formats_compare_by_what_a_link_agrees_on() -> None:
    assert WireFormat() == WireFormat(opcodes={}) and hash(WireFormat()) == hash(WireFormat(opcodes={}))
