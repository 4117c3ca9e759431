"""Efficiency of header stacks against the profile's figures."""

from __future__ import annotations

import json

import pytest

from scalefab.cli.app import run_app
from scalefab.protocol.stacks import STACKS, efficiencies

SIZES = (64, 128, 256, 1024, 4096)
FIGURES = {
    "RoCEv2": (39.5, 56.6, 72.3, 91.3, 97.7),
    "SUE on UDP": (45.1, 62.1, 76.6, 92.9, 98.1),
    "SUE-Lite": (66.7, 80.0, 88.9, 97.0, 99.2),
    "EthLink open profile": (48.5, 65.3, 79.0, 93.8),
}


@pytest.mark.parametrize("stack", FIGURES)
def test_figures_of_the_profile(stack: str) -> None:
    found = {row.size_bytes: row.efficiency_pct for row in efficiencies(SIZES, 2048) if row.stack == stack}
    for size, figure in zip(SIZES, FIGURES[stack], strict=False):
        assert abs(found[size] - figure) <= 0.1, (size, found[size])
    assert len(found) == len(SIZES)


def test_packed() -> None:
    rows = [row for row in efficiencies((64, 128, 256), 2048, pack=True) if row.packed and row.transactions]
    assert [(row.transactions, round(row.efficiency_pct, 1)) for row in rows] == [(25, 78.0), (14, 86.7), (7, 91.6)]
    assert [row.frame_bytes for row in rows] == [2032, 2048, 1936]


def test_flits_and_larger_frames() -> None:
    rows = {(row.stack, row.size_bytes): row for row in efficiencies((48, 64, 4096), 4160)}
    assert rows["UALink 200G 1.0", 64].efficiency_pct == pytest.approx(95.2 * 0.981)
    assert rows["UALink 200G 1.0", 48].efficiency_pct == pytest.approx(0.75 * 95.2 * 0.981)
    own = rows["EthLink open profile", 4096]
    assert (own.frame_bytes, own.efficiency_pct) == (4144, pytest.approx(100 * 4096 / 4164))
    cut = {row.stack: row for row in efficiencies((4096,), 2048)}["EthLink open profile"]
    assert cut.frame_bytes == 2 * 2032 + 176 and cut.efficiency_pct == pytest.approx(100 * 4096 / (4240 + 60))


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["headers", "--size", "64,1K", "--pack", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["command"] == "headers" and len(answer["rows"]) == 2 * (len(STACKS) + 1)
    assert list(answer["rows"][0]) == ["stack", "size_bytes", "packed", "transactions", "frame_bytes", "efficiency_pct"]
    assert run_app(["headers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 5 * len(STACKS) and lines[1].split()[-1] == "39.5"


def test_every_bad_setting_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["headers", "--size", "64,1kb,0,,²", "--frame-max", "2Gb"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 5
    assert run_app(["headers", "--frame-max", "64B"]) == 2
