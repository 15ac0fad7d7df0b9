"""Kernels that build the tree: split nodes by selection, arrange leaves, and bound nodes."""

import numpy as np

from ....runtime.kernels import helper, kernel


@helper
def _precedes(x, i, y, j):
    """Return whether coordinate x of the point with id i precedes y of the one with id j."""
    return x < y or (x == y and i < j)


@helper
def _swap(rows, ids, i, j, axes):
    for axis in range(axes):
        a, b = i * axes + axis, j * axes + axis
        rows[a], rows[b] = rows[b], rows[a]
    ids[i], ids[j] = ids[j], ids[i]


@helper
def _select(rows, ids, start, stop, place, axis, axes):
    """Move points so that those before `place` precede the others along an axis.

    Source: Hoare, "Algorithm 65: Find", Communications of the ACM 4 (1961).
    """
    while stop - start > 1:
        mid = (start + stop) >> 1
        x, i = rows[start * axes + axis], ids[start]
        y, j = rows[mid * axes + axis], ids[mid]
        z, k = rows[(stop - 1) * axes + axis], ids[stop - 1]
        if _precedes(y, j, x, i):
            x, i, y, j = y, j, x, i
        if _precedes(z, k, y, j):  # the median of three is the largest of the two smaller ones
            y, j = z, k
            if _precedes(y, j, x, i):
                y, j = x, i
        left, right = start, stop - 1
        while left <= right:
            while _precedes(rows[left * axes + axis], ids[left], y, j):
                left += 1
            while _precedes(y, j, rows[right * axes + axis], ids[right]):
                right -= 1
            if left <= right:
                _swap(rows, ids, left, right, axes)
                left += 1
                right -= 1
        if place <= right:
            stop = right + 1
        elif place >= left:
            start = left
        else:
            return


@helper
def _widest_axis(rows, start, stop, axes):
    widest, widest_axis = -1.0, 0
    for axis in range(axes):
        low = high = rows[start * axes + axis]
        for i in range(start, stop):
            x = rows[i * axes + axis]
            low = x if x < low else low
            high = x if x > high else high
        if high - low > widest:
            widest, widest_axis = high - low, axis
    return widest_axis


@kernel
def split_nodes(start, stop, level, depth, rows, ids, axes):
    """Split nodes `start` to `stop` - 1 of a level, and the nodes below them up to a depth."""
    size = len(ids)
    for node in range(start, stop):
        for below in range(level, depth):
            count = 1 << (below - level)
            for child in range(node * count, (node + 1) * count):
                first, last = size * child >> below, size * (child + 1) >> below
                middle = size * (2 * child + 1) >> (below + 1)
                axis = _widest_axis(rows, first, last, axes)
                _select(rows, ids, first, last, middle, axis, axes)


@kernel
def arrange_leaves(start, stop, depth, rows, ids, axes, coordinates):
    """Sort the points of each leaf by id, and write their coordinates axis by axis."""
    size = len(ids)
    for leaf in range(start, stop):
        first, last = size * leaf >> depth, size * (leaf + 1) >> depth
        for i in range(first + 1, last):
            j = i
            while j > first and ids[j - 1] > ids[j]:
                _swap(rows, ids, j, j - 1, axes)
                j -= 1
        for i in range(first, last):
            for axis in range(axes):
                coordinates[axis * size + i] = rows[i * axes + axis]


@kernel
def bound_nodes(depth, size, axes, coordinates, boxes):
    """Write the box of each node: first of the leaves, then of nodes above."""
    for leaf in range(1 << depth):
        first, last = size * leaf >> depth, size * (leaf + 1) >> depth
        box = 2 * ((1 << depth) + leaf) * axes
        for axis in range(axes):
            low = high = coordinates[axis * size + first]
            for i in range(axis * size + first, axis * size + last):
                low, high = min(low, coordinates[i]), max(high, coordinates[i])
            boxes[box + axis], boxes[box + axes + axis] = low, high
    for node in range((1 << depth) - 1, 0, -1):
        left, right = 4 * node * axes, (4 * node + 2) * axes
        for axis in range(2 * node * axes, (2 * node + 1) * axes):
            boxes[axis] = min(boxes[left], boxes[right])
            boxes[axis + axes] = max(boxes[left + axes], boxes[right + axes])
            left, right = left + 1, right + 1


@kernel
def hash_rows(start, stop, rows, axes, out):
    """Write a hash of each point; equal points have equal hashes."""
    for i in range(start, stop):
        value = np.uint64(0)
        for axis in range(axes):
            word = np.float64(rows[i * axes + axis] + 0.0).view(np.uint64)  # -0.0 equals 0.0
            value = (value ^ word) * np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(32)
        out[i] = value
