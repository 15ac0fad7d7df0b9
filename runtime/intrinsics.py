"""The decorator that compiles kernels, and operations that Numba does not have."""

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
    OPTIONS["_nrt"] = False  # kernels run without Numba, so without its allocator

#: The distance in elements at which loops prefetch.
AHEAD = 16
#: The number of elements that a loop processes at a time if it needs a buffer on the stack.
BLOCK = 2048
#: The number of 64-bit words in a cache line. If a loop writes to many places in turn, it
#: prefetches the next line of each place.
LINE = np.uint64(8)
NONE = np.uint64(2**64 - 1)
ONE = np.uint64(1)

#: Decorator of functions that only kernels call.
helper = njit(**OPTIONS)
_config: Any = numba.config
_caching = threading.Lock()


def kernel(*arguments: Any) -> Any:
    """Decorate a kernel so that Numba compiles it; `arguments` are its `example`.

    With untested versions of Numba, compiled code is stored in Numba's own cache. This cache
    detects only changes of the kernel's own source. So the name of its folder depends on all other
    dependencies.
    """

    def compiled(function):
        function = example(*arguments)(function)
        name = folder_of(function.__module__)
        folder = None if is_tested() else private_folder(name, create=True)
        if folder is None or not os.access(folder, os.W_OK):
            return helper(function)
        with _caching:
            users, _config.CACHE_DIR = _config.CACHE_DIR, str(folder)
            try:
                return njit(cache=True, **OPTIONS)(function)
            finally:
                _config.CACHE_DIR = users

    return compiled


def _prefetch(array, index, is_write):
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
        locality, is_data = 3, 1
        options = (ir.Constant(word, value) for value in (is_write, locality, is_data))
        builder.call(prefetch, [builder.bitcast(builder.gep(data, [place]), byte), *options])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def fetch(_, array, index):
    """Prefetch the cache line of ``array[index]``."""
    return _prefetch(array, index, is_write=0)


@intrinsic
def claim(_, array, index):
    """Prefetch the cache line of ``array[index]`` to write it; other threads lose their copies."""
    return _prefetch(array, index, is_write=1)


@intrinsic
def at_most(_, values, first, limit):
    """Return 64 bits, one for each value from `first` on: whether the value is at most `limit`.

    LLVM does not vectorise the equivalent loop.
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
    """Return the index of the lowest set bit of a nonzero word."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return word(word), generate


@intrinsic
def highest_bit(_, word):
    """Return the index of the highest set bit of a nonzero word."""

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
def array_at(_, address, dtype, shape):
    """Return the contiguous array of this dtype and shape whose first element is at an address."""
    signature = types.Array(dtype.dtype, len(shape), "C")(address, dtype, shape)

    def generate(context, builder, signature, arguments):
        array, extents = signature.return_type, cgutils.unpack_tuple(builder, arguments[2])
        pointer = context.get_data_type(array.dtype).as_pointer()
        return _make_array(
            context, builder, array, builder.inttoptr(arguments[0], pointer), extents
        )

    return signature, generate


@intrinsic(prefer_literal=True)
def scratch(_, dtype, size):
    """Return an uninitialised array on the stack; `size` must be a compile-time constant."""
    signature = types.Array(dtype.dtype, 1, "C")(dtype, size)

    def generate(context, builder, signature, _):
        array, extent = signature.return_type, context.get_constant(types.intp, size.literal_value)
        data = cgutils.alloca_once(builder, context.get_data_type(array.dtype), extent)
        # The empty assembly hides the origin of the pointer. If LLVM knew that no other array
        # overlaps this one, it would use gather instructions, which take twice as long.
        data = builder.asm(ir.FunctionType(data.type, [data.type]), "", "=r,0", [data], False)
        return _make_array(context, builder, array, data, [extent])

    return signature, generate


def _pointer(context, builder, array, value, index):
    data = context.make_array(array)(context, builder, value).data
    return builder.gep(data, [index])


@intrinsic
def load(_, array, index):
    """Load ``array[index]`` atomically, with acquire semantics."""
    signature = array.dtype(array, types.uint64)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(pointer, "acquire", signature.return_type.bitwidth // 8)

    return signature, generate


@intrinsic
def store(_, array, index, value):
    """Store ``array[index]`` atomically, with release semantics."""
    signature = types.void(array, types.uint64, array.dtype)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        align = signature.args[0].dtype.bitwidth // 8
        builder.store_atomic(arguments[2], pointer, "release", align)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def compare_and_swap(_, array, index, old, new):
    """Replace ``array[index]`` by `new` atomically if it equals `old`; return whether it did."""
    signature = types.boolean(array, types.uint64, array.dtype, array.dtype)

    def generate(context, builder, signature, arguments):
        value, index, old, new = arguments
        pointer = _pointer(context, builder, signature.args[0], value, index)
        result = builder.cmpxchg(pointer, old, new, "acq_rel", "acquire")
        return builder.extract_value(result, 1)

    return signature, generate


@intrinsic
def exchange(_, array, index, value):
    """Replace ``array[index]`` atomically; return the old value."""
    signature = array.dtype(array, types.uint64, array.dtype)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("xchg", pointer, arguments[2], "acq_rel")

    return signature, generate


@intrinsic
def copy(_, values, source, out, target, count):
    """Copy `count` elements from place `source` to place `target` of another array.

    The function `memcpy` is faster than a loop.
    """
    signature = types.void(values, types.int64, out, types.int64, types.int64)

    def generate(context, builder, signature, arguments):
        values, source, out, target, count = arguments
        array = signature.args[0]
        start = _pointer(context, builder, array, values, source)
        goal = _pointer(context, builder, signature.args[2], out, target)
        cgutils.raw_memcpy(builder, goal, start, count, array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return signature, generate
