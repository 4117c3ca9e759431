"""Words and base types of case files: ports, sizes, names, and how an unknown word is told."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from ..protocol import limits
from ..scenario.paths import near_miss
from ..scenario.quantities import fault
from .quantities import between

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
TIME_MAX_PS = 10**12  # 1 s
until_1s = between(0, TIME_MAX_PS, "0 .. 1s")
frame_size = between(FRAME_MIN_BYTES, FRAME_MAX_BYTES, f"{FRAME_MIN_BYTES} .. {FRAME_MAX_BYTES} bytes")


class Model(BaseModel):
    """Base of all: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, validate_default=False, arbitrary_types_allowed=True)


def unknown(message: str, value: object, allowed: Collection[str]) -> PydanticCustomError:
    """Return the fault of an unknown word: with its near miss, or all that it could be."""
    near = near_miss(value, allowed)
    return fault(message, "" if near else "one of " + ", ".join(allowed), near)


def word(allowed: tuple[str, ...], what: str) -> AfterValidator:
    """Return a validator that lets only some words through; ``what`` they are."""

    def check(value: str) -> str:
        if value not in allowed:
            raise unknown(f"'{value}' is no {what}", value, allowed)
        return value

    return AfterValidator(check)


Tester = Annotated[str, word(PORTS[:TESTERS_MAX], "tester")]
Port = Annotated[str, word(PORTS, "port")]


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")


def _check_flow_name(value: str) -> str:
    if not _NAME.fullmatch(value) or value in PORTS:
        raise fault("is no name of a flow", "a letter, then letters, digits, '_', and no port's name")
    return value


FlowName = Annotated[str, AfterValidator(_check_flow_name)]
