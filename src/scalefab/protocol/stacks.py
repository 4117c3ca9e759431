"""Header stacks of Ethernet scale-up networks as data (open profile section 8), and what is left of a wire byte for data.

A row says how many bytes stand before the data of a transaction and behind it; the line adds preamble and gap to each frame.
Rows but the open profile's carry no header per transaction (theirs are unknown), so only the profile's can be packed here.
Sources: RoCEv2 `pub` (IBTA, IEEE 802.3), SUE and ESUN `sib` (Broadcom SUE, ESUN 1.0), UALink `pub` (200G 1.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from .frame import WireFormat
from .profile import (
    FCS_BYTES,
    FRAME_MIN_BYTES,
    HEADER_BYTES,
    ICRC_BYTES,
    TH_REQUEST_BYTES,
    WIRE_EXTRA_BYTES,
)


class Framing(Enum):
    """How data get into frames."""

    ETHERNET = "one transaction a frame"
    PACKED = "transactions with their own header, one or more a frame"
    FLITS = "64 B flits, always full"


@dataclass(frozen=True, slots=True)
class Stack:
    """One header stack.

    Parameters
    ----------
    name
        As people know it.
    before_bytes, trailer_bytes
        Before the first transaction, and behind the last one without FCS.
    transaction_bytes
        Header of each transaction.
    framing
        How data get into frames.
    origin
        Source tag of the row.
    """

    name: str
    before_bytes: int
    trailer_bytes: int
    origin: str
    transaction_bytes: int = 0
    framing: Framing = Framing.ETHERNET


@dataclass(frozen=True, slots=True)
class Efficiency:
    """One row of the comparison; ``transactions`` is None where data are a stream of flits.

    ``frame_bytes`` counts OEFH (or DA) .. FCS, of all frames together for a transaction that needs more than one.
    """

    stack: str
    size_bytes: int
    packed: bool
    transactions: int | None
    frame_bytes: int
    efficiency_pct: float


PROFILE = Stack("EthLink open profile", HEADER_BYTES, ICRC_BYTES, "own", TH_REQUEST_BYTES, Framing.PACKED)
UALINK = Stack("UALink 200G 1.0", 0, 0, "pub", 0, Framing.FLITS)
STACKS = (
    Stack("RoCEv2", 14 + 20 + 8 + 12 + 16, 4, "pub"),  # Ethernet, IP, UDP, BTH, RETH
    Stack("SUE on UDP", 50, 4, "sib"),  # Ethernet, IP, UDP, RH
    Stack("SUE AFH gen 1", 30, 4, "sib"),  # with shim and RH
    Stack("SUE AFH gen 2, 12 B", 22, 4, "sib"),
    Stack("SUE AFH gen 2, 6 B", 16, 4, "sib"),
    Stack("SUE-Lite", 8, 0, "sib"),
    Stack("ESUN 1.0", 26, 4, "sib"),
    UALINK,
    PROFILE,
)
"""Every stack of the comparison."""

FLIT_BYTES = 64
DL_FLIT_BYTES = 640
_UALINK_SHARE_PPM = 952 * 981  # of a wire byte: transaction layer 0.952, data link layer 0.981


def efficiencies(sizes_bytes: Iterable[int], frame_max: int, *, pack: bool = False) -> list[Efficiency]:
    """Compare all stacks for transactions that write ``sizes_bytes`` of data.

    Parameters
    ----------
    sizes_bytes
        Data of one transaction, bytes, each 1 or more.
    frame_max
        Largest frame of the open profile, bytes; the other stacks take any transaction as one frame.
    pack
        Also the open profile with as many transactions a frame as fit.
    """
    rows = []
    for size in sizes_bytes:
        for stack in STACKS:
            rows.append(_alone(stack, size, frame_max))
            if pack and stack.framing is Framing.PACKED:
                rows.append(_packed(stack, size, frame_max))
    return rows


def _alone(stack: Stack, size: int, frame_max: int) -> Efficiency:
    if stack.framing is Framing.FLITS:
        flits = -(-size // FLIT_BYTES) * FLIT_BYTES
        return Efficiency(stack.name, size, True, None, DL_FLIT_BYTES, round(size / flits * _UALINK_SHARE_PPM / 10_000, 6))
    if stack.framing is Framing.ETHERNET:
        return _row(stack, size, False, 1, [_frame(stack, size)])
    return _row(stack, size, False, 1, [_frame(stack, piece) for piece in _packets(size, frame_max)])


def _packed(stack: Stack, size: int, frame_max: int) -> Efficiency:
    room = frame_max - stack.before_bytes - stack.trailer_bytes - FCS_BYTES
    count = room // (stack.transaction_bytes + _padded(size)) if size <= _mtu(frame_max) else 0
    if count == 0:  # packets of a message fill their frames
        alone = _alone(stack, size, frame_max)
        return Efficiency(stack.name, size, True, alone.transactions, alone.frame_bytes, alone.efficiency_pct)
    data = count * _padded(size) + (count - 1) * stack.transaction_bytes
    return _row(stack, size, True, count, [_frame(stack, data)])


def _packets(size: int, frame_max: int) -> list[int]:
    mtu = _mtu(frame_max)
    return [min(mtu, size - start) for start in range(0, size, mtu)]


def _mtu(frame_max: int) -> int:
    return WireFormat(frame_max).mtu


def _frame(stack: Stack, data_bytes: int) -> int:
    data = _padded(data_bytes) if stack.framing is Framing.PACKED else data_bytes
    return max(FRAME_MIN_BYTES, stack.before_bytes + stack.transaction_bytes + data + stack.trailer_bytes + FCS_BYTES)


def _padded(size: int) -> int:
    return (size + 7) & ~7


def _row(stack: Stack, size: int, packed: bool, count: int, frames: list[int]) -> Efficiency:
    wire = sum(frames) + WIRE_EXTRA_BYTES * len(frames)
    return Efficiency(stack.name, size, packed, count, sum(frames), round(100 * size * count / wire, 6))
