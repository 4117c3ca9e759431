"""Settings of links as pydantic models: LLR, CBFC, PFC. A setting that is None is computed for each link (`protocol.limits`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .. import units
from ..fabric.buffers import MAX_CREDITS
from ..protocol.limits import (
    CC_INTERVAL_PS,
    CF_SPACING_BYTES,
    CF_SPACING_LEAST_BYTES,
    CREDIT_BYTES,
    CTLOS_SPACING_BYTES,
    OUTSTANDING_BYTES_MAX,
    REFRESH_BYTES,
    REPLAY_COUNT_MAX,
    SEQUENCE_HALF,
)
from ..protocol.profile import VCS
from .entries import Model
from .quantities import (
    Faults,
    Limited,
    OnOff,
    PositiveSize,
    PositiveTime,
    SignedSizeBytes,
    SizeBytes,
    TimePs,
    fault,
    within,
)

PAUSE_QUANTA_MAX = 65_535  # pub: IEEE 802.3 Annex 31B

ActionWord = Literal["block", "discard", "best_effort"]


def _check_vcs(value: list[int]) -> list[int]:
    for vc in value:
        if not 0 <= vc < VCS:
            raise fault(f"names VC {vc}", f"VCs 0 .. {VCS - 1}")
    if len(set(value)) < len(value):
        raise fault("names a VC twice", "each VC once")
    return sorted(value)


VcList = Annotated[list[int], AfterValidator(Limited(_check_vcs, f"VCs 0 to {VCS - 1}"))]


def _check_overhead(value: int) -> int:
    if not -16 <= value <= 127:
        raise fault("is out of range", "-16B .. 127B")
    return value


def _check_credits(value: list[int]) -> list[int]:
    if len(value) != VCS or not all(1 <= credits <= MAX_CREDITS for credits in value):
        raise fault("is out of range" if len(value) == VCS else f"has {len(value)} entries", _CREDITS)
    return value


_CREDITS = f"{VCS} numbers, 1 to {MAX_CREDITS} each"


class Llr(Model):
    """Link-layer retry of every link; what is not written is computed for each link, from its rate and cable."""

    enabled: OnOff = Field(True, description="Whether links send lost frames again.")
    frames_max: int | None = Field(
        None, ge=1, le=SEQUENCE_HALF - 1, description="Frames that a port keeps until they are acknowledged, at most."
    )
    bytes_max: Annotated[SizeBytes, within("64B", f"{OUTSTANDING_BYTES_MAX}B", units.parse_size_bytes)] | None = Field(
        None, description="Bytes that a port keeps until they are acknowledged, at most."
    )
    replay_timer: PositiveTime | None = Field(
        None, description="Time without an acknowledgement after which all that is outstanding is sent again."
    )
    replay_count: int = Field(
        REPLAY_COUNT_MAX, ge=0, le=255, description="Replays without progress before the link gives up; 255 = no limit."
    )
    data_age: TimePs | None = Field(None, description="Age of the oldest kept frame at which the link gives up; 0ps = off.")
    pcs_lost: TimePs | None = Field(None, description="Time without a signal after which the link gives up; 0ps = off.")
    spacing: Annotated[SizeBytes, within("400B", "16384B", units.parse_size_bytes)] = Field(
        CTLOS_SPACING_BYTES, description="Line time between two ACK ordered sets, as bytes."
    )
    init_action: ActionWord = Field("block", description="What becomes of new frames while the link shakes hands.")
    flush_action: ActionWord = Field("block", description="What becomes of new frames after the link has given up.")
    re_init_on_flush: OnOff = Field(False, description="Whether a link that has given up shakes hands again at once.")
    start: Literal["ready", "init"] = Field(
        "ready", description="How links stand at 0 ps: handshakes are over, or begin with INIT."
    )
    eligible_vcs: VcList | None = Field(None, description="VCs whose frames are retried; default: all.")

    @model_validator(mode="after")
    def _nothing_unread(self) -> Llr:
        faults = Faults()
        if not self.enabled:
            for key in sorted(self.model_fields_set - {"enabled"}):
                faults.add(key, "is read by nothing, LLR is off", "enabled: on")
        if self.re_init_on_flush and self.flush_action != "block" and "flush_action" in self.model_fields_set:
            faults.add("flush_action", "is read by nothing, 're_init_on_flush' leaves FLUSH at once", "one of the two")
        faults.raise_any()
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_read(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return dict(dump(self)) if self.enabled else {"enabled": False}


class Cbfc(Model):
    """Credit-based flow control of every link."""

    credit: Annotated[SizeBytes, within("32B", "2048B", units.parse_size_bytes)] = Field(
        CREDIT_BYTES, description="Bytes of one credit."
    )
    overhead: Annotated[SignedSizeBytes, AfterValidator(Limited(_check_overhead, "-16B .. 127B"))] = Field(
        0, description="Bytes added to each packet before it is counted in credits, -16B .. 127B."
    )
    cf_spacing: Annotated[SizeBytes, within(f"{CF_SPACING_LEAST_BYTES}B", "1073741824B", units.parse_size_bytes)] = Field(
        CF_SPACING_BYTES, description="Line time between two CF_UPDATEs, as bytes."
    )
    refresh: Annotated[SizeBytes, within(f"{CF_SPACING_LEAST_BYTES}B", "1073741824B", units.parse_size_bytes)] = Field(
        REFRESH_BYTES, description="Line time after which each VC is told again, as bytes."
    )
    cc_interval: TimePs = Field(
        CC_INTERVAL_PS, description="Time between two CC_UPDATEs, which bring lost credits back; 0ps = none."
    )
    credits: Annotated[list[int], AfterValidator(Limited(_check_credits, _CREDITS))] | None = Field(
        None, description="Credits of VC 0, 1, 2, 3 that every port grants; default: what the receive buffer holds."
    )
    pool: int | None = Field(
        None, ge=1, le=MAX_CREDITS, description="Credits that all VCs of a port share, beside their own; default: no such limit."
    )
    lossless_vcs: VcList | None = Field(
        None, description="VCs that wait for credits; frames of the others are dropped where there is no room; default: all."
    )


class Pfc(Model):
    """Priority-based flow control of every link, instead of credits; what is not written follows from buffer, rate and cable."""

    xoff: PositiveSize | None = Field(None, description="Bytes of a VC in the receive buffer at which its sender is paused.")
    xon: SizeBytes | None = Field(None, description="Bytes of a VC in the receive buffer at which its sender may go on.")
    quanta: int | None = Field(
        None, ge=1, le=PAUSE_QUANTA_MAX, description="Length of a pause, in quanta of 512 bit times; the longest is 65535."
    )

    @model_validator(mode="after")
    def _in_order(self) -> Pfc:
        faults = Faults()
        if self.xoff is not None and self.xon is not None and self.xon > self.xoff:
            faults.add("xon", f"is above 'xoff', {units.exact_size(self.xoff)}", f"at most {units.exact_size(self.xoff)}")
        faults.raise_any()
        return self
