"""A conformance case as pydantic models: what may stand where in its file. ``docs/conformance.md`` says what each key does.

The models hold integers (ps, bytes, bits/s, parts a million) once read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from .. import units
from ..errors import UnitError
from ..fabric.timing import PORT_RATES_BPS
from ..protocol import limits
from ..protocol.llr import SEQUENCE_BITS
from ..scenario.paths import near_miss
from ..scenario.quantities import Faults, Number, OnOff, fault
from .expressions import Expression, ExpressionError, parse_expression
from .measures import FLOW_MEASURES, PORT_COUNTERS, RX_STATES, STATES, TX_STATES, VC_COUNTERS, WINDOWED, Unit, per_vc
from .quantities import (
    PPM,
    VCS_MAX,
    FrameNumbers,
    LengthMm,
    PercentPpm,
    Probability,
    RateBps,
    SizeBytes,
    TimePs,
    VcMask,
    between,
    read_percent,
    whole,
)

FRAME_MIN_BYTES, FRAME_MAX_BYTES = 64, 9_217  # the link's 9216 and the 9217 of sizes "all"
ALL_SIZES = tuple(
    sorted(
        {
            size + step
            for size in (64, 128, 256, 512, 1518, 2048, 4096, 9216)
            for step in (-1, 0, 1)
            if FRAME_MIN_BYTES <= size + step <= FRAME_MAX_BYTES
        }
    )
)
TESTERS_MAX = 4
PORTS = tuple(f"{side}{number}" for side in ("tester", "dut") for number in range(1, TESTERS_MAX + 1))
GROUPS = ("all", "dut", "testers")
PROFILES = tuple(f"{sample.rate_bps // 10**9}G-{sample.reach_mm // 1000}m" for sample in limits.SAMPLE_PROFILES)
SWITCH_LATENCY_PS = 150_000  # sib: the budget's 250 ns without the switch's own PHYs, 100 ns, which here are on its cables
_TIME_MAX_PS = 10**12  # 1 s
_time = between(0, _TIME_MAX_PS, "0 .. 1s")
_size = between(FRAME_MIN_BYTES, FRAME_MAX_BYTES, f"{FRAME_MIN_BYTES} .. {FRAME_MAX_BYTES} bytes")


class Model(BaseModel):
    """Base of all: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, validate_default=False, arbitrary_types_allowed=True)


def unknown(message: str, value: object, allowed: Collection[str]) -> PydanticCustomError:
    """Return the fault of an unknown word: with its near miss, or all that it could be."""
    near = near_miss(value, allowed)
    return fault(message, "" if near else "one of " + ", ".join(allowed), near)


def _word(allowed: tuple[str, ...], what: str) -> AfterValidator:
    def check(value: str) -> str:
        if value not in allowed:
            raise unknown(f"'{value}' is no {what}", value, allowed)
        return value

    return AfterValidator(check)


Tester = Annotated[str, _word(PORTS[:TESTERS_MAX], "tester")]
Port = Annotated[str, _word(PORTS, "port")]


def _check_rate(value: int) -> int:
    if value not in PORT_RATES_BPS:
        raise fault("is no port rate", "one of " + ", ".join(units.exact_rate(rate) for rate in PORT_RATES_BPS))
    return value


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _check_id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise fault("is no id", "1 .. 64 letters, digits, '.', '_', '-'")
    return value


def _check_flow_name(value: str) -> str:
    if not _NAME.fullmatch(value) or value in PORTS:
        raise fault("is no name of a flow", "a letter, then letters, digits, '_', and no port's name")
    return value


FlowName = Annotated[str, AfterValidator(_check_flow_name)]


