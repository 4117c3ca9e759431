"""The settings against the rest of the product: same words as the enums, a description each, exact text for quantities."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from scalefab import units
from scalefab.errors import InputError
from scalefab.fabric.spec import Fec
from scalefab.protocol.multipath import Spray
from scalefab.protocol.operations import Kind
from scalefab.scenario import parse_scenario, read_scenario
from scalefab.scenario.entries import KINDS, AlgorithmWord, OperationWord, PrecisionWord
from scalefab.scenario.models import ScenarioFile
from scalefab.scenario.problems import allowed_words, field_at, model_at
from scalefab.workload.spec import Algorithm, CollectiveKind, Precision, Routing

GOOD = """\
scalefab: 1
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 4}
  switches: {preset: ethx-switch-51.2t, planes: 1}
workload:
  - ENTRY
"""


def entry(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_scenario(GOOD.replace("ENTRY", text), "x.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_words_are_those_of_the_enums() -> None:
    assert set(allowed_words(ScenarioFile, ("fabric", "fec"))) == {fec.name.lower() for fec in Fec}
    assert set(allowed_words(ScenarioFile, ("run", "spray"))) == {spray.name.lower() for spray in Spray}
    assert set(get_args(AlgorithmWord)) == {algorithm.value for algorithm in Algorithm}
    assert set(get_args(PrecisionWord)) == {precision.value for precision in Precision}
    assert set(allowed_words(ScenarioFile, ("workload", 0, "moe", "routing"))) == {routing.value for routing in Routing}
    unused = {Kind.FENCE, Kind.COMPUTE, Kind.JOIN}
    assert set(get_args(OperationWord)) == {kind.name.lower() for kind in Kind if kind not in unused}
    assert {kind.value for kind in CollectiveKind} < set(KINDS)


def _models(model: type[BaseModel], path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], type[BaseModel]]]:
    yield path, model
    for name in model.model_fields:
        for below in ((*path, name), (*path, name, 0)):
            inner = model_at(ScenarioFile, below)
            if inner is not None:
                yield from _models(inner, below)


def test_every_setting_and_section_is_described() -> None:
    found = dict(_models(ScenarioFile))
    assert len(found) >= 17
    for path, model in found.items():
        assert model.__doc__, path
        for name, field in model.model_fields.items():
            assert field.description, (path, name)
    schema = ScenarioFile.model_json_schema()
    assert schema["$defs"]["Gpus"]["properties"]["port_rate"]["type"] == "string"


def test_paths_into_the_settings() -> None:
    assert field_at(ScenarioFile, ("workload", 3, "incast", "dst")) is not None
    assert field_at(ScenarioFile, ("workload", 3, "incast", "dts")) is None
    assert field_at(ScenarioFile, ("workload", "x")) is None
    assert model_at(ScenarioFile, ("run", "seed")) is None


def test_the_settings_need_no_compiler() -> None:
    code = "import sys, scalefab.scenario, scalefab.scenario.models; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("{}", ["x.yaml:6: workload[0]: asks for nothing; expected exactly one of " + ", ".join(KINDS)]),
        ("incast:", ["x.yaml:6: workload[0].incast: is empty; expected a value, or no such line"]),
        (
            "incast: {bytes: 64B, operation: atomic, transaction: 16B}",
            ["x.yaml:6: workload[0].incast.transaction: an atomic of 16B; expected one of 4B, 8B"],
        ),
        (
            "incast: {bytes: 64B, operation: reduce, transaction: 6B}",
            ["x.yaml:6: workload[0].incast.transaction: a reduce of 6B; expected a multiple of 4B, at most 512B"],
        ),
        (
            "incast: {bytes: 64B, ranks: 4, repeat: 100_000, address: -1}",
            ["x.yaml:6: workload[0].incast.address: -1 is too small; expected 0 or more"],
        ),
        (
            "all_to_all: {size: 1MiB, bytes_per_pair: 1KiB}",
            ["x.yaml:6: workload[0].all_to_all: gives both 'size' and 'bytes_per_pair'; expected one of the two"],
        ),
        (
            "all_to_all: {}",
            ["x.yaml:6: workload[0].all_to_all: gives neither 'size' nor 'bytes_per_pair'; expected one of the two"],
        ),
        (
            "moe: {model: [1], tokens_per_gpu: 1, zipf_exponent: 1e-1}",
            ["x.yaml:6: workload[0].moe.model: is no path; expected the path of a Hugging Face config.json"],
        ),
        (
            "moe: {model: {name: m, hiden: 4}, tokens_per_gpu: 1}",
            [
                "x.yaml:6: workload[0].moe.model.hiden: unknown setting; did you mean 'hidden'?",
                "x.yaml:6: workload[0].moe.model.model_type: is missing (model_type of the config.json)",
                "x.yaml:6: workload[0].moe.model.experts: is missing (routed experts of a layer)",
                "x.yaml:6: workload[0].moe.model.top_k: is missing (experts that a token goes to)",
                "x.yaml:6: workload[0].moe.model.moe_layers: is missing (MoE layers of the model)",
                "x.yaml:6: workload[0].moe.model.layers: is missing (layers of the model)",
                "x.yaml:6: workload[0].moe.model.expert_intermediate: is missing (inner width of an expert)",
                "x.yaml:6: workload[0].moe.model.shared_experts: is missing (experts that every token goes to, on its own GPU)",
            ],
        ),
        (
            "{name: a b, incast: {bytes: 1B}}",
            ["x.yaml:6: workload[0].name: 'a b' is not a name; expected 1 .. 64 letters, digits, '.', '_', '-', no sign first"],
        ),
        ("{after: [3], incast: {bytes: 1B}}", ['x.yaml:6: workload[0].after[0]: 3 is not text; expected text such as "3"']),
        (
            '{after: "a\\nb", incast: {bytes: 1B}}',
            ["x.yaml:6: workload[0].after: 'a\\nb' is no entry; expected the name of another entry"],
        ),
    ],
)
def test_messages_of_entries(text: str, messages: list[str]) -> None:
    assert entry(text) == messages


def test_too_many_operations_are_refused_before_they_fill_the_memory() -> None:
    text = GOOD.replace("ENTRY", "incast: {bytes: 64B, repeat: 100000}").replace("count: 4", "count: 1024")
    with pytest.raises(InputError, match=r"repeat: 100000 repeats of 1024 GPUs are too many operations; expected at most 9765$"):
        parse_scenario(text, "x.yaml")


def test_model_names_that_no_file_can_have() -> None:
    for name in ("x" * 4000, "a/" * 2000, '"\\uD800"', '"a\\0b"', '""'):
        (line,) = entry("moe: {model: NAME, tokens_per_gpu: 1}".replace("NAME", name))
        assert line.startswith("x.yaml:6: workload[0].moe.model: ") and line.isprintable()


def test_faults_in_a_model_file_are_told_there(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "m.json").write_text('{\n"model_type": "mixtral",\n"hiden_size": 4096}')
    file = folder / "s.yaml"
    file.write_text(GOOD.replace("ENTRY", "moe: {model: m.json, tokens_per_gpu: 1}"))
    with pytest.raises(InputError) as caught:
        read_scenario(file)
    assert {problem.file for problem in caught.value.problems} == {str(folder / "m.json")}
    file.write_text(GOOD.replace("ENTRY", "moe: {model: n.json, tokens_per_gpu: 1}"))
    with pytest.raises(InputError, match=r"s\.yaml:6: workload\[0\]\.moe\.model: there is no file 'n\.json'"):
        read_scenario(file)
    file.write_text(GOOD.replace("ENTRY", "moe: {model: mm.json, tokens_per_gpu: 1}"))
    with pytest.raises(InputError, match=r"did you mean 'm\.json'\?$"):
        read_scenario(file)


_PAIRS: list[tuple[Callable[[int], str], Callable[[object], int]]] = [
    (units.exact_time, units.parse_time_ps),
    (units.exact_length, units.parse_length_mm),
    (units.exact_size, units.parse_size_bytes),
    (units.exact_rate, units.parse_rate_bps),
    (units.exact_bandwidth, units.parse_bandwidth_Bps),
]


@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 30))
def test_exact_text_reads_back(value: int, zeros: int, shift: int) -> None:
    number = (value * 10**zeros) << shift
    for show, parse in _PAIRS:
        if number < 1 << 62:
            assert parse(show(number)) == number


def test_exact_text_is_what_people_write() -> None:
    assert units.exact_time(250_000) == "250ns"
    assert units.exact_time(13_800) == "13800ps"
    assert units.exact_size(64 << 10) == "64KiB"
    assert units.exact_size(192 * 10**9) == "192GB"
    assert units.exact_size(0) == "0B"
    assert units.exact_rate(800 * 10**9) == "800Gb/s"
    assert units.exact_bandwidth(8 * 10**12) == "8TB/s"
    assert units.exact_length(3000) == "3m"
