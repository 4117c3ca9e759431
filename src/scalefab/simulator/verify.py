"""Verification of memory: which segments of which operation have been executed, a bit each, and executed bytes by time."""

from __future__ import annotations

from ..compiled import compiled
from ..protocol.multipath import sprayed_next
from .records import State


@compiled
def mark_executed(S: State, op: int, first: int, count: int, stride: int) -> None:
    """Mark a run of packets or transactions of ``op`` as executed; one that already was, or that it has not, is an error."""
    k = S.kernel[0]
    index = int(first)
    base = int(S.segment_base[op])
    for _ in range(int(count)):
        if index < 0 or index >= S.op[op].packets:
            k.outside += 1
        else:
            at = base + (index >> 3)
            bit = 1 << (index & 7)
            marks = int(S.segment_bits[at])
            if marks & bit:
                k.twice += 1
            S.segment_bits[at] = marks | bit
        index = index + 1 if stride == 1 else sprayed_next(index, int(stride))


@compiled
def add_executed(S: State, t_ps: int, size_bytes: int) -> None:
    """Count data bytes in the time bin in which they are visible; when time outgrows the bins, neighbours are merged."""
    k = S.kernel[0]
    bins = S.executed_bins
    index = t_ps // k.executed_bin_ps
    while index >= len(bins):
        half = len(bins) // 2
        for i in range(half):
            bins[i] = bins[2 * i] + bins[2 * i + 1]
        for i in range(half, len(bins)):
            bins[i] = 0
        k.executed_bin_ps *= 2
        index = t_ps // k.executed_bin_ps
    bins[index] += size_bytes