class Topology(Model):
    """The bench: testers, each on its own port of the device under test."""

    testers: Literal[2, 4] = 2
    rate: Annotated[RateBps, AfterValidator(_check_rate)] = 800 * 10**9
    cable: Annotated[LengthMm, between(0, 10**7, "0 .. 10km")] = 3_000
    phy: Annotated[TimePs, between(0, 10**7, "0 .. 10us")] = limits.PHY_PS
    switch_latency: Annotated[TimePs, between(0, 10**8, "0 .. 100us")] = SWITCH_LATENCY_PS
    limits_for: Annotated[LengthMm, between(0, 10**7, "0 .. 10km")] | None = None
    vcs: whole(4, VCS_MAX) | None = None  # type: ignore[valid-type]


def _read_limits(value: object) -> dict[int, int]:
    """Credits by VC; -1 = every VC."""
    expected = f"credits 1 .. {_CREDITS_MAX}, or credits by VC such as {{0: 512, 1: 64}}"
    items = value if isinstance(value, dict) else {"-1": value}
    result = {}
    for vc, credits in items.items():
        number = int(vc) if re.fullmatch(r"-1|[0-9]{1,2}", str(vc)) else VCS_MAX
        if number >= VCS_MAX or (number < 0 and isinstance(value, dict)):
            raise fault(f"'{vc}' is no VC", expected)
        if not isinstance(credits, int) or isinstance(credits, bool) or not 1 <= credits <= _CREDITS_MAX:
            raise fault("is no number of credits" if not isinstance(value, dict) else f"VC {vc}: no number of credits", expected)
        result[number] = credits
    if not result:
        raise fault("names no VC", expected)
    return result


_CREDITS_MAX = 32_767
_CODE_POINT = re.compile(r"([0-9]{1,2})(?:/([01]))?")


def _read_map(points: int, what: str, example: str, dei: bool) -> BeforeValidator:
    expected = f"VC by {what}, such as {example}"

    def read(value: object) -> dict[int, int]:
        if not isinstance(value, dict):
            raise fault("is no mapping", expected)
        result: dict[int, int] = {}
        for point, vc in value.items():
            match = _CODE_POINT.fullmatch(str(point))
            number = int(match.group(1)) if match else points
            if match is None or number >= points or (match.group(2) and not dei):
                raise fault(f"'{point}' is no {what}", expected)
            if not isinstance(vc, int) or isinstance(vc, bool) or not 0 <= vc < VCS_MAX:
                raise fault(f"{what} {point} has no VC", expected)
            if not dei:
                result[number] = vc
            else:
                for bit in (0, 1) if match.group(2) is None else (int(match.group(2)),):
                    result[2 * number + bit] = vc
        return result

    return BeforeValidator(read)


DscpMap = Annotated[dict[int, int], _read_map(64, "DSCP", "{46: 1, 10: 2}", False)]
PcpMap = Annotated[dict[int, int], _read_map(8, "PCP", "{3: 1, 5/0: 2, 5/1: 3}", True)]
CreditLimit = Annotated[dict[int, int], BeforeValidator(_read_limits)]
Action = Literal["block", "discard", "best_effort"]


class PortSettings(Model):
    """What a port is told of its link."""

    llr: OnOff | None = None
    profile: Annotated[str, _word(PROFILES, "sample profile")] | None = None
    outstanding_frames_max: whole(1, (1 << SEQUENCE_BITS - 1) - 1) | None = None  # type: ignore[valid-type]
    outstanding_bytes_max: Annotated[SizeBytes, between(64, 1 << 30, "64 B .. 1 GiB")] | None = None
    replay_timer: Annotated[TimePs, between(1, _TIME_MAX_PS, "1ps .. 1s")] | None = None
    replay_count_max: whole(0, 255) | None = None  # type: ignore[valid-type]
    data_age: Annotated[TimePs, _time] | None = None
    pcs_lost: Annotated[TimePs, _time] | None = None
    ctlos_spacing: Annotated[SizeBytes, between(400, 16_384, "400B .. 16384B")] | None = None
    init_action: Action | None = None
    flush_action: Action | None = None
    re_init_on_flush: OnOff | None = None
    first_seq: whole(0, (1 << SEQUENCE_BITS) - 1) | None = None  # type: ignore[valid-type]
    eligible: VcMask | None = None
    cbfc: OnOff | None = None
    credit_size: Annotated[SizeBytes, between(32, 2_048, "32B .. 2048B")] | None = None
    packet_overhead: whole(-16, 127) | None = None  # type: ignore[valid-type]
    credit_limit: CreditLimit | None = None
    port_credit_limit: whole(1, _CREDITS_MAX) | None = None  # type: ignore[valid-type]
    cf_spacing: Annotated[SizeBytes, between(800, 1 << 30, "800B and up")] | None = None
    cc_interval: Annotated[TimePs, _time] | None = None
    lossless: VcMask | None = None
    dscp_map: DscpMap | None = None
    pcp_map: PcpMap | None = None


