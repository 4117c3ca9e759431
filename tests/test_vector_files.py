"""Golden vectors: the same bytes everywhere, readable by a test bench, and kept in this repository."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from scalefab.artefacts.vector_files import CODES, MEMORY, RESPONSE, vector_files
from scalefab.cli.app import run_app
from scalefab.protocol.codec import decode
from scalefab.protocol.endpoint import Endpoint
from scalefab.protocol.memory import Memory
from scalefab.protocol.profile import Opcode
from scalefab.protocol.reasons import Reason
from scalefab.protocol.target import Target
from scalefab.protocol.windows import Rights, Window

KEPT = Path(__file__).parent / "vectors"
SETS = ("frames", "bad_frames", "link", "target")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return vector_files()


def vectors(files: dict[str, str], name: str) -> list[dict[str, Any]]:
    return json.loads(files[f"{name}.json"])["vectors"]


@pytest.mark.parametrize("name", SETS)
def test_the_kept_vectors_are_what_this_version_writes(files: dict[str, str], name: str) -> None:
    """If this fails, the wire has changed: say so in CHANGELOG, then keep the files that `scalefab vectors` writes."""
    assert (KEPT / f"{name}.json").read_text() == files[f"{name}.json"]


def readmemh(text: str) -> dict[int, int]:
    """What $readmemh makes of a file: value by place."""
    memory, at = {}, 0
    for line in text.splitlines():
        for word in line.split("//")[0].split():
            if word.startswith("@"):
                at = int(word[1:], 16)
            else:
                memory[at] = int(word, 16)
                at += 1
    return memory


@pytest.mark.parametrize("name", SETS)
def test_a_test_bench_reads_the_same_bytes(files: dict[str, str], name: str) -> None:
    memory, index = readmemh(files[f"{name}.hex"]), readmemh(files[f"{name}_index.hex"])
    assert max(memory.values(), default=0) < 256
    entries = [tuple(index[4 * i + j] for j in range(4)) for i in range(len(index) // 4)]
    pieces = [(bytes(memory[first + i] for i in range(size)).hex(), code, extra) for first, size, code, extra in entries]
    assert all(first % 16 == 0 for first, *_ in entries)
    if name != "target":
        assert [hex_ for hex_, _, _ in pieces] == [v["hex"] for v in vectors(files, name)]
        wanted = [CODES[v.get("reason", "POISONED" if v.get("poisoned") else "ACCEPT")] for v in vectors(files, name)]
        assert [code for _, code, _ in pieces] == wanted
        return
    expected = []
    for number, one in enumerate(vectors(files, name)):
        for i, step in enumerate(one["steps"]):
            place = number << 16 | i
            if "request" in step:
                expected.append((step["request"], CODES[step["verdict"]], place))
            expected += [(run["hex"], MEMORY, run["address"]) for run in step["memory"]]
            expected += [(data, RESPONSE, place) for data in step.get("responses", ())]
    assert pieces == expected


def test_sets_cover_the_profile(files: dict[str, str]) -> None:
    opcodes = {t["opcode"] for v in vectors(files, "frames") for t in v["fields"]["transactions"]}
    assert opcodes == set(Opcode)
    link = vectors(files, "link")
    assert {v["form"] for v in link} == {"preamble", "ordered_set", "link_frame", "control", "lldp", "raw_frame"}
    good = [v for v in link if "values" in v]
    assert {v["values"]["type"] for v in good if v["form"] == "ordered_set"} == {1, 2, 3, 4, 0x10}
    assert {v["values"]["type"] for v in good if v["form"] == "control"} == {1, 2, 3, 4, 5, 6, 16, 17, 18, 19, 20}
    reasons = {v["reason"] for name in ("bad_frames", "link") for v in vectors(files, name) if "reason" in v}
    assert reasons == set(Reason) - {Reason.BUFFER}
    steps = [step for one in vectors(files, "target") for step in one["steps"]]
    statuses, requests, answers = set(), set(), set()
    for step in steps:
        for data in step.get("responses", ()):
            for t in decode(bytes.fromhex(data)).transactions:
                answers.add(t.th.opcode)
                statuses.add(t.th.kind)
        if step.get("verdict") == "ACCEPT":
            requests |= {t.th.opcode for t in decode(bytes.fromhex(step["request"])).transactions}
    assert statuses >= {0, 1, 2, 3, 4, 5, 8}
    assert requests | {Opcode.NOP} >= {o for o in Opcode if o not in answers}


def test_sequences_can_be_played_from_the_files_alone(files: dict[str, str]) -> None:
    """As another implementation would: memory, windows and frames from JSON, nothing from this program's generator."""
    text = json.loads(files["target.json"])
    for one in text["vectors"]:
        windows = {w["context"]: Window(w["partition"], w["base"], w["size_bytes"], Rights(w["rights"])) for w in text["windows"]}
        memory = bytearray(7 * i & 0xFF for i in range(text["size_bytes"]))
        model = bytearray(memory)
        target = Target(Memory(memory, windows, text["origin"]))
        endpoint = Endpoint(text["dst"], target)
        for step in one["steps"]:
            if "post_receive" in step:
                target.post_receive(**step["post_receive"])
            else:
                received = endpoint.receive(bytes.fromhex(step["request"]))
                assert received.verdict == step["verdict"]
                assert [data.hex() for data in received.frames] == step["responses"]
            for run in step["memory"]:
                start = run["address"] - text["origin"]
                model[start : start + len(run["hex"]) // 2] = bytes.fromhex(run["hex"])
            assert memory == model


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str]) -> None:
    folder = tmp_path / "new" / "vectors"
    assert run_app(["vectors", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["command"] == "vectors" and [row["set"] for row in answer["rows"]] == list(SETS)
    assert {path.name for path in folder.iterdir()} == set(files)
    for fact in json.loads((folder / "index.json").read_text())["files"]:
        assert hashlib.sha256((folder / fact["file"]).read_bytes()).hexdigest() == fact["sha256"]
    assert run_app(["vectors", str(folder)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert run_app(["vectors", str(folder / "README.md")]) == 2
