"""Kernels over pairs: select, relabel, and find the smallest pair at each place."""

import numpy as np

from ...runtime.intrinsics import (
    AHEAD,
    BLOCK,
    NONE,
    ONE,
    at_most,
    compare_and_swap,
    copy,
    fetch,
    helper,
    highest_bit,
    kernel,
    load,
    lowest_bit,
    scratch,
)
from .elements import alone, key_of
from .sorting import count_ones

WORD = np.uint64(64)
FOUR = np.uint64(4)
#: The number of ids of 32 bits in a cache line.
IDS = np.uint64(16)


@helper
def id_at(i, ids, first):
    """Return the i-th id; if `ids` is empty, they are consecutive from `first` on."""
    return np.uint64(ids[i]) if len(ids) else first + np.uint64(i)


@helper
def block(start, stop, backward, k, size):
    """Return start and stop of the k-th block of a range, counted from the front or the back."""
    blocks = (stop - start + size - 1) // size
    first = start + size * (blocks - 1 - k if backward else k)
    return np.uint64(first), np.uint64(min(first + size, stop))


@helper
def first_place(stop, target):
    """Return the place of the first selected pair.

    If `target` is negative, the selected pairs are written backward from the end of the range.
    """
    return stop - 1 if target < 0 else target


@helper
def light(key, first, stop, limit):
    """Return a bit for each of the next 64 keys before `stop`: whether it is at most the limit."""
    if stop - first >= WORD:
        return at_most(key, first, limit)
    word = np.uint64(0)
    for i in range(first, stop):
        word |= np.uint64(key[i] <= limit) << (i - first)
    return word


@kernel(0, 3, [4, 5, 6], 5)
def count_at_most(start, stop, key, limit):
    """Return the number of keys that are at most the limit."""
    count = np.uint64(0)
    for first in range(start, stop, 64):
        count += count_ones(light(key, np.uint64(first), np.uint64(stop), limit))
    return np.int64(count)


