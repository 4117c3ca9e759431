"""``explain``, ``schema``, ``catalogue``, and runs that would move nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scalefab.cli.app import run_app
from scalefab.errors import ExitCode

BROKEN = Path(__file__).parents[1] / "scenario" / "broken"


def test_one_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", "frame_max"]) == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "fabric.frame_max"
    assert [line[2:10].strip() for line in lines[2:]] == ["form", "default", "source", "matters", "example", ""]
    assert lines[-1].endswith("scalefab check FILE --set fabric.frame_max=4160B")


def test_a_section_and_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", "fabric.cables"]) == ExitCode.OK
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "fabric.cables:",
        "fabric.cables.length",
        "fabric.cables.medium",
        "fabric.cables.delay",
    ]
    assert run_app(["explain"]) == ExitCode.OK
    assert len(capsys.readouterr().out.splitlines()) > 80
    assert run_app(["explain", "run.seed", "--json"]) == ExitCode.OK
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["key"], row["default"], row["form"]) == ("run.seed", "1", "whole number")


def test_an_unknown_key_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["explain", "fabric.framemax"]) == ExitCode.INPUT
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "did you mean 'fabric.frame_max'?" in err


def test_the_schema_is_json_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["schema"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["title"] == "scalefab scenario"


def test_the_catalogue_tells_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["catalogue"]) == ExitCode.OK
    out = capsys.readouterr().out
    assert "h100-sxm" in out and "tomahawk-ultra" in out and "ethx64" in out
    assert out.count("  source: ") == out.count(" ports (") + out.count(", memory ")
    assert run_app(["catalogue", "--json"]) == ExitCode.OK
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["what"] for row in rows} == {"gpu", "switch", "fabric"}
    assert all(row["source"] for row in rows if row["what"] != "fabric")


def test_a_workload_that_moves_nothing_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_app(["run", str(BROKEN / "moves-nothing.yaml")]) == ExitCode.INPUT
    out, err = capsys.readouterr()
    assert out == "" and "no token leaves its GPU" in err
    assert not Path("runs").exists()


@pytest.mark.parametrize("stop", ["1ps", "100ns"])
def test_a_run_that_is_stopped_before_a_byte_arrives_fails(stop: str, tmp_path: Path) -> None:
    """What no check can see before: the result is there, and it says that nothing moved."""
    example = Path(__file__).parents[2] / "examples" / "load-latency.yaml"
    command = ["run", str(example), "--set", f"run.until={stop}", "--out", str(tmp_path / "out"), "--json"]
    done = subprocess.run([sys.executable, "-m", "scalefab", *command], capture_output=True, text=True, check=False)
    data = json.loads(done.stdout)
    assert (data["data_bytes"], data["status"], done.returncode) == (0, "failed", ExitCode.FAILED)
    assert "zero bytes moved" in done.stderr
