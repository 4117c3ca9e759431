"""The report: one HTML file that needs no network, with Plotly inside once, light and dark, printable."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from ..simulator.result import Result
from ..simulator.verdict import Verdict
from . import sections
from .charts import chart_data, inline_json
from .faults import faults_section
from .lanes import lanes_section
from .page import asset, policy
from .palette import DARK, GROUPS_DARK, GROUPS_LIGHT, LIGHT, RAMP_DARK, RAMP_LIGHT, css_variables, ramp_classes
from .waiting import waits_section

if TYPE_CHECKING:
    from .subject import Subject

_FOOTER = (
    "EthLink here is an open profile: it follows what was published and fills the gaps by choices of its own; "
    "it is not ByteDance's confidential wire format."
)


def render_html(scenario: Subject, result: Result, verdict: Verdict, manifest: dict[str, Any]) -> str:
    """Return the whole report as one document.

    The page may load nothing and run nothing but its own two scripts (a content security policy with their hashes), so a
    scenario cannot bring its own, whatever it is called.
    """
    from plotly.offline import get_plotlyjs

    plotly, own = get_plotlyjs(), asset("report.js")
    parts = (
        sections.verdict_section(scenario, verdict),
        waits_section(result.waits),
        faults_section(result),
        sections.focus_section(result),
        sections.bound_section(result, verdict),
        sections.groups_section(verdict),
        lanes_section(result),
        sections.fabric_section(result),
        sections.links_section(verdict),
        sections.lost_time_section(result, verdict),
        sections.latency_section(verdict),
        sections.configuration_section(scenario),
        sections.reproduce_section(scenario, manifest),
    )
    return "".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(plotly, own)}">',
            '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">',
            f"<title>{escape(scenario.name)} - scalefab</title><style>{page_style()}</style></head><body>",
            sections.header(scenario, result, verdict, manifest),
            "<main><noscript><p>The charts need JavaScript; all tables and drawings are here without it.</p></noscript>",
            *parts,
            f"</main><footer>{escape(_FOOTER)}</footer>",
            f'<script type="application/json" id="data">{inline_json(chart_data(result))}</script>',
            f"<script>{plotly}</script><script>{own}</script></body></html>\n",
        )
    )


def page_style() -> str:
    """Return the style of a page: colours of both schemes and our own sheet."""
    light, dark = css_variables(LIGHT, RAMP_LIGHT, GROUPS_LIGHT), css_variables(DARK, RAMP_DARK, GROUPS_DARK)
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{ramp_classes()}{asset('report.css')}"
    )
