"""GPU operations -> transactions -> packets -> frames: kinds, VCs and every size, as plain functions of integers.

========= ==== ======================= ======================= ==========================================
operation VC   request                 answer                  transactions
========= ==== ======================= ======================= ==========================================
LOAD      0    TH 16                   VC 1, TH 8 + data       ``chunk`` bytes each, 1 .. 512
STORE     0    TH 16 + data            VC 1, TH 8              ``chunk`` bytes each, 1 .. 512
REDUCE    0    TH 16 + data            VC 1, TH 8              ``chunk`` bytes each, 1 .. 512
ATOMIC    0    TH 16 + 8 (16 for       VC 1, TH 8 + 8          4 or 8 bytes each
               compare-swap)
PUT       2    TH 16 + data            VC 1, TH 8 (COMPLETION) messages of ``chunk`` bytes, packets of mtu
SEND      2    TH 16 + data            VC 1, TH 8 (COMPLETION) messages of ``chunk`` bytes, packets of mtu
GET       0    TH 16 + 8 (RDMA_READ)   VC 2, TH 8 + data       messages of ``chunk`` bytes, packets of mtu
========= ==== ======================= ======================= ==========================================

VCs, opcodes and body rules: open profile section 1 (`own`). A posted operation has no answer. JOIN and COMPUTE stand in
the operation graph only and send nothing.
"""

from __future__ import annotations

from enum import IntEnum

from ..compiled import compiled


