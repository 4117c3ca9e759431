"""A comparison in words for the terminal, and as one HTML page without script."""

from __future__ import annotations

import io
from html import escape

from rich.table import Table
from rich.text import Text

from .compare import Change, Comparison, headline, shown, shown_ratio
from .html import page_style
from .sections import section, table
from .tables import make_console, printable

_CSP = "default-src 'none'; style-src 'unsafe-inline'"


def words(comparison: Comparison) -> str:
    """Return what ``scalefab compare`` prints."""
    console = make_console(io.StringIO())
    with console.capture() as printed:
        console.print(Text(printable(headline(comparison))))
        for told in comparison.notes:
            console.print(Text(printable(f"Note: {told}")), soft_wrap=True)
        if comparison.settings:
            console.print()
            console.print(_rich("Settings", comparison.settings))
        if comparison.results:
            console.print()
            console.print(_rich("Results", comparison.results))
        if comparison.limits[0] != comparison.limits[1]:
            for label, text in zip(("before", "after"), comparison.limits, strict=True):
                console.print(Text(printable(f"Limited {label} by {text}")), soft_wrap=True)
    return printed.get()


def _rich(title: str, changes: tuple[Change, ...]) -> Table:
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, title_style="bold", header_style="dim")
    for name, side in (("", "left"), ("before", "right"), ("after", "right"), ("change", "right")):
        made.add_column(name, justify="right" if side == "right" else "left", overflow="fold")
    for change in changes:
        cells = (change.name, shown(change.before), shown(change.after), shown_ratio(change))
        made.add_row(*(Text(printable(cell)) for cell in cells))
    return made


def render_comparison(comparison: Comparison, package_version: str) -> str:
    """Return the comparison as one document that needs no network and runs no script."""
    notes = "".join(f'<p class="callout">{escape(note)}</p>' for note in comparison.notes)
    limits = "".join(
        f"<dt>{label}</dt><dd>{escape(text)}</dd>" for label, text in zip(("before", "after"), comparison.limits, strict=True)
    )
    parts = [
        section("headline", headline(comparison), notes),
        section("limits", "Limited by", f'<dl class="lines">{limits}</dl>'),
    ]
    if comparison.settings:
        columns = (("setting", ""), ("before", ""), ("after", ""))
        rows = [
            tuple(f"<code>{escape(t)}</code>" for t in (c.name, shown(c.before), shown(c.after))) for c in comparison.settings
        ]
        parts.append(section("settings", "Settings that differ", table(columns, rows, "differences"), long=True))
    if comparison.results:
        parts.append(section("results", "Results that differ", _figures(comparison.results), long=True))
    told = "Differs between any two runs; not counted above."
    parts.append(section("cost", "What the machines needed", _figures(comparison.cost), told))
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_CSP}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">',
            f"<title>Comparison - scalefab</title><style>{page_style()}</style></head><body><header><h1>Two runs compared</h1>",
            f'<p class="under">before: {escape(comparison.before)}</p><p class="under">after: {escape(comparison.after)}</p>',
            f'<p class="under">scalefab {escape(package_version)}</p></header><main>{"".join(parts)}</main></body></html>\n',
        )
    )


def _figures(changes: tuple[Change, ...]) -> str:
    columns = (("figure", ""), ("before", "n"), ("after", "n"), ("change", "n"))
    rows = [tuple(escape(t) for t in (c.name, shown(c.before), shown(c.after), shown_ratio(c))) for c in changes]
    return table(columns, rows, "differences")
