"""The kernel's arrays of values that are followed while memory is verified."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError, Problem
from ..workload.graph import OperationGraph
from .memory import addresses_of
from .records import CELL, VALUED, zeros

CELLS_MAX = 1 << 26  # own: 2 GiB of records


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
        More addresses than fit ordinary memory.
    """
    rows = graph.values
    if not len(units) or not len(rows):
        return {"value_of": np.zeros(1, np.int32), "valued": zeros(1, VALUED), "cell": zeros(1, CELL)}
    value_of = np.zeros(len(graph), np.int32)
    value_of[rows.op] = np.arange(1, len(rows) + 1)
    valued = zeros(len(rows), VALUED)
    valued.operation, valued.element, valued.value, valued.compare = rows.operation, rows.element, rows.value, rows.compare
    dst, address, _ = addresses_of(graph, units)
    count = len(np.unique(np.stack([dst, address]), axis=1).T)
    size = 1 << (2 * count).bit_length()
    if size > CELLS_MAX:
        text = f"values at {count} addresses are touched by atomics"
        raise InputError([Problem(text, f"at most {CELLS_MAX // 4}, or run.verify: off", key="run.verify")])
    return {"value_of": value_of, "valued": valued, "cell": zeros(size, CELL)}
