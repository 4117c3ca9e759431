"""Scripted frames behind the line: on their way through the switch, and at the tester that counts them.

In the switch, a frame's `first` and `count` keep its VC and credits in the receive buffer that it came by, because the link that
it leaves on may put it into another VC.
"""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .ordered_sets import free_buffer
from .pools import release_frame
from .rawflow import BY_VC
from .records import State


@compiled
def enter_switch(S: State, f: Any) -> None:
    """A scripted frame is in a switch: its VC and credits are those of the link that it leaves on."""
    r = S.raw_flow[f.op]
    f.first = f.vc
    f.count = f.credits
    f.vc = r.vc_down
    f.credits = r.credits_down
    f.answer = BY_VC  # the tester's mark counts on its own link


@compiled
def deliver_raw(S: State, a: int, i: int, now_ps: int) -> None:
    """A tester takes frame ``i`` out of the receive buffer of its port ``a`` and counts it."""
    f = S.frame[i]
    r = S.raw_flow[f.op]
    if f.psn >= r.expected:
        r.expected = f.psn + 1
    else:
        r.order_errors += 1
    r.arrived += 1
    r.poisoned += f.poisoned
    r.bytes += f.size_bytes
    if r.first_ps < 0:
        r.first_ps = now_ps
    r.last_ps = now_ps
    latency_ps = now_ps - f.start_ps
    if latency_ps < r.latency_min_ps:
        r.latency_min_ps = latency_ps
    if latency_ps > r.latency_max_ps:
        r.latency_max_ps = latency_ps
    r.latency_sum_ps += latency_ps
    S.raw_vc[f.op, f.vc] += 1
    free_buffer(S, a, f.vc, f.credits, now_ps)
    release_frame(S, i)
