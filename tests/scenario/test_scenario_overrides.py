"""--set: what it changes, what it takes the place of, what it says; and where each value came from."""

from pathlib import Path

import pytest

from scalefab.errors import InfeasibleError, InputError
from scalefab.scenario import Origin, Scenario, parse_scenario

TEXT = """\
scalefab: 1
name: base
fabric:
  gpus:
    preset: ethlink-gpu-1x800g
    count: 8
  switches: {preset: ethx-switch-51.2t, planes: 1}
  cables: {length: 5m, medium: twinax}
workload:
  - all_to_all: {size: 8MiB}
  - moe: {model: models/deepseek-v3.json, tokens_per_gpu: 4}
"""
FILE = str(Path(__file__).parents[2] / "examples" / "base.yaml")


def read(*overrides: str) -> Scenario:
    return parse_scenario(TEXT, FILE, overrides)


def faults(*overrides: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(*overrides)
    return [str(problem) for problem in caught.value.problems]


def test_overrides_change_single_values() -> None:
    scenario = read("fabric.gpus.count=16", "workload.0.all_to_all.size=1MiB", "workload[1].moe.tokens_per_gpu=8", "run.pack=off")
    assert scenario.fabric_spec.endpoints.count == 16
    assert scenario.resolved["workload"][0]["all_to_all"]["size"] == "1MiB"
    assert scenario.resolved["workload"][1]["moe"]["tokens_per_gpu"] == 8
    assert scenario.options.pack is False
    assert scenario.resolved["workload"][1]["moe"]["ranks"] == 16  # follows the count


def test_the_last_override_of_a_setting_wins() -> None:
    assert read("run.seed=2", "run.seed=3").options.seed == 3


def test_overrides_hold_whole_sections() -> None:
    scenario = read("fabric.cables={length: 7m}", "workload=[{incast: {bytes: 1KiB}}]")
    assert scenario.fabric_spec.cables.length_mm == 7000
    assert scenario.origins["fabric.cables.length"] == Origin("set", "--set fabric.cables={length: 7m}")
    assert scenario.origins["fabric.cables.medium"].kind == "default"
    assert len(scenario.workload.phases) == 1


def test_an_override_takes_the_place_of_its_alternative() -> None:
    scenario = read("fabric.cables.delay=50ns", "workload.0.all_to_all.bytes_per_pair=1KiB")
    assert scenario.fabric_spec.cables.link_delay_ps == 50_000
    assert "length" not in scenario.resolved["fabric"]["cables"]
    assert scenario.resolved["workload"][0]["all_to_all"]["bytes_per_pair"] == "1KiB"
    assert faults("fabric.cables.delay=50ns", "fabric.cables.length=3m") == [
        "--set fabric.cables.length=3m: fabric.cables.length: is read by nothing, 'delay' states the whole link; "
        "expected one of the two"
    ]


def test_the_seed_of_the_run_is_the_seed_of_the_routing_unless_told() -> None:
    assert read("run.seed=5").resolved["workload"][1]["moe"]["seed"] == 5
    assert read("run.seed=5", "workload.1.moe.seed=6").resolved["workload"][1]["moe"]["seed"] == 6


def test_origins() -> None:
    origins = read("fabric.gpus.count=4").origins
    assert origins["name"] == Origin("file", f"{FILE}:2")
    assert origins["fabric.gpus.count"] == Origin("set", "--set fabric.gpus.count=4")
    assert origins["fabric.gpus.stacks"].kind == "preset"
    assert origins["fabric.gpus.stacks"].where.startswith("ethlink-gpu-1x800g (open profile section 5")
    assert origins["fabric.switches.ports"].where.startswith("ethx-switch-51.2t at 800Gb/s a port (")
    assert origins["fabric.switches.port_rate"] == Origin("default", "follows fabric.gpus.port_rate")
    assert origins["fabric.cables.length"] == Origin("file", f"{FILE}:8")
    assert origins["fabric.phy_tx"] == Origin("default", "open profile, section 7")
    assert origins["workload[0].all_to_all.ranks"] == Origin("default", "follows fabric.gpus.count")
    assert origins["workload[1].moe.model.hidden"] == Origin("file", f"{FILE}:11, from models/deepseek-v3.json")
    assert origins["run.seed"] == Origin("default", "")
    assert origins["workload[1].name"] == Origin("default", "the entry's kind")


def test_unknown_settings_say_which_override_and_what_was_meant() -> None:
    assert faults("fabric.gpus.cout=3") == ["--set fabric.gpus.cout=3: fabric.gpus.cout: unknown setting; did you mean 'count'?"]
    assert faults("fabrik.gpus.count=3") == ["--set fabrik.gpus.count=3: fabrik: unknown setting; did you mean 'fabric'?"]
    assert faults("run.spay=hash") == ["--set run.spay=hash: run.spay: unknown setting; did you mean 'spray'?"]


def test_all_faults_of_overrides_and_file_at_once() -> None:
    assert faults("workload.7.moe.ranks=3", "run", "name.x=1", "run.seed={", "run.window=0") == [
        "--set workload.7.moe.ranks=3: workload[7]: workload has no entry 7; expected a position, 0 .. 1",
        "--set run: is not an override; expected key=value such as run.seed=3",
        "--set name.x=1: name.x: name is a single value and has no settings of its own",
        "--set run.seed={: is not YAML: expected the node content, but found '<stream end>' (while parsing a flow node)",
        "--set run.window=0: run.window: 0 is too small; expected 1 or more",
    ]


def test_what_an_override_makes_infeasible_is_told_at_the_override() -> None:
    with pytest.raises(InfeasibleError) as caught:
        read("fabric.gpus.count=65")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.key) == ("--set fabric.gpus.count=65", 0, "fabric.gpus.count")


def test_the_version_cannot_be_overridden_away() -> None:
    assert faults("scalefab=2") == ["--set scalefab=2: scalefab: version 2 of the layout is not known; expected scalefab: 1"]


@pytest.mark.parametrize("text", ["", "=", "a", "a..b=1", "[0]=1", "a[x]=1", ".a=1", "a[1]b=2"])
def test_what_is_no_override(text: str) -> None:
    assert faults(text) == [f"--set {text}: is not an override; expected key=value such as run.seed=3"]
