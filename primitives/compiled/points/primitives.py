"""The primitives for points by kernels; threads take ranges of points in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....progress import report_progress
from ....runtime.kernels import plain
from ....runtime.memory import empty
from ....runtime.sizes import sizes
from ...points import PADDING, Lightest, Points, Tree
from ..base import BaseArrays
from . import search, tree
from .space import space_of

Array = NDArray[Any]


class PointArrays(BaseArrays):
    """The primitives of `primitives.points`."""

    def count_equal(self, points: Points, /) -> tuple[Array, Array]:
        """Compare hashes of points; use the definition only if two of them are equal."""
        size, rows = len(points.ids), plain(points.coordinates)
        hashes = empty(size, np.uint64)
        self._in_ranges(tree.hash_rows, size, 1, rows, points.num_axes, hashes)
        hashes.sort()
        if (hashes[1:] == hashes[:-1]).any():
            return super().count_equal(points)
        index = self.index_dtype(size)
        return self.arange(size, index), self.full(size, 0, index)

    def build_tree(self, points: Points, depth: int, /) -> Tree:
        size, axes = len(points.ids), points.num_axes
        rows = np.array(points.coordinates, order="C")
        ids = np.array(points.ids, self.index_dtype(points.num_ids))
        top = max(0, min(depth, (size // sizes().points_of_range).bit_length()))
        for level in range(top):
            self._in_ranges(tree.split_nodes, 2**level, size, level, level + 1, rows, ids, axes)
        self._in_ranges(tree.split_nodes, 2**top, size, top, depth, rows, ids, axes)
        coordinates = empty(size * axes + PADDING, np.float64)
        coordinates[size * axes :] = 0.0
        arguments = depth, rows, ids, axes, coordinates
        self._in_ranges(tree.arrange_leaves, 2**depth, size >> depth, *arguments)
        ids = np.asarray(ids, points.ids.dtype)
        return Tree(coordinates, ids, *points[2:], depth)

    def bound_nodes(self, given: Tree, /) -> Array:
        axes = given.num_axes
        boxes = empty(4 * 2**given.depth * axes, np.float64)
        boxes[: 2 * axes] = 0.0
        tree.bound_nodes(given.depth, len(given.ids), axes, plain(given.coordinates), boxes)
        return boxes

    def nearest_neighbors(
        self, given: Tree, boxes: Array, k: int, rank: int, /
    ) -> tuple[Array, Array, Array]:
        size, space = len(given.ids), space_of(given)
        core, reach = empty(size, np.float64), empty(size, np.float64)
        neighbor = empty(size * k, self.index_dtype(size))
        label, least = (np.zeros(2 << given.depth, dtype) for dtype in (np.int64, np.float64))
        nodes = *self._arrays(given, boxes), label, least
        arguments = space, *nodes, k, rank, core, reach, neighbor
        self._in_search(search.find_neighbors, given, *arguments)
        return core, reach, neighbor

    def nearest_outside(
        self,
        given: Tree,
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
        space, size, depth = space_of(given), len(given.ids), given.depth
        index = self.index_dtype(size)
        nearest, bound = np.array(nearest, index), np.array(bound)
        core, reach = plain(core), plain(reach)
        label, least = empty(2 << depth, np.int64), empty(2 << depth, np.float64)
        lightest, own = np.full(count, np.inf), plain(np.asarray(fragment, index))
        points, ids, boxes = self._arrays(given, boxes)
        k = len(neighbor) // max(size, 1)
        search.describe_nodes(depth, own, core, label, least)
        lists = k, plain(np.asarray(neighbor, index)), reach, nearest, bound, lightest
        self._in_ranges(search.bound_fragments, size, 1, space, points, ids, core, own, *lists)
        searched = space, points, ids, boxes, core, least, own, label, nearest, bound, lightest
        self._in_search(search.search_outside, given, *searched)
        lightest[:] = np.inf
        edge_id = self.full(count, self.largest("int64"), "int64")
        other = self.arange(count, index)
        search.choose_edges(space, ids, own, nearest, bound, lightest, edge_id, other)
        return Lightest(lightest, edge_id, self.asarray(other, fragment.dtype), nearest, bound)

    def _arrays(self, given: Tree, boxes: Array) -> tuple[Array, Array, Array]:
        """Return the coordinates, the ids and the boxes as kernels read them."""
        ids = np.asarray(given.ids, self.index_dtype(given.num_ids))
        return plain(given.coordinates), plain(ids), plain(boxes)

    def _in_search(self, kernel: Callable[..., Any], given: Tree, *arguments: Any) -> None:
        """Call a kernel on ranges of leaves, shorter ones for many axes."""
        per_leaf = (len(given.ids) >> given.depth) * given.num_axes
        self._in_ranges(kernel, 2**given.depth, per_leaf, *arguments, report="search the tree")

    def _in_ranges(
        self,
        kernel: Callable[..., Any],
        length: int,
        per_place: int,
        *arguments: Any,
        report: str = "",
    ) -> None:
        """Call a kernel on short ranges of places, each of which stands for `per_place` points.

        Between ranges, the calling thread returns to Python: the user can interrupt it, and it
        reports its progress as the step `report`.
        """
        step = max(1, sizes().points_of_range // max(1, per_place))
        starts = iter(range(0, length, step))

        def work() -> None:
            try:
                for start in starts:
                    if report and step < length:
                        report_progress(report, start, length)
                    kernel(start, min(start + step, length), *arguments)
            except BaseException:
                for _ in starts:  # leave no range to the other threads
                    pass
                raise

        self._team.run(work, max(1, min(self._team.size, -(-length // step))))
