"""The codes of a link on the terminal and as one HTML page with a figure: frame loss against bit error ratio."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, isinf, log10
from typing import TYPE_CHECKING

from rich.table import Table

from ..fabric.coding import CURVE_FLOOR, LinkFigures, LinkQuestion, loss_curves
from ..units import format_length, format_rate, format_size
from .charts import inline_json
from .html import page_style
from .page import asset, policy
from .palette import DARK, LIGHT

if TYPE_CHECKING:
    from ..protocol.fec_trials import Trials

TARGET_LOSS = 6.2e-10
"""Frame loss ratio that the profile's thresholds speak of (section 3)."""

_NOTES = (
    "A codeword fails when more of its symbols are wrong than the code corrects. Frame loss, before LLR: "
    "P(codeword) x (depth + line bytes of the frame / data bytes of a codeword).",
    "Goodput: frame bits that LLR brings across, going back over everything sent until the NACK is there: "
    "rate x frame / (frame + 20 B) x (1 - FLR) / (1 - FLR + FLR x W), W = frames in the link's loop.",
)
_INTERVALS = (
    (365.25 * 86_400, "years"),
    (86_400.0, "days"),
    (3_600.0, "h"),
    (60.0, "min"),
    (1.0, "s"),
    (1e-3, "ms"),
    (1e-6, "µs"),
)


def question_text(asked: LinkQuestion) -> str:
    """Return what was asked, in one line."""
    kind = f"bursts, {asked.line.burst:g} of wrong PAM4 symbols are followed by another" if asked.line.burst else "random errors"
    depth = asked.interleave
    return (
        f"{format_rate(asked.rate_bps)} port, {format_length(asked.length_mm)} of {asked.medium}, "
        f"bit error ratio {asked.line.ber:.3g}, {kind}; "
        f"{depth} codeword{'s' if depth > 1 else ''} interleaved, frames of {format_size(asked.frame_bytes)}"
    )


def cells(row: LinkFigures, trials: Trials | None, with_trials: bool) -> list[str]:
    """Return the texts of one code, in the order of `columns`."""
    told = [
        row.name,
        f"{float(row.block_ps) / 1000:.2f} ns",
        f"{float(row.fec_ps) / 1000:.2f} ns",
        f"{row.link_ps / 1000:.2f} ns",
        probability(row.codeword_failure),
        probability(row.frame_loss),
        interval(row.seconds_a_loss),
        format_rate(round(row.goodput_bps), 2),
        _share(row.goodput_bps / row.lossless_bps),
    ]
    if with_trials:
        told.insert(5, "-" if trials is None else f"{trials.failed:,} of {trials.words:,}")
    return told


def columns(with_trials: bool) -> list[str]:
    """Return the titles of `cells`."""
    titles = ["code", "block", "FEC time", "link delay", "codeword fails", "frame loss", "a loss every", "goodput", "of lossless"]
    if with_trials:
        titles.insert(5, "really failed")
    return titles


def coding_table(rows: Sequence[LinkFigures], trials: Sequence[Trials | None] = ()) -> Table:
    """Return one row a code; ``trials`` has one entry a row, or none."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in columns(bool(trials)):
        table.add_column(title, justify="left" if title == "code" else "right", no_wrap=True)
    for i, row in enumerate(rows):
        table.add_row(*cells(row, trials[i] if trials else None, bool(trials)))
    return table


def notes() -> tuple[str, ...]:
    """Return what the columns mean."""
    return _NOTES


def probability(value: float | None) -> str:
    """Return a probability as text."""
    return "-" if value is None else "0" if value == 0.0 else f"{value:.2e}"


def interval(seconds: float) -> str:
    """Return a mean time between losses as text: two or three figures, and no more than a million years."""
    if isinf(seconds) or seconds > 1e6 * _INTERVALS[0][0]:
        return "> 1e6 years"
    for unit, name in _INTERVALS:
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds * 1e9:.3g} ns"


def _share(value: float) -> str:
    """Return a share of 1 in percent, with as many digits as tell it from 100 %."""
    missing = 100.0 * (1.0 - value)
    if missing < 1e-9:
        return "100 %"
    digits = 2 if missing >= 0.01 else ceil(-log10(missing)) + 1
    return f"{100.0 * value:.{digits}f} %"


def render_coding(asked: LinkQuestion, rows: Sequence[LinkFigures], trials: Sequence[Trials | None], version: str) -> str:
    """Return the page: figure, table, formulas. It needs no network, knows light and dark, and can be printed."""
    from plotly.offline import get_plotlyjs

    plotly, own = get_plotlyjs(), asset("coding.js")
    head = "".join(f"<th{'' if i == 0 else ' class=n'}>{escape(title)}</th>" for i, title in enumerate(columns(bool(trials))))
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(plotly, own)}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">',
            "<title>Frame loss of the FEC codes - scalefab</title>",
            f"<style>{page_style()}.plot.tall{{height:460px}}</style></head>",
            f'<body><header><h1>Frame loss of the FEC codes</h1><p class="under">{escape(question_text(asked))}</p>',
            f'<p class="under">scalefab {escape(version)}</p></header><main>',
            "<noscript><p>The figure needs JavaScript; the table is here without it.</p></noscript>",
            '<section><div class="plot tall" id="plot-loss"></div></section>',
            f"<section><h2>At bit error ratio {asked.line.ber:.3g}</h2>",
            f'<div class="scroll"><table class="links"><thead><tr>{head}</tr></thead><tbody>',
            *(_table_row(row, trials[i] if trials else None, bool(trials)) for i, row in enumerate(rows)),
            "</tbody></table></div>",
            *(f'<p class="note under">{escape(text)}</p>' for text in _NOTES),
            "</section></main>",
            f'<script type="application/json" id="data">{inline_json(_figure_data(asked, rows))}</script>',
            f"<script>{plotly}</script><script>{own}</script></body></html>\n",
        )
    )


def _table_row(row: LinkFigures, trials: Trials | None, with_trials: bool) -> str:
    first, *rest = (escape(text) for text in cells(row, trials, with_trials))
    return f"<tr><td>{first}</td>" + "".join(f'<td class="n">{text}</td>' for text in rest) + "</tr>"


def _figure_data(asked: LinkQuestion, rows: Sequence[LinkFigures]) -> dict[str, object]:
    curves = loss_curves(asked)
    return {
        "themes": {"light": LIGHT, "dark": DARK},
        "curves": [
            {
                "name": "no FEC" if row.name == "none" else row.name,
                "ber": [ber for ber, _ in curves[row.fec]],
                "loss": [loss for _, loss in curves[row.fec]],
                "at": row.frame_loss if row.frame_loss >= CURVE_FLOOR else None,
            }
            for row in rows
        ],
        "ber": asked.line.ber,
        "target": TARGET_LOSS,
    }
