"""Loops over elements: moved, scattered, gathered, compared; keys in their order."""

import operator

import numpy as np

from ...runtime.intrinsics import AHEAD, ONE, fetch, kernel


@kernel(0, 2, 3, [5, 6, 7, 8, 9])
def move(target, source, count, values):
    """Move a run of values to the front, to where none of them is overwritten before it moves."""
    for i in range(count):
        values[target + i] = values[source + i]


@kernel(1, 3, [0] * 4)
def count_up(start, stop, out):
    for i in range(start, stop):
        out[i] = i


@kernel(0, 3, [3, 0, 1], [5, 6, 7], [0] * 4)
def scatter(start, stop, index, values, out):
    """`values` has one element for all, or one for each."""
    step = np.uint64(len(values) > 1)
    for i in range(start, stop):
        fetch(out, index[min(i + AHEAD, stop - 1)])
        out[index[i]] = values[np.uint64(i) * step]


def scatter_reduce(reduce):
    """Return a kernel that reduces what meets at a place; bits of `flip` are turned meanwhile."""

    def scatter(index, values, flip, out):
        last = len(index) - 1
        for i in range(len(index)):
            fetch(out, index[min(i + AHEAD, last)])
            out[index[i]] = reduce(out[index[i]] ^ flip, values[i] ^ flip) ^ flip

    # Kernels are compiled apart and linked together: no two may have one name.
    scatter.__qualname__ = f"scatter_{reduce.__name__}"
    return kernel([1, 0, 1], [5, 9, 7], 0, [6, 6])(scatter)


scatter_min = scatter_reduce(min)
scatter_max = scatter_reduce(max)
scatter_add = scatter_reduce(operator.add)


@kernel(0, 3, [3, 0, 1], [1, 2, 0], [0] * 3)
def gather(start, stop, values, index, out):
    for i in range(start, stop):
        fetch(values, index[min(i + AHEAD, stop - 1)])
        out[i] = values[index[i]]


@kernel(0, 3, [8, 9], [1, 5, 0], [7], [0] * 3)
def gather_or_fill(start, stop, values, index, fill, out):
    """`fill` has one element for all, or one for each."""
    step = np.uint64(len(fill) > 1)
    for i in range(start, stop):
        place = index[i]
        out[i] = values[place] if place < len(values) else fill[np.uint64(i) * step]


@kernel(0, 3, [1, 9, 64], 6, True, True, False, [0] * 3)
def order_key(start, stop, bits, top, signed, is_float, descending, out):
    """Turn the sign bit, which is at `top`, and all bits of a negative float."""
    sign, all_bits = ONE << top, np.uint64(0) - np.uint64(descending)
    for i in range(start, stop):
        word = np.uint64(bits[i])
        turned = sign * np.uint64(signed)
        if is_float and signed:
            word *= np.uint64(word != sign)  # -0.0 becomes 0.0
            turned |= np.uint64(0) - (word >> top)
        out[i] = word ^ turned ^ all_bits


@kernel(0, 1, [4, 7, 4], 4, [0])
def mark_equal(start, stop, values, value, bits):
    """Set the bit of each value that equals one; the range is of words of 64 bits."""
    for i in range(start, stop):
        word, those = np.uint64(0), values[64 * i : 64 * i + 64]
        for j in range(len(those)):
            word |= np.uint64(those[j] == value) << np.uint64(j)
        bits[i] = word
