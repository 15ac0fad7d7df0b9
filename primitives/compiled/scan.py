"""Kernels of prefix sums, which wrap around as NumPy's integers do, and of selection by a mask."""

import numpy as np

from ...runtime.kernels import ONE, kernel


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

    Other threads write to the places after these, so the last write is guarded.
    """
    place, end = np.uint64(place), np.uint64(place + count)
    for i in range(np.uint64(start), np.uint64(stop)):
        if place < end:
            out[place] = values[i]
        place += ONE * mask[i]
