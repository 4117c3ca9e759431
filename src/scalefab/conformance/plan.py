"""From a case and a frame size to a bench: settings of every port with their computed limits, flows, faults, moments.

Limits of a case are computed unless it sets them (conformance standard, in our words)::

    T                      = 2 x cable + PHY of both ends + (2 x (9216 + 20) + ctlos_spacing) / rate
    outstanding_bytes_max  = rate x T, rounded up          replay_timer = max(5 us, 2 T)
    outstanding_frames_max = that / 84, rounded up         data age     = (replay_count_max + 1) x replay_timer
    credit_limit           = (rate x T + 2 x cf_spacing + 2 x 9216) / credit_size, rounded up

with the cable's length, or ``topology.limits_for`` where a longer one is imitated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, Problem
from ..fabric.faultspec import Fault as FaultRow
from ..fabric.faultspec import FaultKind
from ..fabric.linkspec import ALL_VCS, AfterFlush, CbfcSpec, FlowControl, LinkSpec, LinkStart, LlrSpec
from ..protocol import cbfc, limits
from ..protocol.faults import threshold_of
from ..protocol.fec_codes import Fec, usual_depth
from ..protocol.fec_loss import LineErrors, frame_loss
from ..protocol.limits import SAMPLE_PROFILES, FrameAction, LinkShape
from ..protocol.llr import NO_REPLAY_LIMIT, PCS_LOST_PS
from ..protocol.profile import WIRE_EXTRA_BYTES
from ..simulator.bench import Bench, Mark, Marks, RawFlow
from ..simulator.records import NEVER_PS
from .models import Case
from .quantities import PPM
from .settings import PortSettings
from .traffic import Fault, Flow
from .words import PROFILES, TESTERS_MAX

LARGEST_BYTES = 9_216
VCS_MIN = 4
_FEC = {"none": Fec.NONE, "rs272": Fec.RS272, "rs528": Fec.RS528, "rs544": Fec.RS544}


@dataclass(frozen=True, slots=True)
class PortLimits:
    """What holds at a port, given or computed: names that expectations may use."""

    credit_size: int
    packet_overhead: int
    outstanding_frames_max: int
    outstanding_bytes_max: int
    replay_timer: int
    replay_count_max: int
    data_age: int
    ctlos_spacing: int
    cf_spacing: int
    credit_limit: int


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One run of a case."""

    case: Case
    size_bytes: int
    bench: Bench
    limits: Mapping[str, PortLimits]
    round_trip_ps: int
    counters_from_start: bool


def port_names(testers: int) -> list[str]:
    """Return the names of a bench's ports, in the order of `simulator.bench.Bench.links`."""
    return [f"{side}{number}" for side in ("tester", "dut") for number in range(1, testers + 1)]


def make_plan(case: Case, size_bytes: int) -> Plan:
    """Lay out the run of a case with frames of one size.

    Raises
    ------
    InputError
        VCs that the bench does not have.
    """
    topology = case.topology
    names = port_names(topology.testers)
    vcs = _vcs(case)
    settings = {name: _settings(case, name) for name in names}
    _check_agreement(settings)
    shape = _shape(case, settings[names[0]])
    known = {name: _limits(case, settings[name]) for name in names}
    links = tuple(_link(case, name, settings[name], known[name], vcs) for name in names)
    bench = Bench(
        testers=topology.testers,
        rate_bps=topology.rate,
        link_delay_ps=_delay_ps(topology.cable, topology.phy),
        switch_latency_ps=topology.switch_latency,
        links=links,
        flows=tuple(_flow(flow, size_bytes) for flow in case.traffic),
        faults=tuple(sorted(_faults(case, names, size_bytes), key=lambda row: row.at_ps)),
        moments_ps=tuple(sorted(_moments(case))),
        start_ps=_start_ps(topology.cable, topology.phy),
        until_ps=case.until or 0,
        idle_ps=case.idle,
        seed=case.seed,
    )
    return Plan(case, size_bytes, bench, known, limits.round_trip_ps(shape), case.counters_from == "traffic")


