"""Frames for tests: strategies that draw any frame of the profile, and the flat form in which test vectors keep one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from scalefab.protocol.codec import pack
from scalefab.protocol.frame import Frame, Net, Oefh, Rh, Th, Transaction, Vlan, WireFormat
from scalefab.protocol.layout import READ_TOTAL, SIGNAL, RhOp
from scalefab.protocol.profile import Opcode

WIRES = (WireFormat(), WireFormat(frame_max=4160, slap_safe=True), WireFormat(9216, False, 0x9000, 0x9001))
POWERS = [1 << i for i in range(10)]
SIZES = {0: 4, 1: 8, 2: 4, 3: 8, 4: 2, 5: 2, 6: 4, 7: 8}  # element types: u32 u64 i32 i64 f16 bf16 f32 f64
RESPONSES = {2, 5, 8, 10, 19, 22, 49, 63}
PACKETS = {16, 17, 19, 20, 21, 23}
VC_OF = dict.fromkeys((0, 1, 3, 4, 6, 7, 9, 18, 48), 0) | dict.fromkeys((2, 5, 8, 10, 22, 49, 63), 1)
VC_OF |= dict.fromkeys((16, 17, 19, 20, 21, 23), 2)


def u(width: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << width) - 1)


@st.composite
def transactions(draw: st.DrawFn, opcode: int, mtu: int, bulk_max: int = 4096) -> Transaction:
    """Any transaction of an opcode, by the profile's table."""
    response = opcode in RESPONSES
    kind, last, address, parts = 0, 1, 0, []
    length = 0
    if response:
        kind = draw(st.sampled_from([0, 0, 0, 1, 5, 8]))
    if opcode in (6, 7):
        op = draw(st.integers(0, 5 if opcode == 6 else 7))
        element = draw(st.integers(0, 3 if op in (3, 4, 5, 7) else 7))
        kind = op << 4 | element
        length = SIZES[element] * (draw(st.integers(1, 512 // SIZES[element])) if opcode == 6 else 1)
        parts = [length] * (2 if op == 7 else 1)
    elif opcode in (1, 2, 3, 4):
        length = draw(st.sampled_from(POWERS))
        parts = {1: [], 2: [length] * (kind == 0), 3: [length], 4: [(length + 7) // 8, length]}[opcode]
    elif opcode == 8:
        length = draw(st.sampled_from([2, 4, 8]))
        parts = [length] * (kind == 0)
    elif opcode in PACKETS:
        last = draw(st.integers(0, 1))
        length = draw(st.integers(1, min(mtu, bulk_max))) if last or (response and kind) else mtu
        parts = [length] * (not response or kind == 0)
        if opcode in (17, 21) and last:
            parts.insert(0, 8)
        if not response:
            kind = draw(u(8))
    bodies = [draw(st.binary(min_size=n, max_size=n)) for n in parts]
    if opcode == 18:
        length, kind = 8, draw(u(8))
        bodies = [pack(READ_TOTAL, {"total": draw(st.integers(1, 65_536 * mtu))})]
    if opcode == 23 and last:
        signal = pack(SIGNAL, {"add": draw(u(1)), "address": draw(u(57))})
        bodies = [signal, draw(st.binary(min_size=8, max_size=8)), *bodies]
    if not response and opcode != 0:
        address = draw(u(64 if opcode in (20, 21) else 57))
    context = draw(u(16)) if not response or opcode == 19 else 0
    posted = 1 if response else draw(u(1))
    th = Th(Opcode(opcode), length, draw(u(2)), draw(u(1)), posted, last, kind, draw(u(16)), context, address)
    return Transaction(th, tuple(bodies))


@st.composite
def frames(draw: st.DrawFn, wire: WireFormat, opcode: int | None = None) -> Frame:
    """Any frame; DATA with transactions of its VC, the first of ``opcode`` if one is given."""
    op = RhOp.DATA if opcode is not None else draw(st.sampled_from(RhOp))
    vc, listed, control = 3, [], b""
    if op is RhOp.DATA:
        opcode = draw(st.sampled_from(sorted(VC_OF))) if opcode is None else opcode
        vc = draw(st.sampled_from((0, 2))) if opcode == 9 else VC_OF[opcode]
        room = wire.frame_max - 32
        same = [o for o, v in VC_OF.items() if v == vc]
        for wanted in [opcode, *draw(st.lists(st.sampled_from(same), max_size=3))]:
            one = draw(transactions(wanted, wire.mtu, 600))
            if one.size_bytes <= room:
                listed.append(one)
                room -= one.size_bytes
    elif op is RhOp.CONTROL:
        control = draw(st.binary(min_size=32, max_size=32))
    ack = 1 if op in (RhOp.ACK, RhOp.NACK) else draw(u(1))
    src = draw(u(10))
    rh = Rh(
        op,
        src if op is not RhOp.CONTROL else draw(u(10)),
        vc,
        draw(u(16)) if op is RhOp.DATA else 0,
        draw(u(1)),
        draw(st.integers(0, 2)) if ack else draw(u(2)),
        ack,
        draw(u(10)),
        draw(u(16)),
    )
    vlan = draw(st.none() | st.builds(Vlan, u(3), u(1), u(12)))
    net = Net(draw(u(1)), draw(u(4)), draw(u(6)), draw(u(2)))
    return Frame(Oefh(draw(u(10)), src, draw(u(16))), net, rh, tuple(listed), control, vlan)


TH_NAMES = ("length", "order", "scope", "posted", "last", "kind", "tag", "context", "address")
RH_NAMES = ("src", "vc", "psn", "again", "ack_vc", "ack", "partition", "ack_psn")


def flat(frame: Frame) -> dict[str, Any]:
    """A frame as a test vector keeps it: plain integers and hexadecimal text."""
    out: dict[str, Any] = {"dst_id": frame.oefh.dst_id, "src_id": frame.oefh.src_id, "entropy": frame.oefh.entropy, "vlan": None}
    if frame.vlan is not None:
        out["vlan"] = {"pcp": frame.vlan.pcp, "dei": frame.vlan.dei, "vid": frame.vlan.vid}
    out |= {name: getattr(frame.net, name) for name in ("ar", "ttl", "dscp", "ecn")}
    out |= {"op": int(frame.rh.op)} | {name: int(getattr(frame.rh, name)) for name in RH_NAMES}
    out["control"] = frame.control.hex()
    out["transactions"] = [
        {"opcode": int(t.th.opcode)}
        | {name: int(getattr(t.th, name)) for name in TH_NAMES}
        | {"parts": [part.hex() for part in t.parts]}
        for t in frame.transactions
    ]
    return out


def from_flat(f: dict[str, Any]) -> Frame:
    """The frame that a test vector describes."""
    listed = tuple(
        Transaction(Th(Opcode(t["opcode"]), *(t[name] for name in TH_NAMES)), tuple(bytes.fromhex(p) for p in t["parts"]))
        for t in f["transactions"]
    )
    vlan = None if f["vlan"] is None else Vlan(**f["vlan"])
    rh = Rh(RhOp(f["op"]), *(f[name] for name in RH_NAMES))
    oefh = Oefh(f["dst_id"], f["src_id"], f["entropy"])
    return Frame(oefh, Net(f["ar"], f["ttl"], f["dscp"], f["ecn"]), rh, listed, bytes.fromhex(f["control"]), vlan)
