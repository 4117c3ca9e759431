"""Value objects of a packet taken apart: layers, fields, what is wrong, the verdict on ICRC and FCS."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..protocol.fields import Field
from ..protocol.tables import value_names


class Check(StrEnum):
    """What ICRC or FCS of a packet says."""

    GOOD = "good"
    BAD = "bad"
    POISONED = "poisoned"  #: FCS only: the complement of the right one
    ABSENT = "absent"  #: the packet has none
    UNVERIFIED = "unverified"  #: it is not whole, or cannot be found


class Kind(StrEnum):
    """What a packet is."""

    FRAME = "frame"
    LINK_FRAME = "link frame"
    ORDERED_SET = "ordered set"
    LLDP = "LLDP"
    OTHER = "other"  #: not of the profile


@dataclass(frozen=True, slots=True)
class Value:
    """One field as found. ``name`` without its layer; bytes for data and for fields wider than 64 bits."""

    name: str
    value: int | bytes
    field: Field | None = None

    @property
    def word(self) -> str:
        """The name of an enumeration's value, "" for others."""
        if self.field is None or isinstance(self.value, bytes):
            return ""
        return value_names(self.field).get(self.value, "")


@dataclass(frozen=True, slots=True)
class Layer:
    """One layout as found at ``offset_bytes`` of the packet; ``title`` is the name of its row (an opcode, a type), else ""."""

    name: str
    offset_bytes: int
    values: tuple[Value, ...]
    title: str = ""

    def __getitem__(self, name: str) -> int:
        for value in self.values:
            if value.name == name and isinstance(value.value, int):
                return value.value
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: a stable word, the field (``layer.field``), the byte (-1 = none), in words."""

    reason: str
    field: str
    offset_bytes: int
    message: str

    def __str__(self) -> str:
        where = f" (byte {self.offset_bytes})" if self.offset_bytes >= 0 else ""
        return f"{self.reason} at {self.field}{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Dissection:
    """A packet taken apart; ``faults`` in the order of a receiver's checks, so the first one is why it drops the packet."""

    kind: Kind
    layers: tuple[Layer, ...]
    icrc: Check
    fcs: Check
    faults: tuple[Fault, ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """Names of its opcodes, its type, or of RH's op."""
        named = tuple(layer.title for layer in self.layers if layer.title)
        return named or tuple(v.word for layer in self.layers if layer.name == "rh" for v in layer.values if v.name == "op")
