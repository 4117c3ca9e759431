"""Seeded frames of every opcode and control type with what each field must read, told by the values they were made from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from zlib import crc32

from scalefab.protocol.codec import encode
from scalefab.protocol.fields import Header
from scalefab.protocol.frame import Frame, Net, Oefh, Rh, Th, Transaction, Vlan, WireFormat
from scalefab.protocol.icrc import poison
from scalefab.protocol.layout import READ_TOTAL, SIGNAL, RhOp
from scalefab.protocol.layout_control import CONTROL_TYPES
from scalefab.protocol.layout_link import CC_UPDATE, CTLOS_FRAME, LLDP_TLV, ORDERED_SETS, PREAMBLE, PREAMBLE_LLR
from scalefab.protocol.opcodes import OPCODES, KindRule, LengthRule, OpcodeRow, body_parts

ETHERNET, USER0 = 1, 147
ELEMENT_BYTES = {0: 4, 1: 8, 2: 4, 3: 8, 4: 2, 5: 2, 6: 4, 7: 8}  # u32 u64 i32 i64 f16 bf16 f32 f64
WIRE = WireFormat()
Seen = dict[str, list[int | bytes]]


@dataclass
class Sample:
    """A packet: ``seen`` = values of each field in the order of the packet; fields not named here must not appear."""

    name: str
    link_type: int
    data: bytes
    seen: Seen = field(default_factory=dict)
    icrc: str = "absent"
    fcs: str = "good"
    fault: str = ""  # first fault's reason


def note(seen: Seen, name: str, value: int | bytes) -> None:
    seen.setdefault(name, []).append(value)


def pack(header: Header, values: dict[str, int]) -> bytes:
    """Set bits one field after the other; the codec's own way is another."""
    bits = ""
    for f in header.fields:
        raw = values.get(f.name, 0) - f.bias if not f.is_reserved else 0
        bits += format(raw & (1 << f.width) - 1, f"0{f.width}b")
    return int(bits, 2).to_bytes(header.size_bytes, header.byte_order)


