"""tshark 4 with the Lua dissector reads every field as it was made."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest
from comparing import told, tshark, write
from samples import ETHERNET, Sample, broken, samples

from scalefab.artefacts.lua import lua_dissector
from scalefab.capture.dissect import dissect_frame
from scalefab.protocol.codec import encode
from scalefab.protocol.frame import Th, Transaction, WireFormat, data_frame
from scalefab.protocol.layout import TH_REQUEST
from scalefab.protocol.layout_control import CONTROL_TYPES
from scalefab.protocol.layout_link import LINK_FRAMES, ORDERED_SETS
from scalefab.protocol.opcodes import OPCODES, AddressRule, KindRule, LengthRule, OpcodeRow, Part, PartSize

STATES = {"bad": 0, "good": 1, "unverified": 2, "absent": 3, "poisoned": 4}
EXPERTS = ("icrc", "fcs", "poisoned", "length", "opcode", "type", "constant", "reserved", "mismatch")


def _version() -> int:
    if shutil.which("tshark") is None:
        return 0
    found = re.search(r"\b(\d+)\.\d+\.\d+", subprocess.run(["tshark", "--version"], capture_output=True, text=True).stdout)
    return int(found[1]) if found else 0


pytestmark = pytest.mark.skipif(_version() < 4, reason="needs tshark 4 or newer")


@pytest.fixture(scope="module")
def lua(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "scalefab.lua"
    path.write_text(lua_dissector(), encoding="utf-8")
    return path


def test_reads_a_thousand_frames_as_they_were_made(lua: Path, tmp_path: Path) -> None:
    made = list(samples(1, 1000))
    counted = Counter(sample.name for sample in made)
    names = {row.name for row in OPCODES.values()} | {row.name for row in CONTROL_TYPES.values()}
    names |= {f"CtlOS {row.name}" for row in ORDERED_SETS.values()} | {"ACK", "NACK", "LLDP"}
    assert names <= counted.keys() and len(counted) == len(names) + len(LINK_FRAMES)
    write(tmp_path / "s.pcapng", made)
    for number, (sample, seen) in enumerate(zip(made, told(lua, tmp_path / "s.pcapng"), strict=True), 1):
        assert seen == sample.seen, f"packet {number}, {sample.name}"


def test_no_good_frame_has_expert_information_and_its_crcs_are_good(lua: Path, tmp_path: Path) -> None:
    made = [s for s in samples(2, 430) if s.name != "LLDP"]
    write(tmp_path / "s.pcapng", made)
    fields = ["scalefab.icrc.status", "scalefab.fcs.status", *(f"scalefab.expert.{name}" for name in EXPERTS), "_ws.malformed"]
    for sample, row in zip(made, tshark(lua, tmp_path / "s.pcapng", fields), strict=True):
        assert not any(row[2:]), sample.name
        assert row[0] == ("" if sample.icrc == "absent" else str(STATES[sample.icrc])), sample.name
        if row[1]:
            assert row[1] == str(STATES[sample.fcs]), sample.name


def test_tells_what_is_wrong(lua: Path, tmp_path: Path) -> None:
    made = list(broken(3))
    write(tmp_path / "b.pcapng", [sample for sample, _ in made])
    fields = ["scalefab.icrc.status", "scalefab.fcs.status", *(f"scalefab.expert.{name}" for name in EXPERTS), "_ws.malformed"]
    for (sample, expected), row in zip(made, tshark(lua, tmp_path / "b.pcapng", fields), strict=True):
        assert [name for name, text in zip(EXPERTS, row[2:], strict=False) if text] == [expected], sample.name
        if sample.icrc != "absent":
            assert row[:2] == [str(STATES[sample.icrc]), str(STATES[sample.fcs])], sample.name


def test_preferences_change_ethertypes_and_ids(lua: Path, tmp_path: Path) -> None:
    wire = WireFormat(slap_safe=True, data_ethertype=0x9000, control_ethertype=0x9001)
    frame = data_frame(5, 777, 0, 9, [Transaction(Th(1, 64, tag=1, address=64))])
    write(tmp_path / "w.pcapng", [Sample("w", ETHERNET, encode(frame, wire))])
    options = ["-o", "scalefab.data_ethertype:36864", "-o", "scalefab.control_ethertype:36865", "-o", "scalefab.slap_safe:TRUE"]
    fields = ["scalefab.oefh.dst", "scalefab.oefh.src", "scalefab.icrc.status", "scalefab.expert.mismatch"]
    assert tshark(lua, tmp_path / "w.pcapng", fields) == [[""] * 4]
    assert tshark(lua, tmp_path / "w.pcapng", fields, *options) == [["777", "5", "1", ""]]


def test_other_ethernet_is_left_to_wireshark(lua: Path, tmp_path: Path) -> None:
    arp = bytes.fromhex("ffffffffffff 020000000001 0806 0001080006040001 020000000001 0a000001 000000000000 0a000002") + bytes(18)
    line = bytes.fromhex("fb555555555555d5") + arp + crc32(arp).to_bytes(4, "little")
    write(tmp_path / "o.pcapng", [Sample("arp", ETHERNET, arp), Sample("arp on a line", 147, line)])
    fields = ["eth.type", "arp.dst.proto_ipv4", "scalefab.oefh.dst_id"]
    assert tshark(lua, tmp_path / "o.pcapng", fields) == [["0x0806", "10.0.0.2", ""]] * 2


def test_survives_any_bytes(lua: Path, tmp_path: Path) -> None:
    """Cut short at every byte, and mutated: no Lua error, no malformed packet."""
    import random

    rng = random.Random(4)
    made: list[Sample] = []
    for sample in samples(5, 60):
        made += [replace(sample, data=sample.data[:n]) for n in sorted({*range(60), *rng.choices(range(len(sample.data)), k=9)})]
        for _ in range(20):
            data = bytearray(sample.data)
            for at in rng.choices(range(len(data)), k=3):
                data[at] = rng.getrandbits(8)
            made.append(replace(sample, data=bytes(data)))
    write(tmp_path / "m.pcapng", made)
    done = subprocess.run(
        ["tshark", "-X", f"lua_script:{lua}", "-r", str(tmp_path / "m.pcapng"), "-V"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0
    errors = {line for line in done.stdout.splitlines() if "Lua Error" in line or ".lua:" in line}
    assert not errors


def test_a_new_opcode_is_read_from_its_row_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = (Part("colour", PartSize.EIGHT), Part("data", PartSize.LENGTH))
    row = OpcodeRow(40, "STORE_TAGGED", (0,), TH_REQUEST, LengthRule.POWER_OF_TWO, KindRule.ZERO, parts, AddressRule.BYTE)
    monkeypatch.setitem(OPCODES, 40, row)
    (tmp_path / "new.lua").write_text(lua_dissector(), encoding="utf-8")
    stores = [Transaction(Th(40, 4, tag=1), (b"RED     ", b"abcd")), Transaction(Th(1, 8, tag=2))]
    data = encode(data_frame(5, 7, 0, 9, stores))
    write(tmp_path / "n.pcapng", [Sample("n", ETHERNET, data)])
    fields = ["scalefab.th.opcode", "scalefab.body.colour", "scalefab.body.data", "scalefab.th.tag", "scalefab.expert.opcode"]
    assert tshark(tmp_path / "new.lua", tmp_path / "n.pcapng", fields) == [["40;1", b"RED     ".hex(), "61626364", "1;2", ""]]
    assert dissect_frame(data).titles == ("STORE_TAGGED", "LOAD")