class Ports(Model):
    """Settings by port; a single port's go before those of its side, those before ``all``."""

    all: PortSettings = Field(default_factory=lambda: PortSettings())
    testers: PortSettings = Field(default_factory=lambda: PortSettings())
    dut: PortSettings = Field(default_factory=lambda: PortSettings())
    tester1: PortSettings = Field(default_factory=lambda: PortSettings())
    tester2: PortSettings = Field(default_factory=lambda: PortSettings())
    tester3: PortSettings = Field(default_factory=lambda: PortSettings())
    tester4: PortSettings = Field(default_factory=lambda: PortSettings())
    dut1: PortSettings = Field(default_factory=lambda: PortSettings())
    dut2: PortSettings = Field(default_factory=lambda: PortSettings())
    dut3: PortSettings = Field(default_factory=lambda: PortSettings())
    dut4: PortSettings = Field(default_factory=lambda: PortSettings())


class Flow(Model):
    """Frames from one tester to another."""

    name: FlowName | None = None
    source: Tester
    destination: Tester
    frames: whole(1, 10**7) | None = None  # type: ignore[valid-type]
    duration: Annotated[TimePs, between(1, _TIME_MAX_PS, "1ps .. 1s")] | None = None
    size: Annotated[SizeBytes, _size] | None = None
    rate: Annotated[PercentPpm, between(1, PPM, "above 0 and up to 100 %")] = PPM
    start: Annotated[TimePs, _time] = 0
    eligible: OnOff | None = None
    vc: whole(0, VCS_MAX - 1) | None = None  # type: ignore[valid-type]
    dscp: whole(0, 63) | None = None  # type: ignore[valid-type]
    ip: Literal["ipv4", "ipv6"] | None = None
    pcp: whole(0, 7) | None = None  # type: ignore[valid-type]
    dei: whole(0, 1) | None = None  # type: ignore[valid-type]
    first_seq: whole(0, (1 << SEQUENCE_BITS) - 1) | None = None  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _whole(self) -> Flow:
        faults = Faults()
        if (self.frames is None) == (self.duration is None):
            said = "gives neither frames nor duration" if self.frames is None else "gives frames and duration"
            faults.add("", said, "one of the two")
        if self.source == self.destination:
            faults.add("destination", "is the source", "another tester")
        if self.ip is not None and self.dscp is None:
            faults.add("ip", "is read by nothing without a DSCP", "dscp beside it")
        if self.dei is not None and self.pcp is None:
            faults.add("dei", "is read by nothing without a PCP", "pcp beside it")
        for key in ("dscp", "pcp"):
            if self.vc is not None and getattr(self, key) is not None:
                faults.add(key, "is read by nothing, 'vc' names the VC", "one of the two")
        faults.raise_any()
        return self


def _read_drain(value: object) -> int:
    """Rate in parts a million of the line, -1 = at once."""
    return -1 if value == "at_once" else read_percent(value)


