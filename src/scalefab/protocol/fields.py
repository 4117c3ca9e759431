"""What a layout is: fields that tile a fixed run of bytes, a list that may follow, and rows that give a number its layout.

Bits count from 0 = first on the wire (most significant bit of byte 0). Everything that is generated (codec, dissector, documents,
vectors, constants) reads these objects and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Literal


class Origin(StrEnum):
    """Where a row of the profile comes from."""

    PUB = "pub"
    PUB2 = "pub2"
    SIB = "sib"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a header.

    Parameters
    ----------
    name
        Name within its header; ``reserved*`` fields are sent 0 and ignored on receipt.
    bit, width
        First bit from the start of the header, and bits.
    meaning
        One line for people.
    origin
        Where name and width come from.
    values
        Names of its values, if it is a closed enumeration.
    constant
        The only value it may have, if it has one; unlike a reserved field it is checked on receipt.
    bias
        Wire value = value - bias.
    parts
        Named sub-fields, ``bit`` counted from the start of the header too; empty for most.
    sign
        ``signed``: two's complement.
    limits
        Smallest and largest value allowed, where that is less than the width holds; checked when sent and on receipt.
    table
        Name of the table of `tables` whose rows name its values (``opcodes``, ``ordered_sets``...), "" for most.
    """

    name: str
    bit: int
    width: int
    meaning: str
    origin: Origin
    values: type[IntEnum] | None = None
    constant: int | None = None
    bias: int = 0
    parts: tuple[Field, ...] = ()
    sign: Literal["unsigned", "signed"] = "unsigned"
    table: str = ""
    limits: tuple[int, int] | None = None

    @property
    def is_reserved(self) -> bool:
        """Whether it is sent 0 and ignored on receipt."""
        return self.name.startswith("reserved")

    @property
    def byte(self) -> int:
        """Byte of its first bit, from the start of the header."""
        return self.bit // 8

    @property
    def least(self) -> int:
        """Smallest value allowed."""
        return self.limits[0] if self.limits else self.bias - (1 << self.width >> 1 if self.sign == "signed" else 0)

    @property
    def most(self) -> int:
        """Largest value allowed."""
        return self.limits[1] if self.limits else self.least + (1 << self.width) - 1


@dataclass(frozen=True, slots=True)
class Join:
    """One number that stands in two fields with something between them; ``pieces``, most significant first, name the fields."""

    name: str
    pieces: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Repeat:
    """A list of equal elements right after the fixed bytes; the field named ``count`` says how many there are."""

    element: Field
    count: str


@dataclass(frozen=True, slots=True)
class Header:
    """A fixed run of bytes. Fields stand in wire order and leave no bit uncovered (else ValueError at import).

    ``steps`` is derived: (field, shift from the least significant bit, mask) for each field that is not reserved; ``cuts`` is the
    same as (name, shift, mask, bias), for speed.
    """

    name: str
    size_bytes: int
    fields: tuple[Field, ...]
    byte_order: Literal["big", "little"] = "big"
    joins: tuple[Join, ...] = ()
    repeat: Repeat | None = None
    steps: tuple[tuple[Field, int, int], ...] = field(init=False, repr=False, compare=False)
    cuts: tuple[tuple[str, int, int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bits = 8 * self.size_bytes
        _require_tiling(self.name, self.fields, 0, bits)
        for f in self.fields:
            if f.parts:
                _require_tiling(f"{self.name}.{f.name}", f.parts, f.bit, f.bit + f.width)
        names = {f.name for f in self.fields}
        wanted = {piece for join in self.joins for piece in join.pieces} | ({self.repeat.count} if self.repeat else set())
        if not wanted <= names:
            raise ValueError(f"{self.name} has no field {', '.join(sorted(wanted - names))}")
        steps = tuple((f, bits - f.bit - f.width, (1 << f.width) - 1) for f in self.fields if not f.is_reserved)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "cuts", tuple((f.name, shift, mask, f.bias) for f, shift, mask in steps))

    def field(self, name: str) -> Field:
        """Return the field of that name; KeyError if there is none."""
        for f in self.fields:
            if f.name == name:
                return f
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Form:
    """One row of a table: the number that stands on the wire, its name, and the layout of what has that number."""

    number: int
    name: str
    header: Header
    meaning: str
    origin: Origin


def by_number(*rows: Form) -> dict[int, Form]:
    """Return the rows by their numbers; ValueError if one stands there twice."""
    table = {row.number: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("a number has two rows")
    return table


def _require_tiling(where: str, fields: tuple[Field, ...], first: int, end: int) -> None:
    bit = first
    for f in fields:
        if f.bit != bit or f.width < 1:
            raise ValueError(f"{where}.{f.name} begins at bit {f.bit}, the field before it ends at bit {bit}")
        bit += f.width
    if bit != end:
        raise ValueError(f"{where} ends at bit {bit}, not {end}")
    if len({f.name for f in fields}) != len(fields):
        raise ValueError(f"{where} has a name twice")
