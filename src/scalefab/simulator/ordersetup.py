"""The kernel's arrays of fences and of ATOMICs' tags, by pairs between which they go."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..protocol import ordering
from ..protocol.profile import Kind
from ..protocol.tags import OPEN_MESSAGES_MAX
from ..workload.graph import OperationGraph
from .atomictags import NOT_TAKEN
from .orderrecords import FENCE_NOTE, FENCED, PAIR
from .records import zeros
from .shares import Sessions


def order_arrays(
    graph: OperationGraph, op: Any, sessions: Sessions, endpoints: int, changing: bool
) -> tuple[dict[str, Any], int, bool]:
    """Return the arrays of fences and tags of `records.State`, how many fences there are, and whether tags are counted.

    Parameters
    ----------
    graph
        Its FENCEs and ATOMICs.
    op
        Operation records; ``cursor`` of each FENCE becomes its row.
    sessions
        In order of source, destination, path, VC: those of a pair follow each other.
    endpoints
        Of the fabric.
    changing
        Whether paths change.
    """
    pair_of = graph.src.astype(np.int64) * endpoints + graph.dst
    rows = np.flatnonzero(graph.kind == Kind.FENCE)
    fences = len(rows)
    atomics, counted_pairs = _atomics(graph, op, pair_of)
    pairs = np.unique(np.concatenate([pair_of[rows], counted_pairs]))
    pair = zeros(max(1, len(pairs)), PAIR)
    pair.fences = pair.early = pair.late = -1
    order_pair = np.full(endpoints * endpoints if len(pairs) else 1, -1, np.int32)
    if len(pairs):
        pair_of_session = sessions.src.astype(np.int64) * endpoints + sessions.dst
        first = np.searchsorted(pair_of_session, pairs, "left")
        pair.first, pair.count = first, np.searchsorted(pair_of_session, pairs, "right") - first
        order_pair[pairs] = np.arange(len(pairs))
    fenced = zeros(max(1, fences), FENCED)
    fenced.next = -1
    if fences:
        op.cursor[rows] = np.arange(fences)
        fenced.op, fenced.pair = rows, order_pair[pair_of[rows]]
    arrays = {
        "order_pair": order_pair,
        "pair": pair,
        "closed": np.zeros((len(pair), OPEN_MESSAGES_MAX), np.int8),
        "issued": zeros(len(pair), ordering.ISSUED),
        "serial": np.full(len(graph) if fences else 1, -1, np.int64),
        "fence": zeros(len(fenced), ordering.FENCE),
        "fenced": fenced,
        "fence_note": zeros(max(1, len(sessions.key)) if fences and changing else 1, FENCE_NOTE),
    }
    return arrays | _tag_arrays(graph, op, atomics), fences, len(atomics) > 0


def _atomics(graph: OperationGraph, op: Any, pair_of: Any) -> tuple[Any, Any]:
    """Return all ATOMICs and their pairs, none where no source has more of them for a target than tags can be open."""
    atomics = np.flatnonzero(graph.kind == Kind.ATOMIC)
    pairs, row = np.unique(pair_of[atomics], return_inverse=True)
    if not len(atomics) or int(np.bincount(row, weights=op.packets[atomics]).max()) <= OPEN_MESSAGES_MAX:
        return atomics[:0], pairs[:0]
    return atomics, pairs


def _tag_arrays(graph: OperationGraph, op: Any, atomics: Any) -> dict[str, Any]:
    count = np.asarray(op.packets[atomics], np.int64)
    base = np.zeros(len(graph) if len(atomics) else 1, np.int64)
    base[atomics] = np.cumsum(count) - count
    return {"tag_base": base, "tag": np.full(max(1, int(count.sum())), NOT_TAKEN, np.int64)}
