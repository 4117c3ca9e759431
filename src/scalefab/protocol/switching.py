"""What a switch does with a frame: look-up, first bit out, fair choice among inputs and VCs (open profile section 2).

Look-up: ``dst_id`` gives the ports of the endpoint, the member is the port (stack, port) of the frame's entropy; a switch never
picks another one. Cut-through with the FCS known first: first bit out >= max(first bit in + latency, last bit in). Arbiter: VC 3
strictly first, the others round robin by bytes, and so the inputs of a VC. Origin: `own`; the latency is `sib` (SUE).

Bitmaps hold 32 inputs a word in signed 64-bit integers, so no word is ever negative, compiled or not.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from . import tiers

# what is attached elsewhere goes over the uplink, and from the spine the link, that `tiers` says
leaf_uplink = compiled(tiers.leaf_uplink)
spine_link = compiled(tiers.spine_link)

WORD_BITS = 32
_WORD_MASK = 0xFFFFFFFF
LATENCY_PS = 250_000  # sib: SUE's budget


@compiled
def first_bit_out_ps(first_in_ps: int, last_in_ps: int, latency_ps: int) -> int:
    """Return the earliest time of the first bit out."""
    t = first_in_ps + latency_ps
    return t if t > last_in_ps else last_in_ps


@compiled
def lowest_bit(word: int) -> int:
    """Return the index of the lowest set bit of a non-zero 32-bit word."""
    n = 0
    if word & 0xFFFF == 0:
        n += 16
        word >>= 16
    if word & 0xFF == 0:
        n += 8
        word >>= 8
    if word & 0xF == 0:
        n += 4
        word >>= 4
    if word & 3 == 0:
        n += 2
        word >>= 2
    if word & 1 == 0:
        n += 1
    return n


@inlined
def next_input(bits: Any, row: int, words: int, last: int) -> int:
    """Return the first waiting input after ``last``, cyclically, of a row of ``words`` bitmap words; -1 when none waits."""
    start = int(last) + 1
    w = start >> 5
    if w >= words:
        w = 0
        start = 0
    word = (bits[row, w] >> (start & 31)) << (start & 31)
    for _ in range(words + 1):
        if word != 0:
            return (w << 5) + lowest_bit(word)
        w += 1
        if w == words:
            w = 0
        word = bits[row, w]
    return -1


@compiled
def is_waiting(bits: Any, row: int, index: int) -> bool:
    """Return whether an input has a frame waiting."""
    i = int(index)
    return bits[row, i >> 5] & (1 << (i & 31)) != 0


@compiled
def mark_waiting(bits: Any, row: int, index: int) -> None:
    """Set the bit of an input that has a frame waiting."""
    i = int(index)  # interpreted, a 32-bit index would make 1 << 31 negative
    bits[row, i >> 5] |= 1 << (i & 31)


@compiled
def mark_empty(bits: Any, row: int, index: int) -> None:
    """Clear the bit of an input whose list ran empty."""
    i = int(index)
    bits[row, i >> 5] &= _WORD_MASK ^ (1 << (i & 31))


@inlined
def byte_turn(deficits: Any, row: int, turn: int, ready: int, quantum_bytes: int, vcs: int = 4) -> int:
    """Round robin by bytes among all VCs but 3, which goes strictly first (surplus: an overdrawn turn is paid in the next).

    Parameters
    ----------
    deficits
        int64[rows, vcs]: bytes each VC may still send in its turn; changed.
    row, turn
        Port, and the VC whose turn it is.
    ready
        Bit v set = VC v has a frame that may go now; bit 3 never is.
    quantum_bytes
        Bytes added at each turn; at least the largest frame, so one addition always pays a debt.

    Returns
    -------
    int
        The VC to serve (its turn now), -1 when none is ready.
    """
    if ready == 0:
        return -1
    while True:
        if ready & (1 << turn) == 0:
            deficits[row, turn] = 0
        elif deficits[row, turn] > 0:
            return turn
        turn += 1
        if turn == 3:
            turn = 4
        if turn >= vcs:
            turn = 0
        deficits[row, turn] += quantum_bytes
