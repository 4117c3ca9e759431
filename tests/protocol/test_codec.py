"""The codec against the profile's own frames, a second encoder, and hostile bytes."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_frames import VC_OF, WIRES, flat, frames, from_flat, transactions
from wire_reference import frame_bytes as reference_bytes

from scalefab.errors import WireError
from scalefab.protocol import frame as fr
from scalefab.protocol.codec import decode, encode, encode_into, pack, unpack
from scalefab.protocol.frame import (
    Frame,
    Net,
    Reason,
    Rh,
    Th,
    Transaction,
    TransactionError,
    Vlan,
    WireFormat,
    ack_frame,
    control_frame,
    data_frame,
)
from scalefab.protocol.icrc import fcs, icrc, poison
from scalefab.protocol.layout import READ_TOTAL, RH, SEND_ADDRESS, SIGNAL, RhOp, Scope
from scalefab.protocol.profile import Opcode

VECTORS = Path(__file__).parents[1] / "vectors"
GOOD = json.loads((VECTORS / "frames.json").read_text())["vectors"]
BAD = json.loads((VECTORS / "bad_frames.json").read_text())["vectors"]

LOAD_HEX = (
    "012c000000000005002c003b88b50300000500070000000004503f0000110000000000012345678021c0aef4"
    "000000000000000000000000000000008ebfcb5b"
)
ACK_HEX = (
    "000500000000012c001c003b88b50360112c0000c80000079c21ab1e"
    "0000000000000000000000000000000000000000000000000000000000000000725d03aa"
)
LOAD = Transaction(Th(Opcode.LOAD, 64, scope=Scope.SYSTEM, tag=0x11, address=0x1_2345_6780))
LOAD_FRAME = data_frame(5, 300, 0, 7, [LOAD], entropy=0x3B)


def wire_of(vector: dict[str, Any]) -> WireFormat:
    return WireFormat(vector["frame_max"], vector["slap_safe"])


def seal(data: bytes | bytearray, tagged: bool = False, end: int | None = None) -> bytes:
    """Give changed bytes the ICRC and FCS of what they now are."""
    out = bytearray(data)
    shift = 4 if tagged else 0
    total = int.from_bytes(out[8:10], "big")
    end = total - 4 if end is None else end
    if 24 <= end <= len(out) - shift - 8:
        out[end + shift : end + shift + 4] = icrc(out, end, tagged).to_bytes(4, "little")
    out[-4:] = fcs(bytes(out[:-4])).to_bytes(4, "little")
    return bytes(out)


# --- the profile's own frames ------------------------------------------------------------------------------------------


def test_load_of_the_profile() -> None:
    assert encode(LOAD_FRAME).hex() == LOAD_HEX
    assert decode(bytes.fromhex(LOAD_HEX)) == LOAD_FRAME


def test_ack_of_the_profile() -> None:
    ack = ack_frame(300, 5, 0, 7, entropy=0x3B)
    assert encode(ack).hex() == ACK_HEX
    assert decode(bytes.fromhex(ACK_HEX)) == ack


def test_nack_differs_in_its_op_alone() -> None:
    nack = ack_frame(300, 5, 0, 7, entropy=0x3B, op=RhOp.NACK)
    data = encode(nack)
    assert len(data) == 64
    assert data[:16] + data[17:24] == bytes.fromhex(ACK_HEX)[:16] + bytes.fromhex(ACK_HEX)[17:24]
    assert (data[16] >> 4, decode(data)) == (2, nack)


@pytest.mark.parametrize("vector", GOOD, ids=lambda v: v["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    wire, data, frame = wire_of(vector), bytes.fromhex(vector["hex"]), from_flat(vector["fields"])
    assert reference_bytes(vector["fields"], vector["slap_safe"], vector["poisoned"]) == data
    encoded = bytearray(encode(frame, wire))
    if vector["poisoned"]:
        poison(encoded)
        with pytest.raises(WireError) as caught:
            decode(data, wire)
        assert caught.value.reason == Reason.POISONED
        assert decode(data[:-4], wire, with_fcs=False) == frame
    else:
        assert decode(data, wire) == frame
    assert encoded == data
    assert flat(frame) == vector["fields"]


@pytest.mark.parametrize("vector", BAD, ids=lambda v: v["name"])
def test_bad_vectors(vector: dict[str, Any]) -> None:
    with pytest.raises(WireError) as caught:
        decode(bytes.fromhex(vector["hex"]), wire_of(vector), dst_id=vector["dst_id"], partitions=vector["partitions"])
    error = caught.value
    assert (error.reason, error.field, error.offset_bytes) == (vector["reason"], vector["field"], vector["offset_bytes"])
    assert isinstance(error, TransactionError) is ("error_tag" in vector)
    if isinstance(error, TransactionError):
        assert error.tag == vector["error_tag"]


def test_vectors_cover_every_opcode_op_and_receiver_reason() -> None:
    listed = [t["opcode"] for v in GOOD for t in v["fields"]["transactions"]]
    assert set(listed) == set(Opcode)
    assert {v["fields"]["op"] for v in GOOD} == set(RhOp)
    assert {v["reason"] for v in BAD} == set(Reason) - {Reason.BUFFER, Reason.TYPE, Reason.CONSTANT}  # those of link forms


# --- round trips -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opcode", Opcode, ids=lambda o: o.name)
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_round_trip_of_every_opcode(opcode: Opcode, data: st.DataObject) -> None:
    wire = data.draw(st.sampled_from(WIRES))
    frame = data.draw(frames(wire, int(opcode)))
    assert decode(encode(frame, wire), wire) == frame


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_frame_equals_the_second_encoder(data: st.DataObject) -> None:
    wire = data.draw(st.sampled_from(WIRES[:2]))
    frame = data.draw(frames(wire))
    encoded = encode(frame, wire)
    assert encoded == reference_bytes(flat(frame), wire.slap_safe)
    total = int.from_bytes(encoded[8:10], "big")
    assert total == frame.total_length
    tag = 4 if frame.vlan else 0
    assert 64 + tag <= len(encoded) == max(60, total) + 4 + tag <= wire.frame_max + tag
    assert decode(encoded[:-4], wire, with_fcs=False) == frame
    assert encode(frame, wire, with_fcs=False) == encoded[:-4]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_callers_buffer_is_written_to_the_last_byte_and_no_further(data: st.DataObject) -> None:
    frame = data.draw(frames(WIRES[0]))
    encoded = encode(frame)
    for fill in (0xA5, 0x5A):
        buffer = bytearray([fill]) * (len(encoded) + 16)
        assert encode_into(frame, memoryview(buffer)) == len(encoded)
        assert buffer[: len(encoded)] == encoded
        assert buffer[len(encoded) :] == bytes([fill]) * 16


def test_a_refused_frame_leaves_the_buffer_alone() -> None:
    buffer = bytearray(b"\xa5" * 63)
    with pytest.raises(WireError) as caught:
        encode_into(LOAD_FRAME, buffer)
    assert (caught.value.reason, buffer) == (Reason.BUFFER, b"\xa5" * 63)
    assert encode_into(LOAD_FRAME, buffer, with_fcs=False) == 60
    buffer = bytearray(b"\xa5" * 64)
    with pytest.raises(WireError):
        encode_into(replace(LOAD_FRAME, transactions=(LOAD, Transaction(Th(Opcode.LOAD, 3)))), buffer)
    assert buffer == b"\xa5" * 64


# --- hostile bytes -----------------------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.booleans(), st.booleans())
def test_random_bytes(data: bytes, with_fcs: bool, slap_safe: bool) -> None:
    with pytest.raises(WireError):  # 60 random bytes with an EtherType of ours and a right CRC do not come up
        decode(data, WireFormat(slap_safe=slap_safe), with_fcs=with_fcs)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_mutated_frames_with_right_checksums(data: st.DataObject) -> None:
    """Whatever decodes is a frame of the profile: encoding it again gives the same, but for what a receiver ignores."""
    wire = data.draw(st.sampled_from(WIRES))
    frame = data.draw(frames(wire))
    changed = bytearray(encode(frame, wire))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(changed), 64) - 1))
        changed[at] ^= data.draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128, 255]))
    tagged = changed[12:14] == b"\x81\x00"
    cut = data.draw(st.sampled_from([len(changed)] * 4 + list(range(len(changed)))))
    sealed = seal(changed[:cut], tagged) if cut >= 4 else bytes(changed[:cut])
    try:
        again = decode(sealed, wire)
    except WireError as error:
        assert error.reason in set(Reason)
        assert error.field and str(error).startswith(error.reason)
        assert -1 <= error.offset_bytes <= len(sealed)
    else:
        assert decode(encode(again, wire), wire) == again


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_flipped_bit_is_caught(data: st.DataObject) -> None:
    """By the FCS on its link; by ICRC end to end where a switch has computed the FCS anew, unless a switch may change it."""
    frame = data.draw(frames(WIRES[0]))
    right = encode(frame)
    shift = 4 if frame.vlan else 0
    covered = frame.total_length - 4
    bit = data.draw(st.integers(0, (len(right) - 4) * 8 - 1))
    changed = bytearray(right)
    changed[bit // 8] ^= 0x80 >> bit % 8
    with pytest.raises(WireError) as caught:
        decode(changed)
    assert caught.value.reason == Reason.FCS
    changed[-4:] = fcs(bytes(changed[:-4])).to_bytes(4, "little")
    ignored = (
        (14 + shift) * 8 < bit < (16 + shift) * 8  # reserved, ttl, dscp, ecn
        or bit // 8 >= covered + shift + 4  # filling
        or (shift and 14 * 8 <= bit < 16 * 8)  # what a tag says
    )
    if ignored:
        decode(changed)
        return
    with pytest.raises(WireError) as caught:
        decode(changed)
    wanted = {Reason.ICRC}
    if bit < 16:
        wanted |= {Reason.DST}  # an id above 1023
    elif 64 <= bit < 80:
        wanted |= {Reason.LENGTH}
    elif 96 <= bit < 112 + shift * 8:
        wanted |= {Reason.ETHERTYPE, Reason.LENGTH}
    assert caught.value.reason in wanted


def test_every_covered_bit_of_the_profiles_load() -> None:
    right = bytes.fromhex(LOAD_HEX)
    reasons = set()
    for bit in range(44 * 8):
        changed = bytearray(right)
        changed[bit // 8] ^= 0x80 >> bit % 8
        changed[-4:] = fcs(bytes(changed[:-4])).to_bytes(4, "little")
        if 14 * 8 < bit < 16 * 8:
            assert replace(decode(changed), net=LOAD_FRAME.net) == LOAD_FRAME
            continue
        with pytest.raises(WireError) as caught:
            decode(changed)
        reasons.add(caught.value.reason)
    assert reasons == {Reason.ICRC, Reason.DST, Reason.LENGTH, Reason.ETHERTYPE}


@pytest.mark.parametrize("bit", [16, 47, 128 + 5, 128 + 37])  # OEFH reserved0, reserved1, RH reserved0, reserved1
def test_reserved_bits_are_ignored_but_covered(bit: int) -> None:
    changed = bytearray.fromhex(LOAD_HEX)
    changed[bit // 8] ^= 0x80 >> bit % 8
    assert decode(seal(changed)) == LOAD_FRAME
    with pytest.raises(WireError, match="ICRC"):
        decode(seal(changed)[:40] + bytes.fromhex(LOAD_HEX)[40:60], with_fcs=False)


def test_filling_between_icrc_and_fcs_is_ignored_and_may_be_longer() -> None:
    data = bytes.fromhex(LOAD_HEX)[:44] + b"\xfb" * 50
    assert decode(data, with_fcs=False) == LOAD_FRAME


def test_body_pads_and_reserved_bits_of_a_body_are_ignored() -> None:
    store = data_frame(1, 2, 0, 0, [Transaction(Th(Opcode.STORE, 2), (b"ab",))])
    data = bytearray(encode(store))
    data[24 + 16 + 2 : 24 + 16 + 8] = b"\xff" * 6
    assert decode(seal(data)) == store
    parts = (pack(SIGNAL, {"add": 1, "address": 8}), b"12345678", b"x" * 8)
    put = data_frame(1, 2, 2, 0, [Transaction(Th(Opcode.RDMA_WRITE_SIG, 8), parts)])
    data = bytearray(encode(put))
    data[40] |= 0x7E
    assert decode(seal(data)) == put


def test_a_receiver_checks_in_the_profiles_order() -> None:
    """One frame with every fault; each cured in turn shows the next."""
    bad = bytearray(encode(data_frame(5, 300, 0, 7, [LOAD, LOAD], partition=3)))
    bad[12:14] = b"\x08\x00"
    bad[8:10] = (61).to_bytes(2, "big")
    bad[0:2] = (301).to_bytes(2, "big")
    bad[16] |= 0x40 | 0x10  # version 1, op ACK
    bad[17] = 6  # RH.src
    bad[20] = 0x38  # vc 0 in an ACK, ack_vc 3
    bad[24] |= 0xFC  # opcode 63 on VC 0
    bad[-1] ^= 1
    seen = []

    def look() -> str:
        with pytest.raises(WireError) as caught:
            decode(bad, dst_id=300, partitions={0})
        seen.append(caught.value.reason)
        return caught.value.reason

    def reseal(with_icrc: bool = True) -> None:
        bad[:] = seal(bad, end=56) if with_icrc else bytes(bad[:-4]) + fcs(bytes(bad[:-4])).to_bytes(4, "little")

    look()
    reseal(with_icrc=False)
    look()
    bad[12:14] = b"\x88\xb6"  # so that RH.src is not compared yet
    reseal(with_icrc=False)
    look()
    bad[8:10] = (60).to_bytes(2, "big")
    reseal(with_icrc=False)
    look()
    bad[0:2] = (300).to_bytes(2, "big")
    reseal(with_icrc=False)
    look()
    reseal()
    look()
    bad[16] &= 0x3F
    bad[12:14] = b"\x88\xb5"
    reseal()
    look()
    bad[17] = 5
    reseal()
    look()
    bad[22:24] = b"\0\0"
    bad[21] = 0
    bad[12:14] = b"\x88\xb6"
    reseal()
    look()
    bad[12:14] = b"\x88\xb5"
    reseal()
    look()
    bad[20] = 0xF8  # vc 3
    reseal()
    look()
    bad[20] = 0xC8  # ack_vc 0; PSN is still 7
    reseal()
    look()
    bad[16] &= 0xCF  # DATA
    bad[20] = 0x08
    reseal()
    look()
    assert seen == [
        Reason.FCS,
        Reason.ETHERTYPE,
        Reason.LENGTH,
        Reason.DST,
        Reason.ICRC,
        Reason.VERSION,
        Reason.SRC,
        Reason.PARTITION,
        Reason.OP,
        Reason.VC,
        Reason.ACK,
        Reason.PSN,
        Reason.VC,
    ]


def test_a_bad_list_carries_what_the_receiver_needs_to_answer() -> None:
    second = replace(LOAD, th=replace(LOAD.th, tag=0x22))
    data = bytearray(encode(data_frame(5, 300, 0, 7, [LOAD, second], ack=(2, 9))))
    data[40] = 40 << 2
    with pytest.raises(TransactionError) as caught:
        decode(seal(data))
    error = caught.value
    assert (error.tag, error.reason, error.offset_bytes, error.code) == (0x22, Reason.OPCODE, 40, "WIRE_TRANSACTION")
    assert (error.frame.rh.psn, error.frame.rh.ack_vc, error.frame.rh.ack_psn, error.frame.transactions) == (7, 2, 9, ())


# --- what no frame can carry -------------------------------------------------------------------------------------------

WIDTHS = {
    "oefh": {"dst_id": 10, "src_id": 10, "entropy": 16},
    "net": {"ar": 1, "ttl": 4, "dscp": 6, "ecn": 2},
    "rh": {"op": 2, "src": 10, "psn": 16, "again": 1, "vc": 2, "ack_vc": 2, "ack": 1, "partition": 10, "ack_psn": 16},
    "vlan": {"pcp": 3, "dei": 1, "vid": 12},
}
TH_WIDTHS = {"order": 2, "posted": 1, "last": 1, "kind": 8, "tag": 16, "context": 16, "address": 64, "scope": 2, "length": 12}


@pytest.mark.parametrize(("layer", "name"), [(layer, name) for layer, names in WIDTHS.items() for name in names])
@pytest.mark.parametrize("value", ["negative", "too large", "text", "fraction"])
def test_a_field_out_of_range_is_named(layer: str, name: str, value: str) -> None:
    bad = {"negative": -1, "too large": 1 << WIDTHS[layer][name], "text": "1", "fraction": 0.5}[value]
    record = getattr(replace(LOAD_FRAME, vlan=Vlan()), layer)
    with pytest.raises(WireError) as caught:
        encode(replace(replace(LOAD_FRAME, vlan=Vlan()), **{layer: replace(record, **{name: bad})}))
    assert (caught.value.reason, caught.value.field) == (Reason.RANGE, f"{layer}.{name}")


@pytest.mark.parametrize("name", TH_WIDTHS)
@pytest.mark.parametrize("value", ["negative", "too large", "text"])
def test_a_transaction_field_out_of_range_is_named(name: str, value: str) -> None:
    bad = {"negative": -1, "too large": (1 << TH_WIDTHS[name]) + 1, "text": "1"}[value]
    with pytest.raises(WireError) as caught:
        encode(data_frame(5, 300, 0, 7, [LOAD, replace(LOAD, th=replace(LOAD.th, **{name: bad}))]))
    assert (caught.value.reason, caught.value.field) == (Reason.RANGE, f"th.{name}")
    assert 40 <= caught.value.offset_bytes < 56


def th(opcode: Opcode, *args: Any, **more: Any) -> Th:
    return Th(opcode, *args, **more)


RULES = [
    (0, th(Opcode.LOAD, 3), (), "RANGE th.length"),
    (0, th(Opcode.LOAD, 0), (), "RANGE th.length"),
    (0, th(Opcode.LOAD, 1024), (), "RANGE th.length"),
    (0, th(Opcode.LOAD, 8, last=0), (), "RANGE th.last"),
    (0, th(Opcode.LOAD, 8, kind=1), (), "RANGE th.kind"),
    (0, th(Opcode.LOAD, 8, scope=2), (), "RANGE th.scope"),
    (0, th(Opcode.LOAD, 8, address=1 << 57), (), "RANGE th.address"),
    (0, th(Opcode.LOAD, 8), (b"12345678",), "BODY body"),
    (0, th(Opcode.STORE, 8), (), "BODY body"),
    (0, th(Opcode.STORE, 8), (b"1234567",), "BODY body"),
    (0, th(Opcode.STORE_MASKED, 16), (b"1", b"x" * 16), "BODY body"),
    (0, th(Opcode.FENCE, 1), (), "RANGE th.length"),
    (1, th(Opcode.FENCE), (), "VC th.opcode"),
    (2, th(Opcode.LOAD, 8), (), "VC th.opcode"),
    (0, th(Opcode.REDUCE, 6, kind=0x00), (b"123456",), "RANGE th.length"),
    (0, th(Opcode.REDUCE, 516, kind=0x00), (b"x" * 516,), "RANGE th.length"),
    (0, th(Opcode.REDUCE, 4, kind=0x60), (b"1234",), "RANGE th.kind"),
    (0, th(Opcode.REDUCE, 4, kind=0x70), (b"1234",), "RANGE th.kind"),
    (0, th(Opcode.REDUCE, 4, kind=0x36), (b"1234",), "RANGE th.kind"),
    (0, th(Opcode.ATOMIC, 4, kind=0x01), (b"1234",), "RANGE th.length"),
    (0, th(Opcode.ATOMIC, 4, kind=0x76), (b"1234", b"1234"), "RANGE th.kind"),
    (0, th(Opcode.ATOMIC, 4, kind=0x80), (b"1234",), "RANGE th.kind"),
    (0, th(Opcode.ATOMIC, 4, kind=0x08), (b"1234",), "RANGE th.kind"),
    (0, th(Opcode.ATOMIC, 4, kind=0x70), (b"1234",), "BODY body"),
    (1, th(Opcode.ATOMIC_RSP, 1, posted=1), (b"1",), "RANGE th.length"),
    (1, th(Opcode.STORE_RSP, posted=0), (), "RANGE th.posted"),
    (1, th(Opcode.STORE_RSP, posted=1, last=0), (), "RANGE th.last"),
    (1, th(Opcode.STORE_RSP, posted=1, kind=9), (), "RANGE th.kind"),
    (1, th(Opcode.STORE_RSP, posted=1, context=1), (), "RANGE th.context"),
    (1, th(Opcode.STORE_RSP, posted=1, address=1), (), "RANGE th.address"),
    (1, th(Opcode.LOAD_RSP, 8, posted=1, kind=1), (b"12345678",), "BODY body"),
    (2, th(Opcode.RDMA_WRITE, 64, last=0), (b"x" * 64,), "RANGE th.length"),
    (2, th(Opcode.RDMA_WRITE, 1985), (b"x" * 1985,), "RANGE th.length"),
    (2, th(Opcode.RDMA_WRITE_IMM, 64), (b"x" * 64,), "BODY body"),
    (2, th(Opcode.RDMA_READ_RSP, 64, posted=1, last=0), (b"x" * 64,), "RANGE th.length"),
    (0, th(Opcode.RDMA_READ, 4), (bytes(4),), "RANGE th.length"),
    (0, th(Opcode.RDMA_READ, 8), (bytes(8),), "RANGE read.total"),
    (0, th(Opcode.RDMA_READ, 8), ((65_536 * 1984 + 1).to_bytes(4, "big") + bytes(4),), "RANGE read.total"),
    (0, th(Opcode.RDMA_READ, 8), (bytes([0, 0, 0, 1, 0, 0, 0, 1]),), "RANGE read.reserved"),
    (2, th(Opcode.RDMA_WRITE_SIG, 8), (b"\x02" + bytes(7), bytes(8), bytes(8)), "RANGE signal.reserved"),
    (0, Th(11), (), "OPCODE th.opcode"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("vc", "header", "parts", "wanted"), RULES, ids=lambda v: v if isinstance(v, str) else None)
def test_a_broken_rule_is_refused(vc: int, header: Th, parts: tuple[bytes, ...], wanted: str) -> None:
    with pytest.raises(WireError) as caught:
        encode(data_frame(5, 300, vc, 7, [Transaction(header, parts)]))
    assert f"{caught.value.reason} {caught.value.field}" == wanted
    assert caught.value.offset_bytes >= 24


def test_a_failed_answer_needs_no_data() -> None:
    for opcode, vc in ((Opcode.LOAD_RSP, 1), (Opcode.ATOMIC_RSP, 1), (Opcode.RDMA_READ_RSP, 2)):
        frame = data_frame(5, 300, vc, 7, [Transaction(Th(opcode, 8, posted=1, kind=1))])
        assert decode(encode(frame)) == frame


def test_an_unaligned_address_is_the_targets_to_refuse() -> None:
    frame = data_frame(5, 300, 0, 7, [Transaction(Th(Opcode.LOAD, 64, address=1))])
    assert decode(encode(frame)) == frame


HEADS: list[tuple[Frame, str]] = [
    (replace(LOAD_FRAME, rh=replace(LOAD_FRAME.rh, src=6)), "SRC rh.src"),
    (replace(LOAD_FRAME, rh=replace(LOAD_FRAME.rh, vc=3)), "VC rh.vc"),
    (replace(LOAD_FRAME, rh=replace(LOAD_FRAME.rh, ack=1, ack_vc=3)), "ACK rh.ack_vc"),
    (replace(LOAD_FRAME, control=bytes(32)), "BODY frame.control"),
    (ack_frame(1, 2, 3, 0), "ACK rh.ack_vc"),
    (replace(ack_frame(1, 2, 0, 0), rh=Rh(RhOp.ACK, 1, 3)), "ACK rh.ack"),
    (replace(ack_frame(1, 2, 0, 0), rh=Rh(RhOp.NACK, 1, 0, ack=1)), "VC rh.vc"),
    (replace(ack_frame(1, 2, 0, 0), rh=Rh(RhOp.ACK, 1, 3, psn=1, ack=1)), "PSN rh.psn"),
    (replace(ack_frame(1, 2, 0, 0), transactions=(LOAD,)), "BODY frame.transactions"),
    (replace(control_frame(1, 2, bytes(32)), control=bytes(8)), "BODY frame.control"),
]


@pytest.mark.parametrize(("frame", "wanted"), HEADS, ids=lambda v: v if isinstance(v, str) else None)
def test_headers_that_contradict_each_other_are_refused(frame: Frame, wanted: str) -> None:
    with pytest.raises(WireError) as caught:
        encode(frame)
    assert f"{caught.value.reason} {caught.value.field}" == wanted


def test_control_frames() -> None:
    body = bytes(range(32))
    frame = control_frame(7, 9, body, partition=4)
    data = encode(frame)
    assert data[12:14] == b"\x88\xb6" and data[24:56] == body and len(data) == 64
    assert decode(data) == frame
    with pytest.raises(ValueError, match="32 bytes"):
        control_frame(7, 9, b"")
    notification = replace(frame, oefh=replace(frame.oefh, src_id=0))  # RH.src is compared under 0x88B5 only
    assert decode(encode(notification)) == notification


@pytest.mark.parametrize(
    "make",
    [
        lambda: WireFormat(frame_max=127),
        lambda: WireFormat(frame_max=9217),
        lambda: WireFormat(data_ethertype=0x500),
        lambda: WireFormat(data_ethertype=0x8100),
        lambda: WireFormat(control_ethertype=0x88B5),
    ],
)
def test_a_wire_format_that_no_link_can_have(make: Any) -> None:
    with pytest.raises(WireError, match="RANGE at wire"):
        make()


# --- tag, addresses, sizes ---------------------------------------------------------------------------------------------


def test_a_tag_changes_the_fcs_and_not_the_icrc() -> None:
    tagged = encode(replace(LOAD_FRAME, vlan=Vlan(3, 1, 5)))
    plain = bytes.fromhex(LOAD_HEX)
    assert len(tagged) == 68
    assert tagged[12:16].hex() == "81007005"
    assert tagged[:12] + tagged[16:64] == plain[:60]  # ICRC too
    assert tagged[64:] != plain[60:]
    assert decode(tagged) == replace(LOAD_FRAME, vlan=Vlan(3, 1, 5))
    with pytest.raises(WireError, match="LENGTH at frame"):
        decode(tagged[:60], with_fcs=False)  # 56 bytes without the tag


def test_slap_safe_ids_are_local_unicast_addresses() -> None:
    wire = WireFormat(slap_safe=True)
    for number in (0, 1, 255, 256, 513, 1023):
        frame = data_frame(number, 1023 - number, 0, 7, [LOAD])
        data = encode(frame, wire)
        assert data[0] & 0xCF == data[6] & 0xCF == 0x02
        assert (data[0] >> 4 << 8 | data[1], data[6] >> 4 << 8 | data[7]) == (1023 - number, number)
        assert decode(data, wire) == frame
        with pytest.raises(WireError):
            decode(data)
    with pytest.raises(WireError, match="DST at oefh"):
        decode(bytes.fromhex(LOAD_HEX), wire)


def test_mtu() -> None:
    assert WireFormat().mtu == 1984
    assert [WireFormat(n).mtu for n in (128, 2047, 2048, 4096, 4159, 4160, 9216)] == [64, 1920, 1984, 4032, 4032, 4096, 4096]


def _store(n: int) -> Transaction:
    return Transaction(Th(Opcode.STORE, n), (bytes(n),))


PACKED = [
    (0, _store(256), 7),
    (0, _store(128), 14),
    (0, _store(64), 25),
    (1, Transaction(Th(Opcode.LOAD_RSP, 256, posted=1), (bytes(256),)), 7),
]


@pytest.mark.parametrize(("vc", "one", "most"), PACKED, ids=lambda v: v.th.opcode.name if isinstance(v, Transaction) else str(v))
def test_at_most_so_many_fit_a_frame(vc: int, one: Transaction, most: int) -> None:
    full = data_frame(5, 300, vc, 7, [one] * most)
    data = encode(full)
    assert 2048 - one.size_bytes < len(data) <= 2048
    assert decode(data) == full
    with pytest.raises(WireError, match="LENGTH at frame"):
        encode(data_frame(5, 300, vc, 7, [one] * (most + 1)))


@pytest.mark.parametrize("frame_max", [128, 2048, 4160, 9216])
def test_the_largest_packet_fits(frame_max: int) -> None:
    wire = WireFormat(frame_max)
    parts = (bytes(8), bytes(8), bytes(wire.mtu))
    frame = data_frame(1, 2, 2, 0, [Transaction(Th(Opcode.RDMA_WRITE_SIG, wire.mtu), parts)])
    data = encode(frame, wire)
    assert len(data) == wire.mtu + 64 <= frame_max
    assert decode(data, wire) == frame
    if frame_max > 128:
        with pytest.raises(WireError, match="LENGTH at frame"):
            decode(data, WireFormat(128))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_length_of_a_transaction_is_what_it_says(data: st.DataObject) -> None:
    opcode = data.draw(st.sampled_from(sorted(VC_OF)))
    one = data.draw(transactions(opcode, 1984))
    wire = WireFormat(9216)
    if opcode in (16, 17, 19, 20, 21, 23):
        wire = WireFormat(2048)
    frame = data_frame(1, 2, VC_OF[opcode], 0, [one])
    assert len(encode(frame, wire)) == max(64, 32 + one.size_bytes)


# --- single headers ----------------------------------------------------------------------------------------------------


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF_FFFF))
def test_pack_and_unpack(queue: int, message: int, match: int) -> None:
    values = {"queue": queue, "message": message, "match": match}
    data = pack(SEND_ADDRESS, values)
    assert int.from_bytes(data, "big") == queue << 48 | message << 32 | match
    assert unpack(SEND_ADDRESS, data) == values
    assert "reserved" not in unpack(READ_TOTAL, data)


def test_unpack_of_too_few_bytes() -> None:
    with pytest.raises(WireError) as caught:
        unpack(RH, bytes(7))
    assert (caught.value.reason, caught.value.field) == (Reason.LENGTH, "rh")


def test_a_path_id_is_the_first_ten_bits_of_entropy() -> None:
    assert fr.Oefh(1, 2, 0xFFFF).path_id == 0x3FF
    assert fr.Oefh(1, 2, 0b0101_10_0011_111111).path_id == 0b0101_10_0011
    assert Net().ttl == 3


# --- proofs over whole frames ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", [v for v in GOOD if len(v["hex"]) <= 2 * 160 and not v["poisoned"]], ids=lambda v: v["name"])
def test_every_bit_of_a_frame(vector: dict[str, Any]) -> None:
    """Each covered bit breaks ICRC (or an earlier check), each masked one and each bit of the filling does not."""
    wire, right, frame = wire_of(vector), bytes.fromhex(vector["hex"]), from_flat(vector["fields"])
    shift = 4 if frame.vlan else 0
    covered = frame.total_length - 4 + shift
    for bit in range((len(right) - 4) * 8):
        changed = bytearray(right)
        changed[bit // 8] ^= 0x80 >> bit % 8
        changed[-4:] = fcs(bytes(changed[:-4])).to_bytes(4, "little")
        masked = (14 + shift) * 8 < bit < (16 + shift) * 8
        tag_control = shift and 14 * 8 <= bit < 16 * 8
        if masked or tag_control or bit >= (covered + 4) * 8:
            again = decode(changed, wire)
            assert replace(again, net=frame.net, vlan=frame.vlan) == frame
            continue
        with pytest.raises(WireError) as caught:
            decode(changed, wire)
        assert caught.value.reason in {Reason.ICRC, Reason.DST, Reason.LENGTH, Reason.ETHERTYPE}
        if 112 + 8 * shift <= bit or 16 <= bit < 64:
            assert caught.value.reason == Reason.ICRC


@pytest.mark.parametrize(
    ("vc", "one"),
    [
        (0, Transaction(Th(Opcode.NOP))),
        (1, Transaction(Th(Opcode.ERROR, posted=1))),
        (0, Transaction(Th(Opcode.LOAD, 1))),
        (0, Transaction(Th(Opcode.STORE_MASKED, 1), (b"1", b"2"))),
    ],
    ids=lambda v: None if isinstance(v, int) else Opcode(v.th.opcode).name,
)
def test_the_longest_list_is_read_in_less_than_10_ms(vc: int, one: Transaction) -> None:
    wire = WireFormat(9216)
    data = encode(data_frame(1, 2, vc, 0, [one] * ((9216 - 32) // one.size_bytes)), wire)
    took = []
    for _ in range(5):
        before = time.thread_time_ns()
        decode(data, wire)
        took.append(time.thread_time_ns() - before)
    assert min(took) < 10_000_000
