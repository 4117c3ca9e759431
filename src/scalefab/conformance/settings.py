"""A case's bench and what its ports are told, as pydantic models."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from .. import units
from ..fabric.timing import PORT_RATES_BPS
from ..protocol import limits
from ..protocol.llr import SEQUENCE_BITS
from ..scenario.quantities import OnOff, fault
from .quantities import VCS_MAX, LengthMm, RateBps, SizeBytes, TimePs, VcMask, between, whole
from .words import PROFILES, TIME_MAX_PS, Model, until_1s, word

SWITCH_LATENCY_PS = 150_000
"""Of the device under test. `sib`: the budget's 250 ns without the switch's own PHYs, 100 ns, which here are on its cables."""


def _check_rate(value: int) -> int:
    if value not in PORT_RATES_BPS:
        raise fault("is no port rate", "one of " + ", ".join(units.exact_rate(rate) for rate in PORT_RATES_BPS))
    return value


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
        for point, vc in sorted(value.items(), key=lambda entry: "/" in str(entry[0])):  # 5/1 goes before 5
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
    profile: Annotated[str, word(PROFILES, "sample profile")] | None = None
    outstanding_frames_max: whole(1, (1 << SEQUENCE_BITS - 1) - 1) | None = None  # type: ignore[valid-type]
    outstanding_bytes_max: Annotated[SizeBytes, between(64, 1 << 30, "64 B .. 1 GiB")] | None = None
    replay_timer: Annotated[TimePs, between(1, TIME_MAX_PS, "1ps .. 1s")] | None = None
    replay_count_max: whole(0, 255) | None = None  # type: ignore[valid-type]
    data_age: Annotated[TimePs, until_1s] | None = None
    pcs_lost: Annotated[TimePs, until_1s] | None = None
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
    cc_interval: Annotated[TimePs, until_1s] | None = None
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
