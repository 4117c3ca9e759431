"""Frames to bytes, driven by `layout` and `opcodes` (open profile section 1). Everything that the sender must not send is
refused; `decoder` accepts exactly what can be made here.
"""

from __future__ import annotations

from operator import index

from ..errors import WireError
from .bits import pack
from .frame import Frame, Net, Rh, Th, Transaction, Vlan, WireFormat
from .icrc import fcs, icrc
from .layout import (
    CONTROL_BODY_BYTES,
    FCS,
    ICRC,
    ID_MAX,
    NET,
    OEFH,
    RH,
    SLAP_ID,
    UNPADDED_MIN_BYTES,
    VLAN,
    VLAN_OFFSET_BYTES,
    RhOp,
)
from .opcodes import LengthRule, body_parts, padded
from .places import LENGTH_AT, NET_AT, OFFSETS, RH_AT, raise_fault
from .profile import HEADER_BYTES, ICRC_BYTES
from .reasons import Reason
from .rules import Fault, part_fault, rh_fault, th_fault, without_reserved

_DEFAULT = WireFormat()


def encode(frame: Frame, wire: WireFormat = _DEFAULT, *, with_fcs: bool = True, after: bytes = b"") -> bytes:
    """Turn a frame into bytes, OEFH to FCS (or to the pad).

    Parameters
    ----------
    frame
        The frame.
    wire
        What the link has agreed on.
    with_fcs
        False: leave the FCS to a network card.
    after
        Bytes right behind ICRC, on top of ``wire.frame_max``: the raw carrier's preamble.

    Raises
    ------
    WireError
        With reason and field: a value that does not fit its width, a rule of the profile broken, a body that is not
        what its TH says, or a frame larger than ``wire.frame_max``.
    """
    buffer = bytearray(wire.frame_max + VLAN.size_bytes + len(after))
    return bytes(memoryview(buffer)[: encode_into(frame, buffer, wire, with_fcs=with_fcs, after=after)])


def encode_into(
    frame: Frame,
    buffer: bytearray | memoryview,
    wire: WireFormat = _DEFAULT,
    *,
    with_fcs: bool = True,
    after: bytes = b"",
) -> int:
    """Write a frame to the start of ``buffer``; return its bytes, each of which has been written.

    Nothing is written if the frame is refused. Parameters and errors as `encode`, and BUFFER if it does not fit.
    """
    shift = VLAN.size_bytes if frame.vlan is not None else 0
    head = _head_bytes(frame, wire, shift)
    chunks = [head]
    at = HEADER_BYTES + shift
    for transaction in frame.transactions:
        chunk = _transaction_bytes(transaction, frame.rh.vc, wire, at)
        chunks.append(chunk)
        at += len(chunk)
    body = b"".join((*chunks, frame.control))
    total = len(body) - shift + ICRC_BYTES
    size = max(total + len(after), UNPADDED_MIN_BYTES) + shift + (FCS.size_bytes if with_fcs else 0)
    largest = wire.frame_max + len(after) + shift - (0 if with_fcs else FCS.size_bytes)
    if size > largest:
        raise WireError(Reason.LENGTH, "frame", -1, f"{size} bytes, at most {largest} fit")
    view = memoryview(buffer)
    if len(view) < size:
        raise WireError(Reason.BUFFER, "buffer", -1, f"{len(view)} bytes for a frame of {size}")
    covered = len(body)
    view[:covered] = body
    view[LENGTH_AT : LENGTH_AT + 2] = total.to_bytes(2, "big")
    view[covered : covered + ICRC_BYTES] = pack(ICRC, {"icrc": icrc(view, covered - shift, bool(shift))})
    end = size - FCS.size_bytes if with_fcs else size
    view[covered + ICRC_BYTES : end] = after + bytes(end - covered - ICRC_BYTES - len(after))
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
    last = pack(NET, _values(net), NET_AT + shift) + pack(RH, _values(rh), RH_AT + shift)
    if data_type and rh.src != oefh.src_id:
        raise_fault(Fault(Reason.SRC, "rh.src", f"{rh.src} in a frame of {oefh.src_id}"), shift)
    fault = rh_fault(rh)
    if fault is not None:
        raise_fault(fault, shift)
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
        raise WireError(Reason.RANGE, field, OFFSETS[field], f"not 0 .. {ID_MAX}")
    if not wire.slap_safe:
        return plain
    return int.from_bytes(pack(SLAP_ID, {"id_high": plain >> 8, "id_low": plain & 0xFF}))


def _transaction_bytes(transaction: Transaction, vc: int, wire: WireFormat, at: int) -> bytes:
    th = transaction.th
    row = wire.opcodes.get(th.opcode)
    if row is None:
        raise WireError(Reason.OPCODE, "th.opcode", at, f"{th.opcode!r} is no opcode")
    values = _values(th)
    if row.length is LengthRule.NONE and th.length == 0:
        values["length"] = 1  # on the wire 0 stands for both none and 1
    chunks = [pack(row.th, values, at)]
    fault = th_fault(th, row, vc, wire.mtu)
    if fault is not None:
        raise WireError(fault.reason, fault.field, at + OFFSETS[fault.field], fault.message)
    wanted = body_parts(row, th.length, th.last, th.kind)
    if [len(part) for part in transaction.parts] != [size for _, size in wanted]:
        text = f"{row.name} has ({', '.join(f'{p.name} {n} B' for p, n in wanted) or 'none'}), "
        text += f"{[len(part) for part in transaction.parts]} bytes given"
        raise WireError(Reason.BODY, "body", at + row.th.size_bytes, text)
    for (part, size), data in zip(wanted, transaction.parts, strict=True):
        fault = part_fault(part, data, wire.mtu)
        if fault is None and part.header is not None and data != without_reserved(part.header, data):
            fault = Fault(Reason.RANGE, f"{part.header.name.lower()}.reserved", "reserved bits are sent 0")
        if fault is not None:
            raise WireError(fault.reason, fault.field, at + sum(map(len, chunks)), fault.message)
        chunks.append(bytes(data) + bytes(padded(size) - size))
    return b"".join(chunks)
