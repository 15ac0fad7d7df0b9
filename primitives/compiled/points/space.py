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
    size, total = space.size, 0.0
    for axis in range(space.axes):
        total = add_axis(space, total, coordinates[axis * size + i] - coordinates[axis * size + j])
    return total


@helper
def lengths_to_point(space, point, at, wide, points, first, stride, count, out):
    """Write the lengths of the differences between a point and others.

    The coordinates of the point are at the positions `at`, ``at + wide`` and so on, those of the
    first one of the others at `first`, ``first + stride`` and so on.
    """
    x = point[at]
    for i in range(count):
        out[i] = add_axis(space, 0.0, x - points[first + i])
    for axis in range(1, space.axes):
        x, start = point[at + axis * wide], first + axis * stride
        for i in range(count):
            out[i] = add_axis(space, out[i], x - points[start + i])


@helper
def lengths_to_box(space, boxes, at, points, first, stride, count, out):
    """Write the least length of a difference between each point and a point in a box."""
    axes = space.axes
    low, high = boxes[at], boxes[at + axes]
    for i in range(count):
        x = points[first + i]
        out[i] = add_axis(space, 0.0, max(max(low - x, x - high), 0.0))
    for axis in range(1, axes):
        low, high, start = boxes[at + axis], boxes[at + axes + axis], first + axis * stride
        for i in range(count):
            x = points[start + i]
            out[i] = add_axis(space, out[i], max(max(low - x, x - high), 0.0))
