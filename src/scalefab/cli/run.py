"""``scalefab run``: read, simulate, judge, print, keep."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..errors import ExitCode
from .output import complain, note, say, warn
from .progress import make_reporter

if TYPE_CHECKING:
    from ..report.runfolder import RunFolder
    from ..scenario.scenario import Scenario
    from ..simulator.result import Result
    from ..simulator.verdict import Verdict


def run_scenario(file: Path, overrides: Sequence[str], *, out: Path | None, json_wanted: bool, quiet: bool) -> ExitCode:
    """Run one scenario and return the verdict's exit code.

    The run folder is made before the run, so that an hour of simulation cannot end without a place for its result.

    Raises
    ------
    InputError
        The scenario or the folder cannot be used.
    """
    from ..report.runfolder import reserve_folder
    from ..scenario import read_scenario

    started = datetime.now(UTC)
    scenario = read_scenario(file, overrides)
    for text in scenario.warnings:
        warn(text)
    folder = reserve_folder(out, scenario.name, started)
    try:
        result = _simulate(scenario, quiet)
        return _tell(scenario, result, folder, started, json_wanted=json_wanted, quiet=quiet)
    finally:
        folder.abandon()


def _simulate(scenario: Scenario, quiet: bool) -> Result:
    from ..simulator.run import simulate

    reporter = make_reporter(quiet)
    try:
        return simulate(scenario, progress=reporter)
    finally:
        if reporter is not None:
            reporter.close()


def _tell(
    scenario: Scenario, result: Result, folder: RunFolder, started: datetime, *, json_wanted: bool, quiet: bool
) -> ExitCode:
    """Print first, then write: a full disk must not swallow the verdict."""
    from ..report.record import flat_object, make_manifest
    from ..report.runfolder import write_run
    from ..simulator.verdict import judge

    verdict = judge(result)
    flat = flat_object(scenario.name, result, verdict, __version__)
    if json_wanted:
        say(json.dumps(flat))
    else:
        say(_words(result, verdict, tables=not quiet))
    for text in verdict.failures:
        complain(text)
    for text in verdict.warnings:
        if text not in scenario.warnings:
            warn(text)
    manifest = make_manifest(
        scenario,
        result,
        verdict,
        argv=["scalefab", *sys.argv[1:]],
        started_utc=started.isoformat(timespec="seconds"),
        package_version=__version__,
    )
    report = write_run(folder, scenario, result, verdict, flat, manifest)
    if not quiet:
        note(f"report: {report}")
    return verdict.exit_code


def _words(result: Result, verdict: Verdict, *, tables: bool) -> str:
    from ..report.tables import make_console, print_tables, print_verdict

    console = make_console(sys.stdout)
    with console.capture() as printed:
        print_verdict(console, verdict)
        if tables:
            print_tables(console, result, verdict)
    return printed.get()
