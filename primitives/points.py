"""Primitives for points: a tree over them, and searches for the nearest points.

The body of each primitive is its definition by functions of the vocabulary. It compares all pairs,
and ignores bounds. Array modules with kernels override the bodies: they search the tree, and return
the same result.

| primitive         | result                                                           |
|-------------------|------------------------------------------------------------------|
| count_equal       | the number of equal points before each point                     |
| point_distances   | distances of pairs of points                                     |
| build_tree        | points in the order of a balanced k-d tree                       |
| bound_nodes       | a box around the points of each node                             |
| nearest_neighbors | the k nearest points of each point                               |
| nearest_outside   | the lightest edge from each fragment to a point outside          |

The tree has the levels 0 to `depth`. Node q of level l is the range of places from ``n * q >> l``
up to ``n * (q + 1) >> l``. So the two halves of a node are the nodes 2 q and 2 q + 1 of the next
level, and the nodes of the last level are the *leaves*. In arrays over the nodes, this node is at
position 2^l + q.

A weight is a distance, or the *mutual reachability distance*: the largest of the distance and the
core distances of both points. Ties of points go to the smaller id, and ties of edges to the smaller
edge id. The edge between the points i < j has the id ``i * N + j`` for N points in all.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from ..runtime.distances import distances

Array = Any

#: The largest number of points of a leaf, and that of a leaf with at least `_MANY_AXES` axes, which
#: searches rarely skip: `python -m benchmarks record points`.
_LEAF, _LARGE_LEAF, _MANY_AXES = 16, 32, 5

#: The number of values after the coordinates of a tree: kernels load as many at once.
PADDING = 8


class Points(NamedTuple):
    """Points, in the order of their ids.

    Attributes
    ----------
    coordinates : float64 array of length n d
        Point by point.
    ids : index array of length n
        Ascending, and less than `num_ids`.
    num_ids : int
    num_axes : int
        The dimension d, at least 1.
    metric : str
        A key of `runtime.distances.METRICS`.
    dtype : {"float32", "float64"}
        The dtype to which distances are rounded.
    """

    coordinates: Array
    ids: Array
    num_ids: int
    num_axes: int
    metric: str
    dtype: str


class Tree(NamedTuple):
    """Points in the order of a tree: the attributes of `Points`, and those of the tree.

    Attributes
    ----------
    coordinates : float64 array of length n d + `PADDING`
        Axis by axis, and zeros at the end.
    ids : index array of length n
        The id of the point at each place.
    depth : int
        The level of the leaves.
    """

    coordinates: Array
    ids: Array
    num_ids: int
    num_axes: int
    metric: str
    dtype: str
    depth: int


class Lightest(NamedTuple):
    """The lightest edges from fragments, and the nearest point outside for each point.

    Attributes
    ----------
    weight : float64 array of length k
        The weight of the lightest edge from each of k fragments; infinity if there is none.
    edge_id : int64 array of length k
        Its id; the largest int64 if there is none.
    other : index array of length k
        The fragment of its other end; the fragment itself if there is none.
    nearest : index array of length n
        The place of the nearest point outside the fragment of each point, or n if unknown.
    bound : float64 array of length n
        The weight of the edge to `nearest`. If that is unknown, no such edge is lighter.
    """

    weight: Array
    edge_id: Array
    other: Array
    nearest: Array
    bound: Array


def tree_depth(size: int, num_axes: int) -> int:
    """Return the depth of a tree for fast searches."""
    leaf = _LARGE_LEAF if num_axes >= _MANY_AXES else _LEAF
    return max(0, (-(-size // leaf) - 1).bit_length())


class Proximity(Protocol):
    """The part of an `ArrayModule` for points; `self` is the whole module."""

    def count_equal(self: Any, points: Points, /) -> tuple[Array, Array]:
        """Find for each point the equal points before it.

        Parameters
        ----------
        points : Points

        Returns
        -------
        first, count : index arrays of length n
            The position of the first equal point, and the number of equal points before it.
        """
        size = len(points.ids)
        order = self.arange(size, dtype=self.index_dtype(size))
        columns = [points.coordinates[axis :: points.num_axes] for axis in range(points.num_axes)]
        for column in reversed(columns):
            order = self.gather(order, self.argsort(self.order_key(self.gather(column, order))))
        place = self.arange(size, dtype=order.dtype)
        before = self.maximum(place - 1, 0)
        is_first = place == 0
        for column in columns:
            value = self.gather(column, order)
            is_first = is_first | (value != self.gather(value, before))
        number = self.scan(is_first, dtype=order.dtype) - 1
        start = self.gather(self.compact(is_first, place)[0], number)
        first = self.gather(order, start)
        return (
            self.scatter(order, first, size, 0, dtype=order.dtype),
            self.scatter(order, place - start, size, 0, dtype=order.dtype),
        )

    def point_distances(self: Any, points: Points, u: Array, v: Array, /) -> Array:
        """Return the distance of each pair of points.

        Parameters
        ----------
        points : Points
            All of them: the id of each is its position.
        u, v : index arrays of length m
            The ids of the points of each pair.

        Returns
        -------
        float64 array of length m
        """
        left, right = (_point_columns(self, points, end) for end in (u, v))
        return distances(points.metric, points.dtype, left, right)

    def build_tree(self: Any, points: Points, depth: int, /) -> Tree:
        """Order points by a balanced k-d tree.

        Each node is split along the axis on which its points extend farthest, the first one of
        several. The half with the lower coordinates comes first, and ties go to the smaller id. The
        points of a leaf are in ascending order of their ids.

        Source: Bentley, "Multidimensional Binary Search Trees Used for Associative Searching",
        Communications of the ACM 18 (1975); Friedman, Bentley and Finkel, "An Algorithm for Finding
        Best Matches in Logarithmic Expected Time", ACM TOMS 3 (1977), for the axis.

        Parameters
        ----------
        points : Points
        depth : int
            Leaves must not be empty: ``2**depth <= n``, except for no points at all.
        """
        size, index = len(points.ids), self.index_dtype(len(points.ids))
        columns = [points.coordinates[axis :: points.num_axes] for axis in range(points.num_axes)]
        node = self.full(size, 0, dtype=index)
        for level in range(depth):
            count = 2**level
            widest = self.full(count, -1.0, dtype="float64")
            key = self.full(size, 0, dtype="uint64")
            for column in columns:
                low = self.scatter_reduce(node, column, count, "min", math.inf)
                high = self.scatter_reduce(node, column, count, "max", -math.inf)
                is_wider = high - low > widest
                widest = self.where(is_wider, high - low, widest)
                key = self.where(self.gather(is_wider, node), self.order_key(column), key)
            order = self.argsort(key)
            order = self.gather(order, self.argsort(self.gather(node, order)))
            starts = _starts(size, level + 1, range(2**level * 2))
            child = self.segmented_broadcast(
                self.arange(2 * count, dtype=index), self.asarray(starts, index)
            )
            node = self.scatter(order, child, size, 0, dtype=index)
        order = self.asarray(self.argsort(node), index)
        rest = self.full(PADDING, 0.0, dtype="float64")
        coordinates = self.concat([*(self.gather(column, order) for column in columns), rest])
        return Tree(coordinates, self.gather(points.ids, order), *points[2:], depth)

    def bound_nodes(self: Any, tree: Tree, /) -> Array:
        """Return a box around the points of each node.

        Returns
        -------
        float64 array of length 2^(depth + 2) d
            For each node, from position 1 on, the lowest coordinate on each axis, then the highest
            ones. The first 2 d values are 0.
        """
        size, axes, columns = len(tree.ids), tree.num_axes, _columns(tree)
        boxes = self.full(4 * 2**tree.depth * axes, 0.0, dtype="float64")
        for level in range(tree.depth + 1):
            starts = self.asarray(_starts(size, level, range(2**level)), self.index_dtype(size))
            first = 2 * axes * 2**level
            for axis, column in enumerate(columns):
                for side, op in enumerate(("min", "max")):
                    bound = self.segmented_reduce(column, starts, op, 0.0)
                    boxes[first + side * axes + axis : 2 * first : 2 * axes] = bound
        return boxes

    def nearest_neighbors(
        self: Any, tree: Tree, boxes: Array, k: int, rank: int, /
    ) -> tuple[Array, Array, Array]:
        """Find the k nearest other points of each point.

        Parameters
        ----------
        tree : Tree
        boxes : array
            The result of `bound_nodes`.
        k : int
            At least 1 and less than the number of points.
        rank : int
            At most `k`.

        Returns
        -------
        core : float64 array of length n
            The distance to the neighbor of this rank, counting from 1; for rank 0 it is 0.
        reach : float64 array of length n
            The distance to the last neighbor.
        neighbor : index array of length n k
            The places of the neighbors of each place, ascending by distance and then by id.
        """
        size, columns = len(tree.ids), _columns(tree)
        place = self.arange(size, dtype=self.index_dtype(size))
        none = (math.inf, tree.num_ids, size)
        found = [
            [
                self.full(size, value, dtype)
                for value, dtype in zip(none, _dtypes(place, tree), strict=True)
            ]
            for _ in range(k)
        ]
        for shift in range(1, size):
            other = (place + shift) % size
            given = [_distances(self, tree, columns, other), self.gather(tree.ids, other), other]
            for position in range(k):
                old = found[position]
                is_first = _precedes(given, old)
                found[position] = [
                    self.where(is_first, x, y) for x, y in zip(given, old, strict=True)
                ]
                given = [self.where(is_first, y, x) for x, y in zip(given, old, strict=True)]
        neighbor = self.empty(size * k, place.dtype)
        for position, (_, _, other) in enumerate(found):
            neighbor[position::k] = other
        core = found[rank - 1][0] if rank else self.full(size, 0.0, dtype="float64")
        return core, found[-1][0], neighbor

    def nearest_outside(
        self: Any,
        tree: Tree,
        boxes: Array,
        core: Array,
        reach: Array,
        neighbor: Array,
        fragment: Array,
        count: int,
        nearest: Array,
        bound: Array,
        /,
    ) -> Lightest:
        """Find the lightest edge from each fragment to a point outside.

        Parameters
        ----------
        tree : Tree
        boxes : array
            The result of `bound_nodes`.
        core : float64 array of length n
            The core distance of the point at each place; zeros for plain distances.
        reach : float64 array of length n
        neighbor : index array of length n k
            As `nearest_neighbors` returns them. They affect the speed, not the lightest edges.
        fragment : index array of length n
            The fragment of each place, below `count`.
        count : int
        nearest, bound : arrays of length n
            As in `Lightest`, for fragments that are subsets of these. They affect the speed, not
            the lightest edges.

        Returns
        -------
        Lightest
            This definition finds the nearest point of every point. Searches stop when the edge of a
            point cannot be the lightest of its fragment.
        """
        size, columns = len(tree.ids), _columns(tree)
        place = self.arange(size, dtype=self.index_dtype(size))
        weight, near, nearest = (
            self.full(size, value, dtype)
            for value, dtype in zip(
                (math.inf, tree.num_ids, size), _dtypes(place, tree), strict=True
            )
        )
        for shift in range(1, size):
            other = (place + shift) % size
            reach = _distances(self, tree, columns, other)
            reach = self.maximum(self.maximum(reach, core), self.gather(core, other))
            new = [reach, self.gather(tree.ids, other), other]
            is_new = (fragment != self.gather(fragment, other)) & _precedes(new, [weight, near])
            weight, near, nearest = (
                self.where(is_new, x, y) for x, y in zip(new, (weight, near, nearest), strict=True)
            )
        return choose_edges(self, tree, fragment, count, nearest, weight)


def choose_edges(
    ops: Any, tree: Tree, fragment: Array, count: int, nearest: Array, bound: Array
) -> Lightest:
    """Return the lightest edge of each fragment, from the nearest points that are known."""
    size = len(tree.ids)
    place = ops.arange(size, dtype=nearest.dtype)
    own, place, target, weight = ops.compact(nearest < size, fragment, place, nearest, bound)
    lightest = ops.scatter_reduce(own, weight, count, "min", math.inf)
    is_lightest = weight == ops.gather(lightest, own)
    own, place, target = ops.compact(is_lightest, own, place, target)
    edge = edge_ids(ops, tree, place, target)
    edge_id = ops.scatter_reduce(own, edge, count, "min", ops.largest(edge.dtype))
    is_first = edge == ops.gather(edge_id, own)
    own, target = ops.compact(is_first, own, ops.gather(fragment, target))
    itself = ops.arange(count, dtype=fragment.dtype)
    other = ops.scatter_reduce(own, target, count, "min", count)
    return Lightest(lightest, edge_id, ops.where(other == count, itself, other), nearest, bound)


def edge_ids(ops: Any, points: Points | Tree, u: Array, v: Array) -> Array:
    """Return the ids of the edges between positions, or between places of a tree."""
    u, v = (ops.asarray(ops.gather(points.ids, end), "int64") for end in (u, v))
    return ops.minimum(u, v) * points.num_ids + ops.maximum(u, v)


def _point_columns(ops: Any, points: Points, index: Array) -> list[Array]:
    """Return the coordinates of some points of `Points`, one array for each axis."""
    axes = range(points.num_axes)
    return [ops.gather(points.coordinates[axis :: points.num_axes], index) for axis in axes]


def _columns(tree: Tree) -> list[Array]:
    """Return the coordinates of all places, one array for each axis."""
    size = len(tree.ids)
    return [tree.coordinates[axis * size : (axis + 1) * size] for axis in range(tree.num_axes)]


def _starts(size: int, level: int, nodes: range) -> list[int]:
    """Return the first places of nodes of a level, and the end of the last one."""
    return [size * node >> level for node in (*nodes, nodes.stop)]


def _distances(ops: Any, tree: Tree, columns: list[Array], other: Array) -> Array:
    """Return the distance from each place to another one."""
    others = [ops.gather(column, other) for column in columns]
    return distances(tree.metric, tree.dtype, columns, others)


def _dtypes(place: Array, tree: Tree) -> tuple[Any, ...]:
    return "float64", tree.ids.dtype, place.dtype


def _precedes(new: Any, old: Any) -> Array:
    """Return whether each weight is less than an older one, or equal with a smaller id."""
    return (new[0] < old[0]) | ((new[0] == old[0]) & (new[1] < old[1]))
