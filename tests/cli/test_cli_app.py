"""The command line: exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import scalefab.simulator.run
from scalefab.capture.reader import read_capture
from scalefab.cli.app import run_app
from scalefab.cli.progress import LineReporter, describe, eta_s
from scalefab.errors import ExitCode
from scalefab.simulator.result import Result, Stage, Status
from scalefab.simulator.run import Progress
from scalefab.simulator.verdict import judge

sys.path.append(str(Path(__file__).parents[1] / "report"))
import synthetic
from kept import make_trace

SCENARIO = """\
scalefab: 1
name: small
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 4}
  switches: {preset: ethx-switch-51.2t, planes: 1}
workload:
  - all_to_all: {bytes_per_pair: 4KiB}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SCENARIO)
    return "small.yaml"


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Callable[[Result], None]:
    """Put a result in the simulator's place."""

    def put(result: Result) -> None:
        def simulate(scenario: Any, *, threads: int = 1, progress: Any = None) -> Result:
            if progress is not None:
                progress(Progress("compile", False, 0, 0, 0, 100, 0.0))
                progress(Progress("run", False, 10, 10, 50, 100, 1.0))
            return result

        monkeypatch.setattr(scalefab.simulator.run, "simulate", simulate)

    return put


def test_run_prints_ten_lines_and_keeps_a_folder(file: str, simulated: Any, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(synthetic.all_to_all())
    assert run_app(["run", file, "--out", "kept"]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("Result      done in 20.081 µs")
    assert "Hottest links" in out
    assert "compiling the simulator kernel once for this machine" in err
    assert "report: kept/report.html" in err
    assert json.loads(Path("kept/manifest.json").read_text())["scenario"] == "small"


def test_quiet_prints_the_ten_lines_alone(file: str, simulated: Any, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(synthetic.all_to_all())
    assert run_app(["run", file, "--quiet"]) == ExitCode.OK
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 10
    assert err == ""
    assert len(list(Path("runs").iterdir())) == 1


def test_json_is_one_object_and_nothing_else(file: str, simulated: Any, capsys: pytest.CaptureFixture[str]) -> None:
    simulated(synthetic.all_to_all())
    assert run_app(["run", file, "--json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert (data["command"], data["scenario"], data["status"]) == ("run", "small", "done")


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"status": Status.PARTIAL}, ExitCode.INTERRUPTED, "partial"),
        ({"status": Status.NO_PROGRESS}, ExitCode.NO_PROGRESS, "no_progress"),
        ({"frames_sent": 10**9}, ExitCode.FAILED, "failed"),
    ],
)
def test_exit_codes_of_runs(
    change: dict[str, Any], code: ExitCode, word: str, file: str, simulated: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    simulated(replace(synthetic.all_to_all(), **change))
    assert run_app(["run", file, "--json", "--out", "kept"]) == code
    out, err = capsys.readouterr()
    assert json.loads(out)["status"] == word
    assert err != ""
    assert json.loads(Path("kept/manifest.json").read_text())["exit_code"] == code


def test_a_full_folder_is_refused_before_the_run(file: str, simulated: Any, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/precious").write_text("x")
    assert run_app(["run", file, "--out", "out"]) == ExitCode.INPUT
    out, err = capsys.readouterr()
    assert (out, err) == ("", "scalefab: --out: the folder 'out' is not empty; expected a new or an empty folder\n")
    assert [path.name for path in Path("out").iterdir()] == ["precious"]


def test_an_interrupt_before_the_run_leaves_no_folder(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def simulate(scenario: Any, *, threads: int = 1, progress: Any = None) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(scalefab.simulator.run, "simulate", simulate)
    assert run_app(["run", file, "--out", "kept"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "scalefab: interrupted before there was a result\n"
    assert not Path("kept").exists()


def test_a_run_is_drawn_again_compared_and_drawn_over_time(file: str, simulated: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = synthetic.moe_skewed()
    simulated(replace(result, trace=make_trace(result)))
    for name in ("one", "two"):
        assert run_app(["run", file, "--out", name, "--quiet"]) == ExitCode.OK
    capsys.readouterr()
    before = Path("one/report.html").read_bytes()
    assert run_app(["report", "one"]) == ExitCode.OK
    assert capsys.readouterr().out == "one/report.html\n"
    assert Path("one/report.html").read_bytes() == before
    assert run_app(["compare", "one", "two"]) == ExitCode.OK
    assert capsys.readouterr().out == "No setting and no result differs.\n"
    assert run_app(["compare", "one", "two", "--json", "--html", "c.html"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["same"] is True
    assert Path("c.html").exists()
    assert run_app(["timeline", "one"]) == ExitCode.OK
    assert capsys.readouterr().out == "one/timeline.json\n"
    assert run_app(["timeline", "one", "--out", "t.json"]) == ExitCode.OK
    assert json.loads(Path("t.json").read_text())["traceEvents"]
    assert run_app(["timeline", "one", "--out", "two"]) == ExitCode.INPUT


def test_capture_writes_real_frames(file: str) -> None:
    assert run_app(["run", file, "--quiet", "--out", "kept", "--capture", "9", "--capture-phy", "--frames", "5"]) == ExitCode.OK
    packets = list(read_capture(Path("kept/capture.pcapng")))
    assert len({packet.comment.split(" hop")[0] for packet in packets if packet.comment.startswith("frame")}) == 9
    assert len(Path("kept/frames.csv").read_text().splitlines()) <= 1 + 5


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["report", "nowhere"], "'nowhere' is no folder"),
        (["compare", "nowhere", "elsewhere"], "'elsewhere' is no folder"),
        (["timeline", "."], "holds no manifest.json"),
        (["run", "small.yaml", "--capture-phy"], "--capture-phy without frames to capture"),
        (["run", "small.yaml", "--capture", "-1"], "--capture"),
        (["run", "small.yaml", "--threads", "2", "--capture", "5"], "frames are captured by one thread only"),
        (["run", "small.yaml", "--threads", "2", "--fidelity", "flow"], "flows are simulated by one thread"),
        (["timeline", ".", "--format", "pdf"], "pdf"),
    ],
)
def test_what_cannot_be_used_exits_2(argv: list[str], said: str, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(argv) == ExitCode.INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_a_typo_is_one_line(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(file).write_text(SCENARIO.replace("switches:", "switchs:"))
    assert run_app(["run", file]) == ExitCode.INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("small.yaml:5: ")
    assert "switches" in err
    assert err.count("\n") == 1


def test_what_does_not_fit_exits_3(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["check", file, "--set", "fabric.gpus.count=100"]) == ExitCode.INFEASIBLE
    assert capsys.readouterr().err.count("\n") >= 1


def test_check_says_what_it_is(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["check", file]) == ExitCode.OK
    assert capsys.readouterr().out.startswith(
        "small.yaml: valid: 4 GPUs with 1 x 800 Gb/s, 1 switch plane, 64 ports a switch; 12 operations"
    )
    assert run_app(["check", file, "--json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert (data["status"], data["gpus"], data["operations"], data["data_bytes"]) == ("ok", 4, 12, 12 * 4096)
    assert not Path("runs").exists()


@pytest.mark.parametrize("stage", [Stage.WINDOW, Stage.SOURCE_CREDIT, Stage.SWITCH_CREDIT, Stage.MEMORY_WAIT, Stage.SOURCE_QUEUE])
@pytest.mark.parametrize("frame_max", [2048, 4160])
def test_every_suggested_setting_is_one_that_set_takes(stage: Stage, frame_max: int, file: str) -> None:
    result = synthetic.all_to_all(4, 1, bound_ps=1, stages={stage: 100}, frame_max=frame_max)
    settings = judge(result).suggestion.settings
    assert settings
    assert run_app(["check", file, *(f"--set={setting}" for setting in settings)]) == ExitCode.OK


def test_the_suggested_spray_algorithm_and_balance_are_settings(file: str) -> None:
    assert run_app(["check", file, "--set", "run.spray=round_robin"]) == ExitCode.OK
    (ring,) = judge(synthetic.ring()).suggestion.settings
    Path(file).write_text(SCENARIO.replace("all_to_all: {bytes_per_pair: 4KiB}", "all_reduce: {size: 1MiB}"))
    assert run_app(["check", file, "--set", ring]) == ExitCode.OK
    (balance,) = judge(synthetic.moe_skewed()).suggestion.settings
    skewed = Path(__file__).parents[2] / "examples" / "ethx64-deepseek-v3-skewed.yaml"
    assert run_app(["check", str(skewed), "--set", balance]) == ExitCode.OK


def test_check_tells_faults_as_json_too(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["check", file, "--json", "--set", "fabric.fec=rs1"]) == ExitCode.INPUT
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "input"
    assert data["problems"][0]["key"] == "fabric.fec"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["rum"], "No such command 'rum'"),
        (["run"], "FILE"),
        (["run", "a.yaml", "--bogus"], "--bogus"),
        ([], "no command is given"),
        (["run", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(argv: list[str], said: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "scalefab", *argv], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


def test_help_tells_every_exit_code() -> None:
    done = subprocess.run([sys.executable, "-m", "scalefab", "run", "--help"], capture_output=True, text=True, check=True)
    for code in ExitCode:
        assert f"\n    {int(code)}  " in done.stdout


def test_a_closed_pipe_is_quiet(file: str) -> None:
    command = f"{sys.executable} -m scalefab check {file} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_progress_in_words() -> None:
    progress = Progress("run", True, 1_500_000, 3_000_000, 25, 100, 2.0)
    assert eta_s(progress) == 6.0
    assert describe(progress) == "25 % of the bytes delivered, 1.5 µs simulated, 1.5 M events/s, about 6 s left"
    assert eta_s(replace(progress, executed_bytes=0)) is None


def test_lines_are_sparse(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("scalefab.cli.progress.time.monotonic", lambda: now[0])
    reporter = LineReporter()
    for second in range(60):
        now[0] = 100.0 + second
        reporter(Progress("run", True, 1, 1, 1, 2, 1.0))
    assert len(capsys.readouterr().err.splitlines()) == 4  # after 5, 20, 35, 50 s
