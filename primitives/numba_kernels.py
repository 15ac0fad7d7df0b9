"""Compiled loops over a range of elements; they release the GIL, so that threads can share arrays.

A kernel works on ``[start, stop)`` and is called once for each thread. No two threads write to one
place, but in `find_roots`, which says why it may, so there are no atomics: where results meet,
each thread fills a row of its own. Arrays are unsigned: an index that may be negative costs a test.

Two habits make them fast. A place that will be read `AHEAD` elements later is fetched now, since
the processor sees only a few iterations ahead by itself. And what may be kept of a selection is
written always, and kept by moving on: a branch for each would often be predicted wrongly.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg,var-annotated"
# Numba infers the types of kernels; their callers in numba_arrays are typed.

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

#: Functions are compiled without what Python would call them by (`native` does), and take no memory
#: from a heap, which would have to be Numba's.
OPTIONS: dict[str, Any] = {
    "boundscheck": False,
    "error_model": "numpy",
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
}
kernel = njit(**OPTIONS)

AHEAD = 16
BLOCK = 2048
#: Words in a line of the cache. Where many places are written in turns, the next line of each is
#: fetched before it is reached.
LINE = np.uint64(8)
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


@intrinsic
def at_most(_, values, first, limit):
    """Compare 64 values from `first` on with a limit; return a bit for each that is at most that.

    Of a loop that sets bits LLVM makes no comparison of many values at once.
    """
    signature = types.uint64(values, types.uint64, values.dtype)

    def generate(context, builder, signature, arguments):
        array, first, limit = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        vector = ir.VectorType(limit.type, 64)
        place = builder.bitcast(builder.gep(data, [first]), vector.as_pointer())
        those = builder.load(place, align=signature.args[0].dtype.bitwidth // 8)
        none = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(none, limit, ir.IntType(32)(0))
        limits = builder.shuffle_vector(one, none, ir.VectorType(ir.IntType(32), 64)(None))
        return builder.bitcast(builder.icmp_unsigned("<=", those, limits), ir.IntType(64))

    return signature, generate


@intrinsic
def lowest_bit(_, word):
    """Return the place of the lowest bit of a word that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return word(word), generate


