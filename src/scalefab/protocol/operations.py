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
PUT       2    as PUT; last packet     VC 1, TH 8 (COMPLETION) one message, packets of mtu; a flag is written behind it
_SIGNAL        + 16
GET       0    TH 16 + 8 (RDMA_READ)   VC 2, TH 8 + data       messages of ``chunk`` bytes, packets of mtu
FENCE     0, 2 TH 16                   VC 1, TH 8              one on each sequence space that needs one (`ordering`)
========= ==== ======================= ======================= ==========================================

VCs, opcodes and body rules: open profile section 1 (`own`). A posted operation has no answer. JOIN and COMPUTE stand in
the operation graph only and send nothing.
"""

from __future__ import annotations

from ..compiled import compiled
from .profile import (
    ACK_FRAME_BYTES,
    FCS_BYTES,
    FRAME_MIN_BYTES,
    GAP_BYTES,
    HEADER_BYTES,
    ICRC_BYTES,
    LSU_MAX_BYTES,
    MESSAGE_MAX_PACKETS,
    ORDERED_SET_BYTES,
    PREAMBLE_BYTES,
    TH_REQUEST_BYTES,
    TH_RESPONSE_BYTES,
    VC_BULK,
    VC_CONTROL,
    VC_REQUEST,
    VC_RESPONSE,
    VCS,
    WIRE_EXTRA_BYTES,
    Kind,
    Opcode,
)

__all__ = [
    "ACK_FRAME_BYTES",
    "ATOMIC",
    "COMPUTE",
    "FCS_BYTES",
    "FENCE",
    "FRAME_MIN_BYTES",
    "GAP_BYTES",
    "GET",
    "HEADER_BYTES",
    "ICRC_BYTES",
    "JOIN",
    "LOAD",
    "LSU_MAX_BYTES",
    "MESSAGE_MAX_PACKETS",
    "OPERAND_BYTES",
    "ORDERED_SET_BYTES",
    "PREAMBLE_BYTES",
    "PUT",
    "PUT_SIGNAL",
    "REDUCE",
    "REQUEST_OPCODE",
    "RESPONSE_OPCODE",
    "SEND",
    "SIGNAL_BYTES",
    "STORE",
    "TH_REQUEST_BYTES",
    "TH_RESPONSE_BYTES",
    "VCS",
    "VC_BULK",
    "VC_CONTROL",
    "VC_REQUEST",
    "VC_RESPONSE",
    "WIRE_EXTRA_BYTES",
    "Kind",
    "Opcode",
    "body_limit",
    "frame_bytes",
    "is_bulk",
    "is_local",
    "is_message",
    "message_packets",
    "mtu_bytes",
    "packet_bytes",
    "packet_count",
    "pad8",
    "request_body_bytes",
    "request_vc",
    "response_body_bytes",
    "response_vc",
    "transaction_bytes",
    "transaction_count",
]

# The same kinds as plain integers: compiled functions compare integers, the enum is for printing.
LOAD, STORE, ATOMIC, REDUCE, PUT, GET, SEND, FENCE, COMPUTE, JOIN, PUT_SIGNAL = range(11)

OPERAND_BYTES = 8
"""What compare-swap carries before its new value (open profile section 1)."""

SIGNAL_BYTES = 16
"""What the last packet of RDMA_WRITE_SIG carries before its data: address and value (open profile section 1)."""

REQUEST_OPCODE = {
    Kind.LOAD: Opcode.LOAD,
    Kind.STORE: Opcode.STORE,
    Kind.ATOMIC: Opcode.ATOMIC,
    Kind.REDUCE: Opcode.REDUCE,
    Kind.PUT: Opcode.RDMA_WRITE,
    Kind.GET: Opcode.RDMA_READ,
    Kind.SEND: Opcode.SEND,
    Kind.FENCE: Opcode.FENCE,
    Kind.PUT_SIGNAL: Opcode.RDMA_WRITE_SIG,
}
RESPONSE_OPCODE = {
    Kind.LOAD: Opcode.LOAD_RSP,
    Kind.STORE: Opcode.STORE_RSP,
    Kind.ATOMIC: Opcode.ATOMIC_RSP,
    Kind.REDUCE: Opcode.STORE_RSP,
    Kind.PUT: Opcode.COMPLETION,
    Kind.GET: Opcode.RDMA_READ_RSP,
    Kind.SEND: Opcode.COMPLETION,
    Kind.FENCE: Opcode.FENCE_RSP,
    Kind.PUT_SIGNAL: Opcode.COMPLETION,
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
def is_message(kind: int) -> bool:
    """Return whether the request is a message on VC 2, answered by COMPLETION."""
    return kind == PUT or kind == SEND or kind == PUT_SIGNAL


@compiled
def is_local(kind: int) -> bool:
    """Return whether an operation stands in the graph only and uses no network."""
    return kind == JOIN or kind == COMPUTE


@compiled
def request_vc(kind: int) -> int:
    """Return the VC that the requests of a kind travel in."""
    return VC_BULK if is_message(kind) else VC_REQUEST


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
    return 1 if kind == GET or is_message(kind) else 0
