"""What limits a run, and the next thing to try: rules over the figures of `metrics`, each with the reason in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..fabric.tiers import derive, down_link_unevenness, oversubscription_text, plane_shape
from ..protocol.profile import (
    FCS_BYTES,
    HEADER_BYTES,
    ICRC_BYTES,
    TH_REQUEST_BYTES,
    WIRE_EXTRA_BYTES,
    Kind,
)
from ..units import format_rate, format_time
from ..workload.bounds import (
    DEPENDENCY_CHAIN,
    LEAF_UPLINKS,
    PLANES,
    SINK_PORTS,
    SOURCE_PORTS,
    SPINE_DOWN_LINKS,
    TARGET_MEMORY,
)
from .metrics import (
    LinkKind,
    LinkLoad,
    endpoint_bytes,
    horizon_ps,
    is_uplink,
    link_kinds,
    link_load,
    mean_of_used,
    plane_bytes,
    stage_shares,
    utilisation,
)
from .result import STAGE_LABELS, Ending, Fidelity, Result, Stage, Status

BOUND_REACHED = 0.90  # own: a run within 10 % of its bound is limited by what binds the bound
UNEVEN = 1.25  # own: a port with 25 % more than the mean is worth a name
BUSY = 0.80  # own: a link between leaf and spine that is busy so much of the run is why others wait
IDLE = 0.50  # own: when no link is busy half of the time, waiting for each other limits, not capacity
FULL_FRAMES = 0.75  # own: frames that are mostly full gain from a larger frame_max
LARGE_FRAME_MAX = 4160  # smallest frame_max whose packets carry the profile's most, 4096 B

_FIXED = (Stage.ENDPOINT_TX, Stage.SERIALISE, Stage.CABLE, Stage.LOOKUP, Stage.ENDPOINT_RX, Stage.MEMORY)
_BULK = (Kind.PUT, Kind.GET, Kind.SEND, Kind.PUT_SIGNAL)


class Cause(Enum):
    """What limits a run."""

    NOTHING_MOVED = "nothing moved"
    SOURCE = "source ports"
    SINK = "sink ports"
    PLANE = "planes"
    UPLINK = "leaf uplinks"
    DOWN_LINK = "spine down-links"
    MEMORY = "target memory"
    CHAIN = "dependency chain"
    LATENCY = "latency"
    WINDOW = "RH window"
    SOURCE_CREDIT = "credits at the source"
    SWITCH_CREDIT = "credits at the switch"
    LINK_REPLAY = "link replay"
    RESPONSES = "response queue"
    OTHER_CUT = "bound"


_CAUSE_OF_WAIT = {
    Stage.SOURCE_QUEUE: Cause.SOURCE,
    Stage.WINDOW: Cause.WINDOW,
    Stage.SOURCE_CREDIT: Cause.SOURCE_CREDIT,
    Stage.ARBITER: Cause.SINK,
    Stage.SWITCH_CREDIT: Cause.SWITCH_CREDIT,
    Stage.MEMORY_WAIT: Cause.MEMORY,
    Stage.LINK_REPLAY: Cause.LINK_REPLAY,
    Stage.RESPONSE_ROOM: Cause.RESPONSES,
}
_CAUSE_OF_CUT = {
    SOURCE_PORTS: Cause.SOURCE,
    SINK_PORTS: Cause.SINK,
    PLANES: Cause.PLANE,
    LEAF_UPLINKS: Cause.UPLINK,
    SPINE_DOWN_LINKS: Cause.DOWN_LINK,
    TARGET_MEMORY: Cause.MEMORY,
    DEPENDENCY_CHAIN: Cause.CHAIN,
}
_KIND_OF_CAUSE = {Cause.UPLINK: LinkKind.UPLINK, Cause.DOWN_LINK: LinkKind.DOWN_LINK}
_CAUSE_OF_KIND = {kind: cause for cause, kind in _KIND_OF_CAUSE.items()}
_CAUSE_OF_LINK = {LinkKind.FROM_GPU: Cause.SOURCE, LinkKind.TO_GPU: Cause.SINK, **_CAUSE_OF_KIND}
WAITING = frozenset(_CAUSE_OF_WAIT)
"""Stages in which a frame waits for others; the rest is its way itself."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What limits a run, in words. ``by_bound``: the binding cut of the bound, reached within `BOUND_REACHED`."""

    cause: Cause
    text: str
    by_bound: bool


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The next thing to try; ``settings`` are arguments of ``--set``, none when no setting does it."""

    text: str
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ": ".join((self.text, " ".join(f"--set {setting}" for setting in self.settings))) if self.settings else self.text


def percent(share: float, digits: int = 1) -> str:
    """Return a share of 1 as text for people, such as ``"98.3 %"``."""
    return f"{100 * share:.{digits}f} %"


def bound_fraction(result: Result) -> float:
    """Return bound / completion, 0 when either is unknown or the run is unfinished."""
    unfinished = result.status is not Status.DONE or result.count_endings(Ending.TIMEOUT) > 0
    if unfinished or result.completion_ps <= 0 or result.bound_ps <= 0:
        return 0.0
    return result.bound_ps / result.completion_ps


def find_limit(result: Result) -> Limit:
    """Return what limits the run: the bound's binding cut when it is nearly reached, else the largest wait of a frame."""
    if result.data_bytes == 0:
        return Limit(Cause.NOTHING_MOVED, "nothing was delivered, so nothing can be said about the network", False)
    reached = bound_fraction(result)
    if reached >= BOUND_REACHED:
        cause = _cause_of_cut(result.bound_cut)
        return Limit(
            cause, f"{result.bound_cut}: the run reaches {percent(reached, 1)} of that bound{_evidence(result, cause)}", True
        )
    if result.fidelity is Fidelity.FLOW:
        return _flow_limit(result)
    shares = stage_shares(result)
    fixed = sum(shares[stage] for stage in _FIXED)
    busiest = link_load(result, int(np.argmax(utilisation(result))))
    idle = f"the busiest link, {busiest.name}, is only {percent(busiest.utilisation, 0)} busy"
    waits = {stage: share for stage, share in shares.items() if stage not in _FIXED}
    stage = max(waits, key=lambda s: waits[s])
    if fixed >= waits[stage]:
        largest = max(_FIXED, key=lambda s: shares[s])
        most = f"most: {STAGE_LABELS[largest]}, {percent(shares[largest], 0)}"
        text = f"latency: fixed latencies take {percent(fixed, 0)} of the time of a frame ({most})"
        return Limit(Cause.LATENCY, f"{text}; {idle}" if busiest.utilisation < IDLE else text, False)
    tier = _second_tier(result)
    if tier is not None:
        where = _tier_evidence(result, tier).removeprefix("; ")
        text = f"{tier.value}: {where}; {STAGE_LABELS[stage]}: {percent(waits[stage], 0)} of the time of a frame"
        return Limit(tier, text, False)
    cause = _CAUSE_OF_WAIT[stage]
    text = f"{STAGE_LABELS[stage]}: {percent(waits[stage], 0)} of the time of a frame{_evidence(result, cause)}"
    if busiest.utilisation < IDLE and cause in (Cause.SOURCE, Cause.SINK) and len(result.graph.succ):
        return Limit(
            Cause.CHAIN, f"operations that wait for each other: {idle} over the whole run; while frames move, {text}", False
        )
    return Limit(cause, text, False)


