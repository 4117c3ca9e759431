"""The operation graph: everything that is asked of a fabric becomes one of these (structure of arrays, read-only)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..protocol.profile import Kind
from .values import Signals, Values

I1 = NDArray[np.int8]
I2 = NDArray[np.int16]
I4 = NDArray[np.int32]
I8 = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """One named part of a workload, as reports show it; ``OperationGraph.group`` holds its index.

    Attributes
    ----------
    name
        Unique, such as ``"dispatch"``.
    collective
        ``all_reduce``, ``all_to_all``, ``moe_dispatch``...
    size_bytes
        The size that nccl-tests would print for it (the buffer of one rank); algbw = size_bytes / time.
    ranks
        Endpoints that take part.
    bus_numerator, bus_denominator
        busbw = algbw x numerator / denominator (nccl-tests factors: 2(n-1)/n for all-reduce, (n-1)/n for
        all-gather, reduce-scatter and all-to-all, 1 else).
    """

    name: str
    collective: str
    size_bytes: int
    ranks: int
    bus_numerator: int
    bus_denominator: int


@dataclass(frozen=True, slots=True, eq=False)
class OperationGraph:
    """Operations and who waits on whom.

    Operation ``i`` is ready when all its predecessors are done and ``now >= start_ps[i]``. Done = last byte executed at the
    target and, unless ``posted``, answer seen at the source. ``order`` of the arrays is the order of issue at each source.

    Attributes
    ----------
    kind, src, dst, vc, order, stack, chunk, bytes, address, start_ps, compute_ps, tag, group
        As in the contracts: ``kind`` is `protocol.operations.Kind`; ``stack`` -1 = any; ``chunk`` = bytes of one
        transaction (LSU kinds) or of one message (bulk kinds, 0 = the whole operation); shape (n,).
    posted
        1 = no answer wanted; shape (n,).
    succ_ptr, succ
        CSR of successors: those of i are ``succ[succ_ptr[i]:succ_ptr[i+1]]``; shapes (n+1,), (edges,).
    waits
        In-degree; a driver copies it.
    groups
        Names for ``group``; every operation belongs to one.
    values
        What operations compute whose values are followed when memory is verified; none for most graphs.
    signals
        What each PUT_SIGNAL writes behind its data.
    """

    kind: I1
    src: I2
    dst: I2
    vc: I1
    order: I1
    stack: I1
    posted: I1
    chunk: I4
    bytes: I8
    address: I8
    start_ps: I8
    compute_ps: I8
    tag: I4
    group: I4
    succ_ptr: I8
    succ: I4
    waits: I4
    groups: tuple[Group, ...]
    values: Values = field(default_factory=Values)
    signals: Signals = field(default_factory=Signals)

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def networked(self) -> NDArray[np.bool_]:
        """Which operations use the network: all but COMPUTE and JOIN; shape (n,)."""
        uses: NDArray[np.bool_] = (self.kind != Kind.COMPUTE) & (self.kind != Kind.JOIN)
        return uses

    @property
    def moving(self) -> NDArray[np.bool_]:
        """Which operations move data; shape (n,)."""
        moves: NDArray[np.bool_] = self.networked & (self.kind != Kind.FENCE)
        return moves

    @property
    def edges(self) -> int:
        """Number of dependencies."""
        return len(self.succ)
