"""Values of a layout to bytes and back: the one reader and writer of `fields.Header`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

from ..errors import WireError
from .fields import Field, Header
from .reasons import Reason

Bytes = bytes | bytearray | memoryview


def pack(header: Header, values: Mapping[str, Any], offset_bytes: int = 0) -> bytes:
    """Turn the values of a layout into its bytes.

    Parameters
    ----------
    header
        One of `tables.SECTIONS`.
    values
        By name of field or join, the list under its element's name; reserved and constant fields are filled in.
    offset_bytes
        Where it stands, for the error.

    Raises
    ------
    WireError
        RANGE, with the field: no integer, or not within its width or limits.
    """
    values = _split(header, values, offset_bytes) if header.joins else values
    word = 0
    for f, shift, mask in header.steps:
        value = f.constant if f.constant is not None else _checked(header.name, f, values[f.name], offset_bytes + f.byte)
        word |= ((value - f.bias) & mask) << shift
    out = word.to_bytes(header.size_bytes, header.byte_order)
    if header.repeat is None:
        return out
    element = header.repeat.element
    items: Sequence[Any] = values[element.name]
    if len(items) != values[header.repeat.count]:
        text = f"{len(items)} given, {values[header.repeat.count]} counted"
        raise WireError(Reason.RANGE, f"{header.name.lower()}.{header.repeat.count}", offset_bytes, text)
    size = element.width // 8
    at = offset_bytes + header.size_bytes
    chunks = (_checked(header.name, element, item, at + size * i).to_bytes(size) for i, item in enumerate(items))
    return out + b"".join(chunks)


def _split(header: Header, values: Mapping[str, Any], offset_bytes: int) -> dict[str, Any]:
    out = dict(values)
    for join in header.joins:
        if join.name not in out:
            continue
        fields = [header.field(piece) for piece in join.pieces]
        whole = Field(join.name, fields[0].bit, sum(f.width for f in fields), join.meaning, fields[0].origin)
        value = _checked(header.name, whole, out[join.name], offset_bytes + whole.byte)
        for f in reversed(fields):
            out[f.name] = value & ((1 << f.width) - 1)
            value >>= f.width
    return out


def _checked(layer: str, f: Field, given: Any, offset_bytes: int) -> int:
    try:
        value = index(given)
    except TypeError:
        value = f.least - 1
    if not f.least <= value <= f.most:
        text = f"{given!r} is not {f.least} .. {f.most}"
        raise WireError(Reason.RANGE, f"{layer.lower()}.{f.name}", offset_bytes, text)
    if f.values is not None:
        try:
            f.values(value)
        except ValueError:
            raise WireError(Reason.RANGE, f"{layer.lower()}.{f.name}", offset_bytes, f"{value} has no meaning") from None
    return value


def unpack(header: Header, data: Bytes) -> dict[str, int]:
    """Read the fixed fields of a layout from the first bytes of ``data``, unsigned and unjudged; reserved fields are left out.

    Raises
    ------
    WireError
        LENGTH: ``data`` is shorter than the header.
    """
    if len(data) < header.size_bytes:
        raise WireError(Reason.LENGTH, header.name.lower(), 0, f"{len(data)} of {header.size_bytes} bytes")
    word = int.from_bytes(data[: header.size_bytes], header.byte_order)
    return {name: (word >> shift & mask) + bias for name, shift, mask, bias in header.cuts}


def read(header: Header, data: Bytes) -> dict[str, Any]:
    """Read and judge a layout: every value of `pack` by its name, the list as a tuple; bytes behind it are left alone.

    Raises
    ------
    WireError
        LENGTH: ``data`` is too short; CONSTANT: a fixed field is another one; RANGE: a value outside its limits.
    """
    raw = unpack(header, data)
    out: dict[str, Any] = {}
    for f, _, mask in header.steps:
        value = raw[f.name]
        if f.constant is not None:
            if value != f.constant:
                text = f"{value:#x}, always {f.constant:#x}"
                raise WireError(Reason.CONSTANT, f"{header.name.lower()}.{f.name}", f.byte, text)
            continue
        if f.sign == "signed" and value > mask >> 1:
            value -= mask + 1
        out[f.name] = _checked(header.name, f, value, f.byte)
    for join in header.joins:
        whole = 0
        for piece in join.pieces:
            whole = whole << header.field(piece).width | out.pop(piece)
        out[join.name] = whole
    if header.repeat is not None:
        out[header.repeat.element.name] = _items(header, out[header.repeat.count], data)
    return out


def _items(header: Header, count: int, data: Bytes) -> tuple[int, ...]:
    assert header.repeat is not None
    element = header.repeat.element
    size = element.width // 8
    end = header.size_bytes + size * count
    if len(data) < end:
        raise WireError(
            Reason.LENGTH,
            f"{header.name.lower()}.{header.repeat.count}",
            header.field(header.repeat.count).byte,
            f"{count} x {size} bytes follow, {len(data) - header.size_bytes} are there",
        )
    starts = range(header.size_bytes, end, size)
    return tuple(_checked(header.name, element, int.from_bytes(data[at : at + size]), at) for at in starts)
