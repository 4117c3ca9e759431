"""What is said of settings is what the reader does: examples work, defaults hold, limits hold, the page is fresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from scalefab.errors import InputError
from scalefab.scenario import Scenario, parse_scenario
from scalefab.scenario.explain import find, override
from scalefab.scenario.faultmodels import FAULT_KINDS, SINGLE_FRAME
from scalefab.scenario.reference import reference
from scalefab.scenario.settings import Setting, all_settings, sections, unused_notes

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGE = Path(__file__).parents[2] / "docs" / "scenario.md"
SETTINGS = all_settings()

BASE = """\
scalefab: 1
fabric:
  gpus: {preset: ethx-gpu-8x800g, count: 64}
  switches: {preset: ethx-switch-51.2t, planes: 8}
workload:
  - TASK
"""
MODEL = (
    "{name: m, model_type: x, hidden: 128, experts: 64, top_k: 2, moe_layers: 1, layers: 1, "
    "expert_intermediate: 1, shared_experts: 0}"
)
TASKS = {
    "moe": f"moe: {{model: {MODEL}, tokens_per_gpu: 8}}",
    "all_to_all": "all_to_all: {size: 1MiB}",
    "point_to_point": "point_to_point: {bytes: 1KiB}",
    "permutation": "permutation: {bytes: 1KiB}",
    "incast": "incast: {bytes: 1KiB}",
    "program": "program: {threads: ['0: store 1:0x1000 5']}",
}


ONE_WAY = (*SINGLE_FRAME, "slow_receiver", "vc", "ack_pause")


def read(setting: Setting, *overrides: str) -> Scenario:
    kind = setting.key.split(".")[1] if setting.key.startswith("workload[].") else "all_to_all"
    task = TASKS.get(
        kind, f"{kind}: {{size: 1MiB}}" if "reduce" in kind or kind in ("all_gather", "broadcast") else TASKS["all_to_all"]
    )
    return parse_scenario(BASE.replace("TASK", task) + _fault(setting.key), EXAMPLES / "x.yaml", overrides)


def _fault(key: str) -> str:
    """Return the entry of faults that a setting stands in, without the setting itself."""
    section, _, name = key.rpartition(".")
    if not section.startswith("faults"):
        return ""
    way = "switch -> gpu0.port0" if name in ("slow_receiver", "vc") else "gpu0.port0 -> switch"
    place = "" if name in ("link", "node", "all") else f"link: {way if name in ONE_WAY else 'gpu0.port0'}"
    kind = "" if name in FAULT_KINDS or name in ("burst", "vc") else "down: on"
    if section == "faults[].flap":
        kind = "flap: {period: 20us, down: 1us" + ("}" if name == "count" else ", count: 3}")
    if section == "faults[].random":
        kind = "until: 900us, random: {every: 50us, down: 1us}"
        place = "node: switch0"
    if name == "drain":
        kind = ""
    return f"faults:\n  - {{{', '.join(part for part in (place, kind) if part)}}}\n"


def test_every_setting_says_everything() -> None:
    for setting in SETTINGS:
        missing = [name for name in ("form", "default", "meaning", "source", "matters", "example") if not getattr(setting, name)]
        assert not missing, (setting.key, missing)
    assert unused_notes() == ()
    assert len({setting.key for setting in SETTINGS}) == len(SETTINGS)
    assert all(section.meaning for section in sections())


@pytest.mark.parametrize("setting", [s for s in SETTINGS if ".moe.model." not in s.key], ids=lambda s: s.key)
def test_every_example_is_a_setting_that_set_takes(setting: Setting) -> None:
    key = override(setting).partition("=")[0]
    scenario = read(setting, *setting.needs, override(setting))
    dotted = key.replace(".0", "[0]")
    if setting.key.endswith((".model", ".after")):
        return  # the values of the file stand there; an empty list has no leaf
    assert scenario.origins[dotted].kind == "set"


@pytest.mark.parametrize(
    "setting", [s for s in SETTINGS if s.default.split()[0].rstrip(",") not in ("none", "required")], ids=lambda s: s.key
)
def test_defaults_that_are_values_hold(setting: Setting) -> None:
    if len(setting.default.split()) > 1:
        return  # a rule in words
    if setting.key.startswith("workload[].moe.model."):
        return
    given: tuple[str, ...] = ()
    if ".atomic." in setting.key:  # stands there when a part of it does
        kind = setting.key.split(".")[1]
        given = (f"workload.0.{kind}.operation=atomic", f"workload.0.{kind}.atomic.value=1")
    here = read(setting, *given).resolved
    for part in setting.key.replace("[]", ".0").split("."):
        here = here[int(part)] if part.isdecimal() else here[part]
    text = ("on" if here else "off") if isinstance(here, bool) else str(here)
    assert text == setting.default


@pytest.mark.parametrize(
    "setting",
    [s for s in SETTINGS if " .. " in s.allowed and s.form != "text" and ".moe.model." not in s.key],
    ids=lambda s: s.key,
)
def test_limits_that_are_told_are_those_that_hold(setting: Setting) -> None:
    low, high = setting.allowed.split(" .. ")
    key = override(setting).partition("=")[0]
    small = ("workload.0.moe.ranks=2",) if setting.key.endswith("tokens_per_gpu") else ()  # 2^20 tokens take a while
    for value in (low, high):
        try:
            read(setting, *setting.needs, *small, f"{key}={value}")
        except InputError as error:  # other rules may speak (radix, ranks), the limit must not
            assert not any(
                "is too small" in p.message or "is too large" in p.message
                for p in error.problems
                if p.key.startswith(setting.key.replace("[]", "[0]"))
            )
    unit = "B" if low.endswith("B") else ""
    number = float if "." in high else int
    for value in (number(low.removesuffix("B")) - 1, number(high.removesuffix("B")) + 1):
        with pytest.raises(InputError, match=r"is too small|is too large|is out of range|is negative"):
            read(setting, *setting.needs, f"{key}={value}{unit}")


def test_keys_are_found_as_people_write_them() -> None:
    for text in ("fabric.frame_max", "frame_max", " fabric.frame_max ", "FABRIC.frame_max".lower()):
        assert [setting.key for setting in find(text)[1]] == ["fabric.frame_max"]
    for text in ("workload[].moe.seed", "workload[0].moe.seed", "workload.3.moe.seed", "moe.seed"):
        assert [setting.key for setting in find(text)[1]] == ["workload[].moe.seed"]
    section, settings = find("fabric.cables")
    assert section is not None and [setting.key for setting in settings] == [
        "fabric.cables.length",
        "fabric.cables.medium",
        "fabric.cables.delay",
    ]
    assert len(find("ranks")[1]) == 8


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("frame_mx", "frame_max"),
        ("fabric.gpu.count", "fabric.gpus.count"),
        ("workload.moe.tokens", "workload[].moe.tokens_per_gpu"),
        ("zebra", ""),
        ("", ""),
        ("..", ""),
    ],
)
def test_unknown_keys_have_near_misses(text: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        find(text)
    assert near in caught.value.problems[0].near and bool(near) == bool(caught.value.problems[0].near)


def test_the_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "scalefab explain --markdown > docs/scenario.md"
