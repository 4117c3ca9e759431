"""Max-min fair rates by progressive filling, of those lanes only that an event can have changed.

The rates of all open lanes grow alike until a link is full; its lanes are fixed there, and the others go on. A lane takes its
rate on its own way, ``side_ratio`` times that on the way back and ``memory_ratio`` times that of target memory. Links that are
full at the same rate, to a part in 10^9, are taken together: in symmetric traffic all lanes get the same float, and so end in the
same picosecond.
"""

from __future__ import annotations

import numpy as np

from ...compiled import compiled
from .loads import book
from .records import NEVER_PS, State

_SAME = 1.0 + 1e-9
_LEAST = 1e-12  # bytes a ps: a lane never stands still for a rounding error


@compiled
def weight(S: State, lane: int, column: int) -> float:
    """Return how much of a link of column ``column`` a lane takes at rate 1."""
    k = S.kernel[0]
    if column < k.main:
        return 1.0
    op = S.op[S.piece[S.lane[lane].head].op]
    return op.memory_ratio if column == k.width - 1 else op.side_ratio


@compiled
def touch(S: State, link: int) -> None:
    """Remember that the lanes of a link have changed."""
    if S.link[link].dirty == 0:
        k = S.kernel[0]
        S.link[link].dirty = 1
        S.dirty[k.dirty] = link
        k.dirty += 1


@compiled
def settle(S: State, lane: int, t_ps: int) -> None:
    """Take what has flowed until ``t_ps`` off a lane's rest."""
    flow = S.lane[lane]
    if t_ps > flow.since_ps:
        flow.rest = max(0.0, flow.rest - flow.rate * (t_ps - flow.since_ps))
        flow.since_ps = t_ps


@compiled
def set_finish(S: State, lane: int) -> None:
    """Write when the piece of a lane will be through at its rate."""
    flow = S.lane[lane]
    if flow.rate <= 0.0:
        flow.finish_ps = NEVER_PS
    else:
        flow.finish_ps = flow.since_ps + np.int64(np.ceil(flow.rest / flow.rate - 1e-6))


@compiled
def collect(S: State) -> int:
    """Fill ``S.component`` with every link that shares lanes, near or far, with a link that has changed; return how many."""
    k = S.kernel[0]
    k.stamp += 1
    found = 0
    for i in range(k.dirty):
        link = S.dirty[i]
        S.link[link].dirty = 0
        if S.link[link].stamp != k.stamp:
            S.link[link].stamp = k.stamp
            S.component[found] = link
            found += 1
    k.dirty = 0
    at = 0
    while at < found:
        here = S.link[S.component[at]]
        at += 1
        for m in range(here.first, here.first + here.lanes):
            lane = S.member[m] // k.width
            k.visits += 1
            if S.lane[lane].stamp == k.stamp:
                continue
            S.lane[lane].stamp = k.stamp
            for c in range(k.width):
                link = S.lane_link[lane, c]
                if link >= 0 and S.link[link].stamp != k.stamp:
                    S.link[link].stamp = k.stamp
                    S.component[found] = link
                    found += 1
    return found


@compiled
def fix(S: State, lane: int, rate: float, t_ps: int) -> None:
    """Give a lane its rate, and its links what is left."""
    k = S.kernel[0]
    flow = S.lane[lane]
    flow.stamp = -1
    settle(S, lane, t_ps)
    flow.rate = max(rate, _LEAST)
    set_finish(S, lane)
    for c in range(k.width):
        link = S.lane_link[lane, c]
        if link < 0:
            continue
        w = weight(S, lane, c)
        k.visits += 1
        if w <= 0.0:
            continue
        here = S.link[link]
        here.left = max(0.0, here.left - rate * w)
        here.used += rate * w
        here.open -= 1
        here.weight = here.weight - w if here.open > 0 else 0.0


@compiled
def share_out(S: State, t_ps: int) -> None:
    """Share out the rates anew at ``t_ps``, around the links that have changed."""
    k = S.kernel[0]
    links = collect(S)
    opened = 0
    for i in range(links):
        here = S.link[S.component[i]]
        book(S, S.component[i], t_ps)
        here.left = here.capacity
        here.used = 0.0
        here.open = 0
        here.most = max(here.most, here.lanes)
        here.weight = 0.0
        for m in range(here.first, here.first + here.lanes):
            w = weight(S, S.member[m] // k.width, S.member[m] % k.width)
            if w > 0.0:
                here.weight += w
                here.open += 1
        if here.open > 0:
            S.component[opened] = S.component[i]  # only links with lanes are looked at again
            opened += 1
    k.fills += 1
    while opened > 0:
        k.visits += opened
        least = np.inf
        kept = 0
        for i in range(opened):
            here = S.link[S.component[i]]
            if here.open == 0:
                continue
            S.component[kept] = S.component[i]
            kept += 1
            least = min(least, here.left / here.weight)
        opened = kept
        for i in range(opened):
            here = S.link[S.component[i]]
            if here.open == 0 or here.left > least * here.weight * _SAME:
                continue
            for m in range(here.first, here.first + here.lanes):
                lane = S.member[m] // k.width
                if S.lane[lane].stamp == k.stamp:
                    fix(S, lane, least, t_ps)


@compiled
def spare_rate(S: State, lane: int) -> float:
    """Return what a lane that starts between two sharings can take without taking from others."""
    k = S.kernel[0]
    rate = np.inf
    for c in range(k.width):
        link = S.lane_link[lane, c]
        if link >= 0:
            w = weight(S, lane, c)
            if w > 0.0:
                rate = min(rate, (S.link[link].capacity - S.link[link].used) / w)
    return rate
