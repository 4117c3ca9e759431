"""Explicit-state search: every state that a small model can reach, breadth first, so that the first trace is a shortest one.

A model gives states (tuples of small integers, compared and hashed whole) and their steps. A step is a *fault* (paid from a
budget that is part of the state) or not. Asked of every reachable state:

- its invariants hold, and those of the step that led to it;
- **once faults stop, all is delivered**: the graph of steps without faults has no cycle from here, and all its ends are *done*.
  That is stronger than "done can be reached": no schedule, however unfair, avoids it.

Transition functions are those of ``protocol/``. They are pure in (record, arguments), so each pair is computed once (`Records`);
the search itself then runs on table look-ups.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

State = tuple[Any, ...]


class Step(NamedTuple):
    """One step of a model."""

    state: State
    fault: bool
    words: tuple[Any, ...]  # a name and what it takes: `Model.say` makes words of it
    broken: str  # the invariant that this step breaks, "" = none


class Model(Protocol):
    """What can be explored."""

    def initial(self) -> State:
        """Return the state to begin with."""

    def steps(self, state: State) -> list[Step]:
        """Return all steps from a state."""

    def broken(self, state: State) -> str:
        """Return the invariant that a state breaks, "" = none."""

    def done(self, state: State) -> bool:
        """Return whether all is delivered and nothing is left to do."""

    def say(self, words: tuple[Any, ...]) -> str:
        """Return a step in words."""


class Outcome(StrEnum):
    """How a search ended."""

    HOLDS = "holds"
    BROKEN = "broken"  #: a state or step breaks an invariant
    STUCK = "stuck"  #: without faults, a state is reached from which nothing moves, and not all is delivered
    ENDLESS = "endless"  #: without faults, some schedule goes round for ever


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a search.

    Parameters
    ----------
    outcome, reason
        How it ended, and which invariant or state ended it ("" when all holds).
    states, transitions
        Distinct states reached, and steps between them.
    depth
        Steps of the longest of all shortest ways to a state.
    trace
        Steps in words from the initial state to the fault, shortest; for `Outcome.ENDLESS` followed by one turn of the cycle.
    cycle_from
        Index into ``trace`` at which the cycle begins, -1 = there is none.
    """

    outcome: Outcome
    reason: str
    states: int
    transitions: int
    depth: int
    trace: tuple[str, ...] = ()
    cycle_from: int = -1


class Records:
    """States of one record type as small integers, and what transition functions make of them, each computed once.

    Parameters
    ----------
    dtype
        Of the record.
    counters
        Fields that only count: zero in every state, else no search would end.
    normal
        Gives fields that mean nothing in a state their one value.
    """

    def __init__(self, dtype: np.dtype[Any], counters: frozenset[str], normal: Callable[[dict[str, int]], None]) -> None:
        self._rows = np.zeros(1, dtype).view(np.recarray)
        self._names = tuple(dtype.names or ())
        self._counters = counters
        self._normal = normal
        self._numbers: dict[tuple[int, ...], int] = {}
        self._known: dict[tuple[Any, ...], tuple[int, int]] = {}
        self.values: list[dict[str, int]] = []

    def put(self, **fields: int) -> int:
        """Return the number of a state; fields not named are 0."""
        return self._number(dict.fromkeys(self._names, 0) | fields)

    def _number(self, fields: dict[str, int]) -> int:
        for name in self._counters:
            fields[name] = 0
        self._normal(fields)
        key = tuple(fields.values())
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.values)
            self.values.append(fields)
        return number

    def call(self, function: Callable[..., Any], number: int, *arguments: int, records: int = 1) -> tuple[int, int]:
        """Apply a transition function to a state: the state after it, and what it returned.

        A function of several records of one end (hot and cold ones) takes the joined record as each of its first ``records``
        arguments: see `joined`.
        """
        key = (function, number, arguments)
        known = self._known.get(key)
        if known is None:
            self._rows[0] = tuple(self.values[number].values())
            result = function(*(self._rows[0] for _ in range(records)), *arguments)
            after = dict(zip(self._names, self._rows[0].tolist(), strict=True))
            known = self._known[key] = (self._number(after), int(result) if result is not None else 0)
        return known


