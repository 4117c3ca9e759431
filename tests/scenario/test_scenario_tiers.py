"""A second tier in a scenario: what is derived and from where, what is refused, and that it reads back."""

import pytest
import yaml

from scalefab.errors import InfeasibleError, InputError
from scalefab.fabric.spec import CableSpec
from scalefab.scenario import Scenario, parse_scenario

TEXT = """\
scalefab: 1
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: COUNT}
  switches: {SWITCHES}
  spine: {SPINE}
  EXTRA
workload:
  - incast: {bytes: 1KiB}
"""
PRESET = "preset: ethx-switch-51.2t, planes: 1"


def read(switches: str = PRESET, spine: str = "", extra: str = "", count: int = 256, overrides: tuple[str, ...] = ()) -> Scenario:
    text = TEXT.replace("SWITCHES", switches).replace("SPINE", spine).replace("EXTRA", extra).replace("COUNT", str(count))
    return parse_scenario(text, "x.yaml", overrides)


def refused(*args: str, **more: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(*args, **more)  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


def test_everything_is_derived() -> None:
    scenario = read()
    switches = scenario.fabric_spec.switches
    assert (switches.leaves, switches.uplinks, switches.uplink_paths) == (8, 32, 16)
    spine = switches.spine
    assert spine is not None
    assert (spine.name, spine.count, spine.radix, spine.latency_ps, spine.buffer_bytes) == (
        "ethx-switch-51.2t",
        32,
        64,
        250_000,
        256 << 10,
    )
    assert spine.cables == scenario.fabric_spec.cables
    where = {key: str(origin.where) for key, origin in scenario.origins.items() if origin.kind == "default"}
    assert where["fabric.spine.preset"] == "follows fabric.switches.preset"
    assert where["fabric.spine.count"] == where["fabric.switches.leaves"] == "smallest non-blocking plane"
    assert where["fabric.switches.uplink_paths"] == "follows fabric.switches.uplinks, at most 16"
    assert where["fabric.spine.cables.length"] == "follows fabric.cables.length"
    assert scenario.origins["fabric.spine.ports"].kind == "preset"


@pytest.mark.parametrize(
    ("switches", "spine", "extra", "found"),
    [
        (PRESET + ", uplinks: 16", "", "", (6, 16, 16, 16)),
        (PRESET + ", uplinks: 16, leaves: 8, uplink_paths: 4", "", "", (8, 16, 4, 8)),  # 2:1: two links from each spine are even
        (PRESET, "count: 16", "", (8, 32, 16, 16)),
        (PRESET, "preset: ethx-switch-25.6t", "", (8, 32, 16, 32)),
        ("planes: 1, ports: 32", "latency: 1us", "", (16, 16, 16, 16)),
        ("planes: 1, ports: 32", "ports: 64", "cables: {delay: 50ns}", (16, 16, 16, 16)),
        (PRESET, "cables: {length: 20m, medium: fiber}", "cables: {length: 2m}", (8, 32, 16, 32)),
        (PRESET, "cables: {length: 20m}", "", (8, 32, 16, 32)),
        (PRESET, "cables: {delay: 100ns}", "cables: {length: 2m}", (8, 32, 16, 32)),
    ],
)
def test_what_is_stated_stays_and_it_reads_back(switches: str, spine: str, extra: str, found: tuple[int, ...]) -> None:
    scenario = read(switches, spine, extra)
    spec = scenario.fabric_spec.switches
    assert spec.spine is not None
    assert (spec.leaves, spec.uplinks, spec.uplink_paths, spec.spine.count) == found
    again = parse_scenario(yaml.safe_dump(scenario.resolved, sort_keys=False), "again.yaml")
    assert again.resolved == scenario.resolved
    assert again.fabric_spec == scenario.fabric_spec


def test_cables_between_switches() -> None:
    def cables(spine: str, extra: str) -> CableSpec | None:
        spec = read(PRESET, spine, extra).fabric_spec.switches.spine
        return spec.cables if spec else None

    assert cables("cables: {length: 20m, medium: fiber}", "") == CableSpec(20_000, "fiber", 98_000)
    assert cables("cables: {length: 20m}", "cables: {length: 3m, medium: fiber}") == CableSpec(20_000, "fiber", 98_000)
    assert cables("", "cables: {delay: 50ns}") == CableSpec(0, "", 0, 50_000)
    assert cables("cables: {delay: 70ns}", "cables: {delay: 50ns}") == CableSpec(0, "", 0, 70_000)


def test_overrides_reach_the_second_tier() -> None:
    spec = read(overrides=("fabric.spine.count=16", "fabric.spine.cables.delay=1us")).fabric_spec.switches.spine
    assert spec is not None and spec.count == 16 and spec.cables == CableSpec(0, "", 0, 10**6)


def test_uneven_links_are_a_warning() -> None:
    (text,) = read(spine="count: 8").warnings
    assert text.startswith("fabric.spine.count: of the 4 links from a spine to a leaf one carries ")


@pytest.mark.parametrize(
    ("switches", "spine", "extra", "lines"),
    [
        (
            PRESET + ", leaves: 5",
            "",
            "",
            [
                "x.yaml:4: fabric.switches.uplinks: each leaf needs 104 ports of 800 Gb/s (52 to GPUs, 52 up), the switch "
                "(ethx-switch-51.2t) has 64; expected at most 12 uplinks, 22 leaves or switches with 104 ports"
            ],
        ),
        (
            PRESET + ", uplinks: 32",
            "count: 12",
            "",
            [
                "x.yaml:5: fabric.spine.count: 12 spines do not share the 32 uplinks of a leaf evenly; "
                "expected count: 1, 2, 4, 8, 16 or 32"
            ],
        ),
        (
            PRESET,
            "port_rate: 400Gb/s",
            "",
            [
                "x.yaml:5: fabric.spine.port_rate: spine ports run at 400 Gb/s, leaf ports at 800 Gb/s; "
                "expected the same rate at both ends of a cable"
            ],
        ),
        (PRESET, "cout: 3", "", ["x.yaml:5: fabric.spine.cout: unknown setting; did you mean 'count'?"]),
        (
            PRESET,
            "preset: ethx-switch-51",
            "",
            [
                "x.yaml:5: fabric.spine.preset: 'ethx-switch-51' is no preset; expected a name of the catalogue (7 there); "
                "did you mean 'ethx-switch-51.2t'?"
            ],
        ),
        (
            PRESET,
            "cables: {length: 1m}",
            "cables: {delay: 50ns}",
            [
                "x.yaml:5: fabric.spine.cables: does not go with 'fabric.cables.delay', which states whole links; "
                "expected 'delay' here too, or no cables of the spine's own"
            ],
        ),
        (PRESET + ", uplink_paths: 17", "", "", ["x.yaml:4: fabric.switches.uplink_paths: 17 is too large; expected 16 or less"]),
        (
            "planes: 1",
            "",
            "",
            ["x.yaml:4: fabric.switches.ports: is missing (ports of a switch); expected a value, or a preset"],
        ),
        (PRESET, "count: many", "", ["x.yaml:5: fabric.spine.count: 'many' is not a whole number"]),
    ],
)
def test_what_is_refused(switches: str, spine: str, extra: str, lines: list[str]) -> None:
    assert refused(switches, spine, extra) == lines


def test_settings_of_a_second_tier_need_one() -> None:
    text = TEXT.replace("SWITCHES", PRESET + ", uplinks: 8").replace("  spine: {SPINE}\n", "").replace("COUNT", "32")
    with pytest.raises(InputError) as caught:
        parse_scenario(text.replace("  EXTRA\n", ""), "x.yaml")
    (problem,) = caught.value.problems
    assert problem.line == 4 and problem.key == "fabric.switches.uplinks"
    assert "is read by nothing without a second tier; expected fabric.spine beside it" in str(problem)


def test_a_domain_too_large_for_its_spines() -> None:
    with pytest.raises(InfeasibleError, match="at most 8 leaves"):
        read("planes: 1, ports: 32", "ports: 8")