def _settings(case: Case, name: str) -> dict[str, Any]:
    """Return the settings that hold at a port: of the single port before those of its side before those of all.

    What both ends of a link must agree on holds at both, whichever end states it; of two statements the more special one.
    """
    own, peer = _stated(case, name), _stated(case, peer_of(name))
    merged = {key: value for key, (_, value) in own.items()}
    for key in LINK_WIDE:
        if key in peer and (key not in own or peer[key][0] > own[key][0]):
            merged[key] = peer[key][1]
    for flow in case.traffic:
        if flow.source == name and flow.first_seq is not None:
            merged["first_seq"] = flow.first_seq
    return merged


LINK_WIDE = ("llr", "cbfc", "credit_size", "packet_overhead", "lossless", "dscp_map", "pcp_map")
"""Settings of a link: LLDP lets it come up only when both ends say the same."""


def _check_agreement(settings: Mapping[str, Mapping[str, Any]]) -> None:
    problems = [
        Problem(f"{key} at {name} and at {peer_of(name)} differ", "one value a link", key=f"ports.{name}.{key}")
        for name, given in settings.items()
        for key in LINK_WIDE
        if name.startswith("tester") and given.get(key) != settings[peer_of(name)].get(key)
    ]
    if problems:
        raise InputError(problems)


def _stated(case: Case, name: str) -> dict[str, tuple[int, Any]]:
    """Return what a case states for a port, with how special the statement is."""
    side = case.ports.testers if name.startswith("tester") else case.ports.dut
    own: PortSettings = getattr(case.ports, name)
    stated: dict[str, tuple[int, Any]] = {}
    for level, part in enumerate((case.ports.all, side, own)):
        given = {key: getattr(part, key) for key in part.model_fields_set if getattr(part, key) is not None}
        if "profile" in given:
            stated |= {key: (level, value) for key, value in _profile(given["profile"]).items()}
        stated |= {key: (level, value) for key, value in given.items()}
    return stated


def peer_of(name: str) -> str:
    """Return the port at the other end of a port's cable."""
    return name.replace("tester", "dut") if name.startswith("tester") else name.replace("dut", "tester")


def _profile(name: str) -> dict[str, Any]:
    """Return the settings of a sample profile."""
    of = SAMPLE_PROFILES[PROFILES.index(name)].limits
    return {
        "outstanding_frames_max": of.outstanding_frames,
        "outstanding_bytes_max": of.outstanding_bytes,
        "replay_timer": of.replay_timer_ps,
        "replay_count_max": of.replay_count_max,
        "pcs_lost": of.pcs_lost_ps,
        "data_age": of.data_age_ps,
        "ctlos_spacing": of.ctlos_spacing_bytes,
    }


