"""The user's file as pydantic models: the settings of the supernode and of the run, and the top of the file.

What may stand where, in which form, and what it means: messages, the JSON schema and the reference are made from here. The
models hold integers (ps, bytes, bits/s) once read. A setting that is None takes its value from a preset, from another setting or
from the catalogue's defaults (`complete`). `scalefab.scenario.entries` holds the workload's part.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .. import units
from ..fabric.timing import MEDIA, PORT_RATES_BPS
from .entries import Entry, Model
from .faultmodels import FaultEntry, check_ber, check_burst
from .linkmodels import Cbfc, Llr, Pfc
from .paths import near_miss
from .quantities import (
    Faults,
    LengthMm,
    Limited,
    Name,
    Number,
    OnOff,
    PositiveBandwidth,
    PositiveSize,
    PositiveTime,
    RateBps,
    SizeBytes,
    TimePs,
    fault,
    within,
)

LAYOUT_VERSION = 1

OTHER_HEADER_STACKS = ("rocev2", "sue-ip", "sue-afh1", "sue-afh2", "sue-lite", "esun", "ualink")
"""Header stacks of the open profile's section 8 that the simulator does not carry yet."""


def _check_rate(value: int) -> int:
    if value not in PORT_RATES_BPS:
        raise fault("is no port rate", "one of " + ", ".join(units.exact_rate(rate) for rate in PORT_RATES_BPS))
    return value


PortRate = Annotated[
    RateBps, AfterValidator(Limited(_check_rate, "one of " + ", ".join(units.exact_rate(rate) for rate in PORT_RATES_BPS)))
]


def _check_medium(value: str) -> str:
    if value not in MEDIA:
        raise fault("is no medium", "one of " + ", ".join(MEDIA), near_miss(value, MEDIA))
    return value


def _check_stack(value: str) -> str:
    if value == "ethlink":
        return value
    if value in OTHER_HEADER_STACKS:
        raise fault(f"header stack '{value}' is not there yet", "ethlink")
    raise fault("is no header stack", "ethlink", near_miss(value, ("ethlink", *OTHER_HEADER_STACKS)))


class Memory(Model):
    """Target memory of an endpoint."""

    bandwidth: PositiveBandwidth = Field(description="Bytes a second that all ports of the endpoint share.")
    latency: TimePs = Field(description="Time to the first byte.")
    capacity: PositiveSize = Field(description="Size of the memory.")


class Gpus(Model):
    """The endpoints of the domain: all GPUs are alike."""

    preset: str | None = Field(None, description="A row of the catalogue; every value of it can be overridden here.")
    count: int = Field(ge=2, le=1024, description="Number of GPUs; a domain has at most 1024.")
    stacks: int = Field(ge=1, le=16, description="EthLink stacks of a GPU.")
    ports_per_stack: int = Field(ge=1, le=4, description="Ports of a stack.")
    port_rate: PortRate = Field(description="Line rate of a port, one direction.")
    tx_latency: TimePs = Field(description="Transmit latency of the endpoint, from the operation to the first bit.")
    rx_latency: TimePs = Field(description="Receive latency of the endpoint, from the last bit to its memory.")
    buffer: PositiveSize = Field(description="Receive buffer per VC and port; default by port rate.")
    response_queue: PositiveSize | None = Field(
        None, description="Responses that a port holds until they are sent; default: as many bytes as the receive buffer of a VC."
    )
    memory: Memory = Field(description="The GPU's memory.")


class Switches(Model):
    """The switches that GPUs are attached to: one a plane, or with 'spine' the leaves of each plane."""

    preset: str | None = Field(None, description="A row of the catalogue; every value of it can be overridden here.")
    planes: int = Field(ge=1, le=64, description="Number of planes, each one switch, or leaves and spines.")
    ports: int = Field(ge=1, le=4096, description="Ports of a switch; default: what the preset has at this port rate.")
    port_rate: PortRate = Field(description="Line rate of a port; default: the GPUs' port rate.")
    latency: TimePs = Field(description="First bit in to first bit out, the switch's own PHYs and FEC inside.")
    buffer: PositiveSize = Field(description="Ingress buffer per VC and port; default by port rate.")
    leaves: int | None = Field(
        None,
        ge=2,
        le=1024,
        description="Leaves of a plane, beside 'spine'; default: as few as have an uplink for every port down.",
    )
    uplinks: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="Ports of a leaf that go to spines; default: one for every port down, so no oversubscription.",
    )
    uplink_paths: int | None = Field(
        None,
        ge=1,
        le=16,
        description="Uplink ids that traffic between two GPUs is spread over; default: all uplinks, at most 16.",
    )