class Fault(Model):
    """Something that happens to a port at a time."""

    at: Annotated[TimePs, _time] = 0
    port: Port
    direction: Literal["send", "receive"] = "send"
    lose: FrameNumbers | None = None
    bad_crc: FrameNumbers | None = None
    poison: FrameNumbers | None = None
    skip_sequence: FrameNumbers | None = None
    frame_loss: Probability | None = None
    ber: Annotated[Number, AfterValidator(lambda value: _check_ber(value))] | None = None
    fec: Literal["none", "rs272", "rs528", "rs544"] | None = None
    ack: Literal["pause", "freeze", "resume"] | None = None
    sequence: whole(0, (1 << SEQUENCE_BITS) - 1) | None = None  # type: ignore[valid-type]
    delay_ctlos: Annotated[TimePs, _time] | None = None
    lose_ctlos: Probability | None = None
    cc_update: Literal["stop", "resume"] | None = None
    drain: Annotated[int, BeforeValidator(_read_drain), between(-1, PPM, "0 .. 100 %, or at_once")] | None = None
    vc: whole(0, VCS_MAX - 1) | None = None  # type: ignore[valid-type]
    link: Literal["down", "up"] | None = None
    line_rate: Annotated[RateBps, between(10**9, 1_600 * 10**9, "1Gb/s .. 1600Gb/s")] | None = None

    @model_validator(mode="after")
    def _one_action(self) -> Fault:
        faults = Faults()
        given = [key for key in FAULT_ACTIONS if getattr(self, key) is not None]
        if not given:
            faults.add("", "says nothing that happens", "one of " + ", ".join(FAULT_ACTIONS))
        for key in given[1:]:
            faults.add(key, f"stands beside '{given[0]}'", "one of them an entry")
        for key, beside, words in (
            ("vc", "drain", "drain"),
            ("fec", "ber", "ber"),
            ("sequence", "ack", "ack: freeze"),
        ):
            if getattr(self, key) is not None and getattr(self, beside) is None:
                faults.add(key, f"is read by nothing without '{beside}'", f"{words} beside it")
        if self.sequence is not None and self.ack in ("pause", "resume"):
            faults.add("sequence", f"is read by nothing beside 'ack: {self.ack}'", "ack: freeze")
        if self.direction == "receive" and given and given[0] not in DIRECTED_ACTIONS:
            faults.add("direction", f"is read by nothing beside '{given[0]}'", "no direction")
        faults.raise_any()
        return self


FAULT_ACTIONS = (
    "lose",
    "bad_crc",
    "poison",
    "skip_sequence",
    "frame_loss",
    "ber",
    "ack",
    "delay_ctlos",
    "lose_ctlos",
    "cc_update",
    "drain",
    "link",
    "line_rate",
)
DIRECTED_ACTIONS = ("lose", "bad_crc", "poison", "skip_sequence", "frame_loss", "ber", "delay_ctlos", "lose_ctlos", "line_rate")


def _check_ber(value: float) -> float:
    if not 0.0 <= value <= 0.25:
        raise fault("is out of range", "0 .. 0.25")
    return value


Bound = Expression | str
"""Arithmetic, or the name of a state."""


def _read_bound(value: object) -> Bound:
    expected = "a number, text with a unit, or arithmetic such as frames * credits"
    if isinstance(value, bool | list | dict) or value is None:
        raise fault("is empty" if value is None else "is no single value", expected)
    text = str(value).strip()
    if text in TX_STATES or text in RX_STATES:
        return text
    if re.fullmatch(r"[0-9.]+\s*%", text):
        text = text[:-1]
    try:
        parsed = parse_expression(text)
    except ExpressionError as error:
        raise fault(str(error), expected) from None
    for reference in parsed.references:
        _check_reference(reference.name, reference.of)
    return parsed