@kernel(0, 3, 0, [0, 1, 2], [1, 1, 0], [4, 5, 6], [], 7, 6, [2, 0], *[[0] * 3] * 4)
def compact_pairs(
    start, stop, target, u, v, key, ids, first_id, limit, ignored, new_u, new_v, new_key, new_ids
):
    """Write the selected pairs, see `first_place`; return their number.

    `ignored` has the bits of pairs that are not selected and one more word, or is empty.
    """
    backward, target = target < 0, first_place(stop, target)
    place = np.uint64(target)
    step = NONE if backward else ONE  # adding NONE subtracts 1
    for k in range((stop - start + 63) // 64):
        first, end = block(start, stop, backward, k, 64)
        word = light(key, first, end, limit)
        if len(ignored):
            at, shift = first >> np.uint64(6), first & np.uint64(63)
            word &= ~(ignored[at] >> shift | ignored[at + ONE] << ONE << (np.uint64(63) - shift))
        while word:
            bit = highest_bit(word) if backward else lowest_bit(word)
            i, word = first + bit, word ^ (ONE << bit)
            new_u[place], new_v[place] = u[i], v[i]
            new_key[place], new_ids[place] = key[i], id_at(i, ids, first_id)
            place += step * np.uint64(u[i] != v[i])
    return abs(np.int64(place) - target)


@helper
def write_keys(first, end, bits, top, signed, is_float, descending, key):
    """Write the keys of the pairs in ``[first, end)``."""
    for i in range(first, end):
        key[i - first] = key_of(np.uint64(bits[i]), top, signed, is_float, descending)


@helper
def list_light(first, end, key, limit, hits):
    """List the pairs in ``[first, end)`` whose keys are at most the limit; return their number.

    `key` has the keys of these pairs only.
    """
    count, length = np.uint64(0), end - first
    for low in range(np.uint64(0), length, WORD):
        word = at_most(key, low, limit)
        if length - low < WORD:  # the keys after these are undefined
            word &= (ONE << (length - low)) - ONE
        while word:
            hits[count] = first + low + lowest_bit(word)
            count, word = count + ONE, word & (word - ONE)
    return count


@kernel(
    *(0, 3, 0, [0, 1, 2], [1, 1, 0], [4, 5, 6], 6, True, True, False, 127, [], 7),
    *[[0] * 3] * 4,
)
def compact_light_pairs(
    start, stop, target, u, v, bits, top, signed, is_float, descending, limit, ids, first_id,
    new_u, new_v, new_key, new_ids,
):  # fmt: skip
    """Write the selected pairs, see `first_place`; return their number.

    `top` and the flags are those of `key_of`, which computes the keys of the pairs.
    """
    backward, target = target < 0, first_place(stop, target)
    key, hits, place = scratch(bits.dtype, BLOCK), scratch(np.uint64, BLOCK), np.uint64(target)
    step = NONE if backward else ONE  # adding NONE subtracts 1
    for k in range((stop - start + BLOCK - 1) // BLOCK):
        first, end = block(start, stop, backward, k, BLOCK)
        write_keys(first, end, bits, top, signed, is_float, descending, key)
        found = list_light(first, end, key, limit, hits)
        front = found - ONE if backward else np.uint64(0)
        for hit in range(found):
            i = hits[front + step * hit]
            new_u[place], new_v[place] = u[i], v[i]
            new_key[place], new_ids[place] = key[i - first], id_at(i, ids, first_id)
            place += step * np.uint64(u[i] != v[i])
    return abs(np.int64(place) - target)


@kernel(0, 2, [1, 2, 0] * 30, 2, 1, [0] * 2)
def mark_unlike(start, stop, label, value, below, out):
    """Write words with a bit for each label: whether it differs from a value.

    The number before the value is `below`, or the value itself if it is 0.
    """
    for word in range(start, stop):
        first, end = WORD * np.uint64(word), np.uint64(len(label))
        unlike = ~light(label, first, min(first + WORD, end), value)
        if below < value:
            unlike |= light(label, first, min(first + WORD, end), below)
        out[word] = unlike


@helper
def may_differ(i, label, outside, u, v):
    """Return 1 if the labels of a pair's ends may differ, otherwise 0; see `find_outside`."""
    if not len(outside):
        return np.uint64(label[u[i]] != label[v[i]])
    six, low = np.uint64(6), np.uint64(63)
    a, b = np.uint64(u[i]), np.uint64(v[i])
    return (outside[a >> six] >> (a & low) | outside[b >> six] >> (b & low)) & ONE


@helper
def find_outside(first, end, away, label, outside, u, v, hits):
    """List the pairs in ``[first, end)`` whose labels may differ; return their number.

    `outside` has a bit for each node: whether its label is not the most frequent one. This table is
    32 times smaller than the labels. If most pairs have the most frequent label at both ends, the
    table is enough to reject them. If it is empty, the labels are compared.

    Prefetch the ends `away` pairs from each of these, because the processor itself prefetches only
    up to the end of a page of 4 kB.
    """
    count, rest = np.uint64(0), end - (end - first) % FOUR
    for i in range(first, rest, FOUR):
        if not (i - first) % IDS:
            fetch(u, i + away)
            fetch(v, i + away)
        # LLVM does not move loads before the stores to `hits`, so four pairs are loaded at once.
        j, k, m = i + ONE, i + ONE + ONE, i + FOUR - ONE
        at_i, at_j = may_differ(i, label, outside, u, v), may_differ(j, label, outside, u, v)
        at_k, at_m = may_differ(k, label, outside, u, v), may_differ(m, label, outside, u, v)
        hits[count] = i
        count += at_i
        hits[count] = j
        count += at_j
        hits[count] = k
        count += at_k
        hits[count] = m
        count += at_m
    for i in range(rest, end):
        hits[count] = i
        count += may_differ(i, label, outside, u, v)
    return count


@kernel(
    *(0, 3, 0, [0, 0, 2], [4], [0, 1, 2], [1, 2, 0], [4, 5, 6], [7, 8, 9], 0, [2, 0]),
    *[[0] * 3] * 4,
)
def relabel_pairs(
    start, stop, target, label, outside, u, v, key, ids, first_id, ignored,
    new_u, new_v, new_key, new_ids,
):  # fmt: skip
    """Write the selected pairs, see `first_place`; return their number.

    `ignored` has the bits of pairs that are not selected, or is empty.
    """
    backward, target = target < 0, first_place(stop, target)
    hits, place = scratch(np.uint64, BLOCK), np.uint64(target)
    step = NONE if backward else ONE
    for k in range((stop - start + BLOCK - 1) // BLOCK):
        first, end = block(start, stop, backward, k, BLOCK)
        found = find_outside(first, end, step * np.uint64(BLOCK), label, outside, u, v, hits)
        last = found - ONE
        front = last if backward else np.uint64(0)
        for hit in range(found):
            i = hits[front + step * hit]
            ahead = hits[front + step * min(hit + np.uint64(AHEAD), last)]
            fetch(label, u[ahead])
            fetch(label, v[ahead])
            fetch(key, ahead)
            a, b = label[u[i]], label[v[i]]
            new_u[place], new_v[place] = a, b
            new_key[place], new_ids[place] = key[i], id_at(i, ids, first_id)
            is_selected = np.uint64(a != b)
            if len(ignored):
                is_selected &= ~(ignored[i >> np.uint64(6)] >> (i & np.uint64(63)))
            place += step * is_selected
    return abs(np.int64(place) - target)


@kernel(
    *(0, 3, 0, [0, 1, 2], [4], [127] * 3, [0, 1, 2], [1, 2, 0], [4, 5, 6]),
    *(6, True, False, False, 127, [7, 8, 9], 0), *[[0] * 3] * 4,
)  # fmt: skip
def relabel_light_pairs(
    start, stop, target, label, outside, bound, u, v, bits,
    top, signed, is_float, descending, limit, ids, first_id, new_u, new_v, new_key, new_ids,
):  # fmt: skip
    """Write the selected pairs, see `first_place`; return their number."""
    backward, target = target < 0, first_place(stop, target)
    key, hits, place = scratch(bits.dtype, BLOCK), scratch(np.uint64, BLOCK), np.uint64(target)
    step, are_all_light = NONE if backward else ONE, limit == bits.dtype.type(NONE)
    for k in range((stop - start + BLOCK - 1) // BLOCK):
        first, end = block(start, stop, backward, k, BLOCK)
        if are_all_light:
            found = find_outside(first, end, step * np.uint64(BLOCK), label, outside, u, v, hits)
        else:
            write_keys(first, end, bits, top, signed, is_float, descending, key)
            found = list_light(first, end, key, limit, hits)
        last = found - ONE
        front = last if backward else np.uint64(0)
        for hit in range(found):
            i = hits[front + step * hit]
            ahead = hits[front + step * min(hit + np.uint64(AHEAD), last)]
            fetch(label, u[ahead])
            fetch(label, v[ahead])
            fetch(bits, ahead)
            a, b = label[u[i]], label[v[i]]
            own = bits.dtype.type(key_of(np.uint64(bits[i]), top, signed, is_float, descending))
            new_u[place], new_v[place] = a, b
            new_key[place], new_ids[place] = own, id_at(i, ids, first_id)
            place += step * np.uint64((a != b) & (own <= max(bound[a], bound[b])))
    return abs(np.int64(place) - target)


@kernel(0, 3, [0, 1, 2], [1, 2, 0], [6, 4, 5], [127] * 3)
def lower_packed(start, stop, u, v, key, records):
    """Lower records of one word, key above position."""
    half = np.uint64(32)
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(records, u[ahead])
        fetch(records, v[ahead])
        record = np.uint64(key[i]) << half | np.uint64(i)
        records[u[i]] = min(records[u[i]], record)
        records[v[i]] = min(records[v[i]], record)


@kernel(0, 3, [0, 1, 2], [1, 2, 0], [0, 0])
def find_places(start, stop, u, v, places):
    """Write the smallest and the largest place of these pairs."""
    low, high, other_low, other_high = u[start], u[start], v[start], v[start]
    for i in range(np.uint64(start), np.uint64(stop)):
        low, high = min(low, u[i]), max(high, u[i])
    for i in range(np.uint64(start), np.uint64(stop)):
        other_low, other_high = min(other_low, v[i]), max(other_high, v[i])
    places[0] = min(np.uint64(low), np.uint64(other_low))
    places[1] = max(np.uint64(high), np.uint64(other_high))


@kernel(0, 3, 0, [[0, 2], [1, 2]], [0, 1, 2], [1, 2, 0], [6, 4, 5], [127] * 3)
def lower_together(start, stop, share, places, u, v, key, records):
    """Lower records of one word at all places, while other threads lower them for other pairs.

    Most pairs only read a record, because they find a lower one there. `places` has the smallest
    and the largest place of each share.
    """
    half = np.uint64(32)
    first, count = alone(share, places)
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


@kernel(0, 3, 0, 3, [0, 1, 2], [1, 2, 0], [6, 4, 5], [127] * 6)
def lower_wide(start, stop, low, high, u, v, key, records):
    """Lower records of two words, key and position, at the places in ``[low, high)``.

    Positions are ascending, so of several equal keys the first one is kept.
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


@kernel(0, 2, [[5, 6], [4, 7]], 3, [0] * 2, [0] * 2)
def join_packed(start, stop, rows, none, out_key, out_position):
    """Find the minimum of each column of `rows`. A place without records gets position `none`."""
    half, below = np.uint64(32), np.uint64(2**32 - 1)
    for i in range(start, stop):
        record = rows[0, i]
        for row in range(1, len(rows)):
            record = min(record, rows[row, i])
        out_key[i] = record >> half
        out_position[i] = min(record & below, none)


@kernel(0, 1, [[5, 0], [4, 1]], 3, [0], [0])
def join_wide(start, stop, rows, none, out_key, out_position):
    for i in range(start, stop):
        key, position = rows[0, 2 * i], rows[0, 2 * i + 1]
        for row in range(1, len(rows)):
            other, there = rows[row, 2 * i], rows[row, 2 * i + 1]
            is_less = (other < key) | ((other == key) & (there < position))
            key, position = min(key, other), there if is_less else position
        out_key[i] = key
        out_position[i] = min(position, none)


@kernel(0, 3, [0, 1, 2], [0, 1], [1, 2], [8, 9], 0, 99, [0] * 3, [0] * 3)
def follow_pairs(start, stop, position, u, v, ids, first_id, no_id, out_id, out_other):
    """Look up the id of the pair at each position, and the member that is not the place itself."""
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


@kernel(1, 0, 2, *[[0, 1, 2]] * 4, *[[0] * 3] * 4)
def move_pairs(source, target, count, u, v, key, ids, new_u, new_v, new_key, new_ids):
    """Copy pairs to other arrays."""
    copy(u, source, new_u, target, count)
    copy(v, source, new_v, target, count)
    copy(key, source, new_key, target, count)
    copy(ids, source, new_ids, target, count)
