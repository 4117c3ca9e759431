"""``scalefab fabric``: what the network of a scenario is made of; nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import ExitCode, InputError, Problem
from .output import note, say, warn


def draw_fabric(file: Path, overrides: Sequence[str], *, out: Path | None) -> ExitCode:
    """Draw the wiring, to a file or to stdout.

    Raises
    ------
    InputError
        The scenario cannot be used, or ``out`` is no ``.svg``.
    """
    from ..report.wiring import wiring_svg
    from ..scenario import read_scenario

    if out is not None and out.suffix.lower() != ".svg":
        raise InputError([Problem(f"'{out}' is no drawing", "a name that ends in .svg", key="--out")])
    scenario = read_scenario(file, overrides)
    for text in scenario.warnings:
        warn(text)
    drawing = wiring_svg(scenario.name, scenario.fabric)
    if out is None:
        say(drawing)
    else:
        out.write_text(drawing, encoding="utf-8")
        note(f"drawing: {out}")
    return ExitCode.OK
