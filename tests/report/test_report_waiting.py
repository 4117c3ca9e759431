"""Why a run stood still, in every form that a run is told in."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from kept import keep
from rich.console import Console

from scalefab.report.record import flat_object
from scalefab.report.store import load_run, save_result
from scalefab.report.waiting import print_waits, waits_lines, waits_section
from scalefab.simulator.result import Result, Status
from scalefab.simulator.verdict import judge
from scalefab.simulator.waits import Wait, WaitReason, Waits, make_waits

EVIL = "<script>alert(1)</script>"


def stuck(*, cycle: bool) -> Result:
    edges = [
        Wait("a queue", "a buffer", WaitReason.CREDIT, "needs 30 credits, 7 of 128 are left", 30, 7, 128),
        Wait("a buffer", "a queue" if cycle else EVIL, WaitReason.LEAVES_BY, "4 frames leave by it", 4),
    ]
    return replace(
        synthetic.partial(), status=Status.NO_PROGRESS, notes=(), waits=make_waits(edges, {} if cycle else {EVIL: "given up"})
    )


@pytest.mark.parametrize("cycle", [True, False])
def test_the_graph_is_in_json(cycle: bool) -> None:
    result = stuck(cycle=cycle)
    flat = json.loads(json.dumps(flat_object("x", result, judge(result), "1"), allow_nan=False))
    assert list(flat)[-1] == "wait_for"
    told = flat["wait_for"]
    edge = next(edge for edge in told["edges"] if edge["waiter"] == "a queue")
    assert edge == {
        "waiter": "a queue",
        "on": "a buffer",
        "reason": "credit",
        "text": "needs 30 credits, 7 of 128 are left",
        "needed": 30,
        "left": 7,
        "limit": 128,
    }
    assert len(told["cycle"]) == (2 if cycle else 0)
    assert told["roots"] == ([{"place": EVIL, "text": "given up", "waiters": 2}] if not cycle else [])
    assert told["edges_left_out"] == 0


def test_a_run_that_ends_has_no_graph() -> None:
    result = synthetic.all_to_all()
    assert "wait_for" not in flat_object("x", result, judge(result), "1")
    assert waits_section(result.waits) == ""


def test_the_verdict_says_why() -> None:
    assert "deadlock, 2 places wait for each other in a circle" in str(judge(stuck(cycle=True)).lines[0])
    assert f"all wait for {EVIL}: given up" in str(judge(stuck(cycle=False)).lines[0])
    assert judge(stuck(cycle=True)).exit_code == 4


def test_the_cycle_is_printed() -> None:
    waits = stuck(cycle=True).waits
    assert waits is not None
    file = io.StringIO()
    print_waits(Console(file=file, width=140), waits)
    out = file.getvalue()
    assert "Smallest cycle of the wait-for graph (2 waits):" in out
    assert "1. a buffer waits for a queue: 4 frames leave by it" in out or "1. a queue waits for a buffer" in out


def test_many_roots_are_cut() -> None:
    waits = make_waits([], {f"p{n}": "lost" for n in range(20)})
    assert waits_lines(waits)[-1] == "  and 12 more"


def test_html_escapes_and_is_kept(tmp_path: Path) -> None:
    result = stuck(cycle=False)
    body = waits_section(result.waits)
    assert EVIL not in body and "&lt;script&gt;" in body and "Why nothing moves" in body
    report = keep(tmp_path / "run", result)
    assert '<section id="waits">' in report.read_text(encoding="utf-8")
    back = load_run(tmp_path / "run").result.waits
    assert isinstance(back, Waits) and back == result.waits
    save_result(tmp_path / "r.npz", result)
