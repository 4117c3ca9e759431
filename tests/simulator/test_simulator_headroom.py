"""Numbers that the head-room check suggests are enough: runs with them are as fast as with all the room there is."""

from __future__ import annotations

import re

import pytest

from scalefab.scenario import parse_scenario
from scalefab.simulator.run import simulate

MOST = "2097088B"  # 32,767 credits

TEXT = """\
scalefab: 1
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 2, buffer: GPU}
  switches: {planes: 1, ports: 2, latency: LATENCY, buffer: SWITCH}
  cables: {length: LENGTH, medium: fiber}
  fec: FEC
workload:
  - permutation: {bytes: 4MiB}
run: {window: 32767}
"""


def run(**values: str) -> tuple[int, tuple[str, ...]]:
    """Return the completion time in ps, and the warnings."""
    text = TEXT
    for name, value in values.items():
        text = text.replace(name, value)
    scenario = parse_scenario(text, "x.yaml")
    return simulate(scenario).completion_ps, scenario.warnings


@pytest.mark.parametrize(
    ("length", "latency", "fec"),
    [("3m", "250ns", "rs272"), ("3m", "1us", "rs544"), ("500m", "50ns", "none"), ("500m", "1us", "rs544")],
)
def test_suggested_receive_buffers_reach_line_rate(length: str, latency: str, fec: str) -> None:
    link = {"LENGTH": length, "LATENCY": latency, "FEC": fec}
    best_ps, none = run(GPU=MOST, SWITCH=MOST, **link)
    assert none == ()
    _, warnings = run(GPU="4KiB", SWITCH="4KiB", **link)
    gpu, switch = (re.search(r"; ([0-9]+[A-Za-z]+) would fill it$", text) for text in warnings)
    assert gpu and switch
    enough_ps, none = run(GPU=gpu.group(1), SWITCH=switch.group(1), **link)
    assert none == ()
    assert enough_ps <= 1.001 * best_ps


@pytest.mark.parametrize("end", ["GPU", "SWITCH"])
def test_a_share_of_it_reaches_about_that_share_of_line_rate(end: str) -> None:
    link = {"LENGTH": "500m", "LATENCY": "50ns", "FEC": "rs272"}
    best_ps, _ = run(GPU=MOST, SWITCH=MOST, **link)
    half_ps, (warning,) = run(**{"GPU": MOST, "SWITCH": MOST, **link, end: "264KiB"})
    share = int(re.search(r"fill ([0-9]+) %", warning).group(1))  # type: ignore[union-attr]
    assert 48 <= share <= 50
    assert best_ps / half_ps == pytest.approx(share / 100, abs=0.1)


@pytest.mark.parametrize("key", ["bytes_max", "frames_max"])
def test_suggested_limits_of_llr_reach_line_rate(key: str) -> None:
    link = {"LENGTH": "500m", "LATENCY": "250ns", "FEC": "rs544", "GPU": MOST, "SWITCH": MOST}
    text = TEXT.replace("  fec:", f"  llr: {{{key}: KEPT}}\n  fec:").replace("4MiB}", "4MiB}\n")
    for name, value in link.items():
        text = text.replace(name, value)
    best_ps, _ = run(**link)
    small = parse_scenario(text.replace("KEPT", "50kB" if key == "bytes_max" else "25"), "x.yaml")
    (warning,) = small.warnings
    would = re.search(r"; ([0-9]+[A-Za-z]*) would fill it$", warning)
    assert would
    enough = parse_scenario(text.replace("KEPT", would.group(1)), "x.yaml")
    assert enough.warnings == ()
    assert simulate(enough).completion_ps <= 1.001 * best_ps < 0.5 * simulate(small).completion_ps
