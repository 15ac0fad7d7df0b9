"""Kernels over elements: compare, compute keys, select by a mask, and add up.

Prefix sums wrap around as NumPy's integers do.
"""

import numpy as np

from ...runtime.kernels import ONE, helper, kernel


@kernel
def count_up(start, stop, out):
    for i in range(np.uint64(start), np.uint64(stop)):
        out[i] = i


@kernel
def any_equal(start, stop, left, right):
    """Return whether the arrays have an equal element at some place in the range."""
    count = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        count += np.uint64(left[i] == right[i])
    return count > 0


@kernel
def find_places(start, stop, ascending, values, is_right, out):
    """Search for each value by halving the range of its place."""
    for i in range(start, stop):
        low, high = np.uint64(0), np.uint64(len(ascending))
        while low < high:
            middle = (low + high) >> ONE
            is_before = ascending[middle] < values[i]
            if is_before or (is_right and ascending[middle] == values[i]):
                low = middle + ONE
            else:
                high = middle
        out[i] = low


@helper
def sum_before(share, counts):
    """Return the number of elements that earlier shares write."""
    total = np.uint64(0)
    for i in range(share):
        total += counts[i]
    return np.int64(total)


@kernel
def order_key(start, stop, bits, top, signed, is_float, descending, out):
    """Flip the sign bit, whose index is `top`, if values may be negative (`signed`).

    Flip all bits of a negative float, and all bits of every value if `descending`.
    """
    sign = ONE << top
    for i in range(start, stop):
        word, flipped = np.uint64(bits[i]), sign * np.uint64(signed)
        if is_float and signed:
            word *= np.uint64(word != sign)  # -0.0 becomes 0.0
            flipped |= np.uint64(0) - (word >> top)
        out[i] = word ^ flipped ^ (np.uint64(0) - np.uint64(descending))


@kernel
def total(start, stop, values):
    """Return the sum of the values, modulo 2^64."""
    sum_so_far = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        sum_so_far += np.uint64(values[i])
    return sum_so_far


@kernel
def scan(start, stop, before, exclusive, values, out):
    """Write the prefix sums of the values, to which the sum `before` is added."""
    sum_so_far = np.uint64(before)
    for i in range(np.uint64(start), np.uint64(stop)):
        value = np.uint64(values[i])
        sum_so_far += value
        out[i] = sum_so_far - value if exclusive else sum_so_far


@kernel
def count_flags(start, stop, mask):
    """Return the number of flags that are 1."""
    count = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        count += np.uint64(mask[i])
    return np.int64(count)


@kernel
def compact(start, stop, place, count, mask, values, out):
    """Write the `count` values whose flag is 1 from `place` on.

    An unselected value is written too, and then overwritten. After the last selected value nothing
    is written, because other threads write to the places after these.
    """
    place, end = np.uint64(place), np.uint64(place + count)
    for i in range(np.uint64(start), np.uint64(stop)):
        if place < end:
            out[place] = values[i]
        place += ONE * mask[i]
