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

With many threads, all of them join runs at the same time instead; see `join_runs_together`.
"""

import numpy as np

from ...runtime.intrinsics import compare_and_swap, fetch, highest_bit, load, store
from ...runtime.kernels import AHEAD, LINE, NONE, ONE, helper, kernel
from .elements import sum_before
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
_PATIENCE = 64
#: A helper first copies the parents when the main thread has found a pair inside a set for every 32
#: nodes. It copies them again after twice as many pairs, and so on.
_NODES_PER_PAIR = np.uint64(32)

_ZERO, _HALF, _LOW_HALF = np.uint64(0), np.uint64(32), np.uint64(2**32 - 1)
#: The upper half of the link of a root; see `join_runs_together`.
_ROOT = _LOW_HALF << _HALF


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
def make_roots(start, stop, links, records):
    """Make the nodes in the range roots, and write to each page of this share of the records.

    The system clears a page on the first write. Threads that write to the same new page would wait.
    """
    for node in range(np.uint64(start), np.uint64(stop)):
        links[node] = _ROOT | node
    first, end = len(records) * start // len(links), len(records) * stop // len(links)
    for i in range(first, end, _PAGE):
        records[i, 0] = 0


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


# Joins by many threads.
#
# The rank of a pair is the place of its record, in order of weight. Each node has a link: one word
# with the rank of a pair in the upper half, and another node, the parent, in the lower half. The
# node and its parent are in one set as soon as all pairs up to this rank are joined. A root has a
# link to itself, with `_ROOT` in place of a rank. To find the sets after the first r pairs, follow
# only the links with ranks below r. Two nodes are in one set if their paths end at the same node.
#
# Pairs may be added in any order. A pair is added by a compare-and-swap of a link. If the new link
# replaces an old link, the pair of the old link is added again, between the two parents. A pair is
# dropped if lighter pairs join its nodes. The remaining pairs do not depend on the order, because
# there is only one minimum forest. So threads take runs from a queue and never wait for each other.
#
# A link leads to a node of higher priority, so links form no cycle. Priorities are pseudorandom, so
# paths are short. A pair is settled if its run and all earlier runs are finished. Links of settled
# pairs never change again, so paths of such links are halved.
#
# Sources: Jayanti and Tarjan, "Concurrent Disjoint Set Union" (2021), for links by random priority
# and the halving of paths by several threads. Ding, Gu and Sun, "New Algorithms for Incremental
# Minimum Spanning Trees and Temporal Graph Applications" (2025), for trees in which lighter links
# replace heavier ones. There, one thread adds the pairs.

#: The priority of a node is the product of its number and this one, modulo 2^32.
_MULTIPLIER = np.uint64(0x9E3779B1)


@helper
def follow(node, link, limit):
    """Return the parent of a node if its link is below `limit`, otherwise the node; branch-free."""
    return node ^ ((node ^ (link & _LOW_HALF)) * np.uint64(link < limit))


@helper
def climb(node, limit, settled, links):
    """Follow links below `limit`; return the last node and its link."""
    link = load(links, node)
    above = follow(node, link, limit)
    next_link = load(links, above)
    top = follow(above, next_link, limit)
    while top != above:
        if max(link, next_link) < settled:
            store(links, node, next_link)
        node, link, above = above, next_link, top
        next_link = load(links, above)
        top = follow(above, next_link, limit)
    return above, next_link


@helper
def add_pair(a, b, rank, settled, links, records):
    """Add a pair; mark the record of the pair that is dropped, if any."""
    while True:
        limit = rank << _HALF
        a, link = climb(a, limit, settled, links)
        b, other = climb(b, limit, settled, links)
        if a == b:
            records[rank, 1] = NONE
            return
        is_higher = np.uint64((a * _MULTIPLIER & _LOW_HALF) > (b * _MULTIPLIER & _LOW_HALF))
        swap = (a ^ b) * is_higher  # priorities are random, so a branch would be mispredicted
        a, b, link = a ^ swap, b ^ swap, link ^ ((link ^ other) * is_higher)
        if compare_and_swap(links, a, link, limit | b):
            if link >= _ROOT:
                return
            rank, a, b = link >> _HALF, b, link & _LOW_HALF


@helper
def drop_joined(pairs, first, settled, links):
    """Remove pairs whose nodes are joined by ranks below `first`; return how many pairs remain.

    Mark the records of removed pairs.
    """
    kept, limit = _ZERO, first << _HALF
    for i in range(len(pairs)):
        fetch_nodes(i, len(pairs) - 1, pairs, links)
        a, b = pairs[i, 1] >> _HALF, pairs[i, 1] & _LOW_HALF
        a, b = follow(a, load(links, a), limit), follow(b, load(links, b), limit)
        if a != b:
            a, _ = climb(a, limit, settled, links)
            b, _ = climb(b, limit, settled, links)
        pairs[kept, 0], pairs[kept, 1] = pairs[i, 0], a << _HALF | b
        kept += np.uint64(a != b)
    for i in range(kept, np.uint64(len(pairs))):
        pairs[i, 1] = NONE
    return kept


@helper
def take_run(thread, queue):
    """Take the next run from the queue; return it, and the first run that is not finished."""
    slot, run = (np.uint64(thread) + ONE) * LINE, load(queue, _ZERO)
    store(queue, slot, run)
    while not compare_and_swap(queue, _ZERO, run, run + ONE):
        run = load(queue, _ZERO)
        store(queue, slot, run)
    lowest = run
    for other in range(LINE, np.uint64(len(queue)), LINE):
        lowest = min(lowest, load(queue, other))
    return run, lowest


@kernel
def join_runs_together(thread, queue, ends, bits, key, records, buffer, failed, links):
    """Join the pairs of runs from the queue until it is empty; mark records of dropped pairs."""
    is_late, runs = False, np.uint64(len(ends))
    run, lowest = take_run(thread, queue)
    while run < runs:
        start = np.uint64(ends[run - ONE] if run else 0)
        settled = np.uint64(ends[lowest - ONE] if lowest else 0) << _HALF
        pairs = records[start : ends[run]]
        size = np.uint64(len(pairs))
        if is_late:
            size = drop_joined(pairs, start, settled, links)
        sort_run(pairs[:size], bits[run], key, buffer, failed)
        for i in range(size):
            fetch_nodes(np.int64(i), np.int64(size) - 1, pairs, links)
            nodes = pairs[i, 1]
            add_pair(nodes >> _HALF, nodes & _LOW_HALF, start + i, settled, links, records)
        joined = _ZERO
        for i in range(size):
            joined += np.uint64(pairs[i, 1] != NONE)
        is_late = bool(4 * np.int64(joined) < 3 * len(pairs))
        run, lowest = take_run(thread, queue)
    store(queue, (np.uint64(thread) + ONE) * LINE, NONE)


@helper
def write_roots(first, last, links, root):
    """Write the root of each node in ``[first, last)``."""
    end = last - 1
    for i in range(first, last):
        fetch(links, links[min(i + 2 * AHEAD, end)] & _LOW_HALF)
        fetch(links, links[links[min(i + AHEAD, end)] & _LOW_HALF] & _LOW_HALF)
        node = np.uint64(i)
        while links[node] < _ROOT:
            node = links[node] & _LOW_HALF
        root[i] = node


@kernel
def list_joining(start, stop, share, counts, first, last, links, root, records):
    """Write the root of each node in ``[first, last)``; move the positions of unmarked records.

    They move to the front of the range, into the first words of records. Count them.
    """
    write_roots(first, last, links, root)
    place = np.uint64(start)
    for i in range(np.uint64(start), np.uint64(stop)):
        records[place, 0] = records[i, 0] & _LOW_HALF
        place += np.uint64(records[i, 1] != NONE)
    counts[share] = place - np.uint64(start)


@kernel
def gather_joining(start, stop, share, counts, records, joining):
    """Copy the positions that `list_joining` moved, after those of earlier shares."""
    place = np.uint64(sum_before(share, counts))
    for i in range(counts[share]):
        joining[place + i] = records[np.uint64(start) + i, 0]
