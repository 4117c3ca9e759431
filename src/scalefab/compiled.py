"""The only place that imports Numba: the decorators, and the cache folder that follows every edit.

Numba's own disk cache looks at the file of the decorated function only, so an edit in a function that it calls leaves a
stale kernel behind (reproduced). Here the cache folder's name is the hash of *all* sources of the rooms that hold compiled
code, of Numba's version and of the processor. ``NUMBA_CACHE_DIR`` is read once at Numba's import, hence the change of
``numba.core.config.CACHE_DIR`` while a kernel is decorated.
"""

from __future__ import annotations

import hashlib
import operator
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir as _ir
from numba.core import cgutils as _cgutils
from numba.core import config as _numba_config
from numba.core import types as _types
from numba.core.codegen import JITCodeLibrary as _JITCodeLibrary
from numba.core.compiler import CompilerBase as _CompilerBase
from numba.core.compiler import DefaultPassBuilder as _DefaultPassBuilder
from numba.core.compiler import Flags as _Flags
from numba.core.compiler import compile_extra as _compile_extra
from numba.core.typing.templates import make_concrete_template as _make_concrete_template
from llvmlite.binding import Linkage as _Linkage
from numba.core.datamodel import models as _models
from numba.core.imputils import impl_ret_borrowed as _impl_ret_borrowed
from numba.core.imputils import lower_builtin as _lower_builtin
from numba.core.imputils import lower_getattr_generic as _lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate as _AttributeTemplate
from numba.extending import NativeValue as _NativeValue
from numba.extending import infer_getattr as _infer_getattr
from numba.extending import register_model as _register_model
from numba.extending import typeof_impl as _typeof_impl
from numba.extending import unbox as _unbox
from numba.np.arrayobj import load_item as _load_item
from numba.np.arrayobj import store_item as _store_item

_F = TypeVar("_F", bound=Callable[..., Any])

_UNUSED_DAYS = 30
_PACKAGE = Path(__file__).resolve().parent
_COMPILED_ROOMS = ("protocol", "workload", "simulator")  # rooms with compiled functions, or constants that these freeze


def jit_enabled() -> bool:
    """Whether functions are compiled (``NUMBA_DISABLE_JIT`` is not set)."""
    return not _numba_config.DISABLE_JIT


def compiler_version() -> str:
    """Return Numba's version, for manifests."""
    return str(numba.__version__)


def cache_home() -> Path:
    """Where kernels are kept: ``$SCALEFAB_CACHE``, else ``$XDG_CACHE_HOME/scalefab``, else ``~/.cache/scalefab``."""
    explicit = os.environ.get("SCALEFAB_CACHE")
    if explicit:
        return Path(explicit)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "scalefab"


@cache
def _source_key() -> str:
    digest = hashlib.sha256()
    for part in (numba.__version__, platform.machine(), platform.python_version(), str(_numba_config.CPU_NAME), str(_cpu_name())):
        digest.update(part.encode() + b"\0")
    sources = [Path(__file__), *(path for room in _COMPILED_ROOMS for path in (_PACKAGE / room).rglob("*.py"))]
    for path in sorted(path.resolve() for path in sources):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _cpu_name() -> str:
    from llvmlite import binding

    return str(binding.get_host_cpu_name())


@cache
def cache_folder() -> Path | None:
    """Return this version's own cache folder, or None where none can be written (said once on stderr)."""
    home = cache_home()
    folder = home / _source_key()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)
    except OSError as error:
        print(f"scalefab: no kernel cache in {home} ({error.strerror}); kernels compile anew in each process", file=sys.stderr)
        return None
    _remove_unused(home, folder)
    return folder


def _remove_unused(home: Path, keep: Path) -> None:
    oldest = time.time() - _UNUSED_DAYS * 86_400
    for other in home.iterdir():
        if other != keep and len(other.name) == 16 and other.is_dir() and other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)


def compiled(function: _F) -> _F:
    """Compile a transition function; it is part of the kernels that call it and is not cached alone.

    It takes every integer as 64 bits wide: fields of records are 32 bits here and 64 there, and a version of each function for
    each mix of them made 340 out of some 130 (56 s of compiling).
    """
    dispatcher = numba.njit(nogil=True, pipeline_class=_Pipeline)(function)
    if jit_enabled():
        parts: dict[Any, Any] = {}

        def call_template(args: Any, kws: Any) -> Any:
            pysig, args = dispatcher.fold_argument_types(tuple(map(_widened, args)), {k: _widened(v) for k, v in kws.items()})
            if args not in parts:
                parts[args] = _compile_part(dispatcher, args)
            name = function.__name__
            return _make_concrete_template(f"Part({name})", key=name, signatures=[parts[args].signature]), pysig, args, {}

        def overload(args: Any) -> Any:
            return parts[tuple(args)].fndesc

        dispatcher.get_call_template = call_template
        dispatcher.get_overload = overload
    return dispatcher


