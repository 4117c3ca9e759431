"""A conformance case as pydantic models: what may stand where in its file. ``docs/conformance.md`` says what each key does.

The models hold integers (ps, bytes, bits/s, parts a million) once read.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from .. import units
from ..errors import UnitError
from ..scenario.quantities import fault
from .expectation import Expectation
from .quantities import TimePs, between, whole
from .settings import Ports, Topology
from .traffic import Fault, Flow
from .words import ALL_SIZES, FRAME_MAX_BYTES, FRAME_MIN_BYTES, TIME_MAX_PS, Model

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _check_id(value: str) -> str:
    if not _ID.fullmatch(value):
        raise fault("is no id", "1 .. 64 letters, digits, '.', '_', '-'")
    return value


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
    until: Annotated[TimePs, between(1, TIME_MAX_PS, "1ps .. 1s")] | None = None
    idle: Annotated[TimePs, between(10**6, TIME_MAX_PS, "1us .. 1s")] = 100_000_000
    counters_from: Literal["traffic", "link_up"] = "traffic"
    seed: whole(0, 2**31 - 1) = 1  # type: ignore[valid-type]


class CaseFile(Model):
    """A file of several cases."""

    scalefab: Literal[1] = 1
    cases: list[Case] = Field(min_length=1, max_length=1_000)
