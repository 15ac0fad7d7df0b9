"""Kernels over single elements: move, scatter, gather, and the keys of weights."""

import numpy as np

from ...runtime.intrinsics import fetch
from ...runtime.kernels import AHEAD, ONE, helper, kernel


@kernel
def fill(start, stop, value, out):
    for i in range(start, stop):
        out[i] = value


@kernel
def count_up(start, stop, out):
    for i in range(np.uint64(start), np.uint64(stop)):
        out[i] = i


@kernel
def copy_range(start, stop, values, out):
    out[start:stop] = values[start:stop]


@kernel
def any_equal(start, stop, left, right):
    """Return whether the arrays have an equal element at some place in the range."""
    count = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        count += np.uint64(left[i] == right[i])
    return count > 0


@helper
def sum_before(share, counts):
    """Return the number of elements that the shares before this one write."""
    total = np.uint64(0)
    for i in range(share):
        total += counts[i]
    return np.int64(total)


@helper
def alone(share, places):
    """Return the first place that only this share can write to, and the number of such places.

    `places` has the smallest and the largest place of each share. The places returned are above
    those of all earlier shares, and below those of all later shares.
    """
    first, end = np.uint64(0), np.uint64(2**64 - 1)
    for other in range(len(places)):
        if other < share:
            first = max(first, places[other, 1] + np.uint64(1))
        elif other > share:
            end = min(end, places[other, 0])
    return first, max(first, end) - first


@kernel
def move(source, target, count, values, out):
    """Copy `count` values from place `source` to place `target`."""
    out[target : target + count] = values[source : source + count]


@kernel
def scatter(start, stop, index, values, out):
    """Scatter values; if `values` has one element, scatter it to all places."""
    step = np.uint64(len(values) > 1)
    for i in range(start, stop):
        fetch(out, index[min(i + AHEAD, stop - 1)])
        out[index[i]] = values[np.uint64(i) * step]


@kernel
def gather(start, stop, values, index, out):
    for i in range(start, stop):
        fetch(values, index[min(i + AHEAD, stop - 1)])
        out[i] = values[index[i]]


@kernel
def gather_or_fill(start, stop, values, index, fill, out):
    """Gather values; `fill` has one element, or as many elements as `index`."""
    step = np.uint64(len(fill) > 1)
    for i in range(start, stop):
        place = index[i]
        out[i] = values[place] if place < len(values) else fill[np.uint64(i) * step]


@kernel
def add_or_fill(start, stop, index, first, length, fill, out):
    """Add `first` to each index below `length`; replace other indices by `fill`."""
    first, length, fill = np.uint64(first), np.uint64(length), np.uint64(fill)
    for i in range(np.uint64(start), np.uint64(stop)):
        place = np.uint64(index[i])
        out[i] = first + place if place < length else fill


@helper
def key_of(word, top, signed, is_float, descending):
    """Flip the sign bit, whose index is `top`; flip all bits of a negative float.

    Bits above `top` are unspecified.
    """
    sign = ONE << top
    turned = sign * np.uint64(signed)
    if is_float and signed:
        word *= np.uint64(word != sign)  # -0.0 becomes 0.0
        turned |= np.uint64(0) - (word >> top)
    return word ^ turned ^ (np.uint64(0) - np.uint64(descending))


@kernel
def order_key(start, stop, bits, top, signed, is_float, descending, out):
    for i in range(start, stop):
        out[i] = key_of(np.uint64(bits[i]), top, signed, is_float, descending)
