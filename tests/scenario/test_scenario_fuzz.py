"""Examples with random mutations go through the command line's `check`: read or refused, never a traceback, always a place."""

from __future__ import annotations

import contextlib
import copy
import io
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scalefab.cli.app import run_app
from scalefab.errors import ExitCode
from scalefab.scenario.settings import Setting, all_settings

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(EXAMPLES.glob("*.yaml"))}
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3, 7, 63, 64, 65, 1023, 1024, 1025, 2**31, 2**63, 10**30, 0.5, -0.0, 1e300, float("nan"),
    float("inf"), "", " ", "on", "off", "x", "é", "3m", "-3m", "0m", "0B", "1B", "7B", "64KiB", "2Gb", "9e99B", "800Gb/s",
    "800GB/s", "0Gb/s", "200Gb/s", "50ns", "0ps", "1h", "1e400s", "ring", "direct", "store", "load", "atomic", "zipf",
    "rs544", "models/deepseek-v3.json", "models", "../x.json", "a" * 5000, "\t", "line\nbreak", "[0m", [], {}, [1], [[]],
    {"a": 1}, {"preset": "flat-1024"}, [{}], {"size": "1MiB"}, ["a", "a"], "ethx-gpu-16x800g", "flat-1024", "tomahawk-5",
]  # fmt: skip
KEYS = [
    "preset", "count", "stacks", "ports", "port_rate", "latency", "buffer", "memory", "delay", "length", "medium", "fec",
    "fec_depth", "frame_max", "phy_tx", "cbfc", "credit", "overhead", "name", "after", "start", "moe", "model", "ranks",
    "size", "bytes_per_pair", "chunks", "algorithm", "operation", "transaction", "posted", "root", "dst", "src", "shift",
    "repeat", "address", "until", "window", "seed", "spray", "Count", "count ", "bytes", "all_to_all", "incast", "0", "",
    "a.b", "<<", "x[0]",
]  # fmt: skip
LINE = re.compile(r"(?:--set [^:]*|[^:]+\.(?:yaml|json)(?::[1-9][0-9]*)?): \S")


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every key and position in the data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [found for key, value in items for found in ((*path, key), *places(value, (*path, key)))]


def mutated(data: Any, choose: random.Random) -> Any:
    """One change: a key deleted, renamed, added or copied elsewhere, or a value changed."""
    data = copy.deepcopy(data)
    path = choose.choice(places(data) or [()])
    if not path:
        return data
    here = data
    for part in path[:-1]:
        here = here[part]
    last, what = path[-1], choose.randrange(6)
    if what == 0:
        del here[last]
    elif what == 1 and isinstance(here, dict):
        here[choose.choice(KEYS)] = here.pop(last)
    elif what == 2 and isinstance(here, dict):
        here[choose.choice(KEYS)] = choose.choice(VALUES)
    elif what == 3:
        source = choose.choice(places(data))
        value = data
        for part in source:
            value = value[part]
        here[last] = copy.deepcopy(value)
    elif what == 4 and isinstance(here[last], str) and here[last]:
        at = choose.randrange(len(here[last]))
        here[last] = here[last][:at] + choose.choice("09-.eKiBGb/s ") + here[last][at + choose.randrange(2) :]
    else:
        here[last] = choose.choice(VALUES)
    return data


def as_text(data: Any, choose: random.Random) -> str:
    """YAML of some style, now and then with a line duplicated, cut or indented."""
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=choose.choice([None, False]), allow_unicode=True)
    lines = text.split("\n")
    at = choose.randrange(len(lines))
    match choose.randrange(12):
        case 0:
            lines.insert(at, lines[at])
        case 1:
            del lines[at]
        case 2:
            lines[at] = choose.choice(["\t", "  ", "- "]) + lines[at]
        case 3:
            return "\r\n".join(lines)
    return "\n".join(lines)


def check(text: str, file: Path, *options: str) -> tuple[int, str]:
    file.write_text(text, encoding="utf-8", newline="")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_app(["check", str(file), *options])
    return code, err.getvalue()


def judged(text: str, file: Path) -> None:
    code, err = check(text, file)
    assert code in (ExitCode.OK, ExitCode.INPUT, ExitCode.INFEASIBLE), err
    lines = [line for line in err.split("\n") if line and not line.startswith("scalefab: warning: ")]
    assert bool(lines) == (code != ExitCode.OK)
    for line in lines:
        assert LINE.match(line), line
        assert line.isprintable() and len(line) < 1200, line
        if line.startswith(str(file)):
            number = re.match(r":([0-9]+): ", line.removeprefix(str(file)))
            assert number and 1 <= int(number.group(1)) <= max(1, len(text.splitlines())), line
            _key_is_near(line, int(number.group(1)), text)


