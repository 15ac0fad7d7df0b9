"""Prefetches, atomic operations and bit scans, which Numba does not have."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _pointer(context, builder, array, value, index):
    data = context.make_array(array)(context, builder, value).data
    return builder.gep(data, [index])


@intrinsic
def fetch(_, array, index):
    """Prefetch the cache line of ``array[index]``."""
    signature = types.void(array, index)

    def generate(context, builder, signature, arguments):
        value, place = arguments
        place = builder.zext(place, ir.IntType(64))
        pointer = _pointer(context, builder, signature.args[0], value, place)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        for_reading, locality, is_data = 0, 3, 1
        options = (ir.Constant(word, value) for value in (for_reading, locality, is_data))
        builder.call(prefetch, [builder.bitcast(pointer, byte), *options])
        return context.get_dummy_value()

    return signature, generate


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
