"""Two runs compared: changed settings beside changed results; a run against itself is empty."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import synthetic
from kept import keep

from scalefab.report.compare import Change, compare, comparison_object, headline, shown, shown_ratio
from scalefab.report.comparepage import render_comparison, words
from scalefab.report.store import StoredRun, load_run
from scalefab.simulator.result import Status


@pytest.fixture
def runs(tmp_path: Path) -> tuple[StoredRun, StoredRun]:
    one = synthetic.all_to_all()
    two = synthetic.all_to_all(completion_ps=2 * one.completion_ps, seed=9)
    keep(tmp_path / "one", one)
    keep(tmp_path / "two", replace(two, wall_s=7.0), spray="<b>hash</b>")
    return load_run(tmp_path / "one"), load_run(tmp_path / "two")


def test_a_run_against_itself_is_empty_and_says_so(runs: tuple[StoredRun, StoredRun]) -> None:
    comparison = compare(runs[0], runs[0])
    assert comparison.same
    assert (comparison.settings, comparison.results, comparison.notes) == ((), (), ())
    assert words(comparison) == "No setting and no result differs.\n"
    assert "No setting and no result differs." in render_comparison(comparison, "0.1.0")


def test_the_same_run_on_another_day_is_the_same(tmp_path: Path) -> None:
    result = synthetic.ring()
    keep(tmp_path / "one", result)
    keep(tmp_path / "two", replace(result, wall_s=99.0, peak_MB=1.0, compile_s=3.0))
    comparison = compare(load_run(tmp_path / "one"), load_run(tmp_path / "two"))
    assert comparison.same
    assert {change.name for change in comparison.cost if change.before != change.after} == {
        "wall_s",
        "compile_s",
        "frames_per_s",
        "peak_MB",
    }


def test_changes_are_told_with_both_values(runs: tuple[StoredRun, StoredRun]) -> None:
    comparison = compare(*runs)
    assert comparison.settings == (Change("spray", None, "<b>hash</b>"),)
    results = {change.name: change for change in comparison.results}
    assert results["completion_ps"].ratio == pytest.approx(2)
    assert results["group exchange: time_us"].ratio == pytest.approx(2)
    assert "frames" not in results
    assert "completion_us" not in results
    assert comparison.notes == ("another seed: 1 and 9",)
    assert headline(comparison).startswith("1 setting and ")
    assert headline(comparison).endswith("results differ: completion 2.00x.")
    text = words(comparison)
    assert "Note: another seed: 1 and 9" in text
    assert "spray" in text
    page = render_comparison(comparison, "0.1.0")
    assert "<b>" not in page.split("<main>")[1]
    assert "&lt;b&gt;hash" in page
    assert "<script" not in page


def test_json_is_one_object(runs: tuple[StoredRun, StoredRun]) -> None:
    data = json.loads(json.dumps(comparison_object(compare(*runs), "0.1.0"), allow_nan=False))
    assert (data["command"], data["same"]) == ("compare", False)
    assert data["settings"] == [{"name": "spray", "before": None, "after": "<b>hash</b>", "ratio": None}]
    assert {row["name"] for row in data["rows"]} >= {"completion_ps", "busbw_GBps"}


def test_versions_and_unfinished_runs_are_noted(tmp_path: Path) -> None:
    keep(tmp_path / "one", synthetic.ring())
    keep(tmp_path / "two", replace(synthetic.ring(), status=Status.PARTIAL))
    manifest = json.loads((tmp_path / "two" / "manifest.json").read_text())
    manifest["scalefab"], manifest["versions"]["numpy"] = "9.9", "1.0"
    (tmp_path / "two" / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "two" / "scenario.yaml").write_text("another: text")
    notes = "\n".join(compare(load_run(tmp_path / "one"), load_run(tmp_path / "two")).notes)
    for said in ("another scalefab: 0.1.0 and 9.9", "another numpy", "their settings do not", "ended 'partial'"):
        assert said in notes


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (Change("x", 4, 5), "+25.00 %"),
        (Change("x", 4, 1), "-75.00 %"),
        (Change("x", 1.0, 3.5), "3.50x"),
        (Change("x", 0, 5), ""),
        (Change("x", "a", 5), ""),
        (Change("x", None, 5), ""),
        (Change("lost time, x: percent", 4, 5), ""),
    ],
)
def test_ratios_in_words(change: Change, told: str) -> None:
    assert shown_ratio(change) == told


def test_figures_in_words() -> None:
    assert [shown(value) for value in (None, 3, 2.5, 2.0, "a")] == ["-", "3", "2.5", "2", "a"]
