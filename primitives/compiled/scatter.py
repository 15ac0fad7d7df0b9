"""Kernels that move elements to places, or reduce them where they meet."""

import operator

import numpy as np

from ...runtime.intrinsics import fetch
from ...runtime.kernels import AHEAD, ONE, kernel


@kernel
def scatter(start, stop, index, values, out):
    """Scatter values; if `values` has one element, scatter it to all places."""
    step = np.uint64(len(values) > 1)
    for i in range(start, stop):
        fetch(out, index[min(i + AHEAD, stop - 1)])
        out[index[i]] = values[np.uint64(i) * step]


def _reducing(function):
    """Return a kernel that reduces values by a function of two values."""

    @kernel
    def scatter_reduce(start, stop, index, values, out):
        for i in range(start, stop):
            fetch(out, index[min(i + AHEAD, stop - 1)])
            out[index[i]] = function(out[index[i]], values[i])

    return scatter_reduce


#: Kernels that reduce the values at each place, starting from the value of `out`.
SCATTER_REDUCE = {"min": _reducing(min), "max": _reducing(max), "sum": _reducing(operator.add)}


@kernel
def start_rows(start, stop, first, rows):
    """Replace the total of each row at each place by `first` plus the totals of earlier rows."""
    for i in range(start, stop):
        total = first[i]
        for row in range(len(rows)):
            rows[row, i], total = total, total + rows[row, i]


@kernel
def multiprefix(start, stop, index, values, total, out):
    """Write the total at each value's place, then add the value to it."""
    for i in range(start, stop):
        fetch(total, index[min(i + AHEAD, stop - 1)])
        place = index[i]
        out[i] = total[place]
        total[place] += values[i]


@kernel
def deal_two(start, stop, index, places, values, others, new_values, new_others):
    """Write each row of two columns to the next place of its index."""
    for i in range(np.uint64(start), np.uint64(stop)):
        place = places[index[i]]
        places[index[i]] = place + ONE
        new_values[place], new_others[place] = values[i], others[i]


@kernel
def deal_four(start, stop, index, places, u, v, key, ids, new_u, new_v, new_key, new_ids):
    """Write each row of four columns to the next place of its index."""
    for i in range(np.uint64(start), np.uint64(stop)):
        place = places[index[i]]
        places[index[i]] = place + ONE
        new_u[place], new_v[place] = u[i], v[i]
        new_key[place], new_ids[place] = key[i], ids[i]


#: Kernels by the number of columns.
DEAL = {2: deal_two, 4: deal_four}


@kernel
def count_ends(u, v, owner, bits, counts):
    """Count the ends of pairs of each owner of blocks of nodes."""
    for i in range(len(u)):
        counts[owner[np.uint64(u[i]) >> bits]] += ONE
        counts[owner[np.uint64(v[i]) >> bits]] += ONE


@kernel
def deal_ends(owner, bits, places, u, v, key, node, other, new_key, place_u, place_v):
    """Write both ends of each pair to the next places of their owners."""
    for i in range(len(u)):
        a, b = np.uint64(u[i]), np.uint64(v[i])
        at_a, at_b = owner[a >> bits], owner[b >> bits]
        place = places[at_a]
        places[at_a] = place + ONE
        node[place], other[place], new_key[place], place_u[i] = a, b, key[i], place
        place = places[at_b]
        places[at_b] = place + ONE
        node[place], other[place], new_key[place], place_v[i] = b, a, key[i], place


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
        fetch(values, index[min(i + AHEAD, stop - 1)])
        place = index[i]
        out[i] = values[place] if place < len(values) else fill[np.uint64(i) * step]


@kernel
def add_or_fill(start, stop, index, first, length, fill, out):
    """Add `first` to each index below `length`; replace other indices by `fill`."""
    first, length, fill = np.uint64(first), np.uint64(length), np.uint64(fill)
    for i in range(np.uint64(start), np.uint64(stop)):
        place = np.uint64(index[i])
        out[i] = first + place if place < length else fill
