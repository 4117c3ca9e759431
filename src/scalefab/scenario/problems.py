"""What pydantic found wrong -> lines for people: file:line, the setting, what was found, what was expected, the near miss."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from ..errors import Problem, UnitError
from .entries import FORM_TAGS
from .paths import KeyPath, Marks, dotted, mark_of, near_miss, parse_dotted, printable
from .quantities import FAULT

USERS_OWN = ("count", "planes")
"""Settings beside a preset that no preset gives."""


def problem_at(path: KeyPath, marks: Marks, message: str, expected: str = "", near: str = "") -> Problem:
    """Return a problem with the file and line of its setting, or of the nearest thing around it."""
    mark = mark_of(path, marks)
    return Problem(message, expected, near, mark.file if mark else "", mark.line if mark else 0, dotted(path))


def located(problem: Problem, marks: Marks) -> Problem:
    """Return a problem that another room found by its key alone, with file and line of that setting."""
    if problem.file or not problem.key:
        return problem
    path = parse_dotted(problem.key)
    if path is None:
        return problem
    found = problem_at(path, marks, problem.message, problem.expected, problem.near)
    return replace(found, key=dotted(path))


def model_at(top: type[BaseModel], path: KeyPath) -> type[BaseModel] | None:
    """Return the model whose settings stand at a path, None when the path leads to no mapping of settings."""
    if not path:
        return top
    field = field_at(top, path)
    if field is None:
        return None
    return next((kind for kind in alternatives(field) if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def field_at(top: type[BaseModel], path: KeyPath) -> Any:
    """Return the type of the setting at a path, None when there is no such setting."""
    here: Any = top
    for part in path:
        options = [here, *alternatives(here)]
        if isinstance(part, int):
            here = next((get_args(option)[0] for option in options if get_origin(option) is list), None)
        else:
            models = [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]
            fields: list[FieldInfo] = [model.model_fields[part] for model in models if part in model.model_fields]
            here = fields[0].annotation if fields else None
        if here is None:
            return None
    return here


def alternatives(annotation: Any) -> list[Any]:
    """Return what an annotation may be, through Annotated, Optional and unions."""
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return alternatives(get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [one for option in get_args(annotation) for one in alternatives(option)]
    return [annotation]


def allowed_words(top: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """Return the words that a setting can be, () when it is not chosen from words."""
    words = []
    for option in alternatives(field_at(top, path)):
        if get_origin(option) is Literal:
            words += [str(word) for word in get_args(option)]
    return tuple(words)


def shown(value: object) -> str:
    """Return a found value as one short printable text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = printable(str(value))
    return f"'{text}'" if isinstance(value, str) else text


def translate(error: ValidationError, top: type[BaseModel], marks: Marks, silent: Collection[KeyPath] = ()) -> list[Problem]:
    """Turn a ValidationError into problems.

    Parameters
    ----------
    error
        What pydantic raised.
    top
        The model of the whole file.
    marks
        Where each setting was written.
    silent
        Settings whose absence is another fault's fault and is not told.
    """
    errors = error.errors(include_url=False)
    problems: list[Problem] = []
    meant: set[KeyPath] = set(silent)
    for item in errors:
        if item["type"] == "extra_forbidden":
            path = _path(item["loc"])
            near = near_miss(path[-1], _settings(top, path[:-1]))
            meant.add((*path[:-1], near))
            expected = "" if near else "one of " + ", ".join(_settings(top, path[:-1]))
            problems.append(problem_at(path, marks, "unknown setting", expected, near))
    for item in errors:
        path = _path(item["loc"])
        if item["type"] == "extra_forbidden" or (item["type"] == "missing" and path in meant):
            continue
        if item["type"] == FAULT and isinstance(item.get("input"), dict) and _around(path, silent):
            continue  # "gives neither a nor b" beside "a is empty"
        problems += _one(item["type"], path, item.get("input"), item.get("ctx") or {}, item["msg"], top, marks)
    return problems


def _around(path: KeyPath, settings: Collection[KeyPath]) -> bool:
    return any(setting[: len(path)] == path for setting in settings)


def _settings(top: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    model = model_at(top, path)
    return tuple(model.model_fields) if model else ()


def _path(loc: tuple[int | str, ...]) -> KeyPath:
    return tuple(part for part in loc if part not in FORM_TAGS)


_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "list_type": "a list",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "bool_type": "on or off",
}


def _one(
    kind: str, path: KeyPath, value: object, context: Mapping[str, Any], said: str, top: type[BaseModel], marks: Marks
) -> list[Problem]:
    if kind == FAULT:
        return [_fault(path, value, item, marks) for item in context["faults"]]
    if kind == "missing":
        meaning = _meaning(top, path)
        presets = any("preset" in _settings(top, path[:depth]) for depth in range(1, len(path)))
        expected = "a value, or a preset" if presets and path[-1] not in USERS_OWN else ""
        return [problem_at(path, marks, f"is missing ({meaning})" if meaning else "is missing", expected)]
    if kind == "value_error" and isinstance(context.get("error"), UnitError):
        unit = context["error"]
        return [problem_at(path, marks, _unit_message(unit), unit.expected)]
    if kind == "literal_error":
        words = allowed_words(top, path)
        expected = "one of " + ", ".join(words) if len(words) > 1 else words[0]
        return [problem_at(path, marks, f"{shown(value)} is not known", expected, near_miss(value, words))]
    if kind in _WANTED:
        wanted = _WANTED[kind]
        settings = _settings(top, path)
        if wanted == "a mapping" and settings:
            wanted += " with " + ", ".join(settings[:6]) + (" ..." if len(settings) > 6 else "")
        if wanted == "text" and not isinstance(value, dict | list):
            wanted += f' such as "{shown(value)}"'
        if wanted == "a list":
            wanted += ", each entry after a '-'"
        return [problem_at(path, marks, f"{shown(value)} is not {_WANTED[kind]}", wanted if wanted != _WANTED[kind] else "")]
    if kind in ("greater_than_equal", "greater_than"):
        return [problem_at(path, marks, f"{shown(value)} is too small", f"{context.get('ge', context.get('gt'))} or more")]
    if kind in ("less_than_equal", "less_than"):
        return [problem_at(path, marks, f"{shown(value)} is too large", f"{context.get('le', context.get('lt'))} or less")]
    if kind == "too_short":
        return [problem_at(path, marks, "is empty", f"at least {context.get('min_length', 1)}")]
    if kind in ("too_long", "string_too_long"):
        return [problem_at(path, marks, "is too long", f"at most {context.get('max_length')}")]
    return [problem_at(path, marks, f"{shown(value)}: {said}")]


def _fault(path: KeyPath, value: object, item: tuple[str, str, str, str], marks: Marks) -> Problem:
    key, message, expected, near = item
    if not key and message.startswith("is ") and value is not None and not isinstance(value, dict | list):
        message = f"{shown(value)} {message}"
    parts = [int(part) if part.isdecimal() else part for part in key.split(".")] if key else []
    return problem_at((*path, *parts), marks, message, expected, near)


def _unit_message(error: UnitError) -> str:
    text = error.reason or f"{shown(error.text)} cannot be read"
    return printable(text, 120)


def _meaning(top: type[BaseModel], path: KeyPath) -> str:
    """Return what a missing setting is for: the first sentence of its description."""
    model = model_at(top, path[:-1])
    field = model.model_fields.get(str(path[-1])) if model else None
    text = (field.description or "") if field else ""
    sentence = text.split(". ")[0].split("; default")[0].rstrip(".")
    return sentence[:1].lower() + sentence[1:] if sentence.split(" ")[0].istitle() else sentence
