"""Types of single settings: text with a unit -> integers, on / off, names, words. Each knows how to say what it expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from .. import units

FAULT = "scalefab"
"""Type of the errors that our own validators raise; their context holds a list of (key, message, expected, near)."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Faults:
    """Faults of one setting or of one group of settings, raised together."""

    def __init__(self) -> None:
        self._items: list[tuple[str, str, str, str]] = []

    def add(self, key: str, message: str, expected: str = "", near: str = "") -> None:
        """Note one fault; ``key`` is relative to what is validated, "" = itself."""
        self._items.append((key, message, expected, near))

    def raise_any(self) -> None:
        """Raise what was noted, if anything was."""
        if self._items:
            raise PydanticCustomError(FAULT, "{text}", {"text": self._items[0][1], "faults": tuple(self._items)})


def fault(message: str, expected: str = "", near: str = "") -> PydanticCustomError:
    """Return the error of a single setting."""
    return PydanticCustomError(FAULT, "{text}", {"text": message, "faults": (("", message, expected, near),)})


@dataclass(frozen=True, slots=True)
class Limited:
    """A check of a value that also says in words what it lets through: messages, ``explain`` and the reference show the same."""

    check: Callable[[Any], Any]
    allowed: str

    def __call__(self, value: Any) -> Any:
        """Return the value, or raise the fault."""
        return self.check(value)


def within(low: str, high: str, parse: Callable[[object], int]) -> AfterValidator:
    """Return a validator that keeps a quantity between two limits given as text."""
    low_value, high_value = parse(low), parse(high)
    allowed = f"{low} .. {high}"

    def check(value: int) -> int:
        if not low_value <= value <= high_value:
            raise fault("is too small" if value < low_value else "is too large", allowed)
        return value

    return AfterValidator(Limited(check, allowed))


def _quantity(parse: Callable[[object], int], show: Callable[[int], str], example: str, pattern: str) -> tuple[Any, Any, Any]:
    def read(value: object) -> int:
        if isinstance(value, list | dict) or value is None:
            raise fault("is empty" if value is None else "is no single value", f"text such as {example}")
        return parse(value)

    schema = {"type": "string", "pattern": pattern, "examples": [example]}
    return BeforeValidator(read), PlainSerializer(show, return_type=str), WithJsonSchema(schema)


def _signed_size(value: object) -> int:
    if isinstance(value, str) and value.strip().startswith("-"):
        return -units.parse_size_bytes(value.strip()[1:])
    return units.parse_size_bytes(value)


def _show_signed(value: int) -> str:
    return f"{value}B"


_time = _quantity(units.parse_time_ps, units.exact_time, "250ns", units.TIME_PATTERN)
_length = _quantity(units.parse_length_mm, units.exact_length, "3m", units.LENGTH_PATTERN)
_size = _quantity(units.parse_size_bytes, units.exact_size, "64KiB", units.SIZE_PATTERN)
_signed = _quantity(_signed_size, _show_signed, "-8B", units.SIGNED_SIZE_PATTERN)
_rate = _quantity(units.parse_rate_bps, units.exact_rate, "800Gb/s", units.RATE_PATTERN)
_bandwidth = _quantity(units.parse_bandwidth_Bps, units.exact_bandwidth, "8TB/s", units.BANDWIDTH_PATTERN)

TimePs = Annotated[int, _time[0], _time[1], _time[2]]
LengthMm = Annotated[int, _length[0], _length[1], _length[2]]
SizeBytes = Annotated[int, _size[0], _size[1], _size[2]]
SignedSizeBytes = Annotated[int, _signed[0], _signed[1], _signed[2]]
RateBps = Annotated[int, _rate[0], _rate[1], _rate[2]]
BandwidthBps = Annotated[int, _bandwidth[0], _bandwidth[1], _bandwidth[2]]


def at_least(low: str, parse: Callable[[object], int]) -> AfterValidator:
    """Return a validator with a lower limit only."""
    low_value = parse(low)
    allowed = f"{low} or more"

    def check(value: int) -> int:
        if value < low_value:
            raise fault("is too small", allowed)
        return value

    return AfterValidator(Limited(check, allowed))


PositiveSize = Annotated[SizeBytes, at_least("1B", units.parse_size_bytes)]
PositiveTime = Annotated[TimePs, at_least("1ps", units.parse_time_ps)]
PositiveRate = Annotated[RateBps, at_least("1Gb/s", units.parse_rate_bps)]
PositiveBandwidth = Annotated[BandwidthBps, at_least("1MB/s", units.parse_bandwidth_Bps)]


def _read_on_off(value: object) -> object:
    """Our YAML keeps ``on`` and ``off`` as text (see `document`); here, where a switch is expected, they mean what they say."""
    if isinstance(value, str) and value.lower() in ("on", "yes", "off", "no"):
        return value.lower() in ("on", "yes")
    if not isinstance(value, bool):
        raise fault("is neither on nor off" if value is not None else "is empty", "on or off")
    return value


OnOff = Annotated[
    bool, BeforeValidator(_read_on_off), WithJsonSchema({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off", "yes", "no"]}]})
]


def _check_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise fault("is not a name", "1 .. 64 letters, digits, '.', '_', '-', no sign first")
    return value


Name = Annotated[
    str,
    AfterValidator(Limited(_check_name, "1 .. 64 letters, digits, '.', '_', '-', no sign first")),
    Field(json_schema_extra={"pattern": f"^{_NAME.pattern}$"}),
]


def _read_number(value: object) -> object:
    """YAML 1.1 does not see a number in ``1e-1``; where a number is expected, it is one."""
    if isinstance(value, str) and re.fullmatch(r"[0-9.]{1,30}[eE][-+]?[0-9]{1,3}", value):
        try:
            return float(value)
        except ValueError:
            return value
    return value


Number = Annotated[float, BeforeValidator(_read_number)]
