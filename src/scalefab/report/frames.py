"""Rows of a trace as frames of the profile, and their bytes at each hop.

The simulator keeps who, where and how much; what it does not keep is filled in by rules that anyone can repeat:

- data of which the graph does not say more: at address a the byte a mod 8 of the little-endian 64-bit integer a - a mod 8, memory
  that holds its own addresses;
- tags: serial per (src, dst) and tag space in the order of the graph, bit 15 as in the profile; posted STORE and REDUCE 0;
- a FENCE takes a tag of the upper half of the free ones, from its operation, attempt and space;
- REDUCE adds f32; an ATOMIC of which the graph does not say more adds u32 or u64;
- SEND goes to queue 0, its match is the operation's tag; context ids are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..compiled import interpreted
from ..fabric.arrays import Fabric
from ..protocol import multipath, operations
from ..protocol.codec import encode, pack
from ..protocol.frame import Frame, Th, Transaction, WireFormat, ack_frame, data_frame
from ..protocol.icrc import fcs
from ..protocol.layout import FCS, READ_TOTAL, SEND_ADDRESS, SIGNAL, TTL_SENT
from ..protocol.opcodes import AtomicOp, ElementType
from ..protocol.profile import FCS_BYTES, MESSAGE_MAX_PACKETS, VC_BULK, Kind, Opcode
from ..simulator.trace import Trace
from ..workload.graph import OperationGraph

I8 = NDArray[np.int64]

_TTL_AT = 14  # byte of NET that ends with ttl
_SERIAL_BIT = 1 << 15  # the tag space of ATOMIC, SEND and RDMA_WRITE
_BULK = (Kind.PUT, Kind.GET, Kind.SEND, Kind.PUT_SIGNAL)
_SERIAL = (Kind.ATOMIC, Kind.PUT, Kind.SEND, Kind.PUT_SIGNAL)
_FENCE_TAGS = 1 << 14  # upper half of the free tags
_PER_PACKET = (multipath.Spray.ROUND_ROBIN, multipath.Spray.LEAST_QUEUED)
_REDUCE_KIND = AtomicOp.ADD << 4 | ElementType.F32

_packet_bytes = cast("Callable[[int, int, int, int], int]", interpreted(operations.packet_bytes))
_transaction_bytes = cast("Callable[[int, int, int], int]", interpreted(operations.transaction_bytes))
_message_packets = cast("Callable[[int, int], int]", interpreted(operations.message_packets))


class FrameMaker:
    """Turns the rows of one run's trace into frames.

    Parameters
    ----------
    graph, fabric
        Of the run.
    trace
        Its trace.
    spray
        Policy of VC 2: per packet policies set NET.ar.
    """

    def __init__(self, graph: OperationGraph, fabric: Fabric, trace: Trace, spray: multipath.Spray) -> None:
        self._graph, self._fabric, self._trace = graph, fabric, trace
        self._sprayed = spray in _PER_PACKET
        self._mtu = fabric.spec.mtu
        self.wire = WireFormat(frame_max=fabric.spec.frame_max)
        self._message_bytes = _message_sizes(graph, self._mtu)
        self._first_tag = _first_serials(graph, self._message_bytes)
        self._values = {int(op): i for i, op in enumerate(graph.values.op)}
        self._signals = {int(op): i for i, op in enumerate(graph.signals.op)}
        self._first_message = _serials(graph, np.isin(graph.kind, (Kind.SEND,)), _units(graph, self._message_bytes))

    def frame(self, row: int) -> Frame:
        """Return the frame of a row of ``trace.frames``, as its source sends it."""
        r = self._trace.frames[row]
        if r["kind"]:
            return ack_frame(int(r["src"]), int(r["dst"]), int(r["ack_vc"]), int(r["ack_psn"]), entropy=self._entropy(r, 0))
        runs = self._trace.runs[int(r["run_first"]) : int(r["run_first"]) + int(r["run_count"])]
        answer = bool(r["answer"])
        units = [(int(op), int(first) + i) for op, first, count in runs.tolist() for i in range(count)]
        return data_frame(
            int(r["src"]),
            int(r["dst"]),
            int(r["vc"]),
            int(r["psn"]),
            [self._transaction(op, unit, answer) for op, unit in units],
            entropy=self._entropy(r, self._hash(*units[0], answer)),
            ar=int(self._sprayed and r["vc"] == VC_BULK),
            ack=(int(r["ack_vc"]), int(r["ack_psn"])) if r["ack"] else None,
        )

    def encoded(self, row: int) -> bytes:
        """Return the bytes of a frame, OEFH .. FCS, as its source sends it.

        Raises
        ------
        RuntimeError
            They are not as many as the simulator counted: a defect.
        """
        data = encode(self.frame(row), self.wire)
        if len(data) != int(self._trace.frames[row]["size_bytes"]):
            wanted = int(self._trace.frames[row]["size_bytes"])
            raise RuntimeError(f"defect: frame {row} has {len(data)} bytes on the wire, {wanted} in the simulator")
        return data

    def _entropy(self, row: Any, hashed: int) -> int:
        return self._fabric.path_id(int(row["path"])) << 6 | hashed & 63

    def _hash(self, op: int, unit: int, answer: bool) -> int:
        address = int(self._graph.address[op]) + self._offset(op, unit, answer)
        return int(multipath.page_hash(address, int(self._graph.dst[op])))

    def _place(self, op: int, unit: int) -> tuple[int, int, int]:
        """Return (message, packet in it, offset in the operation) of packet ``unit`` of a bulk operation."""
        size = int(self._message_bytes[op])
        message, packet = divmod(unit, _message_packets(size, self._mtu))
        return message, packet, message * size + packet * self._mtu

    def _offset(self, op: int, unit: int, answer: bool) -> int:
        kind = self._graph.kind[op]
        if kind not in _BULK:
            return unit * int(self._graph.chunk[op])
        if answer != (kind == Kind.GET):  # a COMPLETION or a read request: the unit is a message
            return unit * int(self._message_bytes[op])
        return self._place(op, unit)[2]

    def _transaction(self, op: int, unit: int, answer: bool) -> Transaction:
        kind = Kind(int(self._graph.kind[op]))
        if kind is Kind.GET:
            return self._read(op, unit, answer)
        if kind is Kind.FENCE:
            tag = _FENCE_TAGS | (op * 61 + unit) % _FENCE_TAGS
            return Transaction(Th(Opcode.FENCE_RSP, posted=1, tag=tag) if answer else Th(Opcode.FENCE, tag=tag))
        if kind in _BULK:
            return self._completion(op, unit) if answer else self._packet(op, unit, kind)
        return self._answer(op, unit, kind) if answer else self._request(op, unit, kind)

    def _tag(self, op: int, serial: int, kind: Kind) -> int:
        if kind in (Kind.STORE, Kind.REDUCE) and self._graph.posted[op]:
            return 0
        space = _SERIAL_BIT if kind in _SERIAL else 0
        return space | (int(self._first_tag[op]) + serial) % _SERIAL_BIT

    def _request(self, op: int, unit: int, kind: Kind) -> Transaction:
        graph = self._graph
        size = _transaction_bytes(int(graph.bytes[op]), int(graph.chunk[op]), unit)
        address = int(graph.address[op]) + unit * int(graph.chunk[op])
        reduction, operands = (
            self._atomic(op, address, size) if kind is Kind.ATOMIC else (_REDUCE_KIND if kind is Kind.REDUCE else 0, ())
        )
        th = Th(
            operations.REQUEST_OPCODE[kind],
            length=size,
            order=int(graph.order[op]),
            posted=int(graph.posted[op]),
            kind=reduction,
            tag=self._tag(op, unit, kind),
            address=address,
        )
        return Transaction(th, () if kind is Kind.LOAD else operands or (self._written(op, address, size),))

    def _written(self, op: int, address: int, size_bytes: int) -> bytes:
        """Return the data of one transaction or packet: where the graph says which, its first 8 B are that value."""
        row, data = self._values.get(op), memory_bytes(address, size_bytes)
        return (
            data
            if row is None
            else (int(self._graph.values.value[row]).to_bytes(8, "little", signed=True) + data[8:])[:size_bytes]
        )

    def _atomic(self, op: int, address: int, size_bytes: int) -> tuple[int, tuple[bytes, ...]]:
        """Return TH.kind and the operands: what the graph says of the operation, else an add of memory's own word."""
        row = self._values.get(op)
        if row is None:
            return _atomic_kind(size_bytes), ()
        values = self._graph.values
        operation = AtomicOp(int(values.operation[row]))
        operands = [int(values.value[row])]
        if operation is AtomicOp.COMPARE_SWAP:
            operands.insert(0, int(values.compare[row]))
        return operation << 4 | int(values.element[row]), tuple(one.to_bytes(8, "little", signed=True) for one in operands)

    def _answer(self, op: int, unit: int, kind: Kind) -> Transaction:
        graph = self._graph
        carries = kind in (Kind.LOAD, Kind.ATOMIC)
        size = _transaction_bytes(int(graph.bytes[op]), int(graph.chunk[op]), unit) if carries else 0
        address = int(graph.address[op]) + unit * int(graph.chunk[op])
        th = Th(operations.RESPONSE_OPCODE[kind], length=size, posted=1, tag=self._tag(op, unit, kind))
        return Transaction(th, (memory_bytes(address, size),) if carries else ())

    def _packet(self, op: int, unit: int, kind: Kind) -> Transaction:
        graph = self._graph
        message, packet, offset = self._place(op, unit)
        size = _packet_bytes(int(graph.bytes[op]), int(self._message_bytes[op]), self._mtu, unit)
        address = int(graph.address[op]) + offset
        target = address
        if kind is Kind.SEND:
            number = (int(self._first_message[op]) + message) & 0xFFFF
            match = int(graph.tag[op]) & 0xFFFFFFFF
            target = int.from_bytes(pack(SEND_ADDRESS, {"queue": 0, "message": number, "match": match}))
        th = Th(
            operations.REQUEST_OPCODE[kind],
            length=size,
            order=int(graph.order[op]),
            posted=int(graph.posted[op]),
            last=int(self._is_last(op, message, packet)),
            tag=self._tag(op, message, kind),
            context=packet,
            address=target,
        )
        data = self._written(op, address, size)
        return Transaction(th, (*self._signal(op), data) if kind is Kind.PUT_SIGNAL and th.last else (data,))

    def _signal(self, op: int) -> tuple[bytes, bytes]:
        row, signals = self._signals[op], self._graph.signals
        head = pack(SIGNAL, {"add": int(signals.add[row]), "address": int(signals.address[row])})
        return head, int(signals.value[row]).to_bytes(8, "little", signed=True)

    def _is_last(self, op: int, message: int, packet: int) -> bool:
        size = min(int(self._message_bytes[op]), int(self._graph.bytes[op]) - message * int(self._message_bytes[op]))
        return packet == _message_packets(size, self._mtu) - 1

    def _completion(self, op: int, message: int) -> Transaction:
        kind = Kind(int(self._graph.kind[op]))
        return Transaction(Th(Opcode.COMPLETION, posted=1, tag=self._tag(op, message, kind)))

    def _read(self, op: int, unit: int, answer: bool) -> Transaction:
        graph = self._graph
        size = int(self._message_bytes[op])
        if not answer:
            total = min(size, int(graph.bytes[op]) - unit * size)
            address = int(graph.address[op]) + unit * size
            th = Th(Opcode.RDMA_READ, 8, int(graph.order[op]), tag=self._tag(op, unit, Kind.GET), address=address)
            return Transaction(th, (pack(READ_TOTAL, {"total": total}),))
        message, packet, offset = self._place(op, unit)
        data = memory_bytes(int(graph.address[op]) + offset, _packet_bytes(int(graph.bytes[op]), size, self._mtu, unit))
        th = Th(
            Opcode.RDMA_READ_RSP,
            length=len(data),
            posted=1,
            last=int(self._is_last(op, message, packet)),
            tag=self._tag(op, message, Kind.GET),
            context=packet,
        )
        return Transaction(th, (data,))