QUANTITIES: Mapping[str, str] = {
    "size": "bytes of a frame, DA to FCS, without a tag: of the expectation's flow, else of the first flow",
    "frames": "frames of the expectation's flow, else of the first flow; with a duration, those sent",
    "total_frames": "frames of all flows",
    "credits": "credits that one such frame takes at the expectation's port",
    "credit_size": "bytes of a credit at the port",
    "packet_overhead": "bytes added to a frame before it is counted in credits at the port",
    "outstanding_frames_max": "the port's limit of frames, given or computed",
    "outstanding_bytes_max": "the port's limit of bytes, given or computed",
    "replay_timer": "the port's replay timer, ps",
    "replay_count_max": "the port's limit of replays",
    "data_age": "the port's data age, ps",
    "ctlos_spacing": "the port's spacing of ACKs, bytes",
    "cf_spacing": "the port's spacing of CF_UPDATEs, bytes",
    "credit_limit": "credits of a VC that the port grants its peer, given or computed",
    "T": "round trip of the limits, ps",
    "line_rate": "rate of the line, bits/s",
    "link_delay": "delay of a link, one way, ps",
}
"""Names that an expectation's arithmetic may use."""


def _check_reference(name: str, of: str) -> None:
    if not of:
        if name not in QUANTITIES:
            raise unknown(f"'{name}' is no quantity", name, QUANTITIES)
    elif of in PORTS:
        known = (*PORT_COUNTERS, *VC_COUNTERS, *QUANTITIES)
        if name not in known:
            raise unknown(f"'{of}.{name}' is no counter", name, known)
    elif name not in (*FLOW_MEASURES, "size", "frames"):
        raise unknown(f"'{of}.{name}' is nothing that is measured of a flow", name, FLOW_MEASURES)


ExpectedValue = Annotated[Any, BeforeValidator(_read_bound)]
_COUNTERS = (*PORT_COUNTERS, *VC_COUNTERS, *STATES)


