"""The LLDP TLV by which two ports agree (open profile section 2, `own`): value object, bytes, and what keeps a link down."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

from ..errors import WireError
from .bits import Bytes, pack, read
from .layout import ETHERTYPE_CONTROL, ETHERTYPE_DATA, FRAME_MAX_BYTES
from .layout_link import LLDP_PRIVATE, LLDP_TLV, Fec
from .reasons import Reason

_LENGTH_BASE = 36  # OUI, subtype and the fixed part


@dataclass(frozen=True, slots=True)
class LldpTlv:
    """What a port says of itself; names are those of `layout_link.LLDP_TLV`, ``credits`` one limit a VC."""

    credits: tuple[int, ...]
    llr: int = 1
    cbfc: int = 1
    slap_safe: int = 0
    fec: int = Fec.RS_272
    credit_bytes: int = 64
    overhead_bytes: int = 0
    frame_max: int = FRAME_MAX_BYTES
    ctlos_spacing_bytes: int = 2048
    lossless_mask: int = 0xF
    data_ethertype: int = ETHERTYPE_DATA
    control_ethertype: int = ETHERTYPE_CONTROL
    id: int = 0
    stack: int = 0
    port: int = 0
    plane: int = 0
    version: int = 0
    variant: int = 0


class Difference(NamedTuple):
    """A field that both ends must say alike and do not."""

    field: str
    ours: int
    theirs: int


def encode_lldp(tlv: LldpTlv) -> bytes:
    """Turn the TLV into bytes, its type and length first; WireError RANGE with the field."""
    count = len(tlv.credits)
    values = {f.name: getattr(tlv, f.name) for f in fields(tlv)}
    out = pack(LLDP_TLV, {**values, "vc_count": count, "tlv_length": _LENGTH_BASE + 2 * count})
    _check_mask(tlv.lossless_mask, count)
    return out


def decode_lldp(data: Bytes) -> LldpTlv:
    """Read the TLV at the beginning of ``data``.

    Raises
    ------
    WireError
        LENGTH, CONSTANT (another TLV) or RANGE.
    """
    values = read(LLDP_TLV, data)
    count, length = values.pop("vc_count"), values.pop("tlv_length")
    if length != _LENGTH_BASE + 2 * count:
        raise WireError(Reason.LENGTH, "lldp_tlv.tlv_length", 0, f"{length} where {count} VCs make {_LENGTH_BASE + 2 * count}")
    _check_mask(values["lossless_mask"], count)
    return LldpTlv(**values)


def differences(ours: LldpTlv, theirs: LldpTlv) -> tuple[Difference, ...]:
    """Return what keeps the link down: each field that both ends must say alike, with both values; empty if they agree."""
    pairs = [Difference("vc_count", len(ours.credits), len(theirs.credits))]
    names = [f.name for f in fields(ours) if f.name not in LLDP_PRIVATE]
    pairs += [Difference(name, int(getattr(ours, name)), int(getattr(theirs, name))) for name in names]
    return tuple(pair for pair in pairs if pair.ours != pair.theirs)


def _check_mask(mask: int, count: int) -> None:
    if mask >> count:
        raise WireError(Reason.RANGE, "lldp_tlv.lossless_mask", 18, f"{mask:#x} names VCs beyond the {count} there are")
