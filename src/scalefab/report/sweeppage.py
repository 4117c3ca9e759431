"""A sweep as a table on the terminal, as CSV, and as one HTML page with figures; points without a result are rows too."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape
from typing import Any

from rich.table import Table
from rich.text import Text

from ..sweep.work import FIGURES
from .charts import inline_json
from .html import page_style
from .page import asset, policy
from .palette import DARK, LIGHT
from .sections import section, table
from .tables import make_console, printable

Row = dict[str, Any]

_SHOWN = ("completion_us", "bound_percent", "busbw_GBps", "limited_by", "wall_s")
_DRAWN = (
    ("completion_us", "completion, µs"),
    ("busbw_GBps", "bus bandwidth a GPU, GB/s"),
    ("bound_percent", "of the lower bound's speed, %"),
)


def keys_of(rows: Sequence[Row]) -> list[str]:
    """Return the varied settings, in the order of the command line."""
    return list(dict.fromkeys(key for row in rows for key in row["settings"]))


def shown(value: Any) -> str:
    """Return a figure as text: floats in at most six significant digits, nothing for what is not there."""
    if value is None:
        return "-"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def headline(rows: Sequence[Row]) -> str:
    """Return how far the sweep is, in one line."""
    count = {status: sum(row["status"] == status for row in rows) for status in ("done", "error", "waiting")}
    other = len(rows) - sum(count.values())
    told = [f"{count['done']} of {len(rows)} points done"]
    told += [f"{count['error']} ended with an error"] if count["error"] else []
    told += [f"{other} ended otherwise"] if other else []
    told += [f"{count['waiting']} still to run"] if count["waiting"] else []
    flows = sum(row.get("fidelity") == "flow" for row in rows)
    told += [f"{flows} at flow fidelity, estimates"] if flows else []
    return ", ".join(told)


def words(rows: Sequence[Row]) -> str:
    """Return what ``scalefab sweep`` prints."""
    console = make_console(io.StringIO())
    made = Table(title=headline(rows), title_justify="left", box=None, pad_edge=False, title_style="bold", header_style="dim")
    keys = keys_of(rows)
    for name in (*keys, "status", *_SHOWN):
        made.add_column(name, justify="left" if name in ("status", "limited_by") else "right", overflow="fold")
    for row in rows:
        cells = [*(str(row["settings"].get(key, "")) for key in keys), row["status"], *(shown(row.get(name)) for name in _SHOWN)]
        made.add_row(*(Text(printable(cell)) for cell in cells))
    with console.capture() as printed:
        console.print(made)
        for row in rows:
            if row.get("error"):
                console.print(Text(printable(f"point {row['number']}: {row['error']}")), soft_wrap=True)
    return printed.get()


def as_csv(rows: Sequence[Row]) -> str:
    """Return the table as CSV: varied settings, status, all figures, error."""
    keys = keys_of(rows)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*keys, "status", *FIGURES, "error"])
    for row in rows:
        figures = ["" if row.get(name) is None else row[name] for name in FIGURES]
        writer.writerow([*(row["settings"].get(key, "") for key in keys), row["status"], *figures, row.get("error", "")])
    return stream.getvalue()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the page draws: each figure over the setting of most values, one line for each rest of the settings."""
    keys = keys_of(rows)
    values = {key: list(dict.fromkeys(row["settings"][key] for row in rows if key in row["settings"])) for key in keys}
    x = max(keys, key=lambda key: len(values[key])) if keys else ""
    numbers = bool(keys) and all(_number(value) is not None for value in values[x])
    drawn = []
    for name, title in _DRAWN:
        series: dict[str, Row] = {}
        for row in rows:
            if row.get(name) is None or x not in row["settings"]:
                continue
            rest = " ".join(f"{key.rsplit('.', 1)[-1]}={row['settings'].get(key, '')}" for key in keys if key != x)
            line = series.setdefault(rest or "all", {"name": rest or "all", "x": [], "y": []})
            at = row["settings"][x]
            line["x"].append(_number(at) if numbers else at)
            line["y"].append(row[name])
        if series:
            drawn.append({"name": name, "title": title, "series": list(series.values())})
    return {
        "x": x,
        "numbers": numbers,
        "order": values.get(x, []),
        "figures": drawn,
        "themes": {"light": LIGHT, "dark": DARK},
    }


def render_sweep(name: str, rows: Sequence[Row], package_version: str) -> str:
    """Return the sweep as one document that needs no network."""
    from plotly.offline import get_plotlyjs

    plotly, own = get_plotlyjs(), asset("sweep.js")
    data, keys = figures(rows), keys_of(rows)
    plots = "".join(
        section(f"over-{figure['name']}", figure["title"], f'<div class="plot" id="plot-{figure["name"]}"></div>')
        for figure in data["figures"]
    )
    shown_names = ("completion_us", "bound_us", "bound_percent", "busbw_GBps", "limited_by", "fidelity", "wall_s")
    columns = [
        *((key, "n") for key in keys),
        ("status", ""),
        *((n, "" if n in ("limited_by", "fidelity") else "n") for n in shown_names),
    ]
    body = [
        [
            *(f"<code>{escape(str(row['settings'].get(key, '')))}</code>" for key in keys),
            escape(row["status"]),
            *(escape(shown(row.get(figure))) for figure in shown_names),
        ]
        for row in rows
    ]
    errors = "".join(f'<p class="callout">point {row["number"]}: {escape(row["error"])}</p>' for row in rows if row.get("error"))
    warned = dict.fromkeys(text for row in rows for text in row.get("warnings", ()))
    warnings = "".join(f'<p class="callout">{escape(text)}</p>' for text in list(warned)[:20])
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(plotly, own)}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">',
            f"<title>{escape(name)}: sweep - scalefab</title><style>{page_style()}</style></head><body>",
            f'<header><h1>{escape(name)}: sweep</h1><p class="under">{escape(headline(rows))}</p>',
            f'<p class="under">scalefab {escape(package_version)}</p></header><main>',
            "<noscript><p>The charts need JavaScript; the table is here without it.</p></noscript>",
            errors,
            warnings,
            plots,
            section("points", "Points", table(columns, body, "differences"), long=True),
            f'</main><script type="application/json" id="data">{inline_json(data)}</script>',
            f"<script>{plotly}</script><script>{own}</script></body></html>\n",
        )
    )
