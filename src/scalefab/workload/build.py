"""From the entries of a workload to one operation graph: entries are chained by ``after``, with a JOIN between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InputError, Problem
from .builder import GraphBuilder
from .collectives import add_collective
from .graph import I4, OperationGraph
from .moe import add_moe
from .near import near_miss
from .parts import Part
from .patterns import add_pattern
from .program import add_program
from .spec import Collective, MoeLayer, Pattern, Phase, Program, WorkloadSpec


def build_graph(spec: WorkloadSpec, endpoints: int, mtu: int, stacks: int = 16) -> OperationGraph:
    """Return the operation graph of a workload.

    Parameters
    ----------
    spec
        Entries in the order of the file. ``after`` None = the entry before, () = nothing.
    endpoints
        Endpoints of the fabric.
    mtu
        Data bytes of a full packet (`fabric.spec.FabricSpec.mtu`).
    stacks
        Of each endpoint.

    Raises
    ------
    InputError
        With every problem of every entry: names that are not there or there twice, entries that wait on each other, values that
        do not suit the fabric.
    """
    phases = spec.phases
    waits_on = _resolve(phases)
    builder = GraphBuilder(mtu, endpoints)
    problems: list[Problem] = []
    parts: dict[int, Part] = {}
    ends: dict[int, I4] = {}
    for i in _in_order(phases, waits_on):
        gate = None if problems else _gate(builder, [(e, parts[e]) for e in waits_on[i]], ends)
        key = f"workload[{i}].{_kind(phases[i])}"
        builder.stack = getattr(phases[i], "stack", -1)
        if builder.stack >= stacks:
            problems.append(Problem(f"stack {builder.stack} of GPUs with {stacks}", f"0 .. {stacks - 1}", key=f"{key}.stack"))
            continue
        try:
            part = _add(builder, phases[i], key)
        except InputError as error:
            problems += [p if p.key.startswith("workload") else replace(p, key=key) for p in error.problems]
            continue
        parts[i] = part
        if gate is not None:
            builder.edges(gate, part.roots)
    if problems:
        raise InputError(problems)
    return builder.build()


def _gate(builder: GraphBuilder, waited: Sequence[tuple[int, Part]], ends: dict[int, I4]) -> I4 | None:
    """Return the JOIN that is done when all ``waited`` entries are; appended before who waits, so that numbers stay in order."""
    for i, part in waited:
        if i not in ends:  # a JOIN only where somebody waits: it costs an edge for each leaf
            ends[i] = builder.join(part.leaves, group=part.group)
    if len(waited) < 2:
        return ends[waited[0][0]] if waited else None
    return builder.join(np.concatenate([ends[i] for i, _ in waited]), group=waited[-1][1].group)


def _add(builder: GraphBuilder, phase: Phase, key: str) -> Part:
    if isinstance(phase, Collective):
        return add_collective(builder, phase, key)
    if isinstance(phase, Pattern):
        return add_pattern(builder, phase, key)
    if isinstance(phase, Program):
        return add_program(builder, phase, key)
    if isinstance(phase, MoeLayer):
        return add_moe(builder, phase, key)
    raise TypeError(f"no generator for {type(phase).__name__}")


def _kind(phase: Phase) -> str:
    if isinstance(phase, Collective):
        return phase.kind.value
    if isinstance(phase, Program):
        return "program"
    return phase.pattern if isinstance(phase, Pattern) else "moe"


def _resolve(phases: Sequence[Phase]) -> list[tuple[int, ...]]:
    """Return, for each entry, the numbers of the entries it waits on."""
    problems: list[Problem] = []
    if not phases:
        raise InputError([Problem("the workload asks for nothing", "at least one entry", key="workload")])
    number: dict[str, int] = {}
    for i, phase in enumerate(phases):
        if phase.name in number:
            taken = f"workload[{number[phase.name]}]"
            problems.append(Problem(f"the name '{phase.name}' is {taken}'s already", "unique names", key=f"workload[{i}].name"))
        else:
            number[phase.name] = i
    resolved: list[tuple[int, ...]] = []
    for i, phase in enumerate(phases):
        if phase.after is None:
            resolved.append((i - 1,) if i else ())
            continue
        named = []
        for name in dict.fromkeys(phase.after):
            key = f"workload[{i}].after"
            if name == phase.name:
                problems.append(Problem(f"'{name}' waits on itself", "another entry", key=key))
            elif name in number:
                named.append(number[name])
            else:
                others = [other for other in number if other != phase.name]
                problems.append(Problem(f"no entry '{name}'", near=near_miss(name, others), key=key))
        resolved.append(tuple(named))
    if problems:
        raise InputError(problems)
    return resolved


def _in_order(phases: Sequence[Phase], waits_on: Sequence[tuple[int, ...]]) -> list[int]:
    """Return the entries so that each comes after those it waits on, else in the order of the file."""
    order: list[int] = []
    placed: set[int] = set()
    while len(order) < len(waits_on):
        ready = next((i for i, on in enumerate(waits_on) if i not in placed and placed.issuperset(on)), None)
        if ready is None:
            stuck = [i for i in range(len(waits_on)) if i not in placed]
            names = ", ".join(f"'{phases[i].name}'" for i in stuck)
            message = f"{names} wait on each other in a circle"
            raise InputError([Problem(message, key=f"workload[{i}].after") for i in stuck[:1]])
        order.append(ready)
        placed.add(ready)
    return order
