"""Slow receivers: an endpoint that takes frames out of a port's receive buffer at a rate, or not at all for a while.

A frame that has come waits in the list of its port and VC; the one at its head leaves when its line time at the rate is over.
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol.operations import WIRE_EXTRA_BYTES
from .calendar import push
from .records import DELIVER, DRAINED, State

_PS_BITS = 8_000_000_000_000
AT_ONCE = -1


@compiled
def set_drain(S: State, a: int, vc: int, bps: int, now_ps: int) -> None:
    """Empty the receive buffer of a VC at port ``a`` at ``bps`` from now on; 0 = not at all, `AT_ONCE` = without delay."""
    d = S.drain[a, vc]
    d.num = _PS_BITS if bps > 0 else 0
    d.den = bps if bps > 0 else (1 if bps == 0 else 0)
    d.due_ps = -1
    if bps < 0:
        while d.head >= 0:
            take_out(S, a, vc, now_ps)
    elif bps > 0 and d.head >= 0:
        schedule(S, a, vc, now_ps)


@compiled
def schedule(S: State, a: int, vc: int, now_ps: int) -> None:
    """Let the head of the list leave when its time is over."""
    d = S.drain[a, vc]
    size = S.frame[d.head].size_bytes + WIRE_EXTRA_BYTES
    d.due_ps = now_ps + (size * d.num + d.den - 1) // d.den
    push(S, d.due_ps, DRAINED, a, vc)


@compiled
def take_out(S: State, a: int, vc: int, now_ps: int) -> None:
    """The head of the list leaves the receive buffer now."""
    d = S.drain[a, vc]
    i = d.head
    f = S.frame[i]
    d.head = f.next
    f.next = -1
    f.drained = 1
    push(S, now_ps, DELIVER, a, i)


@compiled
def on_drained(S: State, a: int, vc: int, now_ps: int) -> None:
    """The time of the head of the list is over, unless the rate has changed since."""
    d = S.drain[a, vc]
    if d.due_ps != now_ps:
        return
    d.due_ps = -1
    take_out(S, a, vc, now_ps)
    if d.head >= 0:
        schedule(S, a, vc, now_ps)


@compiled
def is_drained(S: State, a: int, i: int, now_ps: int) -> bool:
    """Return whether frame ``i`` leaves the receive buffer of port ``a`` now; else it waits and will be delivered again."""
    f = S.frame[i]
    if f.drained:
        return True
    d = S.drain[a, f.vc]
    if d.den == 0:
        return True
    f.next = -1
    if d.head < 0:
        d.head = i
        if d.num > 0:
            schedule(S, a, f.vc, now_ps)
    else:
        S.frame[d.tail].next = i
    d.tail = i
    return False
