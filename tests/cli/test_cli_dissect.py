"""``scalefab dissect`` and ``scalefab artefacts`` as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scalefab.capture.pcapng import Interface, Writer

LOAD = (
    "012c000000000005002c003b88b50300000500070000000004503f00001100000000000123456780"
    "21c0aef4000000000000000000000000000000008ebfcb5b"
)


def scalefab(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "scalefab", *map(str, arguments)], capture_output=True, text=True, timeout=120)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    path = tmp_path / "c.pcapng"
    good = bytes.fromhex(LOAD)
    with path.open("wb") as stream:
        writer = Writer(
            stream, [Interface("gpu0.0", 1, 4), Interface("gpu0.0.phy", 147), Interface("odd", 113)], application="tests"
        )
        writer.packet(0, 1_000_000, good)
        writer.packet(0, 2_000_000, good[:-1] + b"\x00")
        writer.packet(1, 3_000_000, bytes.fromhex("5c01123456000000"))
        writer.packet(1, 4_000_000, bytes.fromhex("fb172345555555d5") + good)
        writer.packet(2, 5_000_000, b"x")
    return path


def test_words(capture: Path) -> None:
    done = scalefab("dissect", capture)
    assert (done.returncode, done.stderr) == (0, "")
    heads = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert heads == [
        "1  0.000001000000 s  gpu0.0  64 B  frame  5 -> 300 VC 0 PSN 7: LOAD  ICRC good  FCS good  ok",
        "2  0.000002000000 s  gpu0.0  64 B  frame  5 -> 300 VC 0 PSN 7: LOAD  ICRC good  FCS bad  "
        "FCS at fcs (byte 60): bits changed on this link",
        "3  0.000003000000 s  gpu0.0.phy  8 B  ordered set  ACK  ICRC absent  FCS absent  ok",
        "4  0.000004000000 s  gpu0.0.phy  72 B  frame  5 -> 300 VC 0 PSN 7: LOAD  ICRC good  FCS good  ok",
        "5  0.000005000000 s  odd  1 B  link type 113 is not read here",
    ]
    assert "    24 th LOAD: opcode=1(LOAD) order=0(RELAXED) scope=1(SYSTEM) posted=0 last=1 length=64" in done.stdout
    assert len(scalefab("dissect", capture, "--limit", "1").stdout.splitlines()) == 8


def test_json(capture: Path) -> None:
    answer = json.loads(scalefab("dissect", capture, "--json").stdout)
    assert (answer["command"], answer["problems"], len(answer["rows"])) == ("dissect", [], 5)
    first = answer["rows"][0]
    assert (first["titles"], first["icrc"], first["fcs"], first["verdict"]) == (["LOAD"], "good", "good", "ok")
    fields = {layer["name"]: layer["fields"] for layer in first["layers"]}
    assert (fields["oefh"]["dst"], fields["th"]["address"], fields["rh"]["psn"]) == (300, 0x123456780, 7)
    assert answer["rows"][1]["faults"][0] == {
        "reason": "FCS",
        "field": "fcs",
        "offset_bytes": 60,
        "message": "bits changed on this link",
    }


def test_fields(capture: Path) -> None:
    done = scalefab("dissect", capture, "--fields", "number,scalefab.th.opcode,ctlos_seq.seq,fcs.status")
    assert done.stdout.splitlines() == [
        "number\tth.opcode\tctlos_seq.seq\tfcs.status",
        "1\t1\t\tgood",
        "2\t1\t\tbad",
        "3\t\t74565\tabsent",
        "4\t1\t\tgood",
        "5\t\t\t",
    ]
    rows = json.loads(scalefab("dissect", capture, "--json", "--fields", "oefh.dst").stdout)["rows"]
    assert rows[0] == {"oefh.dst": [300]} and rows[2] == {"oefh.dst": []}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--fields", "th.opcod"), "did you mean 'th.opcode'?"),
        (("--fcs", "maybe"), "expected find or present or absent"),
        (("--ethertypes", "7"), "expected two EtherTypes"),
        (("--ethertypes", "0x88B5,0x88B5"), "share one EtherType"),
        (("--frame-max", "12"), "--frame-max"),
        (("--frame-max", "1B"), "frame_max"),
        (("--limit", "-1"), "--limit"),
    ],
)
def test_options_that_cannot_be(capture: Path, arguments: tuple[str, ...], said: str) -> None:
    done = scalefab("dissect", capture, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr


def test_a_damaged_file_is_shown_up_to_the_damage(capture: Path) -> None:
    capture.write_bytes(capture.read_bytes()[:-7])
    done = scalefab("dissect", capture, "--fields", "number")
    assert (done.returncode, done.stdout.split()) == (2, ["number", "1", "2", "3", "4"])
    assert done.stderr.startswith(f"{capture}: the block at byte ") and len(done.stderr.splitlines()) == 1
    answer = json.loads(scalefab("dissect", capture, "--json").stdout)
    assert len(answer["rows"]) == 4 and len(answer["problems"]) == 1


def test_no_capture(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"no capture at all")
    for path in (tmp_path / "x", tmp_path / "absent", tmp_path):
        done = scalefab("dissect", path)
        assert done.returncode == 2 and done.stderr.startswith(f"{path}: ") and len(done.stderr.splitlines()) == 1


def test_artefacts(tmp_path: Path) -> None:
    done = scalefab("artefacts", tmp_path / "new" / "folder")
    assert (done.returncode, done.stdout) == (0, "")
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert names == {"scalefab.lua", "scalefab.h", "scalefab_pkg.sv", "wire-format.md"}
    assert scalefab("artefacts", "lua").stdout == (tmp_path / "new" / "folder" / "scalefab.lua").read_text(encoding="utf-8")
    done = scalefab("artefacts", "lau")
    assert done.returncode == 2 and "did you mean 'lua'?" in done.stderr
    (tmp_path / "file").write_text("")
    done = scalefab("artefacts", tmp_path / "file" / "x")
    assert done.returncode == 2 and "Traceback" not in done.stderr
