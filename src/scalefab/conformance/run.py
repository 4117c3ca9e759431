"""Run cases: one row a case and frame size, as the conformance standard records it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any

from ..errors import InputError, Problem
from ..simulator.bench import run_bench
from .judge import Check, judge
from .load import LoadedCase
from .models import Case
from .plan import Plan, make_plan


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """The record of one run."""

    time: str
    scenario: str
    id: str
    part: str
    name: str
    size_bytes: int
    source: str
    destination: str
    configuration: str
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether all that was expected held."""
        return all(check.passed for check in self.checks)

    @property
    def note(self) -> str:
        """What differed, "" when nothing did."""
        return "; ".join(f"{check.name}: expected {check.expected}, measured {check.measured}" for check in self.failed)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that did not hold."""
        return tuple(check for check in self.checks if not check.passed)

    def facts(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {
            "id": self.id,
            "part": self.part,
            "name": self.name,
            "size_bytes": self.size_bytes,
            "passed": self.passed,
            "expected": _by_name([(check.name, check.expected) for check in self.checks]),
            "measured": _by_name([(check.name, check.measured) for check in self.checks]),
            "note": self.note,
            "time": self.time,
            "scenario": self.scenario,
            "source": self.source,
            "destination": self.destination,
            "configuration": self.configuration,
        }


def _by_name(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return named values; a name that comes again gets a number."""
    result: dict[str, Any] = {}
    for name, value in items:
        key, number = name, 2
        while key in result:
            key, number = f"{name} ({number})", number + 1
        result[key] = value
    return result


def make_plans(cases: Sequence[LoadedCase]) -> list[tuple[LoadedCase, Plan]]:
    """Lay out every run of some cases, before any of them begins. Raises InputError as `plan.make_plan`, with file and line."""
    plans: list[tuple[LoadedCase, Plan]] = []
    problems: list[Problem] = []
    for one in cases:
        try:
            plans += [(one, make_plan(one.case, size)) for size in one.case.sizes]
        except InputError as error:
            problems += [one.located(problem) for problem in error.problems]
    if problems:
        raise InputError(problems)
    return plans


def run_plans(plans: Sequence[tuple[LoadedCase, Plan]]) -> Iterator[Row]:
    """Run them, one row each."""
    for one, plan in plans:
        checks = judge(plan, run_bench(plan.bench))
        yield _row(one, plan, checks)


def _row(one: LoadedCase, plan: Plan, checks: Sequence[Check]) -> Row:
    case = one.case
    return Row(
        time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        scenario=one.file,
        id=case.id,
        part=case.part,
        name=case.name,
        size_bytes=plan.size_bytes,
        source=_distinct(case, "source"),
        destination=_distinct(case, "destination"),
        configuration=json.dumps(one.written, separators=(", ", ": ")),
        checks=tuple(checks),
    )


def _distinct(case: Case, end: str) -> str:
    return ", ".join(dict.fromkeys(getattr(flow, end) for flow in case.traffic))


COLUMNS = (
    "time",
    "scenario",
    "frame_size_bytes",
    "source",
    "destination",
    "case",
    "part",
    "configuration",
    "expected",
    "measured",
    "result",
    "note",
)


def write_csv(rows: Sequence[Row], stream: IO[str]) -> None:
    """Write the record of runs, as the standard asks for it."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(
            (
                row.time,
                row.scenario,
                row.size_bytes,
                row.source,
                row.destination,
                row.id,
                row.part,
                row.configuration,
                "; ".join(f"{check.name} {check.expected}" for check in row.checks),
                "; ".join(f"{check.name} = {check.measured}" for check in row.checks),
                "pass" if row.passed else "fail",
                row.note,
            )
        )
