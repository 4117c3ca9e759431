"""Requests of a source, and their packing into frames (open profile section 1, Packing).

Transactions of a frame share dst, path id, VC, partition and ``again``. They are packed in order, while they fit; nothing waits.
Every function returns transactions that `encoder` accepts if the arguments keep the profile's rules, and refuses if not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .bits import pack
from .frame import Frame, Th, Transaction, WireFormat, data_frame
from .layout import READ_TOTAL, SEND_ADDRESS, SIGNAL, Scope
from .messages import packets_of
from .opcodes import AtomicOp, ElementType
from .profile import FCS_BYTES, HEADER_BYTES, ICRC_BYTES, Opcode


@dataclass(frozen=True, slots=True)
class Signal:
    """Put-with-signal: the u64 at ``address`` is set to, or increased by, ``value`` when all bytes of the message are visible."""

    address: int
    value: int
    add: int = 0


def load(address: int, length: int, *, context: int = 0, tag: int = 0, scope: int = Scope.GPU) -> Transaction:
    """Ask for 1, 2, 4 .. 512 bytes."""
    return Transaction(Th(Opcode.LOAD, length, scope=scope, tag=tag, context=context, address=address))


def store(address: int, data: bytes, *, context: int = 0, tag: int = 0, posted: int = 0) -> Transaction:
    """Write 1, 2, 4 .. 512 bytes."""
    return Transaction(Th(Opcode.STORE, len(data), posted=posted, tag=tag, context=context, address=address), (data,))


def store_masked(address: int, data: bytes, mask: int, *, context: int = 0, tag: int = 0, posted: int = 0) -> Transaction:
    """Write the bytes i of ``data`` for which bit i of ``mask``, counted from the most significant of len(data) bits, is 1."""
    size = (len(data) + 7) // 8
    bits = (mask << 8 * size - len(data)).to_bytes(size)
    th = Th(Opcode.STORE_MASKED, len(data), posted=posted, tag=tag, context=context, address=address)
    return Transaction(th, (bits, data))


def reduce(
    address: int, data: bytes, operation: AtomicOp, element: ElementType, *, context: int = 0, tag: int = 0, posted: int = 0
) -> Transaction:
    """Combine elements into memory."""
    kind = operation << 4 | element
    th = Th(Opcode.REDUCE, len(data), posted=posted, kind=kind, tag=tag, context=context, address=address)
    return Transaction(th, (data,))


def atomic(
    address: int,
    operands: tuple[bytes, ...],
    operation: AtomicOp,
    element: ElementType,
    *,
    context: int = 0,
    tag: int = 0x8000,
    posted: int = 0,
) -> Transaction:
    """Combine one element, ask for the old value; ``operands``: (operand,), of compare-swap (compare, swap)."""
    kind = operation << 4 | element
    th = Th(Opcode.ATOMIC, element.size_bytes, posted=posted, kind=kind, tag=tag, context=context, address=address)
    return Transaction(th, operands)


def fence(*, tag: int = 0, scope: int = Scope.GPU) -> Transaction:
    """Ask when all that was accepted is visible."""
    return Transaction(Th(Opcode.FENCE, scope=scope, tag=tag))


def put(
    address: int,
    data: bytes,
    mtu: int,
    *,
    context: int = 0,
    tag: int = 0x8000,
    posted: int = 0,
    immediate: bytes | None = None,
    signal: Signal | None = None,
) -> Iterator[Transaction]:
    """Cut a message into RDMA_WRITE packets, with an immediate of 8 B or a signal in the last; ValueError for both."""
    if immediate is not None and signal is not None:
        raise ValueError("a message has an immediate or a signal")
    opcode = Opcode.RDMA_WRITE
    last_parts: tuple[bytes, ...] = ()
    if immediate is not None:
        opcode, last_parts = Opcode.RDMA_WRITE_IMM, (immediate,)
    if signal is not None:
        head = pack(SIGNAL, {"add": signal.add, "address": signal.address})
        opcode, last_parts = Opcode.RDMA_WRITE_SIG, (head, signal.value.to_bytes(8, "little"))
    for p in packets_of(len(data), mtu):
        th = Th(
            opcode,
            p.length,
            posted=posted,
            last=p.last,
            kind=context,
            tag=tag,
            context=p.index,
            address=address + p.start,
        )
        yield Transaction(th, (*(last_parts if p.last else ()), data[p.start : p.start + p.length]))


def get(address: int, total_bytes: int, *, context: int = 0, tag: int = 0) -> Transaction:
    """Ask for a whole message."""
    th = Th(Opcode.RDMA_READ, 8, kind=context, tag=tag, address=address)
    return Transaction(th, (pack(READ_TOTAL, {"total": total_bytes}),))


def send(
    queue: int,
    message: int,
    data: bytes,
    mtu: int,
    *,
    match: int = 0,
    context: int = 0,
    tag: int = 0x8000,
    posted: int = 0,
    immediate: bytes | None = None,
) -> Iterator[Transaction]:
    """Cut message number ``message`` of (src, dst, queue) into SEND packets."""
    address = int.from_bytes(pack(SEND_ADDRESS, {"queue": queue, "message": message, "match": match}))
    opcode = Opcode.SEND if immediate is None else Opcode.SEND_IMM
    for p in packets_of(len(data), mtu):
        th = Th(opcode, p.length, posted=posted, last=p.last, kind=context, tag=tag, context=p.index, address=address)
        head = (immediate,) if p.last and immediate is not None else ()
        yield Transaction(th, (*head, data[p.start : p.start + p.length]))


def probe(*, tag: int = 0) -> Transaction:
    """Measure a path's round trip."""
    return Transaction(Th(Opcode.PROBE, tag=tag))


def room_bytes(frame_max: int) -> int:
    """Return how many bytes of transactions a frame holds."""
    return frame_max - HEADER_BYTES - ICRC_BYTES - FCS_BYTES


def pack_transactions(transactions: Iterable[Transaction], frame_max: int, limit: int = 0) -> Iterator[tuple[Transaction, ...]]:
    """Pack transactions in order, as many a frame as fit; ``limit`` 1 = one a frame, 0 = no limit but the frame."""
    room, packed = room_bytes(frame_max), list[Transaction]()
    for one in transactions:
        if packed and (one.size_bytes > room or len(packed) == limit):
            yield tuple(packed)
            room, packed = room_bytes(frame_max), []
        packed.append(one)
        room -= one.size_bytes
    if packed:
        yield tuple(packed)


def request_frames(
    src: int,
    dst: int,
    vc: int,
    transactions: Iterable[Transaction],
    *,
    first_psn: int = 0,
    entropy: int = 0,
    partition: int = 0,
    again: int = 0,
    limit: int = 0,
    wire: WireFormat | None = None,
) -> list[Frame]:
    """Build the DATA frames of transactions that wait for the same (dst, path id, VC), PSNs counting from ``first_psn``."""
    frame_max = (wire or WireFormat()).frame_max
    return [
        data_frame(src, dst, vc, (first_psn + i) & 0xFFFF, listed, entropy=entropy, partition=partition, again=again)
        for i, listed in enumerate(pack_transactions(transactions, frame_max, limit))
    ]
