"""``scalefab sweep``: many runs of one scenario. What is done is in the journal; Ctrl-C leaves table and report of that."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ExitCode, InputError, Problem
from .output import complain, note, say

if TYPE_CHECKING:
    from ..sweep.journal import Journal
    from ..sweep.sweep import Planned, Run

SWEEPS = Path("sweeps")


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command. ``processes`` 0 = as many as cores; ``scheduler`` "" = on this machine."""

    vary: Sequence[str]
    side_by_side: bool
    out: Path | None
    processes: int
    scheduler: str


def sweep(file: Path, overrides: Sequence[str], asked: Asked, *, form: str, quiet: bool) -> ExitCode:
    """Run a sweep, or what of it is missing, and print its table.

    Parameters
    ----------
    form
        Of the table on stdout: ``text``, ``csv`` or ``json``.

    Raises
    ------
    InputError
        The file, what is varied, or the folder cannot be used.
    """
    from ..scenario.read import read_text
    from ..sweep.journal import Journal
    from ..sweep.sweep import plan

    points = _points(asked)
    text = read_text(file)
    planned = plan(text, str(file), overrides, points)
    if not planned.tasks:
        raise InputError([Problem(str(row["error"]), key=f"point {row['number']}") for row in planned.refused[:10]])
    folder = asked.out if asked.out is not None else SWEEPS / file.stem
    journal = Journal(folder)
    try:
        code = _run(planned, journal, asked, file.stem, quiet)
        rows = _write(folder, planned, journal, file.stem)
    finally:
        journal.close()
    _print(rows, form, file.stem, code)
    if not quiet:
        note(f"report: {folder / 'report.html'}")
    if code is ExitCode.OK and any(row["status"] in ("error", "failed", "no_progress") for row in rows):
        return ExitCode.FAILED
    return code


def _points(asked: Asked) -> Any:
    from ..sweep.points import Form, make_points, read_vary

    problems: list[Problem] = []
    varied = []
    for text in asked.vary:
        try:
            varied.append(read_vary(text))
        except InputError as error:
            problems.extend(error.problems)
    if asked.processes < 0:
        problems.append(Problem(f"{asked.processes} processes", "1 or more, 0 = as many as cores", key="--processes"))
    if asked.processes and asked.scheduler:
        problems.append(Problem("--processes is read by nothing, the cluster has its own", "one of the two", key="--scheduler"))
    if problems:
        raise InputError(problems)
    return make_points(varied, Form.LIST if asked.side_by_side else Form.GRID)


def _runner(asked: Asked) -> Run:
    if asked.scheduler:
        from ..sweep.cluster import run_cluster

        return lambda tasks: run_cluster(tasks, asked.scheduler)
    from ..sweep.local import run_local

    return lambda tasks: run_local(tasks, asked.processes or os.cpu_count() or 1)


def _run(planned: Planned, journal: Journal, asked: Asked, name: str, quiet: bool) -> ExitCode:
    from ..sweep.sweep import run_sweep

    keys = {task.key for task in planned.tasks}
    there, total = len(keys & journal.rows.keys()), len(keys)
    journal.start(scalefab=__version__, scenario=name, points=total, there=there)
    if not quiet and there:
        note(f"{there} of {total} points are in {journal.path} already")
    if there < total and not asked.scheduler:
        _compile_once(planned, quiet)
    try:
        for row in run_sweep(planned, journal, _runner(asked)):
            there += 1
            if not quiet:
                settings = " ".join(f"{key}={value}" for key, value in row["settings"].items())
                figure = row.get("error") or f"{row['completion_us']:,.3f} us"
                note(f"{there} of {total}: {settings}: {row['status']}, {figure}")
    except KeyboardInterrupt:
        complain(f"interrupted with {there} of {total} points done; the same command goes on from here")
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _compile_once(planned: Planned, quiet: bool) -> None:
    """Compile the kernel before there are many processes that would each do so."""
    from ..simulator.warm import compile_apart, needs_compiling

    for variant in planned.variants:
        if needs_compiling(variant):
            if not quiet:
                note("compiling the simulator kernel once for this machine, 15 to 30 s")
            compile_apart(variant)


def _write(folder: Path, planned: Planned, journal: Journal, name: str) -> list[dict[str, Any]]:
    from ..report.sweeppage import as_csv, render_sweep
    from ..sweep.sweep import table

    rows = table(planned, journal)
    for file, text in (
        ("table.csv", as_csv(rows)),
        ("table.json", json.dumps(rows, indent=1) + "\n"),
        ("report.html", render_sweep(name, rows, __version__)),
    ):
        unfinished = folder / f".{file}.unfinished"
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, folder / file)
    return rows


def _print(rows: list[dict[str, Any]], form: str, name: str, code: ExitCode) -> None:
    from ..report.sweeppage import as_csv, words

    if form == "csv":
        say(as_csv(rows))
    elif form == "json":
        status = "partial" if code is ExitCode.INTERRUPTED else "done"
        say(json.dumps({"scalefab": __version__, "command": "sweep", "scenario": name, "status": status, "rows": rows}))
    else:
        say(words(rows))
