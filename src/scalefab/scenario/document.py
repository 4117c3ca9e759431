"""The user's YAML text -> plain data with the line of every key.

YAML 1.1 guesses types from looks: ``on`` is a truth value, ``1:30`` is ninety, ``010`` is eight, ``2024-01-01`` is a date.
Here only what nobody can mistake becomes anything but text: ``true`` / ``false``, decimal and 0x whole numbers, decimal
fractions and null. All else stays the text that stands in the file, and the settings say what they expect. Every text that
this resolver reads as a number is also read so by YAML 1.1, so a file written by an ordinary YAML writer reads back alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from ..errors import InputError, Problem
from .paths import KeyPath, Mark, Marks, dotted, printable

FILE_MAX_BYTES = 1 << 20
DEPTH_MAX = 32  # own: the deepest file has 6 levels
NODES_MAX = 20_000  # own: after aliases are expanded; the largest example has under 100

_SURROGATE = re.compile("[\ud800-\udfff]")  # from escapes such as "\\ud800": no text holds one
_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"(?:[-+]?(?:0|[1-9][0-9_]{0,30})|0x[0-9a-fA-F]{1,16})\Z")
_FLOAT = re.compile(r"[-+]?[0-9]{1,30}\.[0-9]{0,30}(?:[eE][-+][0-9]{1,3})?\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data (mappings, lists, text, numbers, truth values, None) and the mark of each key and list item."""

    data: dict[str, Any]
    marks: Marks


class _TooMuchError(Exception):
    """Nested too deep or too many values; carries the line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Loader(yaml.SafeLoader):
    """PyYAML's reader with our resolver and limits; it composes nodes, it constructs nothing."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - filled below, at import, and never again

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._depth += 1
        self._nodes += 1
        if self._depth > DEPTH_MAX or self._nodes > NODES_MAX:
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
            raise _TooMuchError(_too_much(self._depth), line)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Loader.add_implicit_resolver(_TAG + "bool", _BOOL, list("tTfF"))