class Cables(Model):
    """Cables: their length and medium, or the delay of a whole link."""

    length: LengthMm | None = Field(None, description="Length of a cable; default 3m.")
    medium: Annotated[str, AfterValidator(Limited(_check_medium, "one of " + ", ".join(MEDIA)))] | None = Field(
        None, description="What the cable is made of; default twinax.", json_schema_extra={"enum": [*MEDIA]}
    )
    delay: TimePs | None = Field(None, description="Delay of a whole link (cable, PHYs and FEC), instead of length and medium.")

    @model_validator(mode="after")
    def _one_way(self) -> Cables:
        faults = Faults()
        if self.delay is not None:
            for key in ("length", "medium"):
                if getattr(self, key) is not None:
                    faults.add(key, "is read by nothing, 'delay' states the whole link", "one of the two")
        faults.raise_any()
        return self


class SpineCables(Cables):
    """Cables between leaves and spines: their length and medium, or the delay of a whole link; default: as all others."""


class Spine(Model):
    """The second tier: spines that join the leaves of a plane."""

    preset: str | None = Field(None, description="A row of the catalogue; default: that of 'switches'.")
    count: int = Field(ge=1, le=4096, description="Spines of a plane; default: as few as reach all leaves and are used evenly.")
    ports: int = Field(ge=1, le=4096, description="Ports of a spine; default: what the preset has at this port rate.")
    port_rate: PortRate = Field(description="Line rate of a port; default: that of the leaves.")
    latency: TimePs = Field(description="First bit in to first bit out, the spine's own PHYs and FEC inside.")
    buffer: PositiveSize = Field(description="Ingress buffer per VC and port; default by port rate.")
    cables: SpineCables = Field(default_factory=lambda: SpineCables(), description="Cables between leaves and spines.")


