"""A run as CSV: the columns of `simulator.tables`, one file a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..simulator.result import Result
from ..simulator.tables import Column, Columns, TableName, Words, columns

# Rows turned into text at once: large enough that NumPy's tolist() carries the cost, small enough to stay in the cache.
_CHUNK_ROWS = 65_536


def write_table(path: Path, result: Result, table: TableName) -> None:
    """Write a table; a million rows take a few seconds and no more than one chunk of text."""
    made = columns(result, table)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(made) + "\n")
        for text in _chunks(made):
            file.write(text)


def _chunks(made: Columns) -> Iterator[str]:
    quoted_names = {name: [quoted(text) for text in column.names] for name, column in made.items() if isinstance(column, Words)}
    row = ",".join(_form(column) for column in made.values()) + "\n"
    for start in range(0, len(next(iter(made.values()))), _CHUNK_ROWS):
        cells: list[list[Any]] = []
        for name, column in made.items():
            if isinstance(column, Words):
                names = quoted_names[name]
                cells.append([names[code] for code in column.codes[start : start + _CHUNK_ROWS].tolist()])
            else:
                cells.append(column[start : start + _CHUNK_ROWS].tolist())
        yield "".join([row % values for values in zip(*cells, strict=True)])  # % is twice as fast as format here


def _form(column: Column) -> str:
    if isinstance(column, Words):
        return "%s"
    return "%.6f" if column.dtype.kind == "f" else "%d"


def quoted(text: str) -> str:
    """Return a cell as CSV wants it (RFC 4180 quotes only where needed)."""
    cell = io.StringIO()
    csv.writer(cell, lineterminator="").writerow((text,))
    return cell.getvalue()
