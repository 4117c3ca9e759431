"""Arrays for compiled functions: a bundle of them in one argument, and items without a look at the sign of an index."""

from __future__ import annotations

import hashlib
import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_getattr_generic
from numba.core.types.containers import BaseTuple
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, register_model, typeof_impl, unbox
from numba.np.arrayobj import load_item, store_item

from .folder import jit_enabled


class Bundle:
    """Arrays that compiled functions take as one argument: ``S.port[a]`` as with a named tuple, but passed as one pointer.

    A named tuple of 30 arrays travels as some 230 scalar arguments in each call: the simulator's kernel ran 45 times slower so
    (0.07 against 3.1 M frames/s) and compiled in 32 s. A bundle is a table of base addresses and shapes, loaded where used.

    Parameters
    ----------
    arrays
        A named tuple of C-contiguous arrays of one or more dimensions. They are kept alive, not copied. A change of an array's
        *contents* is seen by both sides; for another array, make another bundle.
    fixed
        (name, value) of fields of ``arrays.kernel[0]`` that never change and are constants in the code (`fixed`).
    """

    def __init__(self, arrays: Any, fixed: tuple[tuple[str, int], ...] = ()) -> None:
        self.arrays = arrays
        self.fixed = fixed
        wrong = [name for name, value in fixed if int(arrays.kernel[0][name]) != value]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} of this state differ from what is fixed")
        words: list[int] = []
        for name in arrays._fields:
            array = getattr(arrays, name)
            if not array.flags.c_contiguous:
                raise ValueError(f"{name} is not C-contiguous")
            words += [array.ctypes.data, *array.shape]
        self.table = np.array(words, np.int64)
        self.address = int(self.table.ctypes.data)


def bundle(arrays: Any, fixed: tuple[tuple[str, int], ...] = ()) -> Any:
    """Return what entry kernels take for a named tuple of arrays: a `Bundle`, or the tuple itself when nothing is compiled."""
    return Bundle(arrays, fixed) if jit_enabled() else arrays


def _short(name: str) -> str:
    """Return a few characters for a long name: it stands in the name of each function, and all fields of 90 arrays were 28 KB."""
    return hashlib.sha256(name.encode()).hexdigest()[:12]


class _TableType(types.Array):
    """An array of a bundle: as Numba's, but indices are taken as they are, never counted from the end.

    Numba adds the length to an index below 0, an AND, a multiplication and an addition in each of some 40 accesses an event:
    W1 took 16 % longer so.
    """

    def __init__(self, array: Any) -> None:
        super().__init__(array.dtype, array.ndim, "C", readonly=False, aligned=array.aligned)
        self.name = f"table {_short(self.name)}"


class _BundleType(types.Type):
    """Numba's view of a bundle: names and array types; its value is the address of the table."""

    def __init__(self, fields: tuple[tuple[str, Any], ...], fixed: tuple[tuple[str, int], ...]) -> None:
        self.fields = fields
        self.fixed = fixed
        super().__init__(name=f"Bundle {_short(repr([(name, array.name) for name, array in fields]) + repr(fixed))}")

    @property
    def key(self) -> Any:
        return self.fields, self.fixed


@typeof_impl.register(Bundle)
def _typeof_bundle(value: Bundle, _context: Any) -> _BundleType:
    names = value.arrays._fields
    return _BundleType(tuple((name, _TableType(numba.typeof(getattr(value.arrays, name)))) for name in names), value.fixed)


register_model(_TableType)(models.ArrayModel)


def _item(context: Any, builder: Any, table: _TableType, value: Any, kind: Any, index: Any) -> Any:
    """Return the address of the item at an index, one integer or as many as there are dimensions."""
    kinds = tuple(kind) if isinstance(kind, BaseTuple) else (kind,)
    indices = cgutils.unpack_tuple(builder, index, len(kinds)) if isinstance(kind, BaseTuple) else (index,)
    array = context.make_array(table)(context, builder, value)
    shape = cgutils.unpack_tuple(builder, array.shape, table.ndim)
    place = context.cast(builder, indices[0], kinds[0], types.intp)
    for extent, one, one_kind in zip(shape[1:], indices[1:], kinds[1:], strict=True):
        place = builder.add(builder.mul(place, extent), context.cast(builder, one, one_kind, types.intp))
    return builder.gep(array.data, [place], inbounds=True)


def _get_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    table, kind = sig.args
    return load_item(context, builder, table, _item(context, builder, table, args[0], kind, args[1]))


def _set_item(context: Any, builder: Any, sig: Any, args: Any) -> None:
    table, kind, given = sig.args
    item = _item(context, builder, table, args[0], kind, args[1])
    store_item(context, builder, table, context.cast(builder, args[2], given, table.dtype), item)


for _index in (types.Integer, BaseTuple):
    lower_builtin(operator.getitem, _TableType, _index)(_get_item)
    lower_builtin(operator.setitem, _TableType, _index, types.Any)(_set_item)


@register_model(_BundleType)
class _BundleModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _BundleType) -> None:
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@unbox(_BundleType)
def _unbox_bundle(_kind: _BundleType, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "address")
    number = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(
        c.builder.inttoptr(number, ir.IntType(64).as_pointer()), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    )


@infer_getattr
class _BundleAttributes(AttributeTemplate):
    key = _BundleType

    def generic_resolve(self, kind: _BundleType, name: str) -> Any:
        return dict(kind.fields).get(name)


@lower_getattr_generic(_BundleType)
def _load_array(context: Any, builder: Any, kind: _BundleType, value: Any, name: str) -> Any:
    """Build the array from its words in the table. They never change while a kernel runs, so LLVM may load them once."""
    word = 0
    for field, array_type in kind.fields:
        if field == name:
            break
        word += 1 + array_type.ndim
    invariant = builder.module.add_metadata([])

    def load(index: int) -> Any:
        loaded = builder.load(builder.gep(value, [ir.Constant(ir.IntType(64), index)]))
        loaded.set_metadata("invariant.load", invariant)
        return loaded

    data_type = context.get_data_type(array_type.dtype).as_pointer()
    shape = [load(word + 1 + i) for i in range(array_type.ndim)]
    item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
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
    return impl_ret_borrowed(context, builder, array_type, array._getvalue())
