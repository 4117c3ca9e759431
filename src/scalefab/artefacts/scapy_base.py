"""What the Scapy layers are made of: fields from the profile's tables, and frames that carry something behind their payload.

Scapy is licensed GPL-2.0-only; see `scapy_layer`.
"""

from __future__ import annotations

from typing import Any

from scapy.fields import BitEnumField, BitField, XBitField, XLEIntField
from scapy.fields import Field as ScapyField
from scapy.packet import Packet

from ..protocol import layout
from ..protocol.fields import Field, Header
from ..protocol.icrc import fcs
from ..protocol.naming import shows_hex
from ..protocol.tables import value_names
from ..protocol.trailer import FcsMode, find_fcs

ABSENT = -1
"""Value of ``fcs`` in a frame that has none: given so, none is built."""


class Signed(BitField):  # type: ignore[misc]
    """A number in two's complement."""

    def i2m(self, pkt: Packet | None, x: int | None) -> int:
        """Return the number that stands on the wire."""
        return (x or 0) & ((1 << int(self.size)) - 1)

    def m2i(self, pkt: Packet | None, x: int) -> int:
        """Return the number that is meant."""
        return x - (1 << self.size) if x >> (self.size - 1) else x


def make_field(f: Field, name: str = "", default: int | None = 0) -> ScapyField:
    """Make the Scapy field of one field of a layout."""
    name = name or f.name
    value = f.constant if f.constant is not None else default
    names = value_names(f)
    if names:
        return BitEnumField(name, value, f.width, names)
    if f.sign == "signed":
        return Signed(name, value, f.width)
    return (XBitField if shows_hex(f) else BitField)(name, value, f.width)


def make_fields(header: Header, **defaults: int | None) -> list[ScapyField]:
    """Make the Scapy fields of a layout; a field with parts is its parts."""
    if header.byte_order == "little":
        return [XLEIntField(f.name, None) for f in header.fields]
    return [make_field(f, default=defaults.get(f.name, 0)) for whole in header.fields for f in (whole.parts or (whole,))]


class Trailer(ScapyField):  # type: ignore[misc]
    """A value that stands behind the payload: its layer cuts it off before, and puts it there after."""

    def __init__(self, name: str) -> None:
        super().__init__(name, None, "I")

    def addfield(self, pkt: Packet, s: Any, val: Any) -> Any:
        """Add nothing: it stands behind the payload."""
        return s

    def getfield(self, pkt: Packet, s: Any) -> Any:
        """Return what was cut off before."""
        return s, pkt.cut_off.get(self.name)

    def i2repr(self, pkt: Packet, x: Any) -> str:
        """Show it in hexadecimal."""
        return f"{x:#010x}" if isinstance(x, int) and x >= 0 else repr(x)


class Framed(Packet):  # type: ignore[misc]
    """A layer with an FCS behind its payload. ``pad`` = zeroes before it, ``cut_off`` = what `pre_dissect` took from the end."""

    __slots__ = ["cut_off"]
    least_bytes = layout.UNPADDED_MIN_BYTES
    trailer = (Trailer("pad"), Trailer("fcs"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cut_off: dict[str, Any] = {}
        super().__init__(*args, **kwargs)

    def pre_dissect(self, s: bytes) -> bytes:
        """Cut off FCS and pad."""
        state, end = find_fcs(s, FcsMode.FIND, self._expected(s))
        self.cut_off["fcs"] = ABSENT if state is None else int.from_bytes(s[end:], "little")
        used = min(self._used(s, end), end)
        self.cut_off["pad"] = s[used:end]
        return s[:used]

    def post_dissect(self, s: bytes) -> bytes:
        """Forget the bytes, so that building puts back what was cut off."""
        self.raw_packet_cache = None  # type: ignore[misc]
        return s

    def _expected(self, s: bytes) -> int | None:
        return self.least_bytes

    def _used(self, s: bytes, end: int) -> int:
        return end

    def _ended(self, data: bytes, least: int) -> bytes:
        """Put pad and FCS behind ``data``."""
        pad, check = self.getfieldval("pad"), self.getfieldval("fcs")
        data += bytes(max(0, least - len(data))) if pad is None else bytes(pad)
        if check == ABSENT:
            return data
        return data + (fcs(data) if check is None else int(check)).to_bytes(layout.FCS.size_bytes, "little")


class Fixed(Packet):  # type: ignore[misc]
    """A layout that nothing follows."""

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        """Leave the rest to whoever holds this layer."""
        return b"", s


class Count(BitField):  # type: ignore[misc]
    """Elements of a list: counted unless given."""

    __slots__ = ["listed"]

    def __init__(self, name: str, width: int, listed: str) -> None:
        super().__init__(name, None, width)
        self.listed = listed

    def i2m(self, pkt: Packet | None, x: int | None) -> int:
        """Return the number that stands on the wire."""
        return len(pkt.getfieldval(self.listed)) if x is None and pkt is not None else x or 0
