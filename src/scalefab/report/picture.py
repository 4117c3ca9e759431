"""One stand-alone SVG of a run: the fabric with its link loads and the verdict's main figures."""

from __future__ import annotations

from html import escape

from ..fabric.tiers import planes_text
from ..simulator.advice import percent
from ..simulator.result import Result
from ..simulator.verdict import Verdict
from ..units import format_rate, format_time
from .drawing import SIZE, disc_svg, legend_svg, make_discs, reading
from .palette import svg_style
from .tiermap import TierMap, make_maps, map_height, map_reading, map_svg

_WIDTH, _HEIGHT, _MARGIN = 2 * SIZE + 40, SIZE + 186, 28


def render_picture(name: str, result: Result, verdict: Verdict) -> str:
    """Return the picture as one SVG document; light and dark follow the reader's scheme, no script, no outside reference.

    Parameters
    ----------
    name
        Name of the scenario.
    result, verdict
        The run and what it says.
    """
    left, right = make_discs(result)
    endpoint = result.fabric.spec.endpoints
    maps = make_maps(result)
    below = 0 if maps is None else round(map_height(maps[0])) + 40
    height = _HEIGHT + below
    ports = f"{endpoint.ports} x {format_rate(endpoint.port_rate_bps)}"
    fabric = f"{result.fabric.endpoints} GPUs, {ports} each, {planes_text(result.fabric.spec)}"
    figures = f"{format_time(result.completion_ps)} · busbw {verdict.busbw_Bps / 1e9:.1f} GB/s"
    reached = f" · {percent(verdict.bound_fraction)} of the bound" if verdict.bound_fraction else ""
    limit = verdict.limit.text.split(":")[0]
    middle = _WIDTH - _MARGIN
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-labelledby="title">',
            f'<title id="title">{escape(name)}: {escape(figures + reached)}</title>',
            f"<style>{svg_style()}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{height}" rx="10"/>',
            f'<text class="t0" x="{_MARGIN}" y="44">{escape(name)}</text>',
            f'<text class="t3" x="{_MARGIN}" y="70">{escape(fabric)}</text>',
            f'<text class="t1" x="{middle}" y="44" text-anchor="end">{escape(figures + reached)}</text>',
            f'<text class="t3" x="{middle}" y="70" text-anchor="end">limited by {escape(limit)}</text>',
            f'<g transform="translate(14 84)">{disc_svg(result, left)}</g>',
            f'<g transform="translate({SIZE + 26} 84)">{disc_svg(result, right)}</g>',
            _second_tier(result, maps, below),
            legend_svg(_WIDTH / 2 - 130, SIZE + below + 100),
            _centred(reading(result), SIZE + below + 164),
            "</svg>\n",
        )
    )


def _second_tier(result: Result, maps: tuple[TierMap, TierMap] | None, height: int) -> str:
    if maps is None:
        return ""
    left, right = (map_svg(result, tiers) for tiers in maps)
    return (
        f'<g transform="translate(14 {SIZE + 96})">{left}</g><g transform="translate({SIZE + 26} {SIZE + 96})">{right}</g>'
        + _centred(map_reading(result, maps[0]), SIZE + height + 74)
    )


def _centred(text: str, y: int) -> str:
    return f'<text class="t2" x="{_WIDTH / 2:.0f}" y="{y}" text-anchor="middle">{escape(text)}</text>'
