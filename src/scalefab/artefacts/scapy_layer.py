"""Scapy layers of the open profile, made from its tables when this module is imported; needs the extra ``scapy``.

Scapy is licensed GPL-2.0-only: scalefab itself never imports it, and a program that imports this module is bound by that licence.

>>> from scalefab.artefacts.scapy_layer import NET, OEFH, RH, TH, ethernet
>>> frame = OEFH(dst_id=300, src_id=5) / NET() / RH(src=5, psn=7) / TH(opcode="LOAD", length=64, tag=0x11, address=0x123456780)
>>> ethernet(bytes(frame))[TH].address == 0x123456780
True

total_length, ICRC, pad and FCS are computed unless they are given. `register` makes ``rdpcap`` and ``sniff`` use the layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import BitField, ConditionalField, FieldListField, PacketListField
from scapy.fields import Field as ScapyField
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw, bind_layers

from ..protocol import layout, layout_control, layout_link
from ..protocol.fields import Header
from ..protocol.icrc import icrc
from ..protocol.naming import address_header, prefix
from ..protocol.opcodes import OPCODES, LengthRule, OpcodeRow, Part, PartSize, body_parts, padded
from ..protocol.profile import HEADER_BYTES, ICRC_BYTES, ORDERED_SET_BYTES, PREAMBLE_BYTES
from .scapy_base import ABSENT as ABSENT
from .scapy_base import Count, Fixed, Framed, Trailer, make_field, make_fields

_TPID = layout.VLAN.field("tpid").constant
_LINK_DA = layout_link.LINK_DA.to_bytes(6)
_TAG_AT = layout.VLAN_OFFSET_BYTES
_ENTROPY = layout.OEFH.field("entropy")


class OEFH(Framed):
    """Forwarding header with ICRC, pad and FCS of its frame; a tag is Scapy's Dot1Q between it and NET.

    ``preamble``: the raw carrier's 8 B behind ICRC, else b"".
    """

    name = "OEFH"
    fields_desc: ClassVar[list[ScapyField]] = [
        *make_fields(layout.OEFH, total_length=None, ethertype=layout.ETHERTYPE_DATA),
        Trailer("icrc"),
        Trailer("preamble"),
        *Framed.trailer,
    ]

    @property
    def entropy(self) -> int:
        """The word that its parts make."""
        word = 0
        for part in _ENTROPY.parts:
            word = word << part.width | self.getfieldval(part.name)
        return word

    @property
    def path_id(self) -> int:
        """First ten bits of entropy."""
        return self.entropy >> _ENTROPY.parts[-1].width

    @staticmethod
    def _places(s: bytes) -> tuple[int, int, bool]:
        """Return bytes of the tag, of everything to ICRC, and whether a preamble follows."""
        shift = layout.VLAN.size_bytes if int.from_bytes(s[_TAG_AT : _TAG_AT + 2]) == _TPID else 0
        total = int.from_bytes(s[layout.OEFH.field("total_length").byte :][:2]) + shift
        raw = len(s) >= total + PREAMBLE_BYTES and s[total] == layout_link.START
        return shift, total, raw

    def _expected(self, s: bytes) -> int | None:
        shift, total, raw = self._places(s)
        return max(total + PREAMBLE_BYTES * raw, self.least_bytes + shift)

    def _used(self, s: bytes, end: int) -> int:
        shift, total, raw = self._places(s)
        if not HEADER_BYTES + shift + ICRC_BYTES <= total <= end:
            return end  # a wrong length: no ICRC to be found
        self.cut_off["icrc"] = int.from_bytes(s[total - ICRC_BYTES : total], "little")
        return total + PREAMBLE_BYTES * (raw and total + PREAMBLE_BYTES <= end)

    def pre_dissect(self, s: bytes) -> bytes:
        """Cut off what stands behind the payload."""
        rest = super().pre_dissect(s)
        if "icrc" not in self.cut_off:
            self.cut_off.update(icrc=ABSENT, preamble=b"")
            return rest
        total = self._places(s)[1]
        self.cut_off["preamble"] = rest[total:]
        return rest[: total - ICRC_BYTES]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Put total_length, ICRC, preamble, pad and FCS in their places."""
        data = pkt + pay
        tagged = int.from_bytes(data[_TAG_AT : _TAG_AT + 2]) == _TPID
        shift = layout.VLAN.size_bytes if tagged else 0
        covered = len(data) - shift
        if self.getfieldval("total_length") is None:
            at = layout.OEFH.field("total_length").byte
            data = data[:at] + (covered + ICRC_BYTES).to_bytes(2) + data[at + 2 :]
        check = self.getfieldval("icrc")
        if check is None:
            check = icrc(data, covered, tagged) if covered >= HEADER_BYTES else ABSENT
        if check != ABSENT:
            data += int(check).to_bytes(ICRC_BYTES, "little")
        return self._ended(data + bytes(self.getfieldval("preamble") or b""), self.least_bytes + shift)

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """NET, or the tag before it."""
        return Dot1Q if self.ethertype == _TPID else NET