def at_hop(data: bytes, hop: int) -> bytes:
    """Return a frame's bytes after ``hop`` switches: each has taken one from ttl and made the FCS anew."""
    if hop == 0:
        return data
    changed = bytearray(data[:-FCS_BYTES])
    changed[_TTL_AT] = changed[_TTL_AT] & 0xF0 | (TTL_SENT - hop)
    return bytes(changed) + pack(FCS, {"fcs": fcs(changed)})


def memory_bytes(address: int, size_bytes: int) -> bytes:
    """Return what a capture shows at ``address``: every aligned 8 B word holds its own address, little-endian."""
    first = address & ~7
    words = np.arange(first, address + size_bytes, 8, dtype="<u8").tobytes()
    return words[address - first : address - first + size_bytes]


def _atomic_kind(size_bytes: int) -> int:
    return AtomicOp.ADD << 4 | (ElementType.U32 if size_bytes == 4 else ElementType.U64)


def _message_sizes(graph: OperationGraph, mtu: int) -> I8:
    """Bytes of a message of each bulk operation: its chunk, or all of it; never more than a packet index can count."""
    chunk = graph.chunk.astype(np.int64)
    whole = np.where((chunk <= 0) | (chunk >= graph.bytes), graph.bytes, chunk)
    return np.asarray(np.minimum(whole, MESSAGE_MAX_PACKETS * mtu))


