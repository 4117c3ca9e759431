"""Verification of memory: which segments of which operation have been executed, a bit each, and executed bytes by time."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from ..protocol import atomic_values as atomics
from ..protocol import operations as ops
from ..protocol.multipath import sprayed_next
from ..protocol.opcodes import PAGE_BYTES
from .records import State


@compiled
def mark_executed(S: State, op: int, first: int, count: int, stride: int) -> None:
    """Mark a run of packets or transactions of ``op`` as executed; one that already was, or that it has not, is an error."""
    k = S.kernel[0]
    index = int(first)
    base = int(S.segment_base[op])
    ordered = ops.is_bulk(S.op[op].kind) == 0
    for _ in range(int(count)):
        if index < 0 or index >= S.op[op].packets:
            k.outside += 1
        else:
            at = base + (index >> 3)
            bit = 1 << (index & 7)
            marks = int(S.segment_bits[at])
            if marks & bit:
                k.twice += 1
            S.segment_bits[at] = marks | bit
            if ordered and index > 0 and same_page(S, op, index) and not is_marked(S, base, index - 1):
                k.disorder += 1
            if k.values and S.value_of[op] > 0:
                apply_value(S, op, index)
        index = index + 1 if stride == 1 else sprayed_next(index, int(stride))


@compiled
def same_page(S: State, op: int, index: int) -> bool:
    """Return whether a transaction lies in the page of the one before it, behind which it must be executed."""
    o = S.op[op]
    at = int(S.address[op]) + index * int(o.chunk)
    return at // PAGE_BYTES == (at - int(o.chunk)) // PAGE_BYTES


@compiled
def is_marked(S: State, base: int, index: int) -> bool:
    """Return whether a segment has been executed."""
    return (int(S.segment_bits[base + (index >> 3)]) >> (index & 7)) & 1 == 1


@compiled
def apply_value(S: State, op: int, index: int) -> None:
    """Let transaction or packet ``index`` of an operation change the value at its address, and keep what it brings back."""
    o = S.op[op]
    v = S.valued[S.value_of[op] - 1]
    step = S.kernel[0].mtu if ops.is_bulk(o.kind) else int(o.chunk)
    c = S.cell[find_cell(S.cell, int(o.dst), int(S.address[op]) + index * step)]
    old = int(c.value)
    S.fetched[int(v.first) + index] = old
    c.value = atomics.combine_integers(int(v.operation), int(v.element), old, int(v.value), int(v.compare))


@compiled
def write_signal(S: State, op: int) -> None:
    """All bytes of message ``op`` are visible: set or increase the value that its signal names, if it has one."""
    n = int(S.signal_of[op]) - 1
    if n < 0:
        return
    signal = S.signal[n]
    c = S.cell[find_cell(S.cell, int(S.op[op].dst), int(signal.address))]
    c.value = int(signal.value) + (int(c.value) if signal.add else 0)


@compiled
def find_cell(cell: Any, dst: int, address: int) -> int:
    """Return the place of an address in the table; a new one begins with 0. The table has more places than addresses."""
    mask = len(cell) - 1
    i = ((address >> 2) ^ (address >> 20) ^ dst * 0x9E3779B1) & mask
    while cell[i].used:
        if cell[i].address == address and cell[i].dst == dst:
            return i
        i = (i + 1) & mask
    cell[i].used = 1
    cell[i].address = address
    cell[i].dst = dst
    return i


@inlined
def add_executed(S: State, t_ps: int, size_bytes: int) -> None:
    """Count data bytes in the time bin in which they are visible; when time outgrows the bins, neighbours are merged."""
    k = S.kernel[0]
    bins = S.executed_bins
    index = t_ps >> k.executed_bits
    while index >= len(bins):
        half = len(bins) // 2
        for i in range(half):
            bins[i] = bins[2 * i] + bins[2 * i + 1]
        for i in range(half, len(bins)):
            bins[i] = 0
        k.executed_bits += 1
        index = t_ps >> k.executed_bits
    bins[index] += size_bytes
