"""Primitives for points that compare all pairs, one block of distances after another.

Squared distances are computed from matrix products, which are rounded. So each entry of a block
gives a lower bound of a distance. Distances that may decide the result are computed again, exactly.
So the result does not depend on the rounding of products.

See `primitives.searches` for points, weights and edge ids.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from ...runtime.sizes import sizes
from ..distances import METRICS, ROOT, SAME, SQUARES, Metric, distance_block
from .searches import Points, edge_ids

Array = Any

#: The number of points of a sample, and the rank of a near neighbor.
_SAMPLE, _NEAR = 32, 16


class Screen(NamedTuple):
    """Points that are centered and scaled, so that matrix products bound their distances.

    For points i and j with the product p of their rows, half their scaled squared distance is at
    least ``half[i] + half[j] - p``, except for underflow, which `limit` includes.
    """

    #: The coordinates, an array of shape (n, d): of float32 if that suffices.
    rows: Array
    #: Half the squared length of each row, reduced by the largest error of products.
    half: Array
    #: Half the factor by which squared distances are scaled.
    scale: float
    #: Upper bounds of the error of a rounded distance: a factor, and a term for underflow.
    margin: float
    tiny: float
    #: An upper bound of the error by underflow: of the squares, and of `half` and products.
    least: float

    def limit(self, weight: Any, metric: Metric) -> Any:
        """Return the largest half of a scaled squared distance for distances up to `weight`."""
        length = weight * self.margin + self.tiny
        if metric.convert == ROOT:
            length = length * length
        elif metric.convert != SAME:
            length = length * 2.0
        return length * self.margin * self.scale + self.least


def screen_of(ops: Any, points: Points) -> Screen | None:
    """Return the screen of points, or None if their distances are not functions of squares."""
    if callable(points.metric) or METRICS[points.metric].norm != SQUARES:
        return None
    rows, is_single = points.coordinates.reshape(-1, points.num_axes), points.dtype == "float32"
    largest = float(abs(rows).max())
    # A power of two: scaling is exact, and no square overflows.
    exponent = -math.frexp(largest)[1]
    power = max(-500, min(500, exponent))
    rows = (rows - rows.mean(axis=0)) * 2.0**power if largest else rows
    half = 0.5 * (rows * rows).sum(axis=1)
    # The error of one operation: a factor, and the smallest normal number. Rounding of smaller
    # numbers adds less, also if a library replaces them by zero.
    errors = {"float32": (2.0**-24, 2.0**-126), "float64": (2.0**-53, 2.0**-1022)}
    operations = 1.1 * points.num_axes + 40
    in_single = is_single or (power == exponent and _suffices(rows, half, operations * 2.0**-24))
    dtype = "float32" if in_single else "float64"
    unit, smallest = errors[dtype]
    half = ops.asarray(half * (1.0 - operations * unit), dtype)
    scale = 0.5 * 2.0 ** (2 * power)
    tiny = 2.0**-148 if is_single else 0.0
    least = points.num_axes * (2.0**-1070 * scale + 16 * smallest)
    margin = 1.0 + 32 * errors[points.dtype][0]
    return Screen(ops.asarray(rows, dtype), half, scale, margin, tiny, least)


def _suffices(rows: Array, half: Array, error: float) -> bool:
    """Return whether bounds with this relative error are above the distances of near neighbors.

    Products of float32 take half the time. For a sample of points, count the others whose bounds do
    not exceed the distance of a near neighbor: their distances have to be computed again.
    """
    step = -(-len(rows) // _SAMPLE)
    half_sums = half[::step, None] + half[None, :]
    bounds = half_sums - _product(rows[::step], rows)
    near = bounds.copy()
    near.sort(axis=1)
    near = near[:, min(_NEAR, len(rows)) - 1]
    counts = (bounds - 2.0 * error * half_sums <= near[:, None]).sum(axis=1)
    return bool((counts <= 2 * _NEAR).mean() > 0.75)


class Blocks(Protocol):
    """The part of an `ArrayModule` for blocks of distances; `self` is the whole module."""

    def nearest_in_blocks(
        self: Any, points: Points, core: Array, fragment: Array, sought: Array, k: int, /
    ) -> tuple[Array, Array]:
        """Find the k nearest points outside the fragment of each of some points.

        Parameters
        ----------
        points : Points
        core : float64 array of length n
            Core distances; zeros for plain distances.
        fragment : index array of length n
        sought : index array of length m
            The positions of the points to search for, ascending.
        k : int

        Returns
        -------
        weight : float64 array of length m k
            For each point sought, k weights in ascending order; infinity if there are fewer than k
            points outside.
        neighbor : index array of length m k
            The positions of the points outside, or n. Ties go to the smaller position.
        """
        size, count = len(points.ids), len(sought)
        weight = self.full(count * k, math.inf, dtype="float64")
        neighbor = self.full(count * k, size, dtype=self.index_dtype(size))
        screen = screen_of(self, points)
        step = max(1, sizes().block // max(1, size))
        for start in range(0, count, step):
            rows = sought[start : start + step]
            lower = _lower_bounds(self, points, screen, rows)
            is_inside = self.gather(fragment, rows)[:, None] == fragment[None, :]
            lower = self.where(is_inside, math.inf, lower)
            # The k points of the lowest bounds give an upper bound for the k-th weight.
            row = self.arange(len(rows), dtype=neighbor.dtype)
            rest, highest = lower.copy(), self.full(len(rows), 0.0, dtype="float64")
            for _ in range(min(k, size)):
                column = self.asarray(rest.argmin(axis=1), neighbor.dtype)
                exact = _weights(self, points, core, screen, lower, rows, row, column)
                exact = self.where(is_inside[row, column], math.inf, exact)
                highest = self.maximum(highest, exact)
                rest[row, column] = math.inf
            limit = _limits(points, screen, highest)
            row, column = (lower <= limit[:, None]).nonzero()
            row, column = self.compact(~is_inside[row, column], row, column)
            exact = _weights(self, points, core, screen, lower, rows, row, column)
            # Columns ascend in each row, so stable sorts break ties by position.
            order = self.argsort(self.order_key(exact, signed=False))
            order = self.gather(order, self.argsort(self.gather(row, order)))
            row, column, exact = (self.gather(values, order) for values in (row, column, exact))
            ones = self.full(len(row), 1, dtype="int64")
            lengths = self.scatter_reduce(row, ones, len(rows), "sum", 0)
            first = self.gather(self.offsets(lengths, dtype="int64"), row)
            rank = self.arange(len(row), dtype="int64") - first
            row, column, exact, rank = self.compact(rank < k, row, column, exact, rank)
            place = (row + start) * k + rank
            weight[place], neighbor[place] = exact, self.asarray(column, neighbor.dtype)
        return weight, neighbor

    def lightest_between(
        self: Any, points: Points, core: Array, fragment: Array, count: int, /
    ) -> tuple[Array, Array]:
        """Find the lightest edge between each two fragments.

        Parameters
        ----------
        points : Points
        core, fragment : arrays of length n
            As in `nearest_in_blocks`; no fragment is empty.
        count : int
            The number of fragments.

        Returns
        -------
        weight : float64 array of length `count`^2
            The weight of the edge between fragments a and b, at ``a * count + b`` for a < b, and
            infinity at other positions.
        edge_id : int64 array of length `count`^2
            The id of the edge; the largest int64 at other positions.
        """
        size, num_pairs = len(points.ids), count * count
        none = self.largest("int64")
        weight = self.full(num_pairs, math.inf, dtype="float64")
        edge_id = self.full(num_pairs, none, dtype="int64")
        screen = screen_of(self, points)
        step = max(1, sizes().block // max(1, size))
        position = self.arange(size, dtype=self.index_dtype(size))
        for start in range(0, size, step):
            rows = position[start : start + step]
            lower = _lower_bounds(self, points, screen, rows)
            left = self.asarray(self.gather(fragment, rows), "int64")[:, None]
            right = self.asarray(fragment, "int64")[None, :]
            pair = self.where(left < right, left * count + right, right * count + left)
            is_edge = (left != right) & (rows[:, None] < position[None, :])
            # The edge of the lowest bound gives an upper bound for the lightest edge of a pair.
            row, column = is_edge.nonzero()
            place, bound = pair[row, column], lower[row, column]
            lowest = self.scatter_argmin((place,), self.order_key(bound), num_pairs)
            (lowest,) = self.compact(lowest < len(place), lowest)
            ends = self.gather(row, lowest), self.gather(column, lowest)
            exact = _weights(self, points, core, screen, lower, rows, *ends)
            place_of_lowest = self.gather(place, lowest)
            highest = self.scatter(place_of_lowest, exact, num_pairs, math.inf, dtype="float64")
            limit = _limits(points, screen, self.minimum(weight, highest))
            is_near = bound <= self.gather(limit, place)
            row, column, place = self.compact(is_near, row, column, place)
            exact = _weights(self, points, core, screen, lower, rows, row, column)
            edge = edge_ids(self, points, self.gather(rows, row), column)
            # The smallest weight of each pair of fragments, then the smallest id of that weight.
            best = self.scatter_reduce(place, exact, num_pairs, "min", math.inf)
            best = self.minimum(best, weight)
            edge_id = self.where(best < weight, none, edge_id)
            place, edge = self.compact(exact == self.gather(best, place), place, edge)
            first = self.scatter_reduce(place, edge, num_pairs, "min", none)
            weight, edge_id = best, self.minimum(first, edge_id)
        return weight, edge_id


def _lower_bounds(ops: Any, points: Points, screen: Screen | None, rows: Array) -> Array:
    """Return a block of distances from some points to all, or of lower bounds: see `_limits`."""
    if screen is None:
        coordinates = points.coordinates.reshape(-1, points.num_axes)
        return distance_block(points.metric, points.dtype, coordinates[rows], coordinates)
    product = _product(screen.rows[rows], screen.rows)
    return (ops.gather(screen.half, rows)[:, None] + screen.half[None, :]) - product


def _product(left: Array, right: Array) -> Array:
    return left @ right.T  # a function, because tests replace it where no library has products


def _limits(points: Points, screen: Screen | None, weight: Array) -> Array:
    """Return the largest entry of a block for distances up to `weight`."""
    if screen is None:
        return weight
    return screen.limit(weight, METRICS[points.metric])


def _weights(
    ops: Any, points: Points, core: Array, screen: Screen | None, block: Array, rows: Array,
    row: Array, column: Array,
) -> Array:  # fmt: skip
    """Return the exact weights of entries of a block, whose rows stand for the points `rows`."""
    position = ops.gather(rows, row)
    if screen is None:
        exact = block[row, column]
    else:
        exact = ops.point_distances(points, position, column)
    core_distances = ops.maximum(ops.gather(core, position), ops.gather(core, column))
    return ops.maximum(exact, core_distances)
