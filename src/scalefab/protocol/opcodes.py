"""Every opcode as one row of `OPCODES` (open profile section 1, all `own`): VC, TH, body, rules of its fields.

A TH says by opcode, length, last and status (or operation) how long its body is: `body_parts`. Each part of a body is padded
to 8 B, the next TH begins there.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

from .layout import READ_TOTAL, SIGNAL, TH_REQUEST, TH_RESPONSE, Header
from .profile import VC_BULK, VC_REQUEST, VC_RESPONSE

PAGE_BYTES = 4096  # own: order and REDUCE hold a page, one path a page


class AtomicOp(IntEnum):
    """Operation of REDUCE and ATOMIC: high nibble of TH.kind."""

    ADD = 0
    MIN = 1
    MAX = 2
    AND = 3
    OR = 4
    XOR = 5
    SWAP = 6
    COMPARE_SWAP = 7


class ElementType(IntEnum):
    """Type of REDUCE and ATOMIC: low nibble of TH.kind."""

    U32 = 0
    U64 = 1
    I32 = 2
    I64 = 3
    F16 = 4
    BF16 = 5
    F32 = 6
    F64 = 7

    @property
    def size_bytes(self) -> int:
        """Bytes of one element."""
        return (4, 8, 4, 8, 2, 2, 4, 8)[self]

    @property
    def is_integer(self) -> bool:
        """Whether and, or, xor, compare-swap apply."""
        return self <= ElementType.I64


class Status(IntEnum):
    """TH.kind of responses."""

    OK = 0
    ADDRESS = 1
    PERMISSION = 2
    PARTITION = 3
    ALIGNMENT = 4
    UNSUPPORTED = 5
    TIMEOUT = 6
    POISONED = 7
    RECEIVER_NOT_READY = 8


class PartSize(Enum):
    """How many bytes a part of a body has before its padding to 8 B."""

    LENGTH = "TH.length"
    MASK = "ceil(TH.length / 8)"
    EIGHT = "8"


class When(Enum):
    """When a part of a body is there."""

    ALWAYS = "always"
    LAST = "last = 1"
    OK = "status = 0"
    COMPARE_SWAP = "operation is compare-swap"
    ONE_OPERAND = "operation is not compare-swap"


class LengthRule(Enum):
    """Which values TH.length may have."""

    NONE = "0"
    POWER_OF_TWO = "1, 2, 4 .. 512"
    ELEMENTS = "n elements, at most 512"
    ELEMENT = "one element"
    PACKET = "1 .. mtu; mtu unless last"
    READ = "8"


class KindRule(Enum):
    """What TH.kind means."""

    ZERO = "0"
    REDUCTION = "operation 4, type 4; neither swap nor compare-swap"
    ATOMIC = "operation 4, type 4"
    CONTEXT = "context id 0 .. 255"
    STATUS = "status"


class AddressRule(Enum):
    """What TH.address means. A breach is answered with status ALIGNMENT by the target; the frame is a good one."""

    NONE = "no address"
    BYTE = "any byte"
    MULTIPLE_OF_LENGTH = "a multiple of length"
    ELEMENTS_IN_PAGE = "a multiple of the element, all inside one 4 KiB page"
    QUEUE = "queue 16, message number 16, match 32"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a body; ``header`` is its inner layout if it has one."""

    name: str
    size: PartSize
    when: When = When.ALWAYS
    header: Header | None = None


@dataclass(frozen=True, slots=True)
class OpcodeRow:
    """One opcode: number, name, where it travels, how long it is, what its fields mean. All `own`."""

    opcode: int
    name: str
    vcs: tuple[int, ...]
    th: Header
    length: LengthRule
    kind: KindRule
    body: tuple[Part, ...] = ()
    address: AddressRule = AddressRule.NONE
    meaning: str = ""

    @property
    def is_response(self) -> bool:
        """Whether it answers (posted and last are 1, kind is a status)."""
        return self.kind is KindRule.STATUS

    @property
    def is_packet(self) -> bool:
        """Whether it is a packet of a message (last may be 0, context is the packet index)."""
        return self.length is LengthRule.PACKET


