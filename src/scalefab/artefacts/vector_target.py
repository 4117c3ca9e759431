"""Golden sequences: requests that reach a target, what they do to its memory, and the frames that go back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..protocol import requests as req
from ..protocol.atomics import FLOATS
from ..protocol.codec import encode
from ..protocol.endpoint import Endpoint
from ..protocol.frame import Transaction, WireFormat, data_frame
from ..protocol.layout import RhOp
from ..protocol.memory import Memory
from ..protocol.opcodes import AtomicOp, ElementType
from ..protocol.target import Target
from ..protocol.windows import Rights, Window
from .vector_faults import changed
from .vector_frames import pattern

SRC, DST = 5, 300
ORIGIN, SIZE = 0x1_0000, 0x1_0000
MTU = WireFormat().mtu
_BLOCK = 1024
READ_ONLY, FOREIGN, NO_ATOMICS = 1, 2, 3
WINDOWS = {
    0: Window(0, ORIGIN, SIZE, Rights.ALL),
    READ_ONLY: Window(0, ORIGIN, 0x1000, Rights.READ),
    FOREIGN: Window(9, ORIGIN, SIZE, Rights.ALL),
    NO_ATOMICS: Window(0, ORIGIN, 0x2000, Rights.READ | Rights.WRITE),
}


@dataclass(slots=True)
class Played:
    """One sequence, played on a fresh target: each step is kept with what it did."""

    name: str
    note: str
    steps: list[dict[str, Any]] = field(default_factory=list)
    _psn: dict[int, int] = field(default_factory=dict)
    _endpoint: Endpoint = field(init=False)

    def __post_init__(self) -> None:
        self._endpoint = Endpoint(DST, Target(Memory(bytearray(pattern(SIZE)), WINDOWS, ORIGIN)))

    def send(self, *transactions: Transaction, vc: int = 0, again: int = 0, one_a_frame: int = 0) -> Played:
        """Send transactions, packed or one a frame."""
        frames = req.request_frames(
            SRC, DST, vc, transactions, first_psn=self._psn.get(vc, 0), entropy=0x1BF, again=again, limit=one_a_frame
        )
        self._psn[vc] = self._psn.get(vc, 0) + len(frames)
        for frame in frames:
            self.raw(encode(frame))
        return self

    def raw(self, data: bytes) -> Played:
        """Send bytes."""
        target = self._endpoint.target
        before, heard = bytes(target.memory.data), len(target.deliveries)
        received = self._endpoint.receive(data)
        step = {
            "request": data.hex(),
            "verdict": str(received.verdict),
            "memory": _differences(before, target.memory.data),
            "responses": [one.hex() for one in received.frames],
            "deliveries": [_heard(one) for one in target.deliveries[heard:]],
        }
        self.steps.append(step)
        return self

    def post_receive(self, queue: int, address: int, size_bytes: int) -> Played:
        """Let the target's software post a receive."""
        target = self._endpoint.target
        before, heard = bytes(target.memory.data), len(target.deliveries)
        target.post_receive(SRC, queue, address, size_bytes)
        self.steps.append(
            {
                "post_receive": {"src": SRC, "queue": queue, "address": address, "size_bytes": size_bytes},
                "memory": _differences(before, target.memory.data),
                "deliveries": [_heard(one) for one in target.deliveries[heard:]],
            }
        )
        return self


def _differences(before: bytes, after: bytes | bytearray) -> list[dict[str, Any]]:
    """Return runs of changed bytes: address and what stands there now."""
    runs: list[list[int]] = []
    for start in range(0, len(before), _BLOCK):
        if before[start : start + _BLOCK] == after[start : start + _BLOCK]:
            continue
        for i in range(start, min(start + _BLOCK, len(before))):
            if before[i] == after[i]:
                continue
            if runs and runs[-1][1] == i:
                runs[-1][1] = i + 1
            else:
                runs.append([i, i + 1])
    return [{"address": ORIGIN + start, "hex": bytes(after[start:end]).hex()} for start, end in runs]


def _heard(one: Any) -> dict[str, Any]:
    out = {name: getattr(one, name) for name in ("src", "context", "bytes_count", "queue", "message", "match")}
    return out | {"immediate": one.immediate.hex(), "status": int(one.status)}


def sequences() -> Sequence[Played]:
    """Play all sequences."""
    return [make() for make in _MAKERS]


