"""Tags, messages, packing, windows: the source's rules and the small models beneath the target."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalefab.errors import InfeasibleError
from scalefab.protocol import requests as req
from scalefab.protocol.codec import decode, encode
from scalefab.protocol.frame import WireFormat
from scalefab.protocol.messages import Arrival, Assembly, messages_of, packets_of
from scalefab.protocol.opcodes import AtomicOp, ElementType, Status
from scalefab.protocol.profile import Opcode
from scalefab.protocol.tags import Tags, is_serial
from scalefab.protocol.windows import Rights, Window, permission

MTU = 1984


def test_two_tag_spaces() -> None:
    serial = {o for o in Opcode if o in (7, 16, 17, 20, 21, 23)}
    assert {o for o in Opcode if is_serial(o)} == serial
    tags = Tags(first_serial=0x7FFE)
    assert [tags.take(Opcode.LOAD) for _ in range(3)] == [1, 2, 3]
    assert [tags.take(Opcode.ATOMIC), tags.take(Opcode.SEND), tags.take(Opcode.RDMA_WRITE)] == [0xFFFE, 0xFFFF, 0x8000]
    tags.release(2)
    assert tags.take(Opcode.FENCE) == 4
    assert tags.open_count == 6
    with pytest.raises(KeyError):
        tags.release(2)


def test_posted_stores_share_tag_0_which_nothing_else_takes() -> None:
    tags = Tags()
    assert [tags.take(o, posted=True) for o in (Opcode.STORE, Opcode.STORE_MASKED, Opcode.REDUCE)] == [0, 0, 0]
    assert tags.open_count == 0
    taken = [tags.take(Opcode.LOAD) for _ in range(0x7FFF)]
    assert sorted(taken) == list(range(1, 0x8000)) and not tags.may_take(Opcode.LOAD)
    with pytest.raises(InfeasibleError, match="no tag is free for LOAD"):
        tags.take(Opcode.LOAD)
    tags.release(77)
    assert tags.take(Opcode.PROBE) == 77


def test_at_most_64_messages_are_open() -> None:
    tags = Tags()
    first = [tags.take(Opcode.RDMA_WRITE, posted=True) for _ in range(64)]
    assert not tags.may_take(Opcode.SEND) and tags.may_take(Opcode.LOAD)
    tags.release(first[5])
    assert not tags.may_take(Opcode.SEND)  # the oldest holds the others back
    tags.release(first[0])
    assert tags.take(Opcode.SEND) == 0x8040


def test_a_serial_tag_that_is_still_open_is_waited_for() -> None:
    """Results are remembered for 64 tags: nobody may be 64 or more ahead of the oldest open one."""
    tags = Tags(first_serial=0x7FF0)
    oldest = tags.take(Opcode.ATOMIC)
    for _ in range(63):
        tags.release(tags.take(Opcode.ATOMIC))
    assert tags.open_count == 1 and not tags.may_take(Opcode.ATOMIC)
    tags.release(oldest)
    assert tags.take(Opcode.ATOMIC) == 0x8000 | (0x7FF0 + 64) & 0x7FFF


@given(st.integers(1, 40_000), st.sampled_from([64, 1984, 4096]), st.randoms())
def test_a_message_is_whole_when_all_packets_are_there_in_any_order(size: int, mtu: int, rng: random.Random) -> None:
    packets = list(packets_of(size, mtu))
    assert sum(p.length for p in packets) == size and all(p.length == mtu for p in packets[:-1])
    assert [p.last for p in packets] == [0] * (len(packets) - 1) + [1]
    rng.shuffle(packets)
    assembly = Assembly()
    said = [assembly.add(p.index, p.last, p.length) for p in packets]
    assert said == [Arrival.PART] * (len(packets) - 1) + [Arrival.WHOLE]
    assert assembly.bytes_count == size


def test_packets_that_cannot_be() -> None:
    one = Assembly()
    assert one.add(3, 0, 64) is Arrival.PART
    assert one.add(3, 0, 64) is Arrival.WRONG
    assert one.add(2, 1, 64) is Arrival.WRONG  # the last before one that has come
    assert one.add(4, 1, 64) is Arrival.PART
    assert one.add(5, 0, 64) is Arrival.WRONG
    assert one.add(5, 1, 64) is Arrival.WRONG
    assert [one.add(i, 0, 64) for i in range(3)][-1] is Arrival.WHOLE


def test_sizes_of_messages() -> None:
    largest = 65_536 * MTU
    assert list(messages_of(largest + 1, MTU)) == [(0, largest), (largest, 1)]
    assert sum(1 for _ in packets_of(largest, MTU)) == 65_536
    for size in (0, largest + 1):
        with pytest.raises(ValueError, match="no message"):
            next(packets_of(size, MTU))
    with pytest.raises(ValueError, match="no operation"):
        next(messages_of(0, MTU))


@pytest.mark.parametrize(("size", "most"), [(256, 7), (128, 14), (64, 25)])
def test_packing_takes_in_order_what_fits(size: int, most: int) -> None:
    stores = [req.store(size * i, bytes([i]) * size) for i in range(2 * most + 1)]
    packed = list(req.pack_transactions(stores, 2048))
    assert [len(one) for one in packed] == [most, most, 1]
    assert [t for one in packed for t in one] == stores
    assert [len(one) for one in req.pack_transactions(stores, 2048, limit=1)] == [1] * len(stores)
    frames = req.request_frames(1, 2, 0, stores, first_psn=0xFFFF, entropy=0x40, partition=3)
    assert [f.rh.psn for f in frames] == [0xFFFF, 0, 1]
    assert all(decode(encode(f)) == f for f in frames)


def test_every_request_is_one_that_the_codec_takes() -> None:
    listed = [
        req.load(64, 64, tag=1),
        req.store(64, b"ab", posted=1),
        req.store_masked(64, b"abcd", 0b1010, tag=2),
        req.reduce(64, bytes(64), AtomicOp.ADD, ElementType.BF16, tag=3),
        req.atomic(64, (bytes(8), bytes(8)), AtomicOp.COMPARE_SWAP, ElementType.U64),
        req.atomic(64, (bytes(2),), AtomicOp.SWAP, ElementType.F16),
        req.fence(tag=5),
        req.get(0, 65_536 * MTU, tag=6),
        req.probe(tag=7),
    ]
    bulk = [
        *req.put(3, bytes(5000), MTU, immediate=b"12345678"),
        *req.put(3, bytes(1984), MTU, signal=req.Signal(8, 2**64 - 1, 1)),
        *req.send(1, 2, bytes(4000), MTU, match=3, immediate=b"12345678"),
        *req.send(1, 3, b"x", MTU),
    ]
    for vc, transactions in ((0, listed), (2, bulk)):
        for frame in req.request_frames(1, 2, vc, transactions):
            assert decode(encode(frame)) == frame
    assert req.store_masked(0, b"abcdefghij", 1).parts[0] == b"\x00\x40"
    with pytest.raises(ValueError, match="or a signal"):
        list(req.put(0, b"x", MTU, immediate=bytes(8), signal=req.Signal(0, 0)))


def test_room_of_a_frame() -> None:
    assert req.room_bytes(2048) == 2016
    (frame,) = req.request_frames(1, 2, 2, req.put(0, bytes(4096), 4096), wire=WireFormat(4160))
    assert len(encode(frame, WireFormat(4160))) == 4144


PERMISSIONS = [
    (7, 1, 0x100, 8, Rights.READ, Status.ADDRESS),  # no such window
    (0, 2, 0x100, 8, Rights.READ, Status.PARTITION),
    (0, 2, 0xFFFF, 8, Rights.ATOMIC, Status.PARTITION),  # before bounds and rights
    (0, 1, 0xFF, 8, Rights.READ, Status.ADDRESS),
    (0, 1, 0x1F9, 8, Rights.ATOMIC, Status.ADDRESS),  # before rights
    (0, 1, 0x1F8, 8, Rights.READ, Status.OK),
    (0, 1, 0x100, 256, Rights.READ | Rights.WRITE, Status.OK),
    (0, 1, 0x100, 8, Rights.ATOMIC, Status.PERMISSION),
    (0, 1, 0x100, 8, Rights.READ | Rights.ATOMIC, Status.PERMISSION),
]


@pytest.mark.parametrize(("context", "partition", "address", "size", "rights", "wanted"), PERMISSIONS)
def test_permission(context: int, partition: int, address: int, size: int, rights: Rights, wanted: Status) -> None:
    windows = {0: Window(1, 0x100, 256, Rights.READ | Rights.WRITE)}
    assert permission(windows, context, partition, address, size, rights) is wanted


@pytest.mark.parametrize(("base", "size"), [(-1, 8), (0, 0), ((1 << 57) - 7, 8)])
def test_windows_that_cannot_be(base: int, size: int) -> None:
    with pytest.raises(ValueError, match="no window"):
        Window(0, base, size, Rights.ALL)
