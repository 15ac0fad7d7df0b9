"""A kernel that joins the pairs of small graphs: their keys, the sort and the joins.

For few pairs, calling several kernels takes longer than running them. One call also joins the pairs
of many graphs, one graph after another, so the arrays of each sort stay in the cache. The kernel
gets the addresses of columns, so it is compiled once for all dtypes, and nothing is copied before.

While the kernel joins a graph, it prefetches the columns of the next graph (`ahead`). Each of three
loops prefetches one column, a little in each turn: a processor delays loads after many prefetches.
"""

import numpy as np

from ...runtime.intrinsics import ONE, array_at, fetch, helper, highest_bit, kernel, scratch
from ..joins import FEW
from ..runs import DIGIT
from .elements import key_of
from .trees import find_root

_ZERO, _TWO, _BYTE = np.uint64(0), np.uint64(2), np.uint64(8)
#: A record has the top bits of a key, less the smallest key, above the position of the pair.
_PLACE, _PLACES = np.uint64(16), np.uint64(2**16 - 1)
_DIGITS = 2**DIGIT
_FEW, _LARGEST = np.uint64(FEW), np.uint64(2**64 - 1)
_KEPT = np.uint64(48)
#: An insertion sort gives up if it moves records more often than this, on average.
_PATIENCE = 4
#: If there are more pairs than this number for each node, about this number of the lightest ones is
#: joined before the others are filtered.
_LIGHT_PAIRS = 1.5
#: The size of the sample from which the key of the heaviest light pair is chosen.
_SAMPLE = 32


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
def fetch_at(address):
    fetch(array_at(address, np.uint8, (1,)), _ZERO)


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
def sort_by_all_digits(records, other, key):
    """Sort records by (key, position), by digits of 16 bits, the lowest first."""
    sort_by_two_digits(records, other, _ZERO, _PLACE)
    for shift in range(_ZERO, np.uint64(64), _PLACE):
        for i in range(len(records)):
            place = records[i] & _PLACES
            records[i] = ((key[place] >> shift) & _PLACES) << _PLACE | place
        sort_by_two_digits(records, other, _PLACE, _PLACE + _PLACE)


@helper
def sort_pairs(key, low, high, records, other):
    """Replace ascending positions of pairs by records of them, sorted by (key, position).

    Keys are from `low` to `high`. The top bits of random keys almost sort them. Insertion then
    takes few moves.
    """
    size = np.uint64(len(records))
    bits = highest_bit(high - low) + ONE if high > low else _ZERO
    cut = max(bits, _KEPT) - _KEPT
    for i in range(size):
        place = records[i]
        records[i] = ((key[place] - low) >> cut) << _PLACE | place
    stop = bits - cut + _PLACE
    width = _TWO * min(max(_TWO, highest_bit(size)) - ONE, np.uint64(DIGIT))
    start = max(stop, _PLACE + width) - width
    sort_by_two_digits(records, other[:size], start, stop)
    if not ((start == _PLACE and not cut) or sort_by_insertion(records, key)):
        sort_by_all_digits(records, other[:size], key)


@helper
def join_sorted(records, u, v, parent, is_joining, left, ahead):
    """Join pairs in the order of records; mark the pairs that joined two sets.

    Stop when no set is `left` to join with another one; return the number of those left.
    """
    size = np.uint64(len(records))
    step = ahead[1] // size
    for i in range(size):
        fetch_at(ahead[0] + i * step)
        place = records[i] & _PLACES
        first, second = np.uint64(u[place]), np.uint64(v[place])
        a, b = np.uint64(parent[parent[first]]), np.uint64(parent[parent[second]])
        if parent[a] != a or parent[b] != b:  # seldom: most paths have at most two steps
            a, b = find_root(a, parent), find_root(b, parent)
        root, joins = min(a, b), a != b
        parent[first] = parent[second] = root
        # A write to the root itself would delay the next pairs, most of which read it.
        parent[max(a, b) if joins else first] = root
        is_joining[place] = joins
        left -= np.int64(joins)
        if not left:
            break
    return left


@helper
def choose_pivot(key, share):
    """Return a key that about this share of all keys does not exceed, by a sample of the keys."""
    sample, step = scratch(np.uint64, _SAMPLE), np.uint64(len(key)) // np.uint64(_SAMPLE)
    for i in range(_SAMPLE):
        sample[i] = key[np.uint64(i) * step]
    pivot, wanted = _LARGEST, np.uint64(share * _SAMPLE)
    for i in range(_SAMPLE):
        smaller = _ZERO
        for j in range(_SAMPLE):
            smaller += np.uint64(sample[j] < sample[i])
        if smaller >= wanted:
            pivot = min(pivot, sample[i])
    return pivot


@helper
def divide_pairs(key, pivot, places, ahead):
    """Write the places of keys up to the pivot, then those of others from the last one backwards.

    Return the number of keys up to the pivot.
    """
    count, size = _ZERO, np.uint64(len(key))
    last, step = size - ONE, ahead[1] // size
    for i in range(size):
        fetch_at(ahead[0] + i * step)
        places[count] = places[last - (i - count)] = i
        count += np.uint64(key[i] <= pivot)
    return count


@helper
def keep_between_sets(places, u, v, parent, kept):
    """Write the places of pairs whose members are in different sets, in reverse order.

    Return their number. A node is never smaller than its parent; make each parent a root first.
    """
    for node in range(len(parent)):
        parent[node] = parent[parent[node]]
    count, size = _ZERO, np.uint64(len(places))
    for i in range(size):
        place = places[size - ONE - i]
        kept[count] = place
        count += np.uint64(parent[np.uint64(u[place])] != parent[np.uint64(v[place])])
    return count


