"""Litmus files -> litmus tests, every problem with file and line."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from ...errors import InputError, Problem
from ...scenario.document import read_any
from ...scenario.paths import near_miss
from ...scenario.problems import problem_at, shown, translate
from ...scenario.read import read_text
from .models import Litmus, LitmusFile

_FOLDER = "tests"


def built_in_tests() -> tuple[str, ...]:
    """Return the names of the tests that come with the product."""
    names = (entry.name for entry in files(__package__).joinpath(_FOLDER).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def read_litmus(asked: Sequence[str]) -> list[Litmus]:
    """Return tests: built-in ones by name, others by the path of their file; all built-in ones when none is asked for.

    Raises
    ------
    InputError
        Unknown names, and everything that cannot be used in a file.
    """
    known = built_in_tests()
    folded = {name.upper(): name for name in known}
    problems: list[Problem] = []
    found: list[Litmus] = []
    for name in asked or known:
        try:
            if name.upper() in folded:
                file = f"{folded[name.upper()]}.yaml"
                found.append(parse_litmus(files(__package__).joinpath(_FOLDER, file).read_text(encoding="utf-8"), file))
            elif name.endswith((".yaml", ".yml")) or Path(name).is_file():
                found.append(parse_litmus(read_text(name), name))
            else:
                expected = "a file, or one of " + ", ".join(known)
                problems.append(Problem(f"no litmus test '{name}'", expected, near_miss(name.upper(), known), key="name"))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return found


def parse_litmus(text: str, file: str) -> Litmus:
    """Return the test that a text describes; ``file`` is its name in messages. Raises InputError with every problem."""
    data, marks = read_any(text, file, "a litmus test")
    if not isinstance(data, dict):
        raise InputError([problem_at((), marks, f"the file holds {shown(data)}", "a litmus test")])
    try:
        return LitmusFile.model_validate(data).litmus()
    except ValidationError as error:
        problems = translate(error, LitmusFile, marks)
        raise InputError(sorted(dict.fromkeys(problems), key=lambda problem: problem.line)) from None
