"""Kernels over paths in trees and ranges of arrays."""

import numpy as np

from ...runtime.intrinsics import fetch, highest_bit
from ...runtime.kernels import AHEAD, ONE, helper, kernel
from ..paths import BLOCK as WINDOWS

_BLOCK = np.uint64(WINDOWS)


@kernel
def path_sums(parent, values, out):
    """Write the sum of the values of each node and its ancestors, which have larger numbers."""
    for i in range(len(parent) - 1, -1, -1):
        fetch(out, parent[max(i - AHEAD, 0)])
        out[i] = 0
        above = out[parent[i]]
        out[i] = values[i] + above


@helper
def window_max(table, size, level, first, last):
    """Return the maximum of two windows of 2^level, one from `first` on and one up to `last`."""
    row = level * size
    return max(table[row + first], table[row + last + ONE - (ONE << level)])


@kernel
def range_max(start, stop, near, far, size, first, last, out):
    """Write the maximum of each range."""
    size = np.uint64(size)
    blocks = (size + (ONE << _BLOCK) - ONE) >> _BLOCK
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(near, np.uint64(first[ahead]) + _BLOCK * size)
        fetch(near, np.uint64(last[ahead]) + _BLOCK * size)
        low, high = np.uint64(first[i]), np.uint64(last[i])
        level = min(highest_bit(high - low + ONE), _BLOCK)
        found = window_max(near, size, level, low, high)
        low, high = (low + (ONE << _BLOCK) - ONE) >> _BLOCK, (high + ONE) >> _BLOCK
        if low < high:  # the blocks from `low` to `high` - 1 are inside
            level = highest_bit(high - low)
            found = max(found, window_max(far, blocks, level, low, high - ONE))
        out[i] = found
