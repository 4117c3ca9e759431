"""The names of all fields, and a packet's fields as tshark tells them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from samples import ETHERNET, USER0, Sample, Seen

from scalefab.capture.pcapng import Interface, Writer
from scalefab.protocol.naming import headers, part_names, prefix

BYTES = {f"body.{name}" for name in (*part_names(), "pad")} | {"frame.pad"}
BYTES |= {f"{prefix(h)}.{f.name}" for h in headers() for f in h.fields if f.width > 64}


def all_fields() -> list[str]:
    names = ["oefh.dst", "oefh.src", "oefh.path_id", *BYTES]
    for header in headers():
        for f in header.fields:
            names += [f"{prefix(header)}.{part.name}" for part in (f, *f.parts)]
        names += [f"{prefix(header)}.{join.name}" for join in header.joins]
        if header.repeat and header.repeat.element.name != "set":
            names.append(f"{prefix(header)}.{header.repeat.element.name}")
    return [n for n in dict.fromkeys(names) if not n.startswith("slap_id.")]


def write(path: Path, samples: Sequence[Sample]) -> None:
    with path.open("wb") as stream:
        writer = Writer(stream, [Interface("port", ETHERNET), Interface("port.phy", USER0)], application="tests")
        for i, sample in enumerate(samples):
            writer.packet(int(sample.link_type == USER0), i * 1_000_000, sample.data, sample.name)


def tshark(lua: Path, capture: Path, fields: Sequence[str], *more: str) -> list[list[str]]:
    command = [
        "tshark",
        "-X",
        f"lua_script:{lua}",
        "-r",
        str(capture),
        "-T",
        "fields",
        "-E",
        "separator=/t",
        "-E",
        "aggregator=;",
    ]
    for name in fields:
        command += ["-e", name]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def read(name: str, text: str) -> list[int | bytes]:
    if not text:
        return []
    return [bytes.fromhex(t.replace(":", "")) if name in BYTES else int(t, 0) for t in text.split(";")]


def told(lua: Path, capture: Path) -> list[Seen]:
    """Fields of every packet as tshark decodes them, without empty ones."""
    names = all_fields()
    rows = tshark(lua, capture, [f"scalefab.{name}" for name in names])
    return [{n: v for n, t in zip(names, row, strict=True) if (v := read(n, t))} for row in rows]
