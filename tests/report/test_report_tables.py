"""Tables for the terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import synthetic

from scalefab.report.tables import make_console, print_tables, print_verdict, printable
from scalefab.simulator.verdict import judge


def test_lines_are_whole_and_plain_where_there_is_no_terminal() -> None:
    result = synthetic.moe_skewed()
    verdict = judge(result)
    out = io.StringIO()
    console = make_console(out)
    print_verdict(console, verdict)
    print_tables(console, result, verdict)
    text = out.getvalue()
    assert text.splitlines()[:10] == str(verdict).splitlines()
    assert "\x1b" not in text
    for title in ("Groups", "Lost time of data frames", "Hottest links", "switch plane 0 -> GPU 3", "moe_dispatch"):
        assert title in text


def test_names_cannot_drive_the_terminal() -> None:
    result = synthetic.ring()
    group = replace(result.graph.groups[0], name="\x1b[2Jred[bold]")
    result = replace(result, graph=replace(result.graph, groups=(group,)))
    verdict = judge(result)
    out = io.StringIO()
    console = make_console(out)
    print_verdict(console, verdict)
    print_tables(console, result, verdict)
    assert "\x1b" not in out.getvalue()
    assert "[bold]" in out.getvalue()
    assert printable("a\nb\x00") == "a\ufffdb\ufffd"
