"""Components of a networkx graph with many arcs, by reading few of them.

Most rows of such a graph are in one set when the first two neighbors of each row are read. The arcs
within this set need not be read.

Source: Sutton, Ben-Nun and Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph
Sampling", IPDPS 2018.
"""

import numpy as np

from ...primitives.numba.trees import join
from ...runtime.intrinsics import AHEAD, fetch, helper, highest_bit, scratch
from .objects import (
    EQUAL,
    HASH,
    SIZE,
    call,
    fetch_object,
    fetch_row,
    first_place,
    next_item,
    word_of,
)

_FIRST = 2
_MOST_OUTSIDE = 0.25  # the share of all arcs up to which those of rows outside are read


@helper
def unite_first(functions, graph, types_, rows, num_arcs, space, parent):
    """Unite each row with its first neighbors, and the rows outside the largest set with all.

    A root is the first row of its tree. Return whether this was possible: not if many arcs would
    have to be read, or if a key cannot be looked up. `types_` are the types dict, int and str.
    `space` has at least twelve words for each row.
    """
    size = len(rows)
    keys, key, number = space[:size], space[size : 3 * size], space[3 * size : 5 * size]
    row_of, table = space[5 * size : 6 * size].view(np.int32), space[6 * size :]
    places = np.int64(4) << np.int64(highest_bit(np.uint64(size)))
    seen, row_at = table[:places], table[places : places + places // 2].view(np.int32)
    names = keys, seen, row_at
    if not number_keys(functions, graph, types_, names):
        return False
    count = read_first(functions, types_, rows, row_of, key)
    for i in range(count):
        fetch_object(key[:count], i + AHEAD)
        number[i] = number_of(functions, types_, key[i])
    for row in range(size):
        parent[row] = row
    for i in range(count):
        far, near = number[min(i + 2 * AHEAD, count - 1)], number[min(i + AHEAD, count - 1)]
        fetch(seen, first_place(far, seen))
        fetch(row_at, first_place(far, seen))
        fetch_object(keys, row_at[first_place(near, seen)])
        other = find_row(functions, key[i], number[i], names)
        if other < 0:
            return False
        join(np.uint64(row_of[i]), np.uint64(other), parent)
    largest = find_largest(parent, number[:size])
    num_outside = 0
    for row in range(size):
        if parent[row] != largest:
            num_outside += call(functions[SIZE], np.int64, (rows[row],))
    if num_outside > _MOST_OUTSIDE * num_arcs:
        return False
    return unite_outside(functions, types_, rows, names, largest, parent)


@helper
def number_keys(functions, graph, types_, names):
    """Write the address of each key, and fill a hash table with their numbers and rows.

    `names` are the addresses and the columns of the table. Return whether all keys have a number.
    """
    keys, seen, row_at = names
    item = scratch(np.int64, 3)
    item[0] = 0
    for row in range(len(keys)):
        next_item(functions, graph, item)
        keys[row] = item[1]
    seen[:], row_at[:] = 0, 0
    for row in range(len(keys)):
        fetch_object(keys, row + AHEAD)
        number = number_of(functions, types_, keys[row])
        if not number:
            return False
        place = first_place(number, seen)
        while seen[place] != 0:
            place = (place + np.uint64(1)) & np.uint64(len(seen) - 1)
        seen[place], row_at[place] = number, row
    return True


@helper
def number_of(functions, types_, key):
    """Return an odd number that equal keys share, or 0 if a key is neither an int nor a str.

    Other keys may be compared by functions that are written in Python.
    """
    kind = word_of(key, 1)
    if kind != types_[1] and kind != types_[2]:
        return 0
    return 2 * call(functions[HASH], np.int64, (key,)) + 1


@helper
def find_row(functions, key, number, names):
    """Return the row of the key that equals `key`, or -1 if there is none."""
    keys, seen, row_at = names
    place = first_place(number, seen)
    while seen[place] != 0:
        row = np.int64(row_at[place])
        if seen[place] == number and call(functions[EQUAL], np.int32, (key, keys[row], 2)) == 1:
            return row
        place = (place + np.uint64(1)) & np.uint64(len(seen) - 1)
    return -1


@helper
def read_first(functions, types_, rows, row_of, key):
    """Write the row and the key of the first items of each row; return how many."""
    item, count = scratch(np.int64, 3), 0
    for row in range(len(rows)):
        fetch_row(rows, row, types_[0])
        item[0] = 0
        for _ in range(_FIRST):
            if next_item(functions, rows[row], item):
                row_of[count], key[count] = row, item[1]
                count += 1
    return count


@helper
def find_largest(parent, sizes):
    """Replace each parent by its root; return the root of the largest tree."""
    sizes[:] = 0
    for row in range(len(parent)):  # smaller rows have their roots already
        parent[row] = parent[parent[row]]
        sizes[parent[row]] += 1
    return np.argmax(sizes)


@helper
def unite_outside(functions, types_, rows, names, largest, parent):
    """Unite each row outside the largest set with its neighbors; return whether all are keys.

    A row that has just entered the set needs no more neighbors: those outside read theirs.
    """
    item = scratch(np.int64, 3)
    for row in range(len(rows)):
        item[0] = 0
        while parent[row] != largest and next_item(functions, rows[row], item):
            number = number_of(functions, types_, item[1])
            other = find_row(functions, item[1], number, names)
            if other < 0:
                return False
            join(np.uint64(row), np.uint64(other), parent)
    return True
