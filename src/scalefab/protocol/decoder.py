"""Bytes to frames, driven by `layout` and `opcodes` (open profile section 1), checked in the order in which a receiver checks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..errors import WireError
from .bits import Bytes, unpack
from .frame import Frame, Net, Oefh, Rh, Th, Transaction, TransactionError, Vlan, WireFormat
from .icrc import checked_fcs, icrc
from .layout import (
    CONTROL_BODY_BYTES,
    FCS,
    ICRC,
    ID_MAX,
    NET,
    OEFH,
    RH,
    SLAP_ID,
    TH_RESPONSE,
    TOTAL_LENGTH_MIN,
    UNPADDED_MIN_BYTES,
    VERSION,
    VLAN,
    VLAN_OFFSET_BYTES,
    RhOp,
)
from .opcodes import LengthRule, OpcodeRow, body_parts, padded
from .places import LENGTH_AT, NET_AT, OFFSETS, RH_AT, raise_fault
from .profile import FRAME_MIN_BYTES, HEADER_BYTES, ICRC_BYTES, Opcode
from .reasons import Reason
from .rules import Fault, part_fault, rh_fault, th_fault, without_reserved

_DEFAULT = WireFormat()
_NOTHING = Transaction(Th(Opcode.NOP))  # beside a fault


def decode(
    data: Bytes,
    wire: WireFormat = _DEFAULT,
    *,
    with_fcs: bool = True,
    dst_id: int | None = None,
    partitions: Collection[int] | None = None,
    after_bytes: int = 0,
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
    after_bytes
        Bytes by which a frame may be larger than ``wire.frame_max``: the raw carrier's preamble.

    Raises
    ------
    TransactionError
        The frame is good, its list of transactions is not.
    WireError
        Any other fault: the receiver drops the frame and counts ``reason``.
    """
    view = memoryview(data)
    if with_fcs:
        view = checked_fcs(view)
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
    _check_length(total, received - shift, wire.frame_max + after_bytes)
    dst = _plain_id(oefh["dst_id"], Reason.DST, "oefh.dst_id", wire)
    if dst_id is not None and dst != dst_id:
        raise WireError(Reason.DST, "oefh.dst_id", 0, f"for {dst}, this is {dst_id}")
    covered = total - ICRC_BYTES
    end = covered + shift
    if unpack(ICRC, view[end : end + ICRC_BYTES])["icrc"] != icrc(view, covered, tagged):
        raise WireError(Reason.ICRC, "icrc", end, "bytes changed on the way")
    rh, src = _rh(view, oefh, wire, shift, partitions)
    net = unpack(NET, view[NET_AT + shift : RH_AT + shift])
    vlan = None
    if tagged:
        tag = unpack(VLAN, view[VLAN_OFFSET_BYTES : VLAN_OFFSET_BYTES + shift])
        vlan = Vlan(tag["pcp"], tag["dei"], tag["vid"])
    body = view[HEADER_BYTES + shift : end]
    head = Frame(Oefh(dst, src, oefh["entropy"]), Net(**net), rh, vlan=vlan)
    if rh.op == RhOp.DATA:
        return replace(head, transactions=_transactions(body, head, wire, HEADER_BYTES + shift))
    wanted = CONTROL_BODY_BYTES if rh.op == RhOp.CONTROL else 0
    if len(body) != wanted:
        text = f"{total} in {rh.op.name}, which has {TOTAL_LENGTH_MIN + wanted}"
        raise WireError(Reason.LENGTH, "oefh.total_length", LENGTH_AT, text)
    return replace(head, control=bytes(body))


def _check_length(total: int, received: int, largest: int) -> None:
    size = received + FCS.size_bytes
    if not FRAME_MIN_BYTES <= size <= largest:
        text = f"{size} bytes to FCS, without a tag, are not {FRAME_MIN_BYTES} .. {largest}"
        raise WireError(Reason.LENGTH, "frame", -1, text)
    if total < TOTAL_LENGTH_MIN or total % 8 != 4 or total > received:
        text = f"{total} is not {TOTAL_LENGTH_MIN}, {TOTAL_LENGTH_MIN + 8} .. {received}, the bytes before FCS"
        raise WireError(Reason.LENGTH, "oefh.total_length", LENGTH_AT, text)


