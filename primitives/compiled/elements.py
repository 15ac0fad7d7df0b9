"""Kernels over single elements: count up, compare, and compute the keys of weights."""

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


@helper
def sum_before(share, counts):
    """Return the number of elements that earlier shares write."""
    total = np.uint64(0)
    for i in range(share):
        total += counts[i]
    return np.int64(total)


@helper
def exclusive_places(share, places):
    """Return the first place that only this share can write to, and the number of such places.

    `places` has the smallest and the largest place of each share. Exclusive places are above those
    of all earlier shares, and below those of all later shares.
    """
    first, end = np.uint64(0), np.uint64(2**64 - 1)
    for other in range(len(places)):
        if other < share:
            first = max(first, places[other, 1] + np.uint64(1))
        elif other > share:
            end = min(end, places[other, 0])
    return first, max(first, end) - first


@kernel
def order_key(start, stop, bits, top, signed, is_float, descending, out):
    """Flip the sign bit, whose index is `top`, and all bits of a negative float."""
    sign = ONE << top
    for i in range(start, stop):
        word, flipped = np.uint64(bits[i]), sign * np.uint64(signed)
        if is_float and signed:
            word *= np.uint64(word != sign)  # -0.0 becomes 0.0
            flipped |= np.uint64(0) - (word >> top)
        out[i] = word ^ flipped ^ (np.uint64(0) - np.uint64(descending))
