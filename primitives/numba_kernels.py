"""Compiled loops over a range of elements; they release the GIL, so that threads can share arrays.

A kernel works on ``[start, stop)`` and is called once for each thread. No two threads write to one
place (`find_roots` says why it may), so there are no atomics: where results meet, each thread
fills a row of its own. Arrays are unsigned: an index that may be negative costs a test.

Two habits make them fast. A place that will be read `AHEAD` elements later is fetched now, since
the processor sees only a few iterations ahead by itself. And what is kept of a selection is written
always, and kept by moving on: there is no branch to predict wrongly.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call, call-arg"
# Numba infers the types of kernels; their callers in numba_arrays are typed.

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

kernel = njit(nogil=True, cache=True, boundscheck=False, error_model="numpy")

AHEAD = 16
BLOCK = 512
NONE = np.uint64(2**64 - 1)
ONE = np.uint64(1)


@intrinsic
def fetch(_, array, index):
    """Ask for the cache line of ``array[index]``, and do not wait for it."""
    signature = types.void(array, index)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.zext(arguments[1], ir.IntType(64))
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, word, word, word]),
            "llvm.prefetch.p0i8",
        )
        is_write, locality, is_data = (ir.Constant(word, value) for value in (0, 3, 1))
        pointer = builder.bitcast(builder.gep(data, [place]), byte)
        builder.call(prefetch, [pointer, is_write, locality, is_data])
        return context.get_dummy_value()

    return signature, generate


@kernel
def move(target, source, count, values):
    """Move a run of values to the front, to where none of them is overwritten before it moves."""
    for i in range(count):
        values[target + i] = values[source + i]


@kernel
def gather(start, stop, values, index, out):
    for i in range(start, stop):
        fetch(values, index[min(i + AHEAD, stop - 1)])
        out[i] = values[index[i]]


@kernel
def gather_or_fill(start, stop, values, index, fill, out):
    """`fill` has one element for all, or one for each."""
    step = np.uint64(len(fill) > 1)
    for i in range(start, stop):
        place = index[i]
        out[i] = values[place] if place < len(values) else fill[np.uint64(i) * step]


@kernel
def count_true(start, stop, mask):
    total = 0
    for i in range(start, stop):
        total += mask[i]
    return total


@kernel
def list_true(start, stop, place, end, mask, out):
    for i in range(start, stop):
        if place < end:
            out[place] = i
        place += mask[i]


@kernel
def compact_pairs(start, stop, u, v, key, ids, limit, new_u, new_v, new_key, new_ids):
    """Write to the front of the range, and return how many."""
    hits = np.empty(BLOCK, np.uint64)
    place = np.uint64(start)
    for first in range(start, stop, BLOCK):
        count = np.uint64(0)
        for i in range(first, min(first + BLOCK, stop)):
            hits[count] = i
            count += np.uint64((key[i] <= limit) & (u[i] != v[i]))
        for hit in range(np.int64(count)):
            i = hits[hit]
            new_u[place] = u[i]
            new_v[place] = v[i]
            new_key[place] = key[i]
            new_ids[place] = ids[i]
            place += ONE
    return np.int64(place) - start


@kernel
def mark_equal(start, stop, values, value, bits):
    """Set the bit of each value that equals one; the range is of words of 64 bits."""
    for i in range(start, stop):
        word = np.uint64(0)
        for j in range(64 * i, min(64 * i + 64, len(values))):
            word |= np.uint64(values[j] == value) << np.uint64(j - 64 * i)
        bits[i] = word


@kernel
def relabel_pairs(start, stop, label, inside, u, v, key, ids, new_u, new_v, new_key, new_ids):
    """Write to the front of the range, and return how many.

    `inside` is empty, or has a bit for each label that is the most frequent one: where most pairs
    lie inside it, a table 32 times smaller answers for them.
    """
    hits = np.empty(BLOCK, np.uint64)
    left, right = np.empty(BLOCK, label.dtype), np.empty(BLOCK, label.dtype)
    place = np.uint64(start)
    six, low = np.uint64(6), np.uint64(63)
    for first in range(start, stop, BLOCK):
        end = min(first + BLOCK, stop)
        count = np.uint64(0)
        if len(inside):
            for i in range(first, end):
                a, b = np.uint64(u[i]), np.uint64(v[i])
                both = (inside[a >> six] >> (a & low)) & (inside[b >> six] >> (b & low))
                hits[count] = i
                count += ~both & ONE
            outside, count = np.int64(count), np.uint64(0)
            for hit in range(outside):
                fetch(label, u[hits[hit]])
                fetch(label, v[hits[hit]])
            for hit in range(outside):
                i = hits[hit]
                left[count], right[count], hits[count] = label[u[i]], label[v[i]], i
                count += np.uint64(left[count] != right[count])
        else:
            for i in range(first, end):
                ahead = min(i + AHEAD, stop - 1)
                fetch(label, u[ahead])
                fetch(label, v[ahead])
                left[count], right[count], hits[count] = label[u[i]], label[v[i]], i
                count += np.uint64(left[count] != right[count])
        for hit in range(np.int64(count)):
            i = hits[hit]
            new_u[place] = left[hit]
            new_v[place] = right[hit]
            new_key[place] = key[i]
            new_ids[place] = ids[i]
            place += ONE
    return np.int64(place) - start


@kernel
def scatter_min_pairs(start, stop, low, high, u, v, key, ids, is_packed, records):
    """Lower the records of both members, if they are in ``[low, high)``.

    A record is two words: key and id above, the other member below; an id of 32 bits stands in the
    first word beside a key of 32, else in the second. Records compare as (key, id).
    """
    half = np.uint64(32)
    low, size = np.uint64(low), np.uint64(high - low)
    for i in range(2 * low, 2 * high):
        records[i] = NONE
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(records, np.uint64(u[ahead]) << ONE)
        fetch(records, np.uint64(v[ahead]) << ONE)
        a, b = np.uint64(u[i]), np.uint64(v[i])
        upper, lower = np.uint64(key[i]), np.uint64(ids[i]) << half
        if is_packed:
            upper, lower = upper << half | np.uint64(ids[i]), np.uint64(0)
        if a - low < size:
            at = a << ONE
            now = records[at]
            if upper < now or (upper == now and lower | b < records[at + ONE]):
                records[at] = upper
                records[at + ONE] = lower | b
        if b - low < size:
            at = b << ONE
            now = records[at]
            if upper < now or (upper == now and lower | a < records[at + ONE]):
                records[at] = upper
                records[at + ONE] = lower | a


@kernel
def join_records(start, stop, rows, is_packed, no_key, no_id, out_key, out_id, out_other):
    """Take the least record of each column apart; without one a place is its own other."""
    half, below = np.uint64(32), np.uint64(2**32 - 1)
    for i in range(start, stop):
        upper, lower = rows[0, 2 * i], rows[0, 2 * i + 1]
        for row in range(1, len(rows)):
            if (rows[row, 2 * i] < upper) | (
                (rows[row, 2 * i] == upper) & (rows[row, 2 * i + 1] < lower)
            ):
                upper, lower = rows[row, 2 * i], rows[row, 2 * i + 1]
        is_none = lower == NONE
        out_key[i] = no_key if is_none else (upper >> half if is_packed else upper)
        out_id[i] = no_id if is_none else (upper & below if is_packed else lower >> half)
        out_other[i] = np.uint64(i) if is_none else lower & below


@kernel
def cut_mirrors(start, stop, target, parent):
    """Return how many roots there are in the range."""
    roots = 0
    for i in range(start, stop):
        fetch(target, target[min(i + AHEAD, stop - 1)])
        there = target[i]
        is_cut = (i < there) & (target[there] == i)
        parent[i] = there ^ ((there ^ np.uint64(i)) * np.uint64(is_cut))
        roots += parent[i] == i
    return roots


@kernel
def list_others(start, stop, place, end, parent, ids, out):
    """List the ids of nodes that are no roots."""
    for i in range(start, stop):
        if place < end:
            out[place] = ids[i]
        place += parent[i] != i


@kernel
def find_roots(start, stop, parent, root):
    """Find the root of each node, and halve the paths to it on the way.

    Threads share `parent`: whatever one of them writes is an ancestor of the node, so another that
    reads the old or the new value ends at the same root. But a late write may undo a newer one, so
    the roots go to an array of their own.
    """
    for i in range(start, stop):
        fetch(parent, parent[min(i + 2 * AHEAD, stop - 1)])
        fetch(parent, parent[parent[min(i + AHEAD, stop - 1)]])
        node = np.uint64(i)
        above = parent[node]
        while parent[above] != above:
            parent[node] = parent[above]
            node = np.uint64(parent[above])
            above = parent[node]
        root[i] = above


@kernel
def count_roots(start, stop, root):
    count = 0
    for i in range(start, stop):
        count += root[i] == i
    return count


@kernel
def number_roots(start, stop, number, root, out):
    for i in range(start, stop):
        out[i] = number
        number += root[i] == i


@kernel
def count_ones(word):
    """Count the bits that are set, those of ever larger fields at a time."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def mark(start, stop, values, lowest, bits):
    for i in range(start, stop):
        bit = np.uint64(values[i]) - lowest
        bits[bit >> np.uint64(6)] |= ONE << (bit & np.uint64(63))


@kernel
def join_marks(start, stop, rows):
    """Gather the marks of all rows in the first, and return how many there are."""
    total = np.uint64(0)
    for i in range(start, stop):
        for row in range(1, len(rows)):
            rows[0, i] |= rows[row, i]
        total += count_ones(rows[0, i])
    return np.int64(total)


@kernel
def list_marks(start, stop, place, bits, lowest, out):
    for i in range(start, stop):
        word = bits[i]
        while word:
            bit = word & (~word + ONE)
            out[place] = lowest + np.uint64(i * 64) + count_ones(bit - ONE)
            place += 1
            word ^= bit