_Loader.add_implicit_resolver(_TAG + "int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(_TAG + "float", _FLOAT, list("-+0123456789"))
_Loader.add_implicit_resolver(_TAG + "null", _NULL, ["~", "n", "N", ""])


def _too_much(depth: int) -> str:
    return f"is nested deeper than {DEPTH_MAX} levels" if depth > DEPTH_MAX else f"holds more than {NODES_MAX} values"


class _Builder:
    """Nodes -> data and marks; gathers the problems on its way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.marks: Marks = {}
        self.problems: list[Problem] = []
        self._nodes = 0

    def problem(self, node: yaml.Node, path: KeyPath, message: str, expected: str = "") -> None:
        self.problems.append(Problem(message, expected, "", self.file, node.start_mark.line + 1, dotted(path)))

    def build(self, node: yaml.Node, path: KeyPath, depth: int) -> Any:
        self._nodes += 1
        if depth > DEPTH_MAX or self._nodes > NODES_MAX:  # the reader's own limits do not see what aliases expand to
            raise _TooMuchError(_too_much(depth), node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            items = []
            for index, item in enumerate(node.value):
                self.marks[(*path, index)] = Mark(self.file, item.start_mark.line + 1)
                items.append(self.build(item, (*path, index), depth + 1))
            return items
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path, depth)
        self.problem(node, path, f"tag '{printable(node.tag)}' is not allowed", "plain YAML without tags")
        return None

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.problem(key_node, path, "a key is a list or a mapping", "a name")
                continue
            key = str(key_node.value)
            here = (*path, key)
            if _SURROGATE.search(key):
                self.problem(key_node, path, f"key '{printable(key)}' holds half of a character", "a name")
                continue
            if key == "<<" and key_node.style is None:
                self.problem(key_node, path, "'<<' (merge) is not supported", "the keys themselves")
                continue
            if key in result:
                first = self.marks[here].line
                self.problem(key_node, here, f"is given twice, first in line {first}", "each key once")
                continue
            self.marks[here] = Mark(self.file, key_node.start_mark.line + 1)
            result[key] = self.build(value_node, here, depth + 1)
        return result

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        text = str(node.value)
        if _SURROGATE.search(text):
            self.problem(node, path, f"'{printable(text)}' holds half of a character", "whole characters, written as they are")
            return None
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            return text
        if kind == "bool" and _BOOL.fullmatch(text):
            return text.lower() == "true"
        if kind == "null" and _NULL.fullmatch(text):
            return None
        if kind == "int" and _INT.fullmatch(text):
            return int(text, 16) if text.startswith("0x") else int(text)
        if kind == "float" and (_FLOAT.fullmatch(text) or _INT.fullmatch(text)):
            return float(text)
        if kind in ("bool", "null", "int", "float"):
            self.problem(node, path, f"'{printable(text)}' does not fit its tag '!!{kind}'")
        else:
            self.problem(node, path, f"tag '{printable(node.tag)}' is not allowed", "plain YAML without tags")
        return None


def decode(raw: bytes, file: str) -> str:
    """Return the text of a file's bytes.

    Raises
    ------
    InputError
        More than 1 MB, or not UTF-8 (with the line of the first bad byte).
    """
    if len(raw) > FILE_MAX_BYTES:
        raise InputError([Problem("is larger than 1 MB", "a scenario file", file=file)])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8 text"
        raise InputError([Problem(message, "a text file in UTF-8", file=file, line=line)]) from None


def read_document(text: str, file: str) -> Document:
    """Read YAML text whose top is a mapping.

    Parameters
    ----------
    text
        YAML.
    file
        Name for messages.

    Raises
    ------
    InputError
        Not YAML, duplicate keys, tags, merge keys, too deep, too long, or the top is no mapping; all that can be told at once.
    """
    if len(text) > FILE_MAX_BYTES:
        raise InputError([Problem("is larger than 1 MB", "a scenario file", file=file)])
    data, marks = _read(text, file)
    if data is None:
        raise InputError([Problem("the file is empty", "a mapping that begins with 'scalefab: 1'", file=file, line=1)])
    if not isinstance(data, dict):
        message = f"the file holds {_kind(data)}"
        raise InputError([Problem(message, "a mapping that begins with 'scalefab: 1'", file=file, line=1)])
    return Document(data, marks)


def read_any(text: str, file: str, expected: str) -> tuple[Any, Marks]:
    """Read YAML text whose top may be anything but nothing; returns data and marks. Raises InputError as `read_document`."""
    if len(text) > FILE_MAX_BYTES:
        raise InputError([Problem("is larger than 1 MB", expected, file=file)])
    data, marks = _read(text, file)
    if data is None:
        raise InputError([Problem("the file is empty", expected, file=file, line=1)])
    return data, marks


def read_value(text: str, file: str) -> Any:
    """Read the YAML value of an override, such as ``3``, ``64KiB`` or ``{length: 3m}``. Raises InputError as `read_document`."""
    return _read(text, file, line=False)[0]


def _read(text: str, file: str, line: bool = True) -> tuple[Any, Marks]:
    builder = _Builder(file)
    try:
        node = _compose(text)
        data = None if node is None else builder.build(node, (), 0)
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark or error.context_mark
        problem = _yaml_problem(error, text)
        last = max(1, len(text.splitlines()))  # the end of the text counts as a line of its own there
        raise InputError([_at(problem, file, min(where.line + 1, last) if where and line else 0)]) from None
    except yaml.reader.ReaderError as error:
        at = error.position if isinstance(error.position, int) else 0
        problem = Problem(f"character U+{_code(error.character):04X} is not allowed", "printable text")
        raise InputError([_at(problem, file, text.count("\n", 0, at) + 1 if line else 0)]) from None
    except _TooMuchError as error:
        raise InputError([_at(Problem(str(error)), file, error.line if line else 0)]) from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # PyYAML lets some of int() and chr() through
        raise InputError([_at(Problem(f"is not YAML ({printable(str(error))})", "YAML text"), file, int(line))]) from None
    if node is not None:
        builder.marks[()] = Mark(file, node.start_mark.line + 1)
    if builder.problems:
        raise InputError([p if line else _at(p, file, 0) for p in builder.problems])
    return data, builder.marks


def _compose(text: str) -> yaml.Node | None:
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


def _at(problem: Problem, file: str, line: int) -> Problem:
    return Problem(problem.message, problem.expected, problem.near, file, line, problem.key)


def _code(character: object) -> int:
    return ord(character) if isinstance(character, str) else int(character) if isinstance(character, int) else 0


def _yaml_problem(error: yaml.MarkedYAMLError, text: str) -> Problem:
    """Say in our words what the YAML reader stumbled over."""
    said = error.problem or "unreadable"
    if error.context:
        begins = ""
        if error.context_mark and error.problem_mark and error.context_mark.line != error.problem_mark.line:
            begins = f" that begins in line {error.context_mark.line + 1}"
        said += f" ({error.context}{begins})"
    mark = error.problem_mark
    if mark is not None:
        lines = text.splitlines()
        written = lines[mark.line] if mark.line < len(lines) else ""
        if "\t" in written[: mark.column + 1] and not written[: mark.column + 1].strip(" \t-"):
            return Problem("a tab stands in the indentation", "spaces")
    if "mapping values are not allowed" in said:
        return Problem(
            "a second ':' where no key can begin", "'key: value' with the same indentation as its neighbours, or quotes"
        )
    if "expected a single document" in said:
        return Problem("a second document ('---') follows", "one document a file")
    if "undefined alias" in said:
        return Problem(f"alias without its anchor ({printable(said)})", "'&name' before '*name'")
    return Problem(f"is not YAML: {printable(said, 120)}")


def _kind(value: object) -> str:
    return "a list" if isinstance(value, list) else "a single value"