def joined(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return a record type with the fields of several; what has the same name is the same field.

    An unused field comes first, so that none of the several is its beginning: a compiler may take that for a subtype.
    """
    fields: dict[str, Any] = {"unused": np.dtype(np.int64)}
    for dtype in dtypes:
        fields |= {name: dtype[name] for name in dtype.names or ()}
    return np.dtype(list(fields.items()), align=True)


class _Graph:
    """States found so far, the first way to each, and the steps without faults."""

    def __init__(self) -> None:
        self.states: list[State] = []
        self.numbers: dict[State, int] = {}
        self.parents = array("i")
        self.sources = array("i")  # of steps without faults
        self.targets = array("i")

    def add(self, state: State, parent: int) -> int:
        number = self.numbers[state] = len(self.states)
        self.states.append(state)
        self.parents.append(parent)
        return number

    def way(self, number: int) -> list[int]:
        """Return the states on the first way to a state, the initial one first."""
        way = []
        while number >= 0:
            way.append(number)
            number = self.parents[number]
        return way[::-1]


def explore(model: Model, progress: Callable[[int, int], None] | None = None) -> Finding:
    """Search all states of a model.

    Parameters
    ----------
    model
        What to explore.
    progress
        Called with (states, states whose steps are known) now and then.
    """
    collected = gc.isenabled()
    gc.disable()  # nothing here refers to itself, and looking for it through a million states takes as long as the search
    try:
        return _explore(model, progress)
    finally:
        if collected:
            gc.enable()


def _explore(model: Model, progress: Callable[[int, int], None] | None) -> Finding:
    graph = _Graph()
    start = model.initial()
    graph.add(start, -1)
    transitions = depth = 0
    level_end = 1
    at = 0
    reason = model.broken(start)
    if reason:
        return Finding(Outcome.BROKEN, reason, 1, 0, 0)
    numbers, sources, targets = graph.numbers, graph.sources, graph.targets
    while at < len(graph.states):
        if at == level_end:
            depth += 1
            level_end = len(graph.states)
        if progress is not None and at & 0x3FFF == 0x3FFF:
            progress(len(graph.states), at)
        for state, fault, words, wrong in model.steps(graph.states[at]):
            transitions += 1
            number = numbers.get(state, -1)
            broken = wrong
            if number < 0:
                number = graph.add(state, at)
                broken = wrong or model.broken(state)
            if broken:
                trace = (*_words(model, graph, graph.way(at)), model.say(words))
                return Finding(Outcome.BROKEN, broken, len(graph.states), transitions, len(trace), trace)
            if not fault:
                sources.append(at)
                targets.append(number)
        at += 1
    return _delivered(model, graph, transitions, depth)


def _words(model: Model, graph: _Graph, way: list[int]) -> Iterator[str]:
    """Say the steps along a way; of several steps between two states the first one that is no fault."""
    for here, there in pairwise(way):
        wanted = graph.states[there]
        steps = [step for step in model.steps(graph.states[here]) if step.state == wanted]
        yield model.say(min(steps, key=lambda step: step.fault).words)


def _delivered(model: Model, graph: _Graph, transitions: int, depth: int) -> Finding:
    """Judge what happens once faults stop: backwards from the ends; what is never resolved lies before a cycle."""
    count = len(graph.states)
    sources = np.frombuffer(graph.sources, np.int32) if graph.sources else np.zeros(0, np.int32)
    targets = np.frombuffer(graph.targets, np.int32) if graph.targets else np.zeros(0, np.int32)
    left = np.bincount(sources, minlength=count)
    ends = np.flatnonzero(left == 0)
    for number in ends.tolist():
        if not model.done(graph.states[number]):
            trace = tuple(_words(model, graph, graph.way(number)))
            reason = "nothing moves any more, and not all is delivered"
            return Finding(Outcome.STUCK, reason, count, transitions, depth, trace)
    order = np.argsort(targets, kind="stable")
    by_target = sources[order]
    first = np.searchsorted(targets[order], np.arange(count + 1))
    resolved = np.zeros(count, bool)
    while len(ends):
        resolved[ends] = True
        before = np.concatenate([by_target[first[n] : first[n + 1]] for n in ends.tolist()])
        np.subtract.at(left, before, 1)
        touched = np.unique(before)
        ends = touched[left[touched] == 0]
    if resolved.all():
        return Finding(Outcome.HOLDS, "", count, transitions, depth)
    way = graph.way(int(np.flatnonzero(~resolved)[0]))
    turn = _cycle(way[-1], resolved, sources, targets)
    begin = len(way) - 1 + turn.index(turn[-1])
    trace = (*_words(model, graph, way), *_words(model, graph, turn))
    return Finding(Outcome.ENDLESS, "without faults, this goes round for ever", count, transitions, depth, trace, begin)


def _cycle(start: int, resolved: Any, sources: Any, targets: Any) -> list[int]:
    """Walk from an unresolved state over unresolved ones until one comes again; it is then first and last of the cycle."""
    walk = [start]
    while walk.count(walk[-1]) == 1:
        onward = targets[sources == walk[-1]]
        walk.append(int(onward[~resolved[onward]][0]))
    return walk
