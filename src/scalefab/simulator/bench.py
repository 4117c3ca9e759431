"""A test bench in virtual time: scripted testers on the ports of one switch, faults at their times, counters at chosen moments.

It runs the simulator's own kernel. Links come up with a real handshake at 0 ps; traffic starts at ``Bench.start_ps``, and all
times of flows, faults and moments count from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np

from ..compiled import bundle
from ..errors import InputError, Problem
from ..fabric.arrays import Fabric
from ..fabric.build import build_fabric
from ..fabric.faultspec import Fault
from ..fabric.linkspec import CbfcSpec, LinkSpec, LinkStart
from ..fabric.spec import CableSpec, EndpointSpec, FabricSpec, Fec, MemorySpec, SwitchSpec
from ..protocol import vcmap
from ..protocol.cbfc import credits_needed
from ..protocol.llr import RX_OFF, TX_ADVANCE, TX_OFF
from ..protocol.profile import WIRE_EXTRA_BYTES
from ..scenario.scenario import RunOptions
from ..workload.graph import OperationGraph
from .counters import port_counters, vc_counters
from .guess import Variant
from .kernel import Reason, run_kernel
from .rawflow import BY_VC, MARKED_ELIGIBLE, MARKED_INELIGIBLE, RAW_FLOW
from .records import NEVER_PS, State
from .setup import grow, make_state
from .start import schedule_start
from .warm import compile_apart, needs_compiling

TAG_BYTES = 4
PPM = 1_000_000
FRAME_MAX_BYTES = 9_217 + TAG_BYTES
_EVENTS_A_CALL = 2_000_000
_UNTIL_MAX_PS = 10**12


class Mark(IntEnum):
    """Whether LLR protects the frames of a flow on its tester's link."""

    BY_VC = BY_VC
    ELIGIBLE = MARKED_ELIGIBLE
    INELIGIBLE = MARKED_INELIGIBLE


@dataclass(frozen=True, slots=True)
class Marks:
    """What puts a frame into a VC: its own (as RH.vc), a DSCP, a tag; -1 = has none."""

    vc: int = -1
    dscp: int = -1
    pcp_dei: int = -1

    @property
    def tagged(self) -> bool:
        """Whether the frame carries a VLAN tag."""
        return self.pcp_dei >= 0


@dataclass(frozen=True, slots=True)
class RawFlow:
    """Frames of one tester to another.

    ``size_bytes`` counts DA .. FCS, untagged. ``frames`` 0 = until ``end_ps``. ``rate_ppm``: of the line, with preamble and gap.
    ``mark``: whether LLR protects it on its tester's link, by its VC or as marked. Testers count from 0.
    """

    source: int
    destination: int
    size_bytes: int
    frames: int = 0
    start_ps: int = 0
    end_ps: int = NEVER_PS
    rate_ppm: int = PPM
    marks: Marks = Marks()
    mark: Mark = Mark.BY_VC

    @property
    def wire_bytes(self) -> int:
        """Bytes of a frame, DA .. FCS, with its tag."""
        return self.size_bytes + TAG_BYTES * self.marks.tagged


@dataclass(frozen=True, slots=True)
class Bench:
    """The bench: ``links`` one a port, testers' ports first, then the switch's in the same order.

    LLR of a link that starts READY counts as off beside links that start with INIT: nothing of it should be eligible.

    ``moments_ps``: when counters are read, besides the end. The run ends at ``until_ps``; without it (0) when flows are over and
    for ``idle_ps`` no tester has sent or got a frame, not before the last fault and moment.
    """

    testers: int
    rate_bps: int
    link_delay_ps: int
    switch_latency_ps: int
    links: tuple[LinkSpec, ...]
    flows: tuple[RawFlow, ...]
    faults: tuple[Fault, ...] = ()
    moments_ps: tuple[int, ...] = ()
    start_ps: int = 0
    until_ps: int = 0
    idle_ps: int = 100_000_000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class FlowCount:
    """What has become of a flow by a moment; times count from the start of traffic, -1 = none."""

    sent: int
    discarded: int
    arrived: int
    poisoned: int
    order_errors: int
    bytes: int
    first_ps: int
    last_ps: int
    latency_min_ps: int
    latency_max_ps: int
    latency_sum_ps: int
    by_vc: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """All counters at a time: of flows, and of ports by the conformance names (`simulator.counters`)."""

    t_ps: int
    flows: tuple[FlowCount, ...]
    ports: tuple[Mapping[str, int], ...]


@dataclass(frozen=True, slots=True)
class BenchResult:
    """``links_up``: every link had come up when traffic started. ``moments``: the start of traffic, those asked for, the end."""

    links_up: bool
    moments: tuple[Moment, ...]

    @property
    def start(self) -> Moment:
        """The start of traffic."""
        return self.moments[0]

    @property
    def end(self) -> Moment:
        """The end of the run."""
        return self.moments[-1]

    def at(self, t_ps: int) -> Moment:
        """Return the moment read at ``t_ps``."""
        return next(moment for moment in self.moments if moment.t_ps == t_ps)


