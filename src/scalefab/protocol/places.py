"""Where the fields of a frame stand, for errors: bytes from the first OEFH byte."""

from __future__ import annotations

from typing import NoReturn

from ..errors import WireError
from .layout import NET, OEFH, RH, TH_RESPONSE, VLAN
from .rules import Fault

LENGTH_AT = OEFH.field("total_length").byte
NET_AT = OEFH.size_bytes
RH_AT = NET_AT + NET.size_bytes
OFFSETS = {f"{h.name.lower()}.{f.name}": f.byte for h in (OEFH, VLAN, NET, RH, TH_RESPONSE) for f in h.fields} | {"th.address": 8}
"""From the start of each field's own header."""


def raise_fault(fault: Fault, shift: int) -> NoReturn:
    """Raise a fault of OEFH, NET or RH as WireError; ``shift``: bytes of the tag."""
    layer = fault.field.partition(".")[0]
    base = {"oefh": 0, "net": NET_AT + shift, "rh": RH_AT + shift}[layer]
    raise WireError(fault.reason, fault.field, base + OFFSETS[fault.field], fault.message)