class FabricSection(Model):
    """What the network is made of."""

    gpus: Gpus = Field(description="The endpoints.")
    switches: Switches = Field(description="The switches.")
    spine: Spine | None = Field(None, description="A second tier, for more GPUs than one switch reaches; default: none.")
    cables: Cables = Field(default_factory=lambda: Cables(), description="The cables.")
    fec: Literal["none", "rs272", "rs528", "rs544"] = Field("rs272", description="Forward error correction of every link.")
    ber: Annotated[Number, AfterValidator(Limited(check_ber, "0 .. 0.25"))] = Field(
        0.0, description="Bit error ratio of every link before FEC."
    )
    burst: Annotated[Number, AfterValidator(Limited(check_burst, "0 .. 0.99"))] | None = Field(
        None, description="Probability that the PAM4 symbol after a wrong one is wrong too, beside 'ber'; default 0."
    )
    fec_depth: int | None = Field(None, ge=1, le=16, description="Codeword interleave; default: the usual one for the port rate.")
    frame_max: Annotated[SizeBytes, within("128B", "9216B", units.parse_size_bytes)] = Field(
        2048, description="Largest frame, from the first header byte to the end of FCS."
    )
    header_stack: Annotated[str, AfterValidator(Limited(_check_stack, "ethlink"))] = Field(
        "ethlink", description="Headers of a frame.", json_schema_extra={"enum": ["ethlink"]}
    )
    phy_tx: TimePs | None = Field(None, description="PHY latency at the source endpoint; default 50ns.")
    phy_rx: TimePs | None = Field(None, description="PHY latency at the target endpoint; default 50ns.")
    llr: Llr = Field(default_factory=lambda: Llr(), description="Link-layer retry.")
    flow_control: Literal["cbfc", "pfc", "none"] = Field(
        "cbfc", description="What keeps senders from overrunning receive buffers: credits, pauses, or nothing."
    )
    cbfc: Cbfc = Field(default_factory=lambda: Cbfc(), description="Credit-based flow control.")
    pfc: Pfc = Field(default_factory=lambda: Pfc(), description="Priority-based flow control.")
    vc_map: Literal["profile", "one"] = Field(
        "profile", description="Which VCs traffic takes: requests, responses, bulk and control apart, or all data on VC 0."
    )
    sen: OnOff = Field(True, description="Whether switches tell endpoints of ports that go down, come up or run slower.")
    sen_congestion: OnOff = Field(False, description="Whether they tell of long queues too, and endpoints avoid paths with such.")

    @model_validator(mode="after")
    def _nothing_unread(self) -> FabricSection:
        faults = Faults()
        for key, section in (("cbfc", self.cbfc), ("pfc", self.pfc)):
            for setting in sorted(section.model_fields_set) if key != self.flow_control else ():
                faults.add(
                    f"{key}.{setting}", f"is read by nothing, 'flow_control' is {self.flow_control}", f"flow_control: {key}"
                )
        if self.sen_congestion and not self.sen:
            faults.add("sen_congestion", "is read by nothing, 'sen' is off", "sen: on")
        if self.burst is not None and not self.ber:
            faults.add("burst", "is read by nothing, 'ber' is 0", "ber beside it")
        if self.cables.delay is not None:
            for key in ("phy_tx", "phy_rx", "fec_depth"):
                if getattr(self, key) is not None and not (key == "fec_depth" and self.ber):
                    faults.add(key, "is read by nothing, 'cables.delay' states the whole link", "one of the two")
        elif self.fec == "none" and self.fec_depth is not None:
            faults.add("fec_depth", "is read by nothing, 'fec' is none", "no fec_depth")
        if self.spine is None:
            for key in ("leaves", "uplinks", "uplink_paths"):
                if getattr(self.switches, key) is not None:
                    faults.add(f"switches.{key}", "is read by nothing without a second tier", "fabric.spine beside it")
        elif self.cables.delay is not None and self.spine.cables.delay is None:
            said = "does not go with 'fabric.cables.delay', which states whole links"
            faults.add("spine.cables", said, "'delay' here too, or no cables of the spine's own")
        faults.raise_any()
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_read(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data = dict(dump(self))
        for key in {"cbfc", "pfc"} - {self.flow_control}:
            del data[key]
        return data


class RunSection(Model):
    """How the run is carried out."""

    seed: int = Field(1, ge=0, le=2**31 - 1, description="The one seed; everything random draws from named streams of it.")
    fidelity: Literal["packet", "flow"] = Field("packet", description="What is simulated: every frame, or flows at fair rates.")
    spray: Literal["hash", "round_robin", "least_queued", "single"] = Field(
        "round_robin", description="How bulk packets choose among the live paths."
    )
    pack: OnOff = Field(True, description="Whether transactions for the same target share a frame.")
    window: int = Field(1024, ge=1, le=32_767, description="Frames in flight of one sequence space.")
    ack_every: int = Field(16, ge=1, le=32_767, description="Frames after which an ACK goes alone.")
    ack_delay: PositiveTime = Field(2_000_000, description="Time after which an ACK goes alone.")
    service: int = Field(16, ge=1, le=32_767, description="Frames of one operation before a port serves the next.")
    until: TimePs = Field(0, description="Stop at this time; 0ps = run until all is done.")
    verify: Literal["memory", "off"] = Field(
        "off", description="What is checked while it runs; memory: that every segment is executed exactly once."
    )


class ScenarioFile(Model):
    """A supernode and a workload."""

    scalefab: Literal[1] = Field(description="Version of this layout.")
    name: Name = Field(description="Name of the scenario; default: the file's name.")
    fabric: FabricSection = Field(description="The network.")
    faults: list[FaultEntry] | None = Field(
        None, min_length=1, max_length=1000, description="What goes wrong on links, and when; default: nothing."
    )
    workload: list[Entry] = Field(min_length=1, max_length=1000, description="What the network is asked to do, in order.")
    run: RunSection = Field(default_factory=lambda: RunSection(), description="Options of the run.")
