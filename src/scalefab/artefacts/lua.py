"""The Wireshark dissector: the profile's tables as Lua data, before the walker of ``templates/dissector.lua``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, TypeAlias

from ..protocol.fields import Field, Form, Header
from ..protocol.layout import (
    CONTROL_BODY_BYTES,
    ETHERTYPE_CONTROL,
    ETHERTYPE_DATA,
    FRAME_MAX_BYTES,
    ICRC_MASK,
    VLAN,
    VLAN_OFFSET_BYTES,
    RhOp,
)
from ..protocol.layout_link import CONTROL_START, LINK_DA, LLDP_OUI, START
from ..protocol.naming import address_header, header_key, headers, part_names, prefix, shows_hex, title, type_header
from ..protocol.opcodes import OPCODES, AtomicOp, ElementType, KindRule, LengthRule, OpcodeRow, Part, Status
from ..protocol.profile import HEADER_BYTES, ORDERED_SET_BYTES
from ..protocol.tables import FORMS, value_names
from .names import head

Lua: TypeAlias = "str | int | bool | Mapping[Any, Lua] | Sequence[Lua] | None"


def lua_dissector() -> str:
    """Return the text of the dissector."""
    template = resources.files(__package__).joinpath("templates", "dissector.lua").read_text(encoding="utf-8")
    data: dict[str, Lua] = {
        "LAYOUTS": {header_key(h): _header(h) for h in headers()},
        "OPCODES": {number: _opcode(row) for number, row in OPCODES.items()},
        "ORDERED_SETS": _forms(FORMS["ordered_sets"]),
        "LINK_FRAMES": _forms(FORMS["link_frames"]),
        "CONTROL_TYPES": _forms(FORMS["control_types"]),
        "PARTS": part_names(),
        "STATUS": {int(s): s.name for s in Status},
        "ATOMIC_OPS": {int(a): a.name for a in AtomicOp},
        "ELEMENTS": {int(e): e.name for e in ElementType},
        "RH_OPS": {int(op): op.name for op in RhOp},
        "MASKS": dict(ICRC_MASK),
        "CONST": _constants(),
    }
    lines = [head("--"), "-- Load it with: tshark -X lua_script:scalefab.lua, or put it into Wireshark's folder of plugins.", ""]
    lines += [f"local {name} = {_literal(value, 0)}" for name, value in data.items()]
    return "\n".join(lines) + "\n\n" + template


def _constants() -> dict[str | int, Lua]:
    return {
        "ethertype_data": ETHERTYPE_DATA,
        "ethertype_control": ETHERTYPE_CONTROL,
        "frame_max": FRAME_MAX_BYTES,
        "header_bytes": HEADER_BYTES,
        "vlan_offset": VLAN_OFFSET_BYTES,
        "tpid": VLAN.field("tpid").constant,
        "control_bytes": CONTROL_BODY_BYTES,
        "op_data": int(RhOp.DATA),
        "op_control": int(RhOp.CONTROL),
        "compare_swap": int(AtomicOp.COMPARE_SWAP),
        "start": START,
        "control_start": CONTROL_START,
        "set_bytes": ORDERED_SET_BYTES,
        "set_layout": type_header("ordered_sets"),
        "link_layout": type_header("link_frames"),
        "control_layout": type_header("control_types"),
        "link_da": LINK_DA.to_bytes(6).hex(),
        "lldp_oui": LLDP_OUI,
    }


def _header(header: Header) -> dict[str | int, Lua]:
    return {
        "prefix": prefix(header),
        "title": title(header),
        "size": header.size_bytes,
        "little": header.byte_order == "little" or None,
        "fields": [_field(f) for f in header.fields],
        "joins": [{"name": j.name, "title": j.name, "text": j.meaning, "pieces": j.pieces} for j in header.joins] or None,
        "element": _field(header.repeat.element) if header.repeat else None,
        "count": header.repeat.count if header.repeat else None,
    }


def _field(field: Field) -> dict[str | int, Lua]:
    digits = (field.width + 3) // 4
    return {
        "name": field.name,
        "title": field.name,
        "text": f"{field.meaning} ({field.origin})",
        "bit": field.bit,
        "width": field.width,
        "bias": field.bias,
        "hex": shows_hex(field) or None,
        "signed": field.sign == "signed" or None,
        "reserved": field.is_reserved or None,
        "constant": field.constant if field.width <= 32 else None if field.constant is None else 0,
        "constant_hex": None if field.constant is None else f"{field.constant:0{digits}x}",
        "names": value_names(field) or None,
        "parts": [_field(part) for part in field.parts] or None,
    }


def _opcode(row: OpcodeRow) -> dict[str | int, Lua]:
    address = address_header(row)
    return {
        "name": row.name,
        "layout": header_key(row.th),
        "no_length": row.length is LengthRule.NONE or None,
        "kind": row.kind.name if row.kind in (KindRule.STATUS, KindRule.ATOMIC, KindRule.REDUCTION) else None,
        "address_layout": header_key(address) if address else None,
        "body": [_part(part) for part in row.body],
    }


def _part(part: Part) -> dict[str | int, Lua]:
    return {
        "name": part.name,
        "size": part.size.name,
        "when": part.when.name,
        "layout": header_key(part.header) if part.header else None,
    }


def _forms(rows: Mapping[int, Form]) -> dict[str | int, Lua]:
    return {number: {"name": row.name, "layout": header_key(row.header)} for number, row in rows.items()}


def _literal(value: Lua, depth: int) -> str:
    """Write a value as Lua; None is left out of a table, a short table stands in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if value is None:
        raise TypeError("None stands in tables only, where it is left out")
    if isinstance(value, Mapping):
        items = [f"{_key(key)} = {_literal(item, depth + 1)}" for key, item in value.items() if item is not None]
    else:
        items = [_literal(item, depth + 1) for item in value]
    line = ", ".join(items)
    if len(line) + 2 * depth < 140 and "\n" not in line:
        return f"{{ {line} }}" if line else "{}"
    inner = "  " * (depth + 1)
    return "{\n" + "".join(f"{inner}{item},\n" for item in items) + "  " * depth + "}"


def _key(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return key if key.isidentifier() and key not in _RESERVED else f'["{key}"]'


_RESERVED = frozenset(
    [
        "and",
        "break",
        "do",
        "else",
        "elseif",
        "end",
        "false",
        "for",
        "function",
        "goto",
        "if",
        "in",
        "local",
        "nil",
        "not",
        "or",
        "repeat",
        "return",
        "then",
        "true",
        "until",
        "while",
    ]
)
