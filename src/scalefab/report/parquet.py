"""A run as Parquet, one file a table, by pyarrow or else polars; text columns are dictionaries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ..errors import MissingExtraError
from ..simulator.result import Result
from ..simulator.tables import TableName, Words, columns, to_polars


def require_parquet() -> None:
    """Make sure that a table can be written, before an hour of simulation.

    Raises
    ------
    MissingExtraError
        Neither pyarrow nor polars is installed.
    """
    if find_spec("pyarrow") is None and find_spec("polars") is None:
        raise MissingExtraError("pyarrow", "parquet")


def write_parquet(path: Path, result: Result, table: TableName) -> None:
    """Write a table; errors as `require_parquet`."""
    require_parquet()
    if find_spec("pyarrow") is None:
        to_polars(result, table).write_parquet(path)
        return
    import pyarrow
    from pyarrow import parquet

    made = {}
    for name, column in columns(result, table).items():
        if isinstance(column, Words):
            names = pyarrow.array(column.names, pyarrow.string())
            made[name] = pyarrow.DictionaryArray.from_arrays(pyarrow.array(column.codes.astype("int32")), names)
        else:
            made[name] = pyarrow.array(column)
    parquet.write_table(pyarrow.table(made), path)
