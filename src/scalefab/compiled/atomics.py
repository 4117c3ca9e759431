"""Loads that acquire and stores that release, for words that two processes share: who sees one sees what was written before."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.extending import intrinsic

from .folder import jit_enabled

_ALIGNED_BYTES = 8


def _address(context: Any, builder: Any, kind: Any, words: Any, index: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, words).data, [index])


def _is_words(kind: Any) -> bool:
    return isinstance(kind, types.Array) and kind.ndim == 1 and kind.dtype == types.int64


@intrinsic
def _load_acquire(_context: Any, words: Any, index: Any) -> Any:
    if not (_is_words(words) and isinstance(index, types.Integer)):
        return None

    def generate(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        return builder.load_atomic(_address(context, builder, words, args[0], args[1]), "acquire", _ALIGNED_BYTES)

    return types.int64(words, types.intp), generate


@intrinsic
def _store_release(_context: Any, words: Any, index: Any, value: Any) -> Any:
    if not (_is_words(words) and isinstance(index, types.Integer) and isinstance(value, types.Integer)):
        return None

    def generate(context: Any, builder: Any, _sig: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _address(context, builder, words, args[0], args[1]), "release", _ALIGNED_BYTES)
        return context.get_dummy_value()

    return types.none(words, types.intp, types.int64), generate


def _plain_load(words: Any, index: int) -> int:
    """Load a word without a compiler: an aligned load of 8 B is one access, and x86 keeps loads in order."""
    return int(words[index])


def _plain_store(words: Any, index: int, value: int) -> None:
    words[index] = value


load_acquire: Any = _load_acquire if jit_enabled() else _plain_load
store_release: Any = _store_release if jit_enabled() else _plain_store
