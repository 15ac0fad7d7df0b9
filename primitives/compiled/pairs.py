"""Kernels over pairs: select, relabel, and find the smallest pair at each place."""

import numpy as np

from ...runtime.intrinsics import compare_and_swap, fetch, load
from ...runtime.kernels import AHEAD, BLOCK, NONE, ONE, helper, kernel
from .elements import exclusive_places

_WORD_BITS = np.uint64(64)
_TWO, _THREE, _FOUR = np.uint64(2), np.uint64(3), np.uint64(4)
#: The number of ids of 32 bits in a cache line.
_IDS_PER_LINE = np.uint64(16)


@helper
def id_at(i, ids, first):
    """Return the i-th id; if `ids` is empty, they are consecutive from `first` on."""
    return np.uint64(ids[i]) if len(ids) else first + np.uint64(i)


@helper
def list_four(i, is_hit, hits, count):
    """List those of the pairs from i to i + 3 whose flags are 1; return the new count.

    The flags are computed before this call, because LLVM does not move loads before the stores to
    `hits`.
    """
    hits[count] = i
    count += np.uint64(is_hit[0])
    hits[count] = i + ONE
    count += np.uint64(is_hit[1])
    hits[count] = i + _TWO
    count += np.uint64(is_hit[2])
    hits[count] = i + _THREE
    return count + np.uint64(is_hit[3])


@helper
def list_light(first, end, key, limit, hits):
    """List the pairs in ``[first, end)`` whose keys are at most the limit; return their number."""
    first, end, count = np.uint64(first), np.uint64(end), np.uint64(0)
    rest = end - (end - first) % _FOUR
    for i in range(first, rest, _FOUR):
        j, k, m = i + ONE, i + _TWO, i + _THREE
        is_light = key[i] <= limit, key[j] <= limit, key[k] <= limit, key[m] <= limit
        count = list_four(i, is_light, hits, count)
    for i in range(rest, end):
        hits[count] = i
        count += np.uint64(key[i] <= limit)
    return count


@kernel
def compact_pairs(start, stop, u, v, key, ids, first_id, limit, new_u, new_v, new_key, new_ids):
    """Write, from place `start` on, the pairs with distinct members and keys up to the limit.

    Return their number.
    """
    hits, place = np.empty(BLOCK, np.uint64), np.uint64(start)
    for first in range(start, stop, BLOCK):
        for hit in range(list_light(first, min(first + BLOCK, stop), key, limit, hits)):
            i = hits[hit]
            new_u[place], new_v[place] = u[i], v[i]
            new_key[place], new_ids[place] = key[i], id_at(i, ids, first_id)
            place += np.uint64(u[i] != v[i])
    return np.int64(place) - start


@kernel
def mark_unlike(start, stop, label, value, out):
    """Write words with a bit for each label: whether it differs from a value."""
    for word in range(start, stop):
        first, unlike = _WORD_BITS * np.uint64(word), np.uint64(0)
        for i in range(first, min(first + _WORD_BITS, np.uint64(len(label)))):
            unlike |= np.uint64(label[i] != value) << (i - first)
        out[word] = unlike


@helper
def may_differ(i, label, is_rare, u, v):
    """Return 1 if the labels of a pair's ends may differ, otherwise 0; see `list_candidates`."""
    if not len(is_rare):
        return np.uint64(label[u[i]] != label[v[i]])
    six, low = np.uint64(6), np.uint64(63)
    a, b = np.uint64(u[i]), np.uint64(v[i])
    return (is_rare[a >> six] >> (a & low) | is_rare[b >> six] >> (b & low)) & ONE


@helper
def list_candidates(first, end, label, is_rare, u, v, hits):
    """List the pairs in ``[first, end)`` whose labels may differ; return their number.

    `is_rare` has a bit for each node: whether its label is not the most frequent one. This table is
    32 times smaller than the labels. If most pairs have the most frequent label at both ends, the
    table is enough to reject them. If it is empty, the labels are compared.

    Prefetch `u` and `v` one block ahead, because the processor itself prefetches only up to the end
    of a page of 4 kB.
    """
    count, rest = np.uint64(0), end - (end - first) % _FOUR
    for i in range(first, rest, _FOUR):
        if not (i - first) % _IDS_PER_LINE:
            fetch(u, i + np.uint64(BLOCK))
            fetch(v, i + np.uint64(BLOCK))
        is_candidate = (
            may_differ(i, label, is_rare, u, v),
            may_differ(i + ONE, label, is_rare, u, v),
            may_differ(i + _TWO, label, is_rare, u, v),
            may_differ(i + _THREE, label, is_rare, u, v),
        )
        count = list_four(i, is_candidate, hits, count)
    for i in range(rest, end):
        hits[count] = i
        count += may_differ(i, label, is_rare, u, v)
    return count


