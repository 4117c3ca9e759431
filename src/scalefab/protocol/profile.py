"""Names and sizes of the open profile as plain integers: kinds of operation, opcodes, VCs, header sizes.

Apart from `operations` so that reports can read a result without a compiler: nothing here is compiled, and `operations`
hands every name on to the compiled functions.
"""

from __future__ import annotations

from enum import IntEnum


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
    PUT_SIGNAL = 10


class Opcode(IntEnum):
    """TH opcodes that code speaks of by name; each has its row in `opcodes`, and a new one needs that row only."""

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
RESPONSE_PS = 2_000_000_000  # a request may be without its answer, or a pair without a live path, for so long (own)
NO_PATH_PS = RESPONSE_PS
