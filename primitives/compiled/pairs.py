"""Kernels over pairs: select, relabel, and find the smallest pair at each place."""

import numpy as np

from ...runtime.intrinsics import compare_and_swap, fetch, load
from ...runtime.kernels import AHEAD, BLOCK, NONE, ONE, helper, kernel

_WORD_BITS = np.uint64(64)
_HALF, _LOW_HALF = np.uint64(32), np.uint64(2**32 - 1)
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


@helper
def is_marked(node, bits):
    """Return the bit of a node, in its lowest place."""
    node = np.uint64(node)
    return np.uint64(bits[node >> np.uint64(3)]) >> (node & np.uint64(7))


@kernel
def compact_marked(start, stop, bits, u, v, key, ids, first_id, new_u, new_v, new_key, new_ids):
    """Write, from place `start` on, the pairs with a node whose bit is set; return their number."""
    hits, place = np.empty(BLOCK, np.uint64), np.uint64(start)
    for first in range(start, stop, BLOCK):
        count = np.uint64(0)
        for i in range(np.uint64(first), np.uint64(min(first + BLOCK, stop))):
            fetch(u, i + np.uint64(BLOCK))
            fetch(v, i + np.uint64(BLOCK))
            hits[count] = i
            count += (is_marked(u[i], bits) | is_marked(v[i], bits)) & ONE
        for hit in range(count):
            i = hits[hit]
            new_u[place], new_v[place] = u[i], v[i]
            new_key[place], new_ids[place] = key[i], id_at(i, ids, first_id)
            place += ONE
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


@helper
def precedes(record, other, key, cut):
    """Return whether a record is smaller; compare whole keys if the records lack bits of them."""
    if cut and record >> _HALF == other >> _HALF and record != other:
        pair, there = record & _LOW_HALF, other & _LOW_HALF
        return (key[pair] < key[there]) | ((key[pair] == key[there]) & (pair < there))
    return record < other


@kernel
def lower(start, stop, first, count, u, v, key, lowest, cut, records):
    """Replace the record at both ends of each pair by that of the pair, if it is smaller.

    A record is a word. Its upper half is the key minus `lowest`, without the lowest `cut` bits. Its
    lower half is the position. Other threads lower no record of the `count` places from `first` on,
    but may lower all others. Most pairs find a smaller record, and only read it.
    """
    cut = np.uint64(cut)
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(records, u[ahead])
        fetch(records, v[ahead])
        record = (np.uint64(key[i]) - lowest) >> cut << _HALF | np.uint64(i)
        for end in (np.uint64(u[i]), np.uint64(v[i])):
            now = load(records, end)
            if end - first >= count:
                while precedes(record, now, key, cut):
                    if compare_and_swap(records, end, now, record):
                        break
                    now = load(records, end)
            elif cut:
                records[end] = record if precedes(record, now, key, cut) else now
            else:
                records[end] = min(record, now)


@kernel
def lower_columns(u, v, key, ids, first_id, out_key, out_id, out_other):
    """Replace the pair at both ends of each pair if its key is smaller; ties keep the first one.

    A place without a pair is its own other member.
    """
    for i in range(len(u)):
        ahead = min(i + AHEAD, len(u) - 1)
        fetch(out_key, u[ahead])
        fetch(out_key, v[ahead])
        a, b = np.uint64(u[i]), np.uint64(v[i])
        for place in (a, b):
            if (key[i] < out_key[place]) | (out_other[place] == place):
                out_key[place], out_id[place] = key[i], id_at(i, ids, first_id)
                out_other[place] = a ^ b ^ place


@kernel
def join_rows(start, stop, rows, key, cut):
    """Replace the first row of records by the smallest record of each place."""
    for i in range(start, stop):
        for row in range(1, len(rows)):
            if precedes(rows[row, i], rows[0, i], key, cut):
                rows[0, i] = rows[row, i]


@kernel
def list_positions(start, stop, records, none, out):
    """Write the position of each record; `none` for a place in no pair."""
    for i in range(start, stop):
        out[i] = min(records[i] & _LOW_HALF, none)


@kernel
def follow_pairs(
    start, stop, records, lowest, cut, u, v, key, ids, first_id, no_id, out_key, out_id, out_other
):
    """For each node, look up the pair of its record: its key, its id, and its other member."""
    last = np.uint64(len(u) - 1)
    for i in range(start, stop):
        ahead = min(records[min(i + AHEAD, stop - 1)] & _LOW_HALF, last)
        fetch(u, ahead)
        fetch(v, ahead)
        if cut:
            fetch(key, ahead)
        if len(ids):
            fetch(ids, ahead)
        record = records[i]
        pair, place, is_none = min(record & _LOW_HALF, last), np.uint64(i), record == NONE
        found = np.uint64(key[pair]) if cut else lowest + (record >> _HALF)
        out_key[i] = NONE if is_none else found
        out_id[i] = no_id if is_none else id_at(pair, ids, first_id)
        out_other[i] = place if is_none else np.uint64(u[pair]) ^ np.uint64(v[pair]) ^ place