@kernel
def relabel_pairs(
    start, stop, label, is_rare, u, v, key, ids, first_id, new_u, new_v, new_key, new_ids
):
    """Write, from place `start` on, the pairs whose two labels differ; return their number."""
    hits, place = np.empty(BLOCK, np.uint64), np.uint64(start)
    for first in range(start, stop, BLOCK):
        end = min(first + BLOCK, stop)
        count = list_candidates(np.uint64(first), np.uint64(end), label, is_rare, u, v, hits)
        for hit in range(count):
            i, ahead = hits[hit], hits[min(hit + np.uint64(AHEAD), count - ONE)]
            fetch(label, u[ahead])
            fetch(label, v[ahead])
            fetch(key, ahead)
            a, b = label[u[i]], label[v[i]]
            new_u[place], new_v[place] = a, b
            new_key[place], new_ids[place] = key[i], id_at(i, ids, first_id)
            place += np.uint64(a != b)
    return np.int64(place) - start


@kernel
def lower_packed(start, stop, u, v, key, records):
    """Replace the record at both ends of each pair by that of the pair, if it is smaller.

    A record is a word with the key in its upper half and the position in its lower half.
    """
    half = np.uint64(32)
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(records, u[ahead])
        fetch(records, v[ahead])
        record = np.uint64(key[i]) << half | np.uint64(i)
        records[u[i]] = min(records[u[i]], record)
        records[v[i]] = min(records[v[i]], record)


@kernel
def lower_together(start, stop, share, places, u, v, key, records):
    """Lower records as `lower_packed` does, while other threads do so for other pairs.

    Most pairs find a smaller record, and only read it. `places` has the smallest and the largest
    place of each share.
    """
    half = np.uint64(32)
    first, count = exclusive_places(share, places)
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(records, u[ahead])
        fetch(records, v[ahead])
        record = np.uint64(key[i]) << half | np.uint64(i)
        for end in (np.uint64(u[i]), np.uint64(v[i])):
            if end - first < count:
                records[end] = min(records[end], record)
                continue
            now = load(records, end)
            while record < now and not compare_and_swap(records, end, now, record):
                now = load(records, end)


@kernel
def lower_wide(start, stop, low, high, u, v, key, records):
    """Lower records of two words, a key and a position, at the places in ``[low, high)``.

    Positions ascend, so the first of equal keys stays.
    """
    low, size = np.uint64(low), np.uint64(high - low)
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(records, np.uint64(u[ahead]) << ONE)
        fetch(records, np.uint64(v[ahead]) << ONE)
        for end in (np.uint64(u[i]), np.uint64(v[i])):
            if end - low < size:
                at = end << ONE
                now, there = np.uint64(key[i]), records[at + ONE]
                is_less = (now < records[at]) | (there == NONE)
                records[at] = min(now, records[at])
                records[at + ONE] = np.uint64(i) if is_less else there


@kernel
def join_packed(start, stop, rows, none, out_key, out_position):
    """Unpack the smallest record of all rows at each place; a place in no pair gets `none`."""
    half, below = np.uint64(32), np.uint64(2**32 - 1)
    for i in range(start, stop):
        record = rows[0, i]
        for row in range(1, len(rows)):
            record = min(record, rows[row, i])
        out_key[i] = record >> half
        out_position[i] = min(record & below, none)


@kernel
def join_wide(start, stop, rows, none, out_key, out_position):
    """Do as `join_packed`, for records of two words."""
    for i in range(start, stop):
        key, position = rows[0, 2 * i], rows[0, 2 * i + 1]
        for row in range(1, len(rows)):
            other, there = rows[row, 2 * i], rows[row, 2 * i + 1]
            is_less = (other < key) | ((other == key) & (there < position))
            key, position = min(key, other), there if is_less else position
        out_key[i] = key
        out_position[i] = min(position, none)


@kernel
def follow_pairs(start, stop, position, u, v, ids, first_id, no_id, out_id, out_other):
    """For each node, look up the pair at `position[node]`: its id, and its other member."""
    last = np.uint64(len(u) - 1)
    for i in range(start, stop):
        ahead = min(np.uint64(position[min(i + AHEAD, stop - 1)]), last)
        fetch(u, ahead)
        fetch(v, ahead)
        if len(ids):
            fetch(ids, ahead)
        pair, place = min(np.uint64(position[i]), last), np.uint64(i)
        is_none = position[i] > last
        out_id[i] = no_id if is_none else id_at(pair, ids, first_id)
        out_other[i] = place if is_none else np.uint64(u[pair]) ^ np.uint64(v[pair]) ^ place
