"""What the profile allows of an operation: ids, lengths, alignment; each rule named with the first operation that breaks it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Problem
from ..protocol.profile import LSU_MAX_BYTES, Kind

MAX_ENDPOINTS = 1024
PAGE_BYTES = 4096
ADDRESS_LIMIT = 1 << 57  # TH carries 57 bits (own)
_LIMIT = 1 << 62

Columns = dict[str, NDArray[Any]]


def block_problems(columns: Columns, name: str, endpoints: int) -> list[Problem]:
    """Return one problem for each rule that a block of operations of one kind breaks; ``name`` is its group's."""
    kind = Kind(int(columns["kind"][0]))
    problems: list[Problem] = []

    def rule(bad: NDArray[np.bool_], message: str, expected: str, *shown: NDArray[Any]) -> None:
        wrong = np.flatnonzero(bad)
        if len(wrong):
            first = int(wrong[0])
            values = [int(value[first if len(value) > 1 else 0]) for value in shown]
            more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
            problems.append(Problem(message.format(*values) + more, expected, key=name))

    src, dst = columns["src"], columns["dst"]
    limit = min(endpoints, MAX_ENDPOINTS)
    lowest = -1 if kind is Kind.JOIN else 0
    for role, ids in (("source", src), ("target", dst)):
        rule((ids < lowest) | (ids >= limit), f"{role} " + "{} is no endpoint", f"0 .. {limit - 1}", ids)
    for time in ("start_ps", "compute_ps"):
        if time in columns:
            rule((columns[time] < 0) | (columns[time] >= _LIMIT), time + " is {}", "0 or more", columns[time])
    if kind in (Kind.JOIN, Kind.COMPUTE):
        return problems

    rule(src == dst, f"a {kind.name} from GPU {{}} to itself does not use the network", "two different GPUs", src)
    if kind is Kind.FENCE:
        return problems
    size, address, chunk = columns["bytes"], columns["address"], columns["chunk"]
    rule((size <= 0) | (size >= _LIMIT), f"a {kind.name} of {{}} bytes", "at least one byte", size)
    if problems:
        return problems  # what follows divides by these
    rule((address < 0) | (address > ADDRESS_LIMIT - size), "address {} is out of range", "57 bits", address)
    if kind in (Kind.LOAD, Kind.ATOMIC, Kind.GET):
        rule(columns["posted"] != 0, f"a {kind.name} without an answer brings nothing back", "posted off")
    if kind is Kind.PUT_SIGNAL:
        rule(chunk != 0, "a PUT_SIGNAL in messages of {} bytes", "one message", chunk)
    if kind in (Kind.LOAD, Kind.STORE, Kind.ATOMIC, Kind.REDUCE):
        _lsu_rules(kind, size, address, chunk, rule)
    return problems


def _lsu_rules(kind: Kind, size: NDArray[Any], address: NDArray[Any], chunk: NDArray[Any], rule: Any) -> None:
    """Lengths and alignment of LSU transactions (open profile section 1, table of operations)."""
    positive = chunk > 0
    rule(~positive, f"a {kind.name} in transactions of {{}} bytes", f"1 .. {LSU_MAX_BYTES} B", chunk)
    piece = np.where(positive, chunk, 1).astype(np.int64)
    rest = size % piece  # the last transaction, where it is shorter
    largest = np.minimum(piece, size)  # an operation shorter than a transaction is one of its own length
    for length in (largest, rest):
        used = positive & (length > 0)
        if kind is Kind.ATOMIC:
            rule(used & (length != 4) & (length != 8), "an ATOMIC of {} bytes", "4B or 8B", length)
            rule(
                used & (address % np.where(used, length, 1) != 0),
                "address {} is not aligned to {} B",
                "a multiple",
                address,
                length,
            )
        elif kind is Kind.REDUCE:
            rule(
                used & ((length > LSU_MAX_BYTES) | (length % 4 != 0)),
                "a REDUCE of {} bytes",
                "a multiple of 4B, at most 512B",
                length,
            )
        else:
            bad = (length > LSU_MAX_BYTES) | ((length & (length - 1)) != 0)
            rule(used & bad, f"a {kind.name} transaction of {{}} bytes", "a power of two, at most 512B", length)
            unaligned = address % np.where(used, length, 1) != 0
            rule(used & ~bad & unaligned, "address {} is not a multiple of {} B", "an aligned address", address, length)
    if kind is Kind.REDUCE:
        rule(positive & (address % 4 != 0), "address {} is not aligned to its element", "a multiple of 4B", address)
        first_end = (address // PAGE_BYTES + 1) * PAGE_BYTES
        crosses = address + size > first_end
        whole = ((first_end - address) % piece == 0) & ((PAGE_BYTES % piece == 0) | (address + size <= first_end + PAGE_BYTES))
        rule(
            positive & crosses & ~whole,
            "a REDUCE of {} B from address {} crosses a 4 KiB page",
            "inside one page",
            piece,
            address,
        )
