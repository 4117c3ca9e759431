"""The offline report and the drawing."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import synthetic
from scenarios import make_scenario

from scalefab.report.charts import inline_json, load_over_time
from scalefab.report.drawing import CLASSES, disc_svg, gpus_a_sector, load_class, make_discs
from scalefab.report.html import render_html
from scalefab.report.picture import render_picture
from scalefab.report.record import make_manifest
from scalefab.simulator.focus import Direction, find_focus
from scalefab.simulator.result import Result
from scalefab.simulator.verdict import judge

SECTIONS = [
    "verdict",
    "focus",
    "bound",
    "groups",
    "operations",
    "fabric",
    "links",
    "lost-time",
    "latency",
    "configuration",
    "reproduce",
]
EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


class Page(HTMLParser):
    """Collects tags, ids and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[-1] += data


def render(result: Result, name: str = "example") -> str:
    scenario, verdict = make_scenario(result, name, text=f"name: {EVIL}\n"), judge(result)
    manifest = make_manifest(
        scenario, result, verdict, argv=["scalefab", "run", EVIL], started_utc="2026-11-30", package_version="0.1.0"
    )
    return render_html(scenario, result, verdict, manifest)


def parse(text: str) -> Page:
    page = Page()
    page.feed(text)
    return page


@pytest.mark.parametrize(
    "make",
    [synthetic.moe_skewed, synthetic.ring, synthetic.nothing_moved, synthetic.partial],
    ids=["moe", "ring", "nothing", "partial"],
)
def test_every_section_is_there_and_ids_are_unique(make: object) -> None:
    page = parse(render(make()))  # type: ignore[operator]
    assert [attrs.get("id") for tag, attrs in page.tags if tag == "section"] == [
        key for key in SECTIONS if key != "focus" or make is not synthetic.nothing_moved
    ]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_user_text_is_inert() -> None:
    page = parse(render(synthetic.moe_skewed(), EVIL))
    assert len(page.scripts) == 3  # the data, Plotly, ours
    assert [tag for tag, _ in page.tags if tag == "img"] == []
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert "alert(" not in page.scripts[0] + page.scripts[2]


def test_the_page_loads_nothing_and_runs_only_its_own_scripts() -> None:
    page = parse(render(synthetic.ring()))
    assert not [attrs for _, attrs in page.tags if "src" in attrs or "href" in attrs]
    (policy,) = [attrs["content"] for tag, attrs in page.tags if tag == "meta" and "http-equiv" in attrs]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe-inline" not in policy.split("script-src")[1]
    assert policy.count("sha256-") == 2


def test_plotly_is_inside_once_and_the_file_is_small() -> None:
    text = render(synthetic.moe_skewed(256, 16))
    assert text.count("plotly.js v") == 1
    assert len(text.encode()) < 8_000_000


def test_the_charts_data_is_json_without_markup() -> None:
    page = parse(render(synthetic.moe_skewed()))
    data = json.loads(page.scripts[0])
    assert {curve["name"] for curve in data["latency"]} == {"PUT operations", "data frames"}
    assert all(curve["percent"] == sorted(curve["percent"]) and curve["percent"][-1] == 100 for curve in data["latency"])
    assert len(data["load"]["out"]) == len(data["load"]["into"]) == 8
    assert json.loads(inline_json({"x": "</script><!--\u2028&"})) == {"x": "</script><!--\u2028&"}
    assert not re.search("[<>&\u2028]", inline_json({"x": "</script><!--\u2028&"}))


def test_load_over_time_is_the_share_of_line_rate() -> None:
    result = synthetic.all_to_all()
    load = load_over_time(result)
    bin_s = result.link_load_bin_ps / 1e12
    ports = slice(0, 4)  # of GPU 0
    assert load["out"][0][10] == pytest.approx(100 * result.link_load[ports, 10].sum() / (4 * 100e9 * bin_s), abs=0.06)


def test_1024_gpus_fit_the_charts_and_the_drawing() -> None:
    fabric = synthetic.make_fabric(1024, 8)
    graph = synthetic.all_to_all().graph
    result = synthetic.make_result(fabric, graph, completion_ps=10**8, bound_ps=0, bound_cut="", stages={})
    load = load_over_time(result)
    assert (len(load["out"]), load["rows"][:2]) == (256, [0, 4])
    assert gpus_a_sector(1024, 8) == 2
    disc = disc_svg(result, make_discs(result)[0])
    assert disc.count("<path") == 4096


