"""Primitives for points that compare all pairs, a block of distances at a time.

No more than one block is in memory. Blocks of squared distances are computed from matrix products.
These are rounded, so each gives a lower bound of a distance. Distances that may decide the result
are computed again, exactly. So the result does not depend on the rounding of products.

| primitive         | result                                                         |
|-------------------|----------------------------------------------------------------|
| nearest_in_blocks | the k nearest points outside the fragment, for some points     |
| lightest_between  | the lightest edge between each two fragments                   |

See `primitives.points` for points, weights and edge ids.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from ..runtime.distances import METRICS, ROOT, SAME, SQUARES, Metric, distance_block
from ..runtime.sizes import sizes
from .points import Points, edge_ids

Array = Any


class Screen(NamedTuple):
    """A shape in which matrix products bound the distances of points.

    The points are centered and scaled. For points i and j with the product p of their rows, half
    their scaled squared distance is at least ``half[i] + half[j] - p``.

    Attributes
    ----------
    rows : array of shape (n, d)
        In the dtype of the distances.
    half : array of length n
        Half the squared length of each row, reduced by the largest error of products.
    scale : float
        The factor by which squared distances are scaled, halved.
    margin, tiny : float
        More than the largest error of a rounded distance: a factor, and what underflow adds.
    least : float
        More than the largest scaled square that underflows.
    """

    rows: Array
    half: Array
    scale: float
    margin: float
    tiny: float
    least: float

    def limit(self, weight: Any, metric: Metric) -> Any:
        """Return the largest half of a scaled squared distance for distances up to `weight`."""
        length = weight * self.margin + self.tiny
        if metric.convert == ROOT:
            length = length * length
        elif metric.convert != SAME:
            length = length * 2.0
        return length * self.margin * self.scale + self.least


def uses_products(points: Points) -> bool:
    """Return whether matrix products bound the distances of points."""
    return isinstance(points.metric, str) and METRICS[points.metric].norm == SQUARES


def screen_of(ops: Any, points: Points) -> Screen:
    """Return the screen of points whose distances are functions of squares."""
    rows = points.coordinates.reshape(-1, points.num_axes)
    largest = float(abs(rows).max())
    # A power of two: scaling is exact, and no square overflows.
    power = max(-500, min(500, -math.frexp(largest)[1]))
    rows = (rows - rows.mean(axis=0)) * 2.0**power if largest else rows
    half = 0.5 * (rows * rows).sum(axis=1)
    unit = 2.0 ** (-24 if points.dtype == "float32" else -53)  # the error of one operation
    error = (1.1 * points.num_axes + 40) * unit
    half = ops.asarray(half * (1.0 - error), points.dtype)
    scale = 0.5 * 2.0 ** (2 * power)
    tiny = 2.0**-148 if points.dtype == "float32" else 0.0
    least = points.num_axes * 2.0**-1070 * scale + 2.0**-1000
    rows = ops.asarray(rows, points.dtype)
    return Screen(rows, half, scale, 1.0 + 32 * unit, tiny, least)


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
            Those of one point after those of another, ascending; infinity if there are fewer than k
            points outside.
        neighbor : index array of length m k
            The positions of these points, or n. Ties go to the smaller position.
        """
        size, count = len(points.ids), len(sought)
        weight = self.full(count * k, math.inf, dtype="float64")
        neighbor = self.full(count * k, size, dtype=self.index_dtype(size))
        screen = screen_of(self, points) if uses_products(points) else None
        step = max(1, sizes().block // max(1, size))
        for start in range(0, count, step):
            own = sought[start : start + step]
            lower = _lower_bounds(self, points, screen, own)
            inside = self.gather(fragment, own)[:, None] == fragment[None, :]
            lower = self.where(inside, math.inf, lower)
            # The k points of the lowest bounds give an upper bound for the k-th weight.
            row = self.arange(len(own), dtype=neighbor.dtype)
            rest, highest = lower.copy(), self.full(len(own), 0.0, dtype="float64")
            for _ in range(min(k, size)):
                column = self.asarray(rest.argmin(axis=1), neighbor.dtype)
                is_outside = ~inside[row, column]
                exact = _weights(self, points, core, lower, row, own, column)
                exact = self.where(is_outside, exact, math.inf)
                highest = self.maximum(highest, exact)
                rest[row, column] = math.inf
            limit = _limits(points, screen, highest)
            row, column = (lower <= limit[:, None]).nonzero()
            is_outside = ~inside[row, column]
            row, column = self.compact(is_outside, row, column)
            exact = _weights(self, points, core, lower, row, own, column)
            # Columns ascend in each row, so stable sorts break ties by position.
            order = self.argsort(self.order_key(exact, signed=False))
            order = self.gather(order, self.argsort(self.gather(row, order)))
            row, column, exact = (self.gather(each, order) for each in (row, column, exact))
            ones = self.full(len(row), 1, dtype="int64")
            lengths = self.scatter_reduce(row, ones, len(own), "sum", 0)
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
            As above; no fragment is empty.
        count : int
            The number of fragments.

        Returns
        -------
        weight : float64 array of length `count`^2
            The weight of the edge between fragments a and b, at ``a * count + b`` for a < b, and
            infinity at other positions.
        edge_id : int64 array of length `count`^2
            Its id; the largest int64 at other positions.
        """
        size = len(points.ids)
        none = self.largest("int64")
        weight = self.full(count * count, math.inf, dtype="float64")
        edge_id = self.full(count * count, none, dtype="int64")
        screen = screen_of(self, points) if uses_products(points) else None
        step = max(1, sizes().block // max(1, size))
        position = self.arange(size, dtype=self.index_dtype(size))
        for start in range(0, size, step):
            own = position[start : start + step]
            lower = _lower_bounds(self, points, screen, own)
            left = self.asarray(self.gather(fragment, own), "int64")[:, None]
            right = self.asarray(fragment, "int64")[None, :]
            pair = self.where(left < right, left * count + right, right * count + left)
            is_pair = (left != right) & (own[:, None] < position[None, :])
            # The pair of the lowest bound gives an upper bound for the lightest edge.
            row, column = is_pair.nonzero()
            place, bound = pair[row, column], lower[row, column]
            key = self.order_key(bound)
            lowest = self.scatter_argmin((place,), key, count * count)
            (lowest,) = self.compact(lowest < len(place), lowest)
            some = self.gather(row, lowest), self.gather(column, lowest)
            exact = _weights(self, points, core, lower, some[0], own, some[1])
            found = self.scatter(
                self.gather(place, lowest), exact, count * count, math.inf, dtype="float64"
            )
            limit = _limits(points, screen, self.minimum(weight, found))
            row, column, place = self.compact(
                bound <= self.gather(limit, place), row, column, place
            )
            exact = _weights(self, points, core, lower, row, own, column)
            edge = edge_ids(self, points, self.gather(own, row), column)
            # The smallest weight of each pair of fragments, then the smallest id of that weight.
            best = self.minimum(
                self.scatter_reduce(place, exact, count * count, "min", math.inf), weight
            )
            edge_id = self.where(best < weight, none, edge_id)
            is_best = exact == self.gather(best, place)
            place, edge = self.compact(is_best, place, edge)
            edge_id = self.minimum(
                self.scatter_reduce(place, edge, count * count, "min", none), edge_id
            )
            weight = best
        return weight, edge_id


def _lower_bounds(ops: Any, points: Points, screen: Screen | None, own: Array) -> Array:
    """Return a lower bound for each distance from some points to all: see `_limits`."""
    if screen is None:
        rows = points.coordinates.reshape(-1, points.num_axes)
        return distance_block(points.metric, points.dtype, rows[own], rows)
    product = _product(screen.rows[own], screen.rows)
    return (ops.gather(screen.half, own)[:, None] + screen.half[None, :]) - product


def _product(left: Array, right: Array) -> Array:
    """Return the matrix product of two blocks of rows, by the library of the arrays."""
    return left @ right.T


def _limits(points: Points, screen: Screen | None, weight: Array) -> Array:
    """Return the largest lower bound of distances up to `weight`."""
    if screen is None:
        return weight
    return screen.limit(weight, METRICS[points.metric])


def _weights(
    ops: Any, points: Points, core: Array, block: Array, row: Array, own: Array, column: Array
) -> Array:
    """Return the exact weights of entries of a block."""
    position = ops.gather(own, row)
    if uses_products(points):
        exact = ops.point_distances(points, position, column)
    else:
        exact = block[row, column]
    reach = ops.maximum(ops.gather(core, position), ops.gather(core, column))
    return ops.maximum(exact, reach)
