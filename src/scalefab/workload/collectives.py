"""Collectives as operations: all-reduce, all-gather, reduce-scatter, all-to-all, broadcast; ring and direct.

Sizes and bus factors are nccl-tests' (its PERFORMANCE.md), n ranks:

============== =================================================== ==================
collective     size                                                busbw / algbw
============== =================================================== ==================
all_reduce     buffer of a rank                                    2 (n-1) / n
all_gather     gathered buffer: n x what a rank contributes        (n-1) / n
reduce_scatter buffer before scattering: n x what a rank keeps     (n-1) / n
all_to_all     buffer of a rank: n x what goes to one target       (n-1) / n
broadcast      the buffer                                          1
============== =================================================== ==================

A buffer that n does not divide is spread to the byte. A ring passes each block from neighbour to neighbour; a hop waits for the
block's hop before (the receive of the step before), and for nothing else.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError, Problem
from ..protocol.profile import Kind
from .builder import BULK, GraphBuilder, page_aligned
from .graph import I4, I8
from .parts import Part, rank_count, rotated_pairs, shares, transaction
from .spec import Algorithm, Collective, CollectiveKind
from .values import Atomic

COUNTER_BYTES = 8
_MOVERS = (Kind.PUT, Kind.SEND, Kind.STORE, Kind.REDUCE)


def bus_factor(kind: CollectiveKind, ranks: int) -> tuple[int, int]:
    """Return busbw / algbw as a fraction (nccl-tests)."""
    if kind is CollectiveKind.BROADCAST:
        return 1, 1
    return (2 if kind is CollectiveKind.ALL_REDUCE else 1) * (ranks - 1), ranks


def add_collective(builder: GraphBuilder, spec: Collective, key: str) -> Part:
    """Append the operations of a collective.

    Parameters
    ----------
    builder
        Where they go; its ``endpoints`` is the fabric's count.
    spec
        What is asked; ``ranks`` 0 = all endpoints.
    key
        Dotted path of the entry's settings, for messages.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems: list[Problem] = []
    ranks = rank_count(spec.ranks, builder.endpoints, key, problems)
    if spec.size_bytes <= 0:
        problems.append(Problem(f"{spec.size_bytes} bytes", "at least one byte", key=f"{key}.size"))
    if spec.operation not in _MOVERS:
        expected = ", ".join(kind.name.lower() for kind in _MOVERS)
        problems.append(Problem(f"a collective by {spec.operation.name.lower()}", expected, key=f"{key}.operation"))
    piece = transaction(spec.operation, spec.size_bytes, spec.transaction_bytes, key, problems)
    if piece and spec.size_bytes % piece:
        problems.append(
            Problem(f"{spec.size_bytes} B are not whole transactions of {piece} B", f"a multiple of {piece} B", key=f"{key}.size")
        )
    broadcast = spec.kind is CollectiveKind.BROADCAST
    if broadcast and not 0 <= spec.root < ranks:
        problems.append(Problem(f"root {spec.root} takes no part", f"0 .. {ranks - 1}", key=f"{key}.root"))
    chunks = spec.chunks or ranks
    if spec.algorithm is not Algorithm.RING and spec.chunks:
        problems.append(Problem("is read by nothing, the algorithm is direct", "algorithm: ring", key=f"{key}.chunks"))
    elif chunks < 1 or (not broadcast and chunks % ranks):
        problems.append(
            Problem(f"{chunks} chunks for {ranks} ranks", f"a multiple of {ranks}: each rank owns as many", key=f"{key}.chunks")
        )
    if spec.algorithm is Algorithm.RING and spec.kind is CollectiveKind.ALL_TO_ALL:
        problems.append(Problem("an all-to-all has no ring", "direct", key=f"{key}.algorithm"))
    if problems:
        raise InputError(problems)

    group = builder.group(spec.name, spec.kind.value, spec.size_bytes, ranks, bus_factor(spec.kind, ranks))
    sender = _Sender(builder, spec, group, piece)
    if spec.algorithm is Algorithm.RING:
        return _ring(sender, ranks, chunks)
    if broadcast:
        return _direct_broadcast(sender, ranks)
    by = shares(spec.size_bytes, ranks, piece or 1)
    if spec.kind is CollectiveKind.ALL_REDUCE:
        return _direct_all_reduce(sender, by, ranks)
    src, dst = rotated_pairs(ranks)
    ids = sender.send(src, dst, by[src if spec.kind is CollectiveKind.ALL_GATHER else dst], slot=src, slots=ranks)
    if spec.atomics:
        ids = np.concatenate([ids, _counters(sender, src, dst)])
    return Part(ids, ids, group)