def _plain_id(carried: int, reason: Reason, field: str, wire: WireFormat) -> int:
    plain = carried
    if wire.slap_safe:
        parts = unpack(SLAP_ID, carried.to_bytes(SLAP_ID.size_bytes))
        if any(f.constant is not None and parts[f.name] != f.constant for f in SLAP_ID.fields):
            raise WireError(reason, field, OFFSETS[field], f"{carried:#06x} is no locally administered id")
        plain = parts["id_high"] << 8 | parts["id_low"]
    if plain > ID_MAX:
        raise WireError(reason, field, OFFSETS[field], f"{plain} is not 0 .. {ID_MAX}")
    return plain


def _rh(
    view: memoryview, oefh: dict[str, int], wire: WireFormat, shift: int, partitions: Collection[int] | None
) -> tuple[Rh, int]:
    values = unpack(RH, view[RH_AT + shift : HEADER_BYTES + shift])
    version = values.pop("version")
    if version != VERSION:
        raise_fault(Fault(Reason.VERSION, "rh.version", f"{version}, this is {VERSION}"), shift)
    rh = Rh(RhOp(values.pop("op")), **values)
    src_id = _plain_id(oefh["src_id"], Reason.SRC, "oefh.src_id", wire)
    data_type = oefh["ethertype"] == wire.data_ethertype
    if data_type and rh.src != src_id:
        raise_fault(Fault(Reason.SRC, "rh.src", f"{rh.src} in a frame of {src_id}"), shift)
    if partitions is not None and rh.partition not in partitions:
        raise_fault(Fault(Reason.PARTITION, "rh.partition", f"{rh.partition} is not one of the receiver's"), shift)
    if (rh.op == RhOp.CONTROL) is data_type:
        raise_fault(Fault(Reason.OP, "rh.op", f"{rh.op.name} under EtherType {oefh['ethertype']:#06x}"), shift)
    fault = rh_fault(rh)
    if fault is not None:
        raise_fault(fault, shift)
    return rh, src_id


def _transactions(body: memoryview, head: Frame, wire: WireFormat, at: int) -> tuple[Transaction, ...]:
    done: list[Transaction] = []
    start, vc, mtu = 0, head.rh.vc, wire.mtu
    while start < len(body):
        rest = body[start:]
        first = unpack(TH_RESPONSE, rest)  # total_length is a multiple of 8 and 4 more, so 8 B are there
        row = wire.opcodes.get(first["opcode"])
        if row is None:
            fault: Fault | None = Fault(Reason.OPCODE, "th.opcode", f"{first['opcode']} is no opcode")
            offset = 0
        else:
            transaction, size, fault, offset = _transaction(rest, first, row, vc, mtu)
        if fault is not None:
            raise TransactionError(fault.reason, fault.field, at + start + offset, fault.message, head, first["tag"])
        done.append(transaction)
        start += size
    return tuple(done)


def _transaction(
    rest: memoryview, first: dict[str, int], row: OpcodeRow, vc: int, mtu: int
) -> tuple[Transaction, int, Fault | None, int]:
    """Read one transaction, whose first 8 B are ``first``: it, its bytes, and what is wrong with it and at which byte."""
    used = row.th.size_bytes
    if len(rest) < used:
        text = f"{row.name} has a TH of {used} bytes, ICRC comes after {len(rest)}"
        return _NOTHING, 0, Fault(Reason.BODY, "th", text), 0
    values = first.copy() if row.th is TH_RESPONSE else unpack(row.th, rest)
    del values["opcode"]
    if row.length is LengthRule.NONE:
        values["length"] -= 1  # 0 on the wire is none here
    th = Th(row.opcode, **values)
    fault = th_fault(th, row, vc, mtu)
    if fault is not None:
        return _NOTHING, 0, fault, OFFSETS[fault.field]
    parts: list[bytes] = []
    for part, size in body_parts(row, th.length, th.last, th.kind):
        if len(rest) < used + padded(size):
            text = f"{row.name} wants {size} bytes, ICRC comes after {len(rest) - used}"
            return _NOTHING, 0, Fault(Reason.BODY, f"body.{part.name}", text), used
        data = bytes(rest[used : used + size])
        fault = part_fault(part, data, mtu)
        if fault is not None:
            return _NOTHING, 0, fault, used
        parts.append(data if part.header is None else without_reserved(part.header, data))
        used += padded(size)
    return Transaction(th, tuple(parts)), used, None, 0
