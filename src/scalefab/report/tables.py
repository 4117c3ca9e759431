"""A run on the terminal: the verdict's ten lines and three tables (Rich)."""

from __future__ import annotations

from typing import IO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..simulator.advice import percent
from ..simulator.result import STAGE_LABELS, Fidelity, Result
from ..simulator.verdict import Line, Verdict
from ..units import format_size, format_time

_PLAIN_WIDTH = 140  # a file or pipe has no width; rows must not be cut
_TABLE_LINKS = 8


def printable(text: str) -> str:
    """Return a text in one line without control characters: names come from files, a terminal obeys escapes."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def make_console(file: IO[str]) -> Console:
    """Return a console for the result: as wide as the terminal, or wide enough for every row."""
    terminal = file.isatty()
    return Console(
        file=file, width=None if terminal else _PLAIN_WIDTH, highlight=False, markup=False, emoji=False, soft_wrap=False
    )


def print_verdict(console: Console, verdict: Verdict) -> None:
    """Print the ten lines; on a terminal long ones wrap under themselves."""
    if not console.is_terminal:
        for line in verdict.lines:
            console.print(Text(printable(str(line))), soft_wrap=True)
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for line in verdict.lines:
        grid.add_row(Text(line.label), Text(printable(line.text)))
    console.print(grid)


def print_line(console: Console, line: Line) -> None:
    """Print a line that not every run has, below the ten."""
    console.print(Text(printable(str(line))), soft_wrap=not console.is_terminal)


def print_tables(console: Console, result: Result, verdict: Verdict) -> None:
    """Print groups, lost time and the hottest links."""
    console.print()
    console.print(groups_table(verdict))
    console.print()
    if result.fidelity is Fidelity.PACKET:
        console.print(lost_time_table(result, verdict))
        console.print()
    console.print(links_table(verdict))


def _table(title: str, *columns: tuple[str, str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="bold", header_style="dim")
    for name, side in columns:
        table.add_column(name, justify="right" if side == "right" else "left", no_wrap=True)
    return table


def groups_table(verdict: Verdict) -> Table:
    """Return one row a group of the workload."""
    table = _table(
        "Groups",
        ("name", "left"),
        ("collective", "left"),
        ("ranks", "right"),
        ("operations", "right"),
        ("size", "right"),
        ("start", "right"),
        ("time", "right"),
        ("algbw GB/s", "right"),
        ("busbw GB/s", "right"),
        ("of line rate", "right"),
    )
    for group in verdict.groups:
        operations = str(group.operations) if group.complete else f"{group.done} of {group.operations}"
        table.add_row(
            Text(printable(group.name)),
            Text(printable(group.collective)),
            str(group.ranks),
            operations,
            format_size(group.size_bytes),
            format_time(group.start_ps),
            format_time(group.time_ps),
            "-" if group.algbw_Bps is None else f"{group.algbw_Bps / 1e9:.2f}",
            "-" if group.busbw_Bps is None else f"{group.busbw_Bps / 1e9:.2f}",
            "-" if group.line_fraction is None else percent(group.line_fraction),
        )
    return table


def lost_time_table(result: Result, verdict: Verdict) -> Table:
    """Return one row a stage: where an executed data frame spent its time."""
    table = _table("Lost time of data frames", ("stage", "left"), ("share", "right"), ("mean a frame", "right"), ("", "left"))
    for stage, share in verdict.stages.items():
        mean_ps = int(result.stage_ps[stage]) // result.frames if result.frames else 0
        table.add_row(STAGE_LABELS[stage], percent(share, 2), format_time(mean_ps), "█" * round(30 * share))
    return table


def links_table(verdict: Verdict) -> Table:
    """Return one row for each of the hottest directed links."""
    table = _table("Hottest links", ("link", "left"), ("wire bytes", "right"), ("busy", "right"), ("of the mean", "right"))
    for link in verdict.links[:_TABLE_LINKS]:
        table.add_row(link.name, format_size(link.wire_bytes), percent(link.utilisation), f"{link.ratio:.2f}x")
    return table
