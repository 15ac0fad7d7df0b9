"""A kernel that joins few pairs in one call: their keys, the sort and the joins.

For few pairs, calling several kernels takes longer than running them. One call also joins the pairs
of many groups, one group after another, so the arrays of each sort stay in the cache. Each argument
has one dtype, so the kernel is compiled once.
"""

import numpy as np

from ...runtime.intrinsics import NONE, ONE, helper, highest_bit, kernel, lowest_bit, scratch
from .elements import key_of
from .runs import DIGIT
from .trees import join

_ZERO, _SIX, _WORD, _DIGITS = np.uint64(0), np.uint64(6), np.uint64(63), 2**DIGIT
#: An insertion sort gives up if it moves positions more often than this, on average.
_PATIENCE = 4


@helper
def write_keys(bits, top, signed, is_float, descending, key):
    """Write the keys of weights, less the smallest key; return the number of bits they need."""
    low, high, mask = NONE, _ZERO, NONE >> (_WORD - top)
    for i in range(len(key)):
        key[i] = key_of(bits[i], top, signed, is_float, descending) & mask
        low, high = min(low, key[i]), max(high, key[i])
    for i in range(len(key)):
        key[i] -= low
    return np.int64(highest_bit(high - low)) + 1 if high > low else 0


@helper
def sort_by_digits(order, other, key, start, stop):
    """Sort positions by bits `start` to `stop` of their keys; the sort is stable."""
    counts = scratch(np.uint32, _DIGITS)
    passes = -(-(stop - start) // DIGIT)
    width = -(-(stop - start) // max(1, passes))
    mask = (ONE << np.uint64(width)) - ONE
    for step in range(passes):
        shift = np.uint64(start + step * width)
        counts[: 1 << width] = 0
        for word in key:
            counts[(word >> shift) & mask] += np.uint32(1)
        place = np.uint32(0)
        for digit in range(1 << width):
            counts[digit], place = place, place + counts[digit]
        for position in order:
            bucket = (key[position] >> shift) & mask
            other[counts[bucket]] = position
            counts[bucket] += np.uint32(1)
        order, other = other, order
    if passes % 2:  # the result is in the other array
        for i in range(len(order)):
            other[i] = order[i]


@helper
def sort_by_insertion(order, key):
    """Sort positions by their keys; return False if it takes too many moves."""
    patience = _PATIENCE * len(order)
    for i in range(1, len(order)):
        position = order[i]
        while i > 0 and key[position] < key[order[i - 1]]:
            order[i] = order[i - 1]
            i -= 1
            patience -= 1
        order[i] = position
        if patience < 0:
            return False
    return True


@helper
def sort_positions(order, other, key, bits):
    """Sort all positions by (key, position); the keys have this number of bits.

    The top bits of random keys almost sort them. Insertion then takes few moves.
    """
    size = len(order)
    digit = np.int64(highest_bit(np.uint64(size) | ONE)) + 1  # a group may be empty
    below = max(0, bits - 2 * min(digit, DIGIT))
    for i in range(size):
        order[i] = i
    sort_by_digits(order, other, key, below, bits)
    if below and not sort_by_insertion(order, key):
        for i in range(size):
            order[i] = i
        sort_by_digits(order, other, key, 0, bits)


@helper
def join_sorted(u, v, order, parent, marks):
    """Join pairs in order; mark the positions of those that joined two sets.

    Return False if the nodes span a wider range than there are parents.
    """
    lowest, highest = NONE, _ZERO
    for i in range(len(u)):
        lowest, highest = min(lowest, u[i], v[i]), max(highest, u[i], v[i])
    if highest - lowest >= np.uint64(len(parent)):
        return False
    for node in range(highest - lowest + ONE):
        parent[node] = node
    for position in order:
        place = np.uint64(position)
        if join(u[place] - lowest, v[place] - lowest, parent):
            marks[place >> _SIX] |= ONE << (place & _WORD)
    return True


@kernel(0, 1, [0, 2], [1, 0], [0, 1], [7, 5], 63, 1, 1, 0, [0] * 6, [[0] * 2] * 2, [0] * 2, [0])
def join_groups(
    start, stop, first, u, v, bits, top, signed, is_float, descending, words, orders, parent, out
):
    """Join the pairs of some groups by weight; no two groups have a common node.

    Write the positions of the pairs that joined two sets. Return their number, or -1 if the nodes
    of a group span a wider range than there are parents.
    """
    count, longest = 0, orders.shape[1]
    for group in range(start, stop):
        begin, end = first[group], first[group + 1]
        size = end - begin
        key, marks = words[:size], words[longest : longest + (size >> 6) + 1]
        order, other = orders[0, :size], orders[1, :size]
        width = write_keys(bits[begin:end], np.uint64(top), signed, is_float, descending, key)
        sort_positions(order, other, key, width)
        marks[:] = 0
        if not join_sorted(u[begin:end], v[begin:end], order, parent, marks):
            return -1
        for i in range(len(marks)):
            while marks[i]:
                out[count] = np.uint64(begin + 64 * i) + lowest_bit(marks[i])
                marks[i] &= marks[i] - ONE
                count += 1
    return count
