"""The tables of a run: the same columns as CSV, Parquet, pandas and polars."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import synthetic
from kept import keep, make_trace

from scalefab.errors import InputError, MissingExtraError
from scalefab.report.csvfiles import write_table
from scalefab.report.parquet import require_parquet, write_parquet
from scalefab.report.runfolder import Extras
from scalefab.simulator.result import Result
from scalefab.simulator.tables import TableName, Words, columns


@pytest.fixture
def result() -> Result:
    made = synthetic.moe_skewed()
    return replace(made, trace=make_trace(made))


def as_rows(result: Result, table: TableName) -> tuple[list[str], list[list[object]]]:
    made = columns(result, table)
    plain = [[c.names[i] for i in c.codes] if isinstance(c, Words) else c.tolist() for c in made.values()]
    return list(made), [list(row) for row in zip(*plain, strict=True)]


@pytest.mark.parametrize("table", TableName)
def test_csv_has_the_columns(table: TableName, result: Result, tmp_path: Path) -> None:
    names, rows = as_rows(result, table)
    write_table(tmp_path / "t.csv", result, table)
    with (tmp_path / "t.csv").open(newline="") as file:
        read = list(csv.reader(file))
    assert read[0] == names
    assert len(read) == 1 + len(rows) > 1
    for written, row in zip(read[1:], rows, strict=True):
        for cell, value in zip(written, row, strict=True):
            assert (float(cell) == pytest.approx(value, abs=1e-6)) if isinstance(value, float) else (cell == str(value))


def test_the_sample_of_frames(result: Result) -> None:
    names, rows = as_rows(result, TableName.FRAMES)
    row = dict(zip(names, rows[0], strict=True))
    assert (row["operation"], row["kind"], row["group"], row["dst_gpu"]) == (1, "PUT", "dispatch", 2)
    assert (row["first_bit_ps"], row["executed_ps"], row["latency_ps"]) == (80_000, 900_000, 820_000)
    assert as_rows(replace(result, trace=None), TableName.FRAMES) == (names, [])


def test_counters_are_one_row_a_port_and_name(result: Result) -> None:
    _, rows = as_rows(result, TableName.COUNTERS)
    found = {(port, vc, name): value for port, _, vc, name, value in rows}
    assert len(found) == len(rows)
    ports = result.ports
    assert found[3, -1, "TX_DATA_FRAMES"] == ports.frames[3]
    assert found[3, -1, "CF_UPDATES_SENT"] == ports.cf_updates[3]
    assert found[3, -1, "CF_UPDATES_RECEIVED"] == ports.cf_updates[result.fabric.port_peer[3]]
    by_vc = np.arange(4 * result.fabric.ports).reshape(-1, 4)
    _, rows = as_rows(replace(result, ports=replace(ports, peak_credit_bytes=by_vc)), TableName.COUNTERS)
    assert [row[4] for row in rows if row[0] == 2 and row[3] == "PEAK_CREDIT_BYTES"] == [8, 9, 10, 11]


@pytest.mark.parametrize("table", TableName)
def test_pandas_and_polars_have_the_same(table: TableName, result: Result) -> None:
    names, rows = as_rows(result, table)
    pandas = pytest.importorskip("pandas")
    frame = result.to_pandas(table.value)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == names
    assert frame.astype(object).values.tolist() == rows


@pytest.mark.parametrize("table", TableName)
def test_polars_has_the_same(table: TableName, result: Result) -> None:
    names, rows = as_rows(result, table)
    polars = pytest.importorskip("polars")
    frame = result.to_polars(table.value)
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == names
    assert [list(row) for row in frame.rows()] == rows


@pytest.mark.parametrize("table", TableName)
@pytest.mark.parametrize("package", ["pyarrow", "polars"])
def test_parquet_is_read_back(
    package: str, table: TableName, result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package)
    polars = pytest.importorskip("polars")
    monkeypatch.setattr("scalefab.report.parquet.find_spec", lambda name: name if name == package else None)
    write_parquet(tmp_path / "t.parquet", result, table)
    names, rows = as_rows(result, table)
    frame = polars.read_parquet(tmp_path / "t.parquet")
    assert frame.columns == names
    assert [list(row) for row in frame.rows()] == rows


def test_a_folder_with_parquet(result: Result, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = keep(tmp_path / "run", result, extras=Extras(parquet=True)).parent
    assert {path.stem for path in folder.glob("*.parquet")} == {table.value for table in TableName}


def test_what_is_missing_is_told(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"there is no table 'frame'.*did you mean 'frames'"):
        result.to_pandas("frame")
    for package in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pandas is not installed; expected: pip install 'scalefab\[pandas\]'"):
        result.to_pandas()
    with pytest.raises(MissingExtraError, match=r"scalefab\[polars\]"):
        result.to_polars("links")
    monkeypatch.setattr("scalefab.report.parquet.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"scalefab\[parquet\]"):
        require_parquet()