def _flow_limit(result: Result) -> Limit:
    """Return what limits a run of flows away from its bound: its busiest link, or that operations wait for each other."""
    port = int(np.argmax(utilisation(result)))
    busiest = link_load(result, port)
    told = f"the busiest link, {busiest.name}, is {percent(busiest.utilisation, 0)} busy"
    if busiest.utilisation < BUSY:
        return Limit(Cause.CHAIN, f"operations that wait for each other, and latencies: {told} over the run", False)
    cause = _CAUSE_OF_LINK[LinkKind(int(link_kinds(result.fabric)[port]))]
    return Limit(cause, f"{cause.value}: {told}{_evidence(result, cause)}", False)


def _cause_of_cut(cut: str) -> Cause:
    """Return the kind of a cut by its name; a name may say more, such as ``sink ports of GPU 12``."""
    return next((cause for name, cause in _CAUSE_OF_CUT.items() if cut.startswith(name)), Cause.OTHER_CUT)


def _second_tier(result: Result) -> Cause | None:
    """Return UPLINK or DOWN_LINK when the busiest link of all joins leaf and spine, None otherwise.

    Frames that wait for it stand in leaves, and then, for want of credits, in GPUs: the stage alone does not tell.
    """
    if not result.fabric.two_tier:
        return None
    loads = utilisation(result)
    port = int(np.argmax(loads))
    return _CAUSE_OF_KIND.get(LinkKind(int(link_kinds(result.fabric)[port]))) if loads[port] >= BUSY else None


