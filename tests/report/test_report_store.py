"""A run folder keeps the whole result: read back it is the same, the report is drawn again, bad folders are told."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from kept import keep, make_trace

from scalefab.errors import InputError
from scalefab.report import runfolder
from scalefab.report.frozen import ThawError, freeze, thaw
from scalefab.report.runfolder import redraw
from scalefab.report.store import load_result, load_run, save_result
from scalefab.simulator.result import Result, Status


def assert_same(one: Any, two: Any, path: str = "") -> None:
    assert type(one) is type(two), path
    if isinstance(one, np.ndarray) and one.dtype.names is not None:  # kept without the gaps of alignment
        assert one.dtype.names == two.dtype.names, path
        for name in one.dtype.names:
            assert_same(np.ascontiguousarray(one[name]), np.ascontiguousarray(two[name]), f"{path}.{name}")
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (two.dtype, two.shape), path
        assert one.tobytes() == two.tobytes(), path
    elif is_dataclass(one):
        for field in fields(one):
            assert_same(getattr(one, field.name), getattr(two, field.name), f"{path}.{field.name}")
    else:
        assert one == two, path


def traced(result: Result) -> Result:
    return replace(result, trace=make_trace(result), notes=("a note",), manifest={"a": [1, None]})


@pytest.mark.parametrize("make", [synthetic.moe_skewed, synthetic.partial, synthetic.nothing_moved, synthetic.ring])
def test_a_result_comes_back_whole(make: Callable[[], Result], tmp_path: Path) -> None:
    result = make()
    if len(result.graph) > 2:
        result = traced(result)
    save_result(tmp_path / "r.npz", result)
    assert_same(load_result(tmp_path / "r.npz"), result)
    save_result(tmp_path / "again.npz", result)
    assert (tmp_path / "r.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_the_report_is_drawn_again_to_the_byte(tmp_path: Path) -> None:
    report = keep(tmp_path / "run", traced(synthetic.moe_skewed()))
    first = report.read_bytes()
    report.unlink()
    assert redraw(load_run(tmp_path / "run")) == report
    assert report.read_bytes() == first


def test_a_redraw_that_fails_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = keep(tmp_path / "run", synthetic.ring())
    run = load_run(tmp_path / "run")
    monkeypatch.setattr(runfolder.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        redraw(run)
    assert report.exists()


def garble(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def with_meta(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    with np.load(path) as archive:
        arrays = dict(archive)
    meta = json.loads(arrays.pop("meta").tobytes())
    change(meta)
    np.savez(path, meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), **arrays)


def without_array(path: Path, name: str) -> None:
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files if key != name}
    np.savez(path, **arrays)


def pickled(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive, archive.open("meta.npy", "w") as file:
        np.lib.format.write_array(file, np.array([{"a": 1}], object))


def flipped(data: bytes, path: Path) -> bytes:
    """Return the archive with one byte of an array's data changed (a byte of a member's header may mean nothing)."""
    with zipfile.ZipFile(path) as archive:
        member = max(archive.infolist(), key=lambda item: item.compress_size)
    names = int.from_bytes(data[member.header_offset + 26 : member.header_offset + 28], "little")
    extra = int.from_bytes(data[member.header_offset + 28 : member.header_offset + 30], "little")
    at = member.header_offset + 30 + names + extra + member.compress_size // 2
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no manifest": (lambda run: (run / "manifest.json").unlink(), "holds no manifest.json"),
    "manifest is text": (lambda run: (run / "manifest.json").write_text("x"), "manifest.json: cannot be read"),
    "manifest is a list": (lambda run: (run / "manifest.json").write_text("[]"), "holds no JSON object"),
    "manifest is empty": (lambda run: (run / "manifest.json").write_text("{}"), "'origins' is missing"),
    "no result": (lambda run: (run / "result.npz").unlink(), "result.npz: is not there"),
    "no scenario": (lambda run: (run / "scenario.yaml").unlink(), "scenario.yaml: cannot be read"),
    "no figures": (lambda run: (run / "result.json").unlink(), "result.json: cannot be read"),
    "cut": (lambda run: garble(run / "result.npz", lambda data: data[: len(data) // 2]), "result.npz: cannot be read"),
    "one byte": (lambda run: garble(run / "result.npz", lambda d: flipped(d, run / "result.npz")), "cannot be read"),
    "text": (lambda run: (run / "result.npz").write_text("hello"), "result.npz: cannot be read"),
    "a pickle": (lambda run: pickled(run / "result.npz"), "result.npz: cannot be read"),
    "other format": (lambda run: with_meta(run / "result.npz", lambda m: m.update(format=9)), "format 9 is not known"),
    "old": (lambda run: with_meta(run / "result.npz", lambda m: m["result"].pop("bound_cut")), "'bound_cut' is missing"),
    "other type": (lambda run: with_meta(run / "result.npz", lambda m: m["result"].update(seed="x")), "'seed' is str, not int"),
    "no status": (lambda run: with_meta(run / "result.npz", lambda m: m["result"].update(status=7)), "'status' is 7, no Status"),
    "array gone": (lambda run: without_array(run / "result.npz", "graph.kind"), "the array 'graph.kind' is missing"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_folder_is_told(name: str, tmp_path: Path) -> None:
    keep(tmp_path / "run", synthetic.ring())
    damage, said = BAD[name]
    damage(tmp_path / "run")
    with pytest.raises(InputError) as caught:
        load_run(tmp_path / "run")
    assert said in str(caught.value)
    assert caught.value.problems[0].expected


def test_arrays_that_do_not_fit_together_are_told(tmp_path: Path) -> None:
    result = synthetic.ring()
    graph = replace(result.graph, src=result.graph.src[:-1])
    save_result(tmp_path / "r.npz", replace(result, graph=graph))
    with pytest.raises(InputError, match=r"'graph.src' has not 112 rows"):
        load_result(tmp_path / "r.npz")
    graph = replace(result.graph, group=result.graph.group + 5)
    save_result(tmp_path / "r.npz", replace(result, graph=graph))
    with pytest.raises(InputError, match=r"'graph.group' points outside"):
        load_result(tmp_path / "r.npz")


def test_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        load_run(tmp_path / "nowhere")


@dataclass(frozen=True)
class New:
    status: Status
    pairs: tuple[tuple[int, str], ...]
    share: float
    more: dict[str, int]
    perhaps: int | None = None


def test_values_of_every_kind_come_back_and_new_fields_take_their_default() -> None:
    value = New(Status.PARTIAL, ((1, "a"), (2, "b")), 2.0, {"x": 3})
    data = json.loads(json.dumps(freeze(value, {})))
    assert thaw(New, data, {}) == value
    del data["perhaps"]
    assert thaw(New, {**data, "of a newer version": 1}, {}) == value
    for change, said in (
        ({"pairs": [[1]]}, "1 values, not 2"),
        ({"pairs": 1}, "no list"),
        ({"more": []}, "no object"),
        ({"share": True}, "bool"),
    ):
        with pytest.raises(ThawError, match=said):
            thaw(New, data | change, {})
    with pytest.raises(TypeError, match="cannot be kept"):
        freeze(replace(value, share=object()), {})  # type: ignore[arg-type]
