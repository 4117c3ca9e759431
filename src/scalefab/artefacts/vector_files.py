"""Golden vectors as files: JSON for programs, ``$readmemh`` hexadecimal for test benches, an index and a README.

The same version writes the same bytes on every machine: nothing in them depends on time, order of a set, or a random number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ..protocol.reasons import Reason
from .vector_faults import bad_frames
from .vector_frames import fields_of, good_frames
from .vector_links import link_vectors
from .vector_target import DST, ORIGIN, SIZE, SRC, WINDOWS, sequences

FORMAT = 1
ACCEPT, RESPONSE, MEMORY = 0, 0x100, 0x200
CODES: dict[str, int] = {"ACCEPT": ACCEPT} | {reason: i + 1 for i, reason in enumerate(Reason)}
CODES |= {"GAP": len(Reason) + 1, "DUPLICATE": len(Reason) + 2}
"""Verdict of a receiver as a number for test benches: 0 accepts, any other one drops (or answers ERROR) and says why."""

_LINE_BYTES = 16


@dataclass(slots=True)
class HexImage:
    """A byte memory and its index, both for ``$readmemh``. Four 32-bit words an index entry: first byte, bytes, code, extra."""

    size_bytes: int = 0
    _lines: list[str] = field(default_factory=list)
    _index: list[str] = field(default_factory=list)

    def add(self, name: str, data: bytes, code: int, extra: int = 0) -> None:
        """Append one vector, beginning at a line of its own."""
        self._lines.append(f"// {name}\n@{self.size_bytes:x}")
        self._lines += [data[i : i + _LINE_BYTES].hex(" ") for i in range(0, len(data), _LINE_BYTES)]
        self._index.append(f"{self.size_bytes:08x} {len(data):08x} {code:08x} {extra:08x} // {name}")
        self.size_bytes += -(-len(data) // _LINE_BYTES) * _LINE_BYTES

    def files(self, name: str) -> dict[str, str]:
        """Return the texts of both files by name."""
        return {f"{name}.hex": "\n".join(self._lines) + "\n", f"{name}_index.hex": "\n".join(self._index) + "\n"}

    @property
    def count(self) -> int:
        """Entries of the index."""
        return len(self._index)


def vector_files() -> dict[str, str]:
    """Return every file's text by its name: what ``scalefab vectors`` writes."""
    files: dict[str, str] = {}
    facts: list[dict[str, Any]] = []
    for name, about, vectors, image, more in (_frames(), _bad_frames(), _links(), _target()):
        texts = {f"{name}.json": _json({"about": about, **more}, vectors), **image.files(name)}
        files |= texts
        for file, text in texts.items():
            entries = {"entries": image.count} if file.endswith("_index.hex") else {}
            size = {"bytes": image.size_bytes} if file == f"{name}.hex" else {}
            count = {"vectors": len(vectors)} if file.endswith(".json") else {}
            facts.append({"file": file, **count, **entries, **size, "sha256": hashlib.sha256(text.encode()).hexdigest()})
    index = {"format": FORMAT, "profile_version": 0, "codes": CODES | {"response": RESPONSE, "memory": MEMORY}, "files": facts}
    files["index.json"] = json.dumps(index, indent=1) + "\n"
    files["README.md"] = (resources.files(__package__) / "templates" / "vectors.md").read_text(encoding="utf-8")
    return files


_Set = tuple[str, str, list[dict[str, Any]], HexImage, Mapping[str, Any]]


def _json(head: Mapping[str, Any], vectors: list[dict[str, Any]]) -> str:
    """One vector a line, so that a difference between two versions can be read."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    return "\n".join(["{", *lines, ' "vectors": [', ",\n".join(f"  {json.dumps(one)}" for one in vectors), " ]", "}"]) + "\n"


def _frames() -> _Set:
    image, vectors = HexImage(), []
    for one in good_frames():
        data = one.data()
        image.add(one.name, data, CODES[Reason.POISONED] if one.poisoned else ACCEPT, one.wire.frame_max)
        head = {"name": one.name, "note": one.note, "frame_max": one.wire.frame_max, "slap_safe": one.wire.slap_safe}
        vectors.append(head | {"poisoned": bool(one.poisoned), "fields": fields_of(one.frame), "hex": data.hex()})
    about = "Frames of the open profile, version 0: OEFH to FCS, and their fields; parts = parts of a body, unpadded."
    return "frames", about, vectors, image, {}


def _bad_frames() -> _Set:
    image, vectors = HexImage(), []
    for one in bad_frames():
        verdict = one.verdict()
        image.add(one.name, one.data, CODES[verdict["reason"]], one.wire.frame_max)
        head = {"name": one.name, "frame_max": one.wire.frame_max, "slap_safe": one.wire.slap_safe, "dst_id": one.dst_id}
        partitions = None if one.partitions is None else list(one.partitions)
        vectors.append(head | {"partitions": partitions} | verdict | {"hex": one.data.hex()})
    about = (
        "What a receiver must drop, and why. dst_id, partitions: the receiver's own, null = any. "
        "error_tag: the frame is good, its list is not; tag of the ERROR that answers."
    )
    return "bad_frames", about, vectors, image, {}


def _links() -> _Set:
    image, vectors = HexImage(), []
    for one in link_vectors():
        verdict = one.verdict()
        image.add(one.name, one.data, CODES[verdict.get("reason", "ACCEPT")])
        vectors.append({"name": one.name, "form": one.form.value} | verdict | {"hex": one.data.hex()})
    about = "Forms beside the frames. values, or reason, field and byte of the fault. Lists of 64-bit words are hexadecimal."
    return "link", about, vectors, image, {}


def _target() -> _Set:
    image, vectors = HexImage(), []
    for number, played in enumerate(sequences()):
        for i, step in enumerate(played.steps):
            for name, data, code, extra in _entries(step):
                image.add(f"{played.name} {i} {name}", data, code, extra if code == MEMORY else number << 16 | i)
        vectors.append({"name": played.name, "note": played.note, "steps": played.steps})
    about = (
        "Sequences on a fresh target each: request as it comes (src 5, path id 6), verdict, bytes of memory that change, "
        "frames that go back, what software hears. Byte i of memory is 7 x i mod 256 at first."
    )
    windows = [
        {"context": context, "partition": w.partition, "base": w.base, "size_bytes": w.size_bytes, "rights": int(w.rights)}
        for context, w in WINDOWS.items()
    ]
    more = {"src": SRC, "dst": DST, "origin": ORIGIN, "size_bytes": SIZE, "windows": windows}
    return "target", about, vectors, image, more


def _entries(step: Mapping[str, Any]) -> Iterator[tuple[str, bytes, int, int]]:
    if "request" in step:
        yield "request", bytes.fromhex(step["request"]), CODES[step["verdict"]], 0
    for run in step["memory"]:
        yield "memory", bytes.fromhex(run["hex"]), MEMORY, run["address"]
    for response in step.get("responses", ()):
        yield "response", bytes.fromhex(response), RESPONSE, 0
