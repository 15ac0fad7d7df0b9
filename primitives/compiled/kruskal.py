"""Kernels of Kruskal's algorithm that sort the pairs in runs, just before they join them.

Pairs are first distributed to buckets by the top bits of their keys. Adjacent buckets form a run
that fits in a cache. The main thread joins the pairs of all runs in order. One thread sorts each
run: a helper that is ahead of the main thread, or the main thread. When one set remains, later runs
are not sorted. When many pairs are inside a set, they are removed before sorting, as in
Filter-Kruskal. Helpers stay only a few runs ahead, because further ahead they would find fewer
pairs inside a set. They find these by a copy of the parents. If they read the parents that the main
thread writes, all threads would wait for cache lines.

A record consists of two words. The first has the key in its upper half and the position in its
lower half. The second has one node in each half.
"""

import numpy as np

from ...runtime.intrinsics import compare_and_swap, fetch, highest_bit, load, store
from ...runtime.kernels import AHEAD, LINE, ONE, helper, kernel
from .runs import DIGIT
from .trees import find_root

_DIGITS = 2**DIGIT
#: The number of records in a page of 4 kB.
_PAGE = 256
#: The largest number of pairs that are sorted by insertion.
_FEW = 24
#: The state of a run: 0 if no thread has taken it, `_TAKEN` while a thread sorts it, then `_SORTED`
#: plus the number of remaining pairs.
_TAKEN, _SORTED = np.uint64(1), np.uint64(2)
#: The number of runs that a thread may sort ahead of the run that is joined.
_RUNS_AHEAD = 6
#: A helper that is this far ahead reads the main thread's progress, at most this many times for
#: each pair between them. Then it sorts the next run anyway: the main thread may be suspended.
_PATIENCE = 4
#: A helper first copies the parents when the main thread has found a pair inside a set for every 32
#: nodes. It copies them again after twice as many pairs, and so on.
_NODES_PER_PAIR = np.uint64(32)

_ZERO, _HALF, _LOW_HALF = np.uint64(0), np.uint64(32), np.uint64(2**32 - 1)


@helper
def bucket(key, lowest, shift, floor):
    """Return the bucket of a key; see `choose_buckets`."""
    return max((key - lowest) >> shift, floor) - floor


@kernel
def count_buckets(start, stop, key, lowest, shift, floor, counts):
    """Count the pairs of each bucket."""
    shift, floor = np.uint64(shift), np.uint64(floor)
    counts[:] = 0
    for i in range(start, stop):
        counts[bucket(np.uint64(key[i]), lowest, shift, floor)] += ONE


@kernel
def find_runs(counts, floor, size, low, ends, bits):
    """Combine buckets to runs of about `size` pairs, or of one larger bucket.

    Return the number of runs, and the length of the longest run whose keys differ. Write the
    position after the last pair of each run, and the number of low bits in which the keys of its
    pairs may differ: `low` bits for one bucket, more for several and for the first one. A run may
    be empty.
    """
    runs = end = start = longest = np.int64(0)
    lowest = np.int64(0)  # the first bucket has the keys of all buckets up to `floor`
    for i in range(len(counts)):
        end += np.int64(counts[i])
        if i + 1 == len(counts) or end // size != (end + np.int64(counts[i + 1])) // size:
            differing = np.uint64(lowest ^ (floor + i))
            bits[runs] = low + (np.int64(highest_bit(differing)) + 1 if differing else 0)
            if bits[runs]:
                longest = max(longest, end - start)
            ends[runs] = start = end
            runs, lowest = runs + 1, floor + i + 1
    return runs, longest


@kernel
def deal(start, stop, u, v, key, lowest, shift, floor, cut, places, records):
    """Write each pair to the next place of its bucket, without the lowest `cut` bits of its key."""
    cut, shift, floor = np.uint64(cut), np.uint64(shift), np.uint64(floor)
    for i in range(np.uint64(start), np.uint64(stop)):
        target = bucket(np.uint64(key[i]), lowest, shift, floor)
        place = places[target]
        places[target] = place + ONE
        fetch(records, (place << ONE) + LINE)
        records[place, 0] = (np.uint64(key[i]) - lowest) >> cut << _HALF | i
        records[place, 1] = np.uint64(u[i]) << _HALF | np.uint64(v[i])


