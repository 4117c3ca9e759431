"""Sweeps on one machine: points, journal, going on, errors as rows, workers that die."""

from __future__ import annotations

import json
import multiprocessing
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scalefab.errors import InputError
from scalefab.report.sweeppage import as_csv, figures, headline, render_sweep
from scalefab.sweep.journal import JOURNAL_FILE, Journal
from scalefab.sweep.local import run_local
from scalefab.sweep.points import Form, Vary, make_points, read_vary
from scalefab.sweep.sweep import plan, run_sweep, table
from scalefab.sweep.work import run_task

TEXT = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 4}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload: [{all_to_all: {bytes_per_pair: 64KiB}}]
run: {fidelity: flow}
"""
SIZES = "workload.0.all_to_all.bytes_per_pair"


def points(*texts: str, form: Form = Form.GRID):
    return make_points([read_vary(text) for text in texts], form)


def test_values_may_hold_commas_in_brackets() -> None:
    assert read_vary("a.b=[1, 2],{x: 1, y: 2},'p,q'") == Vary("a.b", ("[1, 2]", "{x: 1, y: 2}", "'p,q'"))


def test_grid_and_list() -> None:
    assert [str(p) for p in points("a=1,2", "b=3,4")] == ["a=1 b=3", "a=1 b=4", "a=2 b=3", "a=2 b=4"]
    assert [str(p) for p in points("a=1,2", "b=3,4", form=Form.LIST)] == ["a=1 b=3", "a=2 b=4"]


@pytest.mark.parametrize("text", ["a", "a=", "=1", "a=1,,2", "a=1,1"])
def test_bad_vary_is_told(text: str) -> None:
    with pytest.raises(InputError):
        read_vary(text)


def test_lists_of_different_length_are_told() -> None:
    with pytest.raises(InputError, match="a has 2, b has 1"):
        points("a=1,2", "b=3", form=Form.LIST)


def test_a_sweep_goes_on_and_runs_nothing_twice(tmp_path: Path) -> None:
    planned = plan(TEXT, "x.yaml", (), points(f"{SIZES}=4KiB,8KiB,16KiB"))
    ran: list[str] = []

    def run(tasks):
        for task in tasks:
            ran.append(task.key)
            yield run_task(task)

    journal = Journal(tmp_path)
    rows = run_sweep(planned, journal, run)
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    journal.close()
    with (tmp_path / JOURNAL_FILE).open("ab") as file:
        file.write(b'{"event":"point","key":"half a li')  # a crash
    journal = Journal(tmp_path)
    assert [row["status"] for row in table(planned, journal)] == ["done", "waiting", "waiting"]
    assert len(list(run_sweep(planned, journal, run))) == 2
    journal.close()
    journal = Journal(tmp_path)
    assert not list(run_sweep(planned, journal, run))
    journal.close()
    assert len(ran) == len(set(ran)) == 3
    lines = [json.loads(line) for line in (tmp_path / JOURNAL_FILE).read_text().splitlines()]
    assert sorted(line["number"] for line in lines) == [0, 1, 2]


def test_a_row_is_written_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.add({"key": "k", "number": 0})
    with pytest.raises(ValueError, match="already"):
        journal.add({"key": "k", "number": 0})
    journal.close()


def test_two_sweeps_do_not_share_a_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(InputError, match="another sweep"):
        Journal(tmp_path)
    journal.close()


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / JOURNAL_FILE).write_text("hello\n")
    with pytest.raises(InputError, match="not a line"):
        Journal(tmp_path)


def test_a_point_that_cannot_be_used_is_a_row() -> None:
    planned = plan(TEXT, "x.yaml", (), points("fabric.gpus.count=4,0,8"))
    assert [task.point.number for task in planned.tasks] == [0, 2]
    assert planned.refused[0]["number"] == 1
    assert "count" in planned.refused[0]["error"]


def test_a_worker_that_dies_loses_no_point() -> None:
    planned = plan(TEXT, "x.yaml", (), points("run.seed=1,2,3,4,5,6"))
    rows = run_local(planned.tasks, 2)
    found = [next(rows)]
    victim = multiprocessing.active_children()[0]
    assert victim.pid is not None
    victim.kill()
    found += list(rows)
    assert sorted(row["number"] for row in found) == list(range(6))
    assert all(row["status"] == "done" for row in found)
    assert not multiprocessing.active_children()


def test_table_csv_and_page() -> None:
    planned = plan(TEXT, "x.yaml", (), points(f"{SIZES}=4KiB,8KiB", "run.seed=1,2"))
    rows = [run_task(task) for task in planned.tasks]
    assert headline(rows).startswith("4 of 4 points done")
    assert "at flow fidelity" in headline(rows)
    csv = as_csv(rows).splitlines()
    assert csv[0].startswith(f"{SIZES},run.seed,status,completion_us")
    assert len(csv) == 5
    drawn = figures(rows)
    assert drawn["x"] == SIZES and not drawn["numbers"]
    assert [series["name"] for series in drawn["figures"][0]["series"]] == ["seed=1", "seed=2"]
    page = render_sweep("<x>", rows, "0")
    assert "<x>" not in page.split("<script", 1)[0]
    assert "plot-completion_us" in page


def test_the_command_goes_on_after_ctrl_c(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(TEXT.replace("64KiB", "64MiB").replace("count: 4", "count: 32").replace("fidelity: flow", "fidelity: packet"))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "scalefab", "sweep", str(file), "--vary", "run.seed=1,2,3", "--out", str(out)]
    command += ["--processes", "1", "--json"]
    flow = [*command, "--fidelity", "flow"]
    done = subprocess.run(flow, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in json.loads(done.stdout)["rows"]] == ["done"] * 3
    assert {"journal.jsonl", "table.csv", "table.json", "report.html"} <= {path.name for path in out.iterdir()}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 200
    while (out / JOURNAL_FILE).read_text().count('"event":"start"') < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    text, err = process.communicate(timeout=100)
    assert process.returncode == 5, err.decode()
    assert json.loads(text)["status"] == "partial"
    assert sum(row["status"] == "waiting" for row in json.loads(text)["rows"]) >= 1
