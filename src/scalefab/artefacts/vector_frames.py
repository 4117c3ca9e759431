"""Golden frames: one or more of every opcode and op, of each option of the wire, and packed ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..protocol.bits import pack
from ..protocol.codec import encode
from ..protocol.frame import Frame, Th, Transaction, Vlan, WireFormat, ack_frame, control_frame, data_frame
from ..protocol.icrc import poison
from ..protocol.layout import READ_TOTAL, SEND_ADDRESS, SIGNAL, Order, RhOp, Scope
from ..protocol.layout_control import ControlType
from ..protocol.opcodes import OPCODES, AtomicOp, ElementType, Status
from ..protocol.profile import MESSAGE_MAX_PACKETS, Opcode
from ..protocol.record import encode_control, space_control, switch_event

_TH_NAMES = ("length", "order", "scope", "posted", "last", "kind", "tag", "context", "address")
_RH_NAMES = ("src", "vc", "psn", "again", "ack_vc", "ack", "partition", "ack_psn")


@dataclass(frozen=True, slots=True)
class GoodFrame:
    """One golden frame, and what the link has agreed on."""

    name: str
    frame: Frame
    note: str = ""
    wire: WireFormat = field(default_factory=WireFormat)
    poisoned: int = 0

    def data(self) -> bytes:
        """Return its bytes, OEFH to FCS."""
        out = bytearray(encode(self.frame, self.wire))
        if self.poisoned:
            poison(out)
        return bytes(out)


def pattern(size_bytes: int, start: int = 0) -> bytes:
    """Return data in which no two neighbours, and no two places a power of two apart, look alike for long."""
    return bytes((start + 7 * i) & 0xFF for i in range(size_bytes))


LOAD = Transaction(Th(Opcode.LOAD, 64, scope=Scope.SYSTEM, tag=0x11, address=0x1_2345_6780))
LOAD_FRAME = data_frame(5, 300, 0, 7, [LOAD], entropy=0x3B)
ACK_FRAME = ack_frame(300, 5, 0, 7, entropy=0x3B)
CLOSE_FRAME = control_frame(5, 300, encode_control(space_control(ControlType.CLOSE, 0, 0, 1)))
STORE_256 = Transaction(Th(Opcode.STORE, 256, Order.RELEASE, tag=0x7FFF, address=0x10000), (pattern(256),))


def one_transaction(one: Transaction, **more: Any) -> Frame:
    """Return a frame with one transaction, on the first VC of its opcode."""
    return data_frame(5, 300, more.pop("vc", OPCODES[one.th.opcode].vcs[0]), 1000, [one], entropy=0x1245, **more)


def _answer(opcode: Opcode, *parts: bytes, status: Status = Status.OK, **more: Any) -> Transaction:
    return Transaction(Th(opcode, posted=1, kind=status, **more), parts)


def good_frames() -> Sequence[GoodFrame]:
    """Return all golden frames."""
    return (*_heads(), *_requests(), *_answers(), *_bulk(), *_packed())


def _heads() -> list[GoodFrame]:
    event = switch_event(
        ControlType.PORT_DOWN,
        switch=3,
        event=77,
        port=9,
        first_dst=64,
        dst_count=64,
        tier=1,
        plane=2,
        time_ns=123_456_789,
        vc_mask=0xF,
        uplink=4,
        uplinks=16,
    )
    return [
        GoodFrame("load-64", LOAD_FRAME, "the profile's own frame"),
        GoodFrame("ack", ACK_FRAME, "the profile's own frame, answer to load-64"),
        GoodFrame("nack", ack_frame(300, 5, 0, 7, entropy=0x3B, op=RhOp.NACK), "gap after PSN 7"),
        GoodFrame("load-64-poisoned", LOAD_FRAME, "FCS complemented", poisoned=1),
        GoodFrame("load-64-tagged", replace(LOAD_FRAME, vlan=Vlan(3, 1, 5)), "802.1Q tag: ICRC as without it"),
        GoodFrame("load-64-slap-safe", LOAD_FRAME, "ids as locally administered addresses", WireFormat(slap_safe=True)),
        GoodFrame("control-close", CLOSE_FRAME, "CLOSE of path id 0, VC 0, nonce 1"),
        GoodFrame("sen-port-down", control_frame(0, 12, encode_control(event), entropy=0x40), "src_id and RH.src 0"),
        GoodFrame("empty-data", data_frame(5, 300, 0, 8, [], ack=(1, 2)), "DATA without transactions"),
    ]


def _requests() -> list[GoodFrame]:
    swap = Th(Opcode.ATOMIC, 4, kind=AtomicOp.COMPARE_SWAP << 4 | ElementType.U32, tag=0x8001, address=4)
    listed = [
        ("nop", "", Transaction(Th(Opcode.NOP, tag=9))),
        ("store-256", "release", STORE_256),
        ("store-masked-16", "", Transaction(Th(Opcode.STORE_MASKED, 16, tag=3, address=64), (b"\xa5\x0f", pattern(16)))),
        ("reduce-bf16-add", "", Transaction(Th(Opcode.REDUCE, 64, kind=5, tag=4, address=0x2000), (pattern(64),))),
        ("atomic-add-u64", "", Transaction(Th(Opcode.ATOMIC, 8, kind=1, tag=0x8000, address=8), (pattern(8),))),
        (
            "atomic-compare-swap-u32",
            "two operands, each in the first bytes of its 8 B",
            Transaction(swap, (pattern(4), pattern(4, 9))),
        ),
        ("fence", "", Transaction(Th(Opcode.FENCE, tag=5))),
        (
            "rdma-read-largest",
            "",
            Transaction(
                Th(Opcode.RDMA_READ, 8, kind=7, tag=8, address=0x9000),
                (pack(READ_TOTAL, {"total": MESSAGE_MAX_PACKETS * WireFormat().mtu}),),
            ),
        ),
        ("probe", "", Transaction(Th(Opcode.PROBE, tag=1))),
    ]
    posted = Transaction(Th(Opcode.STORE, 1, posted=1, address=(1 << 57) - 1), (pattern(1),))
    return [
        *(GoodFrame(name, one_transaction(one), note) for name, note, one in listed),
        GoodFrame("store-1-posted", one_transaction(posted), "body padded to 8 B, largest address"),
        GoodFrame("fence-bulk", one_transaction(Transaction(Th(Opcode.FENCE, tag=6)), vc=2), "FENCE on VC 2"),
    ]


def _answers() -> list[GoodFrame]:
    unsupported = _answer(Opcode.ERROR, status=Status.UNSUPPORTED, tag=0x1234)
    load = _answer(Opcode.LOAD_RSP, pattern(64), length=64, tag=0x11)
    listed = [
        ("load-rsp-address-error", "no body: status 1", _answer(Opcode.LOAD_RSP, status=Status.ADDRESS, length=64, tag=0x11)),
        ("store-rsp", "", _answer(Opcode.STORE_RSP, tag=0x7FFF)),
        ("atomic-rsp-4", "", _answer(Opcode.ATOMIC_RSP, pattern(4), length=4, tag=0x8001)),
        ("fence-rsp", "", _answer(Opcode.FENCE_RSP, tag=5)),
        ("rdma-read-rsp-last", "", _answer(Opcode.RDMA_READ_RSP, pattern(40), length=40, tag=8, context=0xFFFF)),
        ("completion-receiver-not-ready", "", _answer(Opcode.COMPLETION, status=Status.RECEIVER_NOT_READY, tag=0x8005)),
        ("probe-rsp", "", _answer(Opcode.PROBE_RSP, tag=1)),
    ]
    return [
        GoodFrame("load-rsp-64", one_transaction(load, ack=(0, 7)), "acknowledges PSN 7 of VC 0"),
        *(GoodFrame(name, one_transaction(one), note) for name, note, one in listed),
        GoodFrame("error-unsupported", one_transaction(unsupported, again=1, partition=1023)),
    ]


def _bulk() -> list[GoodFrame]:
    full = Transaction(Th(Opcode.RDMA_WRITE, 1984, last=0, kind=7, tag=0x8002, address=0x7000), (pattern(1984),))
    rest = Transaction(Th(Opcode.RDMA_WRITE, 3, kind=7, tag=0x8002, context=1, address=0x77C0), (pattern(3),))
    imm = Transaction(Th(Opcode.RDMA_WRITE_IMM, 24, kind=7, tag=0x8003), (pattern(8, 1), pattern(24)))
    signal = pack(SIGNAL, {"add": 1, "address": 0x1000}), b"\x01" + bytes(7)
    sig = Transaction(Th(Opcode.RDMA_WRITE_SIG, 24, kind=7, tag=0x8004), (*signal, pattern(24)))
    to = [pack(SEND_ADDRESS, {"queue": q, "message": m, "match": t}) for q, m, t in ((2, 0xFFFF, 0xDEADBEEF), (2, 0, 1))]
    send = Transaction(Th(Opcode.SEND, 100, kind=255, tag=0x8005, address=int.from_bytes(to[0])), (pattern(100),))
    send_imm = Th(Opcode.SEND_IMM, 10, tag=0x8006, address=int.from_bytes(to[1]))
    return [
        GoodFrame("rdma-write-full", one_transaction(full, ar=1), "a packet that is not the last carries mtu bytes"),
        GoodFrame("rdma-write-last", one_transaction(rest, ar=1)),
        GoodFrame("rdma-write-imm-last", one_transaction(imm)),
        GoodFrame("rdma-write-sig-add", one_transaction(sig)),
        GoodFrame("send", one_transaction(send)),
        GoodFrame("send-imm-last", one_transaction(Transaction(send_imm, (pattern(8, 3), pattern(10))))),
    ]


def _packed() -> list[GoodFrame]:
    seven = [Transaction(Th(Opcode.STORE, 256, tag=i, address=256 * i), (pattern(256, i),)) for i in range(7)]
    mixed = [Transaction(Th(Opcode.STORE, 2, posted=1, address=2), (pattern(2),)), LOAD, Transaction(Th(Opcode.FENCE, tag=5))]
    large = Transaction(Th(Opcode.RDMA_WRITE, 4096, last=0, tag=0x8000), (pattern(4096),))
    return [
        GoodFrame("packed-store-256-x7", data_frame(1023, 0, 0, 65535, seven, entropy=0xFFFF), "as many as fit 2048 B"),
        GoodFrame("packed-mixed", data_frame(1, 2, 0, 3, mixed, ack=(2, 65535)), "a list of different lengths"),
        GoodFrame("rdma-write-4096", data_frame(1, 2, 2, 3, [large]), "frame_max 4160", WireFormat(4160)),
    ]


def fields_of(frame: Frame) -> dict[str, Any]:
    """Return a frame as a vector keeps it: plain integers and hexadecimal text."""
    out: dict[str, Any] = {"dst_id": frame.oefh.dst_id, "src_id": frame.oefh.src_id, "entropy": frame.oefh.entropy, "vlan": None}
    if frame.vlan is not None:
        out["vlan"] = {"pcp": frame.vlan.pcp, "dei": frame.vlan.dei, "vid": frame.vlan.vid}
    out |= {name: getattr(frame.net, name) for name in ("ar", "ttl", "dscp", "ecn")}
    out |= {"op": int(frame.rh.op)} | {name: int(getattr(frame.rh, name)) for name in _RH_NAMES}
    out["control"] = frame.control.hex()
    out["transactions"] = [
        {"opcode": int(t.th.opcode)}
        | {name: int(getattr(t.th, name)) for name in _TH_NAMES}
        | {"parts": [part.hex() for part in t.parts]}
        for t in frame.transactions
    ]
    return out
