"""The faults of the user's file as pydantic models: one entry = one kind of fault, where it happens, from when to when."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from ..protocol.fec_loss import MAX_BER
from ..protocol.profile import VCS
from .entries import Model
from .quantities import Faults, Limited, Number, OnOff, PositiveRate, PositiveTime, RateBps, TimePs, fault

FAULT_KINDS = (
    "down",
    "flap",
    "random",
    "drain",
    "ber",
    "loss",
    "lose_frame",
    "corrupt_frame",
    "poison_frame",
    "lose_sets",
    "delay_sets",
    "lanes",
    "rate",
    "slow_receiver",
    "ack_pause",
)
SINGLE_FRAME = ("lose_frame", "corrupt_frame", "poison_frame")
PLACES = ("link", "node", "all")
FLAPS_MAX = 100_000  # own: of one entry

_LANES = re.compile(r"\s*([0-9]{1,2})\s+of\s+([0-9]{1,2})\s*")
_LANES_PATTERN = r"^\s*[0-9]{1,2}\s+of\s+[0-9]{1,2}\s*$"


def check_ber(value: float) -> float:
    """Keep a bit error ratio within what the error model takes (`protocol.fec_loss.LineErrors`)."""
    if not 0.0 <= value <= MAX_BER:
        raise fault("is out of range", "0 .. 0.25")
    return value


def check_burst(value: float) -> float:
    """Keep the probability of an error after an error below 1, where a wrong symbol would never end."""
    if not 0.0 <= value <= 0.99:
        raise fault("is out of range", "0 .. 0.99")
    return value


def _check_probability(value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise fault("is out of range", "0 .. 1")
    return value


Probability = Annotated[Number, AfterValidator(Limited(_check_probability, "0 .. 1"))]


def lanes_of(text: str) -> tuple[int, int]:
    """Return (lanes that work, lanes) of ``2 of 4``."""
    match = _LANES.fullmatch(text)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def _check_lanes(value: object) -> object:
    left, lanes = lanes_of(value) if isinstance(value, str) else (0, 0)
    if not 0 < left < lanes:
        raise fault("is no share of a port's lanes", "fewer than all and one at least, such as '2 of 4'")
    return value


Lanes = Annotated[
    str,
    BeforeValidator(_check_lanes),
    AfterValidator(Limited(lambda value: value, "such as 2 of 4")),
    WithJsonSchema({"type": "string", "pattern": _LANES_PATTERN, "examples": ["2 of 4"]}),
]


def _read_names(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _check_names(value: list[str]) -> list[str]:
    if not value:
        raise fault("names nothing", "at least one name")
    for name in value:
        if len(name) > 100 or not name.isprintable():
            raise fault("holds a name that nothing has", "names such as gpu3.port0")
    return value


Names = Annotated[
    list[str],
    BeforeValidator(_read_names),
    AfterValidator(_check_names),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}),
]


class Flap(Model):
    """A link that goes down and comes up again and again."""

    period: PositiveTime = Field(description="From one loss of the link to the next.")
    down: PositiveTime = Field(description="How long the link is down each time; shorter than the period.")
    count: int | None = Field(
        None, ge=1, le=FLAPS_MAX, description="How often it goes down; default: as often as fits before 'until'."
    )

    @model_validator(mode="after")
    def _in_order(self) -> Flap:
        faults = Faults()
        if self.down >= self.period:
            faults.add("down", "is no shorter than the period", "a part of the period")
        faults.raise_any()
        return self


class RandomFaults(Model):
    """Links or switches that go down at random times and come up again."""

    every: PositiveTime = Field(description="Mean time from one to the next, of all places together.")
    down: PositiveTime = Field(description="How long each is down.")
    of: Literal["links", "switches"] = Field("links", description="What goes down at a time: a link, or all links of a switch.")
    seed: int | None = Field(None, ge=0, le=2**31 - 1, description="Seed of times and places; default: run.seed.")


class FaultEntry(Model):
    """One fault: exactly one kind, at one place, from a time on."""

    at: TimePs = Field(0, description="When it begins.")
    until: TimePs | None = Field(None, description="When it is over; default: never. Not for single frames.")
    link: Names | None = Field(
        None,
        description="The link, by one of its ports, or by both ends with an arrow in frames' direction; or a list of links.",
    )
    node: Names | None = Field(
        None, description="All links of a node or of a whole plane, or of a list of them, instead of 'link'."
    )
    all: OnOff | None = Field(None, description="All links of the domain, instead of 'link'.")
    down: OnOff | None = Field(None, description="The link carries nothing, in both directions.")
    flap: Flap | None = Field(None, description="The link goes down and comes up again and again.")
    random: RandomFaults | None = Field(None, description="Links or switches go down at random times and come up again.")
    drain: PositiveTime | None = Field(
        None, description="Planned: switches tell of it, paths leave the link, and so much later it goes down."
    )
    ber: Annotated[Number, AfterValidator(Limited(check_ber, "0 .. 0.25"))] | None = Field(
        None, description="Bit error ratio before FEC, in place of the fabric's."
    )
    burst: Annotated[Number, AfterValidator(Limited(check_burst, "0 .. 0.99"))] | None = Field(
        None, description="Probability that the PAM4 symbol after a wrong one is wrong too, beside 'ber'; default 0."
    )
    loss: Probability | None = Field(None, description="Probability that a frame arrives with a wrong FCS, whatever its length.")
    lose_frame: int | None = Field(None, ge=1, le=2**31 - 1, description="The so many-th new frame does not arrive, once.")
    corrupt_frame: int | None = Field(
        None, ge=1, le=2**31 - 1, description="The so many-th new frame arrives with a wrong FCS, once."
    )
    poison_frame: int | None = Field(
        None, ge=1, le=2**31 - 1, description="The so many-th new frame carries a poisoned FCS, whenever it is sent."
    )
    lose_sets: Probability | None = Field(None, description="Probability that an ordered set (ACK, NACK, CF_UPDATE) is lost.")
    delay_sets: PositiveTime | None = Field(None, description="So much later ordered sets arrive.")
    lanes: Lanes | None = Field(None, description="Lanes of the port that still work.")
    rate: PositiveRate | None = Field(None, description="Line rate that is left.")
    slow_receiver: RateBps | None = Field(
        None, description="Rate at which a GPU's port empties its receive buffer; 0Gb/s = not at all."
    )
    vc: int | None = Field(
        None, ge=0, le=VCS - 1, description="VC that the receiver is slow on, beside 'slow_receiver'; default: all."
    )
    ack_pause: OnOff | None = Field(None, description="No ACK and no NACK is sent in this direction.")

    @model_validator(mode="after")
    def _one_of_each(self) -> FaultEntry:
        faults = Faults()
        kinds = [kind for kind in FAULT_KINDS if getattr(self, kind) is not None]
        places = [place for place in PLACES if getattr(self, place) is not None]
        if len(kinds) != 1:
            said = f"holds several faults at once ({', '.join(kinds)})" if kinds else "holds no fault"
            faults.add("", said, "one entry each" if kinds else "exactly one of " + ", ".join(FAULT_KINDS))
        if len(places) != 1:
            said = f"says where more than once ({', '.join(places)})" if places else "says nowhere"
            faults.add("", said, "exactly one of " + ", ".join(PLACES))
        for key in ("all", "down", "ack_pause"):
            if getattr(self, key) is False:
                faults.add(key, "says nothing when it is off", "on, or no such line")
        for key, beside in (("burst", "ber"), ("vc", "slow_receiver")):
            if getattr(self, key) is not None and beside not in kinds:
                faults.add(key, f"is read by nothing without '{beside}'", f"{beside} beside it")
        self._check_end(faults, kinds)
        faults.raise_any()
        return self

    def _check_end(self, faults: Faults, kinds: list[str]) -> None:
        if self.until is not None:
            if set(kinds) & set(SINGLE_FRAME):
                faults.add("until", "is read by nothing, a frame is met once", "no until")
            elif self.until <= self.at:
                faults.add("until", "is not after 'at'", "a later time")
        if self.random is not None and self.until is None:
            faults.add("until", "is missing, random faults have no end of their own", "when the last one is over")
        if self.drain is not None and self.until is not None and self.at < self.until <= self.at + self.drain:
            faults.add("until", "comes before the link goes down, at 'at' + 'drain'", "a later time")
        if self.flap is not None:
            if self.flap.count is None and self.until is None:
                faults.add("flap.count", "is missing, and so is 'until'", "one of the two")
            elif self.flap.count is not None and self.until is not None:
                faults.add("until", "is read by nothing, 'flap.count' says how often", "one of the two")

    @property
    def kind(self) -> str:
        """Which kind of fault this is."""
        return next(kind for kind in FAULT_KINDS if getattr(self, kind) is not None)

    @property
    def value(self) -> Any:
        """Its value."""
        return getattr(self, self.kind)
