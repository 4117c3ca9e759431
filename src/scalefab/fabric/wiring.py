"""Whether a supernode can be wired: every fault at once, each with its numbers and the key of the user's file.

Two kinds: values that no domain may have (`range_problems`, limits of the open profile), and values that are fine alone but do
not fit each other (`fit_problems`: ports, planes, radix). `advice` names what works but wastes line rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ..errors import Problem
from ..protocol.fec_codes import MAX_DEPTH
from ..units import format_rate
from .headroom import headroom
from .linkchecks import link_ranges
from .spec import CableSpec, FabricSpec
from .tierchecks import tier_advice, tier_fit, tier_ranges
from .timing import MEDIA, PORT_RATES_BPS

ENDPOINTS = (2, 1024)  # pub: a domain has at most 1024 GPUs
STACKS = (1, 16)  # pub: several stacks; sib: 4 bits of entropy
PORTS_PER_STACK = (1, 4)  # pub
PLANES = (1, 64)  # 16 stacks x 4 ports
FRAME = (64, 9216)  # profile section 1
SMALLEST_DATA_FRAME = 128  # mtu = (frame_max - 64) rounded down to 64: below this no packet carries data
LONGEST_PS = 10**12  # own: 1 s, so that sums of delays stay far inside 64 bits
LONGEST_MM = 100_000_000  # own: 100 km


def check_wiring(spec: FabricSpec) -> list[Problem]:
    """Return every problem of a domain, `range_problems` first; empty when it can be built."""
    return [*range_problems(spec), *fit_problems(spec)]


def range_problems(spec: FabricSpec) -> list[Problem]:
    """Return the values that no domain may have."""
    return [*_gpu_ranges(spec), *_switch_ranges(spec), *_link_ranges(spec), *link_ranges(spec)]


def fit_problems(spec: FabricSpec) -> list[Problem]:
    """Return what is short: ports, planes or radix. Values out of range are left to `range_problems`."""
    gpus, switches = spec.endpoints, spec.switches
    if min(gpus.count, gpus.stacks, gpus.ports_per_stack, switches.planes, switches.radix) < 1:
        return []
    radix = _radix_fit(spec) if switches.spine is None else tier_fit(spec)
    return [*_rate_fit(spec), *_plane_fit(spec), *radix]


def advice(spec: FabricSpec) -> tuple[str, ...]:
    """Return what a buildable domain does badly: too little of something for line rate (`headroom`), links used unevenly."""
    return (*headroom(spec), *tier_advice(spec))


def _outside(key: str, what: str, value: int, limits: tuple[int, int], unit: str = "") -> Iterator[Problem]:
    low, high = limits
    if not low <= value <= high:
        yield Problem(f"{what} {value}{unit}", f"{low} .. {high}{unit}", key=key)


def _positive(key: str, what: str, value: int) -> Iterator[Problem]:
    if value < 1:
        yield Problem(f"{what} {value}", "a positive value", key=key)


def _port_rate(key: str, rate_bps: int) -> Iterator[Problem]:
    if rate_bps not in PORT_RATES_BPS:
        known = ", ".join(format_rate(rate) for rate in PORT_RATES_BPS)
        yield Problem(f"no port runs at {format_rate(rate_bps)}", f"one of {known}", key=key)


def _gpu_ranges(spec: FabricSpec) -> Iterator[Problem]:
    gpus = spec.endpoints
    yield from _outside("fabric.gpus.count", "GPUs in the domain:", gpus.count, ENDPOINTS)
    yield from _outside("fabric.gpus.stacks", "stacks of a GPU:", gpus.stacks, STACKS)
    yield from _outside("fabric.gpus.ports_per_stack", "ports of a stack:", gpus.ports_per_stack, PORTS_PER_STACK)
    yield from _port_rate("fabric.gpus.port_rate", gpus.port_rate_bps)
    yield from _outside("fabric.gpus.tx_latency", "latency", gpus.tx_latency_ps, (0, LONGEST_PS), " ps")
    yield from _outside("fabric.gpus.rx_latency", "latency", gpus.rx_latency_ps, (0, LONGEST_PS), " ps")
    yield from _positive("fabric.gpus.memory.bandwidth", "bandwidth in B/s:", gpus.memory.bandwidth_Bps)
    yield from _outside("fabric.gpus.memory.latency", "latency", gpus.memory.latency_ps, (0, LONGEST_PS), " ps")
    yield from _positive("fabric.gpus.memory.capacity", "capacity in bytes:", gpus.memory.capacity_bytes)


def _switch_ranges(spec: FabricSpec) -> Iterator[Problem]:
    switches = spec.switches
    yield from _outside("fabric.switches.planes", "planes:", switches.planes, PLANES)
    yield from _positive("fabric.switches.ports", "ports of a switch:", switches.radix)
    yield from _port_rate("fabric.switches.port_rate", switches.port_rate_bps)
    yield from _outside("fabric.switches.latency", "latency", switches.latency_ps, (0, LONGEST_PS), " ps")
    yield from tier_ranges(spec)
    if switches.spine is not None:
        yield from _port_rate("fabric.spine.port_rate", switches.spine.port_rate_bps)
        yield from _outside("fabric.spine.latency", "latency", switches.spine.latency_ps, (0, LONGEST_PS), " ps")


def _link_ranges(spec: FabricSpec) -> Iterator[Problem]:
    yield from _cable_ranges("fabric.cables", spec.cables)
    spine = spec.switches.spine
    if spine is not None and spine.cables is not None:
        yield from _cable_ranges("fabric.spine.cables", spine.cables)
    yield from _outside("fabric.fec_depth", "interleave", spec.fec_depth, (0, MAX_DEPTH))
    yield from _outside("fabric.phy_tx", "latency", spec.phy_tx_ps, (0, LONGEST_PS), " ps")
    yield from _outside("fabric.phy_rx", "latency", spec.phy_rx_ps, (0, LONGEST_PS), " ps")
    yield from _outside("fabric.frame_max", "largest frame", spec.frame_max, FRAME, " B")
    if FRAME[0] <= spec.frame_max < SMALLEST_DATA_FRAME:
        yield Problem(
            f"largest frame {spec.frame_max} B leaves no room for data beside 64 B of headers",
            f"at least {SMALLEST_DATA_FRAME} B",
            key="fabric.frame_max",
        )


def _cable_ranges(key: str, cables: CableSpec) -> Iterator[Problem]:
    yield from _outside(f"{key}.length", "length", cables.length_mm, (0, LONGEST_MM), " mm")
    if cables.link_delay_ps < 0 and cables.medium not in MEDIA:
        yield Problem(f"no medium '{cables.medium}'", f"one of {', '.join(MEDIA)}", key=f"{key}.medium")
    yield from _outside(f"{key}.length", "delay of the cable", cables.delay_ps, (0, LONGEST_PS), " ps")
    yield from _outside(f"{key}.delay", "delay of a link", max(cables.link_delay_ps, 0), (0, LONGEST_PS), " ps")


def _rate_fit(spec: FabricSpec) -> Iterator[Problem]:
    gpu, switch = spec.endpoints.port_rate_bps, spec.switches.port_rate_bps
    if gpu != switch:
        yield Problem(
            f"switch ports run at {format_rate(switch)}, GPU ports at {format_rate(gpu)}",
            "the same rate at both ends of a cable",
            key="fabric.switches.port_rate",
        )


def _plane_fit(spec: FabricSpec) -> Iterator[Problem]:
    gpus, planes = spec.endpoints, spec.switches.planes
    if gpus.ports % planes == 0:
        return
    have = f"a GPU has {_count(gpus.ports, 'port')} ({_count(gpus.stacks, 'stack')} x {gpus.ports_per_stack})"
    if planes > gpus.ports:
        message = f"{planes} planes, but {have}: {planes - gpus.ports} of the switches would reach no GPU"
    else:
        message = f"{planes} planes do not share the ports evenly, {have}"
    divisors = [str(n) for n in range(1, gpus.ports + 1) if gpus.ports % n == 0 and n <= PLANES[1]]
    yield Problem(message, "planes: " + _one_of(divisors), key="fabric.switches.planes")


def _radix_fit(spec: FabricSpec) -> Iterator[Problem]:
    gpus, switches = spec.endpoints, spec.switches
    of_a_gpu = -(-gpus.ports // switches.planes)
    needed = gpus.count * of_a_gpu
    if needed <= switches.radix:
        return
    who = "the switch" if switches.planes == 1 else f"each of the {switches.planes} switches"
    capacity = f"{Decimal(switches.radix * switches.port_rate_bps).scaleb(-12).normalize():f}T"
    ways = [f"at most {switches.radix // of_a_gpu} GPUs"] if switches.radix // of_a_gpu >= ENDPOINTS[0] else []
    for planes in range(switches.planes + 1, gpus.ports + 1):
        if gpus.ports % planes == 0 and gpus.count * gpus.ports // planes <= switches.radix:
            ways.append(f"{planes} planes")
            break
    ways += [f"switches with {needed} ports", "a second tier (fabric.spine)"]
    switch = f"a {capacity} switch" + (f" ({switches.name})" if switches.name else "")
    short = f"{who} needs {needed} ports of {format_rate(gpus.port_rate_bps)}, {switch} has {switches.radix}"
    yield Problem(short, _one_of(ways), key="fabric.gpus.count")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _one_of(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