def _hot_side(result: Result) -> Cause | None:
    """Return SOURCE or SINK when one GPU's links are busy and carry far more than the mean, None otherwise."""
    if not len(result.ports.wire_bytes) or float(utilisation(result).max()) < IDLE:
        return None
    sent, received = endpoint_bytes(result)
    ratio = {cause: moved.max() / (mean_of_used(moved) or 1.0) for cause, moved in ((Cause.SINK, received), (Cause.SOURCE, sent))}
    side = max(ratio, key=lambda cause: ratio[cause])
    return side if ratio[side] >= UNEVEN else None


def _evidence(result: Result, cause: Cause) -> str:
    """Return a clause, begun with its semicolon, that names the busiest place of a cause."""
    fabric = result.fabric
    if cause is Cause.CHAIN:
        side = _hot_side(result)
        return _evidence(result, side) if side is not None else ""
    if cause in (Cause.SOURCE, Cause.SINK, Cause.MEMORY):
        sent, received = endpoint_bytes(result)
        moved, verb = (sent, "send") if cause is Cause.SOURCE else (received, "receive")
        mean = mean_of_used(moved)
        gpu = int(np.argmax(moved))
        kind = LinkKind.FROM_GPU if cause is Cause.SOURCE else LinkKind.TO_GPU
        loads = utilisation(result)[link_kinds(fabric) == kind]
        busy = float(loads[loads > 0].mean()) if (loads > 0).any() else 0.0
        if mean > 0 and moved[gpu] >= UNEVEN * mean:
            return f"; GPU {gpu}'s ports {verb} {moved[gpu] / mean:.1f}x the mean"
        return f"; GPUs {verb} alike, their links are {percent(busy, 0)} busy"
    if cause in _KIND_OF_CAUSE:
        return _tier_evidence(result, cause)
    if cause is Cause.PLANE:
        moved = plane_bytes(result)
        plane, mean = int(np.argmax(moved)), mean_of_used(moved)
        return f"; plane {plane} carries {moved[plane] / mean:.1f}x the mean" if mean > 0 else ""
    if cause in (Cause.SOURCE_CREDIT, Cause.SWITCH_CREDIT, Cause.WINDOW):
        up = is_uplink(fabric)
        waited = result.ports.window_wait_ps if cause is Cause.WINDOW else result.ports.credit_wait_ps
        waited = np.where(up if cause is not Cause.SWITCH_CREDIT else ~up, waited, 0)
        port, horizon = int(np.argmax(waited)), horizon_ps(result)
        if waited[port] > 0 and horizon > 0:
            return f"; longest at {link_load(result, port).name}, {percent(waited[port] / horizon, 0)} of the run"
    return ""


def _tier_evidence(result: Result, cause: Cause) -> str:
    load = _busiest(result, _KIND_OF_CAUSE[cause])
    ratio = oversubscription_text(plane_shape(result.fabric.spec))
    if load.ratio >= UNEVEN:
        return f"; {load.name} carries {load.ratio:.1f}x the mean of its kind; leaves are {ratio}"
    return f"; they are loaded alike, the busiest is {percent(load.utilisation, 0)} busy; leaves are {ratio}"


