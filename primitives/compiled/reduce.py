"""Kernels over segments. Each call takes the segments from `first` to `last`."""

import numpy as np

from ...runtime.intrinsics import fetch
from ...runtime.kernels import AHEAD, ONE, kernel


def _choosing(better):
    """Return a kernel that chooses a value of each segment; `better` returns one of two."""

    @kernel
    def reduce_segments(first, last, values, offsets, initial, out):
        for segment in range(first, last):
            start, stop = np.uint64(offsets[segment]), np.uint64(offsets[segment + 1])
            best = values[start] if start < stop else initial
            for i in range(start, stop):
                best = better(best, values[i])
            out[segment] = best

    return reduce_segments


@kernel
def reduce_sum(first, last, values, offsets, initial, out):
    for segment in range(first, last):
        start, stop = np.uint64(offsets[segment]), np.uint64(offsets[segment + 1])
        total = np.uint64(0)
        for i in range(start, stop):
            total += np.uint64(values[i])
        out[segment] = total if start < stop else np.uint64(initial)


#: Kernels that reduce each segment; an empty segment gets `initial`.
REDUCE_SEGMENTS = {"min": _choosing(min), "max": _choosing(max), "sum": reduce_sum}


@kernel
def argmin(first, last, values, offsets, none, out):
    """Write the position of the first smallest value of each segment; `none` if it is empty."""
    for segment in range(first, last):
        start, stop = np.uint64(offsets[segment]), np.uint64(offsets[segment + 1])
        if start == stop:
            out[segment] = none
            continue
        best, position = values[start], start
        for i in range(start + np.uint64(1), stop):
            is_less = values[i] < best
            best = values[i] if is_less else best
            position = i if is_less else position  # type: ignore[assignment]
        out[segment] = position


@kernel
def broadcast(first, last, values, offsets, out):
    """Repeat the value of each segment over the segment."""
    for segment in range(first, last):
        value = values[segment]
        for i in range(np.uint64(offsets[segment]), np.uint64(offsets[segment + 1])):
            out[i] = value


@kernel
def compact(first, last, spare, mask, offsets, start, values, others, out, other_out):
    """Write both values of the elements whose flag is 1, from the start of their segment on.

    The other values go to a spare place: no branch depends on a flag.
    """
    for segment in range(first, last):
        fetch(out, start[min(segment + AHEAD, last - 1)])
        fetch(other_out, start[min(segment + AHEAD, last - 1)])
        place = np.uint64(start[segment])
        for i in range(np.uint64(offsets[segment]), np.uint64(offsets[segment + 1])):
            there = place if mask[i] else spare
            out[there], other_out[there] = values[i], others[i]
            place += ONE * mask[i]


@kernel
def relabel_arcs(first, last, label, destination, offsets, target, is_crossing, degree):
    """Look up the label of each arc's destination; flag and count labels unlike the source's."""
    end = np.uint64(offsets[last]) - ONE
    for segment in range(first, last):
        own, count = label[segment], np.uint64(0)
        for i in range(np.uint64(offsets[segment]), np.uint64(offsets[segment + 1])):
            fetch(label, destination[min(i + np.uint64(AHEAD), end)])
            there = label[destination[i]]
            target[i], is_crossing[i] = there, there != own
            count += np.uint64(there != own)
        degree[segment] = count
