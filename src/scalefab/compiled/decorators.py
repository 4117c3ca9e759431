"""The decorators of compiled functions, and what is known of them afterwards."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import config, types
from numba.core.typing.templates import make_concrete_template

from .folder import cache_folder, jit_enabled
from .library import Pipeline, compile_part

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compile a transition function; it is part of the kernels that call it and is not cached alone.

    It takes every integer as 64 bits wide: fields of records are 32 bits here and 64 there, and a version of each function for
    each mix of them made 340 out of some 130.
    """
    return _callable(numba.njit(nogil=True, pipeline_class=Pipeline, forceinline=False)(function))  # else it is its caller's


def inlined(function: _F) -> _F:
    """Compile a transition function into each place that calls it: for small ones that every frame passes.

    LLVM leaves most of them to be called, with their results in memory: W1 took 22 % longer.
    """
    return _callable(numba.njit(nogil=True, pipeline_class=Pipeline, forceinline=True)(function))


def _callable(dispatcher: Any) -> Any:
    """Let compiled functions call a dispatcher's function as a part, once for each mix of types; Python calls it as before."""
    if not jit_enabled():
        return dispatcher
    parts: dict[Any, Any] = {}
    name = dispatcher.py_func.__name__

    def call_template(args: Any, kws: Any) -> Any:
        wide = {key: _widened(kind) for key, kind in kws.items()}
        pysig, args = dispatcher.fold_argument_types(tuple(map(_widened, args)), wide)
        if args not in parts:
            parts[args] = compile_part(dispatcher, args)
        return make_concrete_template(f"Part({name})", key=name, signatures=[parts[args].signature]), pysig, args, {}

    def overload(args: Any) -> Any:
        return parts[tuple(args)].fndesc

    dispatcher.get_call_template = call_template
    dispatcher.get_overload = overload
    return dispatcher


def _widened(kind: Any) -> Any:
    plain = getattr(kind, "literal_type", kind)  # the type of a literal
    return types.int64 if plain in (types.int8, types.int16, types.int32) else plain


def interpreted(function: _F) -> _F:
    """Return a compiled function as Python runs it: for few calls, where compiling would take longer than they do."""
    plain: _F = getattr(function, "py_func", function)
    return plain


def named(function: _F, name: str) -> _F:
    """Return a function with the same code under another name, for an entry of its own."""
    code = function.__code__.replace(co_name=name, co_qualname=name)
    other = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    other.__module__, other.__doc__, other.__annotations__ = function.__module__, function.__doc__, function.__annotations__
    return cast("_F", other)


def compiled_entry(function: _F) -> _F:
    """Compile an entry kernel and keep it on disk; it runs without the GIL."""
    if not jit_enabled():
        return function
    folder = cache_folder()
    if folder is None:
        return _apart(numba.njit(nogil=True, no_cfunc_wrapper=True, pipeline_class=Pipeline)(function))
    previous = config.CACHE_DIR  # read from the environment once, when Numba is imported
    config.CACHE_DIR = str(folder)
    try:
        return _apart(numba.njit(nogil=True, cache=True, no_cfunc_wrapper=True, pipeline_class=Pipeline)(function))
    finally:
        config.CACHE_DIR = previous


def _apart(dispatcher: Any) -> Any:
    """Let compiled functions not call an entry: from disk comes its machine code only."""

    def refuse(_args: Any, _kws: Any) -> Any:
        raise TypeError(f"{dispatcher.py_func.__name__} is an entry: Python calls it, compiled functions do not")

    dispatcher.get_call_template = refuse
    return dispatcher


def direct(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the machine code of an entry kernel that has been called before, for many short calls with the same types.

    The ordinary call looks at the type of every array of a bundle again, about 2 ms; this one takes 1 us.
    """
    overloads = getattr(function, "overloads", None)
    if not overloads:
        return function
    (only,) = overloads.values()
    code: Callable[..., Any] = only.entry_point
    return code


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether an entry kernel has machine code in this process already."""
    return bool(getattr(function, "signatures", ()))


def is_cached(function: Callable[..., Any]) -> bool:
    """Whether an entry kernel has been stored on disk for this version (an index file exists)."""
    folder = cache_folder() if jit_enabled() else None
    name = getattr(function, "__name__", "")
    return folder is not None and any(folder.rglob(f"*.{name}-*.nbi"))
