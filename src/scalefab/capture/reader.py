"""Packets of a capture file, one at a time: pcapng, or classic pcap with µs or ns, in either byte order.

What comes before a damaged place is still delivered; the damage itself is an `InputError` that names the byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import InputError, Problem
from .pcapng import (
    COMMENT,
    END,
    IF_DESCRIPTION,
    IF_FCSLEN,
    IF_NAME,
    IF_SPEED,
    IF_TSRESOL,
    INTERFACE,
    ORDER_MAGIC,
    PACKET,
    SECTION,
    Interface,
)

_PS_A_SECOND = 10**12
_OLD_PACKET, _SIMPLE_PACKET = 2, 3  # pcapng block types that the writer does not use
_IF_TSOFFSET = 14
_PCAP_TICKS = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}  # ticks a second by magic
_PCAP_HEADER_BYTES, _PCAP_RECORD_BYTES = 24, 16
_LINK_TYPE_MASK = 0xFFFF
_FCS_TOLD = 1 << 26  # in the link type word of pcap: its top four bits count 16-bit words of FCS


@dataclass(frozen=True, slots=True)
class CapturedPacket:
    """One packet of a capture.

    Parameters
    ----------
    number
        Counted from 1 through the file.
    interface
        Where it was seen.
    t_ps
        Time stamp, ps since the epoch of the file; 0 where the file has none.
    data
        What was captured.
    size_bytes
        Bytes it had; more than ``len(data)`` if the capture cut it short.
    comment
        For people.
    """

    number: int
    interface: Interface
    t_ps: int
    data: bytes
    size_bytes: int
    comment: str = ""


@dataclass(frozen=True, slots=True)
class _Clock:
    interface: Interface
    ticks_a_second: int
    offset_s: int = 0

    def ps(self, ticks: int) -> int:
        return ticks * _PS_A_SECOND // self.ticks_a_second + self.offset_s * _PS_A_SECOND


class _DamageError(Exception):
    pass


def read_capture(path: Path) -> Iterator[CapturedPacket]:
    """Deliver the packets of a capture in the order of the file.

    Raises
    ------
    InputError
        The file cannot be read, is no capture, or is damaged; packets before the damage have been delivered.
    """
    try:
        with path.open("rb") as stream:
            yield from _packets(stream, path.stat().st_size)
    except OSError as error:
        raise InputError([Problem(f"cannot be read: {error.strerror}", "a capture", file=str(path))]) from error
    except _DamageError as error:
        raise InputError([Problem(str(error), "a pcapng or pcap capture", file=str(path))]) from error


def _packets(stream: IO[bytes], size: int) -> Iterator[CapturedPacket]:
    magic = stream.read(4)
    if len(magic) < 4:
        raise _DamageError("it is empty" if not magic else f"it has {len(magic)} bytes only")
    stream.seek(0)
    if magic == struct.pack("<I", SECTION):  # reads the same either way
        yield from _pcapng(stream, size)
        return
    for order in "<>":
        ticks = _PCAP_TICKS.get(struct.unpack(order + "I", magic)[0])
        if ticks is not None:
            yield from _pcap(stream, size, order, ticks)
            return
    raise _DamageError(f"it begins with {magic.hex(' ')}, which is no magic of a capture")


def _pcap(stream: IO[bytes], size: int, order: str, ticks: int) -> Iterator[CapturedPacket]:
    head = stream.read(_PCAP_HEADER_BYTES)
    if len(head) < _PCAP_HEADER_BYTES:
        raise _DamageError(f"the file header ends after {len(head)} of {_PCAP_HEADER_BYTES} bytes")
    (link,) = struct.unpack_from(order + "I", head, 20)
    fcs_bytes = 2 * (link >> 28) if link & _FCS_TOLD else -1
    clock = _Clock(Interface("", link & _LINK_TYPE_MASK, fcs_bytes), ticks)
    number, at = 0, _PCAP_HEADER_BYTES
    while at < size:
        record = stream.read(_PCAP_RECORD_BYTES)
        if len(record) < _PCAP_RECORD_BYTES:
            raise _DamageError(f"the record at byte {at} ends after {len(record)} of {_PCAP_RECORD_BYTES} bytes")
        seconds, fraction, captured, whole = struct.unpack(order + "IIII", record)
        if at + _PCAP_RECORD_BYTES + captured > size:
            left = size - at - _PCAP_RECORD_BYTES
            raise _DamageError(f"the packet at byte {at} should have {captured} bytes, {left} are there")
        number += 1
        yield CapturedPacket(number, clock.interface, clock.ps(seconds * ticks + fraction), stream.read(captured), whole)
        at += _PCAP_RECORD_BYTES + captured


def _pcapng(stream: IO[bytes], size: int) -> Iterator[CapturedPacket]:
    clocks: list[_Clock] = []
    order = ""
    number = at = 0
    while at < size:
        head = stream.read(12)
        if head[:4] == struct.pack("<I", SECTION):
            order = {struct.pack(sign + "I", ORDER_MAGIC): sign for sign in "<>"}.get(head[8:12], "")
            clocks = []  # each section counts its own
        if not order:
            raise _DamageError(f"the section at byte {at} has no byte order")
        kind, body, length = _block(stream, head, at, size, order)
        try:
            if kind == INTERFACE:
                clocks.append(_interface(body, order))
            elif kind in (PACKET, _OLD_PACKET, _SIMPLE_PACKET):
                number += 1
                yield _packet(kind, body, order, clocks, number)
        except (struct.error, IndexError) as error:
            raise _DamageError(f"the block at byte {at} is damaged: {error}") from error
        at += length


def _block(stream: IO[bytes], head: bytes, at: int, size: int, order: str) -> tuple[int, bytes, int]:
    if len(head) < 12:
        raise _DamageError(f"{len(head)} bytes at byte {at}, a block has 12 at least")
    kind, length = struct.unpack_from(order + "II", head)
    if length < 12 or length % 4:
        raise _DamageError(f"the block at byte {at} has a wrong length, {length}")
    if at + length > size:
        raise _DamageError(f"the block at byte {at} should have {length} bytes, {size - at} are there")
    whole = head[8:] + stream.read(length - 12)
    if whole[-4:] != head[4:8]:
        raise _DamageError(f"the block at byte {at} has two lengths, {length} and {struct.unpack(order + 'I', whole[-4:])[0]}")
    return kind, whole[:-4], length


def _options(body: bytes, order: str) -> dict[int, bytes]:
    """Read the options of a block; of an option that stands twice the first counts."""
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(body):
        code, size = struct.unpack_from(order + "HH", body, at)
        if code == END:
            break
        if at + 4 + size > len(body):
            raise IndexError(f"option {code} is longer than its block")
        found.setdefault(code, body[at + 4 : at + 4 + size])
        at += 4 + size + -size % 4
    return found


def _interface(body: bytes, order: str) -> _Clock:
    link_type, _, _ = struct.unpack_from(order + "HHI", body)
    found = _options(body[8:], order)
    power = found.get(IF_TSRESOL, b"\x06")[0]
    ticks = 1 << (power & 0x7F) if power & 0x80 else 10**power
    interface = Interface(
        name=found.get(IF_NAME, b"").decode(errors="replace"),
        link_type=link_type,
        fcs_bytes=found[IF_FCSLEN][0] if IF_FCSLEN in found else -1,
        speed_bps=struct.unpack(order + "Q", found[IF_SPEED])[0] if IF_SPEED in found else 0,
        description=found.get(IF_DESCRIPTION, b"").decode(errors="replace"),
    )
    offset = struct.unpack(order + "q", found[_IF_TSOFFSET])[0] if _IF_TSOFFSET in found else 0
    return _Clock(interface, ticks, offset)


def _packet(kind: int, body: bytes, order: str, clocks: list[_Clock], number: int) -> CapturedPacket:
    index = ticks = 0
    if kind == _SIMPLE_PACKET:
        (whole,) = struct.unpack_from(order + "I", body)
        data, rest = body[4 : 4 + whole], b""
        captured = len(data)  # no longer than the block: a snap length may have cut it
    else:
        form = "IIIII" if kind == PACKET else "HHIIII"
        words = struct.unpack_from(order + form, body)
        index, (high, low, captured, whole) = words[0], words[-4:]
        ticks = high << 32 | low
        data, rest = body[20 : 20 + captured], body[20 + captured + -captured % 4 :]
    if len(data) != captured:
        raise IndexError(f"{captured} bytes of packet, {len(data)} are there")
    if index >= len(clocks):
        raise IndexError(f"interface {index} of {len(clocks)}")
    clock = clocks[index]
    t_ps = 0 if kind == _SIMPLE_PACKET else clock.ps(ticks)
    return CapturedPacket(
        number, clock.interface, t_ps, data, whole, _options(rest, order).get(COMMENT, b"").decode(errors="replace")
    )