def bench_fabric(bench: Bench) -> Fabric:
    """Wire the testers to one switch."""
    memory = MemorySpec(10**15, 0, 1 << 40)
    buffer_bytes = 1 << 20  # read by nothing: every port grants its credits in its link's limits
    return build_fabric(
        FabricSpec(
            EndpointSpec("tester", bench.testers, 1, 1, bench.rate_bps, 0, 0, buffer_bytes, memory),
            SwitchSpec("device under test", 1, bench.testers, bench.rate_bps, bench.switch_latency_ps, buffer_bytes),
            CableSpec(0, "fiber", 0, bench.link_delay_ps),
            Fec.NONE,
            0,
            "ethlink",
            9_216,
            0,
            0,
        )
    )


def run_bench(bench: Bench) -> BenchResult:
    """Run it.

    Raises
    ------
    InputError
        A map or a VC that cannot be.
    """
    if needs_compiling(Variant.FULL):
        compile_apart(Variant.FULL)
    run = _Run(bench)
    run.to(bench.start_ps)
    moments = [run.moment(bench.start_ps)]
    up = run.links_up()
    wanted = sorted({t_ps for t_ps in bench.moments_ps if t_ps > 0})
    for t_ps in wanted:
        run.to(bench.start_ps + t_ps)
        moments.append(run.moment(bench.start_ps + t_ps))
    if 0 in bench.moments_ps:
        wanted.insert(0, 0)
    last_ps = max([0, *wanted, *(fault.at_ps for fault in bench.faults)])
    end_ps = run.to_the_end(last_ps)
    if end_ps > moments[-1].t_ps + bench.start_ps:
        moments.append(run.moment(end_ps))
    return BenchResult(up, tuple(moments))


