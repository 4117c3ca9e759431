"""A result as tables of columns: operations, links, frames, counters, lost time. Units stand in the names; -1 = never or none.

CSV, Parquet, pandas and polars are all made from these columns, so a name means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingExtraError, Problem
from ..protocol.profile import Kind
from ..workload.near import near_miss
from .metrics import node_name, port_name, stage_shares, utilisation
from .result import STAGE_LABELS, Result, Stage
from .trace import SAMPLE

if TYPE_CHECKING:
    import pandas
    import polars


class TableName(StrEnum):
    """The tables of a run; the values are file names and what users ask for."""

    OPERATIONS = "operations"  #: one row an operation of the graph
    LINKS = "links"  #: one row a directed port
    FRAMES = "frames"  #: one row a delivered data frame of the seeded sample
    COUNTERS = "counters"  #: one row a port, VC and counter
    LOST_TIME = "lost_time"  #: one row a stage


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A column of text as few names and one code a row."""

    codes: NDArray[Any]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)


Column = NDArray[Any] | Words
Columns = dict[str, Column]

# Counters that the conformance tests or the profile name, by the field of `result.PortTable` that holds them.
_COUNTER_NAMES = {
    "frames": "TX_DATA_FRAMES",
    "ack_frames": "TX_ACK_FRAMES",
    "cf_updates": "CF_UPDATES_SENT",
    "data_bytes": "TX_DATA_BYTES",
    "wire_bytes": "TX_WIRE_BYTES",
    "busy_ps": "TX_BUSY_PS",
}
_ALL_VCS = -1


def table_name(text: str) -> TableName:
    """Return the table of that name.

    Raises
    ------
    InputError
        There is none.
    """
    try:
        return TableName(text)
    except ValueError:
        names = [name.value for name in TableName]
        problem = Problem(f"there is no table '{text}'", ", ".join(names), near_miss(text, names), key="table")
        raise InputError([problem]) from None


def columns(result: Result, table: TableName) -> Columns:
    """Return the columns of a table, all of one length, in their order."""
    return _MAKERS[table](result)


def words(values: Sequence[str]) -> Words:
    """Return a text column of given cells."""
    names = tuple(dict.fromkeys(values))
    code = {name: index for index, name in enumerate(names)}
    return Words(np.array([code[value] for value in values], np.int32), names)


def _operations(result: Result) -> Columns:
    graph, times = result.graph, result.operations
    finished = (times.done_ps >= 0) & (times.ready_ps >= 0)
    return {
        "operation": np.arange(len(graph), dtype=np.int64),
        "group": Words(graph.group, tuple(group.name for group in graph.groups)),
        "kind": Words(graph.kind, tuple(kind.name for kind in Kind)),
        "src_gpu": graph.src,
        "dst_gpu": graph.dst,
        "vc": graph.vc,
        "size_bytes": graph.bytes,
        "ready_ps": times.ready_ps,
        "first_bit_ps": times.first_ps,
        "executed_ps": times.executed_ps,
        "done_ps": times.done_ps,
        "latency_ps": np.where(finished, times.done_ps - times.ready_ps, -1),
        "status": times.ending,
    }


def _links(result: Result) -> Columns:
    fabric, ports = result.fabric, result.ports
    nodes = tuple(node_name(fabric, node) for node in range(fabric.nodes))
    return {
        "port": np.arange(fabric.ports, dtype=np.int64),
        "link": _port_names(result, np.arange(fabric.ports)),
        "from": Words(fabric.port_node, nodes),
        "to": Words(fabric.port_node[fabric.port_peer], nodes),
        "plane": fabric.port_plane,
        "rate_bps": fabric.port_rate_bps,
        "frames": ports.frames,
        "ack_frames": ports.ack_frames,
        "cf_updates": ports.cf_updates,
        "data_bytes": ports.data_bytes,
        "wire_bytes": ports.wire_bytes,
        "busy_ps": ports.busy_ps,
        "utilisation_percent": 100 * utilisation(result),
        "credit_wait_ps": ports.credit_wait_ps,
        "window_wait_ps": ports.window_wait_ps,
        "peak_credit_bytes": ports.peak_credit_bytes,
        "llr_ack_sets": ports.llr_acks,
        "llr_nack_sets": ports.llr_nacks,
        "replayed_frames": ports.replayed_frames,
        "llr_wait_ps": ports.llr_wait_ps,
    }


