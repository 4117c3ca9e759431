"""The points of a sweep: what is varied, as a grid or side by side, and the settings of each point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import product

from ..errors import InputError, Problem

MAX_POINTS = 100_000
_OPEN, _CLOSE, _QUOTES = "[{(", "]})", "\"'"


class Form(Enum):
    """How several varied settings go together."""

    GRID = "grid"  #: every value of one with every value of the others
    LIST = "list"  #: first with first, second with second


@dataclass(frozen=True, slots=True)
class Vary:
    """One varied setting and its values, as text that ``--set`` would take."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep; ``settings`` are (key, value) in the order of the command line."""

    number: int
    settings: tuple[tuple[str, str], ...]

    @property
    def overrides(self) -> tuple[str, ...]:
        """What ``--set`` would be given."""
        return tuple(f"{key}={value}" for key, value in self.settings)

    def __str__(self) -> str:
        return " ".join(self.overrides)


def read_vary(text: str) -> Vary:
    """Read ``a.b=1,2,4``; commas inside brackets and quotes belong to a value.

    Raises
    ------
    InputError
        No key, no value, or the same value twice.
    """
    key, equals, right = text.partition("=")
    values = tuple(value.strip() for value in _split(right))
    if not equals or not key.strip() or not all(values):
        raise InputError([Problem(f"'{text[:80]}' varies nothing", "key=value,value such as run.seed=1,2,3", key="--vary")])
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise InputError([Problem(f"{key.strip()} has the value '{twice[:40]}' twice", "each value once", key="--vary")])
    return Vary(key.strip(), values)


def _split(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote = char
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif char == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += char
    return parts


def make_points(varied: Sequence[Vary], form: Form) -> tuple[Point, ...]:
    """Return the points, the first setting turning slowest.

    Raises
    ------
    InputError
        Nothing is varied, a setting twice, lists of different length, or too many points.
    """
    problems = []
    keys = [vary.key for vary in varied]
    if not varied:
        problems.append(Problem("nothing is varied", "one or more settings, such as --vary run.seed=1,2,3", key="--vary"))
    for key in dict.fromkeys(key for key in keys if keys.count(key) > 1):
        problems.append(Problem(f"{key} is varied twice", "one --vary with all its values", key="--vary"))
    lengths = [len(vary.values) for vary in varied]
    if form is Form.LIST and len(set(lengths)) > 1:
        told = ", ".join(f"{vary.key} has {len(vary.values)}" for vary in varied)
        problems.append(Problem(f"--list pairs values, and {told}", "as many values for each setting", key="--list"))
    count = 1
    for length in lengths:
        count *= length
    if form is Form.GRID and count > MAX_POINTS:
        problems.append(Problem(f"{count} points", f"at most {MAX_POINTS}", key="--vary"))
    if problems:
        raise InputError(problems)
    rows = zip(*(vary.values for vary in varied), strict=True) if form is Form.LIST else product(*(v.values for v in varied))
    return tuple(Point(number, tuple(zip(keys, row, strict=True))) for number, row in enumerate(rows))