@helper
def sort_by_radix(records, bits, buffer):
    """Sort a run in place by the lowest `bits` bits of the keys; all other bits are equal."""
    size = len(records)
    counts = np.empty(_DIGITS, np.uint64)
    widest = 4
    while widest < DIGIT and size >> widest:
        widest += 1
    passes = -(-bits // widest)
    digit = -(-bits // max(1, passes))
    low = (ONE << np.uint64(digit)) - ONE
    old, new = records, buffer[:size]
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
    """Return whether first word a precedes b; `key` has whole keys if the words lack bits."""
    if len(key) and a >> _HALF == b >> _HALF:
        return (key[a & _LOW_HALF], a) < (key[b & _LOW_HALF], b)
    return a < b


@helper
def sort_by_insertion(records, key, patience):
    """Sort a run; stop and return False if it takes more than `patience` moves."""
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
def sort_run(records, bits, key, buffer, failed):
    """Sort a run whose keys differ in `bits` bits, and whose records may lack lower bits."""
    size = len(records)
    if size > _FEW:
        sort_by_radix(records, bits, buffer)
    if (size <= _FEW or len(key)) and not sort_by_insertion(records, key, _FEW * size):
        failed[0] = 1


@helper
def fetch_nodes(i, last, records, words):
    """Prefetch the words that the pairs after pair i need, up to pair `last`.

    These are the words of a pair's nodes and of their parents, which are in the lower halves.
    """
    far, near = records[min(i + 2 * AHEAD, last), 1], records[min(i + AHEAD, last), 1]
    fetch(words, far >> _HALF)
    fetch(words, far & _LOW_HALF)
    fetch(words, words[near >> _HALF] & _LOW_HALF)
    fetch(words, words[near & _LOW_HALF] & _LOW_HALF)


@helper
def drop_inside(records, parent):
    """Remove pairs that are found to be inside a set; return the number of remaining pairs.

    The parents may be old: an ancestor of a node stays in the same set forever.
    """
    kept = _ZERO
    for i in range(len(records)):
        fetch_nodes(i, len(records) - 1, records, parent)
        nodes = records[i, 1]
        a = np.uint64(parent[parent[parent[nodes >> _HALF]]])
        b = np.uint64(parent[parent[parent[nodes & _LOW_HALF]]])
        records[kept, 0], records[kept, 1] = records[i, 0], a << _HALF | b
        kept += np.uint64(a != b)
    return kept


@helper
def sort_next(run, states, ends, bits, key, records, buffer, failed, parent, filters):
    """Sort the first run from `run` on that no thread has taken; return the number after it.

    If `filters` is true, remove pairs inside a set first.
    """
    while run < len(ends):
        if not load(states, run) and compare_and_swap(states, run, _ZERO, _TAKEN):
            pairs = records[ends[run - 1] if run else 0 : ends[run]]
            if filters:
                pairs = pairs[: drop_inside(pairs, parent)]
            sort_run(pairs, bits[run], key, buffer, failed)
            store(states, run, _SORTED + np.uint64(len(pairs)))
            return run + 1
        run += 1
    return run


@helper
def sort_ahead(states, ends, bits, key, records, buffer, failed, progress, parent, copy):
    """Sort all runs that no other thread has taken, in order, shortly before they are joined."""
    run, copied, patience = 0, _ZERO, np.uint64(len(parent)) // _NODES_PER_PAIR
    filters = np.bool_(False)
    while run < len(ends):
        for _ in range(_PATIENCE * (ends[run] - ends[max(0, run - _RUNS_AHEAD)])):
            if run <= np.int64(load(progress, _ZERO)) + _RUNS_AHEAD:
                break
        inside = load(progress, ONE)
        if inside > copied + patience:
            for node in range(len(parent)):  # a slice takes seconds to compile
                copy[node] = parent[node]
            copied, patience, filters = inside, patience << ONE, True
        run = sort_next(run, states, ends, bits, key, records, buffer, failed, copy, filters)


@helper
def join_runs(states, ends, bits, key, records, buffer, failed, progress, parent, joining):
    """Join the pairs of each run as soon as it is sorted; return the number of joining pairs.

    While another thread sorts the next run, this thread sorts later ones. Other threads read
    `progress`: the number of this run, and the number of pairs that were inside a set. Every pair
    is written to the next place of `joining`, and stays there if it joins two sets. So `joining`
    has one more place than joining pairs.
    """
    count, inside, start, ahead = _ZERO, _ZERO, 0, 0
    is_late = np.bool_(False)  # for a literal, Numba would compile another version of `sort_next`
    for run in range(len(ends)):
        if count + ONE == len(joining):
            store(states, run, _TAKEN)
            continue
        store(progress, ONE, inside)
        store(progress, _ZERO, np.uint64(run))
        ahead = max(ahead, run)
        while load(states, run) < _SORTED:
            if ahead <= run + _RUNS_AHEAD:
                ahead = sort_next(
                    ahead, states, ends, bits, key, records, buffer, failed, parent, is_late
                )
        size = load(states, run) - _SORTED
        before, last = count, start + np.int64(size) - 1
        for i in range(start, last + 1):
            fetch_nodes(i, last, records, parent)
            a, b = records[i, 1] >> _HALF, records[i, 1] & _LOW_HALF
            # Late pairs are often inside a set. No other case is worth a branch, because the
            # processor would often predict it wrongly.
            if is_late and parent[a] == parent[b]:
                continue
            left = np.uint64(parent[parent[parent[a]]])
            right = np.uint64(parent[parent[parent[b]]])
            if (parent[left] ^ left) | (parent[right] ^ right):
                left, right = find_root(left, parent), find_root(right, parent)
            smaller = min(left, right)
            parent[a] = parent[b] = parent[max(left, right)] = smaller
            joining[count] = records[i, 0] & _LOW_HALF
            count += np.uint64(left != right)
        joined = count - before
        inside += size - joined
        is_late = 3 * np.int64(joined) < 2 * (ends[run] - start)
        start = ends[run]
    store(progress, _ZERO, np.uint64(len(ends)))
    return np.int64(count)


@kernel
def join_or_sort(joins, states, ends, bits, key, records, buffer, failed, progress, parent, out):
    """Join all runs, or sort runs ahead of the thread that joins them.

    `out` is `joining` of `join_runs`, or `copy` of `sort_ahead`. One kernel does both, because the
    functions that both call take seconds to compile.
    """
    if joins:
        return join_runs(states, ends, bits, key, records, buffer, failed, progress, parent, out)
    sort_ahead(states, ends, bits, key, records, buffer, failed, progress, parent, out)
    return np.int64(0)
