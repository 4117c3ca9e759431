"""Golden frames that a receiver must drop, each with the reason, the field at fault and its byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import WireError
from ..protocol.codec import decode, encode
from ..protocol.frame import Frame, Th, Transaction, TransactionError, Vlan, WireFormat, data_frame
from ..protocol.icrc import fcs, icrc
from ..protocol.opcodes import Status
from ..protocol.profile import Opcode
from .vector_frames import ACK_FRAME, CLOSE_FRAME, LOAD_FRAME, STORE_256, good_frames, one_transaction, pattern


@dataclass(frozen=True, slots=True)
class BadFrame:
    """Bytes, and the receiver that they come to: its id and partitions (None = any)."""

    name: str
    data: bytes
    wire: WireFormat = field(default_factory=WireFormat)
    dst_id: int | None = None
    partitions: tuple[int, ...] | None = None

    def verdict(self) -> dict[str, Any]:
        """Return what the receiver says.

        Raises
        ------
        ValueError
            It takes the frame: no bad one.
        """
        try:
            decode(self.data, self.wire, dst_id=self.dst_id, partitions=self.partitions)
        except WireError as error:
            tag = {"error_tag": error.tag} if isinstance(error, TransactionError) else {}
            return {"reason": str(error.reason), "field": error.field, "offset_bytes": error.offset_bytes} | tag
        raise ValueError(f"{self.name} is a good frame")


def sealed(data: bytes | bytearray, *, end: int | None = None, tagged: bool = False) -> bytes:
    """Return a frame with the ICRC (at ``end``; 0 = leave it) and FCS of what it is now."""
    out, shift = bytearray(data), 4 if tagged else 0
    at = int.from_bytes(out[8:10]) - 4 if end is None else end
    if at:
        out[at + shift : at + shift + 4] = icrc(out, at, tagged).to_bytes(4, "little")
    out[-4:] = fcs(bytes(out[:-4])).to_bytes(4, "little")
    return bytes(out)


def changed(frame: Frame | bytes, changes: dict[int, int | bytes], **more: Any) -> bytes:
    """Return a frame with other bytes at some places, and right checksums."""
    out = bytearray(frame if isinstance(frame, bytes) else encode(frame))
    for at, value in changes.items():
        text = value if isinstance(value, bytes) else bytes([value])
        out[at : at + len(text)] = text
    return sealed(out, **more)


def bad_frames() -> Sequence[BadFrame]:
    """Return all golden bad frames, in the order of a receiver's checks."""
    return (*_of_the_link(), *_of_the_headers(), *_of_the_list())


def _of_the_link() -> list[BadFrame]:
    load = encode(LOAD_FRAME)
    large = Transaction(Th(Opcode.RDMA_WRITE, 4096, last=0, tag=0x8000), (pattern(4096),))
    poisoned = next(one.data() for one in good_frames() if one.poisoned)
    return [
        BadFrame("empty", b""),
        BadFrame("fcs", load[:-1] + b"\0"),
        BadFrame("poisoned", poisoned),
        BadFrame("ipv4", changed(load, {12: b"\x08\x00"}, end=0)),
        BadFrame("runt", sealed(load[:48] + load[-4:], end=0)),
        BadFrame("too-large", encode(data_frame(1, 2, 2, 3, [large]), WireFormat(4160))),
        BadFrame("total-length-short", changed(load, {9: 20}, end=0)),
        BadFrame("total-length-not-4-mod-8", changed(load, {9: 48}, end=0)),
        BadFrame("total-length-beyond", changed(load, {9: 68}, end=0)),
        BadFrame("ack-with-a-body", changed(ACK_FRAME, {9: 36})),
    ]


def _of_the_headers() -> list[BadFrame]:
    load, ack, close = encode(LOAD_FRAME), encode(ACK_FRAME), encode(CLOSE_FRAME)
    slap, safe = WireFormat(slap_safe=True), encode(LOAD_FRAME, WireFormat(slap_safe=True))
    tagged = encode(replace(LOAD_FRAME, vlan=Vlan(3, 1, 5)))
    foreign = Transaction(Th(Opcode.ERROR, posted=1, kind=Status.UNSUPPORTED, tag=0x1234))
    return [
        BadFrame("not-mine", load, dst_id=301),
        BadFrame("id-1024", changed(load, {0: b"\x04\x00"})),
        BadFrame("slap-multicast", changed(safe, {0: safe[0] | 1}), slap),
        BadFrame("icrc", changed(load, {39: load[39] ^ 1}, end=0)),
        BadFrame("icrc-tagged", changed(tagged, {43: tagged[43] ^ 1}, end=0)),
        BadFrame("version-1", changed(load, {16: load[16] | 0x40})),
        BadFrame("forged-source", changed(load, {17: 6})),
        BadFrame("source-1024", changed(load, {6: 4, 7: 0})),
        BadFrame("foreign-partition", encode(one_transaction(foreign, again=1, partition=1023)), partitions=(0, 1)),
        BadFrame("ack-under-the-control-type", changed(ack, {13: 0xB6})),
        BadFrame("control-under-the-data-type", changed(close, {13: 0xB5})),
        BadFrame("data-on-vc-3", changed(load, {20: 0xC0})),
        BadFrame("ack-without-ack", changed(ack, {20: 0xC0})),
        BadFrame("ack-of-vc-3", changed(ack, {20: 0xF8})),
        BadFrame("ack-with-psn", changed(ack, {19: 1})),
    ]


def _of_the_list() -> list[BadFrame]:
    load = encode(LOAD_FRAME)
    tagged = encode(replace(LOAD_FRAME, vlan=Vlan(3, 1, 5)))
    good = {one.name: one.data() for one in good_frames()}
    mixed, store = good["packed-mixed"], encode(one_transaction(STORE_256))
    return [
        BadFrame("opcode-11", changed(load, {24: 11 << 2})),
        BadFrame("response-on-vc-0", changed(load, {24: Opcode.LOAD_RSP << 2})),
        BadFrame("load-of-63", changed(load, {26: 0x3E})),
        BadFrame("scope-3", changed(tagged, {29: tagged[29] | 0xC0}, tagged=True)),
        BadFrame("address-58-bits", changed(load, {32: 2})),
        BadFrame("store-beyond-icrc", changed(store, {25: 0x11, 26: 0xFF})),
        BadFrame("half-a-th", changed(good["nop"], {24: Opcode.LOAD << 2, 26: 0x3F})),
        BadFrame("second-transaction-bad", changed(mixed, {48: 0xF4})),
        BadFrame("read-of-nothing", changed(good["rdma-read-largest"], {40: bytes(4)})),
    ]
