"""Value objects of a frame: what `codec` turns into bytes and back. Names are those of `layout`; what a frame's own shape
tells (total_length, EtherType, version, ICRC, FCS, pads, reserved bits) is no field here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import WireError
from .layout import (
    CONTROL_BODY_BYTES,
    DSCP_PER_VC,
    ETHERTYPE_CONTROL,
    ETHERTYPE_DATA,
    FRAME_MAX_BYTES,
    FRAME_MAX_LIMIT_BYTES,
    TTL_SENT,
    Order,
    RhOp,
    Scope,
)
from .opcodes import OPCODES, OpcodeRow, padded
from .profile import HEADER_BYTES, ICRC_BYTES, VC_CONTROL
from .reasons import Reason as Reason

_FRAME_MAX_LEAST = 128  # below it mtu, (frame_max - 64) rounded down to 64, is 0


@dataclass(frozen=True, slots=True)
class WireFormat:
    """What both ends of a link agree on (negotiation TLV).

    Parameters
    ----------
    frame_max
        Largest frame OEFH .. FCS without a tag, bytes; 128 .. 9216.
    slap_safe
        Whether dst_id and src_id are carried as locally administered addresses (`layout.SLAP_ID`).
    data_ethertype, control_ethertype
        EtherTypes of RH op DATA, ACK, NACK and of CONTROL.
    opcodes
        The table of opcodes; another one than the profile's only to try a new row.

    Raises
    ------
    WireError
        A value that no link can agree on.
    """

    frame_max: int = FRAME_MAX_BYTES
    slap_safe: bool = False
    data_ethertype: int = ETHERTYPE_DATA
    control_ethertype: int = ETHERTYPE_CONTROL
    opcodes: Mapping[int, OpcodeRow] = field(default_factory=lambda: OPCODES, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not _FRAME_MAX_LEAST <= self.frame_max <= FRAME_MAX_LIMIT_BYTES:
            text = f"{self.frame_max} is not {_FRAME_MAX_LEAST} .. {FRAME_MAX_LIMIT_BYTES}"
            raise WireError(Reason.RANGE, "wire.frame_max", -1, text)
        for name, value in (("data", self.data_ethertype), ("control", self.control_ethertype)):
            if not 0x600 <= value <= 0xFFFF or value == 0x8100:
                raise WireError(Reason.RANGE, f"wire.{name}_ethertype", -1, f"{value:#x} is no EtherType")
        if self.data_ethertype == self.control_ethertype:
            raise WireError(Reason.RANGE, "wire.control_ethertype", -1, "data and control share one EtherType")

    @property
    def mtu(self) -> int:
        """Data bytes of a full packet: min(4096, (frame_max - 64) rounded down to 64) (`own`)."""
        return min(4096, (self.frame_max - 64) // 64 * 64)


@dataclass(frozen=True, slots=True)
class Oefh:
    """Forwarding header: ids 0 .. 1023 and the entropy word."""

    dst_id: int
    src_id: int
    entropy: int = 0

    @property
    def path_id(self) -> int:
        """First ten bits of entropy: stack 4, port 2, uplink 4."""
        return self.entropy >> 6


@dataclass(frozen=True, slots=True)
class Net:
    """What switches may change (but ``ar``)."""

    ar: int = 0
    ttl: int = TTL_SENT
    dscp: int = 0
    ecn: int = 0


@dataclass(frozen=True, slots=True)
class Rh:
    """Reliability header."""

    op: RhOp
    src: int
    vc: int
    psn: int = 0
    again: int = 0
    ack_vc: int = 0
    ack: int = 0
    partition: int = 0
    ack_psn: int = 0


@dataclass(frozen=True, slots=True)
class Th:
    """Transaction header. ``length`` in bytes, 0 where the opcode has none; ``address`` is 0 where TH has only 8 B."""

    opcode: int
    length: int = 0
    order: int = Order.RELAXED
    scope: int = Scope.GPU
    posted: int = 0
    last: int = 1
    kind: int = 0
    tag: int = 0
    context: int = 0
    address: int = 0


@dataclass(frozen=True, slots=True)
class Transaction:
    """A TH and the parts of its body, unpadded, in the order of its row in `opcodes.OPCODES`."""

    th: Th
    parts: tuple[bytes, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes on the wire, pads included; KeyError for an unknown opcode."""
        return OPCODES[self.th.opcode].th.size_bytes + sum(padded(len(part)) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Vlan:
    """802.1Q tag."""

    pcp: int = 0
    dei: int = 0
    vid: int = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the profile. ``transactions`` for DATA, ``control`` (32 B) for CONTROL, neither for ACK and NACK."""

    oefh: Oefh
    net: Net
    rh: Rh
    transactions: tuple[Transaction, ...] = ()
    control: bytes = b""
    vlan: Vlan | None = None

    @property
    def total_length(self) -> int:
        """OEFH.total_length: OEFH to the end of ICRC in bytes, without a tag."""
        return HEADER_BYTES + sum(t.size_bytes for t in self.transactions) + len(self.control) + ICRC_BYTES


class TransactionError(WireError):
    """A good frame whose list of transactions does not parse.

    Its PSN and acknowledgement count, nothing of it is executed, and its sender gets ERROR with status UNSUPPORTED and ``tag``.

    Attributes
    ----------
    frame
        The headers, without transactions.
    tag
        Tag of the first bad TH.
    """

    code = "WIRE_TRANSACTION"

    def __init__(self, reason: str, field: str, offset_bytes: int, message: str, frame: Frame, tag: int) -> None:
        super().__init__(reason, field, offset_bytes, message)
        self.frame = frame
        self.tag = tag


def data_frame(
    src: int,
    dst: int,
    vc: int,
    psn: int,
    transactions: Sequence[Transaction],
    *,
    entropy: int = 0,
    ar: int = 0,
    partition: int = 0,
    again: int = 0,
    ack: tuple[int, int] | None = None,
) -> Frame:
    """Build a DATA frame as its source sends it.

    Parameters
    ----------
    src, dst
        Endpoint ids.
    vc, psn
        Virtual channel 0 .. 2 and sequence number in (src, dst, path id, vc).
    transactions
        In the order in which they run.
    entropy, ar, partition, again
        As in `layout`.
    ack
        (ack_vc, ack_psn) that rides along, or None.
    """
    ack_vc, ack_psn = ack or (0, 0)
    rh = Rh(RhOp.DATA, src, vc, psn, again, ack_vc, int(ack is not None), partition, ack_psn)
    return Frame(Oefh(dst, src, entropy), Net(ar=ar, dscp=DSCP_PER_VC * vc), rh, tuple(transactions))


def ack_frame(
    src: int, dst: int, ack_vc: int, ack_psn: int, *, entropy: int = 0, partition: int = 0, op: RhOp = RhOp.ACK
) -> Frame:
    """Build an ACK (or, by ``op``, NACK) frame: ``src`` has accepted all up to ``ack_psn`` of (dst, src, path id, ack_vc).

    It takes the path id of what it answers, so ``entropy`` is that of the frames acknowledged.
    """
    rh = Rh(op, src, VC_CONTROL, ack_vc=ack_vc, ack=1, partition=partition, ack_psn=ack_psn)
    return Frame(Oefh(dst, src, entropy), Net(dscp=DSCP_PER_VC * VC_CONTROL), rh)


def control_frame(src: int, dst: int, body: bytes, *, entropy: int = 0, partition: int = 0) -> Frame:
    """Build a CONTROL frame around its 32 B body; ValueError for another size."""
    if len(body) != CONTROL_BODY_BYTES:
        raise ValueError(f"a CONTROL body has {CONTROL_BODY_BYTES} bytes, not {len(body)}")
    rh = Rh(RhOp.CONTROL, src, VC_CONTROL, partition=partition)
    return Frame(Oefh(dst, src, entropy), Net(dscp=DSCP_PER_VC * VC_CONTROL), rh, control=body)
