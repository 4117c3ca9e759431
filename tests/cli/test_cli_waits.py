"""A network that stands still: exit code 4, and why, on stdout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scalefab.cli.app import run_app
from scalefab.errors import ExitCode

SCENARIO = """
scalefab: 1
name: broken
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 4}
  switches: {preset: ethx-switch-51.2t, planes: 1}
  fec: none
  ber: 1.2e-6
  llr: {replay_count: 1}
workload:
  - all_to_all: {bytes_per_pair: 256KiB}
"""


def test_a_standstill_prints_who_waits_for_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.yaml").write_text(SCENARIO)
    assert run_app(["run", "broken.yaml", "--quiet", "--out", "kept"]) == ExitCode.NO_PROGRESS
    out, err = capsys.readouterr()
    assert "Why nothing moves: all wait for" in out and "in FLUSH, given up" in out
    assert "the network stopped moving with work left" in err
    assert '<section id="waits">' in Path("kept/report.html").read_text(encoding="utf-8")
    assert run_app(["run", "broken.yaml", "--json", "--quiet"]) == ExitCode.NO_PROGRESS
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "no_progress"
    assert told["wait_for"]["edges"] and told["wait_for"]["cycle"] == [] and told["wait_for"]["roots"]


LOOP = """
scalefab: 1
name: loop
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 4, buffer: 8KiB, response_queue: 2KiB}
  switches: {preset: ethx-switch-51.2t, planes: 1, buffer: 8KiB}
  vc_map: one
workload:
  - permutation: {operation: load, bytes: 64KiB, transaction: 256B, shift: 1}
"""


def test_request_loops_on_one_vc_print_their_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop.yaml").write_text(LOOP)
    assert run_app(["run", "loop.yaml", "--quiet"]) == ExitCode.NO_PROGRESS
    out = capsys.readouterr().out
    assert "Smallest cycle of the wait-for graph" in out
    assert "response queue waits for" in out and "credits, " in out
    assert run_app(["run", "loop.yaml", "--quiet", "--set", "fabric.vc_map=profile"]) == ExitCode.OK
