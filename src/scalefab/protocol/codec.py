"""Frames to bytes and back (open profile section 1): `encode`, `decode`, and the raw carrier's forms of both.

`decode` accepts exactly what `encode` can make, but for reserved bits, pads and the filling between ICRC and FCS, which it
ignores; it raises `WireError` and nothing else for any bytes. Both work on OEFH .. FCS: preamble and gap are the line's, but for
the raw carrier, which has none: there the preamble's 8 B follow ICRC, outside total_length and on top of frame_max.
"""

from __future__ import annotations

from collections.abc import Collection

from .bits import Bytes, pack, unpack
from .decoder import decode
from .encoder import encode, encode_into
from .frame import Frame, WireFormat
from .layout import VLAN, VLAN_OFFSET_BYTES
from .link import Preamble, decode_preamble, encode_preamble, is_preamble
from .places import LENGTH_AT
from .profile import FCS_BYTES, PREAMBLE_BYTES

__all__ = ["Bytes", "decode", "decode_raw", "encode", "encode_into", "encode_raw", "pack", "unpack"]

_DEFAULT = WireFormat()


def encode_raw(frame: Frame, preamble: Preamble, wire: WireFormat = _DEFAULT, *, with_fcs: bool = True) -> bytes:
    """Turn a frame and its preamble into what the raw carrier sends; parameters and errors as `encode`."""
    return encode(frame, wire, with_fcs=with_fcs, after=encode_preamble(preamble))


def decode_raw(
    data: Bytes,
    wire: WireFormat = _DEFAULT,
    *,
    with_fcs: bool = True,
    dst_id: int | None = None,
    partitions: Collection[int] | None = None,
) -> tuple[Frame, Preamble | None]:
    """Read what a raw carrier received: the frame, and its preamble if one is there (its first byte says so).

    Parameters and errors as `decode`; CONSTANT for 8 B that begin as a preamble and are none.
    """
    frame = decode(data, wire, with_fcs=with_fcs, dst_id=dst_id, partitions=partitions, after_bytes=PREAMBLE_BYTES)
    view = memoryview(data)
    shift = VLAN.size_bytes if int.from_bytes(view[VLAN_OFFSET_BYTES : VLAN_OFFSET_BYTES + 2]) == VLAN.fields[0].constant else 0
    start = int.from_bytes(view[LENGTH_AT : LENGTH_AT + 2]) + shift
    rest = view[start : len(view) - (FCS_BYTES if with_fcs else 0)]
    return frame, decode_preamble(rest[:PREAMBLE_BYTES]) if is_preamble(rest) else None
