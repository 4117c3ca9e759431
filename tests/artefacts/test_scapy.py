"""The Scapy layers read every field as it was made, and build the same bytes."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from samples import USER0, Seen, broken, samples

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("scapy.all")
    from scapy.packet import Packet

from scalefab.artefacts.scapy_layer import (
    ABSENT,
    CC_UPDATE,
    CF_UPDATE,
    CTLOS_FRAME,
    CTLOS_SEQ,
    LLDP_TLV,
    NET,
    OEFH,
    PREAMBLE,
    PREAMBLE_LLR,
    RH,
    SEN,
    SPACE_CONTROL,
    TH,
    ethernet,
    line,
)
from scalefab.protocol.opcodes import OPCODES
from scalefab.protocol.profile import PREAMBLE_BYTES
from scalefab.protocol.tables import SECTIONS

LOAD = (
    "012c000000000005002c003b88b50300000500070000000004503f00001100000000000123456780"
    "21c0aef4000000000000000000000000000000008ebfcb5b"
)
ACK = (
    "000500000000012c001c003b88b50360112c0000c80000079c21ab1e"
    "0000000000000000000000000000000000000000000000000000000000000000725d03aa"
)
CC = "0180c200000e 020000000000 88b6 20 00 00000003 0000112345" + "00" * 35 + "3a380d4d"


def note(seen: Seen, name: str, value: Any) -> None:
    seen.setdefault(name, []).append(value)


def flat(packet: Packet) -> Seen:
    """Fields of all layers under the names that the other dissectors use."""
    seen: Seen = {}
    while packet is not None and packet.name != "NoPayload":
        if packet.name == "TH":
            flat_th(seen, packet)
        elif packet.name == "802.1Q":
            for name, value in {"tpid": 0x8100, "pcp": packet.prio, "dei": packet.dei, "vid": packet.vlan}.items():
                note(seen, f"vlan.{name}", value)
        else:
            flat_layer(seen, packet)
            if packet.name == "OEFH" and packet.payload.name == "802.1Q":
                seen["oefh.ethertype"] = [packet.payload.type]
        packet = packet.payload
    return seen


def flat_layer(seen: Seen, packet: Packet) -> None:
    layer = packet.name.lower()
    for f in packet.fields_desc:
        value = packet.getfieldval(f.name)
        if f.name in ("pad", "fcs", "icrc"):
            if value not in (b"", ABSENT, None):
                note(seen, {"pad": "frame.pad", "fcs": "fcs.fcs", "icrc": "icrc.icrc"}[f.name], value)
        elif f.name == "preamble":
            if value:
                assert len(value) == PREAMBLE_BYTES
                for name, listed in flat(line(value)).items():
                    seen.setdefault(name, []).extend(listed)
        elif f.name == "sets":
            for one in value:
                flat_layer(seen, one)
        elif f.name == "credits":
            seen[f"{layer}.credits"] = list(value)
        elif f.name == "reserved3" and layer == "space_control":
            note(seen, f"{layer}.{f.name}", value.to_bytes(16))
        else:
            note(seen, f"{layer}.{f.name}", value)
    if layer == "oefh":
        for name, value in {
            "entropy": packet.entropy,
            "path_id": packet.path_id,
            "dst": packet.dst_id,
            "src": packet.src_id,
        }.items():
            note(seen, f"oefh.{name}", value)
    if layer == "preamble_llr":
        note(seen, "preamble_llr.seq", packet.seq)


def flat_th(seen: Seen, packet: Packet) -> None:
    row = OPCODES[packet.opcode]
    bodies = {part.name: part.header for part in row.body}
    for f in packet.fields_desc:
        name, value = f.name, packet.getfieldval(f.name)
        if value is None or (hasattr(f, "cond") and not f.cond(packet)):
            continue
        if name in bodies and bodies[name] is None:
            note(seen, f"body.{name}", value)
            if len(value) % 8:
                note(seen, "body.pad", bytes(-len(value) % 8))
        elif "_" in name and name.partition("_")[0] in ("read", "signal"):
            note(seen, name.replace("_", ".", 1), value)
        elif name in ("queue", "message", "match"):
            note(seen, f"send_address.{name}", value)
        else:
            note(seen, f"th.{name}", value)
    if row.opcode in (20, 21):
        note(seen, "th.address", packet.queue << 48 | packet.message << 32 | packet.match)


def forget(packet: Packet) -> bytes:
    """Build from the fields alone: forget the bytes that they came from."""
    one = packet
    while one is not None and one.name != "NoPayload":
        one.raw_packet_cache = None
        one = one.payload
    return bytes(packet)


def test_reads_a_thousand_frames_as_they_were_made_and_builds_them_again() -> None:
    for sample in samples(1, 1000):
        if sample.name == "LLDP":
            at = sample.data.index(bytes.fromhex("02454c01")) - 2
            size = 2 + (int.from_bytes(sample.data[at : at + 2]) & 511)
            tlv = sample.data[at : at + size]
            packet = LLDP_TLV(tlv)
            assert flat(packet) == sample.seen
            assert forget(packet) == tlv
            continue
        packet = (line if sample.link_type == USER0 else ethernet)(sample.data)
        assert flat(packet) == sample.seen, sample.name
        assert bytes(packet) == sample.data, sample.name
        assert forget(packet) == sample.data, sample.name


def test_bad_packets_are_shown_and_kept() -> None:
    for sample, _ in broken(3):
        assert bytes((line if sample.link_type == USER0 else ethernet)(sample.data)) == sample.data, sample.name


def test_builds_the_golden_frames() -> None:
    load = TH(opcode="LOAD", scope="SYSTEM", length=64, tag=0x11, address=0x123456780)
    head = OEFH(dst_id=300, src_id=5, hash=0x3B) / NET() / RH(src=5, psn=7)
    assert bytes(head / load).hex() == LOAD
    ack = OEFH(dst_id=5, src_id=300, hash=0x3B) / NET(dscp=24) / RH(op="ACK", src=300, vc=3, ack=1, ack_psn=7)
    assert bytes(ack).hex() == ACK
    cc = CC_UPDATE(vc_mask=3, consumed0=1, consumed1=0x12345)
    assert bytes(cc) == bytes.fromhex(CC)
    assert bytes(CF_UPDATE(vc0=0, freed0=0x2345, vc1=2, freed1=0x10)).hex() == "5c10023456100100"
    assert bytes(CTLOS_SEQ(type="ACK", seq=0x12345)).hex() == "5c01123456000000"
    assert bytes(PREAMBLE_LLR(seq_high=1, seq_low=0x2345)).hex() == "fb172345555555d5"
    assert bytes(PREAMBLE()).hex() == "fb555555555555d5"


def test_finds_lengths_and_counts() -> None:
    packet = (
        OEFH()
        / NET()
        / RH(vc=2)
        / TH(opcode="RDMA_WRITE_IMM", immediate=bytes(8), data=b"abc")
        / TH(opcode="SEND", data=b"x" * 9)
    )
    again = ethernet(bytes(packet))
    assert (again[TH].length, again[TH].data, again[TH].posted) == (3, b"abc", 0)
    assert again.getlayer(TH, 2).length == 9
    assert ethernet(bytes(OEFH() / NET() / RH(vc=1) / TH(opcode="STORE_RSP")))[TH].posted == 1
    sets = ethernet(bytes(CTLOS_FRAME(sets=[CTLOS_SEQ(seq=3), CF_UPDATE()])))
    assert (sets.n, sets.sets[0].seq, sets.sets[1].name) == (2, 3, "CF_UPDATE")
    assert LLDP_TLV(bytes(LLDP_TLV(credits=[1, 2, 3]))).credits == [1, 2, 3]
    assert len(bytes(OEFH(fcs=ABSENT) / NET() / RH())) == 60


def test_reads_bodies_of_control_frames() -> None:
    head = OEFH(ethertype=0x88B6) / NET() / RH(op="CONTROL", vc=3)
    assert ethernet(bytes(head / SPACE_CONTROL(type="CLOSE", psn=5)))[SPACE_CONTROL].psn == 5
    assert ethernet(bytes(head / SEN(type="PORT_DOWN", switch=9)))[SEN].switch == 9


def test_no_field_hides_an_attribute_of_scapy() -> None:
    taken = set(dir(Packet))
    for section in SECTIONS:
        for header in section.headers:
            for f in header.fields:
                assert f.name not in taken, f"{header.name}.{f.name}"


def test_rdpcap_uses_the_layers_once_registered(tmp_path: Any) -> None:
    from comparing import write
    from scapy.config import conf
    from scapy.utils import rdpcap

    from scalefab.artefacts.scapy_layer import register

    made = list(samples(6, 43))
    write(tmp_path / "r.pcapng", made)
    before = {number: conf.l2types[number] for number in (1,)}
    register()
    try:
        packets = rdpcap(str(tmp_path / "r.pcapng"))
    finally:
        conf.l2types.register_num2layer(1, before[1])
    assert [bytes(p) for p in packets] == [s.data for s in made]
    assert {p.name for p in packets} >= {"OEFH", "CC_UPDATE", "CTLOS_FRAME", "Ethernet", "CF_UPDATE"}
