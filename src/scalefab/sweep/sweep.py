"""A sweep: points, what of them is in the journal already, and the rows of the rest as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..errors import ScalefabError
from ..scenario.identity import scenario_hash
from ..simulator.guess import Variant, guess
from .journal import Journal, Row
from .points import Point
from .work import Task, error_text

Run = Callable[[Sequence[Task]], Iterator[Row]]
"""Runs tasks somewhere and yields their rows as they come."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The points of a sweep, checked.

    Attributes
    ----------
    tasks
        One a point that can be run; points whose resolved scenarios are the same have the same key and one run.
    refused
        Rows of points whose settings cannot be used: an error of one point is its row, not the end of the sweep.
    variants
        Forms of the simulator's kernel that the points will need.
    """

    tasks: tuple[Task, ...]
    refused: tuple[Row, ...]
    variants: frozenset[Variant] = frozenset()


def plan(text: str, path: str, overrides: Sequence[str], points: Sequence[Point]) -> Planned:
    """Read the scenario of every point; ``overrides`` hold for all of them."""
    from ..scenario import parse_scenario

    tasks, refused = [], []
    variants: set[Variant] = set()
    for point in points:
        settings = (*overrides, *point.overrides)
        try:
            scenario = parse_scenario(text, path, settings)
        except ScalefabError as error:
            row = {"number": point.number, "settings": dict(point.settings), "status": "error", "error": error_text(error)}
            refused.append(row)
            continue
        variants.add(guess(scenario))
        tasks.append(Task(f"{__version__}-{scenario_hash(scenario)}", point, text, path, settings))
    return Planned(tuple(tasks), tuple(refused), frozenset(variants))


def run_sweep(planned: Planned, journal: Journal, run: Run) -> Iterator[Row]:
    """Run what the journal lacks; each row is in it before it is yielded."""
    missing: dict[str, Task] = {}
    for task in planned.tasks:
        if task.key not in journal.rows:
            missing.setdefault(task.key, task)
    for row in run(tuple(missing.values())):
        journal.add(row)
        yield row


def table(planned: Planned, journal: Journal) -> list[dict[str, Any]]:
    """Return the rows there are, in the order of the points; a point without one is ``waiting``."""
    rows: dict[int, Row] = {int(row["number"]): row for row in planned.refused}
    for task in planned.tasks:
        own = {"number": task.point.number, "settings": dict(task.point.settings), "key": task.key}
        found = journal.rows.get(task.key)
        rows[task.point.number] = {**(found or {"status": "waiting"}), **own}
    return [rows[number] for number in sorted(rows)]
