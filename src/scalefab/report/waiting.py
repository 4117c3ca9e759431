"""Why a run stood still, as text and HTML: the smallest cycle of waits, what is at the root, the edges."""

from __future__ import annotations

from html import escape

from rich.console import Console
from rich.text import Text

from ..simulator.waits import Wait, Waits
from .sections import section, table
from .tables import printable

_ROOTS, _EDGES = 8, 200  # rows that a person reads


def print_waits(console: Console, waits: Waits) -> None:
    """Print what a person needs to see the cause."""
    for line in waits_lines(waits):
        console.print(Text(printable(line)), soft_wrap=not console.is_terminal)


def waits_lines(waits: Waits) -> list[str]:
    """Return the cause in lines: the smallest cycle, if there is one, and the roots."""
    lines = ["", f"Why nothing moves: {waits.summary}"]
    if waits.cycle:
        lines.append(f"Smallest cycle of the wait-for graph ({len(waits.edges) + waits.left_out} waits):")
        lines += [f"  {n}. {edge}" for n, edge in enumerate(waits.cycle, 1)]
    if waits.roots:
        lines.append("At the root, waiting for nobody:")
        lines += [f"  {root}" for root in waits.roots[:_ROOTS]]
        if len(waits.roots) > _ROOTS:
            lines.append(f"  and {len(waits.roots) - _ROOTS} more")
    return lines


def waits_section(waits: Waits | None) -> str:
    """Return the section of the report, "" for a run that did not stand still."""
    if waits is None:
        return ""
    columns = (("waits", ""), ("for", ""), ("why", ""))
    parts = [f"<p>{escape(waits.summary)}</p>"]
    if waits.cycle:
        parts.append(f"<h3>Smallest cycle</h3>{table(columns, _rows(waits.cycle))}")
    if waits.roots:
        rows = [(escape(root.place), str(root.waiters), escape(root.text)) for root in waits.roots[:_EDGES]]
        parts.append(f"<h3>At the root</h3>{table((('place', ''), ('waiting for it', 'n'), ('why', '')), rows)}")
    if waits.edges:
        shown = waits.edges[:_EDGES]
        rest = len(waits.edges) + waits.left_out - len(shown)
        more = f"<p>and {rest} more, see result.json</p>" if rest else ""
        title = f"All {len(waits.edges) + waits.left_out} waits"
        parts.append(f"<details><summary>{title}</summary>{table(columns, _rows(shown))}{more}</details>")
    note = "Each row waits for the next place; in a cycle nobody can go first. Figures are of the moment at which nothing moved."
    return section("waits", "Why nothing moves", "".join(parts), note)


def _rows(edges: tuple[Wait, ...]) -> list[tuple[str, str, str]]:
    return [(escape(edge.waiter), escape(edge.on), escape(edge.text)) for edge in edges]