class NET(Packet):  # type: ignore[misc]
    """What switches may change."""

    name = "NET"
    fields_desc = make_fields(layout.NET, ttl=layout.TTL_SENT)

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """RH, always."""
        return RH


class RH(Packet):  # type: ignore[misc]
    """Reliability header."""

    name = "RH"
    fields_desc = make_fields(layout.RH)

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """TH, or the body whose type comes first."""
        if self.op == layout.RhOp.DATA:
            return TH
        row = layout_control.CONTROL_TYPES.get(payload[0]) if self.op == layout.RhOp.CONTROL else None
        return Raw if row is None else _CLASSES[row.header.name]


def _row(pkt: Packet) -> OpcodeRow | None:
    return OPCODES.get(pkt.getfieldval("opcode"))


def _length(pkt: Packet) -> int:
    """Return TH.length; if it was not given, that of the data."""
    given = pkt.fields.get("length")
    row = _row(pkt)
    if given is not None or row is None:
        return given or 0
    sized = (part.name for part in row.body if part.size is PartSize.LENGTH)
    return max((len(pkt.fields.get(name, b"")) for name in sized), default=8 if row.length is LengthRule.READ else 0)


def _sizes(pkt: Packet) -> dict[str, int]:
    row = _row(pkt)
    if row is None:
        return {}
    found = body_parts(row, _length(pkt), pkt.getfieldval("last"), pkt.getfieldval("kind"))
    return {part.name: size for part, size in found}


class _Length(BitField):  # type: ignore[misc]
    """TH.length: one less on the wire, but where the opcode has none."""

    def i2m(self, pkt: Packet | None, x: int | None) -> int:
        number = _length(pkt) if pkt is not None and x is None else x or 0
        return max(0, number - self._bias(pkt)) & ((1 << int(self.size)) - 1)

    def m2i(self, pkt: Packet | None, x: int) -> int:
        return x + self._bias(pkt)

    @staticmethod
    def _bias(pkt: Packet | None) -> int:
        row = None if pkt is None else _row(pkt)
        return 0 if row is not None and row.length is LengthRule.NONE else layout.TH_RESPONSE.field("length").bias


class _Posted(BitField):  # type: ignore[misc]
    """TH.posted: 1 in responses unless told otherwise."""

    def i2m(self, pkt: Packet | None, x: int | None) -> int:
        if x is None and pkt is not None:
            row = _row(pkt)
            return int(row is not None and row.is_response)
        return x or 0


class _Part(ScapyField):  # type: ignore[misc]
    """Bytes of a body, with their padding to 8 B."""

    def __init__(self, name: str) -> None:
        super().__init__(name, b"", "0s")

    def addfield(self, pkt: Packet, s: bytes, val: bytes) -> bytes:
        return s + val + bytes(padded(len(val)) - len(val))

    def getfield(self, pkt: Packet, s: bytes) -> tuple[bytes, bytes]:
        size = _sizes(pkt)[self.name]
        return s[padded(size) :], s[:size]


def _present(name: str) -> Callable[[Packet], bool]:
    return lambda pkt: name in _sizes(pkt)


def _addressed_by(header: Header) -> Callable[[Packet], bool]:
    def is_there(pkt: Packet) -> bool:
        row = _row(pkt)
        return row is not None and address_header(row) is header

    return is_there


def _th_fields() -> list[ScapyField]:
    """TH, then every part that a body may have, in an order that all rows share; each is there when its row says so."""
    special: dict[str, ScapyField] = {"length": _Length("length", None, 12), "posted": _Posted("posted", None, 1)}
    out = [special.get(f.name) or make_field(f, default=int(f.name == "last")) for f in layout.TH_RESPONSE.fields]
    plain = layout.TH_REQUEST.fields[len(layout.TH_RESPONSE.fields) :]

    def has_plain(pkt: Packet) -> bool:
        row = _row(pkt)
        return row is not None and row.th is layout.TH_REQUEST and address_header(row) is None

    out += [ConditionalField(make_field(f), has_plain) for f in plain]
    for header in {id(h): h for row in OPCODES.values() if (h := address_header(row))}.values():
        out += [ConditionalField(make_field(f), _addressed_by(header)) for f in header.fields]
    for part in _in_order():
        if part.header is None:
            out.append(ConditionalField(_Part(part.name), _present(part.name)))
        else:
            name = prefix(part.header)
            out += [ConditionalField(make_field(f, f"{name}_{f.name}"), _present(part.name)) for f in part.header.fields]
    return out


