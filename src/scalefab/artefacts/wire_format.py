"""``docs/wire-format.md``: every layout with a bit diagram and the origin of each field, the tables, the enumerations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import resources

from ..protocol.fields import Field, Form, Header
from ..protocol.layout import ICRC_MASK
from ..protocol.naming import enumerations, header_key, prefix
from ..protocol.opcodes import OPCODES, OpcodeRow, PartSize, When
from ..protocol.tables import FORMS, SECTIONS, value_names
from .constants import constants

_ROW_BITS = 32
_TEMPLATE = "wire-format.md"


def wire_format() -> str:
    """Return the text of the document."""
    parts = []
    for section in SECTIONS:
        parts.append(f"## {section.title}")
        parts += [_header(header) for header in section.headers]
        if section.number == 1:
            parts += [_icrc(), "### Opcodes", _opcodes(OPCODES.values())]
    parts.append("## Tables")
    for name, rows in FORMS.items():
        parts += [f"### {_words(name)}", _forms(rows.values())]
    parts.append("## Enumerations")
    for enumeration in enumerations():
        values = ", ".join(f"{number} {name}" for name, number in enumeration.values.items())
        parts.append(f"**{_words(enumeration.name)}** ({enumeration.width} bits): {values}.")
    parts += ["## Constants", "\n".join(_constants())]
    template = resources.files(__package__).joinpath("templates", _TEMPLATE).read_text(encoding="utf-8")
    return template.replace("@BODY@", "\n\n".join(parts))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _header(header: Header) -> str:
    key = header_key(header)
    order = ", least significant byte first" if header.byte_order == "little" else ""
    lines = [f"### {key.upper()}, {header.size_bytes} B{order}", "", f"Filter prefix `scalefab.{prefix(header)}`.", ""]
    lines += [
        "```",
        *bit_diagram(header),
        "```",
        "",
        "| bit | width | field | meaning | origin |",
        "| --- | --- | --- | --- | --- |",
    ]
    for f in header.fields:
        lines.append(_row(f, f.name))
        lines += [_row(part, f"{f.name}: {part.name}") for part in f.parts]
    lines += [f"\n`{j.name}` = {' and '.join(f'`{p}`' for p in j.pieces)} joined: {j.meaning}." for j in header.joins]
    if header.repeat:
        element = header.repeat.element
        listed = f"`{header.repeat.count}` times `{element.name}` ({element.width} bits)"
        lines.append(f"\n{listed} follow: {element.meaning} (`{element.origin}`).")
    return "\n".join(lines)


def _row(f: Field, name: str) -> str:
    notes = [f.meaning.replace("|", "\\|")]
    if f.constant is not None:
        notes.append(f"always {f.constant:#x}")
    if f.bias:
        notes.append(f"on the wire less {f.bias}")
    if f.sign == "signed":
        notes.append("signed")
    if value_names(f) and len(value_names(f)) <= 4:
        notes.append(", ".join(f"{number} {word}" for number, word in value_names(f).items()))
    return f"| {f.bit} | {f.width} | {name} | {'; '.join(notes)} | `{f.origin}` |"


def bit_diagram(header: Header) -> Iterator[str]:
    """Draw a layout as RFCs do, 32 bits a line; a field too narrow for its name has a letter that is explained below."""
    boxes = list(_boxes(header))
    total = 8 * header.size_bytes
    width = min(total, _ROW_BITS)
    yield " " + " ".join(str(i // 10) if i % 10 == 0 else " " for i in range(width)).rstrip()
    yield " " + " ".join(str(i % 10) for i in range(width))
    legend: list[str] = []
    edges: set[int] = {0, width}
    for first in range(0, total, _ROW_BITS):
        here = [(max(b, first), min(e, first + _ROW_BITS), name) for b, e, name in boxes if b < first + _ROW_BITS and e > first]
        marks = {b - first for b, _, _ in here} | {e - first for _, e, _ in here}
        yield _rule(edges | marks, max(edges | marks))
        yield "|" + "".join(_cell(b, e, name, legend) + "|" for b, e, name in here)
        edges = marks
    yield _rule(edges, max(edges))
    yield from legend


def _boxes(header: Header) -> Iterator[tuple[int, int, str]]:
    """Yield first bit, end and label; a field of more than four lines is drawn as its first and last line."""
    for f in header.fields:
        for one in f.parts or (f,):
            label = f"{one.name} = {one.constant:#x}" if one.constant is not None else one.name
            yield one.bit, one.bit + one.width, "" if one.is_reserved and one.width < 8 else label


def _cell(first: int, end: int, name: str, legend: list[str]) -> str:
    room = 2 * (end - first) - 1
    if len(name) > room:
        short = name.partition(" ")[0]
        if len(short) > room:
            mark = chr(ord("a") + len(legend))[:room]
            legend.append(f"{mark}: {name}")
            return mark.center(room)
        return short.center(room)
    return name.center(room)


def _rule(marks: Iterable[int], width: int) -> str:
    return "".join("+" if i % 2 == 0 and i // 2 in set(marks) else "-" for i in range(2 * width + 1))


def _icrc() -> str:
    masks = ", ".join(f"byte {at} or-ed with {bits:#04x}" for at, bits in ICRC_MASK)
    return "\n".join(
        (
            "ICRC is CRC-32 of IEEE 802.3 from the first OEFH byte to the end of the last body pad, a tag left out",
            f"and, while it is computed, {masks}: what a switch may change.",
            "FCS is the ordinary one over everything before it; a **poisoned** frame carries its complement.",
            "`pad` = max(0, 60 - total_length) zeroes.",
        )
    )


def _opcodes(rows: Iterable[OpcodeRow]) -> str:
    lines = ["| op | name | VC | TH | body | length | kind | address | meaning |", "| --- " * 9 + "|"]
    for row in rows:
        vcs = " or ".join(map(str, row.vcs))
        body = " \\| ".join(_part(p.name, p.size, p.when) for p in row.body) or "none"
        cells = (
            row.opcode,
            row.name,
            vcs,
            row.th.size_bytes,
            body,
            row.length.value,
            row.kind.value,
            row.address.value,
            row.meaning,
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(
        [*lines, "", "All `own`. Each part of a body is padded to 8 B; the next TH begins there, the list ends at ICRC."]
    )


def _part(name: str, size: PartSize, when: When) -> str:
    text = f"{name} {size.value} B"
    return text if when is When.ALWAYS else f"{text} if {when.value}"


def _forms(rows: Iterable[Form]) -> str:
    lines = ["| type | name | layout | meaning | origin |", "| --- " * 5 + "|"]
    lines += [f"| {r.number:#04x} | {r.name} | {header_key(r.header).upper()} | {r.meaning} | `{r.origin}` |" for r in rows]
    return "\n".join(lines)


def _constants() -> Iterator[str]:
    yield "| name | value | meaning |"
    yield "| --- | --- | --- |"
    for name, (value, text) in constants().items():
        yield f"| {name} | {value if value < 1 << 15 else hex(value)} | {text} |"
