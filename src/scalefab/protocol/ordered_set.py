"""What a line carries beside frames (open profile section 2): the preamble and the CF_UPDATE ordered set, 8 B each.

Form of both and the CF_UPDATE message: `sib` (UEC 1.0 link layer); that a frame without LLR keeps the plain preamble: `own`.
"""

from __future__ import annotations

from .layout import Field, Header, Origin
from .profile import ORDERED_SET_BYTES

_SIB = Origin.SIB

PREAMBLE = b"\xfb" + 6 * b"\x55" + b"\xd5"
"""Preamble of a frame that is not eligible for LLR: no sequence in it."""

CF_UPDATE = Header(
    "CF_UPDATE",
    ORDERED_SET_BYTES,
    (
        Field("start", 0, 8, "an ordered set begins", _SIB, constant=0x5C),
        Field("type", 8, 8, "credits freed", _SIB, constant=0x10),
        Field("vc0", 16, 5, "first VC", _SIB),
        Field("c0", 21, 15, "low bits of the credits that it has freed", _SIB),
        Field("code", 36, 4, "fixed", _SIB, constant=0x6),
        Field("vc1", 40, 5, "second VC; the first again if only one is due", _SIB),
        Field("c1", 45, 15, "low bits of the credits that it has freed", _SIB),
        Field("reserved", 60, 4, "reserved", _SIB),
    ),
)
