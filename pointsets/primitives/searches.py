"""Primitives for points: a tree over them, and searches for the nearest points.

The body of each primitive is its definition by functions of the vocabulary. Definitions of searches
compare all pairs and ignore bounds. Array modules with kernels search the tree instead, and return
the same result.

A *place* is a position in the order of the tree. The tree has the levels 0 to `depth`. Node q of
level l is the range of places from ``n * q >> l`` up to ``n * (q + 1) >> l``. So the two halves of
a node are the nodes 2 q and 2 q + 1 of the next level. The nodes of the last level are the
*leaves*. In arrays over the nodes, node q of level l is at position 2^l + q.

A weight is a distance, or the *mutual reachability distance*: the largest of the distance and the
core distances of both points. Ties of points go to the smaller id, and ties of edges to the smaller
edge id. If there are N ids, the edge between the points i < j has the id ``i * N + j``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from ..distances import distances

Array = Any

#: The largest number of points in a leaf. From `_MANY_AXES` axes on, searches rarely skip a leaf,
#: so leaves are larger. `python -m benchmarks record choices` measures these sizes.
_LEAF, _LARGE_LEAF, _MANY_AXES = 16, 32, 5

#: The number of values after the coordinates of a tree: kernels load eight values at once.
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
        A key of `distances.METRICS`.
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
    """Points in the order of a tree; other attributes are those of `Points`.

    Attributes
    ----------
    coordinates : float64 array of length n d + `PADDING`
        Axis by axis, and zeros at the end.
    ids : index array of length n
        The id of the point at each place.
    depth : int
        The level of the leaves.
    rows : float64 array of shape (n, number of axes), or None
        The points, if `coordinates` are their projections on `num_axes` other axes.
    error : float
        The largest amount by which the distance of projections may exceed that of the points.
    """

    coordinates: Array
    ids: Array
    num_ids: int
    num_axes: int
    metric: str
    dtype: str
    depth: int
    rows: Array = None
    error: float = 0.0


class Lightest(NamedTuple):
    """The lightest edges from fragments, and the nearest point outside for each point.

    Attributes
    ----------
    weight : float64 array of length k
        The weight of the lightest edge from each of k fragments; infinity if there is none.
    edge_id : int64 array of length k
        The id of this edge; the largest int64 if there is none.
    other : index array of length k
        The fragment at the other end of this edge; the fragment itself if there is none.
    nearest : index array of length n
        The place of the nearest point outside the fragment of each point, or n if unknown.
    bound : float64 array of length n
        The weight of the edge to `nearest`. If `nearest` is unknown, a lower bound of this weight.
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
        """Find the equal points before each point.

        Parameters
        ----------
        points : Points

        Returns
        -------
        first, count : index arrays of length n
            The position of the first equal point, and the number of equal points before this point.
        """
        size, columns = len(points.ids), _columns(points)
        order = self.arange(size, dtype=self.index_dtype(size))
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
        u, v : index arrays of length m
            The positions of the points of each pair.

        Returns
        -------
        float64 array of length m
        """
        left, right = ([self.gather(column, end) for column in _columns(points)] for end in (u, v))
        return distances(points.metric, points.dtype, left, right)

    def build_tree(self: Any, points: Points, depth: int, search_axes: int = 0, /) -> Tree:
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
        search_axes : int
            If it is not 0 and distances follow from squares, an array module may build the tree of
            the projections of the points on this number of principal axes. This definition ignores
            it.
        """
        size, index, columns = len(points.ids), self.index_dtype(len(points.ids)), _columns(points)
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
            starts = _node_starts(self, size, level + 1)
            child = self.segmented_broadcast(self.arange(2 * count, dtype=index), starts)
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
        axes, columns = tree.num_axes, _tree_columns(tree)
        boxes = self.full(4 * 2**tree.depth * axes, 0.0, dtype="float64")
        for level in range(tree.depth + 1):
            starts = _node_starts(self, len(tree.ids), level)
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
        size, columns = len(tree.ids), _tree_columns(tree)
        place = self.arange(size, dtype=self.index_dtype(size))
        lists = [_no_neighbors(self, tree) for _ in range(k)]
        for shift in range(1, size):
            other = (place + shift) % size
            new = [_distances(self, tree, columns, other), self.gather(tree.ids, other), other]
            for position, old in enumerate(lists):
                is_nearer = _precedes(new, old)
                lists[position] = _choose(self, is_nearer, new, old)
                new = _choose(self, is_nearer, old, new)
        neighbor = self.empty(size * k, place.dtype)
        for position, (_, _, other) in enumerate(lists):
            neighbor[position::k] = other
        core = lists[rank - 1][0] if rank else self.full(size, 0.0, dtype="float64")
        return core, lists[-1][0], neighbor

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
        reach, neighbor : arrays of length n and n k
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
        size, columns = len(tree.ids), _tree_columns(tree)
        place = self.arange(size, dtype=self.index_dtype(size))
        best = _no_neighbors(self, tree)
        for shift in range(1, size):
            other = (place + shift) % size
            distance = _distances(self, tree, columns, other)
            weight = self.maximum(self.maximum(distance, core), self.gather(core, other))
            new = [weight, self.gather(tree.ids, other), other]
            is_outside = fragment != self.gather(fragment, other)
            best = _choose(self, is_outside & _precedes(new, best), new, best)
        weight, _, nearest = best
        return choose_edges(self, tree, fragment, count, nearest, weight)