def fill(rng: random.Random, header: Header, seen: Seen, **given: int) -> bytes:
    """Draw the fields of a layout, edges often."""
    name, values = header.name.lower(), {}
    for f in header.fields:
        if f.is_reserved:
            if f.width <= 64:
                note(seen, f"{name}.{f.name}", 0)
            else:
                note(seen, f"{name}.{f.name}", bytes(f.width // 8))
            continue
        if f.constant is not None:
            value = f.constant
        elif f.values is not None:
            value = rng.choice([int(v) for v in f.values])
        else:
            value = rng.choice([f.least, f.most, rng.randint(f.least, f.most)])
        values[f.name] = given.get(f.name, value)
        note(seen, f"{name}.{f.name}", values[f.name])
    for join in header.joins:
        number = 0
        for piece in join.pieces:
            number = number << header.field(piece).width | values[piece]
        note(seen, f"{name}.{join.name}", number)
    return pack(header, values)


def transaction(rng: random.Random, row: OpcodeRow, mtu: int, room: int) -> Transaction:
    kind = length = address = context = 0
    last = 1
    if row.kind is KindRule.STATUS:
        kind = rng.choice([0, 0, 1, 8])
    elif row.kind in (KindRule.REDUCTION, KindRule.ATOMIC):
        operation = rng.randint(0, 5 if row.kind is KindRule.REDUCTION else 7)
        element = rng.randint(0, 3 if operation in (3, 4, 5, 7) else 7)
        kind = operation << 4 | element
        length = ELEMENT_BYTES[element] * (rng.randint(1, min(512, room) // 8) if row.kind is KindRule.REDUCTION else 1)
    elif row.kind is KindRule.CONTEXT:
        kind = rng.randint(0, 255)
    if row.length is LengthRule.POWER_OF_TWO:
        length = rng.choice([1 << i for i in range(10) if 1 << i <= room])
    elif row.length is LengthRule.ELEMENT and row.kind is KindRule.STATUS:
        length = rng.choice([2, 4, 8])
    elif row.length is LengthRule.READ:
        length = 8
    elif row.length is LengthRule.PACKET:
        last = int(room < mtu or rng.random() < 0.7)
        length = rng.randint(1, min(mtu, room)) if last else mtu
        context = rng.randint(0, 65_535)
    response = row.kind is KindRule.STATUS
    if not response:
        context = rng.randint(0, 65_535)
    if row.th.size_bytes == 16:
        address = rng.getrandbits(64 if row.opcode in (20, 21) else 57)
    parts = []
    for part, size in body_parts(row, length, last, kind):
        data = rng.randbytes(size)
        if part.header is READ_TOTAL:
            data = pack(READ_TOTAL, {"total": rng.randint(1, 65_536 * mtu)})
        elif part.header is SIGNAL:
            data = pack(SIGNAL, {"add": rng.getrandbits(1), "address": rng.getrandbits(57)})
        parts.append(data)
    posted = 1 if response else rng.getrandbits(1)
    th = Th(row.opcode, length, rng.getrandbits(2), rng.getrandbits(1), posted, last, kind, rng.getrandbits(16), context, address)
    return Transaction(th, tuple(parts))


def see_transaction(seen: Seen, t: Transaction) -> None:
    th, row = t.th, OPCODES[t.th.opcode]
    for name in ("opcode", "order", "scope", "posted", "last", "length", "kind", "tag", "context"):
        note(seen, f"th.{name}", int(getattr(th, name)))
    if row.th.size_bytes == 16:
        note(seen, "th.address", th.address)
    if row.opcode in (20, 21):
        note(seen, "send_address.queue", th.address >> 48)
        note(seen, "send_address.message", th.address >> 32 & 0xFFFF)
        note(seen, "send_address.match", th.address & 0xFFFFFFFF)
    for (part, size), data in zip(body_parts(row, th.length, th.last, th.kind), t.parts, strict=True):
        if part.header is READ_TOTAL:
            note(seen, "read.total", int.from_bytes(data[:4]))
            note(seen, "read.reserved", 0)
        elif part.header is SIGNAL:
            word = int.from_bytes(data)
            note(seen, "signal.add", word >> 63)
            note(seen, "signal.reserved", 0)
            note(seen, "signal.address", word & (1 << 57) - 1)
        else:
            note(seen, f"body.{part.name}", data)
        if size % 8:
            note(seen, "body.pad", bytes(-size % 8))


def see_frame(seen: Seen, frame: Frame, data: bytes) -> None:
    o, n, r = frame.oefh, frame.net, frame.rh
    entropy = o.entropy
    ethertype = 0x88B6 if r.op == RhOp.CONTROL else 0x88B5
    first = {"dst_id": o.dst_id, "reserved0": 0, "reserved1": 0, "src_id": o.src_id, "total_length": frame.total_length}
    first |= {"entropy": entropy, "stack": entropy >> 12, "port": entropy >> 10 & 3, "uplink": entropy >> 6 & 15}
    first |= {"hash": entropy & 63, "ethertype": ethertype, "dst": o.dst_id, "src": o.src_id, "path_id": entropy >> 6}
    for name, value in first.items():
        note(seen, f"oefh.{name}", value)
    if frame.vlan is not None:
        for name, value in {"tpid": 0x8100, "pcp": frame.vlan.pcp, "dei": frame.vlan.dei, "vid": frame.vlan.vid}.items():
            note(seen, f"vlan.{name}", value)
    for name, value in {"ar": n.ar, "reserved": 0, "ttl": n.ttl, "dscp": n.dscp, "ecn": n.ecn}.items():
        note(seen, f"net.{name}", value)
    second = {"version": 0, "op": int(r.op), "again": r.again, "reserved0": 0, "src": r.src, "psn": r.psn, "vc": r.vc}
    second |= {"ack_vc": r.ack_vc, "ack": r.ack, "reserved1": 0, "partition": r.partition, "ack_psn": r.ack_psn}
    for name, value in second.items():
        note(seen, f"rh.{name}", value)
    for t in frame.transactions:
        see_transaction(seen, t)
    end = frame.total_length + (4 if frame.vlan else 0)
    note(seen, "icrc.icrc", int.from_bytes(data[end - 4 : end], "little"))


def headers_of(rng: random.Random, op: RhOp, vc: int) -> Frame:
    src, dst = rng.choice([0, 1023, rng.randint(0, 1023)]), rng.randint(0, 1023)
    ack = 1 if op in (RhOp.ACK, RhOp.NACK) else rng.getrandbits(1)
    data = op is RhOp.DATA
    rh = Rh(
        op,
        src,
        vc,
        rng.getrandbits(16) if data else 0,
        rng.getrandbits(1) if data else 0,
        rng.randint(0, 2) if ack else 0,
        ack,
        rng.getrandbits(10),
        rng.getrandbits(16) if ack else 0,
    )
    net = Net(rng.getrandbits(1), rng.randint(1, 15), 8 * vc, rng.getrandbits(2))
    vlan = Vlan(rng.getrandbits(3), rng.getrandbits(1), rng.getrandbits(12)) if rng.random() < 0.1 else None
    return Frame(Oefh(dst, src, rng.getrandbits(16)), net, rh, vlan=vlan)


def finish(rng: random.Random, name: str, frame: Frame, seen: Seen | None = None) -> Sample:
    """Encode; some as the raw carrier has them, without FCS, or on a line with a preamble."""
    body = dict(seen or {})
    data = encode(frame, WIRE)
    sample = Sample(name, ETHERNET, data, icrc="good")
    see_frame(sample.seen, frame, data)
    sample.seen |= body
    end = frame.total_length + (4 if frame.vlan else 0)
    least = 60 + (4 if frame.vlan else 0)
    kind = rng.choice(["plain", "plain", "plain", "no fcs", "line", "line", "raw"])
    if kind == "raw":
        core = data[:end] + fill(rng, PREAMBLE_LLR, sample.seen)
        if len(core) > 2044:
            return finish(rng, name, frame, seen)
        sample.data = core + bytes(max(0, least - len(core)))
        end += 8
    else:
        sample.data = data[:-4]
    if len(sample.data) > end:
        note(sample.seen, "frame.pad", bytes(len(sample.data) - end))
    if kind == "no fcs":
        sample.fcs = "absent"
        return sample
    crc = crc32(sample.data)
    sample.data += crc.to_bytes(4, "little")
    note(sample.seen, "fcs.fcs", crc)
    if kind == "line":
        layout = rng.choice([PREAMBLE, PREAMBLE_LLR])
        sample.data = fill(rng, layout, sample.seen) + sample.data
        sample.link_type = USER0
    return sample


def data_sample(rng: random.Random, row: OpcodeRow) -> Sample:
    vc = rng.choice(row.vcs)
    frame = headers_of(rng, RhOp.DATA, vc)
    room = WIRE.frame_max - 36
    listed: list[Transaction] = []
    same = [r for r in OPCODES.values() if vc in r.vcs]
    for wanted in [row, *rng.choices(same, k=rng.choice([0, 0, 1, 3, 12]))]:
        if room < 64:
            break
        t = transaction(rng, wanted, WIRE.mtu, min(WIRE.mtu, room - 40) if listed or rng.random() < 0.9 else WIRE.mtu)
        if t.size_bytes <= room:
            listed.append(t)
            room -= t.size_bytes
    return finish(rng, row.name, replace(frame, transactions=tuple(listed)))


def control_sample(rng: random.Random, number: int) -> Sample:
    row = CONTROL_TYPES[number]
    seen: Seen = {}
    body = fill(rng, row.header, seen, type=number)
    return finish(rng, row.name, replace(headers_of(rng, RhOp.CONTROL, 3), control=body), seen)


def set_sample(rng: random.Random, number: int) -> Sample:
    row = ORDERED_SETS[number]
    seen: Seen = {}
    return Sample(f"CtlOS {row.name}", USER0, fill(rng, row.header, seen, type=number), seen, fcs="absent")


def link_sample(rng: random.Random, number: int) -> Sample:
    seen: Seen = {}
    if number == 0x20:
        data = fill(rng, CC_UPDATE, seen, type=number, ethertype=0x88B6)
    else:
        n = rng.randint(1, 9)
        data = fill(rng, CTLOS_FRAME, seen, type=number, ethertype=0x88B6, n=n)
        data += b"".join(fill(rng, ORDERED_SETS[t].header, seen, type=t) for t in rng.choices(list(ORDERED_SETS), k=n))
    if len(data) < 60:
        note(seen, "frame.pad", bytes(60 - len(data)))
        data += bytes(60 - len(data))
    crc = crc32(data)
    note(seen, "fcs.fcs", crc)
    return Sample("CC_UPDATE" if number == 0x20 else "CtlOS frame", ETHERNET, data + crc.to_bytes(4, "little"), seen)


def lldp_sample(rng: random.Random) -> Sample:
    seen: Seen = {}
    n = rng.randint(1, 32)
    tlv = fill(rng, LLDP_TLV, seen, tlv_length=36 + 2 * n, vc_count=n, data_ethertype=0x88B5, control_ethertype=0x88B6)
    for _ in range(n):
        credits = rng.randint(0, 32_767)
        note(seen, "lldp_tlv.credits", credits)
        tlv += credits.to_bytes(2)
    data = bytes.fromhex("0180c200000e 020000000001 88cc 020704020000000001 0403057031 06020078") + tlv + bytes(2)
    data += bytes(max(0, 60 - len(data)))
    crc = crc32(data)
    return Sample("LLDP", ETHERNET, data + crc.to_bytes(4, "little"), seen)


def samples(seed: int, count: int) -> Iterator[Sample]:
    """Yield ``count`` good packets, every opcode and type in turn."""
    rng = random.Random(seed)
    makers = [lambda row=row: data_sample(rng, row) for row in OPCODES.values()]
    makers += [lambda n=n: control_sample(rng, n) for n in CONTROL_TYPES]
    makers += [lambda n=n: set_sample(rng, n) for n in ORDERED_SETS]
    makers += [lambda n=n: link_sample(rng, n) for n in (0x20, 0x21)]
    makers += [lambda op=op: finish(rng, op.name, headers_of(rng, op, 3)) for op in (RhOp.ACK, RhOp.NACK)]
    makers += [lambda: lldp_sample(rng)]
    for i in range(count):
        yield makers[i % len(makers)]()


def broken(seed: int) -> Iterator[tuple[Sample, str]]:
    """Yield bad packets, each with the expert information (and so the kind of fault) that it must raise."""
    rng = random.Random(seed)
    frame = headers_of(rng, RhOp.DATA, 0)
    frame = replace(frame, transactions=(transaction(rng, OPCODES[3], 1984, 256),), vlan=None)
    good = encode(frame, WIRE)

    def with_fcs(data: bytes) -> bytes:
        return data + crc32(data).to_bytes(4, "little")

    def with_icrc(data: bytes) -> bytes:
        masked = bytearray(data)
        masked[14] |= 0x7F
        masked[15] |= 0xFF
        return with_fcs(data + crc32(masked).to_bytes(4, "little") + bytes(max(0, 56 - len(data))))

    yield Sample("bad fcs", ETHERNET, good[:-1] + bytes((good[-1] ^ 1,)), fcs="bad", icrc="good", fault="FCS"), "fcs"
    bad = bytearray(good)
    poison(bad)
    yield Sample("poisoned", ETHERNET, bytes(bad), fcs="poisoned", icrc="good", fault="POISONED"), "poisoned"
    bad = bytearray(good[:-4])
    bad[30] ^= 0x10
    yield Sample("bad icrc", ETHERNET, with_fcs(bytes(bad)), icrc="bad", fault="ICRC"), "icrc"
    plain = bytearray(good[: frame.total_length - 4])
    plain[24] = 33 << 2
    yield Sample("opcode", ETHERNET, with_icrc(bytes(plain)), icrc="good", fault="OPCODE"), "opcode"
    plain = bytearray(good[:-4])
    plain[8:10] = (45).to_bytes(2)
    yield Sample("length", ETHERNET, with_fcs(bytes(plain)), icrc="unverified", fault="LENGTH"), "length"
    plain = bytearray(good[: frame.total_length - 4])
    plain[26] = 255  # more data than the frame has
    plain[25] |= 15
    yield Sample("body", ETHERNET, with_icrc(bytes(plain)), icrc="good", fault="RANGE"), "length"
    yield Sample("set type", USER0, bytes.fromhex("5c77000006000000"), fcs="absent", fault="TYPE"), "type"
    yield Sample("line", USER0, bytes.fromhex("aa77000006000000"), fcs="absent", fault="TYPE"), "type"
    yield Sample("mark", USER0, bytes.fromhex("5c01000000000000"), fcs="absent", fault="CONSTANT"), "constant"
    control = bytearray(encode(replace(headers_of(rng, RhOp.CONTROL, 3), control=bytes(32), vlan=None))[:56])
    control[24] = 99
    yield Sample("control type", ETHERNET, with_icrc(bytes(control)), icrc="good", fault="TYPE"), "type"
