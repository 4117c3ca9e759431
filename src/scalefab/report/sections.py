"""The parts of the HTML report. Every text that came from a file goes through `escape`; nothing here computes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ..fabric.tiers import planes_text
from ..simulator.advice import WAITING, percent
from ..simulator.focus import BUSY, Direction, find_focus
from ..simulator.result import STAGE_LABELS, Fidelity, Result, Status
from ..simulator.verdict import Outcome, Verdict
from ..units import format_rate, format_size, format_time
from .drawing import SIZE, disc_svg, legend_svg, make_discs, reading
from .record import flat_configuration
from .tiermap import make_maps, map_height, map_reading, map_svg

if TYPE_CHECKING:
    from .subject import Subject

_STATUS_TEXT = {
    Outcome.DONE: "done",
    Outcome.PARTIAL: "partial",
    Outcome.NO_PROGRESS: "no progress",
    Outcome.FAILED: "failed",
}


_EVEN = 1.05  # own: below 5 % more than the mean nobody stands out


def section(key: str, title: str, body: str, note: str = "", long: bool = False) -> str:
    """Return one section of the page; ``long`` ones may be cut when printed."""
    told = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<section id="{key}"{" class=long" if long else ""}><h2>{escape(title)}</h2>{told}{body}</section>'


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], style: str = "") -> str:
    """Return a table; a column is (title, class: "" text, "n" number, "bar" bar), cells are HTML already."""
    head = "".join(f'<th class="{kind}">{escape(title)}</th>' for title, kind in columns)
    body = "".join(
        "<tr>" + "".join(f'<td class="{kind}">{cell}</td>' for cell, (_, kind) in zip(row, columns, strict=True)) + "</tr>"
        for row in rows
    ).replace(' class=""', "")
    return f'<div class="scroll"><table class="{style}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def bar(share: float, style: str = "") -> str:
    """Return a bar of a share of 1."""
    return f'<div class="track"><div class="fill {style}" style="width:{100 * min(1.0, max(0.0, share)):.2f}%"></div></div>'


def header(scenario: Subject, result: Result, verdict: Verdict, manifest: dict[str, Any]) -> str:
    """Return the title, what ran, and the four main figures."""
    spec, status = result.fabric.spec, verdict.outcome
    what = (
        f"{result.fabric.endpoints} GPUs with {spec.endpoints.ports} x {format_rate(spec.endpoints.port_rate_bps)}, "
        f"{planes_text(spec)}, "
        f"{len(result.graph)} operations, seed {result.seed}"
    )
    time_ps = result.completion_ps if result.status is Status.DONE else result.now_ps
    reached = percent(verdict.bound_fraction) if verdict.bound_fraction else "-"
    figures = (
        (format_time(time_ps), "completion" if result.status is Status.DONE else "simulated so far"),
        (f"{verdict.busbw_Bps / 1e9:.2f} GB/s", "bus bandwidth a GPU"),
        (percent(verdict.line_fraction), "of a GPU's line rate"),
        (reached, "of the lower bound's speed"),
    )
    tiles = "".join(f'<div class="figure"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for value, name in figures)
    kind = "done" if status is Outcome.DONE else "other"
    flows = '<span class="status other">flow fidelity: an estimate</span>' if result.fidelity is Fidelity.FLOW else ""
    return (
        f'<header><h1>{escape(scenario.name)}<span class="status {kind}">{_STATUS_TEXT[status]}</span>{flows}</h1>'
        f'<p class="under">{escape(what)}</p>'
        f'<p class="under">scalefab {escape(str(manifest["scalefab"]))} · {escape(str(manifest["started_utc"]))}</p>'
        f'<div class="figures">{tiles}</div></header>'
    )


def verdict_section(scenario: Subject, verdict: Verdict) -> str:
    """Return the ten lines, what is wrong first."""
    told = dict.fromkeys((*verdict.failures, *verdict.warnings, *scenario.warnings))
    callouts = "".join(f'<p class="callout">{escape(text)}</p>' for text in told)
    key = ("Limited by", "Try next")
    lines = ""
    for line in verdict.lines:
        style = ' class="key"' if line.label in key else ""
        text = _suggestion(verdict) if line.label == "Try next" else _words(line.text)
        lines += f"<dt{style}>{escape(line.label)}</dt><dd{style}>{text}</dd>"
    return section("verdict", "Verdict", f'{callouts}<dl class="lines">{lines}</dl>')


def _words(text: str) -> str:
    """Return a text escaped, with no line end between a number and its per cent."""
    return escape(text).replace(" %", "&nbsp;%")


def _suggestion(verdict: Verdict) -> str:
    settings = "".join(f" <code>--set {escape(setting)}</code>" for setting in verdict.suggestion.settings)
    return f"{_words(verdict.suggestion.text)}{':' if settings else ''}{settings}"


def focus_section(result: Result) -> str:
    """Return the busiest GPU beside the mean: what limits a skewed load, without reading a number."""
    focus = find_focus(result)
    if focus is None:
        return ""
    way = "into" if focus.direction is Direction.INTO else "out of"
    if focus.ratio < _EVEN:
        told = f"Even: no GPU {focus.direction.value} more than {focus.ratio:.2f} times the bytes of the mean GPU."
    else:
        told = f"GPU {focus.gpu} {focus.direction.value} {focus.ratio:.2f} times the bytes of the mean GPU."
    if focus.busy_ps:
        told += (
            f" It works at {percent(BUSY, 0)} of its line rate or more for {format_time(focus.busy_ps)}; "
            f"the others work at {percent(focus.mean_then, 0)} on average in that time."
        )
    body = (
        f'<p class="{"callout" if focus.ratio >= _EVEN else "note"}">{_words(told)}</p>'
        f'<div class="pair"><div><h3>Load over time</h3><div class="plot low" id="plot-focus"></div></div>'
        f'<div><h3>Bytes {way} each GPU</h3><div class="plot low" id="plot-shares"></div></div></div>'
    )
    return section("focus", "Busiest GPU and the mean", body)


def bound_section(result: Result, verdict: Verdict) -> str:
    """Return the lower bound beside the result."""
    if result.bound_ps <= 0:
        return section("bound", "Bound", '<p class="note">No bound was computed for this workload.</p>')
    time_ps = result.completion_ps if result.status is Status.DONE else result.now_ps
    longest = max(time_ps, result.bound_ps, 1)
    name = "result" if result.status is Status.DONE else "so far"
    rows = ((name, time_ps, ""), ("lower bound", result.bound_ps, "bound"))
    body = "".join(
        f'<div class="compare"><div>{escape(title)}</div>{bar(value / longest, style)}'
        f'<div class="n">{format_time(value)}</div></div>'
        for title, value, style in rows
    )
    note = f"No schedule can be faster than the bound; this one is set by: {result.bound_cut}."
    return section("bound", "Result and bound", body, note)


def groups_section(verdict: Verdict) -> str:
    """Return one row a group of the workload."""
    columns = (
        ("group", ""),
        ("collective", ""),
        ("ranks", "n"),
        ("operations", "n"),
        ("size", "n"),
        ("start", "n"),
        ("time", "n"),
        ("algbw GB/s", "n"),
        ("busbw GB/s", "n"),
        ("of line rate", "n"),
    )
    rows = [
        (
            escape(group.name),
            escape(group.collective),
            str(group.ranks),
            str(group.operations) if group.complete else f"{group.done} of {group.operations}",
            format_size(group.size_bytes),
            format_time(group.start_ps),
            format_time(group.time_ps),
            "-" if group.algbw_Bps is None else f"{group.algbw_Bps / 1e9:.2f}",
            "-" if group.busbw_Bps is None else f"{group.busbw_Bps / 1e9:.2f}",
            "-" if group.line_fraction is None else percent(group.line_fraction),
        )
        for group in verdict.groups
    ]
    note = "Time is last done - first ready of a group's operations; algbw and busbw as nccl-tests print them."
    return section("groups", "Groups", table(columns, rows), note, long=len(rows) > 20)


def fabric_section(result: Result) -> str:
    """Return the drawing of the fabric, one disc a direction."""
    discs = "".join(
        f'<svg class="fabric" viewBox="0 0 {SIZE} {SIZE}" role="img" aria-label="load of the links {disc.title}">'
        f"{disc_svg(result, disc)}</svg>"
        for disc in make_discs(result)
    )
    scale = f'<svg class="scale" viewBox="-6 0 272 30" aria-hidden="true">{legend_svg(0, 0)}</svg>'
    body = f'{scale}<div class="pair">{discs}</div>{_second_tier(result)}'
    return section("fabric", "Fabric and link loads", body, reading(result))


def _second_tier(result: Result) -> str:
    maps = make_maps(result)
    if maps is None:
        return ""
    drawn = "".join(
        f'<svg class="fabric" viewBox="0 0 {SIZE} {map_height(tiers):.0f}" role="img" aria-label="load of the {tiers.title}">'
        f"{map_svg(result, tiers)}</svg>"
        for tiers in maps
    )
    return f'<p class="note">{escape(map_reading(result, maps[0]))}</p><div class="pair">{drawn}</div>'


def links_section(verdict: Verdict) -> str:
    """Return the hottest links and the loads over time."""
    rows = [
        (escape(link.name), bar(link.utilisation), percent(link.utilisation), f"{link.ratio:.2f}x", format_size(link.wire_bytes))
        for link in verdict.links
    ]
    columns = (("link", ""), ("", "bar"), ("busy", "n"), ("of the mean", "n"), ("wire bytes", "n"))
    hottest = table(columns, rows, "links") if rows else "<p>No link carried anything.</p>"
    plots = (
        '<div class="pair"><div><h3>Out of GPUs, over time</h3><div class="plot" id="plot-out"></div></div>'
        '<div><h3>Into GPUs, over time</h3><div class="plot" id="plot-into"></div></div></div>'
    )
    note = "Over time: all links of a GPU together, as a share of their line rate. Below: the directed links of most wire bytes."
    return section("links", "Links", f"{plots}<h3>Hottest links</h3>{hottest}", note)


def lost_time_section(result: Result, verdict: Verdict) -> str:
    """Return where executed data frames spent their time."""
    if result.fidelity is Fidelity.FLOW:
        return section("lost-time", "Lost time", "<p>Not known at flow fidelity: there are no frames.</p>")
    rows = []
    largest = max(verdict.stages.values(), default=0.0) or 1.0
    for stage, share in verdict.stages.items():
        mean = format_time(int(result.stage_ps[stage]) // result.frames) if result.frames else "-"
        style = "wait" if stage in WAITING else ""
        rows.append((escape(STAGE_LABELS[stage]), bar(share / largest, style), percent(share, 2), mean))
    columns = (("stage", ""), ("", "bar"), ("share", "n"), ("mean a frame", "n"))
    body = table(columns, rows)
    total = format_time(result.frame_ps // result.frames) if result.frames else "0 ps"
    note = (
        f"{result.frames} data frames took {total} each on average from ready to executed; the stages add up to it exactly. "
        "Stages stand in the order of a frame's way; waiting is marked."
    )
    return section("lost-time", "Lost time", body, note)


def latency_section(verdict: Verdict) -> str:
    """Return latencies of operations by kind and of data frames."""
    rows = [
        (escape(row.name), str(row.count), *map(format_time, (row.p50_ps, row.p99_ps, row.p999_ps, row.max_ps)))
        for row in verdict.latencies
    ]
    columns = (("population", ""), ("count", "n"), ("p50", "n"), ("p99", "n"), ("p99.9", "n"), ("max", "n"))
    body = f'<div class="plot short" id="plot-latency"></div>{table(columns, rows)}' if rows else "<p>No operation finished.</p>"
    note = "Operations: from ready to done. Data frames: from the first bit sent to executed at the target, to one histogram bin."
    return section("latency", "Latency", body, note)


def configuration_section(scenario: Subject) -> str:
    """Return every setting with its value and where it came from."""
    rows = []
    for key, value in flat_configuration(scenario):
        origin = scenario.origins.get(key)
        kind, where = (origin.kind, origin.where) if origin is not None else ("", "")
        tag = f'<span class="tag {"set" if kind == "set" else ""}">{escape(kind)}</span> ' if kind else ""
        rows.append((f"<code>{escape(key)}</code>", f"<code>{escape(value)}</code>", f"{tag}{escape(where)}"))
    columns = (("setting", ""), ("value", ""), ("from", ""))
    return section("configuration", "Configuration", table(columns, rows, "config"), long=True)


def reproduce_section(scenario: Subject, manifest: dict[str, Any]) -> str:
    """Return what is needed to run it again."""
    versions = ", ".join(f"{name} {value}" for name, value in manifest["versions"].items())
    rows = (
        ("seed", str(manifest["seed"])),
        ("hash", str(manifest["hash"])),
        ("versions", f"scalefab {manifest['scalefab']}, {versions}"),
    )
    facts = "".join(f"<dt>{escape(name)}</dt><dd><code>{escape(value)}</code></dd>" for name, value in rows)
    return section(
        "reproduce",
        "Run it again",
        f"<pre>{escape(str(manifest['command_line']))}</pre>"
        f'<dl class="lines">{facts}</dl>'
        f"<details><summary>The scenario file as it was read</summary><pre>{escape(scenario.text)}</pre></details>",
        "The same file, seed and version give the same picosecond on any machine.",
        long=True,
    )