class _Run:
    """One run in progress."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        fabric = bench_fabric(bench)
        faults = tuple(replace(fault, at_ps=fault.at_ps + bench.start_ps) for fault in bench.faults)
        options = RunOptions(seed=bench.seed, sample_frames=0, capture_frames=0)
        state = make_state(empty_graph(), fabric, options, 1_000_000, faults, bench.links)
        k = state.kernel[0]
        k.raw = 1
        k.mixed = int(k.mixed or any(flow.mark is not Mark.BY_VC for flow in bench.flows))
        k.patience_ps = NEVER_PS  # the bench itself says when nothing more is to come
        k.quantum_bytes = FRAME_MAX_BYTES + WIRE_EXTRA_BYTES
        state = state._replace(
            raw_flow=_raw_flows(bench),
            raw_vc=np.zeros((len(bench.flows), vcmap.VCS_MAX), np.int64),
            loss_threshold=np.zeros((1, FRAME_MAX_BYTES + WIRE_EXTRA_BYTES + 1), np.int64),
        )
        schedule_start(state)
        self.state: State = state
        self.bundle = bundle(state)

    def to(self, t_ps: int) -> None:
        """Run all events before ``t_ps``, and bring every port up to date."""
        reason = Reason.EVENTS
        while reason in (Reason.EVENTS, Reason.GROW):
            if reason is Reason.GROW:
                self.state = grow(self.state)
                self.bundle = bundle(self.state)
            reason = Reason(int(run_kernel(self.bundle, t_ps, _EVENTS_A_CALL)[0]))
            if self.state.kernel[0].past:
                raise RuntimeError("defect of the simulator: an event was scheduled in the past")

    def links_up(self) -> bool:
        """Whether every port's LLR is up, or off."""
        return all(int(self.state.llr_tx[a].state) == TX_ADVANCE or not link.llr.on for a, link in enumerate(self.bench.links))

    def to_the_end(self, last_ps: int) -> int:
        """Run until nothing more is to come; return when that was."""
        bench = self.bench
        if bench.until_ps:
            self.to(bench.start_ps + bench.until_ps)
            return bench.start_ps + bench.until_ps
        flow = self.state.raw_flow
        now_ps = max(bench.start_ps + last_ps, int(self.state.kernel[0].now_ps))
        quiet_ps, seen = 0, -1
        step_ps = max(1, bench.idle_ps // 4)
        while now_ps < bench.start_ps + _UNTIL_MAX_PS:
            now_ps += step_ps
            self.to(now_ps)
            total = int(flow.sent.sum() + flow.arrived.sum() + flow.discarded.sum())
            later = bool(((flow.left > 0) & (flow.due_ps > now_ps) & (flow.end_ps > now_ps)).any())
            quiet_ps = quiet_ps + step_ps if total == seen and not later else 0
            seen = total
            if quiet_ps >= bench.idle_ps:
                break
        return now_ps

    def moment(self, t_ps: int) -> Moment:
        """Read all counters."""
        start_ps = self.bench.start_ps
        flows = tuple(self._count(n, start_ps) for n in range(len(self.state.raw_flow)))
        ports = tuple(self._ports(a) for a in range(len(self.bench.links)))
        return Moment(t_ps - start_ps, flows, ports)

    def _ports(self, a: int) -> Mapping[str, int]:
        """Read the counters of a port, those of a VC as ``NAME[vc]``."""
        state = self.state
        peer = int(state.port[a].peer)
        read = port_counters(state, a)
        read["LLR_FLUSHES"] = int(state.llr_tx[a].flushes)
        read["LLR_REPLAYED_FRAMES"] = int(state.port[a].replayed)
        off = not self.bench.links[a].llr.on or self.bench.links[a].llr.start is LinkStart.READY
        read["LLR_TX_STATE"] = TX_OFF if off else int(state.llr_tx[a].state)
        read["LLR_RX_STATE"] = RX_OFF if off else int(state.llr_rx[peer].state)
        for vc in range(self.bench.links[a].vcs):
            read |= {f"{name}[{vc}]": value for name, value in vc_counters(state, a, vc).items()}
        return read

    def _count(self, n: int, start_ps: int) -> FlowCount:
        r = self.state.raw_flow[n]
        arrived = int(r.arrived)
        return FlowCount(
            int(r.sent),
            int(r.discarded),
            arrived,
            int(r.poisoned),
            int(r.order_errors),
            int(r.bytes),
            int(r.first_ps) - start_ps if arrived else -1,
            int(r.last_ps) - start_ps if arrived else -1,
            int(r.latency_min_ps) if arrived else -1,
            int(r.latency_max_ps) if arrived else -1,
            int(r.latency_sum_ps),
            tuple(int(count) for count in self.state.raw_vc[n]),
        )


def _raw_flows(bench: Bench) -> Any:
    flows = np.zeros(len(bench.flows), RAW_FLOW).view(np.recarray)
    for r, flow in zip(flows, bench.flows, strict=True):
        size = flow.wire_bytes
        up, down = bench.links[flow.source], bench.links[bench.testers + flow.destination]
        r.port, r.src, r.dst, r.size_bytes = flow.source, flow.source, flow.destination, size
        r.vc_up, r.vc_down = vc_on(up, flow.marks), vc_on(down, flow.marks)
        r.credits_up, r.credits_down = credits_of(up.cbfc, size), credits_of(down.cbfc, size)
        r.mark = int(flow.mark)
        # a frame's time on the line as a fraction of ps, divided by the rate
        numerator = (size + WIRE_EXTRA_BYTES) * 8 * 10**12 * PPM
        denominator = bench.rate_bps * flow.rate_ppm
        r.step_ps, rest = divmod(numerator, denominator)
        r.step_den = 1 << 20
        r.step_rest = rest * (1 << 20) // denominator
        r.due_ps, r.end_ps = bench.start_ps + flow.start_ps, min(NEVER_PS, bench.start_ps + flow.end_ps)
        r.left = flow.frames or NEVER_PS
        r.first_ps = r.last_ps = r.latency_max_ps = -1
        r.latency_min_ps = NEVER_PS
    return flows


def vc_on(link: LinkSpec, marks: Marks) -> int:
    """Return the VC of a frame on a link.

    Raises
    ------
    InputError
        A map that cannot be, or a VC that the link does not have.
    """
    dscp, pcp = vcmap.dscp_map(dict(link.dscp_map), link.vcs), vcmap.pcp_map(dict(link.pcp_map), link.vcs)
    kind = vcmap.RH if marks.vc >= 0 else vcmap.PLAIN
    vc = int(vcmap.vc_of(kind, marks.vc, marks.dscp, marks.pcp_dei, dscp, pcp))
    if not 0 <= vc < link.vcs:
        raise InputError([Problem(f"VC {vc} on a link of {link.vcs} VCs", f"VC 0 .. {link.vcs - 1}", key="vc")])
    return vc


def credits_of(cbfc: CbfcSpec, size_bytes: int) -> int:
    """Return the credits that a frame takes on a link."""
    return int(credits_needed(size_bytes, cbfc.overhead_bytes, cbfc.credit_bytes))


def empty_graph() -> OperationGraph:
    """Return a graph without operations: the testers' frames are all there is."""
    one, two, four, eight = np.zeros(0, np.int8), np.zeros(0, np.int16), np.zeros(0, np.int32), np.zeros(0, np.int64)
    return OperationGraph(
        kind=one,
        src=two,
        dst=two,
        vc=one,
        order=one,
        stack=one,
        posted=one,
        chunk=four,
        bytes=eight,
        address=eight,
        start_ps=eight,
        compute_ps=eight,
        tag=four,
        group=four,
        succ_ptr=np.zeros(1, np.int64),
        succ=four,
        waits=four,
        groups=(),
    )
