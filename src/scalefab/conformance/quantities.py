"""Types of single settings of a case: as in scenarios, but a bare number is taken in the documented unit too."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from .. import units
from ..errors import UnitError
from ..scenario.quantities import Limited, fault

PPM = 1_000_000
VCS_MAX = 32
_PERCENT = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%?\s*", re.ASCII)
_SPAN = re.compile(r"\s*([0-9]{1,9})\s*(?:-|\.\.)\s*([0-9]{1,9})\s*", re.ASCII)
_NUMBERS_MAX = 10_000


def _refuse(value: object, expected: str) -> None:
    if isinstance(value, bool | list | dict) or value is None:
        raise fault("is empty" if value is None else "is no single value", expected)


def _bare(parse: Callable[[object], int], factor: int, unit: str, example: str) -> BeforeValidator:
    """Return a reader of a quantity as text, or of a bare number in ``unit``."""
    expected = f"a number of {unit}, or text such as {example}"

    def read(value: object) -> int:
        _refuse(value, expected)
        if isinstance(value, int | float):
            exact = Fraction(str(value)) * factor
            if exact < 0 or exact.denominator != 1 or exact >= 1 << 62:
                raise fault("is out of range", expected)
            return int(exact)
        text = str(value)
        try:
            return parse(text)
        except UnitError as error:
            raise fault(error.reason or "cannot be read", expected) from None

    return BeforeValidator(read)


TimePs = Annotated[int, _bare(units.parse_time_ps, 1_000, "ns", "250ns or 1.5us")]
SizeBytes = Annotated[int, _bare(units.parse_size_bytes, 1, "bytes", "1518B or 2KiB")]
RateBps = Annotated[int, _bare(units.parse_rate_bps, 10**9, "Gb/s", "800Gb/s")]
LengthMm = Annotated[int, _bare(units.parse_length_mm, 1_000, "m", "3m")]


def read_percent(value: object) -> int:
    """Return a percentage, a number or text such as ``33.3%``, in parts a million of the whole; raises the fault."""
    expected = "percent, such as 50 or 33.3%"
    _refuse(value, expected)
    match = _PERCENT.fullmatch(str(value))
    if match is None:
        raise fault("is no percentage", expected)
    return round(Fraction(match.group(1)) * (PPM // 100))


PercentPpm = Annotated[int, BeforeValidator(read_percent)]


def _read_probability(value: object) -> float:
    expected = "a probability 0 .. 1, such as 1e-3 or 0.1%"
    _refuse(value, expected)
    text = str(value).strip()
    try:
        number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise fault("is no probability", expected) from None
    if not 0.0 <= number <= 1.0:
        raise fault("is out of range", expected)
    return number


Probability = Annotated[float, BeforeValidator(_read_probability)]


def _read_numbers(value: object) -> tuple[int, ...]:
    expected = "the number of a frame, counted from 1: 50, [3, 7] or 1-100"
    items = value if isinstance(value, list) else [value]
    numbers: list[int] = []
    for item in items:
        span = _SPAN.fullmatch(item) if isinstance(item, str) else None
        if span is not None:
            first, last = int(span.group(1)), int(span.group(2))
            if not 1 <= first <= last or last - first >= _NUMBERS_MAX:
                raise fault("is no span of frames", expected)
            numbers += range(first, last + 1)
        elif isinstance(item, int) and not isinstance(item, bool) and item >= 1:
            numbers.append(item)
        else:
            said = "holds what is no number of a frame" if isinstance(value, list) else "is no number of a frame"
            raise fault(said, expected)
    if not numbers or len(numbers) > _NUMBERS_MAX:
        raise fault("names no frame" if not numbers else "names too many frames", f"1 .. {_NUMBERS_MAX} frames")
    return tuple(sorted(set(numbers)))


FrameNumbers = Annotated[tuple[int, ...], BeforeValidator(_read_numbers)]


def _read_vcs(value: object) -> int:
    expected = "all, none, a VC or a list of VCs 0 .. 31"
    if value in ("all", "none"):
        return (1 << VCS_MAX) - 1 if value == "all" else 0
    items = value if isinstance(value, list) else [value]
    mask = 0
    for item in items:
        if not isinstance(item, int) or isinstance(item, bool) or not 0 <= item < VCS_MAX:
            raise fault("names no VC", expected)
        mask |= 1 << item
    return mask


VcMask = Annotated[int, BeforeValidator(_read_vcs)]


def whole(low: int, high: int) -> Any:
    """Return the type of a whole number between two limits."""

    def read(value: object) -> int:
        _refuse(value, f"{low} .. {high}")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int):
            raise fault("is no whole number", f"{low} .. {high}")
        return value

    def check(value: int) -> int:
        if not low <= value <= high:
            raise fault("is out of range", f"{low} .. {high}")
        return value

    return Annotated[int, BeforeValidator(read), AfterValidator(Limited(check, f"{low} .. {high}"))]


def between(low: int, high: int, words: str) -> AfterValidator:
    """Return a validator that keeps a read quantity between two limits, told as ``words``."""

    def check(value: int) -> int:
        if not low <= value <= high:
            raise fault("is too small" if value < low else "is too large", words)
        return value

    return AfterValidator(Limited(check, words))
