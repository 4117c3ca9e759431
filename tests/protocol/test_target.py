"""A target and its endpoint: effects on memory, answers, status codes, messages, and the order of a receiver's checks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from test_codec import seal

from scalefab.protocol import requests as req
from scalefab.protocol.codec import decode, encode
from scalefab.protocol.endpoint import Acknowledged, Endpoint, Received
from scalefab.protocol.frame import Frame, Th, Transaction, WireFormat, ack_frame, control_frame, data_frame
from scalefab.protocol.inbox import Delivery
from scalefab.protocol.layout import RhOp
from scalefab.protocol.layout_control import ControlType
from scalefab.protocol.memory import Memory
from scalefab.protocol.opcodes import OPCODES, AtomicOp, ElementType, Status, opcode_table
from scalefab.protocol.profile import Opcode
from scalefab.protocol.record import encode_control, space_control
from scalefab.protocol.target import Answer, Target
from scalefab.protocol.windows import Rights, Window

MTU = 1984
BASE, SIZE = 0x1_0000, 0x1_0000
RO, FOREIGN, RW = 1, 2, 3


def make_target(seed: int = 1, wire: WireFormat | None = None) -> Target:
    windows = {
        0: Window(0, BASE, SIZE, Rights.ALL),
        RO: Window(0, BASE, 0x1000, Rights.READ),
        FOREIGN: Window(9, BASE, SIZE, Rights.ALL),
        RW: Window(0, BASE, 0x2000, Rights.READ | Rights.WRITE),
    }
    return Target(Memory(bytearray(random.Random(seed).randbytes(SIZE)), windows, BASE), wire)


def run(target: Target, *transactions: Transaction, vc: int = 0, src: int = 5, again: int = 0) -> list[Answer]:
    out = []
    for frame in req.request_frames(src, 300, vc, transactions, again=again):
        out += target.execute(decode(encode(frame, target.wire), target.wire))
    return out


def told(answers: list[Answer]) -> list[tuple[str, int, int]]:
    """(opcode, status, tag) of each answer; its VC is the one of its row, and it is one that the codec takes."""
    for one in answers:
        assert one.vc in OPCODES[one.transaction.th.opcode].vcs
        encode(data_frame(300, 5, one.vc, 0, [one.transaction]))
    return [(Opcode(one.transaction.th.opcode).name, one.transaction.th.kind, one.transaction.th.tag) for one in answers]


# --- memory ------------------------------------------------------------------------------------------------------------


def test_stores_and_loads_of_every_size() -> None:
    target = make_target()
    model = bytearray(target.memory.data)
    for power in range(10):
        size = 1 << power
        address = BASE + 1024 + size
        data = random.Random(power).randbytes(size)
        model[address - BASE : address - BASE + size] = data
        answers = run(target, req.store(address, data, tag=power + 1), req.load(address, size, tag=99))
        assert told(answers) == [("STORE_RSP", 0, power + 1), ("LOAD_RSP", 0, 99)]
        assert answers[1].transaction.parts == (data,)
    assert target.memory.data == model


@pytest.mark.parametrize("size", [1, 2, 4, 8, 64, 512])
def test_masked_stores(size: int) -> None:
    target = make_target()
    rng = random.Random(size)
    for _ in range(20):
        data, mask = rng.randbytes(size), rng.getrandbits(size)
        old = target.memory.read(BASE + size, size)
        assert told(run(target, req.store_masked(BASE + size, data, mask, tag=1))) == [("STORE_RSP", 0, 1)]
        expected = bytes(data[i] if mask >> (size - 1 - i) & 1 else old[i] for i in range(size))
        assert target.memory.read(BASE + size, size) == expected


def test_reduce_and_atomic_change_memory_and_return_the_old_value() -> None:
    target = make_target()
    data = np.arange(16, dtype="<u4")
    old = np.frombuffer(target.memory.read(BASE, 64), "<u4")
    assert told(run(target, req.reduce(BASE, data.tobytes(), AtomicOp.ADD, ElementType.U32, tag=4))) == [("STORE_RSP", 0, 4)]
    assert target.memory.read(BASE, 64) == (old + data).tobytes()
    before = target.memory.read(BASE, 8)
    answers = run(target, req.atomic(BASE, (b"\x01" + bytes(7),), AtomicOp.ADD, ElementType.U64, tag=0x8001))
    assert told(answers) == [("ATOMIC_RSP", 0, 0x8001)] and answers[0].transaction.parts == (before,)
    assert int.from_bytes(target.memory.read(BASE, 8), "little") == (int.from_bytes(before, "little") + 1) % 2**64
    now = target.memory.read(BASE, 4)
    for compare, after in ((b"none", now), (now, b"swap")):
        swap = req.atomic(BASE, (compare, b"swap"), AtomicOp.COMPARE_SWAP, ElementType.U32)
        assert run(target, swap)[0].transaction.parts == (now,)
        assert target.memory.read(BASE, 4) == after


def test_transactions_of_a_frame_run_in_order() -> None:
    target = make_target()
    answers = run(target, req.load(BASE, 1, tag=1), req.store(BASE, b"!"), req.load(BASE, 1, tag=2), req.store(BASE, b"?"))
    assert answers[2].transaction.parts == (b"!",)
    assert target.memory.read(BASE, 1) == b"?"


REFUSED = [
    (req.load(BASE - 64, 64, tag=1), Status.ADDRESS, "LOAD_RSP"),
    (req.load(BASE + SIZE, 64, tag=1), Status.ADDRESS, "LOAD_RSP"),
    (req.load(BASE, 64, context=77, tag=1), Status.ADDRESS, "LOAD_RSP"),
    (req.load(BASE + 8, 64, tag=1), Status.ALIGNMENT, "LOAD_RSP"),
    (req.load(BASE, 64, context=FOREIGN, tag=1), Status.PARTITION, "LOAD_RSP"),
    (req.store(BASE, b"x", context=RO, tag=1), Status.PERMISSION, "STORE_RSP"),
    (req.store(BASE + 0x1000, b"x", context=RO, tag=1), Status.ADDRESS, "STORE_RSP"),
    (req.store_masked(BASE, b"x", 0, context=RO, tag=1), Status.PERMISSION, "STORE_RSP"),
    (req.reduce(BASE, bytes(8), AtomicOp.ADD, ElementType.U32, context=RW, tag=1), Status.PERMISSION, "STORE_RSP"),
    (req.reduce(BASE + 2, bytes(8), AtomicOp.ADD, ElementType.U32, tag=1), Status.ALIGNMENT, "STORE_RSP"),
    (req.reduce(BASE + 4092, bytes(8), AtomicOp.ADD, ElementType.U32, tag=1), Status.ALIGNMENT, "STORE_RSP"),
    (req.atomic(BASE, (bytes(8),), AtomicOp.SWAP, ElementType.U64, context=RW, tag=1), Status.PERMISSION, "ATOMIC_RSP"),
    (req.get(BASE, SIZE + 1, tag=1), Status.ADDRESS, "RDMA_READ_RSP"),
    (req.get(BASE, 8, context=FOREIGN, tag=1), Status.PARTITION, "RDMA_READ_RSP"),
]


@pytest.mark.parametrize(("one", "status", "answer"), REFUSED)
def test_a_refused_request_touches_nothing_and_is_answered_with_its_status(one: Transaction, status: Status, answer: str) -> None:
    target = make_target()
    before = bytes(target.memory.data)
    answers = run(target, one)
    assert told(answers) == [(answer, status, 1)]
    assert answers[0].transaction.parts == ()
    if one.th.opcode != Opcode.RDMA_READ:
        assert answers[0].transaction.th.length == (one.th.length if answer in ("LOAD_RSP", "ATOMIC_RSP") else 0)
    posted = Transaction(Th(**{name: getattr(one.th, name) for name in Th.__slots__} | {"posted": 1}), one.parts)
    if one.th.opcode != Opcode.RDMA_READ:
        assert told(run(target, posted)) == [("ERROR", status, 1)]
    assert target.memory.data == before


def test_posted_requests_and_responses_are_not_answered() -> None:
    target = make_target()
    silent = [req.store(BASE, b"x", posted=1), Transaction(Th(Opcode.NOP, tag=3)), req.reduce(BASE, bytes(4), 0, 0, posted=1)]
    silent.append(req.atomic(BASE, (bytes(4),), AtomicOp.ADD, ElementType.I32, posted=1))
    assert run(target, *silent) == []
    response = Transaction(Th(Opcode.LOAD_RSP, 8, posted=1), (bytes(8),))
    assert run(target, response, vc=1) == []


def test_fence_and_probe() -> None:
    target = make_target()
    assert told(run(target, req.store(BASE, b"x", posted=1), req.fence(tag=8), req.probe(tag=9))) == [
        ("FENCE_RSP", 0, 8),
        ("PROBE_RSP", 0, 9),
    ]
    assert told(run(target, *req.put(BASE, bytes(4000), MTU, posted=1), req.fence(tag=10), vc=2)) == [("FENCE_RSP", 0, 10)]


def test_an_opcode_that_the_target_does_not_know_is_unsupported() -> None:
    row = OPCODES[Opcode.PROBE]
    new = type(row)(50, "FLASH", row.vcs, row.th, row.length, row.kind, meaning="light")
    target = make_target(wire=WireFormat(opcodes=opcode_table(*OPCODES.values(), new)))
    frame = data_frame(5, 300, 0, 0, [Transaction(Th(50, tag=6))])
    assert told(target.execute(frame)) == [("ERROR", Status.UNSUPPORTED, 6)]


# --- messages ----------------------------------------------------------------------------------------------------------


def shuffled(packets: Any, seed: int) -> list[Transaction]:
    listed = list(packets)
    random.Random(seed).shuffle(listed)
    return listed


@pytest.mark.parametrize("seed", range(5))
def test_a_put_in_any_order_with_signal_after_all_bytes(seed: int) -> None:
    target = make_target()
    data = random.Random(9).randbytes(5 * MTU + 3)
    flag = BASE + 0x8000
    target.memory.write(flag, (2**64 - 1).to_bytes(8, "little"))
    packets = shuffled(req.put(BASE + 1, data, MTU, tag=0x8003, signal=req.Signal(flag, 3, add=1)), seed)
    for packet in packets[:-1]:
        assert run(target, packet, vc=2) == []
        assert target.memory.read(flag, 8) == (2**64 - 1).to_bytes(8, "little")
    assert told(run(target, packets[-1], vc=2)) == [("COMPLETION", 0, 0x8003)]
    assert target.memory.read(BASE + 1, len(data)) == data
    assert target.memory.read(flag, 8) == (2).to_bytes(8, "little")


def test_immediates_go_to_the_contexts_queue() -> None:
    target = make_target()
    packets = shuffled(req.put(BASE, bytes(3000), MTU, context=RW, immediate=b"IMMEDIAT"), 1)
    assert told(run(target, *packets, vc=2)) == [("COMPLETION", 0, 0x8000)]
    assert target.deliveries == [Delivery(5, RW, 3000, b"IMMEDIAT")]


def test_a_message_with_one_bad_packet() -> None:
    target = make_target()
    before = target.memory.read(BASE + SIZE - 2000, 2000)
    packets = list(req.put(BASE + SIZE - MTU, bytes(2 * MTU), MTU, immediate=bytes(8)))
    assert told(run(target, *packets, vc=2)) == [("COMPLETION", Status.ADDRESS, 0x8000)]
    assert target.memory.read(BASE + SIZE - 2000, 16) == before[:16]  # the first packet is written, it was permitted
    assert target.memory.read(BASE + SIZE - MTU, MTU) == bytes(MTU)
    assert target.deliveries == []
    signal = req.Signal(BASE + SIZE, 1)
    assert told(run(target, *req.put(BASE, b"x", MTU, signal=signal), vc=2)) == [("COMPLETION", Status.ADDRESS, 0x8000)]
    signal = req.Signal(BASE, 1, add=1)
    assert told(run(target, *req.put(BASE, b"x", MTU, context=RW, signal=signal), vc=2)) == [
        ("COMPLETION", Status.PERMISSION, 0x8000)
    ]
    assert told(run(target, *req.put(BASE, b"x", MTU, context=RO, posted=1), vc=2)) == [("ERROR", Status.PERMISSION, 0x8000)]


def test_64_messages_may_be_open_a_source() -> None:
    target = make_target()
    first = [next(iter(req.put(BASE, bytes(2 * MTU), MTU, tag=0x8000 | i))) for i in range(65)]
    assert told(run(target, *first, vc=2)) == [("COMPLETION", Status.UNSUPPORTED, 0x8040)]
    assert run(target, first[64], vc=2, src=6) == []  # another pair


def test_a_packet_that_comes_twice_spoils_its_message() -> None:
    target = make_target()
    packets = list(req.put(BASE, bytes(2 * MTU), MTU))
    assert told(run(target, packets[0], packets[0], packets[1], vc=2)) == [("COMPLETION", Status.UNSUPPORTED, 0x8000)]


@pytest.mark.parametrize("total", [1, MTU, MTU + 1, 5 * MTU])
def test_reads_come_back_in_packets(total: int) -> None:
    target = make_target()
    answers = run(target, req.get(BASE + 3, total, tag=12))
    packets = [one.transaction for one in answers]
    assert {one.vc for one in answers} == {2} and all(p.th.tag == 12 for p in packets)
    assert [p.th.context for p in packets] == list(range(len(packets)))
    assert [p.th.last for p in packets] == [0] * (len(packets) - 1) + [1]
    assert b"".join(p.parts[0] for p in packets) == target.memory.read(BASE + 3, total)
    told(answers)


def test_message_m_takes_the_mth_receive() -> None:
    target = make_target()
    target.post_receive(5, 7, BASE, 100)
    target.post_receive(5, 7, BASE + 0x100, 5000)
    second = shuffled(req.send(7, 1, b"b" * 5000, MTU, match=22, tag=0x8001), 2)
    assert told(run(target, *second, vc=2)) == [("COMPLETION", 0, 0x8001)]
    first = req.send(7, 0, b"a" * 100, MTU, match=11, immediate=b"12345678")
    assert told(run(target, *first, vc=2)) == [("COMPLETION", 0, 0x8000)]
    assert target.memory.read(BASE, 100) == b"a" * 100 and target.memory.read(BASE + 0x100, 5000) == b"b" * 5000
    assert target.deliveries == [
        Delivery(5, 0, 5000, b"", 7, 1, 22),
        Delivery(5, 0, 100, b"12345678", 7, 0, 11),
    ]


def test_a_message_before_its_receive_is_kept() -> None:
    target = make_target()
    assert told(run(target, *req.send(7, 0, b"early", MTU, match=1), vc=2)) == [("COMPLETION", 0, 0x8000)]
    packets = list(req.send(7, 1, b"x" * 3000, MTU, match=2, tag=0x8001))
    run(target, packets[1], vc=2)
    assert target.deliveries == []
    target.post_receive(5, 7, BASE, 64)
    target.post_receive(5, 7, BASE + 64, 3000)
    assert [one.message for one in target.deliveries] == [0]
    assert told(run(target, packets[0], vc=2)) == [("COMPLETION", 0, 0x8001)]
    assert [one.message for one in target.deliveries] == [0, 1]
    assert target.memory.read(BASE, 5) == b"early" and target.memory.read(BASE + 64, 3000) == b"x" * 3000
    run(target, *req.send(7, 2, b"too large", MTU), vc=2)
    target.post_receive(5, 7, BASE, 4)
    assert target.deliveries[-1].status is Status.ADDRESS and target.memory.read(BASE, 5) == b"early"


def test_receiver_not_ready_after_64_unexpected_messages_and_sent_anew() -> None:
    target = make_target()
    for number in range(64):
        assert told(run(target, *req.send(1, number, b"m", MTU, tag=0x8000 | number), vc=2))[0][1] == Status.OK
    refused = list(req.send(1, 64, b"y" * 3000, MTU, tag=0x8040))
    assert told(run(target, *refused, vc=2)) == [("COMPLETION", Status.RECEIVER_NOT_READY, 0x8040)]
    assert told(run(target, *req.send(1, 0, b"m", MTU, tag=0x8000), vc=2, src=6))[0][1] == Status.OK  # has its own room
    for _ in range(65):
        target.post_receive(5, 1, BASE, 4000)
    assert told(run(target, *req.send(1, 64, b"y" * 3000, MTU, tag=0x8041), vc=2)) == [("COMPLETION", 0, 0x8041)]
    assert [one.message for one in target.deliveries] == list(range(65))


def test_a_send_that_does_not_fit_or_may_not() -> None:
    target = make_target()
    target.post_receive(5, 1, BASE, 10)
    assert told(run(target, *req.send(1, 0, b"x" * 11, MTU), vc=2)) == [("COMPLETION", Status.ADDRESS, 0x8000)]
    assert told(run(target, *req.send(1, 1, b"x", MTU, context=FOREIGN), vc=2)) == [("COMPLETION", Status.PARTITION, 0x8000)]
    target.post_receive(5, 1, BASE + 0x3000, 10)
    assert told(run(target, *req.send(1, 1, b"x", MTU, context=RW), vc=2)) == [("COMPLETION", Status.ADDRESS, 0x8000)]
    assert target.deliveries == []
    with pytest.raises(ValueError, match="not in the memory"):
        target.post_receive(5, 1, 0, 10)


def test_results_are_remembered_for_again() -> None:
    target = make_target()
    target.memory.write(BASE, bytes(8))
    add = [req.atomic(BASE, (b"\x01" + bytes(7),), AtomicOp.ADD, ElementType.U64, tag=0x8000 | i) for i in range(65)]
    first = run(target, add[0])
    assert run(target, add[0], again=1) == first
    assert target.memory.read(BASE, 8)[0] == 1
    run(target, *add[1:])
    assert target.memory.read(BASE, 8)[0] == 65
    assert run(target, add[64], again=1) != [] and target.memory.read(BASE, 8)[0] == 65
    run(target, add[0], again=1)  # forgotten: 64 newer ones
    assert target.memory.read(BASE, 8)[0] == 66
    run(target, add[1], src=6, again=1)  # of another source
    assert target.memory.read(BASE, 8)[0] == 67
    target.post_receive(5, 1, BASE, 4000)
    packets = list(req.send(1, 0, b"z" * 3000, MTU, tag=0x9000))
    answers = run(target, *packets, vc=2)
    assert run(target, *packets, vc=2, again=1) == answers and len(target.deliveries) == 1


def test_windows_must_lie_in_memory() -> None:
    with pytest.raises(ValueError, match="window 3"):
        Memory(bytearray(64), {3: Window(0, 8, 64, Rights.ALL)})


# --- endpoint ----------------------------------------------------------------------------------------------------------


def endpoint(**more: Any) -> Endpoint:
    return Endpoint(300, make_target(), **more)


def answers_of(received: Received) -> list[Frame]:
    return [decode(data) for data in received.frames]


def test_answers_are_packed_on_the_path_of_the_request_and_acknowledge_it() -> None:
    one = endpoint()
    request = data_frame(
        5, 300, 0, 0, [req.load(BASE + 64 * i, 64, tag=i) for i in range(40)], entropy=0x1BF, partition=0, ack=(1, 9)
    )
    received = one.receive(encode(request))
    first, second = answers_of(received)
    assert received.verdict == "ACCEPT" and received.acknowledged == Acknowledged(5, 6, 1, 9, False)
    assert (first.rh.vc, first.rh.psn, first.rh.ack, first.rh.ack_vc, first.rh.ack_psn) == (1, 0, 1, 0, 0)
    assert (second.rh.psn, second.rh.ack) == (1, 0)
    assert first.oefh.entropy == 0x1BF and first.oefh.dst_id == 5
    assert len(first.transactions) + len(second.transactions) == 40


def test_psns_are_taken_in_order_whole_and_once() -> None:
    one = endpoint()
    target = one.target

    def store(psn: int, value: bytes, entropy: int = 0) -> str:
        return one.receive(encode(data_frame(5, 300, 0, psn, [req.store(BASE, value)], entropy=entropy))).verdict

    assert store(0, b"a") == "ACCEPT"
    assert store(2, b"c") == "GAP" and store(0xFFFF, b"z") == "DUPLICATE" and store(0, b"z") == "DUPLICATE"
    assert target.memory.read(BASE, 1) == b"a"
    assert store(1, b"b") == "ACCEPT" and store(0, b"p", entropy=0x40) == "ACCEPT"  # another path, another space
    assert one.counters == {"GAP": 1, "DUPLICATE": 2}


def test_a_list_that_does_not_parse_is_answered_and_its_psn_advances() -> None:
    one = endpoint()
    before = bytes(one.target.memory.data)
    bad = bytearray(encode(data_frame(5, 300, 0, 0, [req.store(BASE, b"x" * 8, tag=3), req.load(BASE, 8, tag=0x77)])))
    bad[24 + 24] = 40 << 2
    received = one.receive(seal(bad))
    (frame,) = answers_of(received)
    assert received.verdict == "OPCODE" and one.counters == {"OPCODE": 1}
    (answer,) = frame.transactions
    assert (answer.th.opcode, answer.th.kind, answer.th.tag) == (Opcode.ERROR, Status.UNSUPPORTED, 0x77)
    assert (frame.rh.ack, frame.rh.ack_psn) == (1, 0)
    assert one.target.memory.data == before
    assert one.receive(encode(data_frame(5, 300, 0, 1, []))).verdict == "ACCEPT"


def test_every_failed_check_has_its_counter() -> None:
    one = endpoint(partitions=(0, 4))
    good = encode(data_frame(5, 300, 0, 0, [req.load(BASE, 64, tag=1)], partition=4))
    changes: list[tuple[str, int, int]] = [
        ("ETHERTYPE", 12, 0x08),
        ("LENGTH", 9, 0x2D),
        ("DST", 1, 0x2D),
        ("ICRC", 30, 0xFF),
        ("VERSION", 16, 0x40),
        ("SRC", 17, 0x06),
        ("PARTITION", 21, 0x05),
        ("OP", 13, 0xB6),
        ("VC", 20, 0xC0),
        ("ACK", 20, 0x38),
    ]
    assert one.receive(good[:-1] + b"\0").verdict == "FCS"
    for reason, at, value in changes:
        bad = bytearray(good)
        bad[at] = value
        sealed = seal(bad) if reason not in ("ICRC", "LENGTH") else bytes(bad[:-4]) + seal(bad[:-4] + bad[-4:], end=0)[-4:]
        assert one.receive(sealed).verdict == reason, reason
    assert (
        one.receive(
            seal(bytearray(encode(ack_frame(5, 300, 0, 0)))[:18] + b"\0\1" + encode(ack_frame(5, 300, 0, 0))[20:])
        ).verdict
        == "PSN"
    )
    assert one.counters == dict.fromkeys(["FCS", "PSN", *(c[0] for c in changes)], 1)
    assert one.receive(good).verdict == "ACCEPT"  # none of them moved the PSN


def test_acks_and_control_frames() -> None:
    one = endpoint()
    ack = one.receive(encode(ack_frame(5, 300, 2, 17, entropy=0x40)))
    assert ack.acknowledged == Acknowledged(5, 1, 2, 17, False)
    nack = one.receive(encode(ack_frame(5, 300, 2, 17, op=RhOp.NACK)))
    assert nack.acknowledged == Acknowledged(5, 0, 2, 17, True)
    close = space_control(ControlType.CLOSE, 1, 2, 3)
    assert one.receive(encode(control_frame(5, 300, encode_control(close)))).control == close
    assert one.receive(encode(control_frame(5, 300, bytes(32)))).verdict == "TYPE"
    assert one.counters == {"TYPE": 1}


def test_a_result_of_another_turn_of_tags_is_never_taken_for_this_one() -> None:
    """One ATOMIC, then writes only, until its tag's turn comes round again: sent anew on another path, it must run."""
    target = make_target()
    target.memory.write(BASE, bytes(8))
    add = req.atomic(BASE, (b"\x01" + bytes(7),), AtomicOp.ADD, ElementType.U64, tag=0x8000)
    run(target, add)
    run(target, *req.put(BASE + 64, b"z", MTU, tag=0x8040), vc=2)  # same slot, 64 tags on
    run(target, add, again=1)
    assert target.memory.read(BASE, 8)[0] == 2
