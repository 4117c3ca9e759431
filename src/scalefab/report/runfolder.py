"""The run folder: what a run leaves on disk. Nothing is overwritten; a folder is whole when its manifest is there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, Problem
from ..simulator.result import Result
from ..simulator.tables import TableName
from ..simulator.verdict import Verdict, judge
from .capturefile import CAPTURE_FILE, write_capture
from .csvfiles import write_table
from .html import render_html
from .parquet import write_parquet
from .store import FLAT_FILE, MANIFEST_FILE, RESULT_FILE, SCENARIO_FILE, StoredRun, save_result

if TYPE_CHECKING:
    from ..scenario.scenario import Scenario

RUNS = Path("runs")
REPORT_FILE = "report.html"
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


class Capture(Enum):
    """What goes into ``capture.pcapng``."""

    NONE = "none"
    FRAMES = "frames"  #: OEFH .. FCS, one interface a port
    FRAMES_AND_PHY = "frames and phy"  #: besides, one interface a port with preambles and ordered sets


@dataclass(frozen=True, slots=True)
class Extras:
    """What a run folder holds only when it is asked for."""

    parquet: bool = False
    capture: Capture = Capture.NONE


_NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder that this run alone may write to; ``made`` = it did not exist before."""

    path: Path
    made: bool

    def abandon(self) -> None:
        """Take an empty folder away again, when the run ended before there was anything to keep."""
        if self.made and not any(self.path.iterdir()):
            self.path.rmdir()


def reserve_folder(out: Path | None, name: str, now: datetime) -> RunFolder:
    """Make the folder of a run before it starts, so that a run of an hour cannot fail for want of a place.

    Parameters
    ----------
    out
        The user's folder (new, or existing and empty); None = ``runs/<name>-<UTC time>``, with a counter when that exists.
    name
        Name of the scenario.
    now
        UTC.

    Raises
    ------
    InputError
        The folder holds something, is a file, or cannot be made.
    """
    try:
        return _make(out) if out is not None else _make_default(name, now)
    except OSError as error:
        wanted = out if out is not None else RUNS
        message = f"the folder '{wanted}' cannot be made: {error.strerror}"
        raise InputError([Problem(message, "a folder that can be written", key="--out")]) from error


def _make(out: Path) -> RunFolder:
    if not out.exists():
        out.mkdir(parents=True)
        return RunFolder(out, made=True)
    if not out.is_dir():
        raise InputError([Problem(f"'{out}' exists and is no folder", "a new or an empty folder", key="--out")])
    if any(out.iterdir()):
        raise InputError([Problem(f"the folder '{out}' is not empty", "a new or an empty folder", key="--out")])
    return RunFolder(out, made=False)


def _make_default(name: str, now: datetime) -> RunFolder:
    stem = _NAME.sub("-", name).strip("-.")[:60] or "run"
    base = f"{stem}-{now:%Y%m%dT%H%M%SZ}"
    counter = 1
    while True:
        path = RUNS / (base if counter == 1 else f"{base}-{counter}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if RUNS.exists() and not RUNS.is_dir():
                raise
            counter += 1
            continue
        return RunFolder(path, made=True)


def write_run(
    folder: RunFolder,
    scenario: Scenario,
    result: Result,
    verdict: Verdict,
    flat: dict[str, Any],
    manifest: dict[str, Any],
    extras: Extras = _NO_EXTRAS,
) -> Path:
    """Write everything of a run; the manifest comes last. Returns the path of the report.

    Raises
    ------
    OSError
        The disk is full or went away; files already written stay, the manifest is then missing.
    """
    root = folder.path
    _put(root / SCENARIO_FILE, _text(scenario.text))
    _put(root / FLAT_FILE, _json(flat))
    for table in TableName:
        _put(root / f"{table.value}.csv", partial(write_table, result=result, table=table))
        if extras.parquet:
            _put(root / f"{table.value}.parquet", partial(write_parquet, result=result, table=table))
    if extras.capture is not Capture.NONE:
        with_phy = extras.capture is Capture.FRAMES_AND_PHY
        _put(root / CAPTURE_FILE, partial(write_capture, scenario=scenario, result=result, phy=with_phy))
    _put(root / RESULT_FILE, partial(save_result, result=result))
    _put(root / REPORT_FILE, _text(render_html(scenario, result, verdict, manifest)))
    _put(root / MANIFEST_FILE, _json(manifest))
    return root / REPORT_FILE


def redraw(run: StoredRun) -> Path:
    """Draw the report of a stored run again, in place. Returns its path.

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    path = run.path / REPORT_FILE
    _put(path, _text(render_html(run.subject, run.result, judge(run.result), run.manifest)))
    return path


def _put(path: Path, write: Callable[[Path], None]) -> None:
    """Write one file at a stroke: readers see all of it or none."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    write(unfinished)
    os.replace(unfinished, path)


def _text(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")

    return write


def _json(data: dict[str, Any]) -> Callable[[Path], None]:
    return _text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
