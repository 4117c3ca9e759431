"""One entry of a table with its values: control ordered sets, frames between two ports, bodies of CONTROL frames.

What may stand in it is its row's layout, so a new row needs no code here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..errors import WireError
from .bits import Bytes, pack, read
from .fields import Form
from .layout_control import CONTROL_TYPES, ControlType
from .layout_link import ORDERED_SETS, OrderedSet
from .reasons import Reason

Table = Mapping[int, Form]


@dataclass(frozen=True)
class Record:
    """A value object: ``number`` of its row, ``values`` by name, without number, reserved and fixed fields."""

    number: int
    values: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def __hash__(self) -> int:
        return hash((self.number, *self.values.items()))


def type_byte(table: Table) -> int:
    """Return the byte at which the number of a table's rows stands: the same in all of them."""
    row = next(iter(table.values()))
    return next(f.byte for f in row.header.fields if f.table)


def encode_record(table: Table, record: Record) -> bytes:
    """Turn a record into the bytes of its layout.

    Raises
    ------
    WireError
        TYPE: no row has its number; RANGE: a value outside its field; BODY: a value is missing or one too many.
    """
    row = table.get(record.number)
    at = type_byte(table)
    if row is None:
        raise WireError(Reason.TYPE, "record.type", at, f"{record.number!r} has no row")
    header = row.header
    values = {f.name: record.number for f in header.fields if f.table} | dict(record.values)
    wanted = {f.name for f, _, _ in header.steps if f.constant is None}
    wanted = wanted - {piece for join in header.joins for piece in join.pieces} | {join.name for join in header.joins}
    if header.repeat is not None:
        wanted.add(header.repeat.element.name)
    if values.keys() != wanted:
        names = ", ".join(sorted(values.keys() ^ wanted))
        raise WireError(Reason.BODY, header.name.lower(), -1, f"{row.name} lacks, or does not have: {names}")
    return pack(header, values)


def decode_record(table: Table, data: Bytes) -> Record:
    """Read the record at the beginning of ``data``.

    Raises
    ------
    WireError
        LENGTH, TYPE, CONSTANT or RANGE, with the field and its byte.
    """
    at = type_byte(table)
    if len(data) <= at:
        raise WireError(Reason.LENGTH, "record", 0, f"{len(data)} bytes")
    row = table.get(data[at])
    if row is None:
        raise WireError(Reason.TYPE, "record.type", at, f"{data[at]:#04x} has no row")
    values = read(row.header, data)
    number = next(values.pop(f.name) for f in row.header.fields if f.table)
    return Record(number, values)


def decode_ordered_set(data: Bytes, table: Table = ORDERED_SETS) -> Record:
    """Read one control ordered set of exactly 8 B; errors as `decode_record`."""
    if len(data) != 8:
        raise WireError(Reason.LENGTH, "ordered_set", -1, f"{len(data)} bytes, always 8")
    return decode_record(table, data)


def encode_ordered_set(record: Record, table: Table = ORDERED_SETS) -> bytes:
    """Turn a control ordered set into its 8 B; errors as `encode_record`."""
    return encode_record(table, record)


def decode_control(body: Bytes, table: Table = CONTROL_TYPES) -> Record:
    """Read the 32 B body of a CONTROL frame; errors as `decode_record`."""
    if len(body) != 32:
        raise WireError(Reason.LENGTH, "control", -1, f"{len(body)} bytes, always 32")
    return decode_record(table, body)


def encode_control(record: Record, table: Table = CONTROL_TYPES) -> bytes:
    """Turn a CONTROL body into its 32 B; errors as `encode_record`."""
    return encode_record(table, record)


def llr_ack(seq: int) -> Record:
    """All frames up to ``seq`` are accepted on this link."""
    return Record(OrderedSet.ACK, {"seq": seq})


def llr_nack(seq: int) -> Record:
    """All frames up to ``seq`` are accepted, the next one is missing or broken."""
    return Record(OrderedSet.NACK, {"seq": seq})


def llr_init(seq: int, init_data: int, number: int = OrderedSet.INIT) -> Record:
    """The next sequence number will be ``seq``; with INIT_ECHO as ``number`` the answer to it."""
    return Record(number, {"seq": seq, "init_data": init_data})


def cf_update(first: tuple[int, int], second: tuple[int, int] | None = None) -> Record:
    """(VC, low 15 bits of its freed counter) of two VCs; one alone is said twice."""
    vc1, freed1 = second or first
    return Record(OrderedSet.CF_UPDATE, {"vc0": first[0], "freed0": first[1], "vc1": vc1, "freed1": freed1})


def space_control(number: int, path: int, vc: int, nonce: int, psn: int = 0, status: int = 0) -> Record:
    """ACK_REQ, CLOSE, CLOSED, OPEN or OPENED of the sequence space (path, vc)."""
    return Record(number, {"status": status, "vc": vc, "path": path, "psn": psn, "nonce": nonce})


def switch_event(number: ControlType, **values: int) -> Record:
    """Build a Switch Event Notification; what is not given is 0. Names are those of `layout_control.SEN`."""
    names = [f.name for f, _, _ in CONTROL_TYPES[number].header.steps if not f.table]
    return Record(number, dict.fromkeys(names, 0) | values)
