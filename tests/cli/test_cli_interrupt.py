"""Ctrl-C in the middle of a live run: a valid partial report and exit code 5."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

SCENARIO = """
scalefab: 1
name: long
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 64}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload:
  - all_reduce: {size: 64GiB, algorithm: ring}
"""


def test_interrupt_of_a_running_kernel_keeps_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(SCENARIO)
    process = subprocess.Popen(
        [sys.executable, "-m", "scalefab", "run", "long.yaml", "--out", "out", "--json"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    deadline = time.monotonic() + 120
    for line in process.stderr:  # the first progress line says that the kernel is at work
        if "simulated" in line:
            break
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 5
    told = json.loads(stdout)
    assert told["status"] == "partial"
    assert 0 < told["data_bytes"] < 63 * 2 * (64 << 30)
    assert json.loads((tmp_path / "out" / "result.json").read_text()) == told
    assert (tmp_path / "out" / "report.html").exists()
