"""What testers send and what goes wrong, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, model_validator

from ..protocol.llr import SEQUENCE_BITS
from ..scenario.quantities import Faults, Number, OnOff, fault
from .quantities import (
    PPM,
    VCS_MAX,
    FrameNumbers,
    PercentPpm,
    Probability,
    RateBps,
    SizeBytes,
    TimePs,
    between,
    read_percent,
    whole,
)
from .words import TIME_MAX_PS, FlowName, Model, Port, Tester, frame_size, until_1s


class Flow(Model):
    """Frames from one tester to another."""

    name: FlowName | None = None
    source: Tester
    destination: Tester
    frames: whole(1, 10**7) | None = None  # type: ignore[valid-type]
    duration: Annotated[TimePs, between(1, TIME_MAX_PS, "1ps .. 1s")] | None = None
    size: Annotated[SizeBytes, frame_size] | None = None
    rate: Annotated[PercentPpm, between(1, PPM, "above 0 and up to 100 %")] = PPM
    start: Annotated[TimePs, until_1s] = 0
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


def _check_ber(value: float) -> float:
    if not 0.0 <= value <= 0.25:
        raise fault("is out of range", "0 .. 0.25")
    return value


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


def _read_drain(value: object) -> int:
    """Rate in parts a million of the line, -1 = at once."""
    return -1 if value == "at_once" else read_percent(value)


class Fault(Model):
    """Something that happens to a port at a time."""

    at: Annotated[TimePs, until_1s] = 0
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
    delay_ctlos: Annotated[TimePs, until_1s] | None = None
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
        if self.drain is not None and self.port.startswith("dut"):
            faults.add("port", f"'{self.port}' forwards what it gets, it has no drain", "a tester, or line_rate")
        if self.sequence is not None and self.ack in ("pause", "resume"):
            faults.add("sequence", f"is read by nothing beside 'ack: {self.ack}'", "ack: freeze")
        if self.direction == "receive" and given and given[0] not in DIRECTED_ACTIONS:
            faults.add("direction", f"is read by nothing beside '{given[0]}'", "no direction")
        faults.raise_any()
        return self