class _Part(_JITCodeLibrary):
    """A function that only others call: neither optimised nor made machine code by itself, but in what it is linked into."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalized = True


class _Whole(_JITCodeLibrary):
    """A function that Python calls, with all its parts: linked once, as functions of its own, and optimised together."""

    def finalize(self) -> None:
        order: list[Any] = []
        seen = set()

        def reach(library: Any) -> None:
            for other in library._linking_libraries:
                if other not in seen:
                    seen.add(other)
                    reach(other)
                    order.append(other)

        reach(self)
        mine: list[str] = []
        for part in order:
            if isinstance(part, _Part):
                mine += [f.name for f in part._final_module.functions if not f.is_declaration and f.linkage == _Linkage.external]
                self._final_module.link_in(part._final_module, preserve=True)
        self._linking_libraries = [library for library in order if not isinstance(library, _Part)]
        for name in mine:
            self._final_module.get_function(name).linkage = "internal"
        super().finalize()


class _Pipeline(_CompilerBase):
    """Numba's own passes, with another library."""

    def define_pipelines(self) -> Any:
        if self.state.library is None:
            self.state.library = _Whole(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            self.state.library.enable_object_caching()
        return [_DefaultPassBuilder.define_nopython_pipeline(self.state)]


def _compile_part(dispatcher: Any, args: Any) -> Any:
    """Compile a function for calls from compiled functions."""
    flags = _Flags()
    dispatcher.targetdescr.options.parse_as_flags(flags, dispatcher.targetoptions)
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    typing, target = dispatcher.targetdescr.typing_context, dispatcher.targetdescr.target_context
    library = _Part(target.codegen(), dispatcher.py_func.__qualname__)
    result = _compile_extra(
        typing, target, dispatcher.py_func, args=args, return_type=None, flags=flags, locals={}, library=library,
        pipeline_class=_Pipeline,
    )
    target.insert_user_function(result.fndesc, result.fndesc, [library])
    return result


def _widened(kind: Any) -> Any:
    plain = getattr(kind, "literal_type", kind)  # the type of a literal
    narrow = (_types.int8, _types.int16, _types.int32)
    return _types.int64 if plain in narrow else plain


def interpreted(function: _F) -> _F:
    """Return a compiled function as Python runs it: for few calls, where compiling would take longer than they do."""
    plain: _F = getattr(function, "py_func", function)
    return plain


def compiled_entry(function: _F) -> _F:
    """Compile an entry kernel and keep it on disk; it runs without the GIL."""
    if not jit_enabled():
        return function
    folder = cache_folder()
    if folder is None:
        return numba.njit(nogil=True)(function)
    previous = _numba_config.CACHE_DIR
    _numba_config.CACHE_DIR = str(folder)
    try:
        return numba.njit(nogil=True, cache=True, pipeline_class=_Pipeline)(function)
    finally:
        _numba_config.CACHE_DIR = previous


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


class Bundle:
    """Arrays that compiled functions take as one argument: ``S.port[a]`` as with a named tuple, but passed as one pointer.

    A named tuple of 30 arrays travels as some 230 scalar arguments in each call: the simulator's kernel ran 45 times slower so
    (0.07 against 3.1 M frames/s) and compiled in 32 s. A bundle is a table of base addresses and shapes, loaded where used.

    Parameters
    ----------
    arrays
        A named tuple of C-contiguous arrays of one or more dimensions. They are kept alive, not copied. A change of an array's
        *contents* is seen by both sides; for another array, make another bundle.
    """

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays
        words: list[int] = []
        for name in arrays._fields:
            array = getattr(arrays, name)
            if not array.flags.c_contiguous:
                raise ValueError(f"{name} is not C-contiguous")
            words += [array.ctypes.data, *array.shape]
        self.table = np.array(words, np.int64)
        self.address = int(self.table.ctypes.data)


def bundle(arrays: Any) -> Any:
    """Return what entry kernels take for a named tuple of arrays: a `Bundle`, or the tuple itself when nothing is compiled."""
    return Bundle(arrays) if jit_enabled() else arrays


class _TableType(_types.Array):
    """An array of a bundle: as Numba's, but indices are taken as they are, never counted from the end.

    Numba adds the length to an index below 0, an AND, a multiplication and an addition in each of some 40 accesses an event:
    W1 took xx % longer so.
    """

    def __init__(self, array: Any) -> None:
        super().__init__(array.dtype, array.ndim, "C", readonly=False, aligned=array.aligned)
        self.name = f"table of {self.name}"


class _BundleType(_types.Type):
    """Numba's view of a bundle: names and array types; its value is the address of the table."""

    def __init__(self, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = fields
        super().__init__(name="Bundle(" + ", ".join(f"{name}: {array}" for name, array in fields) + ")")

    @property
    def key(self) -> Any:
        return self.fields


@_typeof_impl.register(Bundle)
def _typeof_bundle(value: Bundle, _context: Any) -> _BundleType:
    names = value.arrays._fields
    return _BundleType(tuple((name, _TableType(numba.typeof(getattr(value.arrays, name)))) for name in names))


_register_model(_TableType)(_models.ArrayModel)


def _item(context: Any, builder: Any, table: _TableType, value: Any, kind: Any, index: Any) -> Any:
    """Return the address of the item at an index, one integer or as many as there are dimensions."""
    kinds = tuple(kind) if isinstance(kind, _types.BaseTuple) else (kind,)
    indices = _cgutils.unpack_tuple(builder, index, len(kinds)) if isinstance(kind, _types.BaseTuple) else (index,)
    array = context.make_array(table)(context, builder, value)
    shape = _cgutils.unpack_tuple(builder, array.shape, table.ndim)
    place = context.cast(builder, indices[0], kinds[0], _types.intp)
    for extent, one, one_kind in zip(shape[1:], indices[1:], kinds[1:], strict=True):
        place = builder.add(builder.mul(place, extent), context.cast(builder, one, one_kind, _types.intp))
    return builder.gep(array.data, [place], inbounds=True)


def _get_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    table, kind = sig.args
    return _load_item(context, builder, table, _item(context, builder, table, args[0], kind, args[1]))


def _set_item(context: Any, builder: Any, sig: Any, args: Any) -> None:
    table, kind, given = sig.args
    item = _item(context, builder, table, args[0], kind, args[1])
    _store_item(context, builder, table, context.cast(builder, args[2], given, table.dtype), item)


for _index in (_types.Integer, _types.BaseTuple):
    _lower_builtin(operator.getitem, _TableType, _index)(_get_item)
    _lower_builtin(operator.setitem, _TableType, _index, _types.Any)(_set_item)


@_register_model(_BundleType)
class _BundleModel(_models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _BundleType) -> None:
        super().__init__(manager, kind, _ir.IntType(64).as_pointer())


@_unbox(_BundleType)
def _unbox_bundle(_kind: _BundleType, value: Any, c: Any) -> _NativeValue:
    address = c.pyapi.object_getattr_string(value, "address")
    number = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return _NativeValue(
        c.builder.inttoptr(number, _ir.IntType(64).as_pointer()), is_error=_cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    )


@_infer_getattr
class _BundleAttributes(_AttributeTemplate):
    key = _BundleType

    def generic_resolve(self, kind: _BundleType, name: str) -> Any:
        return dict(kind.fields).get(name)


@_lower_getattr_generic(_BundleType)
def _load_array(context: Any, builder: Any, kind: _BundleType, value: Any, name: str) -> Any:
    """Build the array from its words in the table. They never change while a kernel runs, so LLVM may load them once."""
    word = 0
    for field, array_type in kind.fields:
        if field == name:
            break
        word += 1 + array_type.ndim
    invariant = builder.module.add_metadata([])

    def load(index: int) -> Any:
        loaded = builder.load(builder.gep(value, [_ir.Constant(_ir.IntType(64), index)]))
        loaded.set_metadata("invariant.load", invariant)
        return loaded

    data_type = context.get_data_type(array_type.dtype).as_pointer()
    shape = [load(word + 1 + i) for i in range(array_type.ndim)]
    item = context.get_constant(_types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
    strides = [item]
    for extent in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], extent))
    array = context.make_array(array_type)(context, builder)
    context.populate_array(
        array,
        data=builder.inttoptr(load(word), data_type),
        shape=shape,
        strides=strides,
        itemsize=item,
        meminfo=None,
        parent=None,
    )
    return _impl_ret_borrowed(context, builder, array_type, array._getvalue())
