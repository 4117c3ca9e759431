"""Litmus tests on the simulator: many instances at once, at random places and times, among random traffic; outcomes are counted.

Each instance has pages of its own, so paths differ from one to the next; its threads begin at random within a spread, and others
store to the same targets in bursts, so that one path is late against another. The same seed gives the same outcomes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InfeasibleError, InputError, Problem
from ...protocol.profile import Kind
from ...scenario import parse_scenario
from ...scenario.scenario import Scenario, Verify
from ...simulator.result import Result, Status
from ...simulator.run import simulate
from ...workload.builder import DEFAULT_TRANSACTION_BYTES, PAGE_BYTES, GraphBuilder
from ...workload.program import add_program
from ...workload.programtext import Places, TextError
from ...workload.spec import Instruction, Program, Thread, WorkloadSpec
from .models import Litmus, Term, Variant

PERIOD_PS = 4_000_000  # own: instances overlap a little
SPREADS_PS = (1, 30_000, 300_000, 1_500_000, 3_000_000)  # own: threads begin together ... within three round trips
BURSTS = 2  # own: bursts of other traffic an instance
BURST_SOURCES = 4  # own: that store to one page at once, over one path: 48 KiB wait there for some 1.5 us
BURST_STORES = 3
NOISE_PAGE = 1 << 30  # first page of other traffic's targets
ROOM_BITS = 18

FABRIC = """scalefab: 1
name: litmus
fabric:
  gpus: {preset: ethlink-gpu-4x200g, count: 8}
  switches: {planes: 4, ports: 8, port_rate: 200Gb/s}
  cables: {length: 3m}
workload: [{point_to_point: {bytes: 64B}}]
run: {verify: memory}
"""
"""Where the tests run when no scenario is given: 8 GPUs on four planes."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Values of all registers and places of the condition, and how many instances had them."""

    values: tuple[tuple[str, int], ...]
    count: int
    meets: bool  #: the condition holds


@dataclass(frozen=True, slots=True)
class Row:
    """One variant of one test: what was seen, and whether it is as it must be."""

    name: str
    about: str
    variant: str  #: "ordered", "relaxed"
    condition: str
    instances: int
    seen: int  #: instances that met the condition
    outcomes: tuple[Outcome, ...]
    failure: str  #: "" = as it must be

    def facts(self) -> dict[str, Any]:
        """Return the row as JSON's plain data."""
        outcomes = [{**dict(one.values), "count": one.count, "meets": one.meets} for one in self.outcomes]
        fields = ("name", "variant", "condition", "instances", "seen", "failure")
        return {field: getattr(self, field) for field in fields} | {"passed": not self.failure, "outcomes": outcomes}


def run_litmus(tests: Sequence[Litmus], instances: int, seed: int, scenario: Scenario | None = None) -> Iterator[Row]:
    """Run tests, each with the order that it asks for and then without.

    Parameters
    ----------
    tests
        What to run.
    instances
        Of each variant.
    seed
        Of places, times and other traffic.
    scenario
        Its fabric, faults and options are used; None = `FABRIC`.

    Raises
    ------
    InputError
        A fabric with too few GPUs for a test.
    InfeasibleError
        Instances that do not end.
    """
    base = scenario or parse_scenario(FABRIC, "litmus.yaml", ())
    problems = [
        Problem(
            f"{test.name} needs {test.gpus} GPUs, there are {base.fabric.endpoints}",
            f"at least {test.gpus}",
            key="fabric.gpus.count",
        )
        for test in tests
        if test.gpus > base.fabric.endpoints
    ]
    if problems:
        raise InputError(problems)
    for test in tests:
        yield _run(test, test.ordered, "ordered", instances, seed, base)
        if test.relaxed is not None:
            yield _run(test, test.relaxed, "relaxed", instances, seed, base)


def _run(test: Litmus, variant: Variant, word: str, instances: int, seed: int, base: Scenario) -> Row:
    rng = np.random.default_rng([seed, *test.name.encode(), int(word == "relaxed")])
    threads: list[Thread] = []
    names: list[tuple[int, tuple[str, ...]]] = []
    where: list[Places] = []
    for number in range(instances):
        places = _places(test, number, rng)
        where.append(places)
        spread_ps = int(rng.choice(SPREADS_PS[-3:] if word == "ordered" else SPREADS_PS))
        try:
            made = variant.threads(places)
        except TextError as error:  # the file was checked with other places
            raise InputError([Problem(error.message, error.expected, error.near, key=test.name)]) from error
        for thread, registers in zip(made, variant.registers, strict=True):
            start_ps = number * PERIOD_PS + int(rng.integers(spread_ps))
            threads.append(replace(thread, start_ps=start_ps))
            names.append((number, registers))
    program = Program("litmus", threads=tuple(threads))
    builder = GraphBuilder(base.fabric.spec.mtu, base.fabric.endpoints)
    add_program(builder, program, test.name)
    _add_noise(builder, test, instances, rng)
    graph = builder.build()
    options = replace(base.options, verify=Verify.MEMORY, capture_frames=0, sample_frames=1)
    result = simulate(replace(base, workload=WorkloadSpec((program,)), graph=graph, options=options))
    if result.status is not Status.DONE or result.memory is None or result.memory.cells is None:
        raise InfeasibleError(
            [Problem(f"{test.name}: only {result.operations_done} of {len(graph)} operations ended", key=test.name)]
        )
    if result.memory.failures:
        raise InfeasibleError([Problem(f"{test.name}: {'; '.join(result.memory.failures)}", key=test.name)])
    return _judged(test, word, _values(result, threads, names, where, base.fabric.spec.mtu, instances))