def _delay_ps(cable_mm: int, phy_ps: int) -> int:
    return -(-cable_mm * limits.CABLE_PS_PER_M // 1_000) + phy_ps // 2


def _start_ps(cable_mm: int, phy_ps: int) -> int:
    """Return when traffic starts: a handshake is over long before, in whole microseconds."""
    return 2_000_000 + -(-4 * _delay_ps(cable_mm, phy_ps) // 1_000_000) * 1_000_000


def _shape(case: Case, given: Mapping[str, Any]) -> LinkShape:
    topology = case.topology
    cable_mm = topology.cable if topology.limits_for is None else topology.limits_for
    return LinkShape(
        topology.rate,
        -(-cable_mm * limits.CABLE_PS_PER_M // 1_000),
        topology.phy,
        LARGEST_BYTES,
        LARGEST_BYTES,
        given.get("ctlos_spacing", limits.CTLOS_SPACING_BYTES),
        given.get("cf_spacing", limits.CF_SPACING_BYTES),
    )


def _limits(case: Case, given: Mapping[str, Any]) -> PortLimits:
    shape = _shape(case, given)
    count = given.get("replay_count_max", limits.REPLAY_COUNT_MAX)
    size = given.get("outstanding_bytes_max", limits.outstanding_bytes(shape))
    frames = given.get("outstanding_frames_max", min(limits.outstanding_frames(size), limits.SEQUENCE_HALF - 1))
    timer_ps = given.get("replay_timer", limits.replay_timer_ps(shape))
    age_ps = 0 if count == NO_REPLAY_LIMIT else limits.data_age_ps(timer_ps, count)
    credit_bytes = given.get("credit_size", cbfc.CREDIT_BYTES)
    computed = min(limits.credit_limit(shape, credit_bytes), cbfc.LIMIT_MAX)
    if "port_credit_limit" in given:
        computed = cbfc.LIMIT_MAX  # the port's total is the limit
    stated = given.get("credit_limit", {})
    return PortLimits(
        credit_size=credit_bytes,
        packet_overhead=given.get("packet_overhead", 0),
        outstanding_frames_max=frames,
        outstanding_bytes_max=size,
        replay_timer=timer_ps,
        replay_count_max=count,
        data_age=given.get("data_age", age_ps),
        ctlos_spacing=shape.ctlos_spacing_bytes,
        cf_spacing=shape.cf_spacing_bytes,
        credit_limit=stated.get(-1, stated.get(0, computed)),
    )


def _link(case: Case, name: str, given: Mapping[str, Any], known: PortLimits, vcs: int) -> LinkSpec:
    on = given.get("llr", True)
    any_on = any(_settings(case, other).get("llr", True) for other in port_names(case.topology.testers))
    stated = given.get("credit_limit", {})
    otherwise = stated.get(-1, _limits(case, {key: value for key, value in given.items() if key != "credit_limit"}).credit_limit)

    return LinkSpec(
        llr=LlrSpec(
            on=any_on,
            outstanding_frames_max=known.outstanding_frames_max,
            outstanding_bytes_max=known.outstanding_bytes_max,
            replay_timer_ps=known.replay_timer,
            replay_count_max=known.replay_count_max,
            data_age_ps=known.data_age,
            pcs_lost_ps=given.get("pcs_lost", PCS_LOST_PS),
            ctlos_spacing_bytes=known.ctlos_spacing,
            init_action=FrameAction[given.get("init_action", "block").upper()],
            flush_action=FrameAction[given.get("flush_action", "block").upper()],
            after_flush=AfterFlush.RE_INIT if given.get("re_init_on_flush", False) else AfterFlush.STAY_DOWN,
            first_seq=given.get("first_seq", 0),
            # a port without LLR beside others with it: nothing of it is eligible, and there is no handshake to wait for
            start=LinkStart.INIT if on else LinkStart.READY,
            eligible_vcs=given.get("eligible", ALL_VCS) if on else 0,
        ),
        flow_control=FlowControl.CBFC if given.get("cbfc", True) else FlowControl.NONE,
        cbfc=CbfcSpec(
            credit_bytes=known.credit_size,
            overhead_bytes=known.packet_overhead,
            cf_spacing_bytes=known.cf_spacing,
            cc_interval_ps=given.get("cc_interval", _cc_interval_ps(case)),
            limits=tuple(stated.get(vc, otherwise) for vc in range(vcs)),
            pool=given.get("port_credit_limit"),
            lossless_vcs=given.get("lossless", ALL_VCS),
        ),
        vcs=vcs,
        dscp_map=tuple(sorted(given.get("dscp_map", {}).items())),
        pcp_map=tuple(sorted(given.get("pcp_map", {}).items())),
    )


def _cc_interval_ps(case: Case) -> int:
    """Return the interval of CC_UPDATEs where none is given: 256 us in a case that speaks of them, else they are off."""
    spoken = any(fault.cc_update is not None for fault in case.faults) or any(
        (wanted.counter or "").startswith("CC_UPDATE") for wanted in case.expect
    )
    return cbfc.CC_INTERVAL_PS if spoken else 0


def _vcs(case: Case) -> int:
    """Return the VCs of the bench's links: as stated, else as many as the case names, four at least."""
    named: list[int] = [flow.vc for flow in case.traffic if flow.vc is not None]
    named += [fault.vc for fault in case.faults if fault.vc is not None]
    for name in port_names(TESTERS_MAX):
        given = _settings(case, name)
        named += [vc for key in ("dscp_map", "pcp_map") for vc in given.get(key, {}).values()]
        named += given.get("credit_limit", {})
        for key in ("eligible", "lossless"):
            mask = given.get(key, ALL_VCS)
            if mask != ALL_VCS:
                named.append(mask.bit_length() - 1)
    for wanted in case.expect:
        if wanted.vc is not None:
            named.append(wanted.vc.bit_length() - 1)
    needed, stated = max([VCS_MIN, *(vc + 1 for vc in named)]), case.topology.vcs
    if stated is not None and needed > stated:
        text = f"VC {needed - 1} is named, the links have {stated}"
        raise InputError([Problem(text, f"topology.vcs: {needed}, or lower VCs", key="topology.vcs")])
    return int(needed if stated is None else stated)


def _flow(flow: Flow, size_bytes: int) -> RawFlow:
    start_ps = flow.start
    return RawFlow(
        source=int(flow.source[-1]) - 1,
        destination=int(flow.destination[-1]) - 1,
        size_bytes=flow.size or size_bytes,
        frames=flow.frames or 0,
        start_ps=start_ps,
        end_ps=start_ps + flow.duration if flow.duration is not None else NEVER_PS,
        rate_ppm=flow.rate,
        marks=Marks(
            vc=-1 if flow.vc is None else flow.vc,
            dscp=-1 if flow.dscp is None else flow.dscp,
            pcp_dei=-1 if flow.pcp is None else 2 * flow.pcp + (flow.dei or 0),
        ),
        mark=Mark.BY_VC if flow.eligible is None else (Mark.ELIGIBLE if flow.eligible else Mark.INELIGIBLE),
    )


def _faults(case: Case, names: list[str], size_bytes: int) -> Iterator[FaultRow]:
    for fault in case.faults:
        port = fault.port
        if fault.direction == "receive":
            port = peer_of(port)
        for kind, arg in _actions(case, fault, size_bytes):
            yield FaultRow(fault.at, names.index(port), kind, arg, -1 if fault.vc is None else fault.vc)


def _actions(case: Case, fault: Fault, size_bytes: int) -> Iterator[tuple[FaultKind, int]]:
    """Yield the rows of the fault table that an entry stands for: kind and argument."""
    for numbers, kind in (
        (fault.lose, FaultKind.LOSE_FRAME),
        (fault.bad_crc, FaultKind.CORRUPT_FRAME),
        (fault.poison, FaultKind.POISON_FRAME),
        (fault.skip_sequence, FaultKind.SKIP_SEQUENCE),
    ):
        for number in numbers or ():
            yield kind, number
    if fault.frame_loss is not None:
        yield FaultKind.LOSS_RATE, threshold_of(fault.frame_loss)
    if fault.ber is not None:
        yield FaultKind.LOSS_RATE, threshold_of(_frame_loss(case, fault, size_bytes))
    if fault.ack is not None:
        kinds = {"pause": FaultKind.ACK_PAUSE, "freeze": FaultKind.ACK_FREEZE, "resume": FaultKind.ACK_RESUME}
        yield kinds[fault.ack], -1 if fault.sequence is None and fault.ack == "freeze" else fault.sequence or 0
    if fault.delay_ctlos is not None:
        yield FaultKind.DELAY_SETS, fault.delay_ctlos
    if fault.lose_ctlos is not None:
        yield FaultKind.LOSE_SETS, threshold_of(fault.lose_ctlos)
    if fault.cc_update is not None:
        yield (FaultKind.CC_STOP if fault.cc_update == "stop" else FaultKind.CC_RESUME), 0
    if fault.drain is not None:
        yield FaultKind.DRAIN, -1 if fault.drain < 0 else case.topology.rate * fault.drain // PPM
    if fault.link is not None:
        yield (FaultKind.LINK_DOWN if fault.link == "down" else FaultKind.LINK_UP), 0
    if fault.line_rate is not None:
        yield FaultKind.RATE, fault.line_rate


def _frame_loss(case: Case, fault: Fault, size_bytes: int) -> float:
    """Return the share of frames that FEC leaves with errors (`protocol.fec_loss`)."""
    line, depth = LineErrors(fault.ber or 0.0), usual_depth(case.topology.rate)
    return frame_loss(_FEC[fault.fec or "rs544"], line, size_bytes + WIRE_EXTRA_BYTES, depth)


def _moments(case: Case) -> set[int]:
    """Return the times at which expectations read counters."""
    moments = set()
    for wanted in case.expect:
        if wanted.at is not None:
            moments.add(wanted.at)
        if wanted.between is not None:
            moments.update(wanted.between)
    return moments
