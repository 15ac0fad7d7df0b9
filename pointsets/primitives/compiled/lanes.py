"""Vector operations on eight points: their distances, and insertion into lists of neighbors.

LLVM does not vectorise loops that are as short as a leaf, so the vectors are explicit. On
processors with shorter vectors, LLVM splits them.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...distances import ABSOLUTE, LARGEST
from ..searches import PADDING

#: The number of points in a vector.
LANES = PADDING
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


@intrinsic
def near_point(_, norm, axes, point, at, wide, points, first, stride, limit, out, place):
    """Write the reduced distances between a point and eight others, from ``out[place]`` on.

    Return a bit for each distance that is at most `limit`. The coordinates of the point are at the
    positions `at`, ``at + wide`` and so on. Those of the first other point are at `first`,
    ``first + stride`` and so on. See `Space` for `norm`.
    """
    index = types.int64
    kinds = norm, index, point, index, index, points, index, index, types.float64, out, index

    def generate(context, builder, signature, arguments):
        values = _addresses(context, builder, signature, arguments)
        _, axes, point, at, wide, points, first, stride, limit, out, place = values

        def difference(axis):
            x = _vector(builder, points, _position(builder, first, axis, stride))
            return builder.fsub(x, _splat(builder, point, _position(builder, at, axis, wide)))

        total = _sum(builder, norm.count, axes, difference)
        builder.store(total, _vector_pointer(builder, out, place), align=8)
        return _mask(builder, total, _repeat(builder, limit))

    return types.uint64(*kinds), generate


@intrinsic
def near_box(_, norm, axes, boxes, at, points, first, stride, limits, place):
    """Return a bit for each of eight points whose reduced distance to a box is within its limit.

    The box is at ``boxes[at]``, and the limits are from ``limits[place]`` on.
    """
    index = types.int64
    kinds = norm, index, boxes, index, points, index, index, limits, index

    def generate(context, builder, signature, arguments):
        values = _addresses(context, builder, signature, arguments)
        _, axes, boxes, at, points, first, stride, limits, place = values

        def gap(axis):
            x = _vector(builder, points, _position(builder, first, axis, stride))
            side = builder.add(at, axis)
            low, high = (_splat(builder, boxes, each) for each in (side, builder.add(side, axes)))
            outside = _larger(builder, builder.fsub(low, x), builder.fsub(x, high))
            return _larger(builder, outside, ir.Constant(_VECTOR, None))

        total = _sum(builder, norm.count, axes, gap)
        return _mask(builder, total, _vector(builder, limits, place))

    return types.uint64(*kinds), generate


@intrinsic
def insert(_, distances, words, at, blocks, distance, word):
    """Insert a pair of a distance and a word into a sorted list, and drop the last pair.

    The list has ``8 * blocks`` pairs, from position ``at + 1`` on. The pair at `at` must precede
    every other pair. No branch depends on a pair, because the processor could not predict it.
    """
    index = types.int64
    kinds = distances, words, index, index, types.float64, types.uint64

    def generate(context, builder, signature, arguments):
        values = _addresses(context, builder, signature, arguments)
        *lists, at, blocks, distance, word = values
        new = _repeat(builder, distance), _repeat(builder, word)
        with cgutils.for_range(builder, blocks) as loop:  # from the last block to the first one
            block = builder.sub(builder.sub(blocks, loop.index), ir.IntType(64)(1))
            before = builder.add(at, builder.mul(block, ir.IntType(64)(LANES)))
            start = builder.add(before, ir.IntType(64)(1))
            old = [_vector(builder, each, start) for each in lists]
            # The pairs at the previous positions.
            shifted = [
                builder.shuffle_vector(
                    _splat(builder, each, before), values, _indices(range(LANES - 1, 2 * LANES - 1))
                )
                for each, values in zip(lists, old, strict=True)
            ]
            is_here, is_earlier = (_precedes(builder, new, pairs) for pairs in (old, shifted))
            for each, value, stays, moves in zip(lists, new, old, shifted, strict=True):
                here = builder.select(is_here, value, stays)
                found = builder.select(is_earlier, moves, here)
                builder.store(found, _vector_pointer(builder, each, start), align=8)
        return context.get_dummy_value()

    return types.void(*kinds), generate


def _precedes(builder, a, b):
    """Emit a comparison of two vectors of pairs."""
    is_less = builder.fcmp_ordered("<", a[0], b[0])
    is_equal = builder.fcmp_ordered("==", a[0], b[0])
    return builder.or_(is_less, builder.and_(is_equal, builder.icmp_unsigned("<", a[1], b[1])))


def _sum(builder, norm, axes, difference):
    """Emit a loop that accumulates the differences along all axes, as `space.accumulate` does."""
    total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, None))
    with cgutils.for_range(builder, axes) as loop:
        step, old = difference(loop.index), builder.load(total)
        if norm not in (ABSOLUTE, LARGEST):
            new = builder.fadd(old, builder.fmul(step, step))
        else:
            step = _larger(builder, step, builder.fneg(step))
            new = builder.fadd(old, step) if norm == ABSOLUTE else _larger(builder, old, step)
        builder.store(new, total)
    return builder.load(total)


def _mask(builder, total, limits):
    bits = builder.fcmp_ordered("<=", total, limits)
    return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), ir.IntType(64))


def _addresses(context, builder, signature, arguments):
    """Return the arguments, with addresses in place of arrays."""
    return [
        context.make_array(kind)(context, builder, value).data
        if isinstance(kind, types.Array)
        else value
        for kind, value in zip(signature.args, arguments, strict=True)
    ]


def _position(builder, first, axis, stride):
    return builder.add(first, builder.mul(axis, stride))


def _vector_pointer(builder, data, position):
    pointer = ir.VectorType(data.type.pointee, LANES).as_pointer()
    return builder.bitcast(builder.gep(data, [position]), pointer)


def _vector(builder, data, position):
    return builder.load(_vector_pointer(builder, data, position), align=8)


def _splat(builder, data, position):
    return _repeat(builder, builder.load(builder.gep(data, [position])))


def _repeat(builder, value):
    none = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    one = builder.insert_element(none, value, ir.IntType(32)(0))
    return builder.shuffle_vector(one, one, _indices([0] * LANES))


def _indices(values):
    return ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(values))


def _larger(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)
