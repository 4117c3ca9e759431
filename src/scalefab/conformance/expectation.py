"""What must hold, as a pydantic model: counters of ports, measures of flows, and the arithmetic they are compared with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from .. import units
from ..errors import UnitError
from ..scenario.quantities import Faults, fault
from .expressions import Expression, ExpressionError, parse_expression
from .measures import FLOW_MEASURES, PORT_COUNTERS, RX_STATES, STATES, TX_STATES, VC_COUNTERS, WINDOWED, Unit, per_vc
from .quantities import PercentPpm, TimePs, VcMask
from .words import GROUPS, PORTS, TIME_MAX_PS, FlowName, Model, unknown, until_1s, word

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
            known = QUANTITIES if name != name.upper() else (*dict.fromkeys((*TX_STATES, *RX_STATES)), *QUANTITIES)
            raise unknown(f"'{name}' is no quantity" if name != name.upper() else f"'{name}' is no state", name, known)
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
    if not 0 <= times[0] < times[1] <= TIME_MAX_PS:
        raise fault("is no span of time", "an earlier time, then a later one, up to 1s")
    return times[0], times[1]


class Expectation(Model):
    """One thing that must hold."""

    port: Annotated[tuple[str, ...], BeforeValidator(_read_ports)] | None = None
    counter: Annotated[str, word(_COUNTERS, "counter")] | None = None
    flow: FlowName | None = None
    measure: Annotated[str, word(tuple(FLOW_MEASURES), "measure")] | None = None
    vc: VcMask | None = None
    at: Annotated[TimePs, until_1s] | None = None
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