def _loads_and_stores() -> Played:
    out = Played("load-store", "every size, packed; a LOAD after a STORE in the same frame sees it")
    for power in range(10):
        size = 1 << power
        address = ORIGIN + 1024 + size
        out.send(req.store(address, pattern(size, power), tag=power + 1), req.load(address, size, tag=0x100 + power))
    return out.send(req.store(ORIGIN, b"\xaa", posted=1), req.fence(tag=7), req.probe(tag=8))


def _masked() -> Played:
    out = Played("store-masked", "bit i of the mask, 0 = most significant of byte i / 8, writes data byte i")
    for size, mask in ((1, 1), (2, 0b10), (8, 0xA5), (16, 0x8001), (512, int.from_bytes(pattern(64, 3)))):
        out.send(req.store_masked(ORIGIN + size, pattern(size, 0x80), mask, tag=size))
    return out


def _reductions() -> Played:
    out = Played("reduce", "every operation on every type, edges of each")
    for element in ElementType:
        for operation in (AtomicOp.ADD, AtomicOp.MIN, AtomicOp.MAX, AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR):
            if operation >= AtomicOp.AND and not element.is_integer:
                continue
            left, right = operands(element)
            out.send(
                req.store(ORIGIN, left, posted=1),
                req.reduce(ORIGIN, right, operation, element, tag=1),
                req.load(ORIGIN, len(left), tag=2),
            )
    return out


def operands(element: ElementType) -> tuple[bytes, bytes]:
    """Return two arrays of edges, 64 B each."""
    size, count = element.size_bytes, 64 // element.size_bytes
    half = 1 << 8 * size - 1
    if element in FLOATS:
        f = FLOATS[element]
        one = f.bias << f.fraction
        edges = [0, f.sign, one, one | f.sign, 1, f.infinity, f.infinity | f.sign, f.nan, f.infinity + 1, f.infinity - 1]
        edges += [one + 1, one + (1 << f.fraction - 1), (1 << f.fraction) - 1, (f.bias - f.fraction - 1) << f.fraction]
    else:
        edges = [0, 1, half - 1, half, half + 1, 2 * half - 1, 0x5A5A5A5A, 0x0F0F0F0F]
    left = [edges[i % len(edges)] for i in range(count)]
    right = [edges[(3 * i + 2) % len(edges)] for i in range(count)]
    return _words(left, size), _words(right, size)


def _words(values: Iterable[int], size: int) -> bytes:
    return b"".join(value.to_bytes(size, "little") for value in values)


def _atomics() -> Played:
    out = Played("atomic", "every operation on every type; the answer is the old value")
    tag = 0x8000
    for element in ElementType:
        left, right = operands(element)
        size = element.size_bytes
        for operation in AtomicOp:
            if operation in (AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR, AtomicOp.COMPARE_SWAP) and not element.is_integer:
                continue
            for i in range(2, 4):
                old, new = left[i * size :][:size], right[i * size :][:size]
                given = (old, new) if operation is AtomicOp.COMPARE_SWAP else (new,)
                store = req.store(ORIGIN + 64, old, posted=1)
                out.send(store, req.atomic(ORIGIN + 64, given, operation, element, tag=tag))
                tag += 1
    fail = (b"none", b"swap")
    return out.send(req.atomic(ORIGIN, fail, AtomicOp.COMPARE_SWAP, ElementType.U32, tag=tag))


def _puts() -> Played:
    out = Played("put", "packets out of order; immediate and signal when the message is whole")
    flag = ORIGIN + 0x9000
    out.send(*list(req.put(ORIGIN + 3, pattern(2 * MTU + 5, 1), MTU, tag=0x8000))[::-1], vc=2, one_a_frame=1)
    out.send(*list(req.put(ORIGIN, pattern(MTU + 1, 2), MTU, tag=0x8001, immediate=b"IMMEDIAT"))[::-1], vc=2)
    out.send(*list(req.put(ORIGIN, pattern(MTU + 9, 3), MTU, tag=0x8002, signal=req.Signal(flag, 77)))[::-1], vc=2)
    out.send(*req.put(ORIGIN, pattern(5, 4), MTU, tag=0x8003, signal=req.Signal(flag, 2**64 - 1, add=1)), vc=2)
    out.send(*req.put(ORIGIN, pattern(5, 5), MTU, tag=0x8004, posted=1), vc=2)
    return out.send(req.fence(tag=6), vc=2)


