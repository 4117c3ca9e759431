"""What the fields of a frame may say together (open profile section 1), told the same way to the sender and the receiver.

Addresses off their `opcodes.AddressRule` are no fault of a frame: the target answers those with status ALIGNMENT.
"""

from __future__ import annotations

from typing import NamedTuple

from .bits import Bytes, pack, unpack
from .fields import Header
from .frame import Rh, Th
from .layout import ADDRESS_BITS, READ_TOTAL, TH_REQUEST, RhOp, Scope
from .opcodes import AddressRule, AtomicOp, ElementType, KindRule, LengthRule, OpcodeRow, Part, Status
from .profile import LSU_MAX_BYTES, MESSAGE_MAX_PACKETS, VC_CONTROL
from .reasons import Reason

_ELEMENT_SIZES = frozenset(t.size_bytes for t in ElementType)
_INTEGER_ONLY = frozenset((AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR, AtomicOp.COMPARE_SWAP))
_NOT_IN_REDUCE = frozenset((AtomicOp.SWAP, AtomicOp.COMPARE_SWAP))


class Fault(NamedTuple):
    """One broken rule: why, which field (``layer.field``), in words."""

    reason: Reason
    field: str
    message: str


def rh_fault(rh: Rh) -> Fault | None:
    """Judge VC, acknowledgement and PSN of an RH, in the receiver's order; None if they agree."""
    if (rh.vc == VC_CONTROL) is (rh.op == RhOp.DATA):
        return Fault(Reason.VC, "rh.vc", f"{RhOp(rh.op).name} does not travel on VC {rh.vc}")
    if rh.op in (RhOp.ACK, RhOp.NACK) and rh.ack != 1:
        return Fault(Reason.ACK, "rh.ack", f"{RhOp(rh.op).name} without a valid ack_psn")
    if rh.ack and rh.ack_vc == VC_CONTROL:
        return Fault(Reason.ACK, "rh.ack_vc", "VC 3 has no PSN to acknowledge")
    if rh.op != RhOp.DATA and rh.psn:
        return Fault(Reason.PSN, "rh.psn", f"{RhOp(rh.op).name} has no PSN, {rh.psn} found")
    return None


def th_fault(th: Th, row: OpcodeRow, vc: int, mtu: int) -> Fault | None:
    """Judge a TH against its row; None if it keeps all rules.

    Parameters
    ----------
    th, row
        The header, its fields within their widths, and the row of its opcode.
    vc
        VC of the frame.
    mtu
        Bytes of a full packet.
    """
    name = row.name
    if vc not in row.vcs:
        return Fault(Reason.VC, "th.opcode", f"{name} does not travel on VC {vc}")
    if th.scope > Scope.SYSTEM:
        return Fault(Reason.RANGE, "th.scope", f"{th.scope} is no scope")
    if row.is_response and th.posted != 1:
        return Fault(Reason.RANGE, "th.posted", f"{name} is a response: posted is 1")
    if not row.is_packet and th.last != 1:
        return Fault(Reason.RANGE, "th.last", f"{name} is whole: last is 1")
    kind = _kind_error(row.kind, th.kind)
    if kind:
        return Fault(Reason.RANGE, "th.kind", f"{th.kind:#04x}: {kind}")
    if not _length_ok(th, row, mtu):
        return Fault(Reason.RANGE, "th.length", f"{th.length} where {name} has {row.length.value} (mtu {mtu})")
    if row.is_response and not row.is_packet and th.context:
        return Fault(Reason.RANGE, "th.context", f"{name} has context 0, {th.context} found")
    if row.th is not TH_REQUEST:
        if th.address:
            return Fault(Reason.RANGE, "th.address", f"{name} carries no address")
    elif row.address is not AddressRule.QUEUE and th.address >> ADDRESS_BITS:
        return Fault(Reason.RANGE, "th.address", f"{th.address:#x} has more than {ADDRESS_BITS} bits")
    return None


def _kind_error(rule: KindRule, kind: int) -> str:
    if rule is KindRule.ZERO:
        return "0 expected" if kind else ""
    if rule is KindRule.STATUS:
        return "no status" if kind > Status.RECEIVER_NOT_READY else ""
    if rule is KindRule.CONTEXT:
        return ""
    op, element = kind >> 4, kind & 15
    if op > AtomicOp.COMPARE_SWAP or element > ElementType.F64:
        return "no such operation or type"
    if rule is KindRule.REDUCTION and op in _NOT_IN_REDUCE:
        return "not an operation of REDUCE"
    if op in _INTEGER_ONLY and not ElementType(element).is_integer:
        return "that operation is for integers only"
    return ""


def _length_ok(th: Th, row: OpcodeRow, mtu: int) -> bool:
    n, rule = th.length, row.length
    if rule is LengthRule.NONE:
        return n == 0
    if rule is LengthRule.POWER_OF_TWO:
        return 0 < n <= LSU_MAX_BYTES and n & (n - 1) == 0
    if rule is LengthRule.ELEMENTS:
        return 0 < n <= LSU_MAX_BYTES and n % ElementType(th.kind & 15).size_bytes == 0
    if rule is LengthRule.ELEMENT:
        return n in _ELEMENT_SIZES if row.is_response else n == ElementType(th.kind & 15).size_bytes
    if rule is LengthRule.READ:
        return n == 8
    failed = row.is_response and th.kind != Status.OK  # carries no data, so it may be short
    return 1 <= n <= mtu if th.last or failed else n == mtu


def part_fault(part: Part, data: Bytes, mtu: int) -> Fault | None:
    """Judge what stands in a part of a body; None if it has no inner layout or keeps its rules."""
    return read_total_fault(unpack(READ_TOTAL, data)["total"], mtu) if part.header is READ_TOTAL else None


def without_reserved(header: Header, data: Bytes) -> bytes:
    """Return the bytes of an inner layout with its reserved bits 0."""
    return pack(header, unpack(header, data))


def read_total_fault(total: int, mtu: int) -> Fault | None:
    """Judge the bytes that an RDMA_READ asks for: 1 .. 65 536 packets' worth."""
    if 1 <= total <= MESSAGE_MAX_PACKETS * mtu:
        return None
    return Fault(Reason.RANGE, "read.total", f"{total} is not 1 .. {MESSAGE_MAX_PACKETS} x {mtu}")
