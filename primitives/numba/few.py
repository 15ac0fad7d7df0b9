"""A kernel that joins the pairs of small graphs: their keys, the sort and the joins.

For few pairs, calling several kernels takes longer than running them. One call also joins the pairs
of many graphs, one graph after another, so the arrays of each sort stay in the cache. The kernel
gets the addresses of columns, so it is compiled once for all dtypes, and nothing is copied before.
"""

import numpy as np

from ...runtime.intrinsics import (
    ONE,
    array_at,
    compare_and_swap,
    helper,
    highest_bit,
    kernel,
    load,
    scratch,
)
from ..joins import FEW
from .elements import key_of
from .runs import DIGIT
from .trees import join

_ZERO, _TWO, _BYTE, _HALF = np.uint64(0), np.uint64(2), np.uint64(8), np.uint64(32)
#: A record has the top bits of a key, less the smallest key, above the position of the pair.
_PLACE, _PLACES = np.uint64(16), np.uint64(2**16 - 1)
_DIGITS = 2**DIGIT
_FEW, _LARGEST = np.uint64(FEW), np.uint64(2**64 - 1)
_KEPT = np.uint64(48)
#: An insertion sort gives up if it moves records more often than this, on average.
_PATIENCE = 4
#: The number of pairs that are filtered before they are joined.
_BLOCK = 64
#: The number of graphs that a thread takes from the queue at a time.
_TAKEN = np.uint64(8)


@helper
def read_ends(column, _, ends):
    """Copy the low bits of one end of each pair; return the largest end."""
    high = _ZERO
    for i in range(len(ends)):
        end = np.uint64(column[i])
        ends[i] = np.uint16(end)
        high = max(high, end)
    return high


@helper
def read_keys(column, options, key):
    """Write the keys of weights; return the smallest and the largest one."""
    top, signed, is_float, descending = options
    low, high, mask = _LARGEST, _ZERO, _LARGEST >> (np.uint64(63) - top)
    for i in range(len(key)):
        key[i] = key_of(np.uint64(column[i]), top, signed, is_float, descending) & mask
        low, high = min(low, key[i]), max(high, key[i])
    return low, high


@helper
def read(function, address, itemsize, options, out):
    """Call a function on the column of unsigned words at an address."""
    shape = (len(out),)
    if itemsize == 8:
        return function(array_at(address, np.uint64, shape), options, out)
    if itemsize == 4:
        return function(array_at(address, np.uint32, shape), options, out)
    if itemsize == 2:
        return function(array_at(address, np.uint16, shape), options, out)
    return function(array_at(address, np.uint8, shape), options, out)


@helper
def sort_by_digit(records, other, counts, shift, mask):
    place = np.uint32(0)
    for digit in range(len(counts)):
        counts[digit], place = place, place + counts[digit]
    for i in range(len(records)):
        digit = (records[i] >> shift) & mask
        other[np.uint64(counts[digit])] = records[i]
        counts[digit] += np.uint32(1)


@helper
def sort_by_two_digits(records, other, start, stop):
    """Sort records by their bits `start` to `stop`, in two passes; the sort is stable."""
    width = (stop - start) >> ONE
    middle = start + width
    low_mask, high_mask = (ONE << width) - ONE, (ONE << (stop - middle)) - ONE
    low, high = scratch(np.uint32, _DIGITS), scratch(np.uint32, _DIGITS)
    low, high = low[: low_mask + ONE], high[: high_mask + ONE]
    low[:] = 0
    high[:] = 0
    for i in range(len(records)):
        low[(records[i] >> start) & low_mask] += np.uint32(1)
        high[(records[i] >> middle) & high_mask] += np.uint32(1)
    sort_by_digit(records, other, low, start, low_mask)
    sort_by_digit(other, records, high, middle, high_mask)


@helper
def precedes(record, other, key):
    if (record ^ other) >> _PLACE:
        return record < other
    left, right = key[record & _PLACES], key[other & _PLACES]
    return left < right or (left == right and record < other)


@helper
def sort_by_insertion(records, key):
    """Sort records by (key, position); return False if it takes too many moves."""
    patience, last = _PATIENCE * len(records), records[0]
    for i in range(1, len(records)):
        record = records[i]
        if not precedes(record, last, key):
            last = record
            continue
        while i > 0 and precedes(record, records[i - 1], key):
            records[i] = records[i - 1]
            i -= 1
            patience -= 1
        records[i] = record
        if patience < 0:
            return False
    return True


