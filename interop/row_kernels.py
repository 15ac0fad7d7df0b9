"""Kernels that read the rows of a networkx graph, which are dictionaries, and pair their arcs.

They call functions of Python's C API, in an array of addresses in the order of `API`. So they hold
the GIL while they read dictionaries. Whatever they return after they release it is a number, an
address that is only compared, or an object with a reference of its own.

The second word of an object is its type. The fifth word of a dictionary is the address of its
table. It is only prefetched, so a version of Python with another layout would only be slower, with
one exception: if `is_known`, the caller has checked the layout of tables whose keys are strings.
Their values are read directly, because `PyDict_Next` also reads the hash of each string.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..runtime.intrinsics import AHEAD, array_at, fetch, helper, kernel, scratch

_ENSURE, _RELEASE, _NEXT, _SIZE, _GET, _KEEP, _DROP, _DOUBLE, _LONG = np.arange(9, dtype=np.uint64)
_STRINGS = 1  # the kind of a table
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, for hashing by multiplication
_WORD, _INT, _VOID, _FLOAT = ir.IntType(64), ir.IntType(32), ir.VoidType(), ir.DoubleType()


def _call(builder, address, result, *arguments):
    pointer = ir.FunctionType(result, [each.type for each in arguments]).as_pointer()
    return builder.call(builder.inttoptr(address, pointer), arguments)


@intrinsic
def take_gil(_, ensure):
    """Acquire the GIL; return the state that `release_gil` restores."""

    def generate(context, builder, signature, arguments):
        return builder.zext(_call(builder, arguments[0], _INT), _WORD)

    return types.uint64(types.uint64), generate


@intrinsic
def restore_gil(_, release, state):
    """Restore the state of the GIL."""

    def generate(context, builder, signature, arguments):
        release, state = arguments
        _call(builder, release, _VOID, builder.trunc(state, _INT))
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@intrinsic
def size_of(_, function, row):
    """Return the number of items of a dictionary."""

    def generate(context, builder, signature, arguments):
        return _call(builder, arguments[0], _WORD, arguments[1])

    return types.int64(types.uint64, types.int64), generate


@intrinsic
def next_item(_, function, row, item):
    """Advance a position in a dictionary, and write its key and value after it; False at the end.

    `item` is an array of position, key and value.
    """
    signature = types.boolean(types.uint64, types.int64, item)

    def generate(context, builder, signature, arguments):
        function, row, item = arguments
        data = context.make_array(signature.args[2])(context, builder, item).data
        places = [builder.ptrtoint(builder.gep(data, [_WORD(k)]), _WORD) for k in range(3)]
        return builder.trunc(_call(builder, function, _INT, row, *places), ir.IntType(1))

    return signature, generate


@intrinsic
def item_of(_, function, row, key):
    """Return the address of the value of a key in a dictionary, or 0."""

    def generate(context, builder, signature, arguments):
        return _call(builder, arguments[0], _WORD, *arguments[1:])

    return types.int64(types.uint64, types.int64, types.int64), generate


@intrinsic
def count_reference(_, function, address):
    """Call the function that adds or removes a reference to an object."""

    def generate(context, builder, signature, arguments):
        _call(builder, arguments[0], _VOID, arguments[1])
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64), generate


@intrinsic
def double_of(_, function, address):
    """Return the value of a float."""

    def generate(context, builder, signature, arguments):
        return _call(builder, arguments[0], _FLOAT, arguments[1])

    return types.float64(types.uint64, types.int64), generate


@intrinsic
def long_of(_, function, address, overflow):
    """Return the value of an int; write to the array `overflow` whether it has too many bits."""
    signature = types.int64(types.uint64, types.int64, overflow)

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        return _call(builder, arguments[0], _WORD, arguments[1], builder.ptrtoint(data, _WORD))

    return signature, generate


@helper
def word_of(address, index):
    """Return a word of an object."""
    return array_at(address, np.int64, (index + 1,))[index]


@helper
def fetch_row(rows, i, dict_type):
    """Prefetch the rows that follow row `i`, and the tables of those that are dictionaries."""
    last = len(rows) - 1
    fetch(array_at(rows[min(i + 2 * AHEAD, last)], np.int64, (1,)), np.uint64(0))
    ahead = rows[min(i + AHEAD, last)]
    if word_of(ahead, 1) == dict_type:
        table = array_at(word_of(ahead, 4), np.int64, (1,))
        for line in range(4):
            fetch(table, np.uint64(8 * line))


@helper
def find_rows(functions, graph, dict_type, rows):
    """Write the address of each value of the dictionary `graph`; return the number of their items.

    Return -1 if there is another number of values, or if the type of one is not `dict_type`.
    """
    item, count, last = scratch(np.int64, 3), 0, len(rows) - 1
    item[0] = 0
    while count <= last and next_item(functions[_NEXT], graph, item):
        rows[count] = item[2]
        count += 1
    if count <= last or next_item(functions[_NEXT], graph, item):
        return -1
    return count_items(functions, dict_type, rows)


@helper
def count_items(functions, dict_type, rows):
    """Return the number of items of all rows; -1 if the type of one is not `dict_type`."""
    count = 0
    for i in range(len(rows)):
        fetch(array_at(rows[min(i + AHEAD, len(rows) - 1)], np.int64, (1,)), np.uint64(0))
        if word_of(rows[i], 1) != dict_type:
            return -1
        count += size_of(functions[_SIZE], rows[i])
    return count


@helper
def read_items(functions, dict_type, is_known, rows, row_of, key, value):
    """Write the row, the key and the value of each item; `key` may be empty."""
    item, count = scratch(np.int64, 3), 0
    for i in range(len(rows)):
        fetch_row(rows, i, dict_type)
        table = word_of(rows[i], 4)
        if is_known and not len(key) and array_at(table, np.uint8, (11,))[10] == _STRINGS:
            first = 4 + ((1 << array_at(table, np.uint8, (10,))[9]) >> 3)
            stop = first + 2 * word_of(table, 3)
            entries = array_at(table, np.int64, (stop,))
            for k in range(first, stop, 2):
                if entries[k + 1]:
                    row_of[count], value[count] = i, entries[k + 1]
                    count += 1
            continue
        item[0] = 0
        while next_item(functions[_NEXT], rows[i], item):
            row_of[count], value[count] = i, item[2]
            if len(key):
                key[count] = item[1]
            count += 1


@helper
def keep(functions, addresses, objects):
    """Fill an array of objects, given as an array of their addresses."""
    for i in range(len(addresses)):
        ahead = addresses[min(i + AHEAD, len(addresses) - 1)]
        fetch(array_at(ahead, np.int64, (1,)), np.uint64(0))
        count_reference(functions[_KEEP], addresses[i])
        before = objects[i]
        objects[i] = addresses[i]
        count_reference(functions[_DROP], before)


@helper
def pair_arcs(row_of, value, seen, edge_at, shift, u, v):
    """Write the rows of the two arcs of each edge, which have the same value; return the number.

    `value` becomes the value of each edge. An arc without a partner is written as a loop. Return -1
    if more than two arcs have the same value, if two arcs of a row do, or if there are more edges
    than places. `seen`, which is zero, and `edge_at` are the columns of a hash table. Its size is 2
    to the power of 64 - `shift`.
    """
    count, last, mask = 0, len(value) - 1, np.uint64(len(seen) - 1)
    for i in range(len(value)):
        ahead = (np.uint64(value[min(i + AHEAD, last)]) * _FACTOR) >> np.uint64(shift)
        fetch(seen, ahead)
        fetch(edge_at, ahead)
        place = (np.uint64(value[i]) * _FACTOR) >> np.uint64(shift)
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


@kernel([0] * 9, 0, 0, [])
def count_arcs(functions, graph, dict_type, rows):
    """Write the address of each row, and return the number of items of all rows.

    The rows are the values of the dictionary at the address `graph`. Return -1 if there are not
    exactly as many as places in `rows`, or if the type of one is not `dict_type`.
    """
    if not len(rows):
        return 0
    gil = take_gil(functions[_ENSURE])
    count = find_rows(functions, graph, dict_type, rows)
    restore_gil(functions[_RELEASE], gil)
    return count


@kernel([0] * 9, 0, 0, [], 0, [], [], [0], [0], 63, [], [], [])
def read_edges(
    functions, graph, dict_type, rows, is_known, row_of, value, seen, edge_at, shift, u, v, objects
):
    """Write both rows of each edge, and the value that they share; return the number of edges.

    The first arguments are those of `count_arcs`, whose result is the length of `row_of` and
    `value`. The others are those of `pair_arcs`. `objects` may be empty. Return -1 also if the
    number of items has changed.
    """
    if not len(rows):
        return 0
    gil, count = take_gil(functions[_ENSURE]), -1
    if find_rows(functions, graph, dict_type, rows) == len(value):
        read_items(functions, dict_type, is_known, rows, row_of, value[:0], value)
        count = pair_arcs(row_of, value, seen, edge_at, shift, u, v)
        if count > 0 and len(objects):
            keep(functions, value[:count], objects)
    restore_gil(functions[_RELEASE], gil)
    return count


@kernel([0] * 9, [], 0, [], [], [], [], [])
def read_keys(functions, rows, dict_type, row_of, key, value, keys, values):
    """Write the row, the key and the value of each item of these rows; return the number of items.

    `key` and `value` are buffers for addresses, and `keys` and `values` are arrays of objects. Only
    count the items if there are not exactly as many places for them. Return -1 if the type of a row
    is not `dict_type`.
    """
    if not len(rows):
        return 0
    gil = take_gil(functions[_ENSURE])
    count = count_items(functions, dict_type, rows)
    if count == len(value):
        read_items(functions, dict_type, 0, rows, row_of, key, value)
        keep(functions, key, keys)
        keep(functions, value, values)
    restore_gil(functions[_RELEASE], gil)
    return count


@kernel([0] * 9, [], [0] * 3, 0, [], [])
def read_numbers(functions, rows, types_, key, floats, integers):
    """Write the value of a key in each row; return 1 if all are floats, or 2 if all are integers.

    `types_` are the types dict, float and int. Return 0 if a row or a value has another type, if a
    row does not have the key, or if an integer has more than 64 bits.
    """
    if not len(rows):
        return 0
    gil, overflow, found = take_gil(functions[_ENSURE]), scratch(np.int32, 1), 0
    for i in range(len(rows)):
        fetch_row(rows, i, types_[0])
        value = 0
        if word_of(rows[i], 1) == types_[0]:
            value = item_of(functions[_GET], rows[i], key)
        kind = word_of(value, 1) if value else 0
        if kind == types_[1] and found != 2:
            found, floats[i] = 1, double_of(functions[_DOUBLE], value)
        elif kind == types_[2] and found != 1:
            found, integers[i] = 2, long_of(functions[_LONG], value, overflow)
        else:
            found = 0
        if not found or (found == 2 and overflow[0]):
            found = 0
            break
    restore_gil(functions[_RELEASE], gil)
    return found
