"""Preambles, frames between two ports, and the raw carrier's forms (open profile section 2).

Frames between two ports (CC_UPDATE, ordered sets on a raw carrier) are plain Ethernet: told by their whole destination address,
zeroes up to byte 60, FCS. They have no OEFH, no ICRC and belong to no VC.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import WireError
from .bits import Bytes, pack, read
from .frame import WireFormat
from .icrc import checked_fcs, fcs
from .layout import FCS, UNPADDED_MIN_BYTES
from .layout_link import CC_VALUES, LINK_DA, LINK_FRAMES, PREAMBLE, PREAMBLE_LLR, START, VCS_MAX, LinkFrame
from .profile import PREAMBLE_BYTES
from .reasons import Reason
from .record import Record, Table, decode_ordered_set, decode_record, encode_ordered_set, encode_record

_DEFAULT = WireFormat()
_DA = LINK_DA.to_bytes(6)


@dataclass(frozen=True, slots=True)
class Preamble:
    """The 8 B before a frame. ``seq``: its LLR sequence number, None if LLR does not repeat it."""

    seq: int | None = None


def encode_preamble(preamble: Preamble) -> bytes:
    """Turn a preamble into its 8 B; WireError RANGE if seq has more than 20 bits."""
    return pack(PREAMBLE, {}) if preamble.seq is None else pack(PREAMBLE_LLR, {"seq": preamble.seq})


def decode_preamble(data: Bytes) -> Preamble:
    """Read the 8 B before a frame.

    Raises
    ------
    WireError
        LENGTH, or CONSTANT with the field that is neither form's.
    """
    if len(data) != PREAMBLE_BYTES:
        raise WireError(Reason.LENGTH, "preamble", -1, f"{len(data)} bytes, always {PREAMBLE_BYTES}")
    if data[1] & 0xF == PREAMBLE_LLR.field("mark").constant:
        return Preamble(read(PREAMBLE_LLR, data)["seq"])
    read(PREAMBLE, data)
    return Preamble()


def is_preamble(data: Bytes) -> bool:
    """Whether a preamble begins here: how the raw carrier tells it from the filling."""
    return len(data) >= PREAMBLE_BYTES and data[0] == START


def is_link_frame(data: Bytes) -> bool:
    """Whether a frame is one between two ports, by its whole destination address."""
    return bytes(data[: len(_DA)]) == _DA


def cc_update(consumed: Mapping[int, int]) -> list[Record]:
    """Build the CC_UPDATE frames that tell the consumed counter of each VC: one for up to 16 VCs, else two.

    Raises
    ------
    WireError
        RANGE: no VC at all, or one above 31.
    """
    vcs = sorted(consumed)
    if not vcs or not 0 <= vcs[0] <= vcs[-1] < VCS_MAX:
        raise WireError(Reason.RANGE, "cc_update.vc_mask", 16, f"VCs {vcs} are not some of 0 .. {VCS_MAX - 1}")
    records = []
    for some in (vcs[i : i + CC_VALUES] for i in range(0, len(vcs), CC_VALUES)):
        values = {f"consumed{i}": consumed[some[i]] if i < len(some) else 0 for i in range(CC_VALUES)}
        records.append(Record(LinkFrame.CC_UPDATE, {"vc_mask": sum(1 << vc for vc in some), **values}))
    return records


def consumed_of(record: Record) -> dict[int, int]:
    """Return the consumed counter of each VC that a CC_UPDATE speaks of."""
    vcs = [vc for vc in range(VCS_MAX) if record["vc_mask"] >> vc & 1]
    return {vc: record[f"consumed{i}"] for i, vc in enumerate(vcs)}


def ordered_sets_frame(sets: Iterable[Record]) -> Record:
    """Build the raw carrier's frame of 1 .. 255 ordered sets."""
    words = tuple(int.from_bytes(encode_ordered_set(one)) for one in sets)
    return Record(LinkFrame.CTLOS, {"n": len(words), "set": words})


def ordered_sets_of(record: Record) -> tuple[Record, ...]:
    """Return the ordered sets of such a frame; WireError as `record.decode_ordered_set`."""
    return tuple(decode_ordered_set(word.to_bytes(8)) for word in record["set"])


def encode_link_frame(record: Record, wire: WireFormat = _DEFAULT, table: Table = LINK_FRAMES) -> bytes:
    """Turn a frame between two ports into bytes, DA to FCS.

    Raises
    ------
    WireError
        As `record.encode_record`; RANGE too for a CC_UPDATE of no or more than 16 VCs.
    """
    _check_mask(record)
    body = encode_record(table, Record(record.number, {**record.values, "ethertype": wire.control_ethertype}))
    body += bytes(max(0, UNPADDED_MIN_BYTES - len(body)))
    return body + pack(FCS, {"fcs": fcs(body)})


def decode_link_frame(data: Bytes, wire: WireFormat = _DEFAULT, table: Table = LINK_FRAMES) -> Record:
    """Read a frame between two ports, DA to FCS; what lies between its end and FCS is ignored.

    Raises
    ------
    WireError
        FCS, POISONED, LENGTH, ETHERTYPE, TYPE, CONSTANT or RANGE.
    """
    view = checked_fcs(data)
    if len(view) < UNPADDED_MIN_BYTES:
        raise WireError(Reason.LENGTH, "frame", -1, f"{len(view)} bytes before FCS, {UNPADDED_MIN_BYTES} at least")
    if int.from_bytes(view[12:14]) != wire.control_ethertype:
        raise WireError(Reason.ETHERTYPE, "link.ethertype", 12, f"{bytes(view[12:14]).hex()} is another protocol")
    found = decode_record(table, view)
    record = Record(found.number, {name: value for name, value in found.values.items() if name != "ethertype"})
    _check_mask(record)
    return record


def _check_mask(record: Record) -> None:
    if record.number != LinkFrame.CC_UPDATE:
        return
    vcs = int(record.values.get("vc_mask", 1)).bit_count()
    if not 1 <= vcs <= CC_VALUES:
        raise WireError(Reason.RANGE, "cc_update.vc_mask", 16, f"{vcs} VCs in one frame, 1 .. {CC_VALUES}")
