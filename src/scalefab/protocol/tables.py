"""All tables of the open profile in one place, for what is generated from them: section, layout, rows, names of values."""

from __future__ import annotations

from dataclasses import dataclass

from .fields import Field, Form, Header
from .layout import FCS, ICRC, NET, OEFH, READ_TOTAL, RH, SEND_ADDRESS, SIGNAL, SLAP_ID, TH_REQUEST, TH_RESPONSE, VLAN
from .layout_control import CONTROL_TYPES, SEN, SPACE_CONTROL
from .layout_link import (
    CC_UPDATE,
    CF_UPDATE,
    CTLOS_FRAME,
    CTLOS_INIT,
    CTLOS_SEQ,
    LINK_FRAMES,
    LLDP_TLV,
    ORDERED_SETS,
    PREAMBLE,
    PREAMBLE_LLR,
)
from .opcodes import OPCODES, OpcodeRow


@dataclass(frozen=True, slots=True)
class Section:
    """Layouts that belong together, in the profile's order; ``number`` is the profile's section."""

    number: int
    title: str
    headers: tuple[Header, ...]


SECTIONS = (
    Section(1, "Frame", (OEFH, VLAN, SLAP_ID, NET, RH, TH_REQUEST, TH_RESPONSE, READ_TOTAL, SIGNAL, SEND_ADDRESS, ICRC, FCS)),
    Section(2, "Link layer", (PREAMBLE_LLR, PREAMBLE, CTLOS_SEQ, CTLOS_INIT, CF_UPDATE, CC_UPDATE, CTLOS_FRAME, LLDP_TLV)),
    Section(4, "Control of sequence spaces", (SPACE_CONTROL,)),
    Section(6, "Switch Event Notification", (SEN,)),
)
"""Every layout of the profile exactly once."""

FORMS: dict[str, dict[int, Form]] = {
    "ordered_sets": ORDERED_SETS,
    "link_frames": LINK_FRAMES,
    "control_types": CONTROL_TYPES,
}
"""Tables whose rows are `Form`; `opcodes.OPCODES`, the other table, has rows of its own kind."""


def rows_of(table: str) -> dict[int, Form] | dict[int, OpcodeRow]:
    """Return the rows that a field's ``table`` names; KeyError if there is no such table."""
    return OPCODES if table == "opcodes" else FORMS[table]


def value_names(field: Field) -> dict[int, str]:
    """Return the names of a field's values by number; empty if they have none."""
    if field.table:
        return {number: row.name for number, row in rows_of(field.table).items()}
    return {} if field.values is None else {int(value): value.name for value in field.values}
