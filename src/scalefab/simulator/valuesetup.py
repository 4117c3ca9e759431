"""The kernel's arrays of values that are followed while memory is verified."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, Problem
from ..workload.graph import OperationGraph
from ..workload.values import size_bytes
from .records import CELL, VALUED, zeros
from .valuecheck import addresses_of

CELLS_MAX = 1 << 26  # own: 2 GiB of records
FETCHED_MAX = 1 << 28  # own: 2 GiB of values


def value_arrays(graph: OperationGraph, units: Any) -> dict[str, Any]:
    """Return the value arrays of `records.State`.

    Parameters
    ----------
    graph
        Its ``values`` say what is followed.
    units
        Transactions of each operation; empty = nothing is followed.

    Raises
    ------
    InputError
        More values than fit ordinary memory, or elements of 4 and of 8 bytes that overlap.
    """
    rows = graph.values
    if not len(units) or not len(rows):
        empty = np.zeros(1, np.int64)
        return {"value_of": np.zeros(1, np.int32), "valued": zeros(1, VALUED), "fetched": empty, "cell": zeros(1, CELL)}
    count = np.asarray(units, np.int64)[rows.op]
    total = int(count.sum())
    if total > FETCHED_MAX:
        raise InputError([_too_many(f"{total} values are fetched by atomics", FETCHED_MAX)])
    value_of = np.zeros(len(graph), np.int32)
    value_of[rows.op] = np.arange(1, len(rows) + 1)
    valued = zeros(len(rows), VALUED)
    valued.operation, valued.element, valued.value, valued.compare = rows.operation, rows.element, rows.value, rows.compare
    valued.first = np.cumsum(count) - count
    cells = zeros(_table_size(graph, units), CELL)
    return {"value_of": value_of, "valued": valued, "fetched": np.zeros(total, np.int64), "cell": cells}


def _table_size(graph: OperationGraph, units: Any) -> int:
    """Return a power of two, at least twice the addresses."""
    dst, address, row = addresses_of(graph, units)
    size = size_bytes(graph.values.element)[row]
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