def _port_names(result: Result, codes: NDArray[Any]) -> Words:
    return Words(codes, tuple(port_name(result.fabric, port) for port in range(result.fabric.ports)))


def _frames(result: Result) -> Columns:
    graph, trace = result.graph, result.trace
    rows = trace.sample if trace is not None else np.zeros(0, SAMPLE)
    return {
        "operation": rows["op"],
        "group": Words(graph.group[rows["op"]], tuple(group.name for group in graph.groups)),
        "kind": Words(graph.kind[rows["op"]], tuple(kind.name for kind in Kind)),
        "answer": rows["answer"],
        "src_gpu": rows["src"],
        "dst_gpu": rows["dst"],
        "vc": rows["vc"],
        "path": rows["path"],
        "psn": rows["psn"],
        "size_bytes": rows["size_bytes"],
        "payload_bytes": rows["payload_bytes"],
        "ready_ps": rows["ready_ps"],
        "first_bit_ps": rows["start_ps"],
        "executed_ps": rows["executed_ps"],
        "latency_ps": rows["executed_ps"] - rows["start_ps"],
        "window_wait_ps": rows["window_ps"],
        "credit_wait_ps": rows["credit_ps"],
        "arbiter_wait_ps": rows["arbiter_ps"],
        "switch_credit_wait_ps": rows["hold_ps"],
    }


def _counters(result: Result) -> Columns:
    """Every counter of the ports' table, one row a port (and VC where it has one); a port receives what its peer sent."""
    fabric = result.fabric
    ports = np.arange(fabric.ports)
    found: list[tuple[str, int, NDArray[Any]]] = []
    for field in fields(result.ports):
        values = getattr(result.ports, field.name)
        name = _COUNTER_NAMES.get(field.name, field.name.upper())
        if values.ndim == 1:
            found.append((name, _ALL_VCS, values))
        else:
            found.extend((name, vc, values[:, vc]) for vc in range(values.shape[1]))
    found.append(("CF_UPDATES_RECEIVED", _ALL_VCS, result.ports.cf_updates[fabric.port_peer]))
    names = tuple(dict.fromkeys(name for name, _, _ in found))
    code = [names.index(name) for name, _, _ in found]
    return {
        "port": np.repeat(ports, len(found)),
        "link": _port_names(result, np.repeat(ports, len(found))),
        "vc": np.tile(np.array([vc for _, vc, _ in found], np.int32), fabric.ports),
        "counter": Words(np.tile(np.array(code, np.int32), fabric.ports), names),
        "value": np.stack([values for _, _, values in found], axis=1).ravel(),
    }


def _lost_time(result: Result) -> Columns:
    shares = stage_shares(result)
    time_ps = np.array([int(result.stage_ps[stage]) for stage in Stage], np.int64)
    return {
        "stage": words([stage.name.lower() for stage in Stage]),
        "label": words([STAGE_LABELS[stage] for stage in Stage]),
        "time_ps": time_ps,
        "percent": np.array([100 * shares[stage] for stage in Stage]),
        "mean_ps_a_frame": time_ps / result.frames if result.frames else np.zeros(len(time_ps)),
    }


_MAKERS = {
    TableName.OPERATIONS: _operations,
    TableName.LINKS: _links,
    TableName.FRAMES: _frames,
    TableName.COUNTERS: _counters,
    TableName.LOST_TIME: _lost_time,
}


def to_pandas(result: Result, table: str) -> pandas.DataFrame:
    """Return a table as a pandas frame; text columns are categories. Errors as `Result.to_pandas`."""
    wanted = table_name(table)
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "pandas") from None
    made: dict[str, Any] = {}
    for name, column in columns(result, wanted).items():
        if isinstance(column, Words):
            distinct = words(column.names)  # categories of pandas are distinct
            made[name] = pandas.Categorical.from_codes(distinct.codes[column.codes], list(distinct.names))
        else:
            made[name] = column
    return pandas.DataFrame(made)


def to_polars(result: Result, table: str) -> polars.DataFrame:
    """Return a table as a polars frame; text columns are categories. Errors as `Result.to_polars`."""
    wanted = table_name(table)
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "polars") from None
    made: dict[str, Any] = {}
    for name, column in columns(result, wanted).items():
        if isinstance(column, Words):
            known = polars.Series(column.names, dtype=polars.String)
            made[name] = known.gather(column.codes.astype(np.uint32)).cast(polars.Categorical)
        else:
            made[name] = column
    return polars.DataFrame(made)
