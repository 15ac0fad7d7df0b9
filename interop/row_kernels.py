"""Kernels that read the rows of a networkx graph, which are dictionaries, and pair their arcs.

They call functions of Python's C API, in an array of addresses: `PyGILState_Ensure`,
`PyGILState_Release`, `PyDict_Next` and `PyDict_Size`. So they hold the GIL while they read
dictionaries. They change no reference count, and use only the addresses of values. The second word
of an object is its type. The fifth word of a dictionary is the address of its table, which is only
prefetched, so a version of Python with another layout would only be slower.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..runtime.intrinsics import AHEAD, array_at, fetch, kernel, scratch

_ENSURE, _RELEASE, _NEXT, _SIZE = np.arange(4, dtype=np.uint64)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio, for hashing by multiplication
_WORD, _INT, _VOID = ir.IntType(64), ir.IntType(32), ir.VoidType()


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


@kernel([0] * 4, 0, 0, [], [], [])
def read_rows(functions, graph, dict_type, rows, row_of, value):
    """Write the row and the value of each item of the rows; return the number of items.

    The rows are the values of the dictionary at the address `graph`, and `rows` has a place for
    the address of each. Only count the items if there are not exactly as many places for them.
    Return -1 if there is another number of rows, or if the type of one is not `dict_type`.
    """
    if not len(rows):
        return 0
    gil = take_gil(functions[_ENSURE])
    item, count, last = scratch(np.int64, 3), 0, len(rows) - 1
    item[0] = 0
    while count <= last and next_item(functions[_NEXT], graph, item):
        rows[count] = item[2]
        count += 1
    count = 0 if count > last and not next_item(functions[_NEXT], graph, item) else -1
    for i in range(len(rows)):
        if count >= 0:
            fetch(array_at(rows[min(i + AHEAD, last)], np.int64, (1,)), np.uint64(0))
            is_dict = array_at(rows[i], np.int64, (2,))[1] == dict_type
            count = count + size_of(functions[_SIZE], rows[i]) if is_dict else -1
    if count == len(value):
        count = 0
        for i in range(len(rows)):
            fetch(array_at(rows[min(i + 2 * AHEAD, last)], np.int64, (1,)), np.uint64(0))
            table = array_at(rows[min(i + AHEAD, last)], np.int64, (5,))[4]
            fetch(array_at(table, np.int64, (9,)), np.uint64(0))
            fetch(array_at(table, np.int64, (9,)), np.uint64(8))
            item[0] = 0
            while next_item(functions[_NEXT], rows[i], item):
                row_of[count], value[count] = i, item[2]
                count += 1
    restore_gil(functions[_RELEASE], gil)
    return count


@kernel([0, 0, 1], [7, 8, 7], [0] * 8, [0] * 8, 61, [0] * 3, [0] * 3)
def pair_arcs(row_of, value, seen, edge_at, shift, u, v):
    """Write the rows of the two arcs of each edge, which have the same value; return the number.

    An arc without a partner is written as a loop. Return -1 if more than two arcs have the same
    value, if two arcs of a row do, or if there are more edges than places. `seen`, which is zero,
    and `edge_at` are the columns of a hash table. Its size is 2 to the power of 64 - `shift`.
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
            count += 1
        elif seen[place] == 0 or edge_at[place] < 0 or u[edge_at[place]] == row_of[i]:
            return -1
        else:
            v[edge_at[place]] = row_of[i]
            edge_at[place] = -1
    return count
