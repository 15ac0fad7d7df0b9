"""Reduced distances between points and boxes, and their conversion to distances."""

import math
from typing import Any, NamedTuple

import numpy as np

from ....runtime.kernels import NONE, helper
from ...distances import (
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
from .lanes import LANES, near_box, near_point

_P0, _P1, _P2, _P3, _P4, _P5 = ASIN_P
_Q0, _Q1, _Q2, _Q3, _Q4 = ASIN_Q


#: The norm of the differences of projections: their squares, as bounds of those of the points.
PROJECTED = 3


class Space(NamedTuple):
    """The numbers of a tree and its metric, passed to kernels as one tuple.

    See `primitives.searches.Tree` and `distances`. Arrays are passed separately: Numba
    updates a reference count whenever a kernel reads an array from a tuple. `norm` is a tuple of
    zeros, whose length is the code of the norm. The length is part of the type, so Numba compiles a
    version for each norm, without the code of others.
    """

    size: int
    num_ids: int
    axes: int
    depth: int
    norm: tuple[int, ...]
    convert: int
    is_single: int
    error: float


def space_of(tree: Any) -> Space:
    """Return the numbers of a tree, for kernels."""
    norm, convert = METRICS[tree.metric]
    norm = norm if tree.rows is None else PROJECTED
    numbers = len(tree.ids), tree.num_ids, tree.num_axes, tree.depth, (0,) * norm, convert
    return Space(*numbers, int(tree.dtype == "float32"), tree.error)


def rows_of(tree: Any) -> Any:
    """Return the points of a tree of projections, for kernels; no rows for another tree."""
    return np.empty((0, 0)) if tree.rows is None else tree.rows


@helper
def leaf_places(space, leaf):
    """Return the first place of a leaf, and the number of its places."""
    first = space.size * leaf >> space.depth
    return first, (space.size * (leaf + 1) >> space.depth) - first


@helper
def accumulate(space, total, difference):
    """Add the difference along one more axis to a reduced distance."""
    if len(space.norm) == SQUARES or len(space.norm) == PROJECTED:
        return total + difference * difference
    if len(space.norm) == ABSOLUTE:
        return total + abs(difference)
    return max(total, abs(difference))


@helper
def to_distance(convert, is_single, reduced):
    """Convert a reduced distance to a distance."""
    if convert == ROOT:
        reduced = math.sqrt(reduced)
    elif convert == HALF:
        reduced = reduced * 0.5
    elif convert == ANGLE:  # as `distances` defines it
        t = reduced * 0.25
        x = math.sqrt(t)
        is_small = t <= 0.25
        if not is_small:
            t = max((1.0 - x) * 0.5, 0.0)
            x = math.sqrt(t)
        p = ((((_P5 * t + _P4) * t + _P3) * t + _P2) * t + _P1) * t + _P0
        q = (((_Q4 * t + _Q3) * t + _Q2) * t + _Q1) * t + _Q0
        arc = x + x * (t * p / q)
        reduced = 2.0 * arc if is_small else math.pi - 4.0 * arc
    return np.float64(np.float32(reduced)) if is_single else reduced


@helper
def reduced_limit(space, distance):
    """Return an upper bound of the reduced distances whose distance is at most `distance`.

    Distances are rounded, so several reduced distances have the same distance. The margin is a few
    units in the last place, and a few of the smallest numbers for underflow. The reduced distance
    of a box is rounded as that of a point, so it is at most that of a point inside: boxes need no
    further margin.
    """
    margin, least = (3e-7, 3e-45) if space.is_single else (4e-15, 0.0)
    distance = distance * (1.0 + margin) + least
    if space.convert == HALF:
        distance = distance * 2.0
    elif space.convert != SAME:
        # The reduced distance of an angle is a squared chord, at most the squared angle.
        distance = distance * distance
    if len(space.norm) == PROJECTED:
        distance = (math.sqrt(distance) + space.error) ** 2 * (1.0 + margin)
    return distance + 4e-323


@helper
def exact_distance(space, rows, i, j, reduced):
    """Return the distance of the points at two places, whose reduced distance in the tree is known.

    The coordinates of projections are added in the order of `distances`.
    """
    if len(space.norm) == PROJECTED:
        reduced = 0.0
        for axis in range(rows.shape[1]):
            difference = rows[i, axis] - rows[j, axis]
            reduced += difference * difference
    return to_distance(space.convert, space.is_single, reduced)


@helper
def is_beyond(space, reduced, limit):
    """Return whether a limit fell below the distance of projections since they were compared."""
    return len(space.norm) == PROJECTED and reduced > limit


@helper
def distance_between(space, coordinates, rows, i, j):
    """Return the distance of the points at two places."""
    size, total = space.size, 0.0
    if len(space.norm) != PROJECTED:
        for axis in range(space.axes):
            total = accumulate(
                space, total, coordinates[axis * size + i] - coordinates[axis * size + j]
            )
    return exact_distance(space, rows, i, j, total)


@helper
def near_points(space, point, at, wide, points, first, stride, count, limit, out):
    """Write the reduced distances between a point and others; return a bit for each within a limit.

    See `lanes.near_point`; bit i stands for the i-th one of `count` others.
    """
    near = np.uint64(0)
    for begin in range(0, count, LANES):
        start = first + begin
        lanes = near_point(
            space.norm, space.axes, point, at, wide, points, start, stride, limit, out, begin
        )
        near |= lanes << np.uint64(begin)
    return near & lowest_bits(count)


@helper
def near_queries(space, boxes, at, points, first, stride, count, limits):
    """Return a bit for each point whose reduced distance to a box is within the point's limit."""
    near = np.uint64(0)
    for begin in range(0, count, LANES):
        start = first + begin
        lanes = near_box(space.norm, space.axes, boxes, at, points, start, stride, limits, begin)
        near |= lanes << np.uint64(begin)
    return near & lowest_bits(count)


@helper
def lowest_bits(count):
    """Return a word with the lowest bits set; there are at least one and at most 64."""
    return NONE >> np.uint64(64 - count)
