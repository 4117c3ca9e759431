"""Synthetic traffic as operations: permutation, incast, point-to-point of every kind of operation, repeated in sequence."""

from __future__ import annotations

import numpy as np

from ..errors import InputError, Problem
from ..protocol.opcodes import ElementType
from ..protocol.profile import Kind
from .builder import BULK, GraphBuilder, page_aligned
from .graph import I4
from .near import near_miss
from .parts import Part, rank_count, transaction
from .spec import Pattern
from .values import Atomic

PATTERNS = ("permutation", "incast", "point_to_point")


def add_pattern(builder: GraphBuilder, spec: Pattern, key: str) -> Part:
    """Append the operations of a pattern: ``repeat`` operations of ``bytes`` for each pair, each after the one before.

    Operation i of a pair goes to the i-th consecutive place in the target's memory; sources that share a target have regions
    of their own. The group's size is what one source moves (incast: what the target receives), its bus factor 1.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems: list[Problem] = []
    pairs = _pairs(spec, builder.endpoints, key, problems)
    if spec.bytes <= 0:
        problems.append(Problem(f"{spec.bytes} bytes", "at least one byte", key=f"{key}.bytes"))
    if spec.repeat < 1:
        problems.append(Problem(f"{spec.repeat} repeats", "at least 1", key=f"{key}.repeat"))
    piece = transaction(spec.operation, spec.bytes, spec.transaction_bytes, key, problems)
    if pairs is None or problems:
        raise InputError(problems)

    src, dst = pairs
    unit = 8 if spec.operation in BULK else piece
    place = -(-spec.bytes // unit) * unit
    stride = page_aligned(place * spec.repeat)
    shared = spec.pattern == "incast"
    base = spec.address or builder.region(stride * (len(src) if shared else 1))
    slot = np.arange(len(src), dtype=np.int64) if shared else np.zeros(len(src), np.int64)
    turn = np.arange(spec.repeat, dtype=np.int64)[:, None]
    wide = (spec.repeat, len(src))
    moved = spec.bytes * spec.repeat * (len(src) if shared else 1)
    ranks = 2 if spec.pattern == "point_to_point" else len(src) + (1 if shared else 0)
    group = builder.group(spec.name, spec.pattern, moved, ranks)
    ids = builder.operations(
        spec.operation,
        np.broadcast_to(src, wide).ravel(),
        np.broadcast_to(dst, wide).ravel(),
        spec.bytes,
        group=group,
        address=(base + slot[None, :] * stride + turn * place).ravel(),
        chunk=piece,
        posted=int(spec.posted),
        start_ps=spec.start_ps,
    ).reshape(wide)
    if spec.operation is Kind.PUT_SIGNAL:
        flags = builder.region(8 * len(src))
        builder.signals(ids.ravel(), np.broadcast_to(flags + 8 * np.arange(len(src)), wide).ravel(), 1, add=True)
    if spec.operation is Kind.ATOMIC:
        builder.atomics(ids.ravel(), spec.atomic or Atomic(element=ElementType.U32 if piece == 4 else ElementType.U64))
    if spec.repeat > 1:
        builder.edges(ids[:-1].ravel(), ids[1:].ravel())
    return Part(ids[0], ids[-1], group)


def _pairs(spec: Pattern, endpoints: int, key: str, problems: list[Problem]) -> tuple[I4, I4] | None:
    """Return sources and targets, or note what is wrong."""
    found = len(problems)
    if spec.pattern == "point_to_point":
        for name, rank in (("src", spec.src), ("dst", spec.dst)):
            if not 0 <= rank < endpoints:
                problems.append(Problem(f"{rank} is no endpoint", f"0 .. {endpoints - 1}", key=f"{key}.{name}"))
        if spec.src == spec.dst:
            problems.append(Problem(f"GPU {spec.src} to itself does not use the network", "another GPU", key=f"{key}.dst"))
        return None if len(problems) > found else (np.array([spec.src], np.int32), np.array([spec.dst], np.int32))
    if spec.pattern not in PATTERNS:
        near = near_miss(spec.pattern, PATTERNS)
        problems.append(Problem(f"no pattern '{spec.pattern}'", "one of " + ", ".join(PATTERNS), near, key=key))
        return None
    ranks = rank_count(spec.ranks, endpoints, key, problems)
    if spec.pattern == "permutation" and spec.shift % ranks == 0:
        problems.append(
            Problem(f"shift {spec.shift} of {ranks} ranks sends to itself", "no multiple of the ranks", key=f"{key}.shift")
        )
    if spec.pattern == "incast" and not 0 <= spec.dst < ranks:
        problems.append(Problem(f"target {spec.dst} takes no part", f"0 .. {ranks - 1}", key=f"{key}.dst"))
    if len(problems) > found:
        return None
    everyone = np.arange(ranks, dtype=np.int32)
    if spec.pattern == "permutation":
        return everyone, ((everyone + spec.shift) % ranks).astype(np.int32)
    src = everyone[everyone != spec.dst]
    return src, np.full(len(src), spec.dst, np.int32)
