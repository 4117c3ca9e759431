"""``--set a.b=3``: overrides of single settings, applied to the data of the file before it is checked."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ..errors import InputError, Problem
from .document import Document, read_value
from .paths import KeyPath, Mark, dotted, parse_dotted, printable

# Settings that exclude each other: an override of one takes the place of the others that the file gives.
_INSTEAD_OF = {
    ("cables", "delay"): ("length", "medium"),
    ("cables", "length"): ("delay",),
    ("cables", "medium"): ("delay",),
    ("all_to_all", "size"): ("bytes_per_pair",),
    ("all_to_all", "bytes_per_pair"): ("size",),
}


def apply_overrides(document: Document, overrides: Sequence[str]) -> tuple[Document, list[Problem]]:
    """Return the document with each ``a.b=value`` of ``overrides`` set, in order (values are YAML), and what cannot be set.

    Problems: no ``=``, no path, a path through something that is no mapping or list, a list position that does not exist, a value
    that is not YAML. Whether the setting exists is checked with the settings of the file.
    """
    result = Document(copy.deepcopy(document.data), dict(document.marks))
    problems: list[Problem] = []
    for text in overrides:
        try:
            _apply(result, text)
        except InputError as error:
            problems.extend(error.problems)
    return result, problems


def _apply(document: Document, text: str) -> None:
    name = f"--set {printable(text, 80)}"
    left, equals, right = text.partition("=")
    asked = parse_dotted(left)
    if not equals or asked is None:
        raise InputError([Problem("is not an override", "key=value such as run.seed=3", file=name)])
    value = read_value(right, name)
    parent: Any = document.data
    path: KeyPath = ()
    for part in asked[:-1]:
        parent, path = _step(document, parent, path, part, name)
    last = asked[-1]
    if isinstance(parent, list) and isinstance(last, int) and last < len(parent):
        path = (*path, last)
        parent[last] = value
    elif isinstance(parent, dict):
        path = (*path, str(last))
        parent[path[-1]] = value
        for other in _INSTEAD_OF.get((str(path[-2]), str(path[-1])), ()) if len(path) > 1 else ():
            mark = document.marks.get((*path[:-1], other))
            if other in parent and mark is not None and not mark.is_override:
                del parent[other]
    else:
        raise InputError([_no_such(parent, path, last, name)])
    for known in [known for known in document.marks if known[: len(path)] == path]:
        del document.marks[known]
    document.marks[path] = Mark(name, 0)


def _step(document: Document, parent: Any, path: KeyPath, part: str | int, name: str) -> tuple[Any, KeyPath]:
    """Go one level down; a mapping that is not there yet comes to be."""
    if isinstance(parent, list) and isinstance(part, int) and part < len(parent):
        return parent[part], (*path, part)
    if not isinstance(parent, dict):
        raise InputError([_no_such(parent, path, part, name)])
    below = (*path, str(part))
    if parent.get(str(part)) is None:
        parent[str(part)] = {}
        document.marks[below] = Mark(name, 0)
    return parent[str(part)], below


def _no_such(parent: Any, path: KeyPath, part: str | int, name: str) -> Problem:
    key = dotted((*path, part))
    if not isinstance(parent, list):
        return Problem(f"{dotted(path)} is a single value and has no settings of its own", file=name, key=key)
    entries = f"a position, 0 .. {len(parent) - 1}" if parent else "no position, the list is empty"
    return Problem(f"{dotted(path)} has no entry {part}", entries, file=name, key=key)
