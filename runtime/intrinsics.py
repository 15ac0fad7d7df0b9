"""How kernels are compiled, and operations that Numba lacks."""

import os
import threading
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from .kernel_store import private_folder
from .toolchain import example, folder_of, is_tested

OPTIONS: dict[str, Any] = {"boundscheck": False, "error_model": "numpy", "nogil": True}
if is_tested():
    OPTIONS["_nrt"] = False  # Numba's allocator is not there without Numba

AHEAD = 16
BLOCK = 2048
#: Words in a line of the cache. Where many places are written in turns, the next line of each is
#: fetched before it is reached.
LINE = np.uint64(8)
NONE = np.uint64(2**64 - 1)
ONE = np.uint64(1)

#: Compiles a function that only kernels call.
helper = njit(**OPTIONS)
_config: Any = numba.config
_caching = threading.Lock()


def kernel(*arguments: Any) -> Any:
    """Compile a kernel, with an `example` of its arguments.

    Versions of Numba that were not tested keep it in Numba's cache. That looks only at the source
    of the kernel, so the folder is one for all that the kernel depends on.
    """

    def compiled(function):
        function = example(*arguments)(function)
        folder = None if is_tested() else private_folder(folder_of(function.__module__))
        if folder is None or not os.access(folder, os.W_OK):
            return helper(function)
        with _caching:
            users, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
            try:
                return njit(cache=True, **OPTIONS)(function)
            finally:
                _config.CACHE_DIR = users

    return compiled


@intrinsic
def fetch(_, array, index):
    """Ask for the cache line of ``array[index]``, and do not wait for it."""
    signature = types.void(array, index)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.zext(arguments[1], ir.IntType(64))
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        is_write, locality, is_data = (ir.Constant(word, value) for value in (0, 3, 1))
        pointer = builder.bitcast(builder.gep(data, [place]), byte)
        builder.call(prefetch, [pointer, is_write, locality, is_data])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def at_most(_, values, first, limit):
    """Compare 64 values from `first` on with a limit; return a bit for each that is at most that.

    Of a loop that sets bits LLVM makes no comparison of many values at once.
    """
    signature = types.uint64(values, types.uint64, values.dtype)

    def generate(context, builder, signature, arguments):
        array, first, limit = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        vector = ir.VectorType(limit.type, 64)
        place = builder.bitcast(builder.gep(data, [first]), vector.as_pointer())
        those = builder.load(place, align=signature.args[0].dtype.bitwidth // 8)
        none = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(none, limit, ir.IntType(32)(0))
        limits = builder.shuffle_vector(one, none, ir.VectorType(ir.IntType(32), 64)(None))
        return builder.bitcast(builder.icmp_unsigned("<=", those, limits), ir.IntType(64))

    return signature, generate


@intrinsic
def lowest_bit(_, word):
    """Return the place of the lowest bit of a word that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return word(word), generate


@intrinsic
def highest_bit(_, word):
    """Return the place of the highest bit of a word that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.xor(builder.ctlz(arguments[0], ir.IntType(1)(1)), ir.IntType(64)(63))

    return word(word), generate


def _make_array(context, builder, array, data, shape):
    itemsize = stride = context.get_constant(types.intp, array.dtype.bitwidth // 8)
    strides = []
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, extent)
    made = context.make_array(array)(context, builder)
    populate_array(made, data, shape, strides, itemsize, meminfo=None)
    return made._getvalue()


@intrinsic
def array_at(_, pointer, shape):
    """Return a contiguous array that lies at a pointer to its first element."""
    signature = types.Array(pointer.dtype, len(shape), "C")(pointer, shape)

    def generate(context, builder, signature, arguments):
        extents = cgutils.unpack_tuple(builder, arguments[1])
        return _make_array(context, builder, signature.return_type, arguments[0], extents)

    return signature, generate


@intrinsic(prefer_literal=True)
def scratch(_, dtype, size):
    """Return an array of `size` elements, which is a constant, on the stack."""
    signature = types.Array(dtype.dtype, 1, "C")(dtype, size)

    def generate(context, builder, signature, _):
        array, extent = signature.return_type, context.get_constant(types.intp, size.literal_value)
        data = cgutils.alloca_once(builder, context.get_data_type(array.dtype), extent)
        # Where it lies is hidden: knowing that no other array overlaps it, LLVM would make gathers
        # of the lookups, which take twice as long.
        data = builder.asm(ir.FunctionType(data.type, [data.type]), "", "=r,0", [data], False)
        return _make_array(context, builder, array, data, [extent])

    return signature, generate


def _pointer(context, builder, array, value, index):
    data = context.make_array(array)(context, builder, value).data
    return builder.gep(data, [index])


@intrinsic
def load(_, array, index):
    """Read ``array[index]`` now, in one access."""
    signature = array.dtype(array, types.uint64)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(pointer, "acquire", signature.return_type.bitwidth // 8)

    return signature, generate


@intrinsic
def store(_, array, index, value):
    """Write ``array[index]`` now, in one access."""
    signature = types.void(array, types.uint64, array.dtype)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        align = signature.args[0].dtype.bitwidth // 8
        builder.store_atomic(arguments[2], pointer, "release", align)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def compare_and_swap(_, array, index, old, new):
    """Write `new` to ``array[index]`` if it is `old`, in one access, and tell whether it was."""
    signature = types.boolean(array, types.uint64, array.dtype, array.dtype)

    def generate(context, builder, signature, arguments):
        value, index, old, new = arguments
        pointer = _pointer(context, builder, signature.args[0], value, index)
        result = builder.cmpxchg(pointer, old, new, "acq_rel", "acquire")
        return builder.extract_value(result, 1)

    return signature, generate
