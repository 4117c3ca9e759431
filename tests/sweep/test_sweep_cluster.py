"""A sweep over a cluster of separate processes; one worker is killed in the middle, and each point has one row."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="extra 'dask'")

POINTS = 24
SCENARIO = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 32}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload: [{all_to_all: {bytes_per_pair: 1MiB}}]
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    code = f"from distributed.cli.{module} import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
    )


def rows_of(journal: Path) -> list[dict[str, object]]:
    if not journal.exists():
        return []
    lines = journal.read_bytes().rpartition(b"\n")[0].splitlines()
    return [row for row in map(json.loads, lines) if row["event"] == "point"]


@pytest.mark.long
def test_a_worker_dies_and_every_point_has_one_row(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(SCENARIO)
    address, journal = f"tcp://127.0.0.1:{free_port()}", tmp_path / "out" / "journal.jsonl"
    scheduler = started("dask_scheduler", "--host", address, "--no-dashboard", "--no-show")
    workers = [
        started("dask_worker", address, "--no-nanny", "--nthreads", "1", "--name", f"w{i}", "--no-dashboard") for i in range(3)
    ]
    seeds = ",".join(map(str, range(1, POINTS + 1)))
    command = [sys.executable, "-m", "scalefab", "sweep", str(tmp_path / "x.yaml"), "--vary", f"run.seed={seeds}"]
    command += ["--scheduler", address, "--out", str(tmp_path / "out"), "--json"]
    try:
        sweep = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 240
        while len(rows_of(journal)) < POINTS // 4:
            assert sweep.poll() is None, sweep.communicate()[1].decode()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        before = len(rows_of(journal))
        workers[0].send_signal(signal.SIGKILL)
        out, err = sweep.communicate(timeout=240)
        assert sweep.returncode == 0, err.decode()
        rows = rows_of(journal)
        assert Counter(row["number"] for row in rows) == Counter(range(POINTS))  # nothing lost, nothing twice
        assert all(row["status"] == "done" for row in json.loads(out)["rows"])
        assert len({str(row["completion_us"]) for row in rows}) == 1  # a seed changes nothing here: all ran the same network
        ran = Counter(str(row["worker"]) for row in rows)
        print(f"\n{before} rows when one of 3 workers was killed, {len(rows)} rows at the end; by worker: {dict(ran)}")
        assert len(ran) >= 2

        again = subprocess.run(command, capture_output=True, timeout=240, check=False)  # goes on: there is nothing to do
        assert again.returncode == 0, again.stderr.decode()
        assert f"{POINTS} of {POINTS} points are in" in again.stderr.decode()
        assert len(rows_of(journal)) == POINTS
        print(f"the same command once more: {POINTS} of {POINTS} points are in the journal already, none is run")
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()
