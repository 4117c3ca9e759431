"""``scalefab headers``: header stacks side by side."""

from __future__ import annotations

import json
from dataclasses import asdict

from .. import __version__
from ..errors import ExitCode, InputError, Problem, UnitError, WireError
from ..protocol.frame import WireFormat
from ..protocol.stacks import Efficiency, efficiencies
from ..units import parse_size_bytes
from .output import say

_SIZE_MAX = 1 << 30
_COLUMNS = ("stack", "size_bytes", "packed", "transactions", "frame_bytes", "efficiency_pct")


def compare_stacks(sizes: str, frame_max: str, *, pack: bool, json_wanted: bool) -> ExitCode:
    """Print the comparison.

    Raises
    ------
    InputError
        With every size that cannot be used.
    """
    rows = efficiencies(*_settings(sizes, frame_max), pack=pack)
    if json_wanted:
        say(json.dumps({"scalefab": __version__, "command": "headers", "rows": [asdict(row) for row in rows]}))
    else:
        say(_words(rows))
    return ExitCode.OK


def _settings(sizes: str, frame_max: str) -> tuple[list[int], int]:
    problems: list[Problem] = []
    found: list[int] = []
    for text in (part.strip() for part in sizes.split(",")):
        try:
            found.append(_size(text))
        except UnitError as error:
            problems.append(Problem(str(error), key="--size"))
    largest = 0
    try:
        largest = _size(frame_max.strip())
        WireFormat(largest)
    except (UnitError, WireError) as error:
        problems.append(Problem(str(error), key="--frame-max"))
    if problems:
        raise InputError(problems)
    return found, largest


def _size(text: str) -> int:
    """Read ``64``, ``1K`` (1024, as in tables of benchmarks) or a quantity such as ``4KiB``."""
    number = text[:-1] if text[-1:] == "K" else text
    if number.isascii() and number.isdecimal() and len(number) < 12:
        size = int(number) * (1024 if text.endswith("K") else 1)
    else:
        size = parse_size_bytes(text)
    if not 1 <= size <= _SIZE_MAX:
        raise UnitError(text, "1 byte to 1 GiB", f"'{text}' is no size of a transaction")
    return size


def _words(rows: list[Efficiency]) -> str:
    cells = [_COLUMNS] + [
        (
            row.stack,
            str(row.size_bytes),
            "yes" if row.packed else "no",
            "-" if row.transactions is None else str(row.transactions),
            str(row.frame_bytes),
            f"{row.efficiency_pct:.1f}",
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(_COLUMNS))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))])
        for line in cells
    )
