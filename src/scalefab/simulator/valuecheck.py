"""Values at addresses after a run: what they are, and whether all atomics together make them. No Numba here.

The check follows from the operation graph alone, not from what the kernel computed: where all operations on an address are the
same one, and their order does not matter, there is one right value; adds of one number bring back each partial sum once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocol.opcodes import AtomicOp, ElementType
from ..protocol.profile import Kind
from ..workload.graph import OperationGraph
from ..workload.values import INTEGERS, size_bytes
from .memory import I8, CellValues, Memory

U8 = NDArray[np.uint64]

_SUMS = {AtomicOp.ADD: np.add, AtomicOp.AND: np.bitwise_and, AtomicOp.OR: np.bitwise_or, AtomicOp.XOR: np.bitwise_xor}
_ENDS = {AtomicOp.MIN: np.minimum, AtomicOp.MAX: np.maximum}
_TURN = {ElementType.I32: 1 << 31, ElementType.I64: 1 << 63}  # unsigned numbers order as these once their sign is turned over
_MASK = {4: np.uint64((1 << 32) - 1), 8: np.uint64((1 << 64) - 1)}
_KINDS = 8  # element types
LSU_KINDS = (Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.REDUCE)


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Transactions and packets whose values are followed, then signals: target, address, bytes, row of ``graph.values`` or -1."""

    dst: I8
    address: I8
    size_bytes: I8
    row: I8


def followed(graph: OperationGraph, units: Any, mtu: int) -> Followed:
    """Return what changes values that are followed; ``units``: transactions or packets of each operation."""
    op = graph.values.op
    count = np.asarray(units, np.int64)[op]
    row = np.repeat(np.arange(len(op), dtype=np.int64), count)
    index = np.arange(len(row), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
    chunk = np.where(np.isin(graph.kind[op], LSU_KINDS), graph.chunk[op], mtu).astype(np.int64)
    signals = graph.signals
    return Followed(
        np.concatenate([graph.dst[op].astype(np.int64)[row], graph.dst[signals.op].astype(np.int64)]),
        np.concatenate([graph.address[op][row] + index * chunk[row], signals.address]),
        np.concatenate([size_bytes(graph.values.element)[row], np.full(len(signals), 8)]),
        np.concatenate([row, np.full(len(signals), -1)]),
    )


def with_values(memory: Memory, graph: OperationGraph, units: Any, mtu: int, cell: Any, fetched: Any) -> Memory:
    """Add final values, and check those that do not depend on the order of operations once all are executed.

    Parameters
    ----------
    memory
        What was found of segments.
    graph, units
        Operations, and the transactions or packets of each.
    mtu
        Bytes of a full packet.
    cell, fetched
        The kernel's `records.State`.
    """
    used = cell[cell.used == 1]
    order = np.lexsort((used.address, used.dst))
    dst, address, value = (np.asarray(used[name][order], np.int64) for name in ("dst", "address", "value"))
    text = np.stack([dst, address, value]).astype("<i8").tobytes()
    told = followed(graph, units, mtu)
    row = told.row[told.row >= 0]
    fetched = np.array(fetched[: len(row)], np.int64)
    cells = CellValues(dst, address, value, graph.values.op.astype(np.int64)[row], fetched)
    found = replace(memory, addresses=len(value), digest=sha256(text).hexdigest(), cells=cells)
    if memory.executed < memory.segments or memory.failures:  # then sums cannot be right
        return found
    place = _places(dst, address, told.dst, told.address)
    others, signalled = place[: len(row)], place[len(row) :]
    wrong, unfetched = 0, 0
    if len(row):
        wrong, unfetched = _check(graph, others, signalled, row, value.view(np.uint64), fetched.view(np.uint64))
    return replace(found, wrong=wrong + _wrong_signals(graph, others, signalled, value), unfetched=unfetched)


def _wrong_signals(graph: OperationGraph, others: I8, signalled: I8, value: I8) -> int:
    """Return how many addresses that signals alone increase hold another value than their sum."""
    adds = np.ones(len(value), bool)
    adds[others] = False
    adds[signalled[graph.signals.add == 0]] = False
    expected = np.zeros(len(value), np.int64)
    np.add.at(expected, signalled, graph.signals.value)
    mine = np.zeros(len(value), bool)
    mine[signalled] = True
    return int(np.count_nonzero((expected != value)[adds & mine]))


def _check(graph: OperationGraph, place: I8, signalled: I8, row: I8, value: U8, fetched: U8) -> tuple[int, int]:
    """Return how many addresses hold a wrong value, and how many gave adds a wrong set of partial sums; not where signals go."""
    rows = graph.values
    kind = (rows.operation.astype(np.int64) * _KINDS + rows.element)[row]
    operand = rows.value.view(np.uint64)[row]
    first = _first(place, len(value))
    alike, constant = np.ones(len(value), bool), np.ones(len(value), bool)
    alike[place[kind != kind[first][place]]] = False
    alike[signalled] = False
    constant[place[operand != operand[first][place]]] = False
    wrong = unfetched = 0
    for operation in (*_SUMS, *_ENDS):
        for element in INTEGERS:
            chosen = alike & (kind[first] == int(operation) * _KINDS + int(element))
            if not chosen.any():
                continue
            mine = chosen[place]
            mask = _MASK[element.size_bytes]
            turn = np.uint64(_TURN.get(element, 0) if operation in _ENDS else 0)
            expected = np.full(len(value), turn, np.uint64)
            {**_SUMS, **_ENDS}[operation].at(expected, place[mine], operand[mine] ^ turn)
            wrong += int(np.count_nonzero((expected[chosen] ^ turn) & mask != value[chosen]))
            if operation is AtomicOp.ADD:
                mine = (chosen & constant)[place]
                unfetched += _unfetched(place[mine], operand[mine], fetched[mine], mask)
    return wrong, unfetched


def _unfetched(place: I8, operand: U8, fetched: U8, mask: np.uint64) -> int:
    """Count places whose adds of one number did not find 0, 1, 2 ... times that number, each once, in any order."""
    if not len(place):
        return 0
    order = np.argsort(place, kind="stable")
    place, operand, fetched = place[order], operand[order], fetched[order]
    starts = np.append(0, np.flatnonzero(np.diff(place)) + 1)
    number = np.arange(len(place)) - np.repeat(starts, np.diff(np.append(starts, len(place))))
    expected = number.astype(np.uint64) * operand & mask
    differ = fetched[np.lexsort((fetched, place))] != expected[np.lexsort((expected, place))]
    return len(np.unique(place[differ]))


def _first(place: I8, places: int) -> I8:
    """Return a transaction of each place."""
    out = np.zeros(places, np.int64)
    out[place] = np.arange(len(place))
    return out


def _places(dst: I8, address: I8, to: I8, at: I8) -> I8:
    """Return where each (to, at) stands among the pairs (dst, address), which are in order and hold them all."""
    order = np.lexsort((at, to))
    new = np.append(True, (np.diff(to[order]) != 0) | (np.diff(at[order]) != 0))[: len(order)]
    out = np.zeros(len(to), np.int64)
    out[order] = np.cumsum(new) - 1
    if not (np.array_equal(to[order][new], dst) and np.array_equal(at[order][new], address)):
        raise RuntimeError("values stand at other addresses than those of the operations")
    return out
