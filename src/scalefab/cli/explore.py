"""``scalefab explore``: search all states of a protocol's transition functions, print what was found."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ExitCode, InputError, Problem
from .output import note, say

if TYPE_CHECKING:
    from ..conformance.searches import Row

_LINE_EVERY_S = 5.0


def explore_protocol(name: str, *, width: int, window: int, faults: int, plant: str, json_wanted: bool) -> ExitCode:
    """Search the spaces of a protocol.

    Raises
    ------
    InputError
        Not a protocol that can be explored, or a setting out of range.
    """
    from ..conformance.searches import Explored, search

    if name not in list(Explored):
        raise InputError([Problem(f"'{name}' cannot be explored", f"one of {', '.join(Explored)}", key="explore")])
    rows = []
    for row in search(Explored(name), width, window, faults, plant, _progress()):
        rows.append(row)
        if not json_wanted:
            say(_words(row))
    if json_wanted:
        settings = {"protocol": name, "width_bits": width, "window_frames": window, "faults": faults, "planted": plant}
        say(json.dumps({"scalefab": __version__, "command": "explore", **settings, "rows": [_facts(row) for row in rows]}))
    return ExitCode.FAILED if rows[-1].finding.reason else ExitCode.OK


def _progress() -> Any:
    """Return what notes on stderr now and then how far a search is."""
    next_s = time.monotonic() + _LINE_EVERY_S

    def progress(states: int, searched: int) -> None:
        nonlocal next_s
        now_s = time.monotonic()
        if now_s >= next_s:
            next_s = now_s + _LINE_EVERY_S
            note(f"{searched} of {states} states searched, more may come")

    return progress


def _facts(row: Row) -> dict[str, Any]:
    found = row.finding
    return {
        "space": row.space,
        "passed": not found.reason,
        "verdict": str(found.outcome),
        "reason": found.reason,
        "states": found.states,
        "transitions": found.transitions,
        "depth_steps": found.depth,
        "flushes": row.flushes,
        "trace": list(found.trace),
        "cycle_from": found.cycle_from,
    }


def _words(row: Row) -> str:
    found = row.finding
    counts = f"{found.states} states, {found.transitions} transitions, depth {found.depth}"
    flushes = f", {row.flushes} of them into FLUSH" if row.flushes else ""
    if not found.reason:
        return f"{row.space}: {counts}{flushes}: holds in every state, and from each one all is delivered once faults stop"
    lines = [f"{row.space}: {counts}: {found.outcome}: {found.reason}"]
    for number, text in enumerate(found.trace):
        if number == found.cycle_from:
            lines.append("  from here on, for ever:")
        lines.append(f"  {number + 1:3d}  {text}")
    return "\n".join(lines)
