"""Operations appended as arrays, edges as index arrays; `GraphBuilder.build` makes the read-only graph of them.

A column that is the same for a whole block stays one number until `build`, so a million operations cost little more than
the finished graph. Dependencies among many go through a JOIN: n + m edges instead of n x m.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, Problem
from ..protocol.profile import LSU_MAX_BYTES, MESSAGE_MAX_PACKETS, VC_BULK, VC_REQUEST, Kind
from .checks import block_problems
from .graph import I4, I8, Group, OperationGraph
from .values import Atomic, Signals, Values, signed

MAX_OPERATIONS = 1 << 31
PAGE_BYTES = 4096  # the unit of path choice (open profile section 5)
ADDRESS_BITS = 57  # of TH
DEFAULT_TRANSACTION_BYTES = 256  # own: HBM interleave, profile section 1

MESSAGES = frozenset({Kind.PUT, Kind.SEND, Kind.PUT_SIGNAL})
BULK = MESSAGES | {Kind.GET}
LSU = frozenset({Kind.LOAD, Kind.STORE, Kind.REDUCE, Kind.ATOMIC})

_COLUMNS: tuple[tuple[str, type[np.signedinteger[Any]]], ...] = (
    ("kind", np.int8),
    ("src", np.int16),
    ("dst", np.int16),
    ("vc", np.int8),
    ("order", np.int8),
    ("stack", np.int8),
    ("posted", np.int8),
    ("chunk", np.int32),
    ("bytes", np.int64),
    ("address", np.int64),
    ("start_ps", np.int64),
    ("compute_ps", np.int64),
    ("tag", np.int32),
    ("group", np.int32),
)
_DTYPE = dict(_COLUMNS)
_FILL = {"src": -1, "dst": -1, "stack": -1}


def page_aligned(size_bytes: int) -> int:
    """Return ``size_bytes`` rounded up to whole 4 KiB pages."""
    return -(-size_bytes // PAGE_BYTES) * PAGE_BYTES


def default_transaction(kind: Kind, size_bytes: int) -> int:
    """Return the bytes of one transaction when the user names none.

    The largest power of two that divides ``size_bytes``, at most 256 B (ATOMIC: 8 B); 0 for bulk operations, which are one
    message. So a LOAD of 64 B is one transaction and 1 MiB is 4096 of 256 B (`own`).
    """
    if kind not in LSU:
        return 0
    most = 8 if kind is Kind.ATOMIC else DEFAULT_TRANSACTION_BYTES
    return min(most, size_bytes & -size_bytes)


class GraphBuilder:
    """Collects operations and dependencies of a workload.

    Parameters
    ----------
    mtu
        Data bytes of a full packet; a message has at most 65 536 packets, larger operations become several messages.
    endpoints
        Endpoints of the fabric; ids are 0 .. endpoints-1.
    """

    def __init__(self, mtu: int, endpoints: int = 1024) -> None:
        self.mtu = mtu
        self.endpoints = endpoints
        self.stack = -1
        self._blocks: list[tuple[int, dict[str, NDArray[Any]]]] = []
        self._count = 0
        self._before: list[I4] = []
        self._after: list[I4] = []
        self._groups: list[Group] = []
        self._values: list[tuple[I4, Atomic]] = []
        self._signals: list[tuple[I4, I8, I8, int]] = []
        self._next_address = 0

    def __len__(self) -> int:
        return self._count

    def group(self, name: str, collective: str, size_bytes: int, ranks: int, bus: tuple[int, int] = (1, 1)) -> int:
        """Open a named part of the workload and return its number; ``bus`` = busbw / algbw as a fraction."""
        self._groups.append(Group(name, collective, size_bytes, ranks, *bus))
        return len(self._groups) - 1

    def region(self, size_bytes: int) -> int:
        """Reserve target memory at the same address of every endpoint; returns its page-aligned first address."""
        first = self._next_address
        self._next_address = first + page_aligned(size_bytes)
        return first

    def operations(
        self,
        kind: Kind,
        src: ArrayLike,
        dst: ArrayLike,
        size_bytes: ArrayLike,
        *,
        group: int,
        address: ArrayLike = 0,
        chunk: ArrayLike = 0,
        posted: ArrayLike = 1,
        start_ps: ArrayLike = 0,
        order: ArrayLike = 0,
        stack: ArrayLike | None = None,
        tag: ArrayLike = 0,
    ) -> I4:
        """Append operations of one kind that use the network; all arguments broadcast to one length.

        Parameters
        ----------
        kind
            LOAD, STORE, ATOMIC, REDUCE, PUT, GET, SEND or PUT_SIGNAL (then call `signals` too).
        src, dst
            Who issues it and whose memory it concerns.
        size_bytes, address
            Bytes and first target address of each operation.
        chunk
            LSU kinds: bytes of a transaction; bulk kinds: bytes of a message, 0 = as large as can be.
        stack
            Whose ports they use, -1 = any; None = ``self.stack``.

        Returns
        -------
        I4
            Their numbers, ascending; shape (n,).

        Raises
        ------
        InputError
            Ids, lengths or addresses that the profile does not allow; all problems at once.
        """
        if kind not in BULK and kind not in LSU:
            raise ValueError(f"{kind!r} is not sent over the network")
        if kind in BULK:
            largest = MESSAGE_MAX_PACKETS * self.mtu
            asked = np.asarray(chunk, np.int64)
            whole = np.minimum(np.where(asked > 0, asked, largest), largest)
            # a message that holds the whole operation is written 0
            chunk = np.where((asked <= 0) & (np.asarray(size_bytes, np.int64) <= largest), 0, whole)
        return self._append(
            kind=int(kind),
            src=src,
            dst=dst,
            vc=VC_BULK if kind in MESSAGES else VC_REQUEST,
            order=order,
            stack=self.stack if stack is None else stack,
            posted=posted,
            chunk=chunk,
            bytes=size_bytes,
            address=address,
            start_ps=start_ps,
            tag=tag,
            group=group,
        )

    def atomics(self, ids: I4, what: Atomic) -> None:
        """Say what operations compute, so that their values can be followed: ATOMICs, or others of 8 B (see `values`)."""
        self._values.append((ids, what))

    def signals(self, ids: I4, address: ArrayLike, value: ArrayLike = 1, *, add: bool = False) -> None:
        """Say what PUT_SIGNAL operations write behind their data: a u64 of their target, set or increased."""
        wide = [np.broadcast_to(np.asarray(one, np.int64), ids.shape) for one in (address, value)]
        self._signals.append((ids, wide[0], wide[1], int(add)))

    def fences(self, src: ArrayLike, dst: ArrayLike, *, group: int, start_ps: ArrayLike = 0) -> I4:
        """Append FENCEs: each is done when all that its source has issued to its destination before it is visible there.

        Operations that must stay behind a fence wait for it by an edge.
        """
        return self._append(kind=int(Kind.FENCE), src=src, dst=dst, start_ps=start_ps, group=group)

    def compute(self, rank: ArrayLike, compute_ps: ArrayLike, *, group: int, start_ps: ArrayLike = 0) -> I4:
        """Append one COMPUTE of ``compute_ps`` at each of ``rank``."""
        return self._append(kind=int(Kind.COMPUTE), src=rank, dst=rank, compute_ps=compute_ps, start_ps=start_ps, group=group)

    def joins(self, rank: ArrayLike, *, group: int) -> I4:
        """Append a JOIN for each of ``rank`` (-1 = of no endpoint in particular); it is done when all before it are."""
        return self._append(kind=int(Kind.JOIN), src=rank, dst=rank, group=group)

    def join(self, before: I4, *, group: int) -> I4:
        """Append one JOIN that waits for all of ``before``; shape (1,)."""
        node = self.joins([-1], group=group)
        self.edges(before, node)
        return node

    def edges(self, before: ArrayLike, after: ArrayLike) -> None:
        """Let each of ``after`` wait for the one of ``before`` beside it (arguments broadcast)."""
        first, second = np.broadcast_arrays(np.asarray(before, np.int32), np.asarray(after, np.int32))
        self._before.append(np.ravel(first).astype(np.int32, copy=False))
        self._after.append(np.ravel(second).astype(np.int32, copy=False))

    def _append(self, **columns: ArrayLike) -> I4:
        wide: dict[str, NDArray[Any]] = {}
        problems: list[Problem] = []
        length = 1
        for name, value in columns.items():
            array = np.asarray(value)
            if array.ndim and len(array) != 1:
                length = len(array)
            wide[name] = array.reshape(-1)
        if any(array.size == 0 for array in wide.values()):
            return np.empty(0, np.int32)
        if any(len(array) not in (1, length) for array in wide.values()):
            raise ValueError("columns of different lengths")
        if self._count + length >= MAX_OPERATIONS:
            problems.append(Problem(f"more than {MAX_OPERATIONS - 1} operations"))
        problems += block_problems(wide, self._name(wide), self.endpoints)
        if problems:
            raise InputError(problems)
        self._blocks.append((length, {name: array.astype(_DTYPE[name], copy=False) for name, array in wide.items()}))
        first, self._count = self._count, self._count + length
        return np.arange(first, self._count, dtype=np.int32)

    def _name(self, columns: dict[str, NDArray[Any]]) -> str:
        return self._groups[int(columns["group"][0])].name

    def build(self) -> OperationGraph:
        """Return the graph.

        Raises
        ------
        InputError
            No operation, or operations that wait on each other in a circle.
        """
        if not self._count:
            raise InputError([Problem("the workload asks for nothing", "at least one operation", key="workload")])
        columns = {name: self._column(name, dtype) for name, dtype in _COLUMNS}
        before, after = _joined(self._before), _joined(self._after)
        waits, succ_ptr = np.zeros(self._count, np.int32), np.zeros(self._count + 1, np.int64)
        if len(before):  # pages of zeros that nobody writes to take no memory
            waits[:] = np.bincount(after, minlength=self._count)
            np.cumsum(np.bincount(before, minlength=self._count), out=succ_ptr[1:])
        succ = after if bool(np.all(before[1:] >= before[:-1])) else after[np.argsort(before, kind="stable")]
        if not bool(np.all(before < after)):  # else the order of the arrays is already a topological one
            _refuse_circle(succ_ptr, succ, waits, columns["group"], self._groups)
        for array in (*columns.values(), succ_ptr, succ, waits):
            array.setflags(write=False)
        return OperationGraph(
            **columns,
            succ_ptr=succ_ptr,
            succ=succ,
            waits=waits,
            groups=tuple(self._groups),
            values=self._value_rows(),
            signals=self._signal_rows(),
        )

    def _value_rows(self) -> Values:
        if not self._values:
            return Values()
        counts = [len(ids) for ids, _ in self._values]
        what = [of for _, of in self._values]
        return Values(
            op=np.concatenate([ids for ids, _ in self._values]),
            operation=np.repeat(np.array([int(of.operation) for of in what], np.int8), counts),
            element=np.repeat(np.array([int(of.element) for of in what], np.int8), counts),
            value=np.repeat(np.array([signed(of.value, of.element) for of in what], np.int64), counts),
            compare=np.repeat(np.array([signed(of.compare, of.element) for of in what], np.int64), counts),
        )

    def _signal_rows(self) -> Signals:
        if not self._signals:
            return Signals()
        return Signals(
            op=np.concatenate([ids for ids, _, _, _ in self._signals]),
            address=np.concatenate([address for _, address, _, _ in self._signals]),
            value=np.concatenate([value for _, _, value, _ in self._signals]),
            add=np.concatenate([np.full(len(ids), add, np.int8) for ids, _, _, add in self._signals]),
        )

    def _column(self, name: str, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
        fill = _FILL.get(name, 0)
        out = np.full(self._count, fill, dtype) if fill else np.zeros(self._count, dtype)  # pages of zeros take no memory
        first = 0
        for length, block in self._blocks:
            if name in block and (np.any(block[name]) or fill):
                out[first : first + length] = block[name]
            first += length
        return out


def _joined(parts: list[I4]) -> I4:
    if len(parts) == 1:
        return parts[0].copy()
    return np.concatenate(parts) if parts else np.empty(0, np.int32)


def _refuse_circle(succ_ptr: I8, succ: I4, waits: I4, group: I4, groups: list[Group]) -> None:
    left = waits.copy()
    ready = np.flatnonzero(left == 0)
    done = 0
    while len(ready):
        done += len(ready)
        starts, counts = succ_ptr[ready], succ_ptr[ready + 1] - succ_ptr[ready]
        at = np.repeat(starts - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(int(counts.sum()))
        woken = succ[at]
        np.subtract.at(left, woken, 1)
        ready = np.unique(woken[left[woken] == 0])
    if done < len(waits):
        names = sorted({groups[g].name for g in np.unique(group[left > 0])})
        raise InputError(
            [Problem(f"{len(waits) - done} operations wait on each other in a circle (in {', '.join(names)})", key="workload")]
        )


__all__ = ["BULK", "LSU", "LSU_MAX_BYTES", "GraphBuilder", "default_transaction", "page_aligned"]
