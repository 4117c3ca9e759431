"""CSV, JSON, manifest and the run folder."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
import synthetic
from kept import keep
from scenarios import TEXT, make_scenario

from scalefab.errors import InputError
from scalefab.report import csvfiles
from scalefab.report.csvfiles import write_table
from scalefab.report.record import flat_configuration, flat_object, scenario_hash
from scalefab.report.runfolder import reserve_folder
from scalefab.simulator.result import Stage
from scalefab.simulator.tables import TableName, columns
from scalefab.simulator.verdict import judge
from scalefab.workload.graph import Group

NOW = datetime(2026, 11, 30, 21, 5, 9, tzinfo=UTC)
JSON_KEYS = [
    "scalefab",
    "command",
    "scenario",
    "fidelity",
    "status",
    "completion_ps",
    "completion_us",
    "bound_us",
    "algbw_GBps",
    "busbw_GBps",
    "frames",
    "ack_frames",
    "cf_updates",
    "llr_ack_sets",
    "llr_replayed_frames",
    "rh_replays",
    "rh_nacks",
    "rh_path_errors",
    "data_bytes",
    "wire_bytes",
    "payload_efficiency",
    "events",
    "wall_s",
    "compile_s",
    "frames_per_s",
    "peak_MB",
    "lost_frames",
    "failed_operations",
    "unstarted_operations",
    "lost_time",
]


def read(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_operations_are_one_row_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvfiles, "_CHUNK_ROWS", 10)  # several chunks
    result = synthetic.partial()
    group = Group('a "b", c', "all_to_all", 1, 8, 7, 8)
    result = replace(result, graph=replace(result.graph, groups=(group,)))
    write_table(tmp_path / "o.csv", result, TableName.OPERATIONS)
    rows = read(tmp_path / "o.csv")
    assert rows[0] == list(columns(result, TableName.OPERATIONS))
    assert len(rows) == 1 + len(result.graph)
    assert rows[1][:7] == ["0", 'a "b", c', "PUT", "0", "1", "2", str(synthetic.MIB)]
    assert [row[0] for row in rows[1:]] == [str(i) for i in range(56)]
    assert rows[1][-2] == rows[1][-3] == str(result.operations.done_ps[0])
    assert rows[-1][-3:] == ["-1", "-1", "0"]


def test_links_and_lost_time(tmp_path: Path) -> None:
    result = synthetic.moe_skewed()
    write_table(tmp_path / "l.csv", result, TableName.LINKS)
    rows = read(tmp_path / "l.csv")
    assert rows[0] == list(columns(result, TableName.LINKS))
    assert len(rows) == 1 + result.fabric.ports
    assert rows[1][1:5] == ["GPU 0 -> switch plane 0", "GPU 0", "switch plane 0", "0"]
    assert sum(int(row[10]) for row in rows[1:]) == int(result.ports.wire_bytes.sum())
    write_table(tmp_path / "t.csv", result, TableName.LOST_TIME)
    rows = read(tmp_path / "t.csv")
    assert rows[0] == list(columns(result, TableName.LOST_TIME))
    assert [row[0] for row in rows[1:]] == [stage.name.lower() for stage in Stage]
    assert sum(int(row[2]) for row in rows[1:]) == result.frame_ps
    assert sum(float(row[3]) for row in rows[1:]) == pytest.approx(100)


def test_the_json_object_is_flat_with_exactly_these_keys() -> None:
    result = synthetic.moe_skewed()
    flat = flat_object("x", result, judge(result), "0.1.0")
    assert list(flat) == JSON_KEYS
    assert list(flat["lost_time"]) == [stage.name.lower() for stage in Stage]
    assert sum(flat["lost_time"].values()) == pytest.approx(100)
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat
    assert type(flat["completion_ps"]) is int
    assert flat["completion_us"] * 1e6 == pytest.approx(flat["completion_ps"])
    assert flat["frames_per_s"] == pytest.approx(result.frames / result.wall_s, rel=1e-6)
    assert all(isinstance(value, str | int | float) for key, value in flat.items() if key != "lost_time")


def test_an_empty_result_still_is_json() -> None:
    result = replace(synthetic.nothing_moved(), wall_s=0.0, completion_ps=0, now_ps=0)
    json.dumps(flat_object("x", result, judge(result), "0.1.0"), allow_nan=False)


def test_a_run_folder_holds_everything(tmp_path: Path) -> None:
    result = synthetic.moe_skewed()
    report = keep(tmp_path / "new" / "folder", result)
    folder = report.parent
    assert sorted(path.name for path in folder.iterdir()) == [
        "counters.csv",
        "frames.csv",
        "links.csv",
        "lost_time.csv",
        "manifest.json",
        "operations.csv",
        "report.html",
        "result.json",
        "result.npz",
        "scenario.yaml",
    ]
    assert (folder / "scenario.yaml").read_text() == TEXT
    assert list(json.loads((folder / "result.json").read_text())) == JSON_KEYS
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["command_line"] == "scalefab run 'a b.yaml'"
    assert manifest["configuration"]["fabric"]["frame_max"] == "2048B"
    assert manifest["origins"]["fabric.frame_max"] == {"kind": "set", "where": "--set fabric.frame_max=2048B"}
    assert manifest["hash"].removeprefix("sha256:") == scenario_hash(make_scenario(result))
    assert set(manifest["versions"]) >= {"python", "numpy", "numba"}
    assert (manifest["seed"], manifest["status"], manifest["exit_code"]) == (1, "done", 0)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    precious = tmp_path / "out" / "thesis.tex"
    precious.parent.mkdir()
    precious.write_text("years of work")
    with pytest.raises(InputError, match="not empty"):
        reserve_folder(precious.parent, "x", NOW)
    with pytest.raises(InputError, match="is no folder"):
        reserve_folder(precious, "x", NOW)
    with pytest.raises(InputError, match="cannot be made"):
        reserve_folder(precious / "below", "x", NOW)
    assert precious.read_text() == "years of work"


def test_default_folders_count_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [reserve_folder(None, "../../etc/a b", NOW).path for _ in range(3)]
    assert [str(name) for name in names] == [f"runs/etc-a-b-20261130T210509Z{more}" for more in ("", "-2", "-3")]


def test_an_abandoned_folder_goes_only_when_it_is_ours_and_empty(tmp_path: Path) -> None:
    made = reserve_folder(tmp_path / "made", "x", NOW)
    made.abandon()
    assert not made.path.exists()
    (tmp_path / "theirs").mkdir()
    theirs = reserve_folder(tmp_path / "theirs", "x", NOW)
    theirs.abandon()
    assert theirs.path.exists()
    filled = reserve_folder(tmp_path / "filled", "x", NOW)
    (filled.path / "a").touch()
    filled.abandon()
    assert (filled.path / "a").exists()


def test_the_hash_sees_text_and_configuration() -> None:
    result = synthetic.ring()
    one = make_scenario(result)
    assert scenario_hash(one) == scenario_hash(make_scenario(result))
    assert scenario_hash(one) != scenario_hash(make_scenario(result, text=TEXT + "#"))
    assert scenario_hash(one) != scenario_hash(replace(one, resolved={**one.resolved, "scalefab": 2}))


def test_the_configuration_is_flat_with_keys_that_set_takes() -> None:
    flat = dict(flat_configuration(make_scenario(synthetic.ring())))
    assert flat["fabric.gpus.port_rate"] == "800Gb/s"
    assert flat["workload[0].all_to_all.posted"] == "true"
    assert flat["workload[0].after"] == "none"


def test_many_operations_are_written_in_chunks(tmp_path: Path) -> None:
    result = synthetic.all_to_all()
    rows = 200_000
    index = np.arange(rows) % len(result.graph)
    graph = replace(
        result.graph,
        **{name: getattr(result.graph, name)[index] for name in ("kind", "src", "dst", "vc", "bytes", "group")},
    )
    times = result.operations
    names = ("ready_ps", "first_ps", "executed_ps", "done_ps", "ending")
    times = replace(times, **{name: getattr(times, name)[index] for name in names})
    write_table(tmp_path / "o.csv", replace(result, graph=graph, operations=times), TableName.OPERATIONS)
    assert (tmp_path / "o.csv").read_bytes().count(b"\n") == rows + 1
