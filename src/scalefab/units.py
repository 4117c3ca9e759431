"""The only place where text becomes a quantity, and a quantity text.

Everything inside the product is an integer: picoseconds, bytes, bits a second, bytes a second, millimetres. A unit is
mandatory. Bits and bytes are told apart by ``b`` and ``B``: a port rate is bits (``800Gb/s``), a memory bandwidth bytes
(``8TB/s``). Decimal prefixes are powers of 1000, binary ones (``KiB``) of 1024.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from .errors import UnitError

_NUMBER = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)\s*([^\s0-9].*?)?\s*", re.ASCII)

_TIME_PS = {"ps": 1, "ns": 1_000, "us": 1_000_000, "µs": 1_000_000, "μs": 1_000_000, "ms": 1_000_000_000, "s": 1_000_000_000_000}
_LENGTH_MM = {"mm": 1, "cm": 10, "m": 1_000, "km": 1_000_000}
_DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_SIZE_BYTES = {f"{p}B": f for p, f in (_DECIMAL | _BINARY).items()}
_RATE_BPS = {f"{p}{suffix}": f for p, f in _DECIMAL.items() for suffix in ("b/s", "bps", "bit/s")}
_BANDWIDTH_BPS = {f"{p}{suffix}": f for p, f in (_DECIMAL | _BINARY).items() for suffix in ("B/s", "Bps")}

_LIMIT = 1 << 62  # every quantity fits a signed 64-bit integer with room for one addition


_NUMBER_PATTERN = r"[0-9][0-9_]*(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?"


def _pattern(table: dict[str, int], sign: str = "") -> str:
    units = "|".join(sorted(table, key=lambda unit: (-len(unit), unit)))
    return rf"^\s*{sign}{_NUMBER_PATTERN}\s*({units})\s*$"


# What the parsers below take, as regular expressions for editors (JSON Schema's dialect).
TIME_PATTERN = _pattern(_TIME_PS)
LENGTH_PATTERN = _pattern(_LENGTH_MM)
SIZE_PATTERN = _pattern(_SIZE_BYTES)
SIGNED_SIZE_PATTERN = _pattern(_SIZE_BYTES, "-?")
RATE_PATTERN = _pattern(_RATE_BPS)
BANDWIDTH_PATTERN = _pattern(_BANDWIDTH_BPS)


def _parse(text: object, table: dict[str, int], expected: str, hint: dict[str, str]) -> int:
    if isinstance(text, bool) or not isinstance(text, str):
        raise UnitError(text, expected, f"{text!r} has no unit")
    if len(text) > 64:
        raise UnitError(text[:16] + "...", expected, "text is too long for a quantity")
    match = _NUMBER.fullmatch(text)
    if match is None:
        negative = text.strip().startswith("-") and _NUMBER.fullmatch(text.strip()[1:])
        raise UnitError(text, expected, f"'{text}' is negative" if negative else f"'{text}' is not a quantity")
    number, unit = match.group(1), match.group(2) or ""
    if not unit:
        raise UnitError(text, expected, f"'{text}' has no unit")
    factor = table.get(unit)
    if factor is None:
        raise UnitError(text, expected, hint.get(unit) or f"'{unit}' is not a unit of this quantity")
    value = Fraction(Decimal(number.replace("_", ""))) * factor
    if value >= _LIMIT:
        raise UnitError(text, expected, f"'{text}' is too large")
    if value.denominator != 1:
        raise UnitError(text, expected, f"'{text}' is finer than the product's resolution")
    return int(value)


def parse_time_ps(text: object) -> int:
    """Read a time, for example ``"1.5us"``.

    Parameters
    ----------
    text
        Number and unit: ps, ns, us, ms, s.

    Returns
    -------
    int
        Picoseconds.

    Raises
    ------
    UnitError
        Not text, no unit, another unit, negative, or finer than 1 ps.
    """
    return _parse(text, _TIME_PS, "a time such as 250ns or 1.5us", {})


def parse_length_mm(text: object) -> int:
    """Read a length, for example ``"3m"``, in millimetres. Raises UnitError as `parse_time_ps`."""
    return _parse(text, _LENGTH_MM, "a length such as 3m", {})


def parse_size_bytes(text: object) -> int:
    """Read a size, for example ``"64KiB"``, in bytes. Raises UnitError as `parse_time_ps`."""
    hint = {f"{p}b": f"'{p}b' is bits" for p in _DECIMAL | _BINARY}
    return _parse(text, _SIZE_BYTES, "a size in bytes such as 64KiB or 1MB", hint)


def parse_rate_bps(text: object) -> int:
    """Read a line rate, for example ``"800Gb/s"``, in bits a second. Raises UnitError as `parse_time_ps`."""
    hint = {unit: f"'{unit}' is bytes a second, a line rate is bits" for unit in _BANDWIDTH_BPS}
    hint |= {p: f"'{p}' is no rate" for p in _DECIMAL if p}
    return _parse(text, _RATE_BPS, "a line rate in bits such as 800Gb/s", hint)


def parse_bandwidth_Bps(text: object) -> int:
    """Read a bandwidth, for example ``"8TB/s"``, in bytes a second. Raises UnitError as `parse_time_ps`."""
    hint = {unit: f"'{unit}' is bits a second, a memory bandwidth is bytes" for unit in _RATE_BPS}
    return _parse(text, _BANDWIDTH_BPS, "a bandwidth in bytes such as 8TB/s", hint)


def _scaled(value: int, steps: tuple[tuple[int, str], ...], digits: int) -> str:
    factor, unit = steps[-1]
    for step, name in steps:
        if abs(value) >= step:
            factor, unit = step, name
            break
    scaled = (Decimal(value) / Decimal(factor)).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_EVEN)
    text = f"{scaled:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + " " + unit


_TIME_STEPS = ((10**12, "s"), (10**9, "ms"), (10**6, "µs"), (10**3, "ns"), (1, "ps"))


def format_time(time_ps: int, digits: int = 3) -> str:
    """Picoseconds as text for people, such as ``"683.265 µs"``."""
    return _scaled(int(time_ps), _TIME_STEPS, digits)


def format_size(size_bytes: int, digits: int = 2) -> str:
    """Bytes as text for people, with binary prefixes, such as ``"64 KiB"``."""
    return _scaled(int(size_bytes), ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")), digits)


def format_rate(rate_bps: int, digits: int = 1) -> str:
    """Bits a second as text for people, such as ``"800 Gb/s"``."""
    return _scaled(int(rate_bps), ((10**12, "Tb/s"), (10**9, "Gb/s"), (10**6, "Mb/s"), (10**3, "kb/s"), (1, "b/s")), digits)


def format_bandwidth(bandwidth_bytes: float, digits: int = 2) -> str:
    """Bytes a second as text for people, such as ``"98.31 GB/s"``."""
    return _scaled(
        round(bandwidth_bytes), ((10**12, "TB/s"), (10**9, "GB/s"), (10**6, "MB/s"), (10**3, "kB/s"), (1, "B/s")), digits
    )


def format_length(length_mm: int) -> str:
    """Millimetres as text for people, such as ``"3 m"``."""
    return _scaled(int(length_mm), ((10**6, "km"), (10**3, "m"), (1, "mm")), 3)


def _exact(value: int, table: dict[str, int]) -> str:
    """Return the shortest whole number with a unit that is exactly ``value``; of equally short ones that of the largest unit."""
    if value == 0:
        return f"0{min(table, key=lambda unit: table[unit])}"
    whole = [(unit, factor) for unit, factor in table.items() if value % factor == 0]
    unit, factor = min(whole, key=lambda item: (len(f"{value // item[1]}{item[0]}"), -item[1]))
    return f"{value // factor}{unit}"


def exact_time(time_ps: int) -> str:
    """Picoseconds as text that reads back to the same value, such as ``"250ns"``."""
    return _exact(time_ps, {u: f for u, f in _TIME_PS.items() if u.isascii()})


def exact_length(length_mm: int) -> str:
    """Millimetres as text that reads back to the same value, such as ``"3m"``."""
    return _exact(length_mm, _LENGTH_MM)


def exact_size(size_bytes: int) -> str:
    """Bytes as text that reads back to the same value, such as ``"64KiB"`` or ``"192GB"``."""
    return _exact(size_bytes, {f"{p}B": f for p, f in (_DECIMAL | _BINARY).items() if p != "K"})


def exact_rate(rate_bps: int) -> str:
    """Bits a second as text that reads back to the same value, such as ``"800Gb/s"``."""
    return _exact(rate_bps, {f"{p}b/s": f for p, f in _DECIMAL.items() if p != "K"})


def exact_bandwidth(bandwidth_Bps: int) -> str:
    """Bytes a second as text that reads back to the same value, such as ``"8TB/s"``."""
    return _exact(bandwidth_Bps, {f"{p}B/s": f for p, f in _DECIMAL.items() if p != "K"})
