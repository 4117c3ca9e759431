"""``python -m benchmarks SCALE``: how speed holds with size, with threads, and how long it takes before the first event."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from .cases import CASES, Check

CASE = "SCALE"
TITLE = "1024 GPUs against 64, two threads against one, and the way to the first event"

_FRAME_MAX = 4160
_PLANES = """
scalefab: 1
name: w1-doubled
fabric:
  gpus:
    preset: ethlink-gpu-1x800g
    count: 64
    stacks: 2
    tx_latency: 0ns
    rx_latency: 0ns
    memory: {latency: 0ns, bandwidth: 100000TB/s}
  switches: {planes: 2, ports: 64, port_rate: 800Gb/s, latency: 200ns}
  cables: {delay: 50ns}
  frame_max: 4160B
workload:
  - all_to_all: {bytes_per_pair: 1MiB, stack: 0}
  - all_to_all: {bytes_per_pair: 1MiB, stack: 1}
    after: []
"""


def _scenario(text: str) -> Any:
    from scalefab.scenario import parse_scenario

    scenario = parse_scenario(text, "scale.yaml")
    return replace(scenario, options=replace(scenario.options, sample_frames=0, capture_frames=0))


def _frame_ns(case: str, repeat: int) -> float:
    from scalefab.simulator.run import simulate

    scenario = _scenario(CASES[case].text(_FRAME_MAX))
    results = [simulate(scenario) for _ in range(repeat)]
    return min(result.wall_s / result.frames for result in results) * 1e9


def _first_event_s() -> tuple[float, float]:
    """Return the seconds before the first event, with nothing compiled and with all on disk, in processes of their own."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "w1.yaml"
        file.write_text(CASES["W1"].text(_FRAME_MAX), encoding="utf-8")
        code = (
            "import sys, time; begin = time.perf_counter()\n"
            "from pathlib import Path\n"
            "from scalefab.scenario import read_scenario\n"
            "from scalefab.simulator.run import simulate\n"
            "result = simulate(read_scenario(Path(sys.argv[1])))\n"
            "print(time.perf_counter() - begin - result.wall_s)\n"
        )
        environment = os.environ | {"SCALEFAB_CACHE": str(Path(temporary) / "cache")}
        found = []
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True, env=environment
            )
            found.append(float(json.loads(done.stdout)))
    return found[0], found[1]


def run(repeat: int) -> tuple[dict[str, Any], tuple[Check, ...]]:
    """Return the figures as a flat object and the goals beside them."""
    from scalefab.simulator.machine import return_freed_memory
    from scalefab.simulator.run import simulate

    return_freed_memory()
    small, large = _frame_ns("W1", repeat), _frame_ns("W2", 1)
    doubled = _scenario(_PLANES)
    one = min((simulate(doubled) for _ in range(repeat)), key=lambda result: result.wall_s)
    two = min((simulate(doubled, threads=2) for _ in range(repeat)), key=lambda result: result.wall_s)
    same = one.completion_ps == two.completion_ps and one.events == two.events
    same = same and bool((one.operations.done_ps == two.operations.done_ps).all())
    cold_s, warm_s = _first_event_s()
    flat = {
        "case": CASE,
        "frame_ns_64": small,
        "frame_ns_1024": large,
        "one_thread_s": one.wall_s,
        "two_threads_s": two.wall_s,
        "first_event_cold_s": cold_s,
        "first_event_warm_s": warm_s,
    }
    checks = (
        Check("time a frame, 1024 GPUs / 64", 0.0, 1.5, large / small, ""),
        Check("W1 doubled, one thread / two", 1.7, 2.0, one.wall_s / two.wall_s, ""),
        Check("results that are equal to the picosecond", 1, 1, int(same), ""),
        Check("to the first event, nothing compiled", 0.0, 25.0, cold_s, "s"),
        Check("to the first event, all on disk", 0.0, 1.5, warm_s, "s"),
    )
    return flat, checks