def _key_is_near(line: str, number: int, text: str) -> None:
    """The line that is told holds the last key that is told, when that key is in the file at all."""
    key = re.match(r"[^:]+:[0-9]+: ([A-Za-z0-9_.\[\]]+): ", line)
    if key is None or "is missing" in line or "given twice" in line:
        return
    name = re.sub(r"(\[[0-9]+\])+$", "", key.group(1)).rpartition(".")[2]
    lines = text.splitlines()
    if any(re.search(rf"(^|[\s{{,'\"-]){re.escape(name)}['\"]?\s*:", written) for written in lines):
        near = "\n".join(lines[max(0, number - 1) : number + 1])
        others = (
            "ranks",
            "buffer",
            "port_rate",
            "ports",
            "planes",
            "count",
            "length",
            "medium",
        )  # may be filled in: told where their section is
        assert name in near or name in others or key.group(1).endswith("]"), (line, near)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples' models."""
    path = tmp_path_factory.mktemp("fuzz")
    (path / "models").symlink_to(EXAMPLES / "models")
    return path


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(sorted(DATA)), st.integers(1, 4), st.randoms(use_true_random=False))
def test_mutated_examples_are_read_or_refused(folder: Path, name: str, changes: int, choose: random.Random) -> None:
    data = DATA[name]
    for _ in range(changes):
        data = mutated(data, choose)
    judged(as_text(data, choose), folder / "x.yaml")


def plausible(setting: Setting, choose: random.Random) -> str:
    """A value of the right form, most of them small enough to build: what only the later checks can refuse."""
    if setting.form == "word" or setting.allowed.startswith("one of "):
        return choose.choice(setting.allowed.removeprefix("one of ").split(", "))
    if setting.form == "on or off":
        return choose.choice(["on", "off"])
    numbers = {
        "whole number": ["0", "1", "2", "3", "4", "5", "7", "8", "16", "63", "64", "65", "100", "256"],
        "number": ["0.0", "0.5", "1", "10", "1e1"],
        "time": ["0ns", "1ps", "50ns", "3us", "1s", "1000000s"],
        "length": ["0m", "1mm", "3m", "500m", "4000km"],
        "size": ["1B", "3B", "64B", "127B", "1000B", "4KiB", "1MiB", "9216B", "1TiB", "1000000TiB"],
        "size, may be negative": ["-16B", "0B", "127B"],
        "line rate": ["100Gb/s", "200Gb/s", "400Gb/s", "800Gb/s"],
        "bandwidth": ["1MB/s", "8TB/s", "1000000TB/s"],
        "text": [setting.example, "first", "ethx-gpu-16x800g", "flat-1024", "twinax"],
        "list of whole numbers": ["[]", "[0]", "[0, 1]", "[4096, 4096, 4096, 512]", "3"],
        "text or a list": ["[]", "first", "[first]", "[all_to_all]", "[moe, moe]"],
        "path of a file, or a mapping": ["models/mixtral-8x7b.json", "models/deepseek-v3.json", "models/x.json"],
    }
    return choose.choice([*numbers[setting.form], setting.example])


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(sorted(DATA)), st.integers(1, 5), st.randoms(use_true_random=False))
def test_plausible_settings_are_read_or_refused(folder: Path, name: str, changes: int, choose: random.Random) -> None:
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    judged_set(text, changes, choose, folder / "x.yaml")


def judged_set(text: str, changes: int, choose: random.Random, file: Path) -> None:
    kind = next(iter(yaml.safe_load(text)["workload"][0]))
    mine = [
        setting
        for setting in all_settings()
        if not setting.key.startswith("workload[].") or setting.key.split(".")[1] in (kind, "name", "after", "start")
    ]
    chosen = [choose.choice(mine) for _ in range(changes)]
    options = [f"--set={setting.key.replace('[]', '.0')}={plausible(setting, choose)}" for setting in chosen]
    code, err = check(text, file, *options)
    assert code in (ExitCode.OK, ExitCode.INPUT, ExitCode.INFEASIBLE), (options, err)
    for line in err.split("\n"):
        assert not line or line.startswith("scalefab: warning: ") or LINE.match(line), (options, line)
        assert line == "" or line.isprintable()
