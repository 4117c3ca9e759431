"""The kernel's arrays of values that are followed while memory is verified."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, Problem
from ..workload.graph import OperationGraph
from .records import zeros
from .valuecheck import followed
from .valuerecords import CELL, SIGNAL, VALUED

CELLS_MAX = 1 << 26  # own: 2 GiB of records
FETCHED_MAX = 1 << 28  # own: 2 GiB of values


def value_arrays(graph: OperationGraph, units: Any, mtu: int) -> dict[str, Any]:
    """Return the value arrays of `records.State`.

    Parameters
    ----------
    graph
        Its ``values`` and ``signals`` say what is followed.
    units
        Transactions or packets of each operation; empty = nothing is followed.
    mtu
        Bytes of a full packet.

    Raises
    ------
    InputError
        More values than fit ordinary memory, or elements of 4 and of 8 bytes that overlap.
    """
    rows = graph.values
    if not len(units) or not len(rows) + len(graph.signals):
        empty, none = np.zeros(1, np.int64), np.zeros(1, np.int32)
        arrays = {"value_of": none, "valued": zeros(1, VALUED), "fetched": empty, "cell": zeros(1, CELL)}
        return arrays | {"signal_of": none, "signal": zeros(1, SIGNAL)}
    count = np.asarray(units, np.int64)[rows.op]
    total = int(count.sum())
    if total > FETCHED_MAX:
        raise InputError([_too_many(f"{total} values are fetched by atomics", FETCHED_MAX)])
    value_of = np.zeros(len(graph), np.int32)
    value_of[rows.op] = np.arange(1, len(rows) + 1)
    valued = zeros(max(1, len(rows)), VALUED)
    for name in ("operation", "element", "value", "compare"):
        valued[name][: len(rows)] = getattr(rows, name)
    valued.first[: len(rows)] = np.cumsum(count) - count
    cells = zeros(_table_size(graph, units, mtu), CELL)
    signals = graph.signals
    signal_of = np.zeros(len(graph), np.int32)
    signal_of[signals.op] = np.arange(1, len(signals) + 1)
    signal = zeros(max(1, len(signals)), SIGNAL)
    for name in ("address", "value", "add"):
        signal[name][: len(signals)] = getattr(signals, name)
    arrays = {"value_of": value_of, "valued": valued, "fetched": np.zeros(max(1, total), np.int64), "cell": cells}
    return arrays | {"signal_of": signal_of, "signal": signal}


def _table_size(graph: OperationGraph, units: Any, mtu: int) -> int:
    """Return a power of two, at least twice the addresses."""
    told = followed(graph, units, mtu)
    dst, address, size = told.dst, told.address, told.size_bytes
    order = np.lexsort((size, address, dst))
    dst, address, size = dst[order], address[order], size[order]
    same_word = (np.diff(dst) == 0) & (np.diff(address >> 3) == 0)
    overlap = np.flatnonzero(same_word & (np.diff(size) != 0))
    if len(overlap):
        i = int(overlap[0])
        text = f"atomics of 4B and of 8B work on the same bytes at {int(address[i]):#x} of GPU {int(dst[i])}"
        raise InputError([Problem(text, "one size, other addresses, or run.verify: off", key="run.verify")])
    count = 1 + int(np.count_nonzero((np.diff(dst) != 0) | (np.diff(address) != 0)))
    cells = 1 << (2 * count).bit_length()
    if cells > CELLS_MAX:
        raise InputError([_too_many(f"values at {count} addresses are touched by atomics", CELLS_MAX // 4)])
    return cells


def _too_many(text: str, most: int) -> Problem:
    return Problem(text, f"at most {most}, or run.verify: off", key="run.verify")