def _read_ports(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    names: list[str] = []
    for item in items:
        if not isinstance(item, str) or item not in (*PORTS, *GROUPS):
            shown = f"'{item}'" if isinstance(item, str | int) else "this"
            raise unknown(f"{shown} is no port", item, (*PORTS, *GROUPS))
        names.append(item)
    if not names:
        raise fault("names no port", "a port, or a list of ports")
    return tuple(names)


def _read_window(value: object) -> tuple[int, int]:
    expected = "two times, such as [10us, 20us]"
    if not isinstance(value, list) or len(value) != 2:
        raise fault("is no pair of times", expected)
    times = []
    for item in value:
        if isinstance(item, bool | list | dict) or item is None:
            raise fault("holds what is no time", expected)
        if isinstance(item, int):
            times.append(item * 1_000)
            continue
        try:
            times.append(units.parse_time_ps(str(item)))
        except UnitError as error:
            raise fault(error.reason or "holds what is no time", expected) from None
    if not 0 <= times[0] < times[1] <= _TIME_MAX_PS:
        raise fault("is no span of time", "an earlier time, then a later one, up to 1s")
    return times[0], times[1]


class Expectation(Model):
    """One thing that must hold."""

    port: Annotated[tuple[str, ...], BeforeValidator(_read_ports)] | None = None
    counter: Annotated[str, _word(_COUNTERS, "counter")] | None = None
    flow: FlowName | None = None
    measure: Annotated[str, _word(tuple(FLOW_MEASURES), "measure")] | None = None
    vc: VcMask | None = None
    at: Annotated[TimePs, _time] | None = None
    between: Annotated[tuple[int, int], BeforeValidator(_read_window)] | None = None
    equals: ExpectedValue | None = None
    at_least: ExpectedValue | None = None
    at_most: ExpectedValue | None = None
    within: PercentPpm | None = None
    note: str = ""

    @model_validator(mode="after")
    def _whole(self) -> Expectation:
        faults = Faults()
        self._check_subject(faults)
        self._check_bounds(faults)
        faults.raise_any()
        return self

    def _check_subject(self, faults: Faults) -> None:
        if self.counter is None and self.measure is None:
            faults.add("", "names nothing", "counter (with port), or measure (with or without flow)")
        if self.counter is not None and self.measure is not None:
            faults.add("measure", "stands beside 'counter'", "one of the two")
        if self.counter is not None and self.port is None:
            faults.add("counter", "names no port", "port beside it")
        if self.measure is not None and self.port is not None:
            faults.add("port", "is read by nothing beside 'measure'", "flow, or neither")
        if self.counter is not None and self.flow is not None:
            faults.add("flow", "is read by nothing beside 'counter'", "port")
        if self.vc is not None and not (self.measure == "arrived" or (self.counter is not None and per_vc(self.counter))):
            faults.add("vc", f"is read by nothing beside '{self.counter or self.measure}'", "no vc")
        if self.at is not None and self.between is not None:
            faults.add("between", "stands beside 'at'", "one of the two")
        if self.between is not None and (self.counter in STATES or (self.measure is not None and self.measure not in WINDOWED)):
            faults.add("between", f"does not go with '{self.counter or self.measure}'", "at, or neither")

    def _check_bounds(self, faults: Faults) -> None:
        given = [key for key in ("equals", "at_least", "at_most") if getattr(self, key) is not None]
        if not given:
            faults.add("", "expects nothing", "equals, at_least or at_most")
        if "equals" in given and len(given) > 1:
            faults.add(given[1], "stands beside 'equals'", "one of the two")
        if self.within is not None and "equals" not in given:
            faults.add("within", "is read by nothing without 'equals'", "equals beside it")
        states = {"LLR_TX_STATE": TX_STATES, "LLR_RX_STATE": RX_STATES}.get(self.counter or "")
        for key in given:
            bound = getattr(self, key)
            if states is not None and bound not in states:
                faults.add(key, "is no state", "one of " + ", ".join(states))
            elif states is None and isinstance(bound, str):
                faults.add(key, f"'{bound}' is a state", "a number or arithmetic")
        if states is not None and (given != ["equals"] or self.within is not None):
            faults.add("", "a state has no order", "equals alone")

    @property
    def unit(self) -> Unit:
        """What the measured value is counted in."""
        return FLOW_MEASURES[self.measure][0] if self.measure is not None else Unit.COUNT


def _read_sizes(value: object) -> tuple[int, ...]:
    expected = f"all, a size or a list of sizes, {FRAME_MIN_BYTES} .. {FRAME_MAX_BYTES} bytes"
    if value == "all":
        return ALL_SIZES
    sizes = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool | dict | list) or item is None:
            raise fault("holds what is no size", expected)
        try:
            size = item if isinstance(item, int) else units.parse_size_bytes(item)
        except UnitError as error:
            raise fault(error.reason or "holds what is no size", expected) from None
        if not FRAME_MIN_BYTES <= size <= FRAME_MAX_BYTES:
            raise fault(f"holds {size} bytes" if isinstance(value, list) else "is out of range", expected)
        sizes.append(size)
    if not sizes:
        raise fault("names no size", expected)
    return tuple(dict.fromkeys(sizes))


class Case(Model):
    """One case; the top of a file, or an entry of a list of cases."""

    scalefab: Literal[1] = 1
    id: Annotated[str, AfterValidator(_check_id)]
    part: str = ""
    name: str = ""
    topology: Topology = Field(default_factory=lambda: Topology())
    ports: Ports = Field(default_factory=lambda: Ports())
    sizes: Annotated[tuple[int, ...], BeforeValidator(_read_sizes)] = (64,)
    traffic: list[Flow] = Field(min_length=1, max_length=64)
    faults: list[Fault] = Field(default_factory=list, max_length=1_000)
    expect: list[Expectation] = Field(min_length=1, max_length=1_000)
    until: Annotated[TimePs, between(1, _TIME_MAX_PS, "1ps .. 1s")] | None = None
    idle: Annotated[TimePs, between(10**6, _TIME_MAX_PS, "1us .. 1s")] = 100_000_000
    counters_from: Literal["traffic", "link_up"] = "traffic"
    seed: whole(0, 2**31 - 1) = 1  # type: ignore[valid-type]


class CaseFile(Model):
    """A file of several cases."""

    scalefab: Literal[1] = 1
    cases: list[Case] = Field(min_length=1, max_length=1_000)