def _places(test: Litmus, number: int, rng: np.random.Generator) -> dict[str, tuple[int, int]]:
    """Give each place of an instance room of its own, on a page by chance."""
    places: dict[str, tuple[int, int]] = {}
    for index, place in enumerate(test.places):
        if place.behind:
            gpu, address = places[place.behind]
            places[place.name] = gpu, address + place.offset
        else:
            room = (number * len(test.places) + index + 1) << ROOM_BITS
            places[place.name] = place.gpu, room + (int(rng.integers(1 << (ROOM_BITS - 14))) << 12)
    return places


def _add_noise(builder: GraphBuilder, test: Litmus, instances: int, rng: np.random.Generator) -> None:
    """Append bursts of stores from some GPUs to those that hold places: each delays some pages, on the path that it takes."""
    count, stores = instances * BURSTS, BURST_SOURCES * BURST_STORES
    number = np.arange(count)
    dst = rng.choice(sorted({place.gpu for place in test.places}), count)
    first = rng.integers(builder.endpoints - 1, size=count)
    src = (first[:, None] + np.arange(BURST_SOURCES)) % (builder.endpoints - 1)
    src += src >= dst[:, None]
    address = (NOISE_PAGE + number * 8 + rng.integers(8, size=count)) * PAGE_BYTES
    start_ps = number * PERIOD_PS // BURSTS + rng.integers(PERIOD_PS, size=count)
    builder.operations(
        Kind.STORE,
        np.repeat(src, BURST_STORES, axis=1).ravel(),
        np.repeat(dst, stores),
        PAGE_BYTES,
        group=builder.group("other traffic", "bursts", count * stores * PAGE_BYTES, builder.endpoints),
        address=np.repeat(address, stores),
        chunk=DEFAULT_TRANSACTION_BYTES,
        start_ps=np.repeat(start_ps, stores),
    )


def _values(
    result: Result,
    threads: Sequence[Thread],
    names: Sequence[tuple[int, tuple[str, ...]]],
    where: Sequence[Places],
    mtu: int,
    instances: int,
) -> list[dict[str, int]]:
    """Return for each instance the values of registers, and the last ones of places."""
    cells = result.memory.cells if result.memory is not None else None
    assert cells is not None
    found: list[dict[str, int]] = [{} for _ in range(instances)]
    row = 0
    for thread, (number, registers) in zip(threads, names, strict=True):
        for one, register in zip(thread.instructions, registers, strict=True):
            if register:
                found[number][register] = int(cells.fetched[row])
            row += _rows(one, mtu)
    last = {(int(dst), int(at)): int(value) for dst, at, value in zip(cells.dst, cells.address, cells.value, strict=True)}
    for number, places in enumerate(where):
        found[number] |= {name: last.get(place, 0) for name, place in places.items()}
    return found


def _rows(one: Instruction, mtu: int) -> int:
    """Return how many values an instruction has in the result."""
    if one.operation in (Kind.LOAD, Kind.ATOMIC):
        return 1 if one.bytes == 8 else 0
    return -(-one.bytes // mtu) if one.value is not None and one.operation is not Kind.STORE else int(one.value is not None)


def _judged(test: Litmus, word: str, found: Sequence[dict[str, int]]) -> Row:
    registers = sorted({name for values in found for name in values if name not in {place.name for place in test.places}})
    told = registers + sorted({term.name for terms in test.outcome for term in terms} - set(registers))
    counts: Counter[tuple[tuple[str, int], ...]] = Counter(tuple((name, values[name]) for name in told) for values in found)
    outcomes = tuple(Outcome(values, count, _meets(test, dict(values))) for values, count in sorted(counts.items()))
    seen = sum(one.count for one in outcomes if one.meets)
    failure = ""
    if word == "ordered" and seen:
        failure = "a forbidden outcome was seen"
    elif word == "relaxed" and not seen:
        failure = "the outcome was not seen without order: the test shows nothing"
    return Row(test.name, test.about, word, test.text, len(found), seen, outcomes, failure)


def _meets(test: Litmus, values: dict[str, int]) -> bool:
    def holds(term: Term) -> bool:
        return (values[term.name] == term.value) is term.equal

    return any(all(holds(term) for term in terms) for terms in test.outcome)
