"""What a run will cost, before it: frames, events, seconds, memory.

Frames are counted from the graph. Seconds need the speed of this machine at this scenario: from 70 to 480 ns an event, by
how much state the caches must hold. So the kernel runs the scenario's own beginning for a moment, and what an event took there is
taken for the rest. Where the kernel is not compiled yet, or counting says that the run is over in a moment, a rate stands in: the
one that the last estimate measured on this machine, else that of the machine that the benchmarks were run on.

Measured at the beginning, a run whose queues grow later is estimated too short (the skewed MoE layer by a third). Answers of LSU
operations share frames by when they are ready: their number is counted as if none waited for another.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from ..compiled import cache_folder, direct
from ..protocol.multipath import Spray
from ..protocol.operations import FCS_BYTES, HEADER_BYTES, ICRC_BYTES
from ..scenario.fidelity import Fidelity
from ..scenario.scenario import Scenario
from ..workload.bounds import bound
from .framecount import count_frames
from .guess import guess
from .kernel import Reason
from .progress import peak_memory_MB
from .records import State
from .setup import grow
from .start import schedule_start
from .states import check_room, state_of
from .variant import entry_of, pack, variant_of
from .warm import needs_compiling

_NEVER_PS = 1 << 62
_EVENTS_A_FRAME = 2.05  # measured: a frame is started and delivered; 2 % timers
_EVENTS_A_SWITCH = 1.0
_REFERENCE_NS = 130.0  # an event, between 70 (64 GPUs, one plane) and 480 (512 GPUs, two tiers) on one EPYC core
_SHORT_S = 0.06  # runs that counting says to be shorter than this are not begun to be measured
_PILOT_S = 0.7  # a run that is shorter is known to its end
_SLICE_EVENTS = 20_000
_PILOT_MB = 3_000.0  # larger arrays take seconds to be touched, most of them never are in a run
_WITH_COPIES = 1.1  # measured: a run in which an ACK comes late begins anew, with copies, in the full form of the kernel
_ENOUGH = 0.5  # of the frames are delivered: from here on events are extrapolated from what was measured
_KERNEL_MB = 55.0  # of the loaded kernels, measured
_RESULT_MB_AN_OPERATION = 40e-6
_EVENTS_USED = 0.2  # of the pool: its room is for operations that all begin at once
_VOQS_USED = 0.5  # two of four VCs carry most of a run
_FLOW_S_AN_OPERATION = 0.6e-6
_RATE_FILE = "rate.json"


class Basis(Enum):
    """What the seconds of an estimate rest on."""

    PILOT = "pilot"  #: the beginning of this run, measured
    STORED = "stored"  #: the rate that an earlier estimate measured on this machine
    REFERENCE = "reference"  #: the rate of the machine that the benchmarks were run on


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run will cost.

    Attributes
    ----------
    frames, ack_frames
        Data frames and standalone ACK frames; 0 at flow fidelity.
    events
        Of the kernel.
    seconds
        Of the kernel on one core; reading the scenario and loading the kernel are not in it.
    memory_MB
        Peak of the process, MB (1e6 bytes).
    """

    frames: int
    ack_frames: int
    events: int
    seconds: float
    memory_MB: float
    basis: Basis


def estimate(scenario: Scenario) -> Estimate:
    """Estimate the cost of a run to its end (``run.until`` is not looked at)."""
    graph, fabric, options = scenario.graph, scenario.fabric, scenario.options
    resting_MB = peak_memory_MB()
    if options.fidelity is Fidelity.FLOW:
        n = len(graph)
        return Estimate(0, 0, 2 * n, n * _FLOW_S_AN_OPERATION, resting_MB + n * 450e-6, Basis.REFERENCE)
    spec = fabric.spec
    ways = fabric.paths if options.spray in (Spray.ROUND_ROBIN, Spray.LEAST_QUEUED) else 1
    columns = (graph.kind, graph.src, graph.dst, graph.bytes, graph.chunk, graph.posted)
    limit = spec.frame_max - HEADER_BYTES - ICRC_BYTES - FCS_BYTES
    sizes = (spec.mtu, limit, int(options.pack), fabric.paths, ways, options.ack_every_frames)
    frames, acks, passages = (int(value) for value in count_frames(*columns, *sizes, fabric.endpoint_leaf))
    events = round(_EVENTS_A_FRAME * (frames + acks) + _EVENTS_A_SWITCH * passages)
    rate_ns, basis = _known_rate()
    if needs_compiling(guess(scenario)) or events * rate_ns < _SHORT_S * 1e9:
        check_room(scenario)
        return Estimate(frames, acks, events, events * rate_ns / 1e9, resting_MB + _KERNEL_MB + 30, basis)
    state = state_of(scenario, bound(graph, fabric, pack=options.pack).ps)
    arrays_MB = _touched_bytes(state) / 1e6
    memory_MB = resting_MB + arrays_MB + _KERNEL_MB + len(graph) * _RESULT_MB_AN_OPERATION
    if sum(array.nbytes for array in state) / 1e6 > _PILOT_MB:
        return Estimate(frames, acks, events, events * rate_ns / 1e9, memory_MB, basis)
    return _pilot(state, Estimate(frames, acks, events, 0.0, memory_MB, basis))


