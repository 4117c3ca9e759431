"""The conventions of nccl-tests: names, sizes, element types, how a size is rounded, bus factors. Nothing is simulated here.

Taken from nccl-tests' sources and its ``doc/PERFORMANCE.md`` (n ranks, w bytes an element):

============== ========================== =============================== ======== =============
operation      size printed (S)           count printed                   busbw /  bytes through
                                                                          algbw    the network
============== ========================== =============================== ======== =============
all_reduce     count x w                  S / w                           2(n-1)/n 2 (n-1) S
all_gather     n x count x w              (S / w / n) in whole 16 B       (n-1)/n  (n-1) S
reduce_scatter n x count x w              as all_gather                   (n-1)/n  (n-1) S
all_to_all     n x count x w              as all_gather                   (n-1)/n  (n-1) S
broadcast      count x w                  S / w                           1        (n-1) S
sendrecv       count x w (rank i -> i+1)  S / w                           1        n S
============== ========================== =============================== ======== =============

Sizes carry binary suffixes: ``128K`` is 131072 bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from fractions import Fraction

from ..errors import InputError, Problem
from ..units import exact_size

SIZE_MAX_BYTES = 1 << 40  # own: one row of 1 TiB takes days
ALIGN_BYTES = 16  # what nccl-tests rounds the share of a rank down to


class Operation(Enum):
    """What is measured; the value is nccl-tests' name of the program without ``_perf``."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    BROADCAST = "broadcast"
    SENDRECV = "sendrecv"


SHARED_OUT = (Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_TO_ALL)
"""Operations whose count is the share of one rank."""

DATATYPE_BYTES = {
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "half": 2,
    "float": 4,
    "double": 8,
    "bfloat16": 2,
    "f8e4m3": 1,
    "f8e5m2": 1,
}
"""Bytes of an element by nccl-tests' name of its type."""

_REDOP = {  # as nccl-tests prints it; sendrecv reduces nothing and prints its default all the same
    Operation.ALL_REDUCE: "sum",
    Operation.REDUCE_SCATTER: "sum",
    Operation.SENDRECV: "sum",
}
_OTHER_NAMES = {
    "allreduce": Operation.ALL_REDUCE,
    "allgather": Operation.ALL_GATHER,
    "reducescatter": Operation.REDUCE_SCATTER,
    "alltoall": Operation.ALL_TO_ALL,
    "send_recv": Operation.SENDRECV,
}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGkmg])(iB)?|B)?\s*", re.ASCII)
_FACTOR = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


@dataclass(frozen=True, slots=True)
class Size:
    """One line of the table before it is measured: nccl-tests' size in bytes and its count of elements."""

    size_bytes: int
    count: int


def read_operation(text: str) -> Operation:
    """Return the operation of a name: ours, nccl-tests' program (``all_reduce_perf``) or without underscores.

    Raises
    ------
    InputError
        Unknown name, with its near miss.
    """
    word = text.strip().lower().replace("-", "_").removesuffix("_perf")
    names = {operation.value: operation for operation in Operation} | _OTHER_NAMES
    if word in names:
        return names[word]
    close = get_close_matches(word, names, n=1, cutoff=0.5)
    known = ", ".join(operation.value for operation in Operation)
    near = names[close[0]].value if close else ""
    raise InputError([Problem(f"'{text[:40]}' is no operation", f"one of {known}", near, file="OP")])


def read_datatype(text: str) -> str:
    """Return nccl-tests' name of an element type. Raises InputError with the near miss."""
    word = text.strip().lower()
    if word in DATATYPE_BYTES:
        return word
    close = get_close_matches(word, DATATYPE_BYTES, n=1, cutoff=0.5)
    expected = "one of " + ", ".join(DATATYPE_BYTES)
    raise InputError([Problem(f"'{text[:40]}' is no element type", expected, close[0] if close else "", file="-d")])


def read_size(text: str, option: str) -> int:
    """Read a size as nccl-tests does: a number and perhaps K, M or G, powers of 1024.

    ``64KiB`` is read too. ``64KB`` is refused: nccl-tests takes it for 65536 bytes, the rest of the world for 64000.

    Raises
    ------
    InputError
        Not such a text, not whole bytes, none, or above 1 TiB; ``option`` stands where a file would.
    """
    expected = "bytes, or a number with K, M or G (powers of 1024) such as 8, 128K, 1G"
    match = _SIZE.fullmatch(text) if len(text) <= 40 else None
    if match is None:
        raise InputError([Problem(f"'{text[:40]}' is no size", expected, file=option)])
    value = Fraction(match.group(1)) * _FACTOR.get((match.group(2) or "").lower(), 1)
    if value.denominator != 1 or not 1 <= value <= SIZE_MAX_BYTES:
        raise InputError([Problem(f"'{text}' is out of range", f"whole bytes, 1 .. {exact_size(SIZE_MAX_BYTES)}", file=option)])
    return int(value)


def sizes(begin_bytes: int, end_bytes: int, factor: int) -> tuple[int, ...]:
    """Return the sizes that are asked for: from ``begin_bytes``, each ``factor`` times the one before, up to ``end_bytes``.

    Raises
    ------
    InputError
        The end is before the beginning, or the factor is not 2 or more.
    """
    problems = []
    if end_bytes < begin_bytes:
        problems.append(Problem(f"ends at {end_bytes} B before it begins at {begin_bytes} B", "-b not above -e", file="-e"))
    if factor < 2:
        problems.append(Problem(f"factor {factor} never ends", "2 or more", file="-f"))
    if problems:
        raise InputError(problems)
    found = []
    while begin_bytes <= end_bytes:
        found.append(begin_bytes)
        begin_bytes *= factor
    return tuple(found)


def rounded(operation: Operation, asked_bytes: int, datatype: str, ranks: int) -> Size:
    """Return what nccl-tests makes of a size: whole elements; where ranks share it out, whole 16 B a rank. May be nothing."""
    width = DATATYPE_BYTES[datatype]
    count = asked_bytes // width
    if operation not in SHARED_OUT:
        return Size(count * width, count)
    share = count // ranks
    share -= share % (ALIGN_BYTES // width)
    return Size(share * ranks * width, share)


def bus_factor(operation: Operation, ranks: int) -> Fraction:
    """Return busbw / algbw."""
    if operation in (Operation.BROADCAST, Operation.SENDRECV):
        return Fraction(1)
    return Fraction((2 if operation is Operation.ALL_REDUCE else 1) * (ranks - 1), ranks)


def moved_bytes(operation: Operation, size_bytes: int, ranks: int) -> int:
    """Return the bytes that must reach another rank, whatever the algorithm, all ranks together: what #wrong is held against."""
    if operation is Operation.SENDRECV:
        return ranks * size_bytes
    return (2 if operation is Operation.ALL_REDUCE else 1) * (ranks - 1) * size_bytes


def redop(operation: Operation) -> str:
    """Return what nccl-tests prints as reduction."""
    return _REDOP.get(operation, "none")


def printed_root(operation: Operation, root: int) -> int:
    """Return what nccl-tests prints as root: -1 where there is none."""
    return root if operation is Operation.BROADCAST else -1
