"""Who waits for whom when the network stands still: the wait-for graph as plain values, and its smallest cycle. No Numba here."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

WORK_MAX = 20_000_000
"""Edges looked at in search of the smallest cycle, at most; a larger graph gives the smallest one found until then."""

EDGES_MAX = 10_000
"""Edges that are kept, those of the cycle first."""


class WaitReason(StrEnum):
    """Why one place waits for another."""

    CREDIT = "credit"  #: CBFC: the buffer at the far end of the link grants no credits
    POOL = "port_credit"  #: CBFC: nor do all VCs of that port together
    LEAVES_BY = "leaves_by"  #: frames that fill a buffer leave by that queue
    RESPONSE_ROOM = "response_room"  #: the responses to a request have no room
    RESPONSES = "responses"  #: responses leave by that queue, or when that window opens
    WINDOW = "window"  #: RH: the window is full
    ACK = "ack"  #: RH: frames or their acknowledgement are there
    REPLAY = "replay"  #: LLR: the replay buffer is at its limit, or holds frames that have not got through
    LINK_DOWN = "link_down"  #: LLR: FLUSH, INIT or OFF
    PAUSE = "pause"  #: PFC: the far end has paused the VC
    RECEIVER = "receiver"  #: the endpoint takes nothing out of the buffer
    LOST_CREDIT = "lost_credit"  #: credits are out that no frame holds
    LOST_FRAME = "lost_frame"  #: frames are nowhere, and nobody sends them again


@dataclass(frozen=True, slots=True)
class Wait:
    """One edge: ``waiter`` waits for ``on``; ``text`` says for what, with figures.

    ``needed``, ``left``, ``limit`` are of what it waits for: credits, bytes of responses or frames of a window; -1 = none.
    """

    waiter: str
    on: str
    reason: WaitReason
    text: str
    needed: int = -1
    left: int = -1
    limit: int = -1

    def __str__(self) -> str:
        return f"{self.waiter} waits for {self.on}: {self.text}"


@dataclass(frozen=True, slots=True)
class Root:
    """Something that waits for nobody and holds up ``waiters`` places."""

    place: str
    text: str
    waiters: int

    def __str__(self) -> str:
        return f"{self.place}: {self.text} ({self.waiters} wait{'s' if self.waiters == 1 else ''} for it)"


@dataclass(frozen=True, slots=True)
class Waits:
    """The wait-for graph of a standstill.

    ``cycle``: the smallest cycle, each edge's ``on`` the next one's ``waiter``; () = there is none. ``roots``: what holds up
    others and waits for nobody, most waiters first. ``left_out``: edges beyond `EDGES_MAX`.
    """

    edges: tuple[Wait, ...]
    cycle: tuple[Wait, ...]
    roots: tuple[Root, ...]
    left_out: int = 0

    @property
    def summary(self) -> str:
        """The cause in a clause."""
        if self.cycle:
            return f"deadlock, {len(self.cycle)} places wait for each other in a circle"
        if self.roots:
            return f"all wait for {self.roots[0].place}: {self.roots[0].text}"
        return "no frame waits for anything"


def make_waits(edges: Sequence[Wait], ends: dict[str, str]) -> Waits:
    """Put a graph together.

    Parameters
    ----------
    edges
        In any order.
    ends
        Text for each place that waits for nobody; places without a text are left out of the roots.
    """
    cycle = smallest_cycle(edges)
    first = set(cycle)
    kept = (*cycle, *(edge for edge in edges if edge not in first)) if cycle else tuple(edges)
    return Waits(kept[:EDGES_MAX], cycle, _roots(ends, edges), max(0, len(kept) - EDGES_MAX))


def _adjacency(edges: Sequence[Wait]) -> dict[str, list[int]]:
    following: dict[str, list[int]] = {}
    for n, edge in enumerate(edges):
        following.setdefault(edge.waiter, []).append(n)
    return following


def _roots(ends: dict[str, str], edges: Sequence[Wait]) -> tuple[Root, ...]:
    waiters = {edge.waiter for edge in edges}
    waiting_on: dict[str, list[str]] = {}
    for edge in edges:
        waiting_on.setdefault(edge.on, []).append(edge.waiter)
    found = []
    for place, text in ends.items():
        if place in waiters:
            continue
        seen = {place}
        todo = [place]
        while todo:
            for waiter in waiting_on.get(todo.pop(), ()):
                if waiter not in seen:
                    seen.add(waiter)
                    todo.append(waiter)
        found.append(Root(place, text, len(seen) - 1))
    return tuple(sorted(found, key=lambda root: (-root.waiters, root.place)))


def smallest_cycle(edges: Sequence[Wait], work_max: int = WORK_MAX) -> tuple[Wait, ...]:
    """Return the smallest cycle of a graph, () when there is none; ties go to the place named first.

    Breadth first from each place that can be in a cycle, no deeper than the best cycle found.
    """
    following = _adjacency(edges)
    places = _in_cycles(edges)
    best: tuple[Wait, ...] = ()
    work = 0
    for start in sorted(places):
        if work > work_max:
            break
        came_by: dict[str, int] = {}
        depth = {start: 0}
        todo = deque([start])
        while todo:
            place = todo.popleft()
            if best and depth[place] + 1 >= len(best):
                break
            closing = -1
            for n in following[place]:
                work += 1
                on = edges[n].on
                if on == start:
                    closing = n
                    break
                if on in places and on not in depth:
                    depth[on] = depth[place] + 1
                    came_by[on] = n
                    todo.append(on)
            if closing >= 0:
                best = _way_back(edges, came_by, start, closing)
                break
    return best


def _way_back(edges: Sequence[Wait], came_by: dict[str, int], start: str, last: int) -> tuple[Wait, ...]:
    way = [edges[last]]
    while way[-1].waiter != start:
        way.append(edges[came_by[way[-1].waiter]])
    return tuple(reversed(way))


def _in_cycles(edges: Sequence[Wait]) -> set[str]:
    """Return the places left when all that wait for nobody, and then all that nobody waits for, are taken away in turn."""
    left = {edge.waiter for edge in edges} & {edge.on for edge in edges}
    for pairs in ([(edge.waiter, edge.on) for edge in edges], [(edge.on, edge.waiter) for edge in edges]):
        count = dict.fromkeys(left, 0)
        behind: dict[str, list[str]] = {place: [] for place in left}
        for here, there in pairs:
            if here in left and there in left:
                count[here] += 1
                behind[there].append(here)
        todo = [place for place in left if count[place] == 0]
        while todo:
            place = todo.pop()
            left.discard(place)
            for other in behind[place]:
                count[other] -= 1
                if count[other] == 0:
                    todo.append(other)
    return left
