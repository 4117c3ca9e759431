"""How far a run is, on stderr: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Protocol

from ..units import format_time
from .output import note

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from ..simulator.progress import Progress

_COMPILING = "compiling the simulator kernel once for this machine, 15 to 30 s"
_FIRST_LINE_S, _LINE_EVERY_S = 5.0, 15.0


class Reporter(Protocol):
    """Takes the progress of a run; call `close` at its end."""

    def __call__(self, progress: Progress) -> None:
        """Take how far the run is."""

    def close(self) -> None:
        """Leave the terminal clean."""


def make_reporter(quiet: bool) -> Reporter | None:
    """Return what shows progress, None when nothing shall."""
    if quiet:
        return None
    return BarReporter() if sys.stderr.isatty() else LineReporter()


def eta_s(progress: Progress) -> float | None:
    """Return the seconds left by bytes delivered, None while nothing is."""
    if progress.executed_bytes <= 0:
        return None
    return progress.wall_s * (progress.total_bytes - progress.executed_bytes) / progress.executed_bytes


def describe(progress: Progress) -> str:
    """Return how far a run is, in words."""
    share = progress.executed_bytes / progress.total_bytes if progress.total_bytes else 0.0
    speed = f"{progress.events / progress.wall_s / 1e6:.1f} M events/s" if progress.wall_s > 0 else "starting"
    left = eta_s(progress)
    rest = f", about {left:.0f} s left" if left is not None else ""
    return f"{100 * share:.0f} % of the bytes delivered, {format_time(progress.now_ps, 1)} simulated, {speed}{rest}"


class LineReporter:
    """Few lines: for logs."""

    def __init__(self) -> None:
        self._next_s = 0.0  # set when the kernel runs: compiling has a line of its own

    def __call__(self, progress: Progress) -> None:
        """Print a line when the last one is long ago."""
        if progress.phase == "compile":
            if not progress.cached:
                note(_COMPILING)
            return
        now = time.monotonic()
        if self._next_s == 0.0:
            self._next_s = now + _FIRST_LINE_S
        if now >= self._next_s:
            self._next_s = now + _LINE_EVERY_S
            note(describe(progress))

    def close(self) -> None:
        """Nothing is left open."""


class BarReporter:
    """A bar that disappears at the end."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __call__(self, progress: Progress) -> None:
        """Move the bar."""
        if progress.phase == "compile":
            if not progress.cached:
                note(_COMPILING)
            return
        if self._bar is None:
            self._open(progress.total_bytes)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=progress.executed_bytes, words=describe(progress))

    def _open(self, total_bytes: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=max(total_bytes, 1), words="")
        self._bar.start()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
