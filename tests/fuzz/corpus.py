"""What the fuzzers start from, what they call, and what must hold of every answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scalefab.errors import WireError
from scalefab.protocol import record as rec
from scalefab.protocol.codec import decode, decode_raw, encode, encode_raw
from scalefab.protocol.frame import Frame, WireFormat
from scalefab.protocol.icrc import fcs, icrc
from scalefab.protocol.layout_control import ControlType
from scalefab.protocol.layout_link import OrderedSet
from scalefab.protocol.link import (
    Preamble,
    cc_update,
    decode_link_frame,
    decode_preamble,
    encode_link_frame,
    encode_preamble,
    ordered_sets_frame,
)
from scalefab.protocol.lldp import LldpTlv, decode_lldp, encode_lldp
from scalefab.protocol.reasons import Reason

VECTORS = Path(__file__).parents[1] / "vectors"
WIRES = (WireFormat(), WireFormat(4160), WireFormat(9216, slap_safe=True))
REASONS = frozenset(Reason)


def frames() -> list[bytes]:
    """Frames of every opcode and op, good and bad."""
    out = []
    for name in ("frames.json", "bad_frames.json"):
        out += [bytes.fromhex(vector["hex"]) for vector in json.loads((VECTORS / name).read_text())["vectors"]]
    raw = [encode_raw(decode(data), Preamble(i)) for i, data in enumerate(out[:3])]
    return [data for data in out if len(data) >= 28] + raw


def link_forms() -> list[bytes]:
    """Ordered sets, preambles, link frames, CONTROL bodies, TLVs."""
    sets = [rec.llr_ack(5), rec.llr_nack(6), rec.llr_init(7, 8), rec.llr_init(9, 8, OrderedSet.INIT_ECHO), rec.cf_update((0, 1))]
    out = [rec.encode_ordered_set(one) for one in sets]
    out += [encode_preamble(Preamble(1)), encode_preamble(Preamble())]
    out += [encode_link_frame(one) for one in (*cc_update({0: 1, 3: 2}), ordered_sets_frame(sets))]
    out += [rec.encode_control(rec.space_control(number, 1, 2, 3)) for number in range(16, 21)]
    out += [rec.encode_control(rec.switch_event(ControlType(number))) for number in range(1, 7)]
    return [*out, encode_lldp(LldpTlv((4096,) * 4)), encode_lldp(LldpTlv((1,) * 32))]


def seal(data: bytearray) -> None:
    """Give a frame the ICRC and FCS of what it is now, so that a fuzzer gets behind them."""
    size = len(data)
    if size < 36:
        return
    tagged = data[12] == 0x81 and data[13] == 0
    shift = 4 if tagged else 0
    total = data[8] << 8 | data[9]
    end = total - 4 + shift
    if total - 4 >= 24 and end + 4 <= size - 4:
        data[end : end + 4] = icrc(data, total - 4, tagged).to_bytes(4, "little")
    data[-4:] = fcs(memoryview(data)[:-4]).to_bytes(4, "little")


def again_alike(frame: Frame, wire: WireFormat) -> None:
    """What was decoded is a frame of the profile: it encodes, and decodes to itself."""
    assert decode(encode(frame, wire), wire) == frame


def _round_trip(table_decode: Callable[[Any], Any], table_encode: Callable[[Any], bytes]) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        value = table_decode(data)
        assert table_decode(table_encode(value)) == value

    return check


LINK_CHECKS = (
    _round_trip(rec.decode_ordered_set, rec.encode_ordered_set),
    _round_trip(rec.decode_control, rec.encode_control),
    _round_trip(decode_link_frame, encode_link_frame),
    _round_trip(decode_lldp, encode_lldp),
    _round_trip(decode_preamble, encode_preamble),
)


def check_error(error: WireError, size: int) -> None:
    """A refusal says why, where and at which byte."""
    assert error.reason in REASONS and error.field
    assert -1 <= error.offset_bytes <= max(size, 0)


def check_bytes(data: bytes, wire: WireFormat) -> None:
    """Give bytes to every decoder; anything but a value or WireError is a finding."""
    for decode_one in (decode, decode_raw):
        try:
            value = decode_one(data, wire)
        except WireError as error:
            check_error(error, len(data))
        else:
            again_alike(value if isinstance(value, Frame) else value[0], wire)
    for check in LINK_CHECKS:
        try:
            check(data)
        except WireError as error:
            check_error(error, len(data))