_DATA = Part("data", PartSize.LENGTH)
_DATA_OK = Part("data", PartSize.LENGTH, When.OK)
_IMMEDIATE = Part("immediate", PartSize.EIGHT, When.LAST)
_OPERANDS = (
    Part("operand", PartSize.LENGTH, When.ONE_OPERAND),
    Part("compare", PartSize.LENGTH, When.COMPARE_SWAP),
    Part("swap", PartSize.LENGTH, When.COMPARE_SWAP),
)
_SIGNAL = (Part("signal", PartSize.EIGHT, When.LAST, SIGNAL), Part("value", PartSize.EIGHT, When.LAST))
_REQUEST, _RESPONSE, _BULK = (VC_REQUEST,), (VC_RESPONSE,), (VC_BULK,)
_L, _K, _A = LengthRule, KindRule, AddressRule
_ROWS = (
    OpcodeRow(0, "NOP", _REQUEST, TH_RESPONSE, _L.NONE, _K.ZERO, meaning="nothing"),
    OpcodeRow(1, "LOAD", _REQUEST, TH_REQUEST, _L.POWER_OF_TWO, _K.ZERO, (), _A.MULTIPLE_OF_LENGTH, "read remote memory"),
    OpcodeRow(2, "LOAD_RSP", _RESPONSE, TH_RESPONSE, _L.POWER_OF_TWO, _K.STATUS, (_DATA_OK,), meaning="data of a LOAD"),
    OpcodeRow(3, "STORE", _REQUEST, TH_REQUEST, _L.POWER_OF_TWO, _K.ZERO, (_DATA,), _A.MULTIPLE_OF_LENGTH, "write remote memory"),
    OpcodeRow(
        4,
        "STORE_MASKED",
        _REQUEST,
        TH_REQUEST,
        _L.POWER_OF_TWO,
        _K.ZERO,
        (Part("mask", PartSize.MASK), _DATA),
        _A.MULTIPLE_OF_LENGTH,
        "write the bytes whose mask bit is 1",
    ),
    OpcodeRow(5, "STORE_RSP", _RESPONSE, TH_RESPONSE, _L.NONE, _K.STATUS, meaning="STORE, STORE_MASKED, REDUCE is visible"),
    OpcodeRow(6, "REDUCE", _REQUEST, TH_REQUEST, _L.ELEMENTS, _K.REDUCTION, (_DATA,), _A.ELEMENTS_IN_PAGE, "combine into memory"),
    OpcodeRow(7, "ATOMIC", _REQUEST, TH_REQUEST, _L.ELEMENT, _K.ATOMIC, _OPERANDS, _A.BYTE, "combine, return the old value"),
    OpcodeRow(
        8,
        "ATOMIC_RSP",
        _RESPONSE,
        TH_RESPONSE,
        _L.ELEMENT,
        _K.STATUS,
        (Part("old", PartSize.LENGTH, When.OK),),
        meaning="old value",
    ),
    OpcodeRow(9, "FENCE", (VC_REQUEST, VC_BULK), TH_REQUEST, _L.NONE, _K.ZERO, meaning="ask when all accepted is visible"),
    OpcodeRow(10, "FENCE_RSP", _RESPONSE, TH_RESPONSE, _L.NONE, _K.STATUS, meaning="all accepted is visible"),
    OpcodeRow(16, "RDMA_WRITE", _BULK, TH_REQUEST, _L.PACKET, _K.CONTEXT, (_DATA,), _A.BYTE, "put"),
    OpcodeRow(
        17,
        "RDMA_WRITE_IMM",
        _BULK,
        TH_REQUEST,
        _L.PACKET,
        _K.CONTEXT,
        (_IMMEDIATE, _DATA),
        _A.BYTE,
        "put, immediate to the queue",
    ),
    OpcodeRow(
        18,
        "RDMA_READ",
        _REQUEST,
        TH_REQUEST,
        _L.READ,
        _K.CONTEXT,
        (Part("total", PartSize.EIGHT, header=READ_TOTAL),),
        _A.BYTE,
        "get",
    ),
    OpcodeRow(19, "RDMA_READ_RSP", _BULK, TH_RESPONSE, _L.PACKET, _K.STATUS, (_DATA_OK,), meaning="data of a get"),
    OpcodeRow(20, "SEND", _BULK, TH_REQUEST, _L.PACKET, _K.CONTEXT, (_DATA,), _A.QUEUE, "message to a queue"),
    OpcodeRow(21, "SEND_IMM", _BULK, TH_REQUEST, _L.PACKET, _K.CONTEXT, (_IMMEDIATE, _DATA), _A.QUEUE, "message with immediate"),
    OpcodeRow(22, "COMPLETION", _RESPONSE, TH_RESPONSE, _L.NONE, _K.STATUS, meaning="a whole message is visible"),
    OpcodeRow(23, "RDMA_WRITE_SIG", _BULK, TH_REQUEST, _L.PACKET, _K.CONTEXT, (*_SIGNAL, _DATA), _A.BYTE, "put with signal"),
    OpcodeRow(48, "PROBE", _REQUEST, TH_REQUEST, _L.NONE, _K.ZERO, meaning="round trip of a path"),
    OpcodeRow(49, "PROBE_RSP", _RESPONSE, TH_RESPONSE, _L.NONE, _K.STATUS, meaning="answer to PROBE"),
    OpcodeRow(63, "ERROR", _RESPONSE, TH_RESPONSE, _L.NONE, _K.STATUS, meaning="status of a posted or malformed request"),
)


