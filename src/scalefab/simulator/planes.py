"""Which planes of a fabric have nothing to do with each other in a run, so that each may have a thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocol.operations import Kind
from ..scenario.scenario import Scenario, Verify
from .records import State, zeros

I8 = NDArray[np.int64]

_SHARED = {"op", "twin", "succ_ptr", "succ", "start_ps", "compute_ps", "address", "read", "fault", "loss_threshold", "op_status"}
_EMPTY = ("event", "frame", "run", "reply", "copy")


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Planes that one thread simulates, and the operations on them."""

    planes: tuple[int, ...]
    ops: NDArray[np.bool_]  #: shape (operations,)


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a run; one part, or none, where ``reason`` says what ties the planes together."""

    parts: tuple[Part, ...]
    reason: str = ""


def split(scenario: Scenario, state: State, threads: int) -> Split:
    """Divide a run over threads by planes.

    Planes are apart when no operation uses two of them, no chain of dependencies leads from one to another, and nothing else is
    shared: target memory that takes time, faults, checks of memory, traced frames.

    Parameters
    ----------
    scenario
        What is simulated.
    state
        Its arrays, before the first event.
    threads
        At most so many parts; a part with much data gets few planes.
    """
    k = state.kernel[0]
    tied = {
        "one plane": len(np.unique(scenario.fabric.port_plane)) < 2,
        "faults may move work from plane to plane": bool(k.paths) or bool(scenario.faults),
        "run.verify follows the memory of all": scenario.options.verify is not Verify.OFF,
        "hops of frames are recorded": bool(k.trace_room),
        "all ports of a GPU share the bandwidth of its memory, which must be a frame a picosecond for that not to matter": bool(
            np.any(state.node.mem_num[: k.endpoints] > 0)
        ),
        "tags of ATOMICs are counted over all planes": bool(state.kernel[0].tags),
        "FENCEs stand behind the work of all planes": bool(state.kernel[0].ordered),
    }
    for reason, holds in tied.items():
        if holds:
            return Split((), reason)
    label = _labels(scenario, state)
    n = len(state.op)
    groups, group_of = np.unique(label[n:], return_inverse=True)  # by plane
    if len(groups) < 2:
        return Split((), "operations tie the planes together, by their messages or by what they wait for")
    size = np.array([float(state.op.bytes[label[:n] == group].sum()) for group in groups])
    bins: list[list[int]] = [[] for _ in range(min(threads, len(groups)))]
    load = np.zeros(len(bins))
    for g in np.argsort(-size, kind="stable"):
        least = int(load.argmin())
        bins[least].append(int(g))
        load[least] += size[g]
    whole = np.isin(label[:n], groups)  # an operation that no plane's depends on may go anywhere: to the first
    parts = []
    for i, members in enumerate(bins):
        mine = np.isin(label[:n], groups[members]) | (~whole if i == 0 else False)
        parts.append(Part(tuple(int(p) for p in np.flatnonzero(np.isin(group_of, members))), mine))
    return Split(tuple(parts))


def _labels(scenario: Scenario, state: State) -> I8:
    """Return a number for each operation, and behind them each plane, equal where a chain of uses and dependencies leads."""
    graph, n = scenario.graph, len(state.op)
    plane_of = scenario.fabric.port_plane.astype(np.int64)
    planes = int(plane_of.max()) + 1
    used = state.share[: int(state.kernel[0].share_top)]
    before = np.repeat(np.arange(n, dtype=np.int64), np.diff(graph.succ_ptr))
    u = np.concatenate([used.op.astype(np.int64), before])
    v = np.concatenate([n + plane_of[state.session.port[used.session]], graph.succ.astype(np.int64)])
    label = np.arange(n + planes, dtype=np.int64)
    while True:  # the least number of each two neighbours, then the least of what that one has found: some log n rounds
        least = np.minimum(label[u], label[v])
        new = label.copy()
        np.minimum.at(new, label[u], least)
        np.minimum.at(new, label[v], least)
        while not np.array_equal(new, new[new]):
            new = new[new]
        if np.array_equal(new, label):
            return label
        label = new


def state_of_part(state: State, part: Part, plane_of: Any) -> State:
    """Return the state for one part's thread: all its own but the operations, of which it uses its rows, and what nobody writes.

    With ports and sequence spaces shared too, each in its rows, threads write to the same cache lines: W1 doubled ran 1.5 times
    as fast on two threads, and 1.9 times with their own.
    """
    kernel = state.kernel.copy()
    k = kernel[0]
    op = state.op
    k.ops = int(np.count_nonzero(part.ops))
    waiting = (op.waits > 0) & (op.packets > 0)
    k.dormant = int(np.count_nonzero(waiting & part.ops)) + int(np.count_nonzero((op.kind == Kind.GET) & part.ops))
    changes = {name: zeros(getattr(state, name).shape, getattr(state, name).dtype) for name in _EMPTY}
    changes |= {name: getattr(state, name).copy() for name in state._fields if name not in _SHARED and name not in _EMPTY}
    mine = np.isin(plane_of, part.planes).astype(np.int8)
    release = state.release[part.ops[state.release]]
    return state._replace(**changes | {"kernel": kernel, "mine": mine, "release": release})
