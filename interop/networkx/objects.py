"""Reads of networkx graphs, which are dictionaries of dictionaries, for kernels.

They call functions of Python's C API. The argument `functions` has their addresses, in the order of
`rows._API`. Kernels hold the GIL while they read dictionaries. Their results are numbers, addresses
that are only compared, and objects with a reference of their own, so they remain valid after the
GIL is released.

The second word of an object is its type. The fifth word of a dictionary is the address of its
table. Tables are only prefetched, so kernels would only be slower with another layout. There is one
exception: if `is_known`, the caller has checked the layout of tables. Their values are read
directly: a call of `PyDict_Next` for each takes longer, and also reads the hash of each string.
"""

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from ...runtime.intrinsics import AHEAD, array_at, fetch, helper, highest_bit, scratch

(
    ENSURE,
    RELEASE,
    NEXT,
    SIZE,
    GET,
    HASH,
    EQUAL,
    KEEP,
    DROP,
    DOUBLE,
    LONG,
) = np.arange(11, dtype=np.uint64)
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
    return call(functions[NEXT], np.int32, (row, place, place + 8, place + 16))


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
        count += call(functions[SIZE], np.int64, (rows[i],))
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
        call(functions[KEEP], np.int64, (addresses[i],))
        before = objects[i]
        objects[i] = addresses[i]
        call(functions[DROP], np.int64, (before,))


@helper
def first_place(address, seen):
    """Return where the search for an address begins in a hash table.

    `seen` is a column of the table; an empty place is 0. Its length is a power of two, and larger
    than the number of addresses in it.
    """
    return (np.uint64(address) * _FACTOR) >> (np.uint64(64) - highest_bit(np.uint64(len(seen))))


@helper
def place_of(address, seen):
    """Return the place of an address in a hash table, or the empty place where it belongs."""
    place = first_place(address, seen)
    while seen[place] != 0 and seen[place] != address:
        place = (place + np.uint64(1)) & np.uint64(len(seen) - 1)
    return place