def _units(graph: OperationGraph, message_bytes: I8) -> I8:
    """Tags that each operation takes: one a message, or one a transaction."""
    size = np.where(np.isin(graph.kind, _BULK), message_bytes, np.maximum(graph.chunk, 1))
    return np.asarray(-(-graph.bytes // np.maximum(size, 1)))


def _serials(graph: OperationGraph, chosen: NDArray[np.bool_], units: I8) -> I8:
    """Return for each chosen operation how many units the chosen ones before it took at the same (src, dst)."""
    found = np.zeros(len(graph), np.int64)
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return found
    pair = graph.src[rows].astype(np.int64) << 32 | graph.dst[rows].astype(np.int64)
    order = np.argsort(pair, kind="stable")
    before = np.cumsum(units[rows][order]) - units[rows][order]
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    base = np.repeat(before[starts], np.diff(np.append(starts, len(rows))))
    found[rows[order]] = before - base
    return found


def _first_serials(graph: OperationGraph, message_bytes: I8) -> I8:
    """Return the first serial of each operation in its tag space (operations without tags: 0)."""
    units = _units(graph, message_bytes)
    serial = np.isin(graph.kind, _SERIAL)
    untagged = np.isin(graph.kind, (Kind.STORE, Kind.REDUCE)) & (graph.posted != 0)
    free = np.isin(graph.kind, (Kind.LOAD, Kind.STORE, Kind.REDUCE, Kind.GET)) & ~untagged
    return _serials(graph, serial, units) + _serials(graph, free, units)