@helper
def sort_pairs(key, low, high, records, other):
    """Write records of all pairs, sorted by (key, position).

    The top bits of random keys almost sort them. Insertion then takes few moves.
    """
    size = np.uint64(len(key))
    bits = highest_bit(high - low) + ONE if high > low else _ZERO
    cut = max(bits, _KEPT) - _KEPT
    for i in range(size):
        records[i] = ((key[i] - low) >> cut) << _PLACE | i
    stop = bits - cut + _PLACE
    width = _TWO * min(max(_TWO, highest_bit(size)) - ONE, np.uint64(DIGIT))
    start = max(stop, _PLACE + width) - width
    sort_by_two_digits(records, other, start, stop)
    if (start == _PLACE and not cut) or sort_by_insertion(records, key):
        return
    for i in range(size):
        records[i] = i
    for shift in range(_ZERO, np.uint64(64), _PLACE):  # digits of 16 bits, the lowest first
        for i in range(size):
            place = records[i] & _PLACES
            records[i] = ((key[place] >> shift) & _PLACES) << _PLACE | place
        sort_by_two_digits(records, other, _PLACE, _PLACE + _PLACE)


@helper
def join_sorted(records, u, v, parent, is_joining):
    """Join pairs in the order of records; mark the pairs that joined two sets."""
    left, size = len(parent) - 1, len(records)
    pairs = scratch(np.uint64, _BLOCK)
    for node in range(len(parent)):
        parent[node] = node
    is_joining[:] = 0
    for first in range(0, size, _BLOCK):
        count = _ZERO
        for i in range(first, min(first + _BLOCK, size)):  # most pairs are dropped without a branch
            place = records[i] & _PLACES
            a, b = np.uint64(u[place]), np.uint64(v[place])
            pairs[count] = place << _HALF | a << _PLACE | b
            count += np.uint64(parent[a] != parent[b])
        for i in range(count):
            pair = pairs[i]
            if join((pair >> _PLACE) & _PLACES, pair & _PLACES, parent):
                is_joining[pair >> _HALF] = 1
                left -= 1
        if not left:
            return


@helper
def join_graph(graph, base, descending, words, ends, parent, out):
    """Join the pairs of a graph; return how many joined two sets, and the number of nodes.

    Return -1 if there are more than `FEW` pairs or nodes, a node is negative, or a weight is NaN.
    """
    size, top = len(out), graph[5] * _BYTE - ONE
    if size > words.shape[1]:
        return -1, 0
    u, v = ends[0, :size], ends[1, :size]
    key, records, other = words[0, :size], words[1, :size], words[2, :size]
    high_u = read(read_ends, base + graph[0], graph[3], 0, u)
    high_v = read(read_ends, base + graph[1], graph[4], 0, v)
    high = max(high_u, high_v)
    if high >= _FEW or high_u >> (graph[3] * _BYTE - ONE) or high_v >> (graph[4] * _BYTE - ONE):
        return -1, 0
    options = top, graph[6], graph[7] > _ZERO, descending
    low, highest = read(read_keys, base + graph[2], graph[5], options, key)
    if low < graph[7] or highest > (_LARGEST >> (np.uint64(63) - top)) - graph[7]:
        return -1, 0
    sort_pairs(key, low, highest, records, other)
    nodes = high + ONE
    join_sorted(records, u, v, parent[:nodes], other)
    count = _ZERO
    for i in range(size):
        out[count] = i
        count += other[i]
    return np.int64(count), np.int64(nodes)


@kernel(
    [[0, 24, 48, 8, 8, 8, 0, 0]],
    [1, 0, 2, 2, 1, 0, 5, 3, 4],
    [0, 3],
    0,
    [0],
    [[0] * 3] * 3,
    [[0] * 3] * 2,
    [0] * 3,
    [0] * 3,
    [[0] * 2],
)
def join_graphs(graphs, base, first, descending, queue, words, ends, parent, out, found):
    """Join the pairs of graphs from the queue by weight, until it is empty.

    A row of `graphs` has the places of the columns u, v and weight in bytes after `base`, the
    sizes of their elements, whether weights are signed, and for floats the number of positive NaN.

    For each graph, write the positions of the pairs that joined two sets to `out`, from the place
    `first` of the graph. Write the results of `join_graph` to `found`.
    """
    address, count = np.uint64(base.ctypes.data), np.uint64(len(graphs))
    graph = _ZERO
    while graph < count:
        graph = load(queue, _ZERO)
        while not compare_and_swap(queue, _ZERO, graph, graph + _TAKEN):
            graph = load(queue, _ZERO)
        for each in range(graph, min(graph + _TAKEN, count)):
            own = out[first[each] : first[each + ONE]]
            if len(own):
                found[each, 0], found[each, 1] = join_graph(
                    graphs[each], address, descending, words, ends, parent, own
                )