def _gets() -> Played:
    out = Played("get", "answers of one packet, of full packets, of a last one with a single byte")
    for i, total in enumerate((1, MTU, 2 * MTU + 1)):
        out.send(req.get(ORIGIN + 7 * i, total, tag=20 + i))
    return out


def _sends() -> Played:
    out = Played("send", "message m takes the m-th receive; one that is early is kept; the 65th is RECEIVER_NOT_READY")
    out.post_receive(7, ORIGIN, 4000).post_receive(7, ORIGIN + 0x1000, 16)
    out.send(*req.send(7, 1, pattern(16, 1), MTU, match=11, tag=0x8000), vc=2)
    out.send(*list(req.send(7, 0, pattern(3000, 2), MTU, match=10, tag=0x8001, immediate=b"IMMEDIAT"))[::-1], vc=2)
    out.send(*req.send(7, 2, pattern(33, 3), MTU, match=12, tag=0x8002), vc=2).post_receive(7, ORIGIN + 0x2000, 64)
    for i in range(64):
        out.send(*req.send(9, i, bytes([i]), MTU, tag=0x8010 + i), vc=2)
    out.send(*req.send(9, 64, b"no", MTU, tag=0x8050), vc=2).post_receive(9, ORIGIN + 0x3000, 8)
    return out.send(*req.send(9, 64, b"yes", MTU, tag=0x8051), vc=2)


def _refusals() -> Played:
    out = Played("status", "statuses that a target gives; a refused transaction writes nothing")
    listed = [
        req.load(ORIGIN - 64, 64, tag=1),
        req.load(ORIGIN, 64, context=77, tag=2),
        req.load(ORIGIN + 8, 64, tag=3),
        req.load(ORIGIN, 64, context=FOREIGN, tag=4),
        req.store(ORIGIN, b"x", context=READ_ONLY, tag=5),
        req.store(ORIGIN, b"x", context=READ_ONLY, posted=1),
        req.reduce(ORIGIN, bytes(8), AtomicOp.ADD, ElementType.U32, context=NO_ATOMICS, tag=6),
        req.reduce(ORIGIN + 4092, bytes(8), AtomicOp.ADD, ElementType.U32, tag=7),
        req.atomic(ORIGIN, (bytes(8),), AtomicOp.SWAP, ElementType.U64, context=READ_ONLY, tag=0x8000),
        req.get(ORIGIN, SIZE + 1, tag=8),
    ]
    out.send(*listed, one_a_frame=1)
    out.send(*req.put(ORIGIN + SIZE - MTU, bytes(MTU + 1), MTU, tag=0x8001), vc=2)
    out.send(*req.put(ORIGIN, b"x", MTU, context=READ_ONLY, tag=0x8002, posted=1), vc=2)
    return out.send(*req.send(1, 0, b"x", MTU, context=FOREIGN, tag=0x8003), vc=2)


def _orders() -> Played:
    out = Played("psn-and-lists", "duplicate, gap, a list that does not parse, frames that are dropped")
    stores = [encode(data_frame(SRC, DST, 0, psn, [req.store(ORIGIN, bytes([psn]), tag=psn + 1)])) for psn in range(4)]
    for i in (0, 2, 0, 1):
        out.raw(stores[i])
    bad = encode(data_frame(SRC, DST, 0, 2, [req.store(ORIGIN, b"12345678", tag=3), req.load(ORIGIN, 8, tag=0x77)]))
    out.raw(changed(bad, {48: 40 << 2})).raw(stores[3]).raw(stores[3][:-1] + b"\0")
    return out.raw(changed(stores[3], {16: int(RhOp.DATA) << 4 | 0x40}))


def _again() -> Played:
    out = Played("again", "ATOMIC and SEND sent again with again = 1 are answered from the result cache, not executed")
    add = req.atomic(ORIGIN, (b"\x01" + bytes(7),), AtomicOp.ADD, ElementType.U64, tag=0x8000)
    out.send(add).send(add, again=1).post_receive(1, ORIGIN + 64, 64)
    packets: Iterable[Transaction] = list(req.send(1, 0, b"once", MTU, tag=0x8001))
    return out.send(*packets, vc=2).send(*packets, vc=2, again=1)


_MAKERS: tuple[Callable[[], Played], ...] = (
    _loads_and_stores,
    _masked,
    _reductions,
    _atomics,
    _puts,
    _gets,
    _sends,
    _refusals,
    _orders,
    _again,
)
