"""Dissection: every field as it was made, bad packets shown as far as they go, faults in a receiver's order."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "artefacts"))
from samples import USER0, Sample, Seen, broken, samples

from scalefab.capture.dissect import dissect_frame, dissect_line
from scalefab.capture.dissection import Check, Dissection, Kind
from scalefab.protocol.codec import encode
from scalefab.protocol.frame import Th, Transaction, WireFormat, data_frame
from scalefab.protocol.naming import field_names
from scalefab.protocol.trailer import FcsMode

FRAME = data_frame(
    5, 300, 0, 7, [Transaction(Th(1, 64, tag=17, address=0x40)), Transaction(Th(3, 8, tag=18, address=8), (b"abcdefgh",))]
)
GOOD = encode(FRAME)


def dissect(sample: Sample) -> Dissection:
    return dissect_line(sample.data) if sample.link_type == USER0 else dissect_frame(sample.data)


def flat(found: Dissection) -> Seen:
    seen: Seen = {}
    for layer in found.layers:
        for value in layer.values:
            seen.setdefault(f"{layer.name}.{value.name}", []).append(value.value)
    return seen


def test_every_field_is_as_it_was_made() -> None:
    known = set(field_names())
    for sample in samples(1, 1000):
        found = dissect(sample)
        seen = flat(found)
        if sample.name == "LLDP":
            seen.pop("fcs.fcs")
        assert seen == sample.seen, sample.name
        assert (found.icrc, found.fcs, found.faults) == (sample.icrc, sample.fcs, ()), sample.name
        assert seen.keys() <= known


def test_faults() -> None:
    for sample, _ in broken(3):
        found = dissect(sample)
        assert (found.icrc, found.fcs) == (sample.icrc, sample.fcs), sample.name
        assert found.faults[0].reason == sample.fault, sample.name


def test_a_bad_fcs_does_not_hide_a_bad_icrc() -> None:
    bad = bytearray(GOOD)
    bad[30] ^= 1
    found = dissect_frame(bytes(bad))
    assert [fault.reason for fault in found.faults] == ["FCS", "ICRC"]
    assert (found.icrc, found.fcs) == (Check.BAD, Check.BAD)


def test_finds_the_fcs_or_is_told() -> None:
    assert dissect_frame(GOOD).fcs is Check.GOOD
    assert dissect_frame(GOOD[:-4]).fcs is Check.ABSENT
    assert dissect_frame(GOOD[:-4] + bytes(4)).fcs is Check.BAD
    assert dissect_frame(GOOD[:-4] + bytes(4), fcs=FcsMode.ABSENT).fcs is Check.ABSENT
    assert dissect_frame(GOOD[:-4], fcs=FcsMode.PRESENT).fcs is Check.BAD


def test_a_packet_that_the_capture_cut_short_is_not_judged() -> None:
    found = dissect_frame(GOOD[:40], size_bytes=len(GOOD))
    assert (found.icrc, found.fcs) == (Check.UNVERIFIED, Check.UNVERIFIED)
    assert "cut it short" in str(found.faults[0])
    assert [layer.name for layer in found.layers] == ["oefh", "net", "rh"]


def test_titles_and_enumerations_have_names() -> None:
    found = dissect_frame(GOOD)
    assert found.titles == ("LOAD", "STORE")
    words = {value.name: value.word for layer in found.layers for value in layer.values if value.word}
    assert words == {"op": "DATA", "opcode": "STORE", "order": "RELAXED", "scope": "GPU"}


def test_follows_what_the_link_has_agreed_on() -> None:
    wire = WireFormat(slap_safe=True, data_ethertype=0x9000, control_ethertype=0x9001)
    found = dissect_frame(encode(replace(FRAME, oefh=replace(FRAME.oefh, dst_id=777)), wire), wire)
    assert (found.faults, found.layers[0]["dst"]) == ((), 777)
    assert dissect_frame(encode(FRAME, wire)).kind is Kind.OTHER


def test_other_protocols_are_left_alone() -> None:
    found = dissect_frame(bytes.fromhex("ffffffffffff 020000000001 0806") + bytes(46))
    assert (found.kind, found.layers, found.faults) == (Kind.OTHER, (), ())


@pytest.mark.parametrize("size", [0, 1, 7, 8, 12, 13])
def test_very_short_packets(size: int) -> None:
    for first in (b"\xfb", b"\x5c", b"\x00"):
        dissect_line((first + bytes(size))[:size])
    dissect_frame(bytes(size))


def test_any_bytes_are_taken_apart() -> None:
    rng = random.Random(5)
    made = list(samples(7, 200)) + [sample for sample, _ in broken(8)]
    for _ in range(20_000):
        sample = rng.choice(made)
        data = bytearray(sample.data)
        for at in rng.choices(range(len(data)), k=rng.randint(0, 4)):
            data[at] = rng.getrandbits(8)
        cut = bytes(data[: rng.choice([len(data), rng.randint(0, len(data))])])
        dissect(replace(sample, data=cut))
