"""``scalefab conformance``: run industry cases of LLR and CBFC, or a user's own, and print what held."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..errors import ExitCode, InputError, Problem
from .output import note, say

if TYPE_CHECKING:
    from ..conformance.run import Row

_SHOWN_CHECKS = 3


def run_conformance(ids: Sequence[str], *, scenario: Path | None, csv: Path | None, json_wanted: bool) -> ExitCode:
    """Run cases and print a row for each case and frame size.

    Raises
    ------
    InputError
        Unknown ids, a file that cannot be used (every problem of it), or a CSV file that cannot be written.
    """
    from ..conformance.load import built_in_cases, read_cases
    from ..conformance.run import make_plans, run_plans, write_csv

    cases = read_cases(scenario, ids) if scenario is not None else built_in_cases(ids)
    plans = make_plans(cases)
    if csv is not None and not csv.resolve().parent.is_dir():
        raise InputError([Problem(f"no folder '{csv.parent}'", "a folder that is there", key="--csv")])
    rows: list[Row] = []
    for row in run_plans(plans):
        rows.append(row)
        if sys.stderr.isatty():
            note(f"{len(rows)} of {len(plans)}: {row.id} {row.size_bytes} B {'passed' if row.passed else 'failed'}")
    if csv is not None:
        with csv.open("w", encoding="utf-8", newline="") as stream:
            write_csv(rows, stream)
        note(f"records: {csv}")
    if json_wanted:
        say(json.dumps({"scalefab": __version__, "command": "conformance", "rows": [row.facts() for row in rows]}))
    else:
        say(_words(rows))
    return ExitCode.OK if all(row.passed for row in rows) else ExitCode.FAILED


def _words(rows: Sequence[Row]) -> str:
    """Return the table for people: runs of a case that passed share a line, each one that failed has its own."""
    from rich.table import Table
    from rich.text import Text

    from ..report.tables import make_console, printable

    table = Table(box=None, padding=(0, 2), pad_edge=False)
    for heading in ("case", "what", "frame size", "checks", "result"):
        table.add_column(heading, no_wrap=heading != "what")
    for group in _groups(rows):
        first, sizes = group[0], [row.size_bytes for row in group]
        text = f"{sizes[0]} B" if len(sizes) == 1 else f"{min(sizes)} .. {max(sizes)} B, {len(sizes)} sizes"
        checks = sum(len(row.checks) for row in group)
        failed = sum(len(row.failed) for row in group)
        what = " · ".join(part for part in (first.name, first.part) if part)
        result = Text("passed", style="green") if first.passed else Text(f"FAILED {failed}", style="red")
        table.add_row(first.id, Text(printable(what)), text, str(checks), result)
    console = make_console(sys.stdout)
    with console.capture() as printed:
        console.print(table)
        console.print()
        for row in rows:
            for check in row.failed[:_SHOWN_CHECKS]:
                words = f"{row.id} {row.size_bytes} B: {check.name}: expected {check.expected}, measured {check.measured}"
                console.print(Text(printable(words)), soft_wrap=True)
            if len(row.failed) > _SHOWN_CHECKS:
                console.print(Text(f"{row.id} {row.size_bytes} B: {len(row.failed) - _SHOWN_CHECKS} more; --json has all"))
        bad = sum(not row.passed for row in rows)
        cases = len({row.id for row in rows})
        console.print(Text(f"{cases} cases, {len(rows)} runs: {'all passed' if not bad else f'{bad} failed'}"))
    return printed.get()


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    """Return rows that share a line: neighbours of one case and part that passed; failed ones stand alone."""
    groups: list[list[Row]] = []
    for row in rows:
        last = groups[-1][-1] if groups else None
        if last is not None and row.passed and last.passed and (row.id, row.part) == (last.id, last.part):
            groups[-1].append(row)
        else:
            groups.append([row])
    return groups
