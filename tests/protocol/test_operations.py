"""Sizes and counts of operations against lists of packets written out one by one, and against the codec's bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.protocol import operations as ops
from scalefab.protocol.codec import encode, pack
from scalefab.protocol.frame import Th, Transaction, WireFormat, ack_frame, data_frame
from scalefab.protocol.layout import READ_TOTAL
from scalefab.protocol.opcodes import OPCODES, AtomicOp, ElementType, KindRule, LengthRule
from scalefab.protocol.operations import Kind, Opcode

LSU = [1 << i for i in range(10)]
BULK = [1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 1983, 1984, 2048, 4095, 4096]
DATA_SIZES = {
    Kind.LOAD: LSU,
    Kind.STORE: LSU,
    Kind.REDUCE: list(range(2, 514, 2)),
    Kind.ATOMIC: [2, 4, 8],
    Kind.PUT: BULK,
    Kind.GET: BULK,
    Kind.SEND: BULK,
}
WIRE = WireFormat(frame_max=4160)
TYPE_OF_SIZE = {2: ElementType.BF16, 4: ElementType.U32, 8: ElementType.U64}


def request(kind: Kind, n: int) -> Transaction:
    opcode, data = ops.REQUEST_OPCODE[kind], bytes(n)
    if kind is Kind.LOAD:
        return Transaction(Th(opcode, n))
    if kind is Kind.GET:
        return Transaction(Th(opcode, 8), (pack(READ_TOTAL, {"total": n}),))
    if kind is Kind.ATOMIC:
        return Transaction(Th(opcode, n, kind=AtomicOp.ADD << 4 | TYPE_OF_SIZE[n]), (data,))
    return Transaction(Th(opcode, n, kind=ElementType.BF16 if kind is Kind.REDUCE else 0), (data,))


def response(kind: Kind, n: int) -> Transaction:
    row = OPCODES[ops.RESPONSE_OPCODE[kind]]
    if row.length is LengthRule.NONE:
        return Transaction(Th(row.opcode, posted=1))
    return Transaction(Th(row.opcode, n, posted=1), (bytes(n),))


@pytest.mark.parametrize("kind", DATA_SIZES, ids=lambda k: k.name)
def test_sizes_are_those_of_the_encoded_frames(kind: Kind) -> None:
    for n in DATA_SIZES[kind]:
        for body, vc, one in (
            (ops.request_body_bytes(kind, n), ops.request_vc(kind), request(kind, n)),
            (ops.response_body_bytes(kind, n), ops.response_vc(kind), response(kind, n)),
        ):
            assert body == one.size_bytes, n
            assert ops.frame_bytes(body) == len(encode(data_frame(1, 2, vc, 0, [one]), WIRE)), n
            if 2 * body <= ops.body_limit(WIRE.frame_max):
                assert ops.frame_bytes(2 * body) == len(encode(data_frame(1, 2, vc, 0, [one, one]), WIRE)), n


def test_a_fence_and_an_ack() -> None:
    fence = data_frame(1, 2, 0, 0, [Transaction(Th(Opcode.FENCE))])
    assert ops.frame_bytes(ops.request_body_bytes(Kind.FENCE, 0)) == len(encode(fence)) == 64
    assert ops.request_body_bytes(Kind.FENCE, 0) == fence.transactions[0].size_bytes
    assert ops.response_body_bytes(Kind.FENCE, 0) == 8
    assert len(encode(ack_frame(1, 2, 0, 0))) == ops.ACK_FRAME_BYTES


def test_vcs_are_those_of_the_opcodes() -> None:
    for kind, opcode in ops.REQUEST_OPCODE.items():
        vcs = OPCODES[opcode].vcs
        assert ops.request_vc(kind) in vcs and (len(vcs) == 1 or kind is Kind.FENCE)  # a FENCE goes on the space that it closes
        answer = OPCODES[ops.RESPONSE_OPCODE[kind]]
        assert (ops.response_vc(kind),) == answer.vcs
        assert answer.kind is KindRule.STATUS and not OPCODES[opcode].is_response
        bulk = OPCODES[opcode].is_packet or answer.is_packet
        assert ops.is_bulk(kind) == bulk
    assert [ops.is_bulk(k) for k in (Kind.FENCE, Kind.COMPUTE, Kind.JOIN)] == [0, 0, 0]


def test_kind_numbers_are_the_compiled_ones() -> None:
    assert [int(k) for k in Kind] == list(range(11))
    assert all(getattr(ops, k.name) == k for k in Kind)


@pytest.mark.parametrize(("frame_max", "mtu"), [(128, 64), (2048, 1984), (4159, 4032), (4160, 4096), (9216, 4096)])
def test_mtu(frame_max: int, mtu: int) -> None:
    assert ops.mtu_bytes(frame_max) == WireFormat(frame_max).mtu == mtu


def test_mtu_agrees_with_the_codec_everywhere() -> None:
    assert all(ops.mtu_bytes(n) == WireFormat(n).mtu for n in range(128, 9217))


@pytest.mark.parametrize(("one", "kind", "most"), [(256, Kind.STORE, 7), (128, Kind.STORE, 14), (64, Kind.STORE, 25)])
def test_packing(one: int, kind: Kind, most: int) -> None:
    assert ops.body_limit(2048) // ops.request_body_bytes(kind, one) == most
    assert ops.body_limit(2048) // ops.response_body_bytes(Kind.LOAD, 256) == 7
    assert ops.frame_bytes(ops.body_limit(2048)) == 2048


def test_pad8() -> None:
    assert [ops.pad8(n) for n in range(18)] == [0] + [8] * 8 + [16] * 8 + [24]


def packets_one_by_one(op_bytes: int, chunk: int, mtu: int) -> list[int]:
    """Cut an operation into messages, then each message into packets, a byte count at a time."""
    message = chunk if chunk > 0 else op_bytes
    out = []
    while op_bytes > 0:
        left = min(message, op_bytes)
        op_bytes -= left
        while left > 0:
            out.append(min(mtu, left))
            left -= out[-1]
    return out


def test_packets_of_every_small_operation() -> None:
    for mtu in (1, 2, 3, 8):
        for chunk in range(20):
            for op_bytes in range(1, 26):
                expected = packets_one_by_one(op_bytes, chunk, mtu)
                assert ops.packet_count(op_bytes, chunk, mtu) == len(expected), (op_bytes, chunk, mtu)
                found = [ops.packet_bytes(op_bytes, chunk, mtu, i) for i in range(len(expected))]
                assert found == expected, (op_bytes, chunk, mtu)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 1 << 40), st.integers(0, 1 << 31), st.sampled_from([64, 1984, 4096]), st.data())
def test_packets_of_large_operations(op_bytes: int, chunk: int, mtu: int, data: st.DataObject) -> None:
    """Against big integers: a packet's bytes are what is left of its message."""
    message = chunk if 0 < chunk < op_bytes else op_bytes
    whole, rest = divmod(op_bytes, message)
    per = -(-message // mtu)
    assert ops.packet_count(op_bytes, chunk, mtu) == whole * per + -(-rest // mtu)
    i = data.draw(st.integers(0, whole * per + -(-rest // mtu) - 1))
    m, k = divmod(i, per)
    of_message = message if m < whole else rest
    assert ops.packet_bytes(op_bytes, chunk, mtu, i) == min(mtu, of_message - k * mtu)
    assert ops.message_packets(message, mtu) == per


def test_transactions_of_every_small_operation() -> None:
    for chunk in range(1, 20):
        for op_bytes in range(1, 60):
            n = ops.transaction_count(op_bytes, chunk)
            sizes = [ops.transaction_bytes(op_bytes, chunk, i) for i in range(n)]
            assert sizes == packets_one_by_one(op_bytes, chunk, chunk)
