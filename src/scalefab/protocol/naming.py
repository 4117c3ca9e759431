"""What people and tools call a layout and a field: the same names in artefacts and in ``scalefab dissect``."""

from __future__ import annotations

from dataclasses import dataclass

from .fields import Field, Header
from .layout import SEND_ADDRESS, TH_REQUEST, TH_RESPONSE
from .opcodes import OPCODES, AddressRule, AtomicOp, ElementType, OpcodeRow, Status
from .tables import FORMS, SECTIONS, value_names

_TH = (TH_REQUEST, TH_RESPONSE)


def headers() -> tuple[Header, ...]:
    """Return every layout of the profile, once."""
    return tuple(header for section in SECTIONS for header in section.headers)


def header_key(header: Header) -> str:
    """Return a name that no other layout has."""
    return f"{header.name.lower()}_{'request' if header is TH_REQUEST else 'response'}" if header in _TH else header.name.lower()


def prefix(header: Header) -> str:
    """Return what stands before the names of its fields; both forms of TH share theirs."""
    return header.name.lower()


def title(header: Header) -> str:
    """Return its name for people."""
    return header.name.replace("_", " ")


def shows_hex(field: Field) -> bool:
    """Return whether people read it in hexadecimal: long words, masks, words that have parts or a fixed pattern."""
    if field.name.endswith("_ns"):
        return False
    fixed = field.constant is not None and field.width >= 8
    return field.width >= 32 or fixed or bool(field.parts) or field.name.endswith(("ethertype", "mask", "tpid", "kind"))


def part_names() -> tuple[str, ...]:
    """Return the names of all parts of a body that have no layout of their own."""
    return tuple(dict.fromkeys(p.name for row in OPCODES.values() for p in row.body if p.header is None))


def address_header(row: OpcodeRow) -> Header | None:
    """Return the layout of what TH.address holds, if it is no plain address."""
    return SEND_ADDRESS if row.address is AddressRule.QUEUE else None


def type_header(table: str) -> str:
    """Return the key of a layout of a table's rows: by any of them the type can be read, it stands at one place in all."""
    rows = FORMS[table].values()
    places = {(row.header.field("type").bit, row.header.field("type").width) for row in rows}
    if len(places) != 1:
        raise ValueError(f"the rows of {table} have their type at different places")
    return header_key(next(iter(rows)).header)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Names of numbers; ``width`` bits hold them all on the wire."""

    name: str
    width: int
    values: dict[str, int]


def enumerations() -> tuple[Enumeration, ...]:
    """Return every enumeration of the profile, once: those of fields, then the halves and meanings of TH.kind."""
    found: dict[str, Enumeration] = {}
    for header in headers():
        for f in header.fields:
            names = value_names(f)
            if names:
                name = f.table.removesuffix("s") if f.table else _snake(f.values)
                found.setdefault(name, Enumeration(name, f.width, {word: number for number, word in names.items()}))
    for kind, width in ((AtomicOp, 4), (ElementType, 4), (Status, 8)):
        found[_snake(kind)] = Enumeration(_snake(kind), width, {member.name: int(member) for member in kind})
    return tuple(found.values())


def _snake(kind: type | None) -> str:
    """Turn the name of a class into words joined by underscores."""
    name = "" if kind is None else kind.__name__
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


def field_names() -> tuple[str, ...]:
    """Return every ``layer.field`` of a dissection: those of layouts, plain ids and path id, bodies, pads, verdicts."""
    names = ["oefh.dst", "oefh.src", "oefh.path_id"]
    for header in headers():
        layer = prefix(header)
        names += [f"{layer}.{one.name}" for f in header.fields for one in (f, *f.parts)]
        names += [f"{layer}.{join.name}" for join in header.joins]
        if header.repeat:
            names.append(f"{layer}.{header.repeat.element.name}")
    names += [f"body.{part}" for part in (*part_names(), "pad")]
    return tuple(dict.fromkeys((*names, "frame.pad", "icrc.status", "fcs.status")))
