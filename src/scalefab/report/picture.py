"""One stand-alone SVG of a run: the fabric with its link loads and the verdict's main figures."""

from __future__ import annotations

from html import escape

from ..simulator.advice import percent
from ..simulator.result import Result
from ..simulator.verdict import Verdict
from ..units import format_rate, format_time
from .drawing import SIZE, disc_svg, legend_svg, make_discs, reading
from .palette import svg_style

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
    endpoint, switches = result.fabric.spec.endpoints, result.fabric.spec.switches
    ports = f"{endpoint.ports} x {format_rate(endpoint.port_rate_bps)}"
    fabric = f"{result.fabric.endpoints} GPUs, {ports} each, {switches.planes} plane{'s' if switches.planes != 1 else ''}"
    figures = f"{format_time(result.completion_ps)} · busbw {verdict.busbw_Bps / 1e9:.1f} GB/s"
    reached = f" · {percent(verdict.bound_fraction)} of the bound" if verdict.bound_fraction else ""
    limit = verdict.limit.text.split(":")[0]
    middle = _WIDTH - _MARGIN
    return "".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="title">',
            f'<title id="title">{escape(name)}: {escape(figures + reached)}</title>',
            f"<style>{svg_style()}</style>",
            f'<rect class="paper" width="{_WIDTH}" height="{_HEIGHT}" rx="10"/>',
            f'<text class="t0" x="{_MARGIN}" y="44">{escape(name)}</text>',
            f'<text class="t3" x="{_MARGIN}" y="70">{escape(fabric)}</text>',
            f'<text class="t1" x="{middle}" y="44" text-anchor="end">{escape(figures + reached)}</text>',
            f'<text class="t3" x="{middle}" y="70" text-anchor="end">limited by {escape(limit)}</text>',
            f'<g transform="translate(14 84)">{disc_svg(result, left)}</g>',
            f'<g transform="translate({SIZE + 26} 84)">{disc_svg(result, right)}</g>',
            legend_svg(_WIDTH / 2 - 130, SIZE + 100),
            f'<text class="t2" x="{_WIDTH / 2:.0f}" y="{SIZE + 164}" text-anchor="middle">{escape(reading(result))}</text>',
            "</svg>\n",
        )
    )