def _touched_bytes(state: State) -> float:
    """Return the bytes of arrays that a usual run writes to: pages of zeros that nobody writes to take no memory."""
    used = {"event": _EVENTS_USED, "voq": _VOQS_USED, "copy": 2 * len(state.port) / max(1, len(state.copy))}
    pairs = ((name, array.nbytes) for name, array in zip(state._fields, state, strict=True) if array.flags.writeable)
    return sum(size * min(1.0, used.get(name, 1.0)) for name, size in pairs)


def _pilot(state: State, counted: Estimate) -> Estimate:
    """Run the beginning and extrapolate."""
    schedule_start(state)
    variant = variant_of(state)
    packed = pack(state, variant)
    entry_of(variant)(packed, _NEVER_PS, 0)
    kernel = direct(entry_of(variant))
    begin = time.perf_counter()
    for name, array in zip(state._fields, state, strict=True):
        if name not in ("copy", "event"):  # of which a run touches little
            _touch(array)
    reason, _, _ = kernel(packed, _NEVER_PS, 1)  # START: every operation that waits for nothing, in one event
    start_s = time.perf_counter() - begin
    spent, warm_s, warm_events, late_s = 0.0, 0.0, 1, 0.0
    while spent < _PILOT_S and reason in (Reason.EVENTS, Reason.GROW):
        if reason == Reason.GROW:
            state = grow(state)
            packed = pack(state, variant)
        begin = time.perf_counter()
        reason, _, _ = kernel(packed, _NEVER_PS, _SLICE_EVENTS)
        spent += time.perf_counter() - begin
        if state.kernel[0].late and not state.kernel[0].rh:
            late_s = start_s + spent
            break
        if spent < _PILOT_S / 2:  # memory is touched for the first time
            warm_s, warm_events = spent, int(state.kernel[0].events)
    k = state.kernel[0]
    if reason == Reason.DONE:
        warm_s, warm_events = 0.0, 1
    rate_ns = (spent - warm_s) * 1e9 / max(1, int(k.events) - warm_events)
    _store_rate(rate_ns)
    if reason == Reason.DONE and late_s == 0:
        done = (int(k.delivered), int(k.ack_frames), int(k.events))
        return Estimate(*done, start_s + spent, counted.memory_MB, Basis.PILOT)
    events = counted.events
    if late_s > 0:
        again_s = start_s + counted.events * rate_ns / 1e9
        return replace(counted, seconds=late_s + _WITH_COPIES * again_s, basis=Basis.PILOT)
    if int(k.delivered) >= _ENOUGH * counted.frames:  # before, most that was sent waits and has had few of its events
        through = (int(k.delivered) + int(k.sent)) / 2  # frames on their way have had about half of them
        events = max(round(int(k.events) * counted.frames / through), int(k.events))
    rest_s = max(0, events - warm_events) * rate_ns / 1e9
    return replace(counted, events=events, seconds=start_s + warm_s + rest_s, basis=Basis.PILOT)


def _touch(array: Any) -> None:
    """Have the memory of an array for real: a page that is touched first by an event would make it cost as much as ten."""
    if not array.flags.writeable:  # the graph's own
        return
    raw = array.reshape(-1).view(np.ndarray).view(np.uint8)
    raw[::4096] = raw[::4096].copy()


def _known_rate() -> tuple[float, Basis]:
    folder = cache_folder()
    if folder is not None:
        try:
            return float(json.loads((folder / _RATE_FILE).read_text())["ns_an_event"]), Basis.STORED
        except (OSError, ValueError, KeyError, TypeError):
            return _REFERENCE_NS, Basis.REFERENCE
    return _REFERENCE_NS, Basis.REFERENCE


def _store_rate(ns: float) -> None:
    folder = cache_folder()
    if folder is None:
        return
    unfinished = folder / f".{_RATE_FILE}.{os.getpid()}"
    unfinished.write_text(json.dumps({"ns_an_event": round(ns, 1)}))
    os.replace(unfinished, folder / _RATE_FILE)
