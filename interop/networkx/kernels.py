"""Kernels that read the rows of a networkx graph, and pair or unite the rows of its arcs."""

import numpy as np

from ...primitives.numba.trees import join
from ...runtime.intrinsics import AHEAD, fetch, helper, highest_bit, kernel, scratch
from .info import DENSE
from .objects import (
    DOUBLE,
    ENSURE,
    GET,
    LONG,
    RELEASE,
    call,
    count_items,
    fetch_row,
    find_rows,
    first_place,
    keep,
    place_of,
    read_items,
    word_of,
)
from .samples import unite_first


@helper
def pair_arcs(row_of, value, seen, edge_at, u, v):
    """Write the rows of the two arcs of each edge, which have the same value; return the number.

    `value` becomes the value of each edge. An arc without a partner is written as a loop. Return -1
    if more than two arcs have the same value, if two arcs of a row do, or if there are more edges
    than `u` has places. `seen`, which is zero, and `edge_at` are the columns of a hash table.
    """
    count, last = 0, len(value) - 1
    for i in range(len(value)):
        ahead = first_place(value[min(i + AHEAD, last)], seen)
        fetch(seen, ahead)
        fetch(edge_at, ahead)
        place = place_of(value[i], seen)
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
def places_for(count):
    """Return the length of a hash table for this number of arcs."""
    return np.int64(2) << np.int64(highest_bit(np.uint64(max(count, 1))))


@helper
def pairing_space(count):
    """Return how many words of space `unite_all` needs for this number of arcs."""
    places = places_for(count)
    return 1 + count + (count + 1) // 2 + places + places // 2


@helper
def unite_all(functions, dict_type, is_known, rows, count, space, parent):
    """Unite the rows of the two arcs of each edge, and write to `space` as `label_rows` does.

    Return whether this was possible; see `unite_arcs`.
    """
    value, rest = space[1 : 1 + count], space[1 + count :]
    row_of, table = rest.view(np.int32)[:count], rest[(count + 1) // 2 :]
    places = places_for(count)
    seen, first = table[:places], table[places : places + places // 2].view(np.int32)
    read_items(functions, dict_type, is_known, rows, row_of, value[:0], value)
    for row in range(len(rows)):
        parent[row] = row
    space[0] = unite_arcs(row_of, value, seen, first, parent)
    place = 0
    for k in range(len(seen) if space[0] > 0 else 0):
        if seen[k] and first[k] >= 0:
            place += 1
            space[place] = first[k]
    return space[0] >= 0


@helper
def unite_arcs(row_of, value, seen, first, parent):
    """Unite the rows of the two arcs of each edge, which have the same value.

    A root is the first row of its tree. Return the number of arcs without a partner, or -1 as
    `pair_arcs` does. `seen` and `first` are the columns of a hash table as there: a value, and the
    row of its first arc, or -1 after the second.
    """
    single, last = 0, len(value) - 1
    seen[:] = 0
    for i in range(len(value)):
        ahead = first_place(value[min(i + AHEAD, last)], seen)
        fetch(seen, ahead)
        fetch(first, ahead)
        place = place_of(value[i], seen)
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


@kernel([0] * 11, 0, [0] * 3, 0, [], [])
def label_rows(functions, graph, types_, is_known, space, labels):
    """Write the number of each row's component, in the order of first rows; return how many.

    `types_` are the types dict, int and str. `space` has at least `SPACE` words for each row.
    If it is too small for all arcs, read only some; if these do not suffice, return only the size
    that it must have, as a negative number. Otherwise write to it, after a word for each row, how
    many arcs have no partner, and their rows. Return -1 if the rows cannot be read; see `find_rows`
    and `unite_arcs`.
    """
    if not len(labels):
        return 0
    gil, size, result = call(functions[ENSURE], np.int32, ()), len(labels), -1
    rows, rest = space[:size], space[size:]
    count = find_rows(functions, graph, types_[0], rows)
    needed = size + pairing_space(count)
    if count >= 0 and needed <= len(space):
        if unite_all(functions, types_[0], is_known, rows, count, rest, labels):
            result = number_sets(labels)
    elif count >= DENSE * size and unite_first(functions, graph, types_, rows, count, rest, labels):
        rest[0], result = 0, number_sets(labels)
    elif count >= 0:
        result = -needed
    call(functions[RELEASE], np.int32, (gil,))
    return result


@kernel([0] * 11, 0, 0, [])
def count_arcs(functions, graph, dict_type, rows):
    """Write the address of each row, and return the number of items of all rows.

    The rows are the values of the dictionary at the address `graph`. Return -1 if their number is
    not the length of `rows`, or if the type of one is not `dict_type`.
    """
    if not len(rows):
        return 0
    gil = call(functions[ENSURE], np.int32, ())
    count = find_rows(functions, graph, dict_type, rows)
    call(functions[RELEASE], np.int32, (gil,))
    return count


@kernel([0] * 11, 0, 0, [], 0, [], [], [0], [0], [], [], [])
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
    gil, count = call(functions[ENSURE], np.int32, ()), -1
    if find_rows(functions, graph, dict_type, rows) == len(value):
        read_items(functions, dict_type, is_known, rows, row_of, value[:0], value)
        count = pair_arcs(row_of, value, seen, edge_at, u, v)
        if count > 0:
            keep(functions, value[:count], objects)
    call(functions[RELEASE], np.int32, (gil,))
    return count


@kernel([0] * 11, [], 0, [], [], [], [], [])
def read_keys(functions, rows, dict_type, row_of, key, value, keys, values):
    """Write the row, the key and the value of each item of these rows; return the number of items.

    `key` and `value` are buffers for addresses, and `keys` and `values` are arrays of objects. If
    their length is not the number of items, nothing is written. Return -1 if the type of a row is
    not `dict_type`.
    """
    if not len(rows):
        return 0
    gil = call(functions[ENSURE], np.int32, ())
    count = count_items(functions, dict_type, rows)
    if count == len(value):
        read_items(functions, dict_type, 0, rows, row_of, key, value)
        keep(functions, key, keys)
        keep(functions, value, values)
    call(functions[RELEASE], np.int32, (gil,))
    return count


@kernel([0] * 11, [], [0] * 3, 0, [], [])
def read_numbers(functions, rows, types_, key, floats, integers):
    """Write the value of a key in each row; return 1 if all are floats, or 2 if all are integers.

    `types_` are the types dict, float and int. Return 0 if a row or a value has another type, if a
    row does not have the key, or if an integer has more than 64 bits.
    """
    if not len(rows):
        return 0
    gil, overflow, found = call(functions[ENSURE], np.int32, ()), scratch(np.int32, 1), 0
    for i in range(len(rows)):
        fetch_row(rows, i, types_[0])
        value = 0
        if word_of(rows[i], 1) == types_[0]:
            value = call(functions[GET], np.int64, (rows[i], key))
        kind = word_of(value, 1) if value else 0
        if kind == types_[1] and found != 2:
            found, floats[i] = 1, call(functions[DOUBLE], np.float64, (value,))
        elif kind == types_[2] and found != 1:
            found, integers[i] = 2, call(functions[LONG], np.int64, (value, overflow.ctypes.data))
        else:
            found = 0
        if not found or (found == 2 and overflow[0]):
            found = 0
            break
    call(functions[RELEASE], np.int32, (gil,))
    return found
