"""``scalefab report``, ``compare``, ``timeline``: what is done with the folders of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..errors import ExitCode, InputError, Problem
from .output import note, say, warn

if TYPE_CHECKING:
    from ..report.store import StoredRun
    from .app import TimelineForm

_SUFFIX = {"chrome": "timeline.json", "perfetto": "timeline.pftrace"}


def draw_again(folder: Path) -> ExitCode:
    """Draw the report of a run folder again and print its path.

    Raises
    ------
    InputError
        The folder is none that a run has left, or of a version that cannot be read.
    """
    from ..report.runfolder import redraw
    from ..report.store import load_run

    say(str(redraw(load_run(folder))))
    return ExitCode.OK


def compare_runs(before: Path, after: Path, *, json_wanted: bool, html: Path | None) -> ExitCode:
    """Print what differs between two runs, 0 whether or not something does.

    Raises
    ------
    InputError
        One of the folders cannot be used; both are told.
    """
    from ..report.compare import compare, comparison_object
    from ..report.comparepage import render_comparison, words
    from ..report.store import load_run

    runs: list[StoredRun] = []
    problems: list[Problem] = []
    for folder in (before, after):
        try:
            runs.append(load_run(folder))
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    comparison = compare(*runs)
    say(json.dumps(comparison_object(comparison, __version__)) if json_wanted else words(comparison))
    if html is not None:
        html.write_text(render_comparison(comparison, __version__), encoding="utf-8")
        note(f"comparison: {html}")
    return ExitCode.OK


def write_timeline(folder: Path, form: TimelineForm, out: Path | None) -> ExitCode:
    """Write the timeline of a run and print its path.

    Raises
    ------
    InputError
        The folder cannot be used, or the run recorded no frames.
    MissingExtraError
        The package for Perfetto is not installed.
    """
    from ..report.chrome import write_chrome
    from ..report.perfetto import write_perfetto
    from ..report.store import load_run
    from ..report.timeline import make_timeline

    path = out if out is not None else folder / _SUFFIX[form.value]
    if path.is_dir():
        raise InputError([Problem(f"'{path}' is a folder", "a file", key="--out")])
    made = make_timeline(load_run(folder).result)
    write = write_chrome if form.value == "chrome" else write_perfetto
    write(path, made)
    if made.left_out:
        warn(f"{made.left_out} operations found no row: a GPU has 64")
    say(str(path))
    return ExitCode.OK
