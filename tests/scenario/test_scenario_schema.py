"""The JSON schema takes what the reader takes, and refuses what an editor can see to be wrong."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from scalefab.scenario.document import read_document
from scalefab.scenario.fabricfile import builtin_fabrics
from scalefab.scenario.schema import DIALECT, scenario_schema
from scalefab.scenario.settings import all_settings

ROOT = Path(__file__).parents[2]
SCHEMA = scenario_schema()
CHECK = Draft202012Validator(SCHEMA)
GOOD: dict[str, Any] = {
    "scalefab": 1,
    "fabric": {
        "gpus": {"preset": "ethlink-gpu-1x800g", "count": 8},
        "switches": {"preset": "ethx-switch-51.2t", "planes": 1},
    },
    "workload": [{"all_to_all": {"size": "1MiB"}}],
}


def changed(path: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(GOOD)
    *parts, last = path.split(".")
    here: Any = data
    for part in parts:
        here = here[int(part)] if part.isdecimal() else here.setdefault(part, {})
    here[int(last) if last.isdecimal() else last] = value
    return data


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == DIALECT


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_valid(path: Path) -> None:
    assert list(CHECK.iter_errors(read_document(path.read_text(), path.name).data)) == []


def test_built_in_fabrics_are_valid_but_for_their_workload() -> None:
    for name, text in builtin_fabrics().items():
        assert [error.message for error in CHECK.iter_errors(read_document(text, name).data)] == [
            "'workload' is a required property"
        ]


def test_every_setting_has_title_and_description() -> None:
    seen = set()
    for model in (SCHEMA, *SCHEMA["$defs"].values()):
        for schema in model["properties"].values():
            assert schema.get("description")
            seen.add(schema.get("title"))
            assert schema.get("default", "") is not None and {"type": "null"} not in schema.get("anyOf", [])
    kinds = {setting.key.split(".")[-1] for setting in all_settings()}
    assert kinds <= {str(title).split(".")[-1] for title in seen}


def test_defaults_are_text_with_units() -> None:
    properties = SCHEMA["$defs"]["Cbfc"]["properties"]
    assert [properties[key]["default"] for key in ("credit", "overhead", "cf_spacing")] == ["64B", "0B", "6400B"]
    assert SCHEMA["$defs"]["RunSection"]["properties"]["ack_delay"]["default"] == "2us"
    for model in (SCHEMA, *SCHEMA["$defs"].values()):
        for schema in model["properties"].values():
            for value in [*schema.get("examples", []), *([schema["default"]] if "default" in schema else [])]:
                assert Draft202012Validator({**schema, "$defs": SCHEMA["$defs"]}).is_valid(value), (schema["title"], value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("fabric.frame_max", "2KiB"),
        ("fabric.gpus.port_rate", "400 Gbps"),
        ("fabric.cables", {"delay": "50ns"}),
        ("run.pack", "off"),
        ("run.pack", False),
        ("run.until", "1.5us"),
        ("fabric.cbfc.overhead", "-16B"),
        ("workload.0", {"after": "x", "name": "y", "moe": {"model": "a.json", "tokens_per_gpu": 1}}),
        ("workload.0", {"after": ["x"], "all_to_all": {"bytes_per_pair": "1B"}}),
        ("name", "my-rack.1"),
        ("fabric.llr", {"enabled": "off"}),
        ("fabric.llr.eligible_vcs", [0, 3]),
        ("fabric.flow_control", "pfc"),
        ("faults", [{"link": "gpu0.port0", "down": "on", "until": "3us"}, {"node": ["gpu1", "gpu2"], "lanes": "2 of 4"}]),
        ("faults", [{"all": "on", "flap": {"period": "9us", "down": "1us", "count": 2}}]),
    ],
)
def test_what_is_right(path: str, value: Any) -> None:
    assert list(CHECK.iter_errors(changed(path, value))) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("fabric.frame_max", 2048),
        ("fabric.frame_max", "2048"),
        ("fabric.frame_max", "2Kb"),
        ("fabric.gpus.port_rate", "800GB/s"),
        ("fabric.gpus.memory", {"bandwidth": "8Tb/s"}),
        ("fabric.gpus.count", 1025),
        ("fabric.gpus.count", "8"),
        ("fabric.gpus.cout", 8),
        ("fabric.gpus", {"count": 8}),
        ("fabric.switches", {"planes": 1}),
        ("fabric.cables", {"delay": "50ns", "length": "3m"}),
        ("fabric.cables.length", "-3m"),
        ("fabric.fec", "rs-272"),
        ("fabric.cables.medium", "copper"),
        ("workload", []),
        ("workload.0", {}),
        ("workload.0", {"incast": {"bytes": "1B"}, "all_to_all": {"size": "1B"}}),
        ("workload.0.all_to_all", {"size": "1B", "bytes_per_pair": "1B"}),
        ("workload.0.all_to_all", {}),
        ("workload.0.name", "a b"),
        ("run", None),
        ("run.seed", None),
        ("scalefab", 2),
        ("name", "../up"),
        ("fabric.llr.frames_max", "9"),
        ("fabric.llr.init_action", "drop"),
        ("fabric.cbfc.credits", "all"),
        ("faults", []),
        ("faults", [{"link": "gpu0.port0"}]),
        ("faults", [{"link": "gpu0.port0", "loss": 0.1, "ber": 0.1}]),
        ("faults", [{"link": "gpu0.port0", "all": True, "loss": 0.1}]),
        ("faults", [{"loss": 0.1}]),
        ("faults", [{"link": "gpu0.port0", "lanes": "half"}]),
    ],
)
def test_what_is_wrong(path: str, value: Any) -> None:
    assert not CHECK.is_valid(changed(path, value))


def test_without_presets_everything_must_be_there() -> None:
    gpus = {
        "count": 8,
        "stacks": 1,
        "ports_per_stack": 1,
        "port_rate": "800Gb/s",
        "memory": {"bandwidth": "8TB/s", "capacity": "192GB"},
    }
    data = changed("fabric", {"gpus": gpus, "switches": {"planes": 1, "ports": 64}})
    assert CHECK.is_valid(data)
    for key in ("stacks", "ports_per_stack", "port_rate", "memory"):
        assert not CHECK.is_valid(
            changed("fabric", {"gpus": {k: v for k, v in gpus.items() if k != key}, "switches": {"planes": 1, "ports": 64}})
        )
