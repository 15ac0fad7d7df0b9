"""Kernels that read the rows of a networkx graph, which are dictionaries, and pair their arcs.

They call functions of Python's C API. The argument `functions` has their addresses, in the order of
`networkx_rows._API`. Kernels hold the GIL while they read dictionaries. Their results are numbers,
addresses that are only compared, and objects with a reference of their own, so they remain valid
after the GIL is released.

The second word of an object is its type. The fifth word of a dictionary is the address of its
table. Tables are only prefetched, so kernels would only be slower with another layout. There is one
exception: if `is_known`, the caller has checked the layout of tables. Their values are read
directly: a call of `PyDict_Next` for each takes longer, and also reads the hash of each string.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from ..primitives.numba.trees import join
from ..runtime.intrinsics import AHEAD, array_at, fetch, helper, highest_bit, kernel, scratch

_ENSURE, _RELEASE, _NEXT, _SIZE, _GET, _KEEP, _DROP, _DOUBLE, _LONG = np.arange(9, dtype=np.uint64)
_STRINGS = 1  # the kind of a table; entries of kind 0, for any keys, also have the hash
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, for hashing by multiplication


@intrinsic
def call(_, address, result, words):
    """Call the C function at an address with a tuple of words; return a number of this dtype.

    A word may be wider than the argument, as a register is.
    """
    signature = result.dtype(address, result, words)

    def generate(context, builder, signature, arguments):
        words = cgutils.unpack_tuple(builder, arguments[2])
        found = context.get_value_type(signature.return_type)
        pointer = ir.FunctionType(found, [word.type for word in words]).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], pointer), words)

    return signature, generate


@helper
def word_of(address, index):
    """Return a word of an object."""
    return array_at(address, np.int64, (index + 1,))[index]


@helper
def next_item(functions, row, item):
    """Advance a position in a dictionary, and write its key and value after it; 0 at the end.

    `item` is an array of position, key and value.
    """
    place = item.ctypes.data
    return call(functions[_NEXT], np.int32, (row, place, place + 8, place + 16))


@helper
def fetch_object(objects, i):
    """Prefetch object `i` of an array of addresses, or the last one."""
    fetch(array_at(objects[min(i, len(objects) - 1)], np.int64, (1,)), np.uint64(0))


@helper
def fetch_row(rows, i, dict_type):
    """Prefetch rows that follow row `i`, and the tables of those that are dictionaries."""
    fetch_object(rows, i + 2 * AHEAD)
    ahead = rows[min(i + AHEAD, len(rows) - 1)]
    if word_of(ahead, 1) == dict_type:
        table = array_at(word_of(ahead, 4), np.int64, (1,))
        for line in range(4):
            fetch(table, np.uint64(8 * line))


@helper
def find_rows(functions, graph, dict_type, rows):
    """Write the address of each value of the dictionary `graph`; return the number of their items.

    Return -1 if their number is not the length of `rows`, or if a type is not `dict_type`.
    """
    item, count, last = scratch(np.int64, 3), 0, len(rows) - 1
    item[0] = 0
    while count <= last and next_item(functions, graph, item):
        rows[count] = item[2]
        count += 1
    if count <= last or next_item(functions, graph, item):
        return -1
    return count_items(functions, dict_type, rows)


@helper
def count_items(functions, dict_type, rows):
    """Return the number of items of all rows; -1 if the type of one is not `dict_type`."""
    count = 0
    for i in range(len(rows)):
        fetch_object(rows, i + AHEAD)
        if word_of(rows[i], 1) != dict_type:
            return -1
        count += call(functions[_SIZE], np.int64, (rows[i],))
    return count


@helper
def read_items(functions, dict_type, is_known, rows, row_of, key, value):
    """Write the row, the key and the value of each item; `key` may be empty."""
    item, count = scratch(np.int64, 3), 0
    for i in range(len(rows)):
        fetch_row(rows, i, dict_type)
        table, kind = word_of(rows[i], 4), _STRINGS + 1
        if is_known and not len(key):
            kind = np.int64(array_at(table, np.uint8, (11,))[10])
        if kind <= _STRINGS:
            first = 4 + ((1 << array_at(table, np.uint8, (10,))[9]) >> 3)
            words = 2 if kind == _STRINGS else 3
            stop = first + words * word_of(table, 3)
            entries = array_at(table, np.int64, (stop,))
            for k in range(first + words - 1, stop, words):
                if entries[k]:
                    row_of[count], value[count] = i, entries[k]
                    count += 1
            continue
        item[0] = 0
        while next_item(functions, rows[i], item):
            row_of[count], value[count] = i, item[2]
            if len(key):
                key[count] = item[1]
            count += 1


@helper
def keep(functions, addresses, objects):
    """Fill an array of objects, given as an array of their addresses."""
    for i in range(len(addresses)):
        fetch_object(addresses, i + AHEAD)
        call(functions[_KEEP], np.int64, (addresses[i],))
        before = objects[i]
        objects[i] = addresses[i]
        call(functions[_DROP], np.int64, (before,))


@helper
def pair_arcs(row_of, value, seen, edge_at, u, v):
    """Write the rows of the two arcs of each edge, which have the same value; return the number.

    `value` becomes the value of each edge. An arc without a partner is written as a loop. Return -1
    if more than two arcs have the same value, if two arcs of a row do, or if there are more edges
    than `u` has places. `seen`, which is zero, and `edge_at` are the columns of a hash table. Their
    length is a power of two, and larger than the number of arcs.
    """
    count, last, mask = 0, len(value) - 1, np.uint64(len(seen) - 1)
    shift = np.uint64(64) - highest_bit(np.uint64(len(seen)))
    for i in range(len(value)):
        ahead = (np.uint64(value[min(i + AHEAD, last)]) * _FACTOR) >> shift
        fetch(seen, ahead)
        fetch(edge_at, ahead)
        place = (np.uint64(value[i]) * _FACTOR) >> shift
        while seen[place] != 0 and seen[place] != value[i]:
            place = (place + np.uint64(1)) & mask
        if seen[place] == 0 and count < len(u):
            seen[place], edge_at[place] = value[i], count
            u[count] = v[count] = row_of[i]
            value[count] = value[i]
            count += 1
        elif seen[place] == 0 or edge_at[place] < 0 or u[edge_at[place]] == row_of[i]:
            return -1
        else:
            v[edge_at[place]] = row_of[i]
            edge_at[place] = -1
    return count


@helper
def unite_arcs(row_of, value, seen, first, parent):
    """Unite the rows of the two arcs of each edge, which have the same value.

    A root is the first row of its tree. Return the number of arcs without a partner, or -1 as
    `pair_arcs` does. `seen` and `first` are the columns of a hash table as there: a value, and the
    row of its first arc, or -1 after the second.
    """
    single, last, mask = 0, len(value) - 1, np.uint64(len(seen) - 1)
    shift = np.uint64(64) - highest_bit(np.uint64(len(seen)))
    seen[:] = 0
    for i in range(len(value)):
        ahead = (np.uint64(value[min(i + AHEAD, last)]) * _FACTOR) >> shift
        fetch(seen, ahead)
        fetch(first, ahead)
        place = (np.uint64(value[i]) * _FACTOR) >> shift
        while seen[place] != 0 and seen[place] != value[i]:
            place = (place + np.uint64(1)) & mask
        if seen[place] == 0:
            seen[place], first[place] = value[i], row_of[i]
            single += 1
        elif first[place] < 0 or first[place] == row_of[i]:
            return -1
        else:
            join(np.uint64(first[place]), np.uint64(row_of[i]), parent)
            first[place] = -1
            single -= 1
    return single


@helper
def number_sets(parent):
    """Replace each parent by the number of its tree, in the order of roots; return how many."""
    count = 0
    for row in range(len(parent)):  # smaller rows have their numbers already
        above = np.uint64(parent[row])
        is_root = above == np.uint64(row)
        parent[row] = count if is_root else parent[above]
        count += is_root
    return count


@kernel([0] * 9, 0, 0, 0, [], [])
def label_rows(functions, graph, dict_type, is_known, space, labels):
    """Write the number of each row's component, in the order of first rows; return how many.

    The first arguments are those of `count_arcs`. Write to `space` how many arcs have no partner,
    and their rows. If it is too small, only return its least size, as a negative number. Return -1
    if the rows cannot be read; see `find_rows` and `unite_arcs`.
    """
    if not len(labels):
        return 0
    gil, size, result = call(functions[_ENSURE], np.int32, ()), len(labels), -1
    count = find_rows(functions, graph, dict_type, space[:size]) if size < len(space) else -1
    places = np.int64(2) << np.int64(highest_bit(np.uint64(max(count, 1))))
    row_at = size + count
    seen_at = row_at + (count + 1) // 2
    first_at = seen_at + places
    if count >= 0 and first_at + places // 2 > len(space):
        result = -first_at - places // 2
    elif count >= 0:
        value, row_of = space[size:row_at], space[row_at:seen_at].view(np.int32)[:count]
        read_items(functions, dict_type, is_known, space[:size], row_of, value[:0], value)
        for row in range(size):
            labels[row] = row
        seen, first = space[seen_at:first_at], space[first_at:].view(np.int32)
        single = unite_arcs(row_of, value, seen, first, labels)
        result = number_sets(labels) if single >= 0 else -1
        space[0], place = single, 0
        for k in range(len(seen) if single > 0 else 0):
            if seen[k] and first[k] >= 0:
                place += 1
                space[place] = first[k]
    call(functions[_RELEASE], np.int32, (gil,))
    return result


@kernel([0] * 9, 0, 0, [])
def count_arcs(functions, graph, dict_type, rows):
    """Write the address of each row, and return the number of items of all rows.

    The rows are the values of the dictionary at the address `graph`. Return -1 if their number is
    not the length of `rows`, or if the type of one is not `dict_type`.
    """
    if not len(rows):
        return 0
    gil = call(functions[_ENSURE], np.int32, ())
    count = find_rows(functions, graph, dict_type, rows)
    call(functions[_RELEASE], np.int32, (gil,))
    return count


@kernel([0] * 9, 0, 0, [], 0, [], [], [0], [0], [], [], [])
def read_edges(
    functions, graph, dict_type, rows, is_known, row_of, value, seen, edge_at, u, v, objects
):
    """Write both rows of each edge, and the value that they share; return the number of edges.

    The first arguments are those of `count_arcs`, whose result is the length of `row_of` and
    `value`. The others are those of `pair_arcs`, and an array of objects for the values.
    Return -1 also if the number of items has changed.
    """
    if not len(rows):
        return 0
    gil, count = call(functions[_ENSURE], np.int32, ()), -1
    if find_rows(functions, graph, dict_type, rows) == len(value):
        read_items(functions, dict_type, is_known, rows, row_of, value[:0], value)
        count = pair_arcs(row_of, value, seen, edge_at, u, v)
        if count > 0:
            keep(functions, value[:count], objects)
    call(functions[_RELEASE], np.int32, (gil,))
    return count


@kernel([0] * 9, [], 0, [], [], [], [], [])
def read_keys(functions, rows, dict_type, row_of, key, value, keys, values):
    """Write the row, the key and the value of each item of these rows; return the number of items.

    `key` and `value` are buffers for addresses, and `keys` and `values` are arrays of objects. If
    their length is not the number of items, nothing is written. Return -1 if the type of a row is
    not `dict_type`.
    """
    if not len(rows):
        return 0
    gil = call(functions[_ENSURE], np.int32, ())
    count = count_items(functions, dict_type, rows)
    if count == len(value):
        read_items(functions, dict_type, 0, rows, row_of, key, value)
        keep(functions, key, keys)
        keep(functions, value, values)
    call(functions[_RELEASE], np.int32, (gil,))
    return count


@kernel([0] * 9, [], [0] * 3, 0, [], [])
def read_numbers(functions, rows, types_, key, floats, integers):
    """Write the value of a key in each row; return 1 if all are floats, or 2 if all are integers.

    `types_` are the types dict, float and int. Return 0 if a row or a value has another type, if a
    row does not have the key, or if an integer has more than 64 bits.
    """
    if not len(rows):
        return 0
    gil, overflow, found = call(functions[_ENSURE], np.int32, ()), scratch(np.int32, 1), 0
    for i in range(len(rows)):
        fetch_row(rows, i, types_[0])
        value = 0
        if word_of(rows[i], 1) == types_[0]:
            value = call(functions[_GET], np.int64, (rows[i], key))
        kind = word_of(value, 1) if value else 0
        if kind == types_[1] and found != 2:
            found, floats[i] = 1, call(functions[_DOUBLE], np.float64, (value,))
        elif kind == types_[2] and found != 1:
            found, integers[i] = 2, call(functions[_LONG], np.int64, (value, overflow.ctypes.data))
        else:
            found = 0
        if not found or (found == 2 and overflow[0]):
            found = 0
            break
    call(functions[_RELEASE], np.int32, (gil,))
    return found
