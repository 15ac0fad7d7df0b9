"""Kernels of Kruskal's algorithm that sort pairs in runs, each just before its pairs are joined.

Pairs are first distributed to buckets by the top bits of their keys. Adjacent buckets form a run
that fits in a cache. The main thread joins the pairs of all runs in order. Each run is sorted by
one thread: by a helper that is ahead of the main thread, or by the main thread itself. When one set
remains, later runs are not sorted. When most pairs are inside a set, these pairs are removed before
sorting, as in Filter-Kruskal.

A record consists of two words. The first has the key in its upper half and the position in its
lower half, the second has one node in each half.
"""

import numpy as np

from ...runtime.intrinsics import (
    AHEAD,
    LINE,
    ONE,
    compare_and_swap,
    fetch,
    helper,
    kernel,
    load,
    scratch,
    store,
)
from .runs import DIGIT
from .trees import join

_DIGITS = 2**DIGIT
#: The largest number of pairs that is sorted by insertion.
FEW = 24
#: The state of a run: 0 if no thread has taken it, `TAKEN` while a thread sorts it, then `SORTED`
#: plus the number of remaining pairs.
TAKEN, SORTED = np.uint64(1), np.uint64(2)

_ZERO, _HALF, _BELOW = np.uint64(0), np.uint64(32), np.uint64(2**32 - 1)


@kernel(0, 3, [4, 5, 9], 4, 1, [0] * 3)
def count_buckets(start, stop, key, lowest, shift, counts):
    """Count the pairs of each bucket."""
    shift = np.uint64(shift)
    for i in range(start, stop):
        counts[(np.uint64(key[i]) - lowest) >> shift] += ONE


@kernel(0, 3, [0, 1, 2], [1, 2, 0], [9, 5, 4], 4, 1, 0, [2, 0, 1], [[0, 0]] * 4)
def deal(start, stop, u, v, key, lowest, shift, cut, places, records):
    """Write each pair to the next place of its bucket, without the lowest `cut` bits of its key."""
    cut, shift = np.uint64(cut), np.uint64(shift)
    for i in range(start, stop):
        above = np.uint64(key[i]) - lowest
        place = places[above >> shift]
        places[above >> shift] = place + ONE
        fetch(records, (place << ONE) + LINE)
        records[place, 0] = above >> cut << _HALF | np.uint64(i)
        records[place, 1] = np.uint64(u[i]) << _HALF | np.uint64(v[i])


@helper
def sort_run(records, bits, other):
    """Sort a run in place by the lowest `bits` bits of the keys; all other bits are equal."""
    size = len(records)
    counts = scratch(np.uint64, _DIGITS)
    widest = 4
    while widest < DIGIT and size >> widest:
        widest += 1
    passes = -(-bits // widest)
    digit = -(-bits // max(1, passes))
    low = (ONE << np.uint64(digit)) - ONE
    old, new = records, other[:size]
    for step in range(passes):
        shift = np.uint64(32 + step * digit)
        counts[: 1 << digit] = 0
        for i in range(size):
            counts[(old[i, 0] >> shift) & low] += ONE
        place = _ZERO
        for i in range(1 << digit):
            counts[i], place = place, place + counts[i]
        for i in range(size):
            place = counts[(old[i, 0] >> shift) & low]
            counts[(old[i, 0] >> shift) & low] = place + ONE
            new[place, 0], new[place, 1] = old[i, 0], old[i, 1]
        old, new = new, old
    if passes % 2:
        for i in range(size):
            records[i, 0], records[i, 1] = old[i, 0], old[i, 1]


@helper
def is_before(a, b, key):
    """Compare two first words. If these lack bits of the keys, compare the whole keys in `key`."""
    if len(key) and a >> _HALF == b >> _HALF:
        return (key[a & _BELOW], a) < (key[b & _BELOW], b)
    return a < b


@helper
def insert(records, key, patience):
    """Sort by insertion; return False if it takes more than `patience` moves."""
    for i in range(1, len(records)):
        first, second = records[i, 0], records[i, 1]
        while i > 0 and is_before(first, records[i - 1, 0], key):
            records[i, 0], records[i, 1] = records[i - 1, 0], records[i - 1, 1]
            i -= 1
            patience -= 1
        records[i, 0], records[i, 1] = first, second
        if patience < 0:
            return False
    return True


@helper
def drop_inside(records, parent):
    """Remove pairs that are found to be inside a set; return the number of remaining pairs.

    The main thread may join sets at the same time. An ancestor of a node stays in the same set
    forever, so it is safe to read an old value.
    """
    kept, last = _ZERO, len(records) - 1
    for i in range(len(records)):
        ahead = records[min(i + AHEAD, last), 1]
        fetch(parent, ahead >> _HALF)
        fetch(parent, ahead & _BELOW)
        second = records[i, 1]
        a = np.uint64(parent[parent[second >> _HALF]])
        b = np.uint64(parent[parent[second & _BELOW]])
        records[kept, 0], records[kept, 1] = records[i, 0], a << _HALF | b
        kept += np.uint64(a != b)
    return kept


@helper
def sort_next(run, ends, bits, key, records, other, failed, is_late, parent):
    """Sort the pairs of a run that may join two sets; return their number."""
    own = records[ends[run - 1] if run else 0 : ends[run]]
    if load(is_late, _ZERO):
        own = own[: drop_inside(own, parent)]
    size = len(own)
    if size > FEW:
        sort_run(own, bits[run], other)
    if (size <= FEW or len(key)) and not insert(own, key, FEW * size):
        failed[0] = 1
    return np.uint64(size)


@kernel([0], [2], [1], [], [[1, 0], [0, 0]], [[0, 0]] * 2, [0], [0], [0, 1])
def sort_ahead(states, ends, bits, key, records, other, failed, is_late, parent):
    """Sort all runs that no other thread has taken, in order."""
    for run in range(len(ends)):
        if not load(states, run) and compare_and_swap(states, run, _ZERO, TAKEN):
            size = sort_next(run, ends, bits, key, records, other, failed, is_late, parent)
            store(states, run, SORTED + size)


@kernel([0], [2], [1], [], [[1, 0], [0, 1]], [[0, 0]] * 2, [0], [0], [0, 1], [0])
def join_runs(states, ends, bits, key, records, other, failed, is_late, parent, joining):
    """Join the pairs of each run as soon as it is sorted; return the number of joining pairs."""
    count = start = 0
    for run in range(len(ends)):
        if count == len(joining):
            store(states, run, TAKEN)
            continue
        if compare_and_swap(states, run, _ZERO, TAKEN):
            size = sort_next(run, ends, bits, key, records, other, failed, is_late, parent)
        else:
            while load(states, run) < SORTED:
                pass
            size = load(states, run) - SORTED
        before, last = count, start + np.int64(size) - 1
        for i in range(start, last + 1):
            far, near = records[min(i + 2 * AHEAD, last), 1], records[min(i + AHEAD, last), 1]
            fetch(parent, far >> _HALF)
            fetch(parent, far & _BELOW)
            fetch(parent, parent[near >> _HALF])
            fetch(parent, parent[near & _BELOW])
            if join(records[i, 1] >> _HALF, records[i, 1] & _BELOW, parent):
                joining[count] = records[i, 0] & _BELOW
                count += 1
        store(is_late, _ZERO, np.uint64(2 * (count - before) < ends[run] - start))
        start = ends[run]
    return count
