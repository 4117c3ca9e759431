"""Frozen value objects as JSON and arrays, and back, led by their own type hints: no pickle, nothing is executed.

A dataclass is an object of its fields, an enum its value, a tuple a list; an array stands aside under its dotted path. A field
that is missing takes its default, so what was kept stays readable when a field with one is added; unknown fields are dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")


class ThawError(ValueError):
    """What was kept does not fit the type; the text names the field."""


def freeze(value: Any, arrays: Arrays, path: str = "") -> Any:
    """Return a value as plain data; its arrays are added to ``arrays``, each under its dotted path."""
    if isinstance(value, np.ndarray):
        arrays[path] = value
        return None
    if is_dataclass(value):
        return {f.name: freeze(getattr(value, f.name), arrays, _under(path, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): freeze(item, arrays, _under(path, str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [freeze(item, arrays, _under(path, str(index))) for index, item in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{path}: a {type(value).__name__} cannot be kept")


def thaw(kind: type[T], data: Any, arrays: Mapping[str, NDArray[Any]]) -> T:
    """Return the value that `freeze` took apart.

    Parameters
    ----------
    kind
        Its dataclass.
    data, arrays
        What `freeze` made.

    Raises
    ------
    ThawError
        A field is missing or of another type.
    """
    made: T = _thaw(kind, data, arrays, "")
    return made


def _under(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _thaw(kind: Any, data: Any, arrays: Mapping[str, NDArray[Any]], path: str) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return data
    if origin in (Union, UnionType):
        if data is None and NoneType in get_args(kind) and not any(name.startswith(f"{path}.") for name in arrays):
            return None
        (kind,) = (option for option in get_args(kind) if option is not NoneType)
        return _thaw(kind, data, arrays, path)
    if origin is np.ndarray:
        if path not in arrays:
            raise ThawError(f"the array '{path}' is missing")
        return arrays[path]
    if origin is tuple:
        return _thaw_tuple(get_args(kind), data, arrays, path)
    if origin is dict:
        if not isinstance(data, dict):
            raise ThawError(f"'{path}' is no object")
        return {key: _thaw(get_args(kind)[1], item, arrays, _under(path, key)) for key, item in data.items()}
    if is_dataclass(kind):
        return _thaw_fields(kind, data, arrays, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(data)
        except ValueError:
            raise ThawError(f"'{path}' is {data!r}, no {kind.__name__}") from None
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if not isinstance(kind, type) or type(data) is not kind:
        raise ThawError(f"'{path}' is {type(data).__name__}, not {getattr(kind, '__name__', kind)}")
    return data


def _thaw_tuple(kinds: tuple[Any, ...], data: Any, arrays: Mapping[str, NDArray[Any]], path: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        raise ThawError(f"'{path}' is no list")
    each = [kinds[0]] * len(data) if len(kinds) == 2 and kinds[1] is Ellipsis else list(kinds)
    if len(each) != len(data):
        raise ThawError(f"'{path}' has {len(data)} values, not {len(each)}")
    return tuple(_thaw(kind, item, arrays, _under(path, str(i))) for i, (kind, item) in enumerate(zip(each, data, strict=True)))


def _thaw_fields(kind: Any, data: Any, arrays: Mapping[str, NDArray[Any]], path: str) -> Any:
    if not isinstance(data, dict):
        raise ThawError(f"'{path or kind.__name__}' is no object")
    hints = get_type_hints(kind)
    made = {}
    for field in fields(kind):
        if field.name in data:
            made[field.name] = _thaw(hints[field.name], data[field.name], arrays, _under(path, field.name))
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ThawError(f"'{_under(path, field.name)}' is missing")
    try:
        return kind(**made)
    except (TypeError, ValueError) as error:
        raise ThawError(f"'{path or kind.__name__}': {error}") from None