def choose_edges(
    ops: Any, tree: Tree, fragment: Array, count: int, nearest: Array, bound: Array
) -> Lightest:
    """Return the lightest edge of each fragment, from the nearest points that are known."""
    size = len(tree.ids)
    place = ops.arange(size, dtype=nearest.dtype)
    source, u, v, weight = ops.compact(nearest < size, fragment, place, nearest, bound)
    lightest = ops.scatter_reduce(source, weight, count, "min", math.inf)
    source, u, v = ops.compact(weight == ops.gather(lightest, source), source, u, v)
    edge = edge_ids(ops, tree, u, v)
    edge_id = ops.scatter_reduce(source, edge, count, "min", ops.largest(edge.dtype))
    is_first = edge == ops.gather(edge_id, source)
    source, target = ops.compact(is_first, source, ops.gather(fragment, v))
    itself = ops.arange(count, dtype=fragment.dtype)
    other = ops.scatter_reduce(source, target, count, "min", count)
    return Lightest(lightest, edge_id, ops.where(other == count, itself, other), nearest, bound)


def edge_ids(ops: Any, points: Points | Tree, u: Array, v: Array) -> Array:
    """Return the ids of the edges between positions, or between places of a tree."""
    u, v = (ops.asarray(ops.gather(points.ids, end), "int64") for end in (u, v))
    return ops.minimum(u, v) * points.num_ids + ops.maximum(u, v)


def _columns(points: Points) -> list[Array]:
    """Return the coordinates of points, one array for each axis."""
    return [points.coordinates[axis :: points.num_axes] for axis in range(points.num_axes)]


def _tree_columns(tree: Tree) -> list[Array]:
    """Return the coordinates of all places, one array for each axis."""
    size = len(tree.ids)
    return [tree.coordinates[axis * size : (axis + 1) * size] for axis in range(tree.num_axes)]


def _node_starts(ops: Any, size: int, level: int) -> Array:
    """Return the first place of each node of a level, and the end of the last one."""
    return ops.asarray(
        [size * node >> level for node in range(2**level + 1)], ops.index_dtype(size)
    )


def _distances(ops: Any, tree: Tree, columns: list[Array], other: Array) -> Array:
    """Return the distance from each place to another one."""
    others = [ops.gather(column, other) for column in columns]
    return distances(tree.metric, tree.dtype, columns, others)


# For each place, a neighbor is given by a weight, an id and a place.


def _no_neighbors(ops: Any, tree: Tree) -> list[Array]:
    size = len(tree.ids)
    dtypes = "float64", tree.ids.dtype, ops.index_dtype(size)
    values = math.inf, tree.num_ids, size
    return [ops.full(size, value, dtype) for value, dtype in zip(values, dtypes, strict=True)]


def _precedes(new: list[Array], old: list[Array]) -> Array:
    """Return whether each new weight is smaller, or equal with a smaller id."""
    return (new[0] < old[0]) | ((new[0] == old[0]) & (new[1] < old[1]))


def _choose(ops: Any, mask: Array, new: list[Array], old: list[Array]) -> list[Array]:
    return [ops.where(mask, x, y) for x, y in zip(new, old, strict=True)]
