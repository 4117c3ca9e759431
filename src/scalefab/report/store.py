"""The whole result on disk and back: what `scalefab report`, `compare` and `timeline` work from.

``result.npz`` is a zip of ``.npy`` members (open it with ``numpy.load``), one an array, and ``meta``, a JSON
text with all the rest. Nothing in it is pickled, so a folder from a stranger runs nothing.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

from ..errors import InputError, Problem
from ..simulator.result import Result
from .frozen import Arrays, ThawError, freeze, thaw
from .subject import StoredSubject, SubjectOrigin

RESULT_FILE = "result.npz"
MANIFEST_FILE, SCENARIO_FILE, FLAT_FILE = "manifest.json", "scenario.yaml", "result.json"
_FORMAT = 1
_META = "meta"
_LEVEL = 1  # deflate: the arrays of a million operations in about a second, at half to a tenth of their size


@dataclass(frozen=True, slots=True, eq=False)
class StoredRun:
    """A run as its folder tells it.

    Attributes
    ----------
    path
        The folder.
    subject
        Name, text and configuration of what ran.
    result
        All that the simulator left.
    manifest, flat
        ``manifest.json`` and ``result.json``.
    """

    path: Path
    subject: StoredSubject
    result: Result
    manifest: dict[str, Any]
    flat: dict[str, Any]


def save_result(path: Path, result: Result) -> None:
    """Write a result; the same result gives the same bytes."""
    arrays: Arrays = {}
    data = freeze(result, arrays)
    text = json.dumps({"format": _FORMAT, "result": data}, separators=(",", ":"))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for name, array in ((_META, np.frombuffer(text.encode(), np.uint8)), *arrays.items()):
            member = zipfile.ZipInfo(f"{name}.npy")  # its fixed date keeps the bytes the same
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(_packed(array)), allow_pickle=False)


def _packed(array: NDArray[Any]) -> NDArray[Any]:
    """Return records without the gaps of their alignment: what lies in those is whatever lay in memory."""
    if array.dtype.names is None:
        return array
    packed: NDArray[Any] = repack_fields(array.view(np.ndarray))
    return packed.astype(np.dtype([(name, packed.dtype[name]) for name in array.dtype.names]))


def load_result(path: Path) -> Result:
    """Read a result back.

    Raises
    ------
    InputError
        No such file, damaged, or of a version that this one cannot read.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays: Arrays = {name: archive[name] for name in archive.files}
        meta = json.loads(arrays.pop(_META).tobytes())
    except FileNotFoundError:
        raise _unusable(path, "is not there", "the folder of a run that this version or a newer one has kept") from None
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise _unusable(path, f"cannot be read: {error}", "a result that a run has kept") from error
    if not isinstance(meta, dict) or meta.get("format") != _FORMAT:
        found = meta.get("format") if isinstance(meta, dict) else "none"
        raise _unusable(path, f"format {found!r} is not known", f"format {_FORMAT}; run the scenario again")
    try:
        result = thaw(Result, meta.get("result"), arrays)
        _check_shapes(result)
    except ThawError as error:
        raise _unusable(path, f"another version wrote it: {error}", "a result of this version; run the scenario again") from error
    return result


def _unusable(path: Path, message: str, expected: str) -> InputError:
    return InputError([Problem(message, expected, file=str(path))])


def _check_shapes(result: Result) -> None:
    """Make sure that arrays fit together, so that a damaged file ends here and not in a drawing."""
    operations, ports = len(result.graph.kind), len(result.fabric.port_node)
    graph = {f.name: getattr(result.graph, f.name) for f in fields(result.graph)}
    for name in ("succ_ptr", "succ", "groups", "values", "signals"):
        del graph[name]
    _require("graph", graph, operations)
    _require("operations", {f.name: getattr(result.operations, f.name) for f in fields(result.operations)}, operations)
    _require("ports", {f.name: getattr(result.ports, f.name) for f in fields(result.ports)}, ports)
    fabric = {f.name: getattr(result.fabric, f.name) for f in fields(result.fabric) if f.name.startswith("port_")}
    _require("fabric", fabric, ports)
    _require("", {"link_load": result.link_load}, ports)
    for name, values, limit in (
        ("fabric.port_peer", result.fabric.port_peer, ports),
        ("fabric.port_node", result.fabric.port_node, len(result.fabric.node_kind)),
        ("graph.signals.op", result.graph.signals.op, operations),
        ("graph.group", result.graph.group, len(result.graph.groups)),
    ):
        if len(values) and (int(values.min()) < 0 or int(values.max()) >= limit):
            raise ThawError(f"'{name}' points outside")


def _require(where: str, arrays: Mapping[str, NDArray[Any]], rows: int) -> None:
    for name, array in arrays.items():
        if not array.ndim or len(array) != rows:
            raise ThawError(f"'{where}.{name}' has not {rows} rows")


def load_run(folder: Path) -> StoredRun:
    """Read a run folder.

    Raises
    ------
    InputError
        It is no run folder, unfinished, damaged, or of a version that cannot be read.
    """
    if not folder.is_dir():
        raise InputError([Problem(f"'{folder}' is no folder", "a run folder, as 'scalefab run' prints it", key="RUN")])
    if not (folder / MANIFEST_FILE).exists():
        message = f"'{folder}' holds no {MANIFEST_FILE}"
        raise InputError([Problem(message, "the folder of a run that has ended", key="RUN")])
    manifest = _json_object(folder / MANIFEST_FILE)
    flat = _json_object(folder / FLAT_FILE)
    result = load_result(folder / RESULT_FILE)
    try:
        text = (folder / SCENARIO_FILE).read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise _unusable(folder / SCENARIO_FILE, f"cannot be read: {error}", "the scenario that ran") from error
    return StoredRun(folder, _subject(folder, manifest, text), result, manifest, flat)


def _json_object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise _unusable(path, f"cannot be read: {error}", "one JSON object, as a run leaves it") from error
    if not isinstance(data, dict):
        raise _unusable(path, "holds no JSON object", "one JSON object, as a run leaves it")
    return data


def _subject(folder: Path, manifest: dict[str, Any], text: str) -> StoredSubject:
    try:
        origins = {key: SubjectOrigin(str(item["kind"]), str(item["where"])) for key, item in manifest["origins"].items()}
        configuration = manifest["configuration"]
        if not isinstance(configuration, dict):
            raise TypeError("'configuration' is no object")
        for key in ("scalefab", "started_utc", "hash", "seed", "command_line"):
            manifest[key]
        manifest["versions"].items()
        return StoredSubject(
            name=str(manifest["scenario"]),
            path=str(manifest["scenario_file"]),
            text=text,
            resolved=configuration,
            origins=origins,
            warnings=tuple(str(warning) for warning in manifest.get("scenario_warnings", ())),
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise _unusable(folder / MANIFEST_FILE, message, "the manifest of a run") from error
