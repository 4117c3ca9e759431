"""ICRC (end to end) and FCS (one link) of a frame: both the CRC-32 of IEEE 802.3, which is ``zlib.crc32``.

ICRC, open profile section 1 (`pub2`): from the first OEFH byte to the end of the last body pad; while it is computed the bits
of `layout.ICRC_MASK`, which a switch may change, count as ones and an 802.1Q tag as absent. FCS (`pub`): everything from the
first byte to the end of the pad, a tag too; a **poisoned** frame carries its complement. Both go least significant byte first.
"""

from __future__ import annotations

from enum import Enum
from zlib import crc32

from ..errors import WireError
from .layout import FCS, ICRC_MASK, VLAN, VLAN_OFFSET_BYTES
from .profile import HEADER_BYTES
from .reasons import Reason

_FIRST_MASKED = ICRC_MASK[0][0]
_AFTER_MASKED = ICRC_MASK[-1][0] + 1
_MASK = tuple(bits for _, bits in ICRC_MASK)


class FcsState(Enum):
    """What the FCS of a received frame says."""

    GOOD = "good"
    POISONED = "poisoned"
    BAD = "bad"


def icrc(frame: bytes | bytearray | memoryview, end: int, tagged: bool = False) -> int:
    """Compute the ICRC of a frame.

    Parameters
    ----------
    frame
        From the first OEFH byte, as on the wire.
    end
        Byte after the last body pad, where the ICRC itself stands, counted as if untagged (total_length - 4).
    tagged
        Whether an 802.1Q tag stands before the EtherType.

    Returns
    -------
    int
        32 bits.

    Raises
    ------
    ValueError
        ``frame`` is shorter than what ICRC covers, or ``end`` lies inside the fixed headers.
    """
    shift = VLAN.size_bytes if tagged else 0
    view = memoryview(frame)
    if end < HEADER_BYTES or len(view) < end + shift:
        raise ValueError(f"ICRC covers {HEADER_BYTES} bytes at least, {end} here; the frame has {len(view)}")
    crc = crc32(view[:VLAN_OFFSET_BYTES])
    crc = crc32(view[VLAN_OFFSET_BYTES + shift : _FIRST_MASKED + shift], crc)
    masked = bytes(b | m for b, m in zip(view[_FIRST_MASKED + shift : _AFTER_MASKED + shift], _MASK, strict=True))
    return crc32(view[_AFTER_MASKED + shift : end + shift], crc32(masked, crc))


def fcs(frame: bytes | bytearray | memoryview) -> int:
    """Compute the FCS of a frame given without one: 32 bits."""
    return crc32(frame)


def poisoned(crc: int) -> int:
    """Return the FCS that marks a frame as poisoned, from the right one."""
    return crc ^ 0xFFFFFFFF


def fcs_state(frame: bytes | bytearray | memoryview) -> FcsState:
    """Judge a frame that ends with its FCS; anything too short to hold one is BAD."""
    view = memoryview(frame)
    if len(view) < FCS.size_bytes:
        return FcsState.BAD
    end = len(view) - FCS.size_bytes
    right = crc32(view[:end])
    found = int.from_bytes(view[end:], "little")
    if found == right:
        return FcsState.GOOD
    return FcsState.POISONED if found == poisoned(right) else FcsState.BAD


def checked_fcs(frame: bytes | bytearray | memoryview) -> memoryview:
    """Return a received frame without its FCS.

    Raises
    ------
    WireError
        FCS, or POISONED if it is the complement of the right one.
    """
    state = fcs_state(frame)
    view = memoryview(frame)
    end = len(view) - FCS.size_bytes
    if state is FcsState.POISONED:
        raise WireError(Reason.POISONED, "fcs", end, "a switch or sender has declared the frame broken")
    if state is FcsState.BAD:
        raise WireError(Reason.FCS, "fcs", max(end, -1), "bits changed on this link" if end >= 0 else "no room for an FCS")
    return view[:end]


def poison(frame: bytearray | memoryview) -> None:
    """Overwrite the FCS at the end of a whole frame with the complement of the right one.

    Raises
    ------
    ValueError
        ``frame`` has no room for an FCS.
    """
    view = memoryview(frame)
    end = len(view) - FCS.size_bytes
    if end < 0:
        raise ValueError(f"a frame of {len(view)} bytes has no FCS")
    view[end:] = poisoned(crc32(view[:end])).to_bytes(FCS.size_bytes, "little")
