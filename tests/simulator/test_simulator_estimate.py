"""The cost of a run before it, and where its time goes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scalefab.scenario import parse_scenario, read_scenario
from scalefab.simulator.estimate import Basis, estimate
from scalefab.simulator.profile import STAGES, kind_names, profile
from scalefab.simulator.run import simulate

ROOT = Path(__file__).resolve().parents[2]
SMALL = """
scalefab: 1
fabric: {gpus: {preset: ethlink-gpu-1x800g, count: 16}, switches: {preset: ethx-switch-51.2t, planes: 1}}
workload: [{all_to_all: {bytes_per_pair: SIZE}}]
"""


@pytest.mark.parametrize("name", ["ethx16-mixtral", "w1-all-to-all", "ethx64-deepseek-v3"])
def test_frames_and_events_are_near(name: str) -> None:
    scenario = read_scenario(ROOT / f"examples/{name}.yaml")
    cost, result = estimate(scenario), simulate(scenario)
    assert cost.frames == pytest.approx(result.frames, rel=0.02)
    assert cost.events == pytest.approx(result.events, rel=0.30)


def test_stores_reads_and_answers_are_counted() -> None:
    for operation in ("store", "put", "get"):
        text = SMALL.replace("all_to_all: {bytes_per_pair: SIZE}", f"permutation: {{bytes: 256KiB, operation: {operation}}}")
        scenario = parse_scenario(text, "x.yaml")
        assert estimate(scenario).frames == pytest.approx(simulate(scenario).frames, rel=0.30)


def test_a_long_run_is_measured_at_its_beginning() -> None:
    cost = estimate(parse_scenario(SMALL.replace("SIZE", "64MiB"), "x.yaml"))
    assert cost.basis is Basis.PILOT
    assert cost.seconds > 0.5


def test_check_tells_the_cost() -> None:
    file = str(ROOT / "examples/ethx16-mixtral.yaml")
    words = subprocess.run([sys.executable, "-m", "scalefab", "check", file], capture_output=True, text=True, check=True)
    assert "a run takes about: 35,840 data frames" in words.stdout
    done = subprocess.run([sys.executable, "-m", "scalefab", "check", file, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["estimate"]["frames"] == 35_840


def test_profile_adds_up() -> None:
    found = profile(parse_scenario(SMALL.replace("SIZE", "1MiB"), "x.yaml"), 0.0)
    assert sum(kind.share for kind in found.kinds) == pytest.approx(1.0)
    assert {"SLOT", "EGRESS", "DELIVER"} <= {kind.name for kind in found.kinds}
    kernel_s = dict(found.parts)["kernel"]
    assert sum(kind.events * kind.ns for kind in found.kinds) / 1e9 == pytest.approx(kernel_s, rel=0.05)


def test_every_kind_of_event_has_a_name() -> None:
    from scalefab.simulator import records

    last = max(kind_names())
    known = {records.__dict__[name] for name in STAGES}
    assert known == set(range(last + 1))