@pytest.mark.parametrize("gpus", [1, 2, 16, 64])
def test_the_picture_is_well_formed_and_has_a_cell_a_link(gpus: int) -> None:
    gpus = max(gpus, 2)
    result = synthetic.all_to_all(gpus, 2, pair_bytes=4096)
    svg = render_picture(EVIL, result, judge(result))
    root = ET.fromstring(svg)
    cells = [node for node in root.iter("{http://www.w3.org/2000/svg}path") if (node.get("class") or "").startswith("q")]
    assert len(cells) == result.fabric.ports
    assert "<script" not in svg


def test_the_hot_gpu_is_marked() -> None:
    result = synthetic.moe_skewed(16, 4)
    into = disc_svg(result, make_discs(result)[1])
    assert re.findall(r'class="hot"[^>]*>(\d+)<', into) == ["7"]
    even = synthetic.all_to_all(16, 4)
    assert 'class="mark"' not in disc_svg(even, make_discs(even)[0])


def test_colours_cover_the_scale() -> None:
    assert [load_class(load) for load in (-0.1, 0.0, 0.099, 0.1, 0.999, 1.0, 7.0)] == [0, 0, 0, 1, 9, 9, 9]
    assert CLASSES == 10


def test_the_busiest_gpu_is_marked_against_the_mean() -> None:
    result = synthetic.moe_skewed()
    focus = find_focus(result)
    assert focus is not None
    assert (focus.gpu, focus.direction) == (3, Direction.INTO)
    assert focus.ratio == pytest.approx(focus.bytes_by_gpu.max() / focus.bytes_by_gpu.mean())
    assert focus.busiest.sum() / focus.mean.sum() == pytest.approx(focus.ratio, rel=1e-3)
    text = render(result)
    assert f"GPU 3 receives {focus.ratio:.2f} times the bytes of the mean GPU" in text
    data = json.loads(parse(text).scripts[0])["focus"]
    assert (data["gpu"], data["verb"], data["other_verb"]) == (3, "receives", "sends")
    assert len(data["time_us"]) == len(data["busiest"]) == len(data["mean"]) == len(data["other"])
    assert "Even: no GPU" in render(synthetic.all_to_all())
    assert find_focus(synthetic.nothing_moved()) is None


def boxes(text: str) -> list[tuple[float, float]]:
    """Left and width of every box of the timeline of operations, per cent."""
    part = text.split('<section id="operations">')[1].split("</section>")[0]
    return [(float(a), float(b)) for a, b in re.findall(r"left:([0-9.]+)%;width:([0-9.]+)%", part)]


def test_operations_are_drawn_one_by_one_while_they_fit() -> None:
    result = synthetic.ring()
    ready = np.concatenate([[0], result.operations.done_ps[:-1]])
    times = replace(result.operations, ready_ps=ready, first_ps=ready + (result.operations.done_ps - ready) // 4)
    text = render(replace(result, operations=times))
    assert len(boxes(text)) == 2 * len(result.graph)  # waiting, then moving
    assert "one box an operation" in text
    found = boxes(text)
    assert all(left >= 0 and left + width <= 100.01 for left, width in found)
    text = render(synthetic.all_to_all(32, 4))
    assert "one box for all operations of a group" in text
    assert len(boxes(text)) <= 3 * 32 * 2


def test_at_most_64_lanes_and_the_last_gpu_among_them() -> None:
    text = render(synthetic.all_to_all(100, 2))
    assert "64 of 100 GPUs" in text
    assert text.count('<div class="lane"') == 64
    assert '<span class="hot">GPU 99</span>' in text


def test_unfinished_operations_reach_to_the_end() -> None:
    found = boxes(render(synthetic.partial()))
    assert max(left + width for left, width in found) == pytest.approx(100, abs=0.01)


def test_latencies_have_four_percentiles() -> None:
    text = render(synthetic.moe_skewed())
    assert '<th class="n">p99</th><th class="n">p99.9</th><th class="n">max</th>' in text
