"""The layout tables against the profile's text, transcribed a second time by hand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scalefab.protocol import layout as lay
from scalefab.protocol import profile
from scalefab.protocol.layout import Field, Header, Origin
from scalefab.protocol.opcodes import OPCODES, AddressRule, AtomicOp, ElementType, KindRule, body_parts, is_aligned
from scalefab.protocol.profile import Opcode

FIELDS = {
    "OEFH": "dst_id 16, reserved0 16, reserved1 16, src_id 16, total_length 16, entropy 16, ethertype 16",
    "NET": "ar 1, reserved 3, ttl 4, dscp 6, ecn 2",
    "RH": "version 2, op 2, again 1, reserved0 1, src 10, psn 16, vc 2, ack_vc 2, ack 1, reserved1 1, partition 10, ack_psn 16",
    "TH_RESPONSE": "opcode 6, order 2, scope 2, posted 1, last 1, length 12, kind 8, tag 16, context 16",
    "TH_REQUEST": "opcode 6, order 2, scope 2, posted 1, last 1, length 12, kind 8, tag 16, context 16, address 64",
    "ICRC": "icrc 32",
    "FCS": "fcs 32",
    "VLAN": "tpid 16, pcp 3, dei 1, vid 12",
    "SLAP_ID": "zero 2, id_high 2, local 4, id_low 8",
    "READ_TOTAL": "total 32, reserved 32",
    "SIGNAL": "add 1, reserved 6, address 57",
    "SEND_ADDRESS": "queue 16, message 16, match 32",
}
SIZES = {"OEFH": 14, "NET": 2, "RH": 8, "TH_RESPONSE": 8, "TH_REQUEST": 16, "ICRC": 4, "FCS": 4, "VLAN": 4}
SIZES |= {"SLAP_ID": 2, "READ_TOTAL": 8, "SIGNAL": 8, "SEND_ADDRESS": 8}

# number, name, VCs, TH bytes, then bodies: (length, last, kind) -> bytes of each part
ROWS = [
    (0, "NOP", (0,), 8, {(0, 1, 0): []}),
    (1, "LOAD", (0,), 16, {(64, 1, 0): []}),
    (2, "LOAD_RSP", (1,), 8, {(64, 1, 0): [64], (64, 1, 1): []}),
    (3, "STORE", (0,), 16, {(1, 1, 0): [1], (512, 1, 0): [512]}),
    (4, "STORE_MASKED", (0,), 16, {(1, 1, 0): [1, 1], (8, 1, 0): [1, 8], (16, 1, 0): [2, 16], (512, 1, 0): [64, 512]}),
    (5, "STORE_RSP", (1,), 8, {(0, 1, 0): [], (0, 1, 4): []}),
    (6, "REDUCE", (0,), 16, {(24, 1, 0x01): [24]}),
    (7, "ATOMIC", (0,), 16, {(8, 1, 0x01): [8], (4, 1, 0x00): [4], (4, 1, 0x70): [4, 4], (8, 1, 0x61): [8]}),
    (8, "ATOMIC_RSP", (1,), 8, {(8, 1, 0): [8], (8, 1, 2): []}),
    (9, "FENCE", (0, 2), 16, {(0, 1, 0): []}),
    (10, "FENCE_RSP", (1,), 8, {(0, 1, 0): []}),
    (16, "RDMA_WRITE", (2,), 16, {(100, 1, 0x70): [100], (1984, 0, 0): [1984]}),
    (17, "RDMA_WRITE_IMM", (2,), 16, {(100, 1, 0): [8, 100], (1984, 0, 0): [1984]}),
    (18, "RDMA_READ", (0,), 16, {(8, 1, 0x70): [8]}),
    (19, "RDMA_READ_RSP", (2,), 8, {(100, 1, 0): [100], (100, 0, 0): [100], (100, 1, 3): []}),
    (20, "SEND", (2,), 16, {(100, 1, 0): [100]}),
    (21, "SEND_IMM", (2,), 16, {(100, 1, 9): [8, 100], (1984, 0, 9): [1984]}),
    (22, "COMPLETION", (1,), 8, {(0, 1, 8): []}),
    (23, "RDMA_WRITE_SIG", (2,), 16, {(100, 1, 0): [8, 8, 100], (1984, 0, 0): [1984]}),
    (48, "PROBE", (0,), 16, {(0, 1, 0): []}),
    (49, "PROBE_RSP", (1,), 8, {(0, 1, 0): []}),
    (63, "ERROR", (1,), 8, {(0, 1, 5): []}),
]


@pytest.mark.parametrize("name", FIELDS)
def test_fields_stand_where_the_profile_says(name: str) -> None:
    header: Header = getattr(lay, name)
    bit, expected = 0, []
    for text in FIELDS[name].split(", "):
        field, width = text.split()
        expected.append((field, bit, int(width)))
        bit += int(width)
    assert [(f.name, f.bit, f.width) for f in header.fields] == expected
    assert header.size_bytes == SIZES[name] == bit // 8
    assert all(f.meaning for f in header.fields)


def test_entropy_names_its_parts() -> None:
    parts = lay.OEFH.field("entropy").parts
    assert [(p.name, p.bit, p.width) for p in parts] == [("stack", 80, 4), ("port", 84, 2), ("uplink", 86, 4), ("hash", 90, 6)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_opcode_rows(row: tuple[int, str, tuple[int, ...], int, dict[tuple[int, int, int], list[int]]]) -> None:
    number, name, vcs, th_bytes, bodies = row
    found = OPCODES[number]
    assert (found.name, found.vcs, found.th.size_bytes) == (name, vcs, th_bytes)
    for (length, last, kind), parts in bodies.items():
        assert [size for _, size in body_parts(found, length, last, kind)] == parts
    assert found.meaning


def test_every_opcode_has_one_row() -> None:
    assert sorted(OPCODES) == sorted(Opcode) == [row[0] for row in ROWS]
    assert {number: row.name for number, row in OPCODES.items()} == {o.value: o.name for o in Opcode}
    responses = {row.name for row in OPCODES.values() if row.is_response}
    assert responses == {n for n in Opcode.__members__ if n.endswith("_RSP")} | {"COMPLETION", "ERROR"}
    assert {n for n, row in OPCODES.items() if row.kind is KindRule.CONTEXT} == {16, 17, 18, 20, 21, 23}


def test_constants_agree_with_the_profile_and_each_other() -> None:
    assert (lay.ETHERTYPE_DATA, lay.ETHERTYPE_CONTROL) == (0x88B5, 0x88B6)
    assert sum(h.size_bytes for h in lay.FIXED_HEADERS) == profile.HEADER_BYTES == 24
    assert (lay.ICRC.size_bytes, lay.FCS.size_bytes) == (profile.ICRC_BYTES, profile.FCS_BYTES) == (4, 4)
    assert (lay.TH_REQUEST.size_bytes, lay.TH_RESPONSE.size_bytes) == (profile.TH_REQUEST_BYTES, profile.TH_RESPONSE_BYTES)
    assert lay.UNPADDED_MIN_BYTES + lay.FCS.size_bytes == profile.FRAME_MIN_BYTES == profile.ACK_FRAME_BYTES
    assert lay.TOTAL_LENGTH_MIN == 28
    assert lay.ICRC_MASK == ((14, 0x7F), (15, 0xFF))


def test_icrc_mask_is_what_a_switch_may_change() -> None:
    masked = {f.name for f in lay.NET.fields for bit in range(f.bit, f.bit + f.width) if _masked(8 * 14 + bit)}
    assert masked == {"reserved", "ttl", "dscp", "ecn"}
    assert not _masked(8 * 14)  # ar
    assert sum(_masked(bit) for bit in range(8 * 28)) == 15


def _masked(bit: int) -> bool:
    return bool(dict(lay.ICRC_MASK).get(bit // 8, 0) & 0x80 >> bit % 8)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ((("a", 0, 4), ("b", 5, 3)), "begins at bit 5"),
        ((("a", 0, 4), ("b", 3, 5)), "begins at bit 3"),
        ((("a", 0, 4),), "ends at bit 4"),
        ((("a", 0, 4), ("b", 4, 8)), "ends at bit 12"),
        ((("a", 0, 4), ("a", 4, 4)), "a name twice"),
    ],
)
def test_a_header_with_a_gap_an_overlap_or_a_double_name_is_refused(fields: tuple[tuple[str, int, int], ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Header("X", 1, tuple(Field(n, b, w, "", Origin.OWN) for n, b, w in fields))


def test_sub_fields_must_tile_too() -> None:
    with pytest.raises(ValueError, match=r"X\.a"):
        Header("X", 1, (Field("a", 0, 8, "", Origin.OWN, parts=(Field("b", 0, 4, "", Origin.OWN),)),))


def test_unknown_field() -> None:
    with pytest.raises(KeyError):
        lay.RH.field("vcc")


def test_elements() -> None:
    assert [t.size_bytes for t in ElementType] == [4, 8, 4, 8, 2, 2, 4, 8]
    assert [t.name for t in ElementType if t.is_integer] == ["U32", "U64", "I32", "I64"]
    assert AtomicOp.COMPARE_SWAP == 7


def test_alignment() -> None:
    load, reduce = OPCODES[Opcode.LOAD], OPCODES[Opcode.REDUCE]
    assert is_aligned(load, 64, 0, 128) and not is_aligned(load, 64, 0, 96)
    bf16 = AtomicOp.ADD << 4 | ElementType.BF16
    assert is_aligned(reduce, 512, bf16, 4096 - 512)
    assert not is_aligned(reduce, 512, bf16, 4096 - 510)  # leaves its page
    assert not is_aligned(reduce, 2, bf16, 4097)
    assert OPCODES[Opcode.RDMA_WRITE].address is AddressRule.BYTE and is_aligned(OPCODES[Opcode.RDMA_WRITE], 3, 0, 5)


def test_layout_and_codec_need_no_compiler() -> None:
    code = "import sys, scalefab.protocol.codec; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
