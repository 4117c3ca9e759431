"""``scalefab litmus``: run litmus tests and print which outcomes were seen."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..errors import ExitCode
from .output import complain, note, say

if TYPE_CHECKING:
    from ..conformance.litmus.run import Row

_OUTCOMES = 8


def run_tests(tests: Sequence[str], *, on: Path | None, instances: int, seed: int, json_wanted: bool) -> ExitCode:
    """Run litmus tests.

    Raises
    ------
    InputError
        Unknown tests, files that cannot be used, a fabric that is too small.
    """
    from ..conformance.litmus.load import read_litmus
    from ..conformance.litmus.run import run_litmus
    from ..scenario import read_scenario

    read = read_litmus(tests)
    scenario = read_scenario(on) if on is not None else None
    rows: list[Row] = []
    interrupted = False
    try:
        for row in run_litmus(read, instances, seed, scenario):
            rows.append(row)
            if sys.stderr.isatty():
                note(f"{row.name} {row.variant}: {row.failure or 'as it must be'}")
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupted = True
        complain(f"interrupted after {len(rows)} variants; what they showed stands")
    if json_wanted:
        told = {"instances": instances, "seed": seed, "rows": [row.facts() for row in rows]}
        say(json.dumps({"scalefab": __version__, "command": "litmus", **told}))
    else:
        say(_words(rows))
    if interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FAILED if any(row.failure for row in rows) else ExitCode.OK


def _words(rows: Sequence[Row]) -> str:
    from rich.table import Table
    from rich.text import Text

    from ..report.tables import make_console, printable

    table = Table(box=None, padding=(0, 2), pad_edge=False)
    for heading in ("test", "variant", "condition", "seen", "of", "result"):
        table.add_column(heading, no_wrap=heading != "condition", justify="right" if heading in ("seen", "of") else "left")
    for row in rows:
        good = "never, as ordered" if row.variant == "ordered" else "occurs without order"
        result = Text("FAILED", style="red") if row.failure else Text(good, style="green")
        table.add_row(row.name, row.variant, Text(printable(row.condition)), str(row.seen), str(row.instances), result)
    console = make_console(sys.stdout)
    with console.capture() as printed:
        console.print(table)
        if len({row.name for row in rows}) == 1:
            _add_outcomes(console, rows)
        console.print()
        for row in rows:
            if row.failure:
                console.print(Text(f"{row.name}, {row.variant}: {row.failure}"), soft_wrap=True)
        bad = sum(bool(row.failure) for row in rows)
        tests = len({row.name for row in rows})
        console.print(Text(f"{tests} tests, {len(rows)} variants: {'all as they must be' if not bad else f'{bad} failed'}"))
    return printed.get()


def _add_outcomes(console: object, rows: Sequence[Row]) -> None:
    """One test alone: its outcomes, the most frequent ones first."""
    from rich.console import Console
    from rich.text import Text

    assert isinstance(console, Console)
    for row in rows:
        console.print()
        console.print(Text(f"{row.variant}: {row.about}" if row.variant == "ordered" else f"{row.variant}:"))
        ranked = sorted(row.outcomes, key=lambda one: -one.count)
        for one in ranked[:_OUTCOMES]:
            values = ", ".join(f"{name} = {value}" for name, value in one.values)
            console.print(Text(f"  {one.count:7d}  {values}{'  <- the condition' if one.meets else ''}"))
        if len(ranked) > _OUTCOMES:
            console.print(Text(f"  {len(ranked) - _OUTCOMES} more outcomes; --json has all"))
