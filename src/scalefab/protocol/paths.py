"""Which paths to a destination may be used, and which one a bucket or a packet takes (open profile section 5).

=========================== ============================================================================
event                       path state
=========================== ============================================================================
SEN PORT_DOWN, own link     DOWN: not live
down
SEN DRAIN                   DRAIN: not live
path error                  ERROR: not live, until a SEN PORT_UP, the own link up, or OPENED over it
SEN DEGRADED                DEGRADED: live; buckets with h[1:0] != 0 count it as not live, sprayers give it a quarter
SEN CONGESTION_ON           CONGESTED: likewise
=========================== ============================================================================

A state is a mask of these, so that one cause can end while another lasts; 0 = live. If all live paths are degraded or congested,
that counts for no bucket (`own`: "not live" would end its operations with status 6).

VC 0: ``P[h x n >> 16]`` of the pair's n path ids, ascending; if it cannot be used, the fall-back: the usable path of largest
``((h xor (257 x path id)) x 0x9E37) mod 2^16``, tie lowest. So buckets on live paths never move. VC 1, ACK and NACK take the
path of what they answer; if that is not live, the fall-back with h = tag. VC 2 sprays by policy, over live paths.
Arrays are flat: the pair's paths are ``ids[first .. first + n - 1]``, states beside them. Origin: `own`.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Any

from ..compiled import compiled
from . import reliability as rh
from .multipath import bound_path, fallback_weight, sprayed_path

WEIGHT = 4  # a degraded or congested path gets one turn in so many (own)


class PathState(IntFlag):
    """Why a path is not used, or used less; 0 = live."""

    LIVE = 0
    DOWN = 1
    DRAIN = 2
    ERROR = 4
    DEGRADED = 8
    CONGESTED = 16


DOWN, DRAIN, ERROR, DEGRADED, CONGESTED = 1, 2, 4, 8, 16
NOT_LIVE = DOWN | DRAIN | ERROR
REDUCED = DEGRADED | CONGESTED


@compiled
def is_live(state: int) -> bool:
    """Return whether a path may carry anything new."""
    return state & NOT_LIVE == 0


@compiled
def usable(state: int, h: int) -> bool:
    """Return whether bucket ``h`` counts a path as live."""
    return state & NOT_LIVE == 0 and (state & REDUCED == 0 or h & 3 == 0)


@compiled
def fallback_path(h: int, ids: Any, states: Any, first: int, n: int) -> int:
    """Return the index (0 .. n - 1) of the fall-back path for ``h``, -1 = no path is live."""
    best = -1
    weight = -1
    for strict in (True, False):
        for i in range(n):
            state = states[first + i]
            if not (usable(state, h) if strict else is_live(state)):
                continue
            w = fallback_weight(h, int(ids[first + i]))
            if w > weight:
                best = i
                weight = w
        if best >= 0:
            return best
    return best


@compiled
def chosen_path(h: int, ids: Any, states: Any, first: int, n: int) -> int:
    """Return the index of the path that VC 0's bucket ``h`` belongs on, -1 = no path is live."""
    i = bound_path(h, n)
    if usable(states[first + i], h):
        return i
    best = fallback_path(h, ids, states, first, n)
    if best >= 0 and not usable(states[first + best], h) and is_live(states[first + i]):
        return i  # all are degraded or congested: that counts for none
    return best


@compiled
def answer_path(index: int, tag: int, ids: Any, states: Any, first: int, n: int) -> int:
    """Return the path of an answer to what came over path ``index``: the same if live, else the fall-back with h = tag."""
    if is_live(states[first + index]):
        return index
    return fallback_path(tag, ids, states, first, n)


@compiled
def bucket_may_move(s: Any, r: Any, bits: int) -> bool:
    """Return whether a bucket may leave space ``s`` without a path change: nothing un-acked, and a FENCE answered behind all."""
    return s.state == rh.SPACE_OPEN and rh.in_flight(s, bits) == 0 and s.next_psn == r.fenced_psn


@compiled
def spray_turn(states: Any, first: int, n: int, turn: int, offset: int) -> int:
    """Return the round-robin turn (``turn`` or a later one) whose path takes the next packet, -1 = no path is live.

    The path is ``sprayed_path(turn, offset, n)``, the next packet's turn one more. Paths that are not live lose all turns,
    degraded and congested ones three of four.
    """
    for t in range(turn, turn + (WEIGHT + 1) * n):  # the first round may be begun, and a path's place changes each round
        state = states[first + sprayed_path(t, offset, n)]
        if is_live(state) and (state & REDUCED == 0 or t // n % WEIGHT == 0):
            return t
    return -1


@compiled
def least_queued(states: Any, queued_bytes: Any, first: int, n: int, size_bytes: int) -> int:
    """Return the live path with the least bytes waiting after ``size_bytes`` more, fourfold if degraded or congested."""
    best = -1
    least = 0
    for i in range(n):
        state = states[first + i]
        if not is_live(state):
            continue
        waiting = queued_bytes[first + i] + size_bytes
        if state & REDUCED != 0:
            waiting *= WEIGHT
        if best < 0 or waiting < least:
            best = i
            least = waiting
    return best


@compiled
def single_path(states: Any, first: int, n: int) -> int:
    """Return the first live path, -1 = none."""
    for i in range(n):
        if is_live(states[first + i]):
            return i
    return -1
