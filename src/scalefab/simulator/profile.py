"""Where the time of a run goes: the stages around the kernel, and inside it the kinds of event, what each costs.

The kernel that is measured is the kernel that runs, not a copy with clocks in it. The scenario is run twice: in one go, which
gives events and seconds, and once more with windows of single events at even distances, each call timed, less what a call without
an event takes. A single event pays for caches that the clock reading has emptied, so costs are scaled by one factor to the
seconds of the run in one go; the factor is told. Counts of kinds are the windows' shares of all events. The start, once
a run, stands apart.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiled import direct, interpreted
from ..scenario.scenario import Scenario
from ..workload.bounds import bound
from . import records as rec
from .calendar import first
from .guess import guess
from .kernel import Reason
from .setup import grow
from .start import schedule_start
from .states import state_of
from .variant import entry_of, pack, variant_of
from .warm import compile_apart, needs_compiling

_NEVER_PS = 1 << 62
_WINDOW = 400
_WINDOWS = 60
_EMPTY_CALLS = 2_000

STAGES = {
    "SLOT": "source port: next frame",
    "EGRESS": "switch output: arbiter, next frame",
    "DELIVER": "target: RH check, execute, answer",
    "ACK_TIMER": "ACK deadline",
    "RELEASE": "operations that begin at a time",
    "ACTIVATE": "operation ready",
    "SERVE_READ": "answer of a read",
    "FREE": "receive buffer set free",
    "LLR_TIMER": "LLR replay timer",
    "START": "begin of the run",
    "FAULT": "fault begins or ends",
    "ARRIVE": "frame at a careful link end",
    "INIT_TIMER": "LLR INIT",
    "HANDSHAKE": "LLR handshake",
    "PCS_TIMER": "PCS lost",
    "CC_TIMER": "CC_UPDATE timer",
    "DRAINED": "slow receiver takes a frame",
    "TAKE": "held response taken",
    "PAUSE": "PFC PAUSE",
    "PAUSE_TIMER": "PFC refresh",
    "PAUSE_END": "PFC pause ends",
    "RETRY_TIMER": "RH retry timer",
}
"""Kinds of event by the name that `records` gives them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event: how many in the whole run, what each costs, and its share of the kernel's time."""

    name: str
    stage: str
    events: int
    sampled: int
    ns: float
    share: float


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time went, seconds.

    Attributes
    ----------
    parts
        (name, seconds) around the kernel and the kernel itself.
    events, frames
        Of the whole run, ACK frames among the frames.
    scale
        Cost of an event in the run / cost when it is measured alone.
    """

    parts: tuple[tuple[str, float], ...]
    kinds: tuple[Kind, ...]
    events: int
    frames: int
    scale: float


def kind_names() -> dict[int, str]:
    """Return the name of every kind of event."""
    return {int(getattr(rec, name)): name for name in STAGES if hasattr(rec, name)}


def profile(scenario: Scenario, read_s: float) -> Profile:
    """Run a scenario to its end and say where the time went.

    Parameters
    ----------
    scenario
        At packet fidelity.
    read_s
        What reading it has taken.
    """
    if needs_compiling(guess(scenario)):
        compile_apart(guess(scenario))
    clock = time.perf_counter
    marks = [clock()]
    lower = bound(scenario.graph, scenario.fabric, pack=scenario.options.pack)
    marks.append(clock())
    total = _count_events(scenario, lower.ps)
    begin = clock()
    state = state_of(scenario, lower.ps)
    built_s = clock() - begin
    sampler = _Sampler(state)
    sampler.run(total.events)
    kinds = sampler.kinds(total.events, total.seconds)
    parts = (
        ("read and check the scenario", read_s),
        ("lower bound", marks[1] - marks[0]),
        ("build the arrays", built_s),
        ("load the kernel", total.load_s),
        ("start", total.start_s),
        ("kernel", total.seconds),
    )
    return Profile(parts, kinds, total.events, total.frames, sampler.scale(total.events, total.seconds))


@dataclass(frozen=True, slots=True)
class _Total:
    events: int
    frames: int
    seconds: float
    start_s: float
    load_s: float


def _count_events(scenario: Scenario, bound_ps: int) -> _Total:
    """Run it once in one go: events and seconds of the whole."""
    state = state_of(scenario, bound_ps)
    sampler = _Sampler(state)
    begin = time.perf_counter()
    sampler.entry(sampler.packed, _NEVER_PS, 0)
    load_s = time.perf_counter() - begin
    sampler.begin()
    begin = time.perf_counter()
    while sampler.go(1 << 24):
        pass
    seconds = time.perf_counter() - begin
    k = sampler.state.kernel[0]
    return _Total(int(k.events), int(k.delivered) + int(k.ack_frames), seconds, sampler.start_s, load_s)


class _Sampler:
    """A run in progress, in one go or event by event."""

    def __init__(self, state: rec.State) -> None:
        self.state = state
        schedule_start(state)
        self.variant = variant_of(state)
        self.packed: Any = pack(state, self.variant)
        self.counts = np.zeros(64, np.int64)
        self.taken_ns: dict[int, list[float]] = {}
        self.empty_ns = 0.0
        self.entry = entry_of(self.variant)
        self.kernel: Any = self.entry
        self.start_s = 0.0

    def go(self, events: int) -> bool:
        """Run on; return whether there is more to do."""
        reason, _, _ = self.entry(self.packed, _NEVER_PS, events)
        if reason == Reason.GROW:
            self.state = grow(self.state)
            self.packed = pack(self.state, self.variant)
        return reason in (Reason.EVENTS, Reason.GROW)

    def run(self, events: int) -> None:
        """Run to the end, windows of single events in between."""
        self.entry(self.packed, _NEVER_PS, 0)
        self.kernel = direct(self.entry)
        self.begin()
        self.empty_ns = self._empty_call()
        windows = min(_WINDOWS, max(1, events // _WINDOW))
        gap = max(0, events // windows - _WINDOW)
        more = True
        while more:
            more = self._window()
            if more and gap:
                more = self.go(gap)

    def begin(self) -> None:
        """Take START and the first RELEASE: once a run, every operation that waits for nothing."""
        begin = time.perf_counter()
        while self.go(1) and self._next_kind() in (rec.START, rec.RELEASE):
            pass
        self.start_s = time.perf_counter() - begin

    def _next_kind(self) -> int:
        return int(self.state.event[interpreted(first)(self.state)].kind) if self.state.kernel[0].waiting > 0 else -1

    def _empty_call(self) -> float:
        spent = []
        for _ in range(_EMPTY_CALLS):
            begin = time.perf_counter_ns()
            self.kernel(self.packed, _NEVER_PS, 0)
            spent.append(time.perf_counter_ns() - begin)
        return float(np.median(spent))

    def _window(self) -> bool:
        for _ in range(_WINDOW):
            kind = self._next_kind()
            if kind < 0:
                return self.go(1)
            begin = time.perf_counter_ns()
            reason, _, handled = self.kernel(self.packed, _NEVER_PS, 1)
            spent = time.perf_counter_ns() - begin
            if handled:
                self.counts[kind] += 1
                self.taken_ns.setdefault(kind, []).append(spent - self.empty_ns)
            if reason == Reason.GROW:
                self.state = grow(self.state)
                self.packed = pack(self.state, self.variant)
            elif reason != Reason.EVENTS:
                return False
        return True

    def costs(self) -> dict[int, float]:
        """Return what all sampled events of each kind took, ns; the slowest hundredth, which the system held up, as the rest."""
        found = {}
        for kind, taken in self.taken_ns.items():
            ordered = np.sort(np.array(taken))
            kept = ordered[: max(1, len(ordered) - len(ordered) // 100)]
            found[kind] = max(float(kept.mean()), 0.0) * len(taken)
        return found

    def scale(self, events: int, seconds: float) -> float:
        """Return cost in the run / cost alone."""
        alone = sum(self.costs().values()) / max(1, int(self.counts.sum()))
        return seconds * 1e9 / max(1, events) / alone if alone > 0 else 1.0

    def kinds(self, events: int, seconds: float) -> tuple[Kind, ...]:
        """Return the kinds, the most costly first."""
        costs = self.costs()
        sampled, cost = int(self.counts.sum()), sum(costs.values())
        scale, names = self.scale(events, seconds), kind_names()
        found = []
        for number in np.flatnonzero(self.counts):
            name = names.get(int(number), f"kind {number}")
            count = int(self.counts[number])
            each = scale * costs[int(number)] / count
            whole = round(events * count / max(1, sampled))
            found.append(Kind(name, STAGES.get(name, name), whole, count, each, costs[int(number)] / cost if cost else 0.0))
        return tuple(sorted(found, key=lambda kind: -kind.share))
