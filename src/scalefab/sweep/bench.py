"""nccl-tests' sweep over sizes, from simulation: one run a row (two where a library would try both algorithms)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..errors import InputError, NoProgressError, Problem, RunInterrupted
from ..scenario.fabricfile import FabricSetup
from ..scenario.scenario import Scenario
from ..simulator.result import Result, Status
from ..units import format_size
from ..workload.bounds import bound
from ..workload.spec import Algorithm, Collective, CollectiveKind, Pattern, Phase, WorkloadSpec
from . import nccl
from .nccl import Operation

Simulate = Callable[[Scenario], Result]
"""Runs one scenario; the caller chooses how progress is shown."""

_RINGS = (Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.BROADCAST)
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is swept, checked against the fabric.

    Attributes
    ----------
    sizes
        What was asked for, bytes; `nccl.rounded` makes a row of each, those that leave nothing are in ``skipped``.
    algorithms
        One, or all that are tried for each row.
    """

    operation: Operation
    ranks: int
    sizes: tuple[int, ...]
    skipped: tuple[int, ...]
    datatype: str
    root: int
    algorithms: tuple[Algorithm, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One measured size.

    Attributes
    ----------
    size_bytes, count
        As nccl-tests prints them.
    time_ps
        From the start to the last byte executed at its target.
    bound_ps
        Lower bound of the operations that this algorithm makes (`workload.bounds`).
    wrong
        Elements that did not reach their rank, or reached it twice: bytes executed held against the closed form.
    tried_ps
        Time of every algorithm that was run, by name.
    """

    size_bytes: int
    count: int
    algorithm: Algorithm
    time_ps: int
    bound_ps: int
    algbw_GBps: float
    busbw_GBps: float
    wrong: int
    frames: int
    lost_frames: int
    tried_ps: dict[str, int] = field(default_factory=dict)

    @property
    def bound_fraction(self) -> float:
        """Bound / time."""
        return self.bound_ps / self.time_ps if self.time_ps else 0.0


def make_plan(
    setup: FabricSetup,
    operation: Operation,
    sizes: tuple[int, ...],
    *,
    ranks: int = 0,
    datatype: str = "float",
    root: int = 0,
    algorithm: str = AUTO,
) -> Plan:
    """Check what is asked against the fabric.

    Parameters
    ----------
    ranks
        The first so many GPUs; 0 = all.
    root
        Of a broadcast.
    algorithm
        ``ring``, ``direct``, or ``auto``: the faster of those that there are, for each row.

    Raises
    ------
    InputError
        With every problem found.
    """
    problems = []
    count = setup.spec.endpoints.count
    taking_part = ranks or count
    if not 2 <= taking_part <= count:
        problems.append(Problem(f"{taking_part} ranks", f"2 .. {count}, the GPUs of {setup.name}", file="--ranks"))
        taking_part = count
    there = (Algorithm.DIRECT, Algorithm.RING) if operation in _RINGS else (Algorithm.DIRECT,)
    names = [known.value for known in there]
    if algorithm != AUTO and algorithm not in names:
        what = f"{operation.value} has no algorithm '{algorithm[:40]}'"
        problems.append(Problem(what, "one of " + ", ".join((*names, AUTO)), file="--algorithm"))
    if root and operation is not Operation.BROADCAST:
        problems.append(Problem(f"root {root} is read by nothing, {operation.value} has none", "no root", file="--root"))
    elif not 0 <= root < taking_part:
        problems.append(Problem(f"root {root} takes no part", f"0 .. {taking_part - 1}", file="--root"))
    kept = tuple(size for size in sizes if nccl.rounded(operation, size, datatype, taking_part).count)
    if not kept:
        least = taking_part * nccl.ALIGN_BYTES if operation in nccl.SHARED_OUT else nccl.DATATYPE_BYTES[datatype]
        what = f"no size leaves each of {taking_part} ranks anything to send"
        problems.append(Problem(what, f"{format_size(least)} or more", file="-e"))
    if problems:
        raise InputError(problems)
    chosen = there if algorithm == AUTO else (Algorithm(algorithm),)
    skipped = tuple(size for size in sizes if size not in kept)
    return Plan(operation, taking_part, kept, skipped, datatype, root, chosen)


def run_rows(setup: FabricSetup, plan: Plan, simulate: Simulate) -> Iterator[Row]:
    """Simulate row after row, in order of size.

    Raises
    ------
    RunInterrupted
        Ctrl-C: the rows before are valid.
    NoProgressError
        The network stopped moving.
    """
    for asked in plan.sizes:
        yield _row(setup, plan, nccl.rounded(plan.operation, asked, plan.datatype, plan.ranks), simulate)


def _row(setup: FabricSetup, plan: Plan, size: nccl.Size, simulate: Simulate) -> Row:
    """Run every algorithm that can win. One whose lower bound is above another's time cannot, so it is not run."""
    scenarios = [(algorithm, _scenario(setup, plan, size, algorithm)) for algorithm in plan.algorithms]
    if len(scenarios) > 1:
        bounds = {name: bound(it.graph, it.fabric, pack=it.options.pack).ps for name, it in scenarios}
        scenarios = sorted(scenarios, key=lambda item: bounds[item[0]])
    best: tuple[Algorithm, Result] | None = None
    tried = {}
    for algorithm, scenario in scenarios:
        if best is not None and bounds[algorithm] >= best[1].completion_ps:
            continue
        result = simulate(scenario)
        if result.status is Status.PARTIAL:
            raise RunInterrupted(f"interrupted at {format_size(size.size_bytes)}")
        if result.status is Status.NO_PROGRESS:
            why = "" if result.waits is None else f": {result.waits.summary}"
            text = f"the network stopped moving at {format_size(size.size_bytes)}, algorithm {algorithm.value}{why}"
            raise NoProgressError(text)
        tried[algorithm.value] = result.completion_ps
        if best is None or result.completion_ps < best[1].completion_ps:
            best = algorithm, result
    if best is None:
        raise ValueError("a plan has at least one algorithm")
    return _judged(plan, size, *best, tried)


def _judged(plan: Plan, size: nccl.Size, algorithm: Algorithm, result: Result, tried: dict[str, int]) -> Row:
    expected = nccl.moved_bytes(plan.operation, size.size_bytes, plan.ranks)
    width = nccl.DATATYPE_BYTES[plan.datatype]
    algbw = size.size_bytes * 1e3 / result.completion_ps if result.completion_ps else 0.0
    return Row(
        size_bytes=size.size_bytes,
        count=size.count,
        algorithm=algorithm,
        time_ps=result.completion_ps,
        bound_ps=result.bound_ps,
        algbw_GBps=algbw,
        busbw_GBps=algbw * float(nccl.bus_factor(plan.operation, plan.ranks)),
        wrong=-(-_misplaced_bytes(result, expected) // width),
        frames=result.frames,
        lost_frames=result.lost_frames,
        tried_ps=tried,
    )


def _misplaced_bytes(result: Result, expected: int) -> int:
    """Return by how many bytes the run misses what the operation is: executed bytes, and bytes of operations that ended."""
    graph, times = result.graph, result.operations
    ended = graph.moving & (times.executed_ps >= 0)
    return max(abs(expected - result.data_bytes), abs(expected - int(graph.bytes[ended].sum())))


def _scenario(setup: FabricSetup, plan: Plan, size: nccl.Size, algorithm: Algorithm) -> Scenario:
    name = plan.operation.value
    phase: Phase
    if plan.operation is Operation.SENDRECV:
        phase = Pattern(name, pattern="permutation", bytes=size.size_bytes, shift=1, ranks=plan.ranks, posted=True)
    else:
        kind = CollectiveKind(name)
        phase = Collective(name, kind=kind, algorithm=algorithm, size_bytes=size.size_bytes, ranks=plan.ranks, root=plan.root)
    return setup.scenario(WorkloadSpec((phase,)))
