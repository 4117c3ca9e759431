"""Drawings of wiring and of the second tier's loads."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scalefab.report.html import render_html
from scalefab.report.picture import render_picture
from scalefab.report.record import make_manifest
from scalefab.report.tiermap import links_a_cell, make_maps, map_height
from scalefab.report.wiring import wiring_svg
from scalefab.scenario import parse_scenario
from scalefab.simulator.run import simulate
from scalefab.simulator.verdict import judge

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXT = """
scalefab: 1
name: "tiers"
fabric:
  gpus: {{preset: ethlink-gpu-1x800g, count: {count}, stacks: {planes}}}
  switches: {{preset: flat-1024, planes: {planes}, ports: {ports}}}
  {spine}
workload: [{{permutation: {{bytes: 64KiB, shift: {shift}}}}}]
"""


def scenario(count: int = 16, planes: int = 1, ports: int = 8, spine: str = "spine: {ports: 64}", shift: int = 5):
    return parse_scenario(TEXT.format(count=count, planes=planes, ports=ports, spine=spine, shift=shift), "tiers.yaml")


@pytest.mark.parametrize(
    ("count", "planes", "ports", "spine", "words"),
    [
        (16, 8, 16, "", "16 GPUs (ethlink-gpu-1x800g), 8 x 800 Gb/s each, 8 switch planes"),
        (1024, 64, 1024, "", "64 switches, 65536 cables"),
        (16, 1, 8, "spine: {ports: 64}", "4 leaves and 4 spines, non-blocking (4 ports down, 4 up)"),
        (1024, 2, 16, "spine: {ports: 128}", "One plane is drawn, all 2 are alike."),
        (1024, 1, 128, "spine: {count: 16, ports: 128}", "4 links to each leaf"),
    ],
)
def test_wiring_is_drawn_at_every_size(count: int, planes: int, ports: int, spine: str, words: str) -> None:
    what = scenario(count, min(planes, 16), ports, spine)
    svg = wiring_svg("a <name> & more", what.fabric)
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg") and "a &lt;name&gt; &amp; more" in svg
    texts = " ".join(text for text in root.itertext())
    if planes <= 16:
        assert words in texts
    assert len(svg) < 120_000
    assert not re.search(r"<script|href|url\(", svg)


def test_the_marked_way_is_the_route() -> None:
    svg = wiring_svg("x", scenario().fabric)
    assert "Marked: GPU 0 to GPU 15 with uplink id 0 of 4: uplink 3 of leaf 0, spine 3, leaf 3." in svg


def test_loads_of_the_second_tier_are_drawn() -> None:
    what = scenario(planes=2)
    result = simulate(what)
    verdict = judge(result)
    maps = make_maps(result)
    assert maps is not None
    up, down = maps
    assert up.load.shape == down.load.shape == (2, 4, 4)
    assert float(up.load.max()) > 0 and links_a_cell(up) == 1 and map_height(up) > 0
    assert (result.fabric.port_peer[up.ports] == down.ports).all()
    svg = render_picture("tiers", result, verdict)
    ElementTree.fromstring(svg)
    assert "leaf uplinks" in svg and "spine down-links" in svg and svg.count('<rect class="q') >= 64
    manifest = make_manifest(what, result, verdict, argv=["scalefab"], started_utc="2026-01-01", package_version="0")
    page = render_html(what, result, verdict, manifest)
    assert "2 planes of 4 leaves and 4 spines, non-blocking (4 ports down, 4 up)" in page
    assert "load of the spine down-links" in page


def test_a_single_tier_has_no_such_map() -> None:
    assert make_maps(simulate(scenario(ports=16, spine=""))) is None


def test_spines_share_cells_where_there_are_many() -> None:
    result = simulate(scenario(count=512, planes=1, ports=64, shift=300))
    maps = make_maps(result)
    assert maps is not None and links_a_cell(maps[0]) == 1
    result = simulate(scenario(count=1024, planes=8, ports=16, spine="spine: {ports: 128}", shift=300))
    maps = make_maps(result)
    assert maps is not None and links_a_cell(maps[0]) == 4
    assert render_picture("x", result, judge(result)).count("busiest of 4") == 2 * 2048 + 1  # cells, and how to read them


def test_command(tmp_path: Path) -> None:
    def draw(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "scalefab", "fabric", "draw", str(EXAMPLES / "ethx16-mixtral.yaml"), *more]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    printed = draw()
    assert printed.returncode == 0 and printed.stderr == ""
    ElementTree.fromstring(printed.stdout)
    out = tmp_path / "wiring.svg"
    written = draw("--out", str(out), "--set", "name=other")
    assert (written.returncode, written.stdout) == (0, "")
    assert "other" in out.read_text()
    wrong = draw("--out", str(tmp_path / "wiring.png"))
    assert wrong.returncode == 2 and "a name that ends in .svg" in wrong.stderr