@intrinsic
def highest_bit(_, word):
    """Return the place of the highest bit of a word that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.xor(builder.ctlz(arguments[0], ir.IntType(1)(1)), ir.IntType(64)(63))

    return word(word), generate


def _make_array(context, builder, array, data, shape):
    itemsize = stride = context.get_constant(types.intp, array.dtype.bitwidth // 8)
    strides = []
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, extent)
    made = context.make_array(array)(context, builder)
    populate_array(made, data, shape, strides, itemsize, meminfo=None)
    return made._getvalue()


@intrinsic
def array_at(_, pointer, shape):
    """Return a contiguous array that lies at a pointer to its first element."""
    signature = types.Array(pointer.dtype, len(shape), "C")(pointer, shape)

    def generate(context, builder, signature, arguments):
        extents = cgutils.unpack_tuple(builder, arguments[1])
        return _make_array(context, builder, signature.return_type, arguments[0], extents)

    return signature, generate


@intrinsic(prefer_literal=True)
def scratch(_, dtype, size):
    """Return an array of `size` elements, which is a constant, on the stack."""
    signature = types.Array(dtype.dtype, 1, "C")(dtype, size)

    def generate(context, builder, signature, _):
        array, extent = signature.return_type, context.get_constant(types.intp, size.literal_value)
        data = cgutils.alloca_once(builder, context.get_data_type(array.dtype), extent)
        # Where it lies is hidden: knowing that no other array overlaps it, LLVM would make gathers
        # of the lookups, which take twice as long.
        data = builder.asm(ir.FunctionType(data.type, [data.type]), "", "=r,0", [data], False)
        return _make_array(context, builder, array, data, [extent])

    return signature, generate


@kernel
def move(target, source, count, values):
    """Move a run of values to the front, to where none of them is overwritten before it moves."""
    for i in range(count):
        values[target + i] = values[source + i]


@kernel
def scatter(start, stop, index, values, out):
    """`values` has one element for all, or one for each."""
    step = np.uint64(len(values) > 1)
    for i in range(start, stop):
        fetch(out, index[min(i + AHEAD, stop - 1)])
        out[index[i]] = values[np.uint64(i) * step]


def scatter_reduce(reduce):
    """Return a kernel that reduces what meets at a place; bits of `flip` are turned meanwhile."""

    def scatter(index, values, flip, out):
        last = len(index) - 1
        for i in range(len(index)):
            fetch(out, index[min(i + AHEAD, last)])
            out[index[i]] = reduce(out[index[i]] ^ flip, values[i] ^ flip) ^ flip

    # Kernels are compiled apart and linked together: no two may have one name.
    scatter.__qualname__ = f"scatter_{reduce.__name__}"
    return kernel(scatter)


scatter_min = scatter_reduce(min)
scatter_max = scatter_reduce(max)
scatter_add = scatter_reduce(operator.add)


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
def order_key(start, stop, bits, top, signed, is_float, descending, out):
    """Turn the sign bit, which is at `top`, and all bits of a negative float."""
    sign, all_bits = ONE << top, np.uint64(0) - np.uint64(descending)
    for i in range(start, stop):
        word = np.uint64(bits[i])
        turned = sign * np.uint64(signed)
        if is_float and signed:
            word *= np.uint64(word != sign)  # -0.0 becomes 0.0
            turned |= np.uint64(0) - (word >> top)
        out[i] = word ^ turned ^ all_bits


@kernel
def id_at(i, ids, first):
    """Return an id of those there are, or of consecutive ones."""
    return np.uint64(ids[i]) if len(ids) else first + np.uint64(i)


@kernel
def block(start, stop, backward, k, size):
    """Return where the k-th block of a range, from the front or the back, begins and ends."""
    blocks = (stop - start + size - 1) // size
    first = start + size * (blocks - 1 - k if backward else k)
    return np.uint64(first), np.uint64(min(first + size, stop))


@kernel
def compact_pairs(
    start, stop, backward, u, v, key, ids, first_id, limit, new_u, new_v, new_key, new_ids
):
    """Write to the front of the range, or to the back, and return how many."""
    place = np.uint64(stop - 1 if backward else start)
    step = NONE if backward else ONE  # which adds -1, or 1
    for k in range((stop - start + 63) // 64):
        first, end = block(start, stop, backward, k, 64)
        word = np.uint64(0)
        if end - first == np.uint64(64):
            word |= at_most(key, first, limit)
        else:
            for i in range(first, end):
                word |= np.uint64(key[i] <= limit) << (i - first)
        while word:
            bit = highest_bit(word) if backward else lowest_bit(word)
            i, word = first + bit, word ^ (ONE << bit)
            new_u[place], new_v[place] = u[i], v[i]
            new_key[place], new_ids[place] = key[i], id_at(i, ids, first_id)
            place += step * np.uint64(u[i] != v[i])
    return stop - 1 - np.int64(place) if backward else np.int64(place) - start


@kernel
def mark_equal(start, stop, values, value, bits):
    """Set the bit of each value that equals one; the range is of words of 64 bits."""
    for i in range(start, stop):
        word, those = np.uint64(0), values[64 * i : 64 * i + 64]
        for j in range(len(those)):
            word |= np.uint64(those[j] == value) << np.uint64(j)
        bits[i] = word


@kernel
def relabel_pairs(
    start, stop, backward, label, inside, u, v, key, ids, first_id, new_u, new_v, new_key, new_ids
):
    """Write to the front of the range, or to the back, and return how many.

    `inside` is empty, or has a bit for each label that is the most frequent one: where most pairs
    lie inside it, a table 32 times smaller answers for them.
    """
    hits = scratch(np.uint64, BLOCK)
    place = stop if backward else start
    six, low = np.uint64(6), np.uint64(63)
    for k in range((stop - start + BLOCK - 1) // BLOCK):
        first, end = block(start, stop, backward, k, BLOCK)
        count = np.uint64(0)
        if len(inside):
            for i in range(first, end):
                hits[count] = i
                a, b = np.uint64(u[i]), np.uint64(v[i])
                both = (inside[a >> six] >> (a & low)) & (inside[b >> six] >> (b & low))
                count += ~both & ONE
            found, count = count, np.uint64(0)
            for hit in range(found):
                i, ahead = hits[hit], hits[min(hit + np.uint64(AHEAD), found - ONE)]
                fetch(label, u[ahead])
                fetch(label, v[ahead])
                hits[count] = i
                count += np.uint64(label[u[i]] != label[v[i]])
        else:
            for i in range(first, end):
                hits[count] = i
                count += np.uint64(label[u[i]] != label[v[i]])
        place -= np.int64(count) * backward
        for hit in range(count):
            i, at = hits[hit], np.uint64(place) + hit
            new_u[at], new_v[at] = label[u[i]], label[v[i]]
            new_key[at], new_ids[at] = key[i], id_at(i, ids, first_id)
        place += np.int64(count) * (not backward)
    return stop - place if backward else place - start


@kernel
def lower_packed(start, stop, low, high, u, v, key, records):
    """Lower the records of the places in ``[low, high)``: a key above, its position below."""
    half, low, size = np.uint64(32), np.uint64(low), np.uint64(high - low)
    for i in range(start, stop):
        ahead = min(i + AHEAD, stop - 1)
        fetch(records, u[ahead])
        fetch(records, v[ahead])
        record = np.uint64(key[i]) << half | np.uint64(i)
        if np.uint64(u[i]) - low < size:
            records[u[i]] = min(records[u[i]], record)
        if np.uint64(v[i]) - low < size:
            records[v[i]] = min(records[v[i]], record)


@kernel
def lower_wide(start, stop, low, high, u, v, key, records):
    """Lower the records of the places in ``[low, high)``: a key in a word, its position after.

    Positions come in order, so among equal keys the first stays.
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
    """Take the least record of each column apart; `none` is the position where there is none."""
    half, below = np.uint64(32), np.uint64(2**32 - 1)
    for i in range(start, stop):
        record = rows[0, i]
        for row in range(1, len(rows)):
            record = min(record, rows[row, i])
        out_key[i] = record >> half
        out_position[i] = min(record & below, none)