def _in_order() -> Sequence[Part]:
    """Return the parts of all bodies, each once, behind all that stand before it in any row."""
    rows = [row.body for row in OPCODES.values() if row.body]
    before = {part.name: {p.name for body in rows for p in body[: _index(body, part)]} for body in rows for part in body}
    parts = {part.name: part for body in rows for part in body}
    done: list[Part] = []
    while parts:
        ready = [n for n in parts if not before[n] - {p.name for p in done}]
        if not ready:
            raise ValueError("the parts of the bodies have no common order")
        done += [parts.pop(n) for n in ready]
    return done


def _index(body: Sequence[Part], part: Part) -> int:
    return next((i for i, p in enumerate(body) if p.name == part.name), 0)


class TH(Packet):  # type: ignore[misc]
    """One transaction with its body; the next one is its payload. ``length`` and ``posted`` are found unless given.

    Fields of a part with a layout carry its name: ``read_total``, ``signal_add``, ``signal_address``.
    """

    name = "TH"
    fields_desc = _th_fields()

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """The next transaction; nothing can be told behind an unknown one."""
        return Raw if _row(self) is None else TH


def _body(header: Header) -> type[Packet]:
    inside: dict[str, Any] = {"name": header.name, "fields_desc": make_fields(header)}
    return type(header.name, (Fixed,), {**inside, "__doc__": f"{header.name}, a body of a CONTROL frame."})


_BODIES = {row.header.name: row.header for row in layout_control.CONTROL_TYPES.values()}
_CLASSES: dict[str, type[Packet]] = {name: _body(header) for name, header in _BODIES.items()}
SPACE_CONTROL, SEN = _CLASSES["SPACE_CONTROL"], _CLASSES["SEN"]


class CtlOS(Fixed):
    """A control ordered set; made from bytes it is that of its type."""

    name = "CtlOS"

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *args: Any, **kwargs: Any) -> type[Packet]:
        """Choose by type."""
        row = layout_link.ORDERED_SETS.get(_pkt[1]) if _pkt and len(_pkt) > 1 else None
        return cls if row is None else _SETS[row.header.name]


def _ordered_set(header: Header) -> type[Packet]:
    first = next(row.number for row in layout_link.ORDERED_SETS.values() if row.header is header)
    inside: dict[str, Any] = {"name": header.name, "fields_desc": make_fields(header, type=first)}
    inside["dispatch_hook"] = classmethod(lambda cls, *args, **kwargs: cls)
    return type(header.name, (CtlOS,), {**inside, "__doc__": f"{header.name}, a control ordered set."})


_SETS: dict[str, type[Packet]] = {
    name: _ordered_set(header) for name, header in {r.header.name: r.header for r in layout_link.ORDERED_SETS.values()}.items()
}
CTLOS_SEQ, CTLOS_INIT, CF_UPDATE = _SETS["CTLOS_SEQ"], _SETS["CTLOS_INIT"], _SETS["CF_UPDATE"]


class _LinkFrame(Framed):
    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Put pad and FCS behind it."""
        return self._ended(pkt + pay, self.least_bytes)


class CC_UPDATE(_LinkFrame):
    """Consumed credits of up to 16 VCs."""

    name = "CC_UPDATE"
    fields_desc: ClassVar[list[ScapyField]] = [
        *make_fields(layout_link.CC_UPDATE, type=layout_link.LinkFrame.CC_UPDATE, ethertype=layout.ETHERTYPE_CONTROL),
        *Framed.trailer,
    ]

    def _used(self, s: bytes, end: int) -> int:
        return layout_link.CC_UPDATE.size_bytes


class CTLOS_FRAME(_LinkFrame):
    """Ordered sets on a carrier that has none; ``sets`` is a list of them."""

    name = "CTLOS_FRAME"
    fields_desc: ClassVar[list[ScapyField]] = [
        *make_fields(layout_link.CTLOS_FRAME, type=layout_link.LinkFrame.CTLOS, ethertype=layout.ETHERTYPE_CONTROL)[:-1],
        Count("n", 8, "sets"),
        PacketListField("sets", [], CtlOS, length_from=lambda pkt: ORDERED_SET_BYTES * pkt.n),
        *Framed.trailer,
    ]

    def _used(self, s: bytes, end: int) -> int:
        head = layout_link.CTLOS_FRAME
        return head.size_bytes + ORDERED_SET_BYTES * s[head.field("n").byte] if len(s) >= head.size_bytes else end


class LLDP_TLV(Fixed):
    """The profile's TLV of LLDP; ``credits`` is a list. Made from the bytes of the TLV, two bytes of type and length first."""

    name = "LLDP_TLV"
    fields_desc: ClassVar[list[ScapyField]] = [
        *(
            Count("vc_count", 8, "credits") if f.name == "vc_count" else f
            for f in make_fields(
                layout_link.LLDP_TLV, data_ethertype=layout.ETHERTYPE_DATA, control_ethertype=layout.ETHERTYPE_CONTROL
            )
        ),
        FieldListField("credits", [], BitField("", 0, 16), count_from=lambda pkt: pkt.vc_count),
    ]


