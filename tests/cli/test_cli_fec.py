"""``scalefab fec``: words, JSON, the page, and what cannot be asked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scalefab.cli.app import run_app
from scalefab.errors import ExitCode
from scalefab.report.coding import interval, probability


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    assert run_app(["fec", *arguments]) == ExitCode.OK
    out, err = capsys.readouterr()
    return out, err


def test_a_row_for_each_code_and_none(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = answer(capsys, "--ber", "9.92e-5", "--depth", "1")
    assert err == ""
    assert out.startswith(
        "800 Gb/s port, 3 m of twinax, bit error ratio 9.92e-05, random errors; 1 codeword interleaved, frames of 64 B\n"
    )
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert {"none", "RS-272", "RS-528", "RS-544"} <= set(lines)
    assert re.split(r"\s{2,}", lines["RS-272"])[:6] == ["RS-272", "3.20 ns", "41.20 ns", "104.20 ns", "4.96e-10", "6.26e-10"]
    assert "W = frames in the link's loop" in out


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = answer(capsys, "--ber", "5.79e-5", "--burst", "0.75", "--depth", "1", "--json")
    told: dict[str, Any] = json.loads(out)
    assert (told["command"], [row["code"] for row in told["rows"]]) == ("fec", ["none", "RS-272", "RS-528", "RS-544"])
    last = told["rows"][-1]
    assert (last["block_ns"], last["fec_ns"], last["rate_bps"], last["depth"]) == (6.4, 44.4, 800_000_000_000, 1)
    assert last["frame_loss"] == pytest.approx(6.2e-10, rel=0.04)
    assert told["rows"][0]["codeword_failure"] is None
    assert "trial_words" not in last


def test_trials_stand_beside_the_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = answer(capsys, "--ber", "3e-3", "--depth", "1", "--trials", "500", "--json")
    rows = json.loads(out)["rows"]
    assert "trial_words" not in rows[0]
    for row in rows[1:]:
        assert row["trial_words"] == 500
        assert row["trial_failed"] == pytest.approx(
            500 * row["codeword_failure"], abs=4 * (500 * row["codeword_failure"]) ** 0.5 + 1
        )
    out, _ = answer(capsys, "--ber", "3e-3", "--depth", "1", "--trials", "500")
    assert "really failed" in out
    assert f"{rows[1]['trial_failed']} of 500" in out


def test_the_page_needs_no_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figure.html"
    out, err = answer(capsys, "--rate", "400Gb/s", "--frame", "2048B", "--length", "5m", "--out", str(file))
    assert out.startswith("400 Gb/s port, 5 m of twinax")
    assert err == f"figure: {file}\n"
    page = file.read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert len(re.findall(r"script-src( 'sha256-[^']+')+", page)) == 1
    assert not re.search(r'(src|href)="', re.sub(r"<script>.*?</script>", "", page, flags=re.S))
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    assert [curve["name"] for curve in data["curves"]] == ["no FEC", "RS-272", "RS-528", "RS-544"]
    assert data["ber"] == 1e-5
    assert all(len(curve["ber"]) == len(curve["loss"]) > 10 for curve in data["curves"])


def test_every_fault_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = ["--rate", "800", "--ber", "0.5", "--burst", "1", "--depth", "17", "--frame", "3m", "--length", "3", "--trials", "-1"]
    assert run_app(["fec", *wrong, "--seed", "-1"]) == ExitCode.INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(": ")[1] for line in err.splitlines()] == [
        "--rate",
        "--frame",
        "--length",
        "--trials",
        "--seed",
        "--ber",
        "--burst",
        "--depth",
    ]
    assert run_app(["fec", "--rate", "300Gb/s"]) == ExitCode.INPUT
    assert capsys.readouterr().err == (
        "scalefab: --rate: 300 Gb/s is no port rate; expected one of 100Gb/s, 200Gb/s, 400Gb/s, 800Gb/s\n"
    )
    assert run_app(["fec", "--ber", "much"]) == ExitCode.INPUT


def test_a_page_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["fec", "--out", str(tmp_path / "none" / "figure.html")]) == ExitCode.FAILED
    out, err = capsys.readouterr()
    assert "RS-272" in out  # the table is not lost
    assert "No such file" in err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4e-8, "40 ns"),
        (1.19e-4, "119 µs"),
        (1.41, "1.41 s"),
        (7_200, "2 h"),
        (3e7, "347 days"),
        (1e10, "317 years"),
        (1e15, "> 1e6 years"),
        (float("inf"), "> 1e6 years"),
    ],
)
def test_intervals(seconds: float, text: str) -> None:
    assert interval(seconds) == text


def test_probabilities() -> None:
    assert [probability(value) for value in (None, 0.0, 6.2e-10)] == ["-", "0", "6.20e-10"]