class Kind(IntEnum):
    """What an operation of the graph does; the numbers stand in the graph arrays."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    REDUCE = 3
    PUT = 4
    GET = 5
    SEND = 6
    FENCE = 7
    COMPUTE = 8
    JOIN = 9


class Opcode(IntEnum):
    """TH opcodes of the open profile."""

    NOP = 0
    LOAD = 1
    LOAD_RSP = 2
    STORE = 3
    STORE_MASKED = 4
    STORE_RSP = 5
    REDUCE = 6
    ATOMIC = 7
    ATOMIC_RSP = 8
    FENCE = 9
    FENCE_RSP = 10
    RDMA_WRITE = 16
    RDMA_WRITE_IMM = 17
    RDMA_READ = 18
    RDMA_READ_RSP = 19
    SEND = 20
    SEND_IMM = 21
    COMPLETION = 22
    RDMA_WRITE_SIG = 23
    PROBE = 48
    PROBE_RSP = 49
    ERROR = 63


# The same kinds as plain integers: compiled functions compare integers, the enum is for printing.
LOAD, STORE, ATOMIC, REDUCE, PUT, GET, SEND, FENCE, COMPUTE, JOIN = range(10)

VC_REQUEST, VC_RESPONSE, VC_BULK, VC_CONTROL = range(4)
VCS = 4

PREAMBLE_BYTES = 8
GAP_BYTES = 12
WIRE_EXTRA_BYTES = PREAMBLE_BYTES + GAP_BYTES  # IEEE 802.3, pub
ORDERED_SET_BYTES = 8  # one CtlOS of line time, sib
HEADER_BYTES = 24  # OEFH 14, NET 2, RH 8 (own)
ICRC_BYTES = 4
FCS_BYTES = 4
TH_REQUEST_BYTES = 16
TH_RESPONSE_BYTES = 8
FRAME_MIN_BYTES = 64
ACK_FRAME_BYTES = 64
LSU_MAX_BYTES = 512  # largest LOAD, STORE, REDUCE (own)
MESSAGE_MAX_PACKETS = 65_536

REQUEST_OPCODE = {
    Kind.LOAD: Opcode.LOAD,
    Kind.STORE: Opcode.STORE,
    Kind.ATOMIC: Opcode.ATOMIC,
    Kind.REDUCE: Opcode.REDUCE,
    Kind.PUT: Opcode.RDMA_WRITE,
    Kind.GET: Opcode.RDMA_READ,
    Kind.SEND: Opcode.SEND,
}
RESPONSE_OPCODE = {
    Kind.LOAD: Opcode.LOAD_RSP,
    Kind.STORE: Opcode.STORE_RSP,
    Kind.ATOMIC: Opcode.ATOMIC_RSP,
    Kind.REDUCE: Opcode.STORE_RSP,
    Kind.PUT: Opcode.COMPLETION,
    Kind.GET: Opcode.RDMA_READ_RSP,
    Kind.SEND: Opcode.COMPLETION,
}


@compiled
def pad8(size_bytes: int) -> int:
    """Return ``size_bytes`` rounded up to 8 B (each part of a transaction is padded so)."""
    return (size_bytes + 7) & ~7


@compiled
def frame_bytes(body_bytes: int) -> int:
    """Return the size OEFH .. FCS of a frame whose transactions (TH and padded bodies) take ``body_bytes``."""
    size = HEADER_BYTES + body_bytes + ICRC_BYTES + FCS_BYTES
    return size if size > FRAME_MIN_BYTES else FRAME_MIN_BYTES


@compiled
def body_limit(frame_max: int) -> int:
    """Return how many bytes of transactions a frame of ``frame_max`` can hold."""
    return frame_max - HEADER_BYTES - ICRC_BYTES - FCS_BYTES


@compiled
def mtu_bytes(frame_max: int) -> int:
    """Return the data bytes of a full packet of a message."""
    m = (frame_max - 64) // 64 * 64
    return m if m < 4096 else 4096


@compiled
def request_vc(kind: int) -> int:
    """Return the VC that the requests of a kind travel in."""
    return VC_BULK if kind == PUT or kind == SEND else VC_REQUEST


@compiled
def response_vc(kind: int) -> int:
    """Return the VC that the answers of a kind travel in."""
    return VC_BULK if kind == GET else VC_RESPONSE


@compiled
def request_body_bytes(kind: int, data_bytes: int) -> int:
    """Return TH and padded body of one request transaction that concerns ``data_bytes`` bytes."""
    if kind == LOAD:
        return TH_REQUEST_BYTES
    if kind == GET or kind == ATOMIC:
        return TH_REQUEST_BYTES + 8
    return TH_REQUEST_BYTES + ((data_bytes + 7) & ~7)


@compiled
def response_body_bytes(kind: int, data_bytes: int) -> int:
    """Return TH and padded body of one answer to a transaction of ``data_bytes`` bytes."""
    if kind == LOAD or kind == GET:
        return TH_RESPONSE_BYTES + ((data_bytes + 7) & ~7)
    if kind == ATOMIC:
        return TH_RESPONSE_BYTES + 8
    return TH_RESPONSE_BYTES


@compiled
def message_packets(message_bytes: int, mtu: int) -> int:
    """Return the packets of one message."""
    return (message_bytes + mtu - 1) // mtu


@compiled
def packet_count(op_bytes: int, chunk: int, mtu: int) -> int:
    """Return the packets of a bulk operation sent as messages of ``chunk`` bytes (0 = one message)."""
    if chunk <= 0 or chunk >= op_bytes:
        return (op_bytes + mtu - 1) // mtu
    whole = op_bytes // chunk
    rest = op_bytes - whole * chunk
    return whole * ((chunk + mtu - 1) // mtu) + (rest + mtu - 1) // mtu


@compiled
def packet_bytes(op_bytes: int, chunk: int, mtu: int, index: int) -> int:
    """Return the data bytes of packet ``index`` of a bulk operation.

    Without chunks the packet's data begins at ``index * mtu``; with them at the message's start plus the packet's index in it.
    """
    if chunk <= 0 or chunk >= op_bytes:
        left = op_bytes - index * mtu
    else:
        per = (chunk + mtu - 1) // mtu
        message = index // per
        start = message * chunk
        size = op_bytes - start
        if size > chunk:
            size = chunk
        left = size - (index - message * per) * mtu
    return left if left < mtu else mtu


@compiled
def transaction_count(op_bytes: int, chunk: int) -> int:
    """Return the transactions of an LSU operation (LOAD, STORE, REDUCE, ATOMIC) in pieces of ``chunk`` bytes."""
    return (op_bytes + chunk - 1) // chunk


@compiled
def transaction_bytes(op_bytes: int, chunk: int, index: int) -> int:
    """Return the data bytes of transaction ``index`` of an LSU operation."""
    left = op_bytes - index * chunk
    return left if left < chunk else chunk


@compiled
def is_bulk(kind: int) -> int:
    """Return 1 for operations carried as RDMA packets, 0 for LSU transactions."""
    return 1 if kind == PUT or kind == GET or kind == SEND else 0
