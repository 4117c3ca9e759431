"""YAML as we read it: no guesses about types, marks, limits; and whatever the text, nothing but InputError."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.errors import InputError
from scalefab.scenario import parse_scenario, read_scenario
from scalefab.scenario.document import read_document, read_value
from scalefab.scenario.paths import dotted, mark_of, near_miss, parse_dotted

GOOD = """\
scalefab: 1
fabric:
  gpus: {preset: ethlink-gpu-1x800g, count: 4}
  switches: {preset: ethx-switch-51.2t, planes: 1}
workload:
  - incast: {bytes: 4KiB}
run: {pack: PACK}
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("1:30", "1:30"),
        ("1:30.5", "1:30.5"),
        ("010", "010"),
        ("0o17", "0o17"),
        ("0b11", "0b11"),
        ("0x1F", 31),
        ("1_000", 1000),
        ("-7", -7),
        ("+3", 3),
        ("1.5", 1.5),
        ("1.5e+3", 1500.0),
        ("1e3", "1e3"),
        (".5", ".5"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("2024-01-01", "2024-01-01"),
        ("~", None),
        ("null", None),
        ("", None),
        ("'on'", "on"),
        ('"5"', "5"),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("!!float 5", 5.0),
        ("=", "="),
        ("64KiB", "64KiB"),
        ("1" * 40, "1" * 40),
        ("[1, a, {b: c}]", [1, "a", {"b": "c"}]),
    ],
)
def test_scalars(text: str, value: object) -> None:
    found = read_value(text, "x")
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("word", "pack"), [("on", True), ("off", False), ("yes", True), ("No", False), ("true", True), ("false", False)]
)
def test_pack_is_on_or_off_in_any_spelling_of_yaml(word: str, pack: bool) -> None:
    assert parse_scenario(GOOD.replace("PACK", word), "x.yaml").options.pack is pack


def test_windows_and_old_mac_line_ends_and_byte_order_marks(tmp_path: Path) -> None:
    good = GOOD.replace("PACK", "on").encode()
    for raw in (good.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + good, good.replace(b"\n", b"\r")):
        file = tmp_path / "x.yaml"
        file.write_bytes(raw)
        assert read_scenario(file).resolved == parse_scenario(good.decode(), file).resolved
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(good.replace(b"incast", b"incest").replace(b"\n", b"\r\n"))
    with pytest.raises(InputError, match=r"bad\.yaml:6: workload\[0\]\.incest: unknown setting; did you mean 'incast'\?"):
        read_scenario(bad)


def test_anchors_and_aliases_are_fine() -> None:
    text = GOOD.replace("PACK", "on").replace("bytes: 4KiB", "bytes: &size 4KiB") + "name: &n abc\n"
    text = text.replace("workload:\n", "workload:\n  - all_to_all: &all {size: 1MiB}\n  - all_to_all: *all\n")
    scenario = parse_scenario(text, "x.yaml")
    assert scenario.workload.phases[0].name == "all_to_all" and scenario.workload.phases[1].name == "all_to_all-2"


def test_marks_are_those_of_keys_and_items() -> None:
    document = read_document("a:\n  b: 1\n  c:\n    - x\n    - y: 2\n", "f")
    lines = {dotted(path): mark.line for path, mark in document.marks.items()}
    assert lines == {"": 1, "a": 1, "a.b": 2, "a.c": 3, "a.c[0]": 4, "a.c[1]": 5, "a.c[1].y": 5}
    nearest = mark_of(("a", "c", 1, "z", 3), document.marks)
    assert nearest is not None and nearest.line == 5


@pytest.mark.parametrize("text", ["[" * 10_000, "{a: " * 5_000, "- " * 20_000, "&a [*a]", "a: &a {b: *a}", "? " * 3_000])
def test_deep_and_endless_texts_end_in_an_error(text: str) -> None:
    with pytest.raises(InputError, match=r"nested deeper than 32 levels|is not YAML|holds a list"):
        read_document(text, "x")


def test_long_texts_end_in_an_error() -> None:
    with pytest.raises(InputError, match="holds more than 20000 values"):
        read_document("a: [" + "1," * 30_000 + "]", "x")
    with pytest.raises(InputError, match="larger than 1 MB"):
        parse_scenario("#" * (1 << 20) + "\n" * 2, "x.yaml")


@pytest.mark.parametrize(
    "text", ["a: \x00", "a: \ud800", 'a: "\\UFFFFFFFF"', "%YAML 1." + "9" * 5000 + "\n---\na", "\x85", "a: \x1b[0m"]
)
def test_odd_characters_end_in_an_error(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_document(text, "x")
    assert all(problem.line >= 1 for problem in caught.value.problems)
    assert str(caught.value).isprintable()


def test_paths_as_people_write_them() -> None:
    assert parse_dotted("workload.0.moe.ranks") == parse_dotted("workload[0].moe.ranks") == ("workload", 0, "moe", "ranks")
    assert dotted(("workload", 0, "moe")) == "workload[0].moe"
    assert parse_dotted("a..b") is None


def test_near_misses() -> None:
    words = ("switches", "gpus", "cables", "frame_max", "fec", "fec_depth")
    assert near_miss("switchs", words) == "switches"
    assert near_miss("frame-max", words) == "frame_max"
    assert near_miss("GPUs", words) == "gpus"
    assert near_miss("frame", words) == "frame_max"
    assert near_miss("zebra", words) == ""
    assert near_miss("", words) == near_miss(3, words) == ""


_yaml_like = st.text(alphabet=st.sampled_from(list("ab:-?[]{}&*!|>'\"%@`#,\n\t \r\\0123.<=~")), max_size=80)
_keys = st.sampled_from(
    [
        "scalefab",
        "fabric",
        "gpus",
        "switches",
        "preset",
        "count",
        "workload",
        "moe",
        "model",
        "run",
        "cables",
        "delay",
        "name",
        "after",
    ]
)
_leaf = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5000),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["3m", "64KiB", "800Gb/s", "0ns"]),
)
_tree = st.recursive(_leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4), max_leaves=12)


def _only_input_errors(text: str, *overrides: str) -> None:
    try:
        parse_scenario(text, "x.yaml", overrides)
    except InputError as error:
        assert error.problems
        for line in str(error).split("\n"):
            assert line.startswith(("x.yaml:", "--set ", "x.yaml: "))


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), _yaml_like))
def test_any_text_is_read_or_refused(text: str) -> None:
    _only_input_errors(text)
    _only_input_errors("scalefab: 1\n" + text)
    _only_input_errors(GOOD.replace("PACK", "on"), text)
    _only_input_errors(GOOD.replace("PACK", "on"), "run.seed=" + text)


@settings(max_examples=300, deadline=None)
@given(
    _tree,
    st.sampled_from(
        ["fabric", "fabric.gpus", "fabric.switches", "fabric.cables", "workload", "workload.0", "workload.0.incast", "run"]
    ),
)
def test_any_data_in_any_place_is_read_or_refused(tree: object, place: str) -> None:
    import json

    _only_input_errors(GOOD.replace("PACK", "on"), f"{place}={json.dumps(tree)}")
    _only_input_errors(json.dumps({"scalefab": 1, place.partition(".")[0]: tree}))
