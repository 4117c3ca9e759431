"""``scalefab bench``: the table, its numbers, exit codes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

import scalefab.simulator.run
from scalefab.cli.app import run_app
from scalefab.errors import ExitCode
from scalefab.report.nccltable import shortened
from scalefab.simulator.result import Result, Status
from scalefab.simulator.run import simulate

FABRIC = ["--on", "ethx16", "--set", "fabric.gpus.count=4", "--quiet"]
ROW = re.compile(
    r" {0,11}(\d+)  +(\d+)  +float  +(sum|none)  +(-?\d+)  +([0-9.]+)  +([0-9.]+)  +([0-9.]+)  +(\d+)"
    r"  +([0-9.]+)  +([0-9.]+)  +(ring|direct)"
)


def test_the_table_reads_as_that_of_nccl_tests(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["bench", "all_reduce_perf", *FABRIC, "-b", "8", "-e", "32K", "-f", "8"]) == ExitCode.OK
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    found = [ROW.fullmatch(line) for line in rows]
    assert all(found) and err == ""
    # the first thirteen columns of nccl-tests' out-of-place half stand where nccl-tests prints them
    assert [line[:12].strip() for line in rows] == ["8", "64", "512", "4096", "32768"]
    assert [line[12:26].strip() for line in rows] == ["2", "16", "128", "1024", "8192"]
    heads = next(line for line in lines if "busbw" in line)
    assert heads.split()[1:10] == ["size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"]
    assert "# Out of bounds values : 0 OK" in lines
    mean = float(next(line for line in lines if "Avg bus bandwidth" in line).partition(":")[2])
    assert mean == pytest.approx(sum(float(match.group(7)) for match in found if match) / len(rows), abs=0.01)


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["bench", "alltoall", *FABRIC, "-b", "16", "-e", "4K", "-f", "4", "--json", "-n", "3"]) == ExitCode.OK
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert (data["command"], data["status"], data["operation"], data["ranks"]) == ("bench", "done", "all_to_all", 3)
    assert data["skipped_bytes"] == [16]
    assert err == "left out: 16 .. 16 B share out to less than 16 B for each of 3 ranks\n"
    assert [row["size_bytes"] for row in data["rows"]] == [48, 240, 1008, 4080]
    for row in data["rows"]:
        assert row["algbw_GBps"] == pytest.approx(row["size_bytes"] / row["time_us"] / 1e3, abs=2e-6)
        assert row["busbw_GBps"] == pytest.approx(row["algbw_GBps"] * 2 / 3, abs=2e-6)
        assert row["bound_us"] <= row["time_us"] and row["wrong"] == 0


def _stopping(monkeypatch: pytest.MonkeyPatch, change: Any, after: int = 1) -> None:
    runs = []

    def stub(scenario: Any, *, progress: Any = None) -> Result:
        runs.append(scenario)
        result = simulate(scenario)
        return change(result) if len(runs) > after else result

    monkeypatch.setattr(scalefab.simulator.run, "simulate", stub)


def _interrupt(result: Result) -> Result:
    raise KeyboardInterrupt


@pytest.mark.parametrize("change", [_interrupt, lambda result: replace(result, status=Status.PARTIAL)])
def test_ctrl_c_leaves_the_rows_so_far(change: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _stopping(monkeypatch, change)
    assert run_app(["bench", "sendrecv", *FABRIC, "-b", "64", "-e", "256"]) == ExitCode.INTERRUPTED
    out, err = capsys.readouterr()
    assert len([line for line in out.splitlines() if not line.startswith("#")]) == 1
    assert "# Avg bus bandwidth" in out
    assert re.fullmatch(r"scalefab: interrupted.*; the rows before are valid\n", err)


def test_json_of_an_interrupted_sweep_is_valid(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _stopping(monkeypatch, _interrupt)
    assert run_app(["bench", "sendrecv", *FABRIC, "-b", "64", "-e", "256", "--json"]) == ExitCode.INTERRUPTED
    data = json.loads(capsys.readouterr().out)
    assert (data["status"], len(data["rows"])) == ("partial", 1)


def test_lost_bytes_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _stopping(monkeypatch, lambda result: replace(result, data_bytes=0), after=0)
    assert run_app(["bench", "sendrecv", *FABRIC, "-b", "64", "-e", "64"]) == ExitCode.FAILED
    out, err = capsys.readouterr()
    assert "# Out of bounds values : 64 FAILED" in out
    assert err == "scalefab: 64 B: 64 elements did not arrive exactly once\n"


def test_a_standstill_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _stopping(monkeypatch, lambda result: replace(result, status=Status.NO_PROGRESS), after=0)
    assert run_app(["bench", "sendrecv", *FABRIC, "-b", "64", "-e", "64"]) == ExitCode.NO_PROGRESS
    assert "stopped moving at 64 B" in capsys.readouterr().err


def test_all_faults_of_the_options_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["bench", "alltal", "--on", "ethx46", "-b", "64MB", "-d", "flot"]) == ExitCode.INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.count("did you mean")) == ("", 4, 3)


def test_figures_shrink_into_their_columns() -> None:
    cases = [(1.234, 7), (9999.999, 7), (99999.96, 7), (1234567.8, 7), (123456789.0, 7), (0.0, 6), (999.999, 6), (123456.0, 6)]
    assert [shortened(value, width).strip() for value, width in cases] == [
        "1.23",
        "10000.0",
        "100000",
        "1234568",
        "1.2e+08",
        "0.00",
        "1000.0"[:6],
        "123456",
    ]
    assert all(len(shortened(value, width)) == width for value, width in cases)
