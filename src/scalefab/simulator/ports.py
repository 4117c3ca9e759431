"""What every port does, endpoint's or switch's: its one live event, line time, waiting times, load."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, inlined
from .calendar import push
from .records import EGRESS, NEVER_PS, NOT_BLOCKED, ON_CREDIT, ON_LLR, ON_WINDOW, SLOT, State


@compiled
def line_ps(p: Any, size_bytes: int) -> int:
    """Return the time of ``size_bytes`` on a port's line, rounded up."""
    if p.den == 1:  # 100, 200, 400, 800 Gb/s are whole ps a byte: no division
        return size_bytes * p.num
    return (size_bytes * p.num + p.den - 1) // p.den


@inlined
def kick(S: State, a: int, t_ps: int) -> None:
    """Make sure that port ``a`` looks at its work at ``t_ps`` or before."""
    p = S.port[a]
    if (p.sched_ps >= 0 and p.sched_ps <= t_ps) or t_ps >= NEVER_PS:
        return
    p.sched_ps = t_ps
    push(S, t_ps, EGRESS if a >= S.kernel[0].first_switch_port else SLOT, a, 0)


@compiled
def look_ps(p: Any, t_ps: int) -> int:
    """Return when a port can act on what is there at ``t_ps``: then, or when its line is free."""
    return t_ps if t_ps > p.free_ps else p.free_ps


@compiled
def block(p: Any, reason: int, now_ps: int) -> None:
    """Note that a port has work that may not go."""
    p.blocked = reason
    p.blocked_ps = now_ps


@compiled
def unblock(p: Any, now_ps: int) -> None:
    """Close the wait that `block` opened."""
    if p.blocked == ON_CREDIT:
        p.credit_wait_ps += now_ps - p.blocked_ps
        p.from_ps = p.blocked_ps
        p.to_ps = now_ps
    elif p.blocked == ON_LLR:
        p.llr_wait_ps += now_ps - p.blocked_ps
    elif p.blocked == ON_WINDOW:
        p.window_wait_ps += now_ps - p.blocked_ps
        p.wfrom_ps = p.blocked_ps
        p.wto_ps = now_ps
    p.blocked = NOT_BLOCKED


@compiled
def credit_mark(p: Any, t_ps: int) -> int:
    """Return the port's credit wait summed up to ``t_ps``, which lies after the beginning of its last wait but one."""
    mark = p.credit_wait_ps
    if p.blocked == ON_CREDIT and t_ps > p.blocked_ps:
        return mark + t_ps - p.blocked_ps
    if p.to_ps > t_ps:
        mark -= p.to_ps - (p.from_ps if p.from_ps > t_ps else t_ps)
    return mark


@compiled
def window_mark(p: Any, t_ps: int) -> int:
    """Return the port's window wait summed up to ``t_ps``; see `credit_mark`."""
    mark = p.window_wait_ps
    if p.blocked == ON_WINDOW and t_ps > p.blocked_ps:
        return mark + t_ps - p.blocked_ps
    if p.wto_ps > t_ps:
        mark -= p.wto_ps - (p.wfrom_ps if p.wfrom_ps > t_ps else t_ps)
    return mark


@inlined
def add_load(S: State, a: int, t_ps: int, wire_bytes: int) -> None:
    """Count wire bytes of a port in their time bin; when time outgrows the bins, neighbours are merged."""
    k = S.kernel[0]
    index = t_ps >> k.bin_bits
    while index >= k.bins:
        half = k.bins // 2
        for port in range(S.load.shape[0]):
            for i in range(half):
                S.load[port, i] = S.load[port, 2 * i] + S.load[port, 2 * i + 1]
            for i in range(half, k.bins):
                S.load[port, i] = 0
        k.bin_bits += 1
        index = t_ps >> k.bin_bits
    S.load[a, index] += wire_bytes
