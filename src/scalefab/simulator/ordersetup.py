"""The kernel's arrays of fences: pairs between which they go, and what each has to wait for. No Numba here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..protocol import ordering
from ..protocol.profile import Kind
from ..workload.graph import OperationGraph
from .records import FENCE_NOTE, FENCED, PAIR, zeros
from .shares import Sessions


def order_arrays(
    graph: OperationGraph, op: Any, sessions: Sessions, endpoints: int, changing: bool
) -> tuple[dict[str, Any], int]:
    """Return the arrays of fences of `records.State`, and how many fences there are.

    Parameters
    ----------
    graph
        Its FENCEs.
    op
        Operation records; ``cursor`` of each FENCE becomes its row.
    sessions
        In order of source, destination, path, VC: those of a pair follow each other.
    endpoints
        Of the fabric.
    changing
        Whether paths change.
    """
    rows = np.flatnonzero(graph.kind == Kind.FENCE)
    fences = len(rows)
    pair_of_fence = graph.src[rows].astype(np.int64) * endpoints + graph.dst[rows]
    pairs = np.unique(pair_of_fence)
    pair_of_session = sessions.src.astype(np.int64) * endpoints + sessions.dst
    pair = zeros(max(1, len(pairs)), PAIR)
    pair.fences = pair.early = pair.late = -1
    order_pair = np.full(endpoints * endpoints if fences else 1, -1, np.int32)
    fenced = zeros(max(1, fences), FENCED)
    fenced.next = -1
    if fences:
        first = np.searchsorted(pair_of_session, pairs, "left")
        pair.first, pair.count = first, np.searchsorted(pair_of_session, pairs, "right") - first
        order_pair[pairs] = np.arange(len(pairs))
        op.cursor[rows] = np.arange(fences)
        fenced.op, fenced.pair = rows, order_pair[pair_of_fence]
    arrays = {
        "order_pair": order_pair,
        "pair": pair,
        "issued": zeros(len(pair), ordering.ISSUED),
        "serial": np.full(len(graph) if fences else 1, -1, np.int64),
        "fence": zeros(len(fenced), ordering.FENCE),
        "fenced": fenced,
        "fence_note": zeros(max(1, len(sessions.key)) if fences and changing else 1, FENCE_NOTE),
    }
    return arrays, fences
