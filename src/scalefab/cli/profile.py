"""``scalefab profile``: where the time of a run goes."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..errors import ExitCode, InputError, Problem
from .output import note, say, warn

if TYPE_CHECKING:
    from ..simulator.profile import Profile


def profile_scenario(file: Path, overrides: Sequence[str], *, json_wanted: bool, quiet: bool) -> ExitCode:
    """Run a scenario twice, once in one go and once sampled, and print where the time went.

    Raises
    ------
    InputError
        The scenario cannot be used, or is at flow fidelity.
    """
    from ..scenario import read_scenario
    from ..scenario.fidelity import Fidelity
    from ..simulator.profile import profile

    begin = time.perf_counter()
    scenario = read_scenario(file, overrides)
    read_s = time.perf_counter() - begin
    if scenario.options.fidelity is Fidelity.FLOW:
        raise InputError([Problem("a profile is of the packet kernel", "packet", file=str(file), key="run.fidelity")])
    for text in scenario.warnings:
        warn(text)
    if not quiet:
        note("running it twice: in one go, then with single events timed")
    found = profile(scenario, read_s)
    if json_wanted:
        facts = {"scalefab": __version__, "command": "profile", "scenario": scenario.name, "events": found.events}
        parts = {name.replace(" ", "_") + "_s": round(seconds, 6) for name, seconds in found.parts}
        rows = [asdict(kind) | {"ns": round(kind.ns, 1), "share": round(kind.share, 4)} for kind in found.kinds]
        say(json.dumps({**facts, "frames": found.frames, "scale": round(found.scale, 4), "parts": parts, "rows": rows}))
    else:
        say(_words(found))
    return ExitCode.OK


def _words(found: Profile) -> str:
    from rich.table import Table

    from ..report.tables import make_console

    console = make_console(io.StringIO())
    parts = Table(title="Parts of the run", title_justify="left", box=None, pad_edge=False, header_style="dim")
    parts.add_column("part")
    parts.add_column("seconds", justify="right")
    for name, seconds in found.parts:
        parts.add_row(name, f"{seconds:.3f}")
    kinds = Table(title="Inside the kernel", title_justify="left", box=None, pad_edge=False, header_style="dim")
    for name, side in (("event", "left"), ("stage", "left"), ("events", "right"), ("ns each", "right"), ("of the time", "right")):
        kinds.add_column(name, justify="right" if side == "right" else "left")
    for kind in found.kinds:
        kinds.add_row(kind.name, kind.stage, f"{kind.events:,}", f"{kind.ns:.0f}", f"{100 * kind.share:.1f} %")
    kernel_s = dict(found.parts)["kernel"]
    with console.capture() as printed:
        console.print(parts)
        console.print()
        console.print(kinds)
        each = kernel_s * 1e9 / max(1, found.events)
        console.print(
            f"\n{found.events:,} events, {found.events / max(1, found.frames):.2f} a frame (ACK frames counted), "
            f"{each:.0f} ns each; "
            f"single events measured alone took {1 / found.scale:.2f} times as long and are scaled"
        )
    return printed.get()
