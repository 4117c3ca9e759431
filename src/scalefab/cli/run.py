"""``scalefab run``: read, simulate, judge, print, keep."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..errors import ExitCode, InputError, Problem
from .output import complain, note, say, warn
from .progress import make_reporter

if TYPE_CHECKING:
    from ..report.runfolder import RunFolder
    from ..scenario.scenario import Scenario
    from ..simulator.result import Result
    from ..simulator.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run keeps, and where (``out`` None = a folder of its own below ``runs``).

    ``capture_frames`` 0 = no capture; ``sample_frames`` = most rows of frames.csv; ``threads`` = how it is simulated.
    """

    out: Path | None
    capture_frames: int = 0
    capture_phy: bool = False
    sample_frames: int = 50_000
    parquet: bool = False
    threads: int = 1


def with_fidelity(overrides: Sequence[str], fidelity: str) -> tuple[str, ...]:
    """Return the settings with that of ``--fidelity``, where one is named."""
    return (*overrides, f"run.fidelity={fidelity}") if fidelity else tuple(overrides)


def run_scenario(file: Path, overrides: Sequence[str], *, kept: Kept, json_wanted: bool, quiet: bool) -> ExitCode:
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
    scenario = _recording(read_scenario(file, overrides), kept)
    for text in scenario.warnings:
        warn(text)
    folder = reserve_folder(kept.out, scenario.name, started)
    try:
        result = _simulate(scenario, quiet, kept.threads)
        return _tell(scenario, result, folder, started, kept, json_wanted=json_wanted, quiet=quiet)
    finally:
        folder.abandon()


def _recording(scenario: Scenario, kept: Kept) -> Scenario:
    """Return the scenario with what is to be recorded, after making sure that it can be written.

    Raises
    ------
    InputError
        ``--capture-phy`` without ``--capture``, or a header stack that only has sizes.
    MissingExtraError
        No package writes Parquet.
    """
    from ..report.capturefile import require_capture
    from ..report.parquet import require_parquet
    from ..scenario.fidelity import Fidelity

    options = replace(scenario.options, sample_frames=kept.sample_frames)
    if kept.threads > 1 and options.fidelity is Fidelity.FLOW:
        raise InputError([Problem("flows are simulated by one thread", "--threads without flow fidelity", key="--threads")])
    if kept.capture_frames and kept.threads > 1:
        raise InputError([Problem("frames are captured by one thread only", "--capture without --threads", key="--capture")])
    if kept.capture_frames:
        require_capture(scenario.fabric_spec.header_stack)
        if options.fidelity is Fidelity.FLOW:
            raise InputError([Problem("flow fidelity has no frames to capture", "run.fidelity packet", key="--capture")])
        options = replace(options, capture_frames=kept.capture_frames)
    elif kept.capture_phy:
        raise InputError([Problem("--capture-phy without frames to capture", "--capture N beside it", key="--capture-phy")])
    if kept.parquet:
        require_parquet()
    return replace(scenario, options=options)


def _simulate(scenario: Scenario, quiet: bool, threads: int) -> Result:
    from ..simulator.machine import return_freed_memory
    from ..simulator.run import simulate

    return_freed_memory()
    reporter = make_reporter(quiet)
    try:
        return simulate(scenario, threads=threads, progress=reporter)
    finally:
        if reporter is not None:
            reporter.close()


def _tell(
    scenario: Scenario, result: Result, folder: RunFolder, started: datetime, kept: Kept, *, json_wanted: bool, quiet: bool
) -> ExitCode:
    """Print first, then write: a full disk must not swallow the verdict."""
    from ..report.record import flat_object, make_manifest
    from ..report.runfolder import Capture, Extras, write_run
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
    wanted = Capture.FRAMES_AND_PHY if kept.capture_phy else Capture.FRAMES
    extras = Extras(kept.parquet, wanted if kept.capture_frames else Capture.NONE)
    report = write_run(folder, scenario, result, verdict, flat, manifest, extras)
    if not quiet:
        note(f"report: {report}")
    return verdict.exit_code


def _words(result: Result, verdict: Verdict, *, tables: bool) -> str:
    from ..report.tables import make_console, print_line, print_tables, print_verdict
    from ..report.waiting import print_waits
    from ..simulator.goodput import dips_text, find_dips
    from ..simulator.verdict import Line

    dips = find_dips(result)
    console = make_console(sys.stdout)
    with console.capture() as printed:
        print_verdict(console, verdict)
        if result.memory is not None:
            print_line(console, Line("Verified", str(result.memory)))
        if dips:
            print_line(console, Line("Faults", dips_text(dips)))
        if result.waits is not None:
            print_waits(console, result.waits)
        if tables:
            print_tables(console, result, verdict)
    return printed.get()
