"""Frames to bytes and back, driven by `layout` and `opcodes` (open profile section 1).

`decode` accepts exactly what `encode` can make, but for reserved bits, pads and the filling between ICRC and FCS, which it
ignores; it raises `WireError` and nothing else for any bytes. Both work on OEFH .. FCS: preamble and gap are the line's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from operator import index
from typing import NoReturn

from ..errors import WireError
from .frame import Frame, Net, Oefh, Reason, Rh, Th, Transaction, TransactionError, Vlan, WireFormat
from .icrc import FcsState, fcs, fcs_state, icrc
from .layout import (
    CONTROL_BODY_BYTES,
    FCS,
    ICRC,
    ID_MAX,
    NET,
    OEFH,
    READ_TOTAL,
    RH,
    SLAP_ID,
    TH_RESPONSE,
    TOTAL_LENGTH_MIN,
    UNPADDED_MIN_BYTES,
    VERSION,
    VLAN,
    VLAN_OFFSET_BYTES,
    Header,
    RhOp,
)
from .opcodes import OPCODES, LengthRule, OpcodeRow, Part, body_parts, padded
from .profile import FRAME_MIN_BYTES, HEADER_BYTES, ICRC_BYTES, Opcode
from .rules import Fault, read_total_fault, rh_fault, th_fault

Bytes = bytes | bytearray | memoryview

_DEFAULT = WireFormat()
_LENGTH_OFFSET = OEFH.field("total_length").byte
_OFFSETS = {f"{h.name.lower()}.{f.name}": f.byte for h in (OEFH, VLAN, NET, RH, TH_RESPONSE) for f in h.fields}
_OFFSETS["th.address"] = 8
_NET_AT = OEFH.size_bytes
_RH_AT = _NET_AT + NET.size_bytes


def pack(header: Header, values: Mapping[str, int], offset_bytes: int = 0) -> bytes:
    """Turn the values of a header into its bytes.

    Parameters
    ----------
    header
        One of `layout`.
    values
        By field name; reserved and constant fields are filled in.
    offset_bytes
        Where the header stands, for the error.

    Raises
    ------
    WireError
        RANGE, with the field: no integer, or it does not fit its width.
    """
    word = 0
    for f, shift, mask in header.steps:
        try:
            value = index(values[f.name] if f.constant is None else f.constant)
        except TypeError:
            value = -1
        raw = value - f.bias
        if not 0 <= raw <= mask:
            name, given = f"{header.name.lower()}.{f.name}", values[f.name]
            text = f"{given!r} is not {f.bias} .. {f.bias + mask}"
            raise WireError(Reason.RANGE, name, offset_bytes + f.byte, text)
        word |= raw << shift
    return word.to_bytes(header.size_bytes, header.byte_order)


def unpack(header: Header, data: Bytes) -> dict[str, int]:
    """Read a header from the first bytes of ``data``: values by field name, reserved fields left out.

    Raises
    ------
    WireError
        LENGTH: ``data`` is shorter than the header.
    """
    if len(data) < header.size_bytes:
        raise WireError(Reason.LENGTH, header.name.lower(), 0, f"{len(data)} of {header.size_bytes} bytes")
    word = int.from_bytes(data[: header.size_bytes], header.byte_order)
    return {f.name: ((word >> shift) & mask) + f.bias for f, shift, mask in header.steps}


def encode(frame: Frame, wire: WireFormat = _DEFAULT, *, with_fcs: bool = True) -> bytes:
    """Turn a frame into bytes, OEFH to FCS (or to the pad).

    Parameters
    ----------
    frame
        The frame.
    wire
        What the link has agreed on.
    with_fcs
        False: leave the FCS to a network card.

    Raises
    ------
    WireError
        With reason and field: a value that does not fit its width, a rule of the profile broken, a body that is not
        what its TH says, or a frame larger than ``wire.frame_max``.
    """
    buffer = bytearray(wire.frame_max + VLAN.size_bytes)
    return bytes(memoryview(buffer)[: encode_into(frame, buffer, wire, with_fcs=with_fcs)])


def encode_into(frame: Frame, buffer: bytearray | memoryview, wire: WireFormat = _DEFAULT, *, with_fcs: bool = True) -> int:
    """Write a frame to the start of ``buffer``; return its bytes, each of which has been written.

    Nothing is written if the frame is refused. Parameters and errors as `encode`, and BUFFER if it does not fit.
    """
    shift = VLAN.size_bytes if frame.vlan is not None else 0
    head = _head_bytes(frame, wire, shift)
    chunks = [head]
    at = HEADER_BYTES + shift
    for transaction in frame.transactions:
        chunk = _transaction_bytes(transaction, frame.rh.vc, wire.mtu, at)
        chunks.append(chunk)
        at += len(chunk)
    body = b"".join((*chunks, frame.control))
    total = len(body) - shift + ICRC_BYTES
    size = max(total, UNPADDED_MIN_BYTES) + shift + (FCS.size_bytes if with_fcs else 0)
    largest = wire.frame_max + shift - (0 if with_fcs else FCS.size_bytes)
    if size > largest:
        raise WireError(Reason.LENGTH, "frame", -1, f"{size} bytes, at most {largest} fit")
    view = memoryview(buffer)
    if len(view) < size:
        raise WireError(Reason.BUFFER, "buffer", -1, f"{len(view)} bytes for a frame of {size}")
    covered = len(body)
    view[:covered] = body
    view[_LENGTH_OFFSET : _LENGTH_OFFSET + 2] = total.to_bytes(2, "big")
    view[covered : covered + ICRC_BYTES] = pack(ICRC, {"icrc": icrc(view, covered - shift, bool(shift))})
    end = size - FCS.size_bytes if with_fcs else size
    view[covered + ICRC_BYTES : end] = bytes(end - covered - ICRC_BYTES)
    if with_fcs:
        view[end:size] = pack(FCS, {"fcs": fcs(view[:end])})
    return size


def _head_bytes(frame: Frame, wire: WireFormat, shift: int) -> bytes:
    oefh, net, rh = frame.oefh, frame.net, frame.rh
    data_type = rh.op != RhOp.CONTROL
    words = {
        "dst_id": _wire_id(oefh.dst_id, "oefh.dst_id", wire),
        "src_id": _wire_id(oefh.src_id, "oefh.src_id", wire),
        "total_length": 0,  # written when the body is known
        "entropy": oefh.entropy,
        "ethertype": wire.data_ethertype if data_type else wire.control_ethertype,
    }
    first = pack(OEFH, words)
    tag = b"" if frame.vlan is None else pack(VLAN, _values(frame.vlan), VLAN_OFFSET_BYTES)
    last = pack(NET, _values(net), _NET_AT + shift) + pack(RH, _values(rh), _RH_AT + shift)
    if data_type and rh.src != oefh.src_id:
        _raise(Fault(Reason.SRC, "rh.src", f"{rh.src} in a frame of {oefh.src_id}"), shift)
    fault = rh_fault(rh)
    if fault is not None:
        _raise(fault, shift)
    if frame.transactions and rh.op != RhOp.DATA:
        raise WireError(Reason.BODY, "frame.transactions", HEADER_BYTES + shift, f"{RhOp(rh.op).name} carries none")
    control = CONTROL_BODY_BYTES if rh.op == RhOp.CONTROL else 0
    if len(frame.control) != control:
        text = f"{RhOp(rh.op).name} has {control} bytes, {len(frame.control)} given"
        raise WireError(Reason.BODY, "frame.control", HEADER_BYTES + shift, text)
    return first[:VLAN_OFFSET_BYTES] + tag + first[VLAN_OFFSET_BYTES:] + last


def _values(record: Net | Rh | Th | Vlan) -> dict[str, int]:
    return {name: getattr(record, name) for name in record.__slots__}


def _wire_id(plain: int, field: str, wire: WireFormat) -> int:
    try:
        plain = index(plain)
    except TypeError:
        plain = -1
    if not 0 <= plain <= ID_MAX:
        raise WireError(Reason.RANGE, field, _OFFSETS[field], f"not 0 .. {ID_MAX}")
    if not wire.slap_safe:
        return plain
    return int.from_bytes(pack(SLAP_ID, {"id_high": plain >> 8, "id_low": plain & 0xFF}))


def _transaction_bytes(transaction: Transaction, vc: int, mtu: int, at: int) -> bytes:
    th = transaction.th
    row = OPCODES.get(th.opcode)
    if row is None:
        raise WireError(Reason.OPCODE, "th.opcode", at, f"{th.opcode!r} is no opcode")
    values = _values(th)
    if row.length is LengthRule.NONE and th.length == 0:
        values["length"] = 1  # on the wire 0 stands for both none and 1
    chunks = [pack(row.th, values, at)]
    fault = th_fault(th, row, vc, mtu)
    if fault is not None:
        raise WireError(fault.reason, fault.field, at + _OFFSETS[fault.field], fault.message)
    wanted = body_parts(row, th.length, th.last, th.kind)
    if [len(part) for part in transaction.parts] != [size for _, size in wanted]:
        text = f"{row.name} has ({', '.join(f'{p.name} {n} B' for p, n in wanted) or 'none'}), "
        text += f"{[len(part) for part in transaction.parts]} bytes given"
        raise WireError(Reason.BODY, "body", at + row.th.size_bytes, text)
    for (part, size), data in zip(wanted, transaction.parts, strict=True):
        fault = _part_fault(part, data, mtu)
        if fault is None and part.header is not None and data != _without_reserved(part.header, data):
            fault = Fault(Reason.RANGE, f"{part.header.name.lower()}.reserved", "reserved bits are sent 0")
        if fault is not None:
            raise WireError(fault.reason, fault.field, at + sum(map(len, chunks)), fault.message)
        chunks.append(bytes(data) + bytes(padded(size) - size))
    return b"".join(chunks)


def _part_fault(part: Part, data: Bytes, mtu: int) -> Fault | None:
    return read_total_fault(unpack(READ_TOTAL, data)["total"], mtu) if part.header is READ_TOTAL else None


def _without_reserved(header: Header, data: Bytes) -> bytes:
    return pack(header, unpack(header, data))


def _raise(fault: Fault, shift: int) -> NoReturn:
    layer = fault.field.partition(".")[0]
    base = {"oefh": 0, "net": _NET_AT + shift, "rh": _RH_AT + shift}[layer]
    raise WireError(fault.reason, fault.field, base + _OFFSETS[fault.field], fault.message)


def decode(
    data: Bytes,
    wire: WireFormat = _DEFAULT,
    *,
    with_fcs: bool = True,
    dst_id: int | None = None,
    partitions: Collection[int] | None = None,
) -> Frame:
    """Read one frame, checking as a receiver does: FCS, EtherType, length, dst_id, ICRC, version, source, partition,
    op and VC, acknowledgement, PSN, transactions.

    Parameters
    ----------
    data
        OEFH to FCS, or to the pad.
    wire
        What the link has agreed on.
    with_fcs
        Whether ``data`` ends with the FCS.
    dst_id, partitions
        The receiver's own id and the partitions that it belongs to; None = any.

    Raises
    ------
    TransactionError
        The frame is good, its list of transactions is not.
    WireError
        Any other fault: the receiver drops the frame and counts ``reason``.
    """
    view = memoryview(data)
    if with_fcs:
        view = _without_fcs(view)
    received = len(view)
    least = UNPADDED_MIN_BYTES
    if received < least:
        raise WireError(Reason.LENGTH, "frame", -1, f"{received} bytes before FCS, {least} at least")
    tagged = int.from_bytes(view[VLAN_OFFSET_BYTES : VLAN_OFFSET_BYTES + 2]) == VLAN.field("tpid").constant
    shift = VLAN.size_bytes if tagged else 0
    oefh = unpack(OEFH, bytes(view[:VLAN_OFFSET_BYTES]) + bytes(view[VLAN_OFFSET_BYTES + shift : OEFH.size_bytes + shift]))
    ethertype = oefh["ethertype"]
    if ethertype not in (wire.data_ethertype, wire.control_ethertype):
        raise WireError(Reason.ETHERTYPE, "oefh.ethertype", VLAN_OFFSET_BYTES + shift, f"{ethertype:#06x} is another protocol")
    total = oefh["total_length"]
    _check_length(total, received - shift, wire)
    dst = _plain_id(oefh["dst_id"], Reason.DST, "oefh.dst_id", wire)
    if dst_id is not None and dst != dst_id:
        raise WireError(Reason.DST, "oefh.dst_id", 0, f"for {dst}, this is {dst_id}")
    covered = total - ICRC_BYTES
    end = covered + shift
    if unpack(ICRC, view[end : end + ICRC_BYTES])["icrc"] != icrc(view, covered, tagged):
        raise WireError(Reason.ICRC, "icrc", end, "bytes changed on the way")
    rh, src = _rh(view, oefh, wire, shift, partitions)
    net = unpack(NET, view[_NET_AT + shift : _RH_AT + shift])
    vlan = None
    if tagged:
        tag = unpack(VLAN, view[VLAN_OFFSET_BYTES : VLAN_OFFSET_BYTES + shift])
        vlan = Vlan(tag["pcp"], tag["dei"], tag["vid"])
    body = view[HEADER_BYTES + shift : end]
    head = Frame(Oefh(dst, src, oefh["entropy"]), Net(**net), rh, vlan=vlan)
    if rh.op == RhOp.DATA:
        return replace(head, transactions=_transactions(body, head, wire.mtu, HEADER_BYTES + shift))
    wanted = CONTROL_BODY_BYTES if rh.op == RhOp.CONTROL else 0
    if len(body) != wanted:
        text = f"{total} in {rh.op.name}, which has {TOTAL_LENGTH_MIN + wanted}"
        raise WireError(Reason.LENGTH, "oefh.total_length", _LENGTH_OFFSET, text)
    return replace(head, control=bytes(body))


def _without_fcs(view: memoryview) -> memoryview:
    state = fcs_state(view)
    end = len(view) - FCS.size_bytes
    if state is FcsState.POISONED:
        raise WireError(Reason.POISONED, "fcs", end, "a switch or sender has declared the frame broken")
    if state is FcsState.BAD:
        raise WireError(Reason.FCS, "fcs", max(end, -1), "bits changed on this link" if end >= 0 else "no room for an FCS")
    return view[:end]


def _check_length(total: int, received: int, wire: WireFormat) -> None:
    size = received + FCS.size_bytes
    if not FRAME_MIN_BYTES <= size <= wire.frame_max:
        text = f"{size} bytes to FCS, without a tag, are not {FRAME_MIN_BYTES} .. {wire.frame_max}"
        raise WireError(Reason.LENGTH, "frame", -1, text)
    if total < TOTAL_LENGTH_MIN or total % 8 != 4 or total > received:
        text = f"{total} is not {TOTAL_LENGTH_MIN}, {TOTAL_LENGTH_MIN + 8} .. {received}, the bytes before FCS"
        raise WireError(Reason.LENGTH, "oefh.total_length", _LENGTH_OFFSET, text)


def _plain_id(carried: int, reason: Reason, field: str, wire: WireFormat) -> int:
    plain = carried
    if wire.slap_safe:
        parts = unpack(SLAP_ID, carried.to_bytes(SLAP_ID.size_bytes))
        if any(f.constant is not None and parts[f.name] != f.constant for f in SLAP_ID.fields):
            raise WireError(reason, field, _OFFSETS[field], f"{carried:#06x} is no locally administered id")
        plain = parts["id_high"] << 8 | parts["id_low"]
    if plain > ID_MAX:
        raise WireError(reason, field, _OFFSETS[field], f"{plain} is not 0 .. {ID_MAX}")
    return plain


def _rh(
    view: memoryview, oefh: dict[str, int], wire: WireFormat, shift: int, partitions: Collection[int] | None
) -> tuple[Rh, int]:
    values = unpack(RH, view[_RH_AT + shift : HEADER_BYTES + shift])
    version = values.pop("version")
    if version != VERSION:
        _raise(Fault(Reason.VERSION, "rh.version", f"{version}, this is {VERSION}"), shift)
    rh = Rh(RhOp(values.pop("op")), **values)
    src_id = _plain_id(oefh["src_id"], Reason.SRC, "oefh.src_id", wire)
    data_type = oefh["ethertype"] == wire.data_ethertype
    if data_type and rh.src != src_id:
        _raise(Fault(Reason.SRC, "rh.src", f"{rh.src} in a frame of {src_id}"), shift)
    if partitions is not None and rh.partition not in partitions:
        _raise(Fault(Reason.PARTITION, "rh.partition", f"{rh.partition} is not one of the receiver's"), shift)
    if (rh.op == RhOp.CONTROL) is data_type:
        _raise(Fault(Reason.OP, "rh.op", f"{rh.op.name} under EtherType {oefh['ethertype']:#06x}"), shift)
    fault = rh_fault(rh)
    if fault is not None:
        _raise(fault, shift)
    return rh, src_id


def _transactions(body: memoryview, head: Frame, mtu: int, at: int) -> tuple[Transaction, ...]:
    done: list[Transaction] = []
    start = 0
    while start < len(body):
        rest = body[start:]
        first = unpack(TH_RESPONSE, rest)  # total_length is a multiple of 8 and 4 more, so 8 B are there
        row = OPCODES.get(first["opcode"])
        if row is None:
            fault: Fault | None = Fault(Reason.OPCODE, "th.opcode", f"{first['opcode']} is no opcode")
            offset = 0
        else:
            transaction, size, fault, offset = _transaction(rest, row, head.rh.vc, mtu)
        if fault is not None:
            raise TransactionError(fault.reason, fault.field, at + start + offset, fault.message, head, first["tag"])
        done.append(transaction)
        start += size
    return tuple(done)


def _transaction(rest: memoryview, row: OpcodeRow, vc: int, mtu: int) -> tuple[Transaction, int, Fault | None, int]:
    """Read one transaction: it, its bytes, and what is wrong with it and at which byte."""
    used = row.th.size_bytes
    nothing = Transaction(Th(Opcode.NOP))
    if len(rest) < used:
        return (
            nothing,
            0,
            Fault(Reason.BODY, "th", f"{row.name} has a TH of {used} bytes, ICRC comes after {len(rest)}"),
            0,
        )
    values = unpack(row.th, rest)
    values.pop("opcode")
    if row.length is LengthRule.NONE:
        values["length"] -= 1  # 0 on the wire is none here
    th = Th(row.opcode, **values)
    fault = th_fault(th, row, vc, mtu)
    if fault is not None:
        return nothing, 0, fault, _OFFSETS[fault.field]
    parts: list[bytes] = []
    for part, size in body_parts(row, th.length, th.last, th.kind):
        if len(rest) < used + padded(size):
            text = f"{row.name} wants {size} bytes, ICRC comes after {len(rest) - used}"
            return nothing, 0, Fault(Reason.BODY, f"body.{part.name}", text), used
        data = bytes(rest[used : used + size])
        fault = _part_fault(part, data, mtu)
        if fault is not None:
            return nothing, 0, fault, used
        parts.append(data if part.header is None else _without_reserved(part.header, data))
        used += padded(size)
    return Transaction(th, tuple(parts)), used, None, 0
