"""Whether links have what they need to stay busy, before anything runs: each warning says the number that would do.

Needs come from `protocol.limits`. Two things are added, as simulations show (`own`): a switch holds a frame for its latency
before it can leave, which counts in its receive buffer; and where a link's FEC takes longer than the latency budget has room
for, the real delay of both directions stands for cable and PHYs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..protocol import limits
from ..protocol.profile import FRAME_MIN_BYTES, VC_CONTROL, WIRE_EXTRA_BYTES
from ..units import exact_size, exact_time, format_length, format_rate, format_size, format_time
from .buffers import MAX_CREDITS, packet_credits
from .linkspec import FlowControl
from .spec import CableSpec, FabricSpec
from .timing import down_delay_ps, spine_delay_ps, up_delay_ps

LARGEST_CREDIT_BYTES = 2_048  # sib: UEC CBFC (profile section 2)
QUANTUM_BITS = 512  # pub: IEEE 802.3 Annex 31B
_SMALLEST_WIRE_BYTES = FRAME_MIN_BYTES + WIRE_EXTRA_BYTES
_BYTE_PS = 8 * 10**12


@dataclass(frozen=True, slots=True)
class LinkNeed:
    """One kind of link, in the direction of its frames.

    Attributes
    ----------
    name
        For people, cable and rate included.
    shape
        What the limits ask.
    buffer_key, buffer_bytes
        The receive buffer at its end.
    hold_ps
        How long the receiver keeps a frame before it can leave.
    """

    name: str
    shape: limits.LinkShape
    buffer_key: str
    buffer_bytes: int
    hold_ps: int

    @property
    def hold_bytes(self) -> int:
        """Line time of ``hold_ps``, as bytes."""
        return -(-self.hold_ps * self.shape.rate_bps // _BYTE_PS)


def link_shape(spec: FabricSpec, cables: CableSpec, there_and_back_ps: int) -> limits.LinkShape:
    """Return a link as `limits` asks for it; ``there_and_back_ps`` = delay of both directions as the fabric has it.

    A stated delay of a whole link stands for cable and PHYs.
    """
    stated = cables.link_delay_ps >= 0
    cable_ps = cables.link_delay_ps if stated else cables.delay_ps
    phy_ps = 0 if stated else 2 * (spec.phy_tx_ps + spec.phy_rx_ps)
    return limits.LinkShape(
        rate_bps=spec.switches.port_rate_bps,
        cable_ps=cable_ps,
        phy_ps=max(phy_ps, there_and_back_ps - 2 * cable_ps),
        frame_own_bytes=spec.frame_max,
        frame_back_bytes=spec.frame_max,
        ctlos_spacing_bytes=spec.link.llr.ctlos_spacing_bytes,
        cf_spacing_bytes=spec.cf_spacing_bytes,
    )


def link_needs(spec: FabricSpec) -> tuple[LinkNeed, ...]:
    """Return the kinds of links of a domain: between GPUs and switches, between leaves and spines, each direction."""
    switches, spine = spec.switches, spec.switches.spine
    near = link_shape(spec, spec.cables, up_delay_ps(spec) + down_delay_ps(spec))
    about = _about(spec.cables, near)
    needs = [
        LinkNeed(f"a link to a GPU ({about})", near, "fabric.gpus.buffer", spec.endpoints.buffer_bytes, 0),
        LinkNeed(f"a link from a GPU ({about})", near, "fabric.switches.buffer", switches.buffer_bytes, switches.latency_ps),
    ]
    if spine is not None:
        cables = spine.cables or spec.cables
        far = link_shape(spec, cables, 2 * spine_delay_ps(spec))
        about = _about(cables, far)
        needs += [
            LinkNeed(f"a link to a spine ({about})", far, "fabric.spine.buffer", spine.buffer_bytes, spine.latency_ps),
            LinkNeed(f"a link from a spine ({about})", far, "fabric.switches.buffer", switches.buffer_bytes, switches.latency_ps),
        ]
    return tuple(needs)


def headroom(spec: FabricSpec) -> tuple[str, ...]:
    """Return a warning for everything that cannot fill the links of a domain, or that loses frames; empty when all is well."""
    needs = link_needs(spec)
    flow = {FlowControl.CBFC: _credits, FlowControl.PFC: _pauses, FlowControl.NONE: _nothing}[spec.link.flow_control]
    found = [*flow(spec, needs)]
    if spec.link.llr.on:
        found += [*_outstanding(spec, needs), *_timers(spec, needs)]
    return tuple(dict.fromkeys(found))


def full_rate_buffer_bytes(spec: FabricSpec, need: LinkNeed) -> int:
    """Return the receive buffer of a VC that keeps a link at line rate under CBFC, bytes.

    Packets take whole credits: what that wastes of a largest frame is added.
    """
    size = limits.buffer_bytes(need.shape) + need.hold_bytes
    taken = packet_credits(spec.frame_max, spec.overhead_bytes, spec.credit_bytes) * spec.credit_bytes
    return -(-size * max(taken, spec.frame_max) // spec.frame_max)


def _about(cables: CableSpec, shape: limits.LinkShape) -> str:
    rate = format_rate(shape.rate_bps)
    if cables.link_delay_ps >= 0:
        return f"{format_time(cables.link_delay_ps)}, {rate}"
    return f"{format_length(cables.length_mm)} of {cables.medium}, {rate}"


def _share(have: int, need: int) -> str:
    return f"{100 * have // need} %" if 100 * have >= need else "less than 1 %"


def _credits(spec: FabricSpec, needs: tuple[LinkNeed, ...]) -> Iterator[str]:
    """Yield receive buffers, credits and pools that are too small for CBFC at line rate."""
    cbfc = spec.link.cbfc
    for need in _worst(needs, lambda need: full_rate_buffer_bytes(spec, need)):
        size = full_rate_buffer_bytes(spec, need)
        if need.buffer_bytes < size:
            yield (
                f"{need.buffer_key}: {format_size(need.buffer_bytes)} a VC fill {_share(need.buffer_bytes, size)} of "
                f"{need.name}; {_would_do(spec, size)}"
            )
    enough, need = max(((_enough_credits(spec, need), need) for need in needs), key=lambda pair: pair[0])
    would = f"{enough} would fill it" if enough <= MAX_CREDITS else _would_do(spec, enough * spec.credit_bytes)
    for vc, credits in enumerate(cbfc.limits):
        if vc != VC_CONTROL and cbfc.lossless_vcs >> vc & 1 and credits < enough:  # ACKs need no line rate
            yield f"fabric.cbfc.credits: {credits} credits of VC {vc} fill {_share(credits, enough)} of {need.name}; {would}"
    if cbfc.pool is not None and cbfc.pool < enough:
        yield f"fabric.cbfc.pool: {cbfc.pool} credits of a port fill {_share(cbfc.pool, enough)} of {need.name}; {would}"
    lossy = [str(vc) for vc in range(spec.link.vcs) if not cbfc.lossless_vcs >> vc & 1]
    if lossy:
        yield (f"fabric.cbfc.lossless_vcs: frames of VC {', '.join(lossy)} are lost where there is no room; RH sends them again")


def _enough_credits(spec: FabricSpec, need: LinkNeed) -> int:
    """Return the credits of a VC that keep a link at line rate, the receiver's own delay and whole credits counted."""
    credit = spec.credit_bytes
    taken = packet_credits(spec.frame_max, spec.overhead_bytes, credit) * credit
    size = limits.credit_limit(need.shape, credit) * credit + need.hold_bytes
    return -(-size * max(taken, spec.frame_max) // (spec.frame_max * credit))


def _would_do(spec: FabricSpec, size: int) -> str:
    least = -(-size // MAX_CREDITS)
    if least <= spec.credit_bytes:
        return f"{exact_size(size)} would fill it"
    if least > LARGEST_CREDIT_BYTES:
        most = MAX_CREDITS * LARGEST_CREDIT_BYTES
        return f"the most that a link can count, {MAX_CREDITS} credits of {LARGEST_CREDIT_BYTES} B, fill {_share(most, size)}"
    return f"{exact_size(size)} would fill it, with fabric.cbfc.credit={least}B or more, for a link counts {MAX_CREDITS} credits"


def _worst(needs: tuple[LinkNeed, ...], size: Callable[[LinkNeed], int]) -> list[LinkNeed]:
    """Return for each receive buffer the link that needs most of it, in the order of the links."""
    worst: dict[str, LinkNeed] = {}
    for need in needs:
        other = worst.get(need.buffer_key)
        if other is None or size(need) > size(other):
            worst[need.buffer_key] = need
    return list(worst.values())


def _pauses(spec: FabricSpec, needs: tuple[LinkNeed, ...]) -> Iterator[str]:
    """Yield what PFC cannot work with: thresholds beyond a buffer, too little head-room above them, pauses that end too soon."""
    pfc = spec.link.pfc
    for need in _worst(needs, lambda need: limits.pfc_headroom_bytes(need.shape)):
        room, have = limits.pfc_headroom_bytes(need.shape), need.buffer_bytes
        if have < room + spec.frame_max:
            yield (
                f"{need.buffer_key}: {format_size(have)} a VC are less than what still comes after XOFF on {need.name}, "
                f"{format_size(room)}: frames are lost; {exact_size(2 * room)} would do"
            )
        elif pfc.xoff_bytes is not None and pfc.xoff_bytes > have - room:
            left = f"leaves {format_size(have - pfc.xoff_bytes)} of" if pfc.xoff_bytes < have else "is beyond"
            yield (
                f"fabric.pfc.xoff: {format_size(pfc.xoff_bytes)} {left} {need.buffer_key} ({format_size(have)}), and "
                f"{format_size(room)} still come after XOFF on {need.name}: frames are lost; {exact_size(have - room)} would do"
            )
    shape = max((need.shape for need in needs), key=lambda shape: shape.frame_back_bytes)
    again_bytes = shape.frame_back_bytes + WIRE_EXTRA_BYTES + limits.PAUSE_WIRE_BYTES  # a PAUSE behind a largest frame
    enough = -(-2 * 8 * again_bytes // QUANTUM_BITS)  # it is told again after half of its time
    if pfc.quanta < enough:
        yield (
            f"fabric.pfc.quanta: a pause of {pfc.quanta} quanta is over before the next one can come: frames are lost; "
            f"{enough} would do"
        )


def _nothing(spec: FabricSpec, needs: tuple[LinkNeed, ...]) -> Iterator[str]:
    yield "fabric.flow_control: frames that find no room in a receive buffer are lost, RH sends them again"


def _outstanding(spec: FabricSpec, needs: tuple[LinkNeed, ...]) -> Iterator[str]:
    """Yield LLR limits that stop the line before an ACK can come."""
    llr = spec.link.llr
    need = max(needs, key=lambda need: limits.outstanding_bytes(need.shape))
    size = limits.outstanding_bytes(need.shape)
    if llr.outstanding_bytes_max is not None and llr.outstanding_bytes_max < size:
        have = llr.outstanding_bytes_max
        yield (
            f"fabric.llr.bytes_max: {format_size(have)} fill {_share(have, size)} of {need.name}; {exact_size(size)} "
            "would fill it"
        )
    elif size > limits.OUTSTANDING_BYTES_MAX:
        have = limits.OUTSTANDING_BYTES_MAX
        yield f"fabric.llr.bytes_max: {format_size(have)}, the most that a port keeps, fill {_share(have, size)} of {need.name}"
    enough = limits.outstanding_frames(size)
    frames = limits.SEQUENCE_HALF - 1 if llr.outstanding_frames_max is None else llr.outstanding_frames_max
    if frames >= enough:
        return
    smallest = f"{frames} frames of {FRAME_MIN_BYTES} B fill {_share(frames, enough)} of {need.name}"
    largest = frames * (spec.frame_max + WIRE_EXTRA_BYTES)
    also = f", of {spec.frame_max} B {_share(largest, size)}" if largest < size else ""
    most = enough <= limits.SEQUENCE_HALF - 1
    would = f"{enough} would fill it" if most else f"a link numbers {limits.SEQUENCE_HALF - 1} at most, larger frames fill more"
    yield f"fabric.llr.frames_max: {smallest}{also}; {would}"


def _timers(spec: FabricSpec, needs: tuple[LinkNeed, ...]) -> Iterator[str]:
    """Yield a replay timer below two round trips, and a data age that ends before the last replay."""
    llr = spec.link.llr
    need = max(needs, key=lambda need: limits.round_trip_ps(need.shape))
    trip_ps, timer_ps = limits.round_trip_ps(need.shape), llr.replay_timer_ps
    if timer_ps is not None and timer_ps < 2 * trip_ps:
        yield (
            f"fabric.llr.replay_timer: {format_time(timer_ps)} are less than two round trips of {need.name}: frames "
            f"are sent again while their ACK is on its way; {_up_to_ns(2 * trip_ps)} would do"
        )
    if not llr.data_age_ps or llr.replay_count_max == limits.NO_REPLAY_LIMIT:
        return
    usual_ps = limits.replay_timer_ps(need.shape) if timer_ps is None else timer_ps
    age_ps = limits.data_age_ps(usual_ps, llr.replay_count_max)
    if llr.data_age_ps < age_ps:
        yield (
            f"fabric.llr.data_age: {format_time(llr.data_age_ps)} are over before {llr.replay_count_max} replays of "
            f"{format_time(usual_ps)} are: links give up early; {_up_to_ns(age_ps)} would do"
        )


def longest_outage_ps(spec: FabricSpec) -> dict[str, int]:
    """Return how long a link may be down before LLR gives up, ps, by the setting that says so; what is off is left out."""
    llr = spec.link.llr
    age_ps = llr.data_age_ps
    if age_ps is None and llr.replay_count_max == limits.NO_REPLAY_LIMIT:
        age_ps = 0
    elif age_ps is None:
        timers = [llr.replay_timer_ps or limits.replay_timer_ps(need.shape) for need in link_needs(spec)]
        age_ps = limits.data_age_ps(min(timers), llr.replay_count_max)
    pcs_ps = limits.PCS_LOST_PS if llr.pcs_lost_ps is None else llr.pcs_lost_ps
    return {key: value for key, value in (("fabric.llr.pcs_lost", pcs_ps), ("fabric.llr.data_age", age_ps)) if value}


def _up_to_ns(time_ps: int) -> str:
    return exact_time(-(-time_ps // 1_000) * 1_000)
