"""pcapng (draft-ietf-opsawg-pcapng): writer and reader of what a capture of the profile needs, nothing more.

Blocks written: one Section Header, one Interface Description an interface, one Enhanced Packet a packet; little-endian, ns
resolution. The reader takes either byte order and any resolution, and skips blocks and options that it does not know.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import IO

from ..errors import InputError, Problem

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_ORDER_MAGIC = 0x1A2B3C4D
_END, _COMMENT = 0, 1
_SHB_USERAPPL = 4
_IF_NAME, _IF_DESCRIPTION, _IF_SPEED, _IF_TSRESOL, _IF_FCSLEN = 2, 3, 8, 9, 13
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
    ps_a_tick
        Resolution of its time stamps, ps; the writer's is 1000.
    """

    name: str
    link_type: int
    fcs_bytes: int = -1
    speed_bps: int = 0
    description: str = ""
    ps_a_tick: int = _PS_A_NS


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet as read; ``t_ps`` is a multiple of its interface's resolution."""

    interface: int
    t_ps: int
    data: bytes
    comment: str = ""


class Writer:
    """Writes packets to a binary stream; the caller brings them in order of time and closes the stream."""

    def __init__(self, stream: IO[bytes], interfaces: Sequence[Interface], *, application: str, comment: str = "") -> None:
        self._stream = stream
        options = _option(_COMMENT, comment.encode()) if comment else b""
        options += _option(_SHB_USERAPPL, application.encode()) + _option(_END, b"")
        self._block(_SECTION, struct.pack("<IHHq", _ORDER_MAGIC, 1, 0, -1) + options)
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
        options = _option(_COMMENT, comment.encode()) if comment else b""
        options += _option(_EPB_FLAGS, struct.pack("<I", _OUTBOUND)) + _option(_END, b"")
        self._block(_PACKET, head + _padded(data) + options)

    def _interface(self, interface: Interface) -> None:
        options = _option(_IF_NAME, interface.name.encode())
        if interface.description:
            options += _option(_IF_DESCRIPTION, interface.description.encode())
        if interface.speed_bps:
            options += _option(_IF_SPEED, struct.pack("<Q", interface.speed_bps))
        options += _option(_IF_TSRESOL, bytes((_NS,)))
        if interface.fcs_bytes >= 0:
            options += _option(_IF_FCSLEN, bytes((interface.fcs_bytes,)))
        options += _option(_END, b"")
        self._block(_INTERFACE, struct.pack("<HHI", interface.link_type, 0, _WHOLE) + options)

    def _block(self, kind: int, body: bytes) -> None:
        size = struct.pack("<I", len(body) + 12)
        self._stream.write(struct.pack("<I", kind) + size + body + size)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    value = value[:0xFFFF]
    return struct.pack("<HH", code, len(value)) + _padded(value)


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole capture: its interfaces, and its packets in the order of the file."""

    interfaces: tuple[Interface, ...]
    packets: tuple[Packet, ...]


def read_pcapng(path: Path) -> Recording:
    """Read a capture of one or more sections.

    Raises
    ------
    InputError
        It is no pcapng file, or is damaged; the message has the byte.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", "a capture", file=str(path))]) from error
    try:
        return _read(data)
    except _Damaged as error:
        raise InputError([Problem(str(error), "a pcapng capture", file=str(path))]) from error


class _Damaged(Exception):
    pass


def _read(data: bytes) -> Recording:
    interfaces: list[Interface] = []
    packets: list[Packet] = []
    first = 0  # index of the section's first interface
    order = ""
    at = 0
    while at < len(data):
        if data[at : at + 4] == struct.pack("<I", _SECTION):  # reads the same either way
            magic = data[at + 8 : at + 12]
            order = {struct.pack(sign + "I", _ORDER_MAGIC): sign for sign in "<>"}.get(magic, "")
            first = len(interfaces)
        if not order:
            raise _Damaged(f"no section header at byte {at}")
        kind, body, size = _block(data, at, order)
        try:
            if kind == _INTERFACE:
                interfaces.append(_interface(body, order))
            elif kind == _PACKET:
                packets.append(_packet(body, order, interfaces, first))
        except (struct.error, IndexError, UnicodeDecodeError) as error:
            raise _Damaged(f"the block at byte {at} is damaged: {error}") from error
        at += size
    if not order:
        raise _Damaged("it is empty")
    return Recording(tuple(interfaces), tuple(packets))


def _block(data: bytes, at: int, order: str) -> tuple[int, bytes, int]:
    if at + 12 > len(data):
        raise _Damaged(f"{len(data) - at} bytes at byte {at}, a block has at least 12")
    kind, size = struct.unpack_from(order + "II", data, at)
    if size < 12 or size % 4 or at + size > len(data) or data[at + size - 4 : at + size] != data[at + 4 : at + 8]:
        raise _Damaged(f"the block at byte {at} has a wrong length, {size}")
    return kind, data[at + 8 : at + size - 4], size


def _options(body: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, at)
        if code == _END:
            return
        if at + 4 + size > len(body):
            raise IndexError(f"option {code} is longer than its block")
        yield code, body[at + 4 : at + 4 + size]
        at += 4 + size + -size % 4


def _interface(body: bytes, order: str) -> Interface:
    link_type, _, _ = struct.unpack_from(order + "HHI", body)
    found = dict(_options(body[8:], order))
    resolution = found.get(_IF_TSRESOL, b"\x06")[0]
    ps_a_tick = 10**12 >> (resolution & 127) if resolution & 128 else 10**12 // 10**resolution
    return Interface(
        name=found.get(_IF_NAME, b"").decode(),
        link_type=link_type,
        fcs_bytes=found[_IF_FCSLEN][0] if _IF_FCSLEN in found else -1,
        speed_bps=struct.unpack(order + "Q", found[_IF_SPEED])[0] if _IF_SPEED in found else 0,
        description=found.get(_IF_DESCRIPTION, b"").decode(),
        ps_a_tick=ps_a_tick,
    )


def _packet(body: bytes, order: str, interfaces: Sequence[Interface], first: int) -> Packet:
    index, high, low, captured, _ = struct.unpack_from(order + "IIIII", body)
    interface = interfaces[first + index]
    data = body[20 : 20 + captured]
    if len(data) != captured:
        raise IndexError(f"{captured} bytes of packet, {len(data)} are there")
    found = dict(_options(body[20 + captured + -captured % 4 :], order))
    t_ps = (high << 32 | low) * interface.ps_a_tick
    return Packet(first + index, t_ps, data, found.get(_COMMENT, b"").decode())
