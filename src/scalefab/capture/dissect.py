"""One captured packet, taken apart as far as its bytes go: every layer with every field, what is wrong with it, and where.

`protocol.codec` refuses a bad frame; here it is still shown. Layers and fields carry the names of `protocol.naming`, so that
this, the Wireshark dissector and the Scapy layers say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..errors import WireError
from ..protocol.codec import decode
from ..protocol.fields import Field, Form, Header
from ..protocol.frame import WireFormat
from ..protocol.icrc import icrc
from ..protocol.layout import (
    CONTROL_BODY_BYTES,
    FCS,
    ICRC,
    NET,
    OEFH,
    RH,
    SLAP_ID,
    TH_RESPONSE,
    TOTAL_LENGTH_MIN,
    UNPADDED_MIN_BYTES,
    VLAN,
    VLAN_OFFSET_BYTES,
    RhOp,
)
from ..protocol.layout_control import CONTROL_TYPES
from ..protocol.layout_link import CONTROL_START, LINK_DA, LINK_FRAMES, LLDP_OUI, LLDP_TLV, ORDERED_SETS, PREAMBLES, START
from ..protocol.naming import address_header, prefix
from ..protocol.opcodes import LengthRule, body_parts, padded
from ..protocol.profile import HEADER_BYTES, ICRC_BYTES, ORDERED_SET_BYTES
from ..protocol.reasons import Reason
from ..protocol.trailer import FcsMode, find_fcs
from .dissection import Check, Dissection, Fault, Kind, Layer, Value

_LLDP_ETHERTYPE = 0x88CC
_LLDP_PRIVATE_TLV = 127
_LINK_DA = LINK_DA.to_bytes(6)
_TPID = VLAN.field("tpid").constant


@dataclass(slots=True)
class _Walk:
    """Bytes under way, and what has been found in them."""

    data: bytes
    layers: list[Layer] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def fault(self, reason: str, name: str, at: int, message: str) -> None:
        self.faults.append(Fault(reason, name, at, message))

    def add(self, header: Header, at: int, title: str = "", shown: Mapping[str, int] | None = None) -> Layer:
        """Add a layout that has all its bytes."""
        values = [*_values(header, self.data[at : at + header.size_bytes], shown or {})]
        layer = Layer(prefix(header), at, tuple(values), title)
        self.layers.append(layer)
        for value in values:
            f = value.field
            if f is None or f.constant is None or isinstance(value.value, bytes):
                continue
            if value.value != f.constant:
                digits = (f.width + 3) // 4
                text = f"{value.value:#0{digits + 2}x}, {f.constant:#0{digits + 2}x} is the only value"
                self.fault(Reason.CONSTANT, f"{layer.name}.{value.name}", at + f.byte, text)
        return layer

    def bytes_of(self, name: str, at: int, size: int) -> None:
        layer, _, value = name.partition(".")
        self.layers.append(Layer(layer, at, (Value(value, bytes(self.data[at : at + size])),)))


def _values(header: Header, data: bytes, shown: Mapping[str, int]) -> Iterator[Value]:
    word = int.from_bytes(data, header.byte_order)
    bits = 8 * header.size_bytes
    found: dict[str, int] = {}
    for f in header.fields:
        found[f.name] = value = _value(f, word, bits)
        if f.width > 64:
            yield Value(f.name, data[f.byte : f.byte + f.width // 8], f)
        else:
            yield Value(f.name, shown.get(f.name, value), f)
        for part in f.parts:
            yield Value(part.name, _value(part, word, bits), part)
    for join in header.joins:
        number = 0
        for piece in join.pieces:
            number = number << header.field(piece).width | found[piece]
        yield Value(join.name, number)


def _value(f: Field, word: int, bits: int) -> int:
    value = (word >> (bits - f.bit - f.width)) & ((1 << f.width) - 1)
    if f.sign == "signed" and value >> (f.width - 1):
        value -= 1 << f.width
    return value + f.bias


def dissect_frame(
    data: bytes, wire: WireFormat | None = None, *, fcs: FcsMode = FcsMode.FIND, size_bytes: int | None = None
) -> Dissection:
    """Take apart what stands on LINKTYPE_ETHERNET.

    Parameters
    ----------
    data
        From the first OEFH byte, as far as it was captured.
    wire
        What the link has agreed on; None = the profile's defaults.
    fcs
        Whether it ends with its FCS.
    size_bytes
        Bytes that the packet had; None = those of ``data``.
    """
    walk = _Walk(data)
    return _ethernet(walk, wire or WireFormat(), fcs, 0, size_bytes in (None, len(data)))


def dissect_line(data: bytes, wire: WireFormat | None = None, *, size_bytes: int | None = None) -> Dissection:
    """Take apart what stands on LINKTYPE_USER0: an ordered set, or a preamble with a frame and its FCS behind it.

    Parameters
    ----------
    data, wire, size_bytes
        As for `dissect_frame`; ``data`` begins with the set or the preamble.
    """
    walk = _Walk(data)
    first = data[0] if data else -1
    if first == START and len(data) >= PREAMBLES[0].size_bytes:
        _preamble(walk, 0)
        at = PREAMBLES[0].size_bytes
        return _ethernet(walk, wire or WireFormat(), FcsMode.PRESENT, at, size_bytes in (None, len(data)))
    if first == CONTROL_START:
        _ordered_set(walk, 0, len(data))
        if len(data) > ORDERED_SET_BYTES:
            walk.fault(Reason.LENGTH, "packet", ORDERED_SET_BYTES, f"{len(data)} bytes, an ordered set has {ORDERED_SET_BYTES}")
        return _done(walk, Kind.ORDERED_SET, Check.ABSENT, Check.ABSENT)
    walk.fault(Reason.TYPE, "packet", 0, f"{data[:1].hex() or 'nothing'}, an ordered set begins with 5c, a preamble with fb")
    return _done(walk, Kind.OTHER, Check.ABSENT, Check.ABSENT)


def _done(walk: _Walk, kind: Kind, icrc_check: Check, fcs_check: Check) -> Dissection:
    return Dissection(kind, tuple(walk.layers), icrc_check, fcs_check, tuple(walk.faults))


def _ethernet(walk: _Walk, wire: WireFormat, fcs: FcsMode, base: int, whole: bool) -> Dissection:
    """Tell by the EtherType what stands at ``base``."""
    data = walk.data[base:]
    shift = VLAN.size_bytes if _word(data, VLAN_OFFSET_BYTES) == _TPID else 0
    ethertype = _word(data, VLAN_OFFSET_BYTES + shift)
    ours = ethertype in (wire.data_ethertype, wire.control_ethertype)
    if ethertype == wire.control_ethertype and data[:6] == _LINK_DA:
        return _link_frame(walk, fcs, base, whole)
    if ours:
        return _frame(walk, wire, fcs, base, shift, whole)
    check, end = _fcs(data, fcs, whole, None)
    if ethertype == _LLDP_ETHERTYPE:
        _lldp(walk, base + OEFH.size_bytes + shift, base + end)
        _add_fcs(walk, base + end, check)
        return _done(walk, Kind.LLDP, Check.ABSENT, check)
    return _done(walk, Kind.OTHER, Check.ABSENT, check)


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2]) if len(data) >= at + 2 else -1


def _fcs(data: bytes, mode: FcsMode, whole: bool, expected: int | None) -> tuple[Check, int]:
    """Judge the FCS; return that and the bytes before it. ``expected`` = bytes before FCS as the frame says, if it does."""
    if not whole:
        return Check.UNVERIFIED, len(data)
    state, end = find_fcs(data, mode, expected)
    return (Check.ABSENT if state is None else Check(state.value)), end


def _add_fcs(walk: _Walk, at: int, check: Check) -> None:
    if check not in (Check.ABSENT, Check.UNVERIFIED):
        walk.add(FCS, at)
    if check is Check.BAD:
        walk.fault(Reason.FCS, "fcs", at, "bits changed on this link")
    if check is Check.POISONED:
        walk.fault(Reason.POISONED, "fcs", at, "a switch or sender has declared the frame broken")


def _frame(walk: _Walk, wire: WireFormat, mode: FcsMode, base: int, shift: int, whole: bool) -> Dissection:
    data = walk.data[base:]
    if len(data) < HEADER_BYTES + shift:
        walk.fault(Reason.LENGTH, "frame", -1, f"{len(data)} bytes, the headers have {HEADER_BYTES + shift}")
        return _done(walk, Kind.FRAME, Check.UNVERIFIED, Check.UNVERIFIED)
    total = _word(data, OEFH.field("total_length").byte)
    raw = data[total + shift : total + shift + 1] == bytes((START,)) and len(data) >= total + shift + PREAMBLES[0].size_bytes
    least = max(total + (PREAMBLES[0].size_bytes if raw else 0), UNPADDED_MIN_BYTES) + shift
    fcs, end = _fcs(data, mode, whole, least)
    _oefh(walk, wire, base, shift)
    walk.add(NET, base + OEFH.size_bytes + shift)
    rh = walk.add(RH, base + OEFH.size_bytes + NET.size_bytes + shift)
    checked = Check.UNVERIFIED
    covered = total - ICRC_BYTES
    if total >= TOTAL_LENGTH_MIN and total % 8 == 4 and total + shift <= end:
        _body(walk, wire, rh["op"], base + HEADER_BYTES + shift, base + covered + shift)
        right = icrc(data, covered, shift > 0)
        checked = Check.GOOD if walk.add(ICRC, base + covered + shift)["icrc"] == right else Check.BAD
        used = total + shift
        if raw and end >= used + PREAMBLES[0].size_bytes:
            _preamble(walk, base + used)
            used += PREAMBLES[0].size_bytes
        if end > used:
            walk.bytes_of("frame.pad", base + used, end - used)
    walk.faults = [*_verdict(walk, data, wire, fcs, whole)] or walk.faults
    if fcs not in (Check.ABSENT, Check.UNVERIFIED):
        walk.add(FCS, base + end)
    return _done(walk, Kind.FRAME, checked, fcs)


def _verdict(walk: _Walk, data: bytes, wire: WireFormat, fcs: Check, whole: bool) -> Iterator[Fault]:
    """Let the codec say what a receiver does: it is the judge, the walk shows. A broken FCS does not hide what else is wrong."""
    if not whole:
        yield Fault(Reason.LENGTH, "packet", -1, "the capture has cut it short")
        yield from walk.faults
        return
    with_fcs = fcs is not Check.ABSENT
    try:
        decode(data, wire, with_fcs=with_fcs)
    except WireError as error:
        yield Fault(str(error.reason), error.field, error.offset_bytes, _message(error))
        if not with_fcs or fcs is Check.GOOD:
            return
        try:
            decode(data[: -FCS.size_bytes], wire, with_fcs=False)
        except WireError as second:
            yield Fault(str(second.reason), second.field, second.offset_bytes, _message(second))


def _message(error: WireError) -> str:
    return str(error).partition(": ")[2]


def _oefh(walk: _Walk, wire: WireFormat, base: int, shift: int) -> None:
    """Add OEFH as if no tag stood before its EtherType, then the tag."""
    cut = base + VLAN_OFFSET_BYTES
    untagged = _Walk(walk.data[:cut] + walk.data[cut + shift :])
    layer = untagged.add(OEFH, base)
    values = list(layer.values)
    for name in ("dst", "src"):
        values.append(Value(name, _plain_id(layer[f"{name}_id"], wire)))
    values.append(Value("path_id", layer["entropy"] >> OEFH.field("entropy").parts[-1].width))
    walk.layers.append(Layer(layer.name, base, tuple(values)))
    if shift:
        walk.add(VLAN, cut)


def _plain_id(word: int, wire: WireFormat) -> int:
    if not wire.slap_safe:
        return word
    return next(v.value for v in _values(SLAP_ID, word.to_bytes(2), {}) if v.name == "id" and isinstance(v.value, int))


def _body(walk: _Walk, wire: WireFormat, op: int, at: int, end: int) -> None:
    if op == RhOp.CONTROL and end - at == CONTROL_BODY_BYTES:
        _row(walk, CONTROL_TYPES, at, end)
    elif op == RhOp.DATA:
        following: int | None = at
        while following is not None and following < end:
            following = _transaction(walk, wire, following, end)


def _transaction(walk: _Walk, wire: WireFormat, at: int, end: int) -> int | None:
    """Add one transaction; return the byte behind it, None where the list cannot be followed any more."""
    first = {v.name: v.value for v in _values(TH_RESPONSE, walk.data[at : at + TH_RESPONSE.size_bytes], {})}
    number = first["opcode"]
    row = wire.opcodes.get(number) if isinstance(number, int) else None
    header = TH_RESPONSE if row is None else row.th
    if at + header.size_bytes > end:
        return None
    if row is None:
        walk.add(header, at)
        return None
    length = first["length"]
    assert isinstance(length, int)
    if row.length is LengthRule.NONE:
        length -= 1  # 0 on the wire is none here
    th = walk.add(header, at, row.name, {"length": length})
    inner = address_header(row)
    if inner is not None:
        walk.add(inner, at + TH_RESPONSE.size_bytes)
    used = at + header.size_bytes
    for part, size in body_parts(row, length, th["last"], th["kind"]):
        if used + padded(size) > end:
            return None
        if part.header is not None:
            walk.add(part.header, used)
        else:
            walk.bytes_of(f"body.{part.name}", used, size)
        if padded(size) > size:
            walk.bytes_of("body.pad", used + size, padded(size) - size)
        used += padded(size)
    return used


def _row(walk: _Walk, rows: Mapping[int, Form], at: int, end: int) -> tuple[Form, int] | None:
    """Add the layout whose type stands at ``at``; return its row and the byte behind it."""
    kind = next(iter(rows.values())).header.field("type")
    if at + kind.byte >= end:
        walk.fault(Reason.LENGTH, "packet", -1, f"{end - at} bytes hold no type")
        return None
    number = walk.data[at + kind.byte]
    row = rows.get(number)
    if row is None:
        walk.fault(
            Reason.TYPE, "packet.type", at + kind.byte, f"{number:#04x} is not one of {', '.join(f'{n:#04x}' for n in rows)}"
        )
        return None
    behind = at + row.header.size_bytes
    if behind > end:
        walk.fault(Reason.LENGTH, prefix(row.header), at, f"{row.name} has {row.header.size_bytes} bytes, {end - at} are there")
        return None
    walk.add(row.header, at, row.name)
    return row, behind


def _ordered_set(walk: _Walk, at: int, end: int) -> None:
    if end - at < ORDERED_SET_BYTES:
        walk.fault(Reason.LENGTH, "packet", at, f"{end - at} bytes, an ordered set has {ORDERED_SET_BYTES}")
    else:
        _row(walk, ORDERED_SETS, at, end)


def _preamble(walk: _Walk, at: int) -> None:
    with_seq, plain = PREAMBLES
    mark = with_seq.field("mark")
    found = _value(mark, int.from_bytes(walk.data[at : at + with_seq.size_bytes]), 8 * with_seq.size_bytes)
    walk.add(with_seq if found == mark.constant else plain, at)


def _link_frame(walk: _Walk, mode: FcsMode, base: int, whole: bool) -> Dissection:
    fcs, end = _fcs(walk.data[base:], mode, whole, UNPADDED_MIN_BYTES)
    found = _row(walk, LINK_FRAMES, base, base + end)
    if found is not None:
        row, used = found
        if row.header.repeat is not None:
            used = _elements(walk, row.header, used, base + end)
        if base + end > used:
            walk.bytes_of("frame.pad", used, base + end - used)
    _add_fcs(walk, base + end, fcs)
    return _done(walk, Kind.LINK_FRAME, Check.ABSENT, fcs)


def _elements(walk: _Walk, header: Header, at: int, end: int) -> int:
    """Add the list behind a layout: ordered sets as such, other elements as values of the layout's own layer."""
    repeat = header.repeat
    assert repeat is not None
    size = repeat.element.width // 8
    layer = walk.layers[-1]
    count = layer[repeat.count]
    there = min(count, (end - at) // size)
    if there < count:
        walk.fault(Reason.LENGTH, f"{layer.name}.{repeat.count}", layer.offset_bytes, f"{count} elements, {there} are there")
    if size == ORDERED_SET_BYTES:
        for i in range(there):
            _ordered_set(walk, at + size * i, end)
    else:
        data = walk.data
        listed = (int.from_bytes(data[at + size * i : at + size * (i + 1)]) for i in range(there))
        more = tuple(Value(repeat.element.name, number, repeat.element) for number in listed)
        walk.layers[-1] = Layer(layer.name, layer.offset_bytes, (*layer.values, *more), layer.title)
    return at + size * there


def _lldp(walk: _Walk, at: int, end: int) -> None:
    """Add the profile's TLV; the others of LLDP are passed over."""
    data = walk.data
    while at + 2 <= end:
        word = int.from_bytes(data[at : at + 2])
        kind, size = word >> 9, word & 0x1FF
        if at + 2 + size > end:
            walk.fault(Reason.LENGTH, "lldp", at, f"a TLV of {size} bytes, {end - at - 2} are there")
            return
        if kind == 0:
            return
        if kind == _LLDP_PRIVATE_TLV and data[at + 2 : at + 5] == LLDP_OUI.to_bytes(3):
            behind = at + 2 + size
            if LLDP_TLV.size_bytes > 2 + size:
                walk.fault(Reason.LENGTH, "lldp_tlv.tlv_length", at, f"{size}, {LLDP_TLV.size_bytes - 2} at least")
            else:
                walk.add(LLDP_TLV, at)
                used = _elements(walk, LLDP_TLV, at + LLDP_TLV.size_bytes, behind)
                if used != behind:
                    walk.fault(Reason.LENGTH, "lldp_tlv.tlv_length", at, f"{size}, {used - at - 2} are used")
        at += 2 + size