def _busiest(result: Result, kind: LinkKind) -> LinkLoad:
    of_kind = link_kinds(result.fabric) == kind
    return link_load(result, int(np.argmax(np.where(of_kind, result.ports.wire_bytes, -1))))


def suggest(result: Result, limit: Limit) -> Suggestion:
    """Return the next thing to try for a limit."""
    spec, cause = result.fabric.spec, limit.cause
    if cause is Cause.NOTHING_MOVED:
        return Suggestion(
            "give the workload operations that move data, or let the run go on for longer: run.until is when it stops"
        )
    if cause is Cause.PLANE or (cause in (Cause.SOURCE, Cause.SINK) and _planes_uneven(result)):
        return Suggestion("the planes are loaded unevenly; spread every message over all of them", ("run.spray=round_robin",))
    if cause in (Cause.SOURCE, Cause.SINK):
        return _suggest_for_ports(result, cause)
    if cause in _KIND_OF_CAUSE:
        return _suggest_for_tier(result, cause)
    if cause is Cause.MEMORY:
        bandwidth = spec.endpoints.memory.bandwidth_Bps
        return Suggestion("faster target memory", (f"fabric.gpus.memory.bandwidth={2 * bandwidth // 10**9}GB/s",))
    if cause is Cause.CHAIN:
        return _suggest_for_chain(result)
    if cause is Cause.WINDOW:
        return Suggestion("a larger RH window", ("run.window=4096",))
    if cause is Cause.SOURCE_CREDIT:
        return Suggestion(
            "larger ingress buffers in the switches", (f"fabric.switches.buffer={2 * spec.switches.buffer_bytes}B",)
        )
    if cause is Cause.SWITCH_CREDIT:
        return Suggestion("larger receive buffers in the GPUs", (f"fabric.gpus.buffer={2 * spec.endpoints.buffer_bytes}B",))
    if cause is Cause.RESPONSES:
        return Suggestion(
            "larger response queues in the GPUs", (f"fabric.gpus.response_queue={2 * spec.endpoints.response_queue}B",)
        )
    if cause is Cause.LINK_REPLAY:
        return Suggestion("better lines: LLR sends again what FEC leaves wrong, so a lower ber, or a FEC that corrects more")
    if cause is Cause.LATENCY:
        return _suggest_for_latency(result)
    return Suggestion("compare with another setting of the part that binds")


def _suggest_for_tier(result: Result, cause: Cause) -> Suggestion:
    """Uneven links first, then what is oversubscribed; a plane that is neither is as full as the GPUs' ports."""
    spec, shape = result.fabric.spec, plane_shape(result.fabric.spec)
    spine = spec.switches.spine
    if shape.links > 1 and cause is Cause.DOWN_LINK and down_link_unevenness(shape, result.fabric.uplinks) >= UNEVEN:
        text = f"one link from each spine to each leaf: the routing rule does not spread traffic evenly over {shape.links}"
        return Suggestion(text, (f"fabric.spine.count={shape.uplinks}",))
    if _busiest(result, _KIND_OF_CAUSE[cause]).ratio >= UNEVEN:
        return Suggestion(
            "the links of this tier are loaded unevenly; spread every message over all paths", ("run.spray=round_robin",)
        )
    if shape.oversubscription > 1 and spine is not None:
        wide = derive(shape.endpoints, shape.endpoint_ports, spec.switches.radix, spine.radix)
        keys = ("fabric.switches.leaves", "fabric.switches.uplinks", "fabric.spine.count")
        values = (wide.leaves, wide.uplinks, wide.spines)
        return Suggestion("a non-blocking plane", tuple(f"{key}={value}" for key, value in zip(keys, values, strict=True)))
    return _suggest_for_ports(result, Cause.SOURCE if cause is Cause.UPLINK else Cause.SINK)