def _counters(sender: _Sender, src: I4, dst: I4) -> I4:
    """Let every rank add 1 to the same counters of every other."""
    builder, spec = sender.builder, sender.spec
    size = COUNTER_BYTES * spec.atomics
    ids = builder.operations(
        Kind.ATOMIC,
        src,
        dst,
        size,
        group=sender.group,
        address=builder.region(size),
        chunk=COUNTER_BYTES,
        posted=0,
        start_ps=spec.start_ps,
    )
    builder.atomics(ids, Atomic())
    return ids


class _Sender:
    """Appends blocks of one collective; each (target, slot) has its own pages."""

    def __init__(self, builder: GraphBuilder, spec: Collective, group: int, piece: int) -> None:
        self.builder, self.spec, self.group, self.piece = builder, spec, group, piece

    def send(self, src: I4, dst: I4, size: I8, *, slot: I4, slots: int) -> I4:
        """Append one operation for each non-empty block; ``slot`` numbers the blocks that one target receives."""
        stride = page_aligned(int(size.max()))
        base = self.builder.region(stride * slots)
        some = size > 0
        if not bool(some.all()):
            src, dst, size, slot = src[some], dst[some], size[some], slot[some]
        return self.builder.operations(
            self.spec.operation,
            src,
            dst,
            size,
            group=self.group,
            address=base + slot.astype(np.int64) * stride,
            chunk=0 if self.spec.operation in BULK else self.piece,
            posted=int(self.spec.posted),
            start_ps=self.spec.start_ps,
        )


def _ring(sender: _Sender, ranks: int, chunks: int) -> Part:
    kind, spec = sender.spec.kind, sender.spec
    size = shares(spec.size_bytes, chunks, sender.piece or 1)
    block = np.arange(chunks, dtype=np.int32)[size > 0]
    size = size[block]
    if kind is CollectiveKind.BROADCAST:
        origin = np.full(len(block), spec.root, np.int32)
    elif kind is CollectiveKind.REDUCE_SCATTER:
        origin = (block + 1) % ranks  # n-1 hops later, block r is at rank r
    else:
        origin = block % ranks
    # reduce-scatter hops sum into a scratch region, the hops after them write the result
    stages = (ranks - 1,) if kind is not CollectiveKind.ALL_REDUCE else (ranks - 1, ranks - 1)
    hops: list[I4] = []
    first = 0
    for count in stages:
        step = np.arange(first, first + count, dtype=np.int32)[:, None]
        src = (origin[None, :] + step) % ranks
        wide = (count, len(block))
        ids = sender.send(
            src.ravel(),
            ((src + 1) % ranks).ravel(),
            np.broadcast_to(size, wide).ravel(),
            slot=np.broadcast_to(block, wide).ravel(),
            slots=chunks,
        ).reshape(wide)
        hops.append(ids)
        first += count
    table = np.concatenate(hops)
    if len(table) > 1:
        sender.builder.edges(table[:-1].ravel(), table[1:].ravel())
    return Part(table[0], table[-1], sender.group)


def _direct_broadcast(sender: _Sender, ranks: int) -> Part:
    root = sender.spec.root
    dst = ((root + np.arange(1, ranks)) % ranks).astype(np.int32)
    src = np.full(ranks - 1, root, np.int32)
    ids = sender.send(src, dst, np.full(ranks - 1, sender.spec.size_bytes, np.int64), slot=np.zeros(ranks - 1, np.int32), slots=1)
    return Part(ids, ids, sender.group)


def _direct_all_reduce(sender: _Sender, by: I8, ranks: int) -> Part:
    """Every rank sums its own share of the buffer from all others, then hands it to all."""
    src, dst = rotated_pairs(ranks)
    scattered = sender.send(src, dst, by[dst], slot=src, slots=ranks)
    owners = np.flatnonzero(by > 0).astype(np.int32)
    summed = np.full(ranks, -1, np.int32)
    summed[owners] = sender.builder.joins(owners, group=sender.group)
    sender.builder.edges(scattered, summed[dst[by[dst] > 0]])
    gathered = sender.send(src, dst, by[src], slot=src, slots=ranks)
    sender.builder.edges(summed[src[by[src] > 0]], gathered)
    return Part(scattered, gathered, sender.group)