class PREAMBLE(Packet):  # type: ignore[misc]
    """Ethernet's preamble, with a frame behind it."""

    name = "PREAMBLE"
    fields_desc = make_fields(layout_link.PREAMBLE)

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """What its bytes say."""
        return _class_of(payload)


class PREAMBLE_LLR(PREAMBLE):
    """The preamble with an LLR sequence number: ``seq_high`` and ``seq_low``, together `seq`."""

    name = "PREAMBLE_LLR"
    fields_desc = make_fields(layout_link.PREAMBLE_LLR)

    @property
    def seq(self) -> int:
        """The sequence number."""
        return self.seq_high << layout_link.PREAMBLE_LLR.field("seq_low").width | self.seq_low  # type: ignore[no-any-return]


def _class_of(data: bytes) -> type[Packet]:
    """Choose the layer of what stands on Ethernet by its EtherType, and by its whole address."""
    ethertype = int.from_bytes(data[_TAG_AT : _TAG_AT + 2])
    if ethertype == _TPID:
        ethertype = int.from_bytes(data[_TAG_AT + layout.VLAN.size_bytes :][:2])
    if ethertype == layout.ETHERTYPE_CONTROL and data[:6] == _LINK_DA:
        kinds = {layout_link.LinkFrame.CC_UPDATE: CC_UPDATE, layout_link.LinkFrame.CTLOS: CTLOS_FRAME}
        return kinds.get(data[14], Ether) if len(data) > layout.OEFH.size_bytes else Ether  # type: ignore[call-overload,no-any-return]
    return OEFH if ethertype in (layout.ETHERTYPE_DATA, layout.ETHERTYPE_CONTROL) else Ether


def ethernet(data: bytes) -> Packet:
    """Take apart what stands on LINKTYPE_ETHERNET: `OEFH`, `CC_UPDATE`, `CTLOS_FRAME`, or Scapy's Ether."""
    return _class_of(data)(data)


def line(data: bytes) -> Packet:
    """Take apart what stands on LINKTYPE_USER0: a `CtlOS`, or a preamble with a frame behind it."""
    if data[:1] == bytes((layout_link.CONTROL_START,)):
        return CtlOS(data)
    if data[:1] != bytes((layout_link.START,)) or len(data) < PREAMBLE_BYTES:
        return Raw(data)
    with_seq = data[1] & 0xF == layout_link.PREAMBLE_LLR.field("mark").constant
    return (PREAMBLE_LLR if with_seq else PREAMBLE)(data)


class EthLinkEthernet(Packet):  # type: ignore[misc]
    """For Scapy's table of link types: what `ethernet` does."""

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *args: Any, **kwargs: Any) -> type[Packet]:
        """Choose by the bytes."""
        return _class_of(_pkt or b"")


class EthLinkLine(Packet):  # type: ignore[misc]
    """For Scapy's table of link types: what `line` does."""

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *args: Any, **kwargs: Any) -> type[Packet]:
        """Choose by the bytes."""
        return type(line(_pkt or b""))


def register() -> None:
    """Let Scapy read captures with these layers: Ethernet (other protocols as before) and LINKTYPE_USER0."""
    conf.l2types.register_num2layer(1, EthLinkEthernet)
    conf.l2types.register_num2layer(147, EthLinkLine)


bind_layers(Dot1Q, NET, type=layout.ETHERTYPE_DATA)
bind_layers(Dot1Q, NET, type=layout.ETHERTYPE_CONTROL)
bind_layers(OEFH, Dot1Q, ethertype=_TPID)