def _planes_uneven(result: Result) -> bool:
    moved = plane_bytes(result)
    return len(moved) > 1 and float(moved.mean()) > 0 and float(moved.max()) >= UNEVEN * float(moved.mean())


def _suggest_for_ports(result: Result, cause: Cause) -> Suggestion:
    """Uneven traffic first (no fabric setting mends it), then frame size, then faster or more ports."""
    spec = result.fabric.spec
    sent, received = endpoint_bytes(result)
    moved = sent if cause is Cause.SOURCE else received
    gpu, mean = int(np.argmax(moved)), mean_of_used(moved)
    if mean > 0 and moved[gpu] >= UNEVEN * mean:
        index = _moe_entry(result)
        if index is not None:
            return Suggestion("tokens spread evenly over the experts", (f"workload[{index}].moe.zipf_exponent=0",))
        return Suggestion(f"spread the traffic: GPU {gpu} has {moved[gpu] / mean:.1f}x the mean, no fabric setting mends that")
    gain = _frame_max_gain(result)
    if gain > 0.005:
        return Suggestion(
            f"larger frames: {LARGE_FRAME_MAX} B frames would carry {percent(gain, 1)} more data a wire byte",
            (f"fabric.frame_max={LARGE_FRAME_MAX}B",),
        )
    rate = format_rate(spec.endpoints.port_rate_bps)
    text = (
        f"the ports are full, only more of them help (now {spec.endpoints.ports} x {rate} a GPU, {spec.switches.planes} planes)"
    )
    if spec.endpoints.stacks > 8 or spec.switches.planes > 32:
        return Suggestion(text)
    more = (f"fabric.gpus.stacks={2 * spec.endpoints.stacks}", f"fabric.switches.planes={2 * spec.switches.planes}")
    return Suggestion(text, more)


def _frame_max_gain(result: Result) -> float:
    """Return how much more data a wire byte `LARGE_FRAME_MAX` would carry, 0 when frames are not bulk or not full."""
    mtu = result.fabric.spec.mtu
    bulk = np.isin(result.graph.kind, _BULK)
    if mtu >= 4096 or not bulk.any() or result.frames == 0 or result.data_bytes / result.frames < FULL_FRAMES * mtu:
        return 0.0
    overhead = HEADER_BYTES + TH_REQUEST_BYTES + ICRC_BYTES + FCS_BYTES + WIRE_EXTRA_BYTES
    return (4096 / (4096 + overhead)) / (mtu / (mtu + overhead)) - 1.0


def _moe_entry(result: Result) -> int | None:
    """Return the place in the workload of its first MoE layer, None without one.

    An entry is one group; a MoE layer is several (dispatch, combine), of which the first one counts.
    """
    names = [group.collective for group in result.graph.groups]
    return next((index for index, name in enumerate(names) if "moe" in name or "dispatch" in name), None)


def _suggest_for_chain(result: Result) -> Suggestion:
    """A hot GPU makes phases that wait for each other long; else there are too many steps, or each is too small."""
    side = _hot_side(result)
    if side is not None:
        return _suggest_for_ports(result, side)
    graph = result.graph
    moving = (graph.bytes > 0) & (graph.src != graph.dst)
    ranks = max((group.ranks for group in graph.groups), default=0)
    steps = np.unique((graph.dst[moving].astype(np.int64) - graph.src[moving]) % ranks) if ranks else np.empty(0)
    collective = next((group.collective for group in graph.groups if group.ranks > 2), "")
    if len(steps) == 1 and len(graph.succ) and collective in ("all_reduce", "all_gather", "reduce_scatter"):
        return Suggestion("fewer dependent steps than a ring has", (f"workload[0].{collective}.algorithm=direct",))
    return _suggest_for_latency(result)


def _suggest_for_latency(result: Result) -> Suggestion:
    one_way = format_time(int(result.fabric.node_tx_ps.max()) + int(result.fabric.node_latency_ps.max()))
    return Suggestion(
        f"keep more operations in flight or make each larger: endpoint and switch alone cost {one_way} a step, whatever the rate"
    )