@kernel
def join_wide(start, stop, rows, none, out_key, out_position):
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
    """Take the id and the other member of the pair at each position; without one, the place."""
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
def find_root(node, parent):
    """Halve the path on the way; a child of the root is not written, so other caches keep it."""
    above = np.uint64(parent[node])
    while parent[above] != above:
        parent[node] = parent[above]
        node = np.uint64(parent[above])
        above = np.uint64(parent[node])
    return above


@kernel
def find_roots(start, stop, parent, root):
    """Find the root of each node.

    Threads share `parent`: whatever one of them writes is an ancestor of the node, so another that
    reads the old or the new value ends at the same root. But a late write may undo a newer one, so
    the roots go to an array of their own.
    """
    for i in range(start, stop):
        fetch(parent, parent[min(i + 2 * AHEAD, stop - 1)])
        fetch(parent, parent[parent[min(i + AHEAD, stop - 1)]])
        root[i] = find_root(np.uint64(i), parent)


@kernel
def count_roots(start, stop, root):
    count = 0
    for i in range(start, stop):
        count += root[i] == i
    return count


@kernel
def number_in_order(root, out):
    """Give numbers in one pass; return how many, or -1 where a node comes before its root."""
    number, last = np.uint64(0), len(root) - 1
    for i in range(len(root)):
        fetch(out, root[min(i + AHEAD, last)])
        if root[i] > np.uint64(i):
            return -1
        out[i] = number
        out[i] = out[root[i]]
        number += root[i] == np.uint64(i)
    return np.int64(number)


@kernel
def number_roots(start, stop, number, end, root, out):
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
def list_marks(start, stop, place, end, bits, lowest, out):
    for i in range(start, stop):
        word = bits[i]
        while word:
            out[place] = lowest + np.uint64(i * 64) + lowest_bit(word)
            place += 1
            word &= word - ONE


@kernel
def count_up(start, stop, out):
    for i in range(start, stop):
        out[i] = i


@kernel
def make_records(start, stop, key, lowest, shift, order, records):
    """Put 32 bits of each key above its position; without an order they are as they stand."""
    for i in range(start, stop):
        place = np.uint64(order[i]) if len(order) else np.uint64(i)
        half = (np.uint64(key[place]) - lowest) >> np.uint64(shift)
        records[i] = half << np.uint64(32) | place


@kernel
def count_digits(start, stop, records, shift, counts):
    """Count each digit; it has as many bits as `counts` has places."""
    shift, low = np.uint64(shift), np.uint64(len(counts) - 1)
    for i in range(start, stop):
        counts[(records[i] >> shift) & low] += 1


@kernel
def sort_by_digit(start, stop, records, shift, places, moved):
    """Move records to the next place of their digit, so that equals keep their order."""
    shift, low = np.uint64(shift), np.uint64(len(places) - 1)
    for i in range(start, stop):
        digit = (records[i] >> shift) & low
        place = places[digit]
        places[digit] = place + ONE
        fetch(moved, place + LINE)
        moved[place] = records[i]


@kernel
def list_positions(start, stop, records, order):
    for i in range(start, stop):
        order[i] = records[i] & np.uint64(2**32 - 1)


@kernel
def join(a, b, parent):
    """Make the smaller of two roots the root of both sets; tell whether they were two."""
    left, right = np.uint64(parent[a]), np.uint64(parent[b])
    if left == right:  # as it is most often
        return False
    left, right = np.uint64(parent[left]), np.uint64(parent[right])
    if left == right:
        parent[a] = parent[b] = left
        return False
    left, right = find_root(left, parent), find_root(right, parent)
    root = min(left, right)
    parent[a] = parent[b] = parent[max(left, right)] = root
    return left != right


@kernel
def join_in_order(u, v, parent, joining):
    """Union-find with the smallest node as the root, and paths halved on the way."""
    count = 0
    last = len(u) - 1
    for i in range(len(u)):
        far, near = min(i + 2 * AHEAD, last), min(i + AHEAD, last)
        fetch(parent, u[far])
        fetch(parent, v[far])
        fetch(parent, parent[u[near]])
        fetch(parent, parent[v[near]])
        if join(np.uint64(u[i]), np.uint64(v[i]), parent):
            joining[count] = i
            count += 1
    return count


@kernel
def flatten(parent):
    """Make the root the parent of each node, where no node is smaller than its parent."""
    for i in range(len(parent)):  # the parents before this node are roots already
        parent[i] = parent[parent[i]]
