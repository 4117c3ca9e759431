"""``scalefab fec``: what each FEC code costs on a link and what it leaves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import ExitCode, InputError, Problem, UnitError
from ..units import parse_length_mm, parse_rate_bps, parse_size_bytes
from .output import note, say

if TYPE_CHECKING:
    from ..fabric.coding import LinkFigures, LinkQuestion
    from ..protocol.fec_trials import Trials

MOST_TRIALS = 100_000_000


@dataclass(frozen=True, slots=True)
class FecOptions:
    """The command's options as they were typed."""

    rate: str
    ber: float
    burst: float
    depth: int
    frame: str
    length: str
    trials: int
    seed: int


def show_codes(options: FecOptions, *, json_wanted: bool, out: Path | None) -> ExitCode:
    """Print the figures of every code and of none; write the page if wanted.

    Raises
    ------
    InputError
        Every option that cannot be used.
    """
    from ..fabric.coding import link_figures

    asked = _question(options)
    rows = link_figures(asked)
    trials = _trials(asked, rows, options) if options.trials else ()
    if json_wanted:
        objects = [_flat(asked, row, trials[i] if trials else None) for i, row in enumerate(rows)]
        say(json.dumps({"scalefab": __version__, "command": "fec", "rows": objects}))
    else:
        say(_words(asked, rows, trials))
    if out is not None:
        from ..report.coding import render_coding

        out.write_text(render_coding(asked, rows, trials, __version__), encoding="utf-8")
        note(f"figure: {out}")
    return ExitCode.OK


def _question(options: FecOptions) -> LinkQuestion:
    from ..fabric.coding import LinkQuestion, default_medium, default_phy_ps
    from ..protocol.fec_loss import LineErrors

    problems: list[Problem] = []

    def read(parse: Callable[[object], int], text: str, key: str, otherwise: int) -> int:
        try:
            return parse(text)
        except UnitError as error:
            problems.append(Problem(error.reason or f"'{text}' cannot be read", error.expected, key=key))
            return otherwise

    # What cannot be read is replaced by something valid, so that one pass finds every problem.
    rate_bps = read(parse_rate_bps, options.rate, "rate", 800_000_000_000)
    frame_bytes = read(parse_size_bytes, options.frame, "frame", 64)
    length_mm = read(parse_length_mm, options.length, "length", 0)
    if not 0 <= options.trials <= MOST_TRIALS:
        problems.append(Problem(f"{options.trials} codewords", f"0 .. {MOST_TRIALS}", key="trials"))
    if not 0 <= options.seed < 1 << 63:
        problems.append(Problem(f"seed {options.seed}", "0 and up, 63 bits", key="seed"))
    line, asked = LineErrors(0.0), None
    try:
        line = LineErrors(options.ber, options.burst)
    except InputError as error:
        problems += error.problems
    try:
        asked = LinkQuestion(rate_bps, line, options.depth, frame_bytes, length_mm, default_medium(), default_phy_ps())
    except InputError as error:
        problems += error.problems
    if problems or asked is None:
        raise InputError([replace(problem, key=f"--{problem.key}") for problem in problems])
    return asked


def _trials(asked: LinkQuestion, rows: Sequence[LinkFigures], options: FecOptions) -> list[Trials | None]:
    """Return what really came of codewords of every code; None for no FEC."""
    from ..protocol.fec_codes import Fec
    from ..protocol.fec_trials import run_trials

    return [
        None if row.fec is Fec.NONE else run_trials(row.fec, asked.line, options.trials, depth=row.depth, seed=options.seed)
        for row in rows
    ]


def _flat(asked: LinkQuestion, row: LinkFigures, trials: Trials | None) -> dict[str, Any]:
    flat: dict[str, Any] = {
        "code": row.name,
        "rate_bps": asked.rate_bps,
        "ber": asked.line.ber,
        "burst": asked.line.burst,
        "depth": row.depth,
        "frame_bytes": asked.frame_bytes,
        "length_mm": asked.length_mm,
        "block_ns": float(row.block_ps) / 1000,
        "fec_ns": float(row.fec_ps) / 1000,
        "link_ns": row.link_ps / 1000,
        "codeword_failure": row.codeword_failure,
        "frame_loss": row.frame_loss,
        "replay_frames": row.replay_frames,
        "goodput_bps": row.goodput_bps,
        "lossless_bps": row.lossless_bps,
    }
    if trials is not None:
        flat |= {"trial_words": trials.words, "trial_failed": trials.failed, "trial_miscorrected": trials.miscorrected}
    return flat


def _words(asked: LinkQuestion, rows: Sequence[LinkFigures], trials: Sequence[Trials | None]) -> str:
    from rich.text import Text

    from ..report.coding import coding_table, notes, question_text
    from ..report.tables import make_console

    console = make_console(sys.stdout)
    with console.capture() as printed:
        console.print(Text(question_text(asked)), soft_wrap=not console.is_terminal)
        console.print()
        console.print(coding_table(rows, trials))
        console.print()
        for text in notes():
            console.print(Text(text), soft_wrap=not console.is_terminal)
    return printed.get()
