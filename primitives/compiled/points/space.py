"""Lengths of differences, and distances as functions of them; see `runtime.distances`."""

import math
from typing import Any, NamedTuple

import numpy as np

from ....runtime.distances import (
    ABSOLUTE,
    ANGLE,
    ASIN_P,
    ASIN_Q,
    HALF,
    METRICS,
    ROOT,
    SAME,
    SQUARES,
)
from ....runtime.kernels import helper

_P0, _P1, _P2, _P3, _P4, _P5 = ASIN_P
_Q0, _Q1, _Q2, _Q3, _Q4 = ASIN_Q


class Space(NamedTuple):
    """The numbers of a tree and its metric; see `primitives.points.Tree`.

    Arrays are separate arguments of kernels: to take one from a tuple, Numba counts a reference.

    `length` is a tuple of zeros, as many as `runtime.distances.METRICS` says: Numba knows how many
    when it compiles a kernel, so a kernel has no code for other lengths.
    """

    size: int
    num_ids: int
    axes: int
    depth: int
    length: tuple[int, ...]
    convert: int
    is_single: int


def space_of(tree: Any) -> Space:
    """Return the numbers of a tree, for kernels."""
    length, convert = METRICS[tree.metric]
    numbers = len(tree.ids), tree.num_ids, tree.num_axes, tree.depth, (0,) * length, convert
    return Space(*numbers, int(tree.dtype == "float32"))


@helper
def first_place(space, node, level):
    """Return the first place of a node, counted within its level."""
    return space.size * node >> level


@helper
def add_axis(space, total, difference):
    """Return the length of a difference from that of its first axes and the next coordinate."""
    if len(space.length) == SQUARES:
        return total + difference * difference
    if len(space.length) == ABSOLUTE:
        return total + abs(difference)
    return max(total, abs(difference))


@helper
def distance_of(space, length):
    """Return the distance for the length of a difference."""
    if space.convert == ROOT:
        length = math.sqrt(length)
    elif space.convert == HALF:
        length = length * 0.5
    elif space.convert == ANGLE:  # as `runtime.distances` defines it
        t = length * 0.25
        x = math.sqrt(t)
        is_small = t <= 0.25
        if not is_small:
            t = max((1.0 - x) * 0.5, 0.0)
            x = math.sqrt(t)
        p = ((((_P5 * t + _P4) * t + _P3) * t + _P2) * t + _P1) * t + _P0
        q = (((_Q4 * t + _Q3) * t + _Q2) * t + _Q1) * t + _Q0
        arc = x + x * (t * p / q)
        length = 2.0 * arc if is_small else math.pi - 4.0 * arc
    return np.float64(np.float32(length)) if space.is_single else length


@helper
def limit_of(space, distance):
    """Return a length that is exceeded only by differences of a larger distance.

    Distances are rounded, so several lengths have the same distance. The margin is a few units in
    the last place. Boxes have the same rounding errors as points, so they need no margin.
    """
    margin, least = (3e-7, 3e-45) if space.is_single else (4e-15, 0.0)
    distance = distance * (1.0 + margin) + least
    if space.convert == HALF:
        return distance * 2.0
    # The length of an angle is the square of a chord, which is shorter than the arc.
    return distance if space.convert == SAME else distance * distance


@helper
def length_between(space, coordinates, i, j):
    """Return the length of the difference of the points at two places."""
    size, axes, total = space.size, space.axes, 0.0
    p, q = ((i + 1 << space.depth) - 1) // size, ((j + 1 << space.depth) - 1) // size  # leaves
    a, b = size * p >> space.depth, size * q >> space.depth
    m, k = (size * (p + 1) >> space.depth) - a, (size * (q + 1) >> space.depth) - b
    a, b = a * axes + i - a, b * axes + j - b
    for _ in range(axes):
        total = add_axis(space, total, coordinates[a] - coordinates[b])
        a, b = a + m, b + k
    return total


@helper
def box_length(space, boxes, box, node):
    """Return the least length of a difference between a point in a box and one in a node's box."""
    low, total = 2 * node * space.axes, 0.0
    for axis in range(space.axes):
        gap = max(
            boxes[low + axis] - box[space.axes + axis],
            box[axis] - boxes[low + space.axes + axis],
        )
        total = add_axis(space, total, max(gap, 0.0))
    return total


@helper
def box_lengths(space, boxes, node, count, queries, stride, out):
    """Write the least length of a difference between each query and a point in a node's box."""
    place, axes = 2 * node * space.axes, space.axes
    low, high = boxes[place], boxes[place + axes]
    for i in range(count):
        x = queries[i]
        out[i] = add_axis(space, 0.0, max(max(low - x, x - high), 0.0))
    for axis in range(1, axes):
        low, high, first = boxes[place + axis], boxes[place + axes + axis], axis * stride
        for i in range(count):
            x = queries[first + i]
            out[i] = add_axis(space, out[i], max(max(low - x, x - high), 0.0))


@helper
def leaf_lengths(space, coordinates, first, size, query, queries, stride, out):
    """Write the lengths of the differences between a query and the points of a leaf.

    `first` is the position of the coordinates of the leaf, and `size` the number of its points.
    """
    x = queries[query]
    for j in range(size):
        out[j] = add_axis(space, 0.0, x - coordinates[first + j])
    for axis in range(1, space.axes):
        x, start = queries[query + axis * stride], first + axis * size
        for j in range(size):
            out[j] = add_axis(space, out[j], x - coordinates[start + j])
