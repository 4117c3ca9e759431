"""The SystemVerilog package: packed structs (their first member is first on the wire), enumerations, bit positions."""

from __future__ import annotations

from collections.abc import Iterator

from ..protocol.fields import Field, Header
from ..protocol.naming import enumerations, header_key, headers
from .constants import constants
from .names import head

_KEYWORDS = frozenset(  # of SystemVerilog, then of C++: simulators make C++ of it
    [
        "alias",
        "context",
        "cover",
        "event",
        "expect",
        "final",
        "local",
        "priority",
        "tagged",
        "type",
        "unique",
        "char",
        "class",
        "const",
        "delete",
        "double",
        "float",
        "int",
        "long",
        "new",
        "operator",
        "private",
        "public",
        "queue",
        "short",
        "signed",
        "stack",
        "switch",
        "this",
        "union",
        "void",
    ]
)


def systemverilog_package() -> str:
    """Return the text of ``scalefab_pkg.sv``."""
    lines = [head("//"), "", "package scalefab_pkg;", ""]
    for name, (value, text) in constants().items():
        width = max(32, (value.bit_length() + 7) // 8 * 8)
        lines.append(f"  localparam logic [{width - 1}:0] {name} = {width}'h{value:X};  // {text}")
    for enumeration in enumerations():
        name, width = enumeration.name, enumeration.width
        members = [f"    {name.upper()}_{word} = {width}'d{value}" for word, value in enumeration.values.items()]
        lines += ["", f"  typedef enum logic [{width - 1}:0] {{", ",\n".join(members), f"  }} {name}_e;"]
    for header in headers():
        lines += ["", *_header(header)]
    return "\n".join([*lines, "", "endpackage", ""])


def _header(header: Header) -> Iterator[str]:
    key = header_key(header)
    yield f"  localparam int {key.upper()}_BYTES = {header.size_bytes};"
    for f in header.fields:
        for one in (f, *f.parts):
            yield from _places(key.upper(), one)
    order = "" if header.byte_order == "big" else "; on the wire least significant byte first"
    yield f"  // {header.name}{order}"
    yield "  typedef struct packed {"
    for f in header.fields:
        sign = " signed" if f.sign == "signed" else ""
        yield f"    logic{sign} [{f.width - 1}:0] {_member(f.name)};  // {f.meaning} ({f.origin})"
    yield f"  }} {key}_t;"


def _places(key: str, f: Field) -> Iterator[str]:
    name = f"{key}_{f.name.upper()}"
    yield f"  localparam int {name}_BIT = {f.bit}, {name}_WIDTH = {f.width};"
    if f.bias:
        yield f"  localparam int {name}_BIAS = {f.bias};  // value = bits + this"
    if f.constant is not None:
        yield f"  localparam logic [{f.width - 1}:0] {name}_VALUE = {f.width}'h{f.constant:X};"


def _member(name: str) -> str:
    return f"{name}_" if name in _KEYWORDS else name
