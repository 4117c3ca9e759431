"""pcapng (draft-ietf-opsawg-pcapng): writer of what a capture of the profile needs, nothing more; `reader` reads it and others'.

Blocks written: one Section Header, one Interface Description an interface, one Enhanced Packet a packet; little-endian, ns
resolution.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import IO

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
ORDER_MAGIC = 0x1A2B3C4D
END, COMMENT = 0, 1
_SHB_USERAPPL = 4
IF_NAME, IF_DESCRIPTION, IF_SPEED, IF_TSRESOL, IF_FCSLEN = 2, 3, 8, 9, 13
_EPB_FLAGS = 2
_OUTBOUND = 2  # epb_flags bits 0-1: seen where it leaves
_NS = 9  # if_tsresol: 10^-9 s
_PS_A_NS = 1000
_WHOLE = 0  # snaplen: no limit


class LinkType(IntEnum):
    """Link types of a capture (profile section 2)."""

    ETHERNET = 1  #: OEFH .. FCS
    USER0 = 147  #: 8 B ordered set (0x5C first), or preamble and frame (0xFB first)


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface.

    Parameters
    ----------
    name
        ``PORT`` or ``PORT.phy``.
    link_type
        What its packets are.
    fcs_bytes
        Bytes of FCS at the end of each packet; -1 = not told.
    speed_bps
        Line rate, 0 = not told.
    description
        For people.
    """

    name: str
    link_type: int
    fcs_bytes: int = -1
    speed_bps: int = 0
    description: str = ""


class Writer:
    """Writes packets to a binary stream; the caller brings them in order of time and closes the stream."""

    def __init__(self, stream: IO[bytes], interfaces: Sequence[Interface], *, application: str, comment: str = "") -> None:
        self._stream = stream
        options = _option(COMMENT, comment.encode()) if comment else b""
        options += _option(_SHB_USERAPPL, application.encode()) + _option(END, b"")
        self._block(SECTION, struct.pack("<IHHq", ORDER_MAGIC, 1, 0, -1) + options)
        for interface in interfaces:
            self._interface(interface)

    def packet(self, interface: int, t_ps: int, data: bytes, comment: str = "") -> None:
        """Write one packet.

        Parameters
        ----------
        interface
            Index among the interfaces.
        t_ps
            When it begins; rounded down to ns.
        data
            All of it.
        comment
            For people.
        """
        ticks = t_ps // _PS_A_NS
        head = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        options = _option(COMMENT, comment.encode()) if comment else b""
        options += _option(_EPB_FLAGS, struct.pack("<I", _OUTBOUND)) + _option(END, b"")
        self._block(PACKET, head + _padded(data) + options)

    def _interface(self, interface: Interface) -> None:
        options = _option(IF_NAME, interface.name.encode())
        if interface.description:
            options += _option(IF_DESCRIPTION, interface.description.encode())
        if interface.speed_bps:
            options += _option(IF_SPEED, struct.pack("<Q", interface.speed_bps))
        options += _option(IF_TSRESOL, bytes((_NS,)))
        if interface.fcs_bytes >= 0:
            options += _option(IF_FCSLEN, bytes((interface.fcs_bytes,)))
        options += _option(END, b"")
        self._block(INTERFACE, struct.pack("<HHI", interface.link_type, 0, _WHOLE) + options)

    def _block(self, kind: int, body: bytes) -> None:
        size = struct.pack("<I", len(body) + 12)
        self._stream.write(struct.pack("<I", kind) + size + body + size)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    value = value[:0xFFFF]
    return struct.pack("<HH", code, len(value)) + _padded(value)
