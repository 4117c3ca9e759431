"""Arithmetic in expectations: ``frames * credits % 2**20``, ``dut1.LLR_RX_OK + 1``, ``2 * T + 100ns``. Parsed, never evaluated.

What may stand there: whole numbers and decimal fractions, numbers with a unit of time or size (they become ps and bytes), names,
``port.COUNTER`` and ``port.COUNTER[vc]``, ``flow.measure``, the operators ``+ - * / // % **``, brackets, and the functions below.
Values are exact: whole numbers or fractions.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from ..errors import UnitError
from ..units import parse_size_bytes, parse_time_ps

Value = int | Fraction

_LENGTH_MAX = 400  # characters; own
_BITS_MAX = 512  # of a value; own: a counter has 64
_QUANTITY = re.compile(r"(?<![\w.])(\d[\d_]*(?:\.\d+)?)\s?(ps|ns|us|µs|μs|ms|s|B|kB|KB|MB|KiB|MiB)(?!\w)")
_TIMES = ("ps", "ns", "us", "µs", "μs", "ms", "s")

_OPERATORS: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: lambda a, b: Fraction(a) / Fraction(b),
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: lambda a, b: _power(a, b),
    }
)
_FUNCTIONS: Mapping[str, Callable[..., Value]] = MappingProxyType(
    {"ceil": math.ceil, "floor": math.floor, "round": round, "abs": abs, "min": min, "max": max}
)
FUNCTIONS = tuple(_FUNCTIONS)
OPERATORS = ("+", "-", "*", "/", "//", "%", "**")


class ExpressionError(ValueError):
    """A text is no arithmetic, or has no value; the message says why."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name: ``size``, or of something: ``dut1.LLR_RX_OK``, ``tester1.SENDER_CREDITS_USED[3]``."""

    name: str
    of: str = ""
    vc: int = -1

    def __str__(self) -> str:
        text = f"{self.of}.{self.name}" if self.of else self.name
        return text if self.vc < 0 else f"{text}[{self.vc}]"


@dataclass(frozen=True, slots=True)
class Expression:
    """A text that has been checked to be arithmetic."""

    text: str
    tree: ast.expr = field(compare=False)
    references: tuple[Reference, ...]

    def value(self, look_up: Callable[[Reference], Value]) -> Value:
        """Return its value.

        Parameters
        ----------
        look_up
            Gives the value of a name.

        Raises
        ------
        ExpressionError
            Division by zero, or a value beyond all counters.
        """
        try:
            return _value(self.tree, look_up)
        except ZeroDivisionError:
            raise ExpressionError(f"'{self.text}' divides by zero") from None


def parse_expression(text: str) -> Expression:
    """Check a text.

    Raises
    ------
    ExpressionError
        What in it is no arithmetic.
    """
    if len(text) > _LENGTH_MAX:
        raise ExpressionError(f"is longer than {_LENGTH_MAX} characters")
    try:
        plain = _QUANTITY.sub(_number, text.strip())
        tree = ast.parse(plain, mode="eval").body
    except UnitError as error:
        raise ExpressionError(error.reason or "is no quantity") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        split = text.count("(") != text.count(")")  # YAML ends a value at a comma inside {}
        hint = ": its brackets do not match; a value with a comma inside {} must stand in quotes" if split else ""
        raise ExpressionError(f"'{text}' is no arithmetic{hint}") from None
    references: list[Reference] = []
    _check(tree, text, references)
    return Expression(text.strip(), tree, tuple(dict.fromkeys(references)))


def _number(match: re.Match[str]) -> str:
    text = match.group(1) + match.group(2)
    return str(parse_time_ps(text) if match.group(2) in _TIMES else parse_size_bytes(text))


def _check(node: ast.expr, text: str, references: list[Reference]) -> None:
    """Walk a tree; anything that is not listed here is refused."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if isinstance(node.value, float) and not math.isfinite(node.value):
            raise ExpressionError(f"'{text}' holds no finite number")
        return
    if isinstance(node, ast.Name):
        if node.id in _FUNCTIONS:
            raise ExpressionError(f"'{node.id}' is a function, '{node.id}(...)'")
        references.append(Reference(node.id))
        return
    if isinstance(node, ast.Attribute | ast.Subscript):
        references.append(_reference(node, text))
        return
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        _check(node.left, text, references)
        _check(node.right, text, references)
        return
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.UAdd | ast.USub):
        _check(node.operand, text, references)
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and node.args:
        if node.func.id not in _FUNCTIONS:
            raise ExpressionError(f"'{node.func.id}' is no function of these: {', '.join(FUNCTIONS)}")
        if len(node.args) > 1 and node.func.id not in ("min", "max"):
            raise ExpressionError(f"'{node.func.id}' takes one value")
        if len(node.args) == 1 and node.func.id in ("min", "max"):
            raise ExpressionError(f"'{node.func.id}' takes two values or more")
        for argument in node.args:
            _check(argument, text, references)
        return
    raise ExpressionError(f"'{text}' is more than arithmetic: numbers, names, {' '.join(OPERATORS)} and {', '.join(FUNCTIONS)}")


def _reference(node: ast.expr, text: str) -> Reference:
    vc = -1
    if isinstance(node, ast.Subscript):
        index = node.slice
        if not (isinstance(index, ast.Constant) and type(index.value) is int and 0 <= index.value < 32):
            raise ExpressionError(f"'{text}': a VC in brackets is a number 0 .. 31")
        vc, node = index.value, node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return Reference(node.attr, node.value.id, vc)
    raise ExpressionError(f"'{text}': a counter is written port.COUNTER or port.COUNTER[vc]")


def _value(node: ast.expr, look_up: Callable[[Reference], Value]) -> Value:
    result: Value
    if isinstance(node, ast.Constant):
        result = node.value if isinstance(node.value, int) else Fraction(str(node.value))
    elif isinstance(node, ast.Name):
        result = look_up(Reference(node.id))
    elif isinstance(node, ast.Attribute | ast.Subscript):
        result = look_up(_reference(node, ""))
    elif isinstance(node, ast.BinOp):
        result = _OPERATORS[type(node.op)](_value(node.left, look_up), _value(node.right, look_up))
    elif isinstance(node, ast.UnaryOp):
        operand = _value(node.operand, look_up)
        result = -operand if isinstance(node.op, ast.USub) else operand
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        result = _FUNCTIONS[node.func.id](*(_value(argument, look_up) for argument in node.args))
    else:  # `_check` lets nothing else through
        raise ExpressionError("is no arithmetic")
    if max(result.numerator.bit_length(), result.denominator.bit_length()) > _BITS_MAX:
        raise ExpressionError("a value is beyond all counters")
    return result.numerator if result.denominator == 1 else result


def _power(base: Value, exponent: Value) -> Value:
    if exponent.denominator != 1 or not 0 <= exponent <= 64 or base.numerator.bit_length() > 64:
        raise ExpressionError("'**' takes whole exponents 0 .. 64")
    return base ** int(exponent)