@helper
def join_pairs(key, low, high, u, v, records, other, parent, is_joining, ahead):
    """Join pairs in ascending order of keys; mark the pairs that joined two sets.

    Most heavy pairs have both members in one set after the light pairs are joined. So heavy pairs
    are not sorted before that.

    Source: Osipov, Sanders, Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm", 2009.
    """
    for node in range(len(parent)):
        parent[node] = node
    is_joining[:] = 0
    size, left, pivot = np.uint64(len(key)), np.int64(len(parent) - 1), high
    share = _LIGHT_PAIRS * len(parent) / len(key)
    if share < 1 and len(key) > _SAMPLE:
        pivot = min(high, choose_pivot(key, share))
    light = divide_pairs(key, pivot, records, ahead[0])
    sort_pairs(key, low, pivot, records[:light], other)
    left = join_sorted(records[:light], u, v, parent, is_joining, left, ahead[1])
    if not left or light == size:
        return
    count = keep_between_sets(records[light:size], u, v, parent, other)
    if count:
        sort_pairs(key, pivot, high, other[:count], records)
        join_sorted(other[:count], u, v, parent, is_joining, left, (ahead[1][0], _ZERO))


@helper
def fact(facts, place):
    """Return a byte of the word that describes the dtypes of a graph's columns."""
    return (facts >> (_BYTE * np.uint64(place))) & np.uint64(255)


@helper
def column_of(graphs, graph, column, base):
    """Return the address of a column of a graph, and its bytes; none if there is no such graph."""
    if graph >= graphs.shape[1]:
        return base, _ZERO
    size = fact(np.uint64(graphs[4, graph]), column) * np.uint64(graphs[3, graph])
    return base + np.uint64(graphs[column, graph]), size


@helper
def join_graph(
    u_place, v_place, weight_place, facts, descending, words, halves, parent, out, ahead
):
    """Join the pairs of a graph; return how many joined two sets, and the number of nodes.

    Return -1 if there are more than `FEW` nodes, a node is negative, or a weight is NaN.
    """
    size = len(out)
    u, v, is_joining, key = halves[0], halves[1], halves[2][:size], words[0][:size]
    u_bytes, v_bytes, weight_bytes = fact(facts, 0), fact(facts, 1), fact(facts, 2)
    high_u = read(read_ends, u_place, u_bytes, 0, u[:size])
    high_v = read(read_ends, v_place, v_bytes, 0, v[:size])
    high = max(high_u, high_v)
    if high >= _FEW or high_u >> (u_bytes * _BYTE - ONE) or high_v >> (v_bytes * _BYTE - ONE):
        return -1, 0
    top, nans = weight_bytes * _BYTE - ONE, (ONE << fact(facts, 4)) - ONE  # positive NaN
    options = top, fact(facts, 3), nans > _ZERO, descending
    low, highest = read(read_keys, weight_place, weight_bytes, options, key)
    if low < nans or highest > (_LARGEST >> (np.uint64(63) - top)) - nans:
        return -1, 0
    nodes = high + ONE
    join_pairs(key, low, highest, u, v, words[1], words[2], parent[:nodes], is_joining, ahead)
    count, step = _ZERO, ahead[2][1] // np.uint64(size)
    for i in range(np.uint64(size)):
        fetch_at(ahead[2][0] + i * step)
        out[count] = np.uint16(i)
        count += np.uint64(is_joining[i])
    return np.int64(count), np.int64(nodes)


@kernel(
    [[128], [152], [176], [3], [8 + (8 << 8) + (8 << 16)]],
    3,
    0,
    [0] * 16 + [1, 0, 2, 2, 1, 0, 5, 3, 4],
    [0] * 3,
    [[0]] * 3,
)
def join_graphs(graphs, longest, descending, work, out, found):
    """Join the pairs of graphs by weight, one graph after another.

    A column of `graphs` has the places of the columns u, v and weight of a graph, in bytes after
    the array `work`; the number of pairs; and bytes with the sizes of the elements of u, v and
    weight, whether weights are signed, and the bits of the mantissa of floats, from the lowest one
    on. Graphs have at most `longest` pairs; longer graphs are refused. `work` has 30 bytes for each
    pair of the longest graph, and 2 bytes for each node of the largest one.

    Write the positions of the pairs that joined two sets to `out`, without gaps between the graphs;
    return their number. Write for each graph to `found` where its positions begin and end (-1 if it
    is refused), and its number of nodes.
    """
    base, count = np.uint64(work.ctypes.data), 0
    words = array_at(base, np.uint64, (3, longest))
    halves = array_at(base + np.uint64(24 * longest), np.uint16, (3, longest))
    parent = array_at(base + np.uint64(30 * longest), np.uint16, (FEW,))
    for graph in range(graphs.shape[1]):
        size = graphs[3, graph]
        joined, nodes = np.int64(-1 if size > longest else 0), np.int64(0)
        if 0 < size <= longest:
            joined, nodes = join_graph(
                base + np.uint64(graphs[0, graph]),
                base + np.uint64(graphs[1, graph]),
                base + np.uint64(graphs[2, graph]),
                np.uint64(graphs[4, graph]),
                descending,
                words,
                halves,
                parent,
                out[count : count + size],
                (
                    column_of(graphs, graph + 1, 0, base),
                    column_of(graphs, graph + 1, 1, base),
                    column_of(graphs, graph + 1, 2, base),
                ),
            )
        found[0, graph], found[2, graph] = count, nodes
        count += max(joined, 0)
        found[1, graph] = count if joined >= 0 else -1
    return count
