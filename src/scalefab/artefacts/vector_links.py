"""Golden forms beside the frames: preambles, ordered sets, link frames, CONTROL bodies, LLDP TLVs, the raw carrier's frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from ..errors import WireError
from ..protocol import record as rec
from ..protocol.codec import decode_raw, encode_raw
from ..protocol.frame import WireFormat
from ..protocol.icrc import fcs
from ..protocol.layout_control import ControlType
from ..protocol.layout_link import OrderedSet
from ..protocol.link import (
    Preamble,
    cc_update,
    consumed_of,
    decode_link_frame,
    decode_preamble,
    encode_link_frame,
    encode_preamble,
    ordered_sets_frame,
)
from ..protocol.lldp import LldpTlv, decode_lldp, encode_lldp
from .vector_frames import ACK_FRAME, CLOSE_FRAME, LOAD_FRAME, fields_of


class LinkForm(Enum):
    """What a vector is."""

    PREAMBLE = "preamble"
    ORDERED_SET = "ordered_set"
    LINK_FRAME = "link_frame"
    CONTROL = "control"
    LLDP = "lldp"
    RAW = "raw_frame"


_DECODERS: dict[LinkForm, Callable[[bytes], Any]] = {
    LinkForm.PREAMBLE: decode_preamble,
    LinkForm.ORDERED_SET: rec.decode_ordered_set,
    LinkForm.LINK_FRAME: decode_link_frame,
    LinkForm.CONTROL: rec.decode_control,
    LinkForm.LLDP: decode_lldp,
    LinkForm.RAW: decode_raw,
}


@dataclass(frozen=True, slots=True)
class LinkVector:
    """One form as bytes; its values or its fault come from `decode`."""

    name: str
    form: LinkForm
    data: bytes

    def verdict(self) -> dict[str, Any]:
        """Return its values, or reason, field and byte of its fault."""
        try:
            value = _DECODERS[self.form](self.data)
        except WireError as error:
            return {"reason": str(error.reason), "field": error.field, "offset_bytes": error.offset_bytes}
        return {"values": plain(value)}


def plain(value: Any) -> dict[str, Any]:
    """Return a value object as JSON can keep it."""
    if isinstance(value, rec.Record):
        out: dict[str, Any] = {"type": value.number}
        out |= {k: [f"{word:016x}" for word in v] if isinstance(v, tuple) else int(v) for k, v in value.values.items()}
        return out | ({"consumed": {str(vc): n for vc, n in consumed_of(value).items()}} if "consumed0" in out else {})
    if isinstance(value, LldpTlv):
        return {name: list(v) if isinstance(v, tuple) else int(v) for name, v in asdict(value).items()}
    if isinstance(value, Preamble):
        return {"seq": value.seq}
    frame, preamble = value
    return {"preamble": None if preamble is None else plain(preamble), "frame": fields_of(frame)}


def link_vectors() -> Sequence[LinkVector]:
    """Return all good forms, then the bad ones."""
    return (*_line(), *_frames(), *_control(), *_lldp(), *_bad())


_PREAMBLE, _SET, _FRAME = LinkForm.PREAMBLE, LinkForm.ORDERED_SET, LinkForm.LINK_FRAME


def _line() -> list[LinkVector]:
    preambles = {"preamble-seq": Preamble(0x12345), "preamble-plain": Preamble(), "preamble-last-seq": Preamble(0xFFFFF)}
    sets = {
        "ack": rec.llr_ack(0x12345),
        "nack": rec.llr_nack(0x12345),
        "init": rec.llr_init(0, 0xBEEF),
        "init-echo": rec.llr_init(0, 0xBEEF, OrderedSet.INIT_ECHO),
        "cf-update": rec.cf_update((0, 0x2345), (2, 0x10)),
        "cf-update-one-vc": rec.cf_update((31, 0x7FFF)),
    }
    out = [LinkVector(name, _PREAMBLE, encode_preamble(one)) for name, one in preambles.items()]
    return out + [LinkVector(f"ctlos-{name}", _SET, rec.encode_ordered_set(one)) for name, one in sets.items()]


def _frames() -> list[LinkVector]:
    many = cc_update({vc: 0xFFFFF - vc for vc in range(32)})
    frames = {
        "cc-update": cc_update({0: 1, 1: 0x12345})[0],
        "cc-update-vc-31": cc_update({31: 0xABCDE})[0],
        "cc-update-32-vcs-first": many[0],
        "cc-update-32-vcs-second": many[1],
        "ctlos-frame-1": ordered_sets_frame([rec.llr_ack(0x12345)]),
        "ctlos-frame-6": ordered_sets_frame([rec.llr_nack(i) for i in range(5)] + [rec.cf_update((0, 1), (1, 2))]),
    }
    out = [LinkVector(name, _FRAME, encode_link_frame(one)) for name, one in frames.items()]
    raw = {
        "raw-load": encode_raw(LOAD_FRAME, Preamble(0x12345)),
        "raw-ack-plain": encode_raw(ACK_FRAME, Preamble()),
        "raw-control": encode_raw(CLOSE_FRAME, Preamble(1)),
    }
    return out + [LinkVector(name, LinkForm.RAW, data) for name, data in raw.items()]


def _control() -> list[LinkVector]:
    spaces = {
        f"control-{number.name.lower().replace('_', '-')}": rec.space_control(number, 0x2A5, 2, 0x01020304, psn=0xFFFE)
        for number in (ControlType.ACK_REQ, ControlType.CLOSE, ControlType.CLOSED, ControlType.OPEN, ControlType.OPENED)
    }
    values = {"severity": 1, "switch": 0x0102, "port": 0x0304, "first_dst": 512, "dst_count": 256, "plane": 7}
    values |= {"time_ns": 0x1122334455667788, "vc_mask": 0xF, "uplink": 3, "uplinks": 16, "stack": 15, "stack_port": 3}
    events = {
        f"sen-{number.name.lower().replace('_', '-')}": rec.switch_event(number, event=number, tier=number % 3, **values)
        for number in list(ControlType)[:6]
    }
    return [LinkVector(name, LinkForm.CONTROL, rec.encode_control(one)) for name, one in (spaces | events).items()]


def _lldp() -> list[LinkVector]:
    tlvs = {
        "lldp-4-vcs": LldpTlv((4096,) * 4, id=300, stack=1, port=2, plane=5),
        "lldp-1-vc": LldpTlv((0x7FFF,), llr=0, slap_safe=1, overhead_bytes=-16, lossless_mask=1, frame_max=9216),
        "lldp-32-vcs": LldpTlv(tuple(range(32)), lossless_mask=0xFFFFFFFF, overhead_bytes=127, credit_bytes=2048),
    }
    return [LinkVector(name, LinkForm.LLDP, encode_lldp(one)) for name, one in tlvs.items()]


def _sealed(body: bytes) -> bytes:
    return body + fcs(body).to_bytes(4, "little")


def _bad() -> list[LinkVector]:
    cc = encode_link_frame(cc_update({0: 1, 1: 0x12345})[0])
    raw = encode_raw(CLOSE_FRAME, Preamble(1), WireFormat())
    tlv = encode_lldp(LldpTlv((4096,) * 4))

    def tlv_with(at: int, byte: int) -> bytes:
        return tlv[:at] + bytes([byte]) + tlv[at + 1 :]

    return [
        LinkVector("bad-ctlos-type", _SET, bytes.fromhex("5c05123456000000")),
        LinkVector("bad-ctlos-start", _SET, bytes.fromhex("5d01123456000000")),
        LinkVector("bad-ctlos-mark", _SET, bytes.fromhex("5c01123457000000")),
        LinkVector("bad-ctlos-short", _SET, bytes.fromhex("5c011234560000")),
        LinkVector("bad-preamble-delimiter", _PREAMBLE, bytes.fromhex("fb172345555555d4")),
        LinkVector("bad-preamble-mark", _PREAMBLE, bytes.fromhex("fb182345555555d5")),
        LinkVector("bad-cc-update-fcs", _FRAME, cc[:-1] + b"\0"),
        LinkVector("bad-cc-update-17-vcs", _FRAME, _sealed(cc[:16] + b"\0\1\xff\xff" + cc[20:60])),
        LinkVector("bad-link-frame-type", _FRAME, _sealed(cc[:14] + b"\x22" + cc[15:60])),
        LinkVector("bad-link-frame-address", _FRAME, _sealed(b"\x03" + cc[1:60])),
        LinkVector("bad-ctlos-frame-count", _FRAME, _sealed(cc[:14] + b"\x21\x06" + cc[16:60])),
        LinkVector("bad-control-type", LinkForm.CONTROL, b"\x07" + bytes(31)),
        LinkVector("bad-control-vc", LinkForm.CONTROL, b"\x11\0\3" + bytes(29)),
        LinkVector("bad-sen-tier", LinkForm.CONTROL, b"\1" + bytes(13) + b"\3" + bytes(17)),
        LinkVector("bad-lldp-length", LinkForm.LLDP, tlv_with(1, 0x2B)),
        LinkVector("bad-lldp-oui", LinkForm.LLDP, tlv_with(4, 0x4D)),
        LinkVector("bad-lldp-vc-count", LinkForm.LLDP, tlv_with(8, 0)),
        LinkVector("bad-lldp-lossless-mask", LinkForm.LLDP, tlv_with(21, 0x1F)),
        LinkVector("bad-raw-preamble", LinkForm.RAW, _sealed(raw[:67] + b"\0")),
    ]