def opcode_table(*rows: OpcodeRow) -> dict[int, OpcodeRow]:
    """Return the rows by their numbers; ValueError if one stands there twice or does not fit TH."""
    table = {row.opcode: row for row in rows}
    if len(table) != len(rows) or not all(0 <= number < 64 for number in table):
        raise ValueError("opcodes are different numbers of six bits")
    return table


OPCODES: dict[int, OpcodeRow] = opcode_table(*_ROWS)
"""Every opcode of the profile by its number."""


def padded(size_bytes: int) -> int:
    """Return ``size_bytes`` rounded up to the 8 B at which the next part begins."""
    return (size_bytes + 7) & ~7


def body_parts(row: OpcodeRow, length: int, last: int, kind: int) -> tuple[tuple[Part, int], ...]:
    """Return the parts that the body of a transaction has, each with its bytes before padding.

    Parameters
    ----------
    row
        The opcode.
    length, last, kind
        TH fields; ``length`` in bytes.
    """
    if not row.body:
        return ()
    swap = kind >> 4 == AtomicOp.COMPARE_SWAP
    there = {
        When.ALWAYS: True,
        When.LAST: last == 1,
        When.OK: kind == Status.OK,
        When.COMPARE_SWAP: swap,
        When.ONE_OPERAND: not swap,
    }
    sizes = {PartSize.LENGTH: length, PartSize.MASK: (length + 7) // 8, PartSize.EIGHT: 8}
    return tuple((part, sizes[part.size]) for part in row.body if there[part.when])


def is_aligned(row: OpcodeRow, length: int, kind: int, address: int) -> bool:
    """Return whether an address obeys the row's `AddressRule`; the target answers ALIGNMENT if not.

    Parameters
    ----------
    row
        The opcode.
    length, kind, address
        TH fields that the row's other rules accept; ``length`` in bytes.
    """
    if row.address is AddressRule.MULTIPLE_OF_LENGTH:
        return address % length == 0
    if row.address is AddressRule.ELEMENTS_IN_PAGE:
        return address % ElementType(kind & 15).size_bytes == 0 and address % PAGE_BYTES + length <= PAGE_BYTES
    return True
