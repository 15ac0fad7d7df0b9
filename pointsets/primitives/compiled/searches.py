"""The primitives for points by kernels; threads take ranges of points in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....primitives.compiled.arrays import NumbaArrays
from ....progress import report_progress
from ....runtime.kernels import plain
from ....runtime.memory import empty
from ....runtime.sizes import sizes
from ...distances import METRICS, SQUARES
from ..projection import project
from ..searches import PADDING, Lightest, Points, Proximity, Tree
from . import search
from . import tree as kernels
from .space import rows_of, space_of

Array = NDArray[Any]


class NumbaSearches(Proximity, NumbaArrays):
    """The primitives of `primitives.searches`."""

    def count_equal(self, points: Points, /) -> tuple[Array, Array]:
        """Compare hashes of points, and the points themselves only if two hashes are equal."""
        size, rows = len(points.ids), plain(points.coordinates)
        hashes = empty(size, np.uint64)
        self._in_ranges(kernels.hash_rows, size, 1, rows, points.num_axes, hashes)
        hashes.sort()
        if (hashes[1:] == hashes[:-1]).any():
            return super().count_equal(points)
        index = self.index_dtype(size)
        return self.arange(size, index), self.full(size, 0, index)

    def build_tree(self, points: Points, depth: int, search_axes: int = 0, /) -> Tree:
        has_bounds = METRICS[points.metric].norm == SQUARES
        if has_bounds and 0 < search_axes < points.num_axes:
            return self._build_projected(points, depth, search_axes)
        size, axes = len(points.ids), points.num_axes
        rows = np.array(points.coordinates, order="C")
        ids = np.array(points.ids, self.index_dtype(points.num_ids))
        arrays = rows, ids, axes
        shared_levels = max(0, min(depth, (size // sizes().points_of_range).bit_length()))
        # With `size` as the size of an item, each node is a range.
        for level in range(shared_levels):
            self._in_ranges(kernels.split_nodes, 2**level, size, level, level + 1, *arrays)
        subtrees = shared_levels, depth
        self._in_ranges(kernels.split_nodes, 2**shared_levels, size, *subtrees, *arrays)
        coordinates = empty(size * axes + PADDING, np.float64)
        coordinates[size * axes :] = 0.0
        arguments = depth, *arrays, coordinates
        self._in_ranges(kernels.arrange_leaves, 2**depth, size >> depth, *arguments)
        ids = np.asarray(ids, points.ids.dtype)
        return Tree(coordinates, ids, *points[2:], depth)

    def _build_projected(self, points: Points, depth: int, search_axes: int) -> Tree:
        """Build the tree of projections; of the points themselves if they have none."""
        rows = plain(points.coordinates).reshape(-1, points.num_axes)
        if (found := project(rows, search_axes)) is None:
            return self.build_tree(points, depth)
        projections, error = found
        position = self.arange(len(rows), self.index_dtype(points.num_ids))
        axes = projections.shape[1]
        sketch = points._replace(coordinates=projections.ravel(), ids=position, num_axes=axes)
        tree = self.build_tree(sketch, depth)
        return tree._replace(ids=points.ids[tree.ids], rows=rows[tree.ids], error=error)

    def bound_nodes(self, tree: Tree, /) -> Array:
        axes = tree.num_axes
        boxes = empty(4 * 2**tree.depth * axes, np.float64)
        boxes[: 2 * axes] = 0.0
        kernels.bound_nodes(tree.depth, len(tree.ids), axes, plain(tree.coordinates), boxes)
        return boxes

    def nearest_neighbors(
        self, tree: Tree, boxes: Array, k: int, rank: int, /
    ) -> tuple[Array, Array, Array]:
        size, space = len(tree.ids), space_of(tree)
        core, reach = empty(size, np.float64), empty(size, np.float64)
        neighbor = empty(size * k, self.index_dtype(size))
        label, least_core = (np.zeros(2 << tree.depth, dtype) for dtype in (np.int64, np.float64))
        nodes = *self._arrays(tree, boxes), label, least_core
        arguments = space, *nodes, rows_of(tree), k, rank, core, reach, neighbor
        self._in_search(search.find_neighbors, tree, *arguments)
        return core, reach, neighbor

    def nearest_outside(
        self,
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
        space, size, depth = space_of(tree), len(tree.ids), tree.depth
        index = self.index_dtype(size)
        nearest, bound = np.array(nearest, index), np.array(bound)
        core, reach = plain(core), plain(reach)
        label, least_core = empty(2 << depth, np.int64), empty(2 << depth, np.float64)
        limit, of_point = np.full(count, np.inf), plain(np.asarray(fragment, index))
        points, ids, boxes = self._arrays(tree, boxes)
        rows = rows_of(tree)
        k = len(neighbor) // max(size, 1)
        search.describe_nodes(depth, of_point, core, label, least_core)
        lists = k, plain(np.asarray(neighbor, index)), reach, nearest, bound, limit
        known = space, points, rows, ids, core, of_point
        self._in_ranges(search.bound_fragments, size, 1, *known, *lists)
        searched = rows, core, least_core, of_point, label, nearest, bound, limit
        self._in_search(search.search_outside, tree, space, points, ids, boxes, *searched)
        lightest = np.full(count, np.inf)
        edge_id = self.full(count, self.largest("int64"), "int64")
        other = self.arange(count, index)
        search.choose_edges(space, ids, of_point, nearest, bound, lightest, edge_id, other)
        return Lightest(lightest, edge_id, self.asarray(other, fragment.dtype), nearest, bound)

    def _arrays(self, tree: Tree, boxes: Array) -> tuple[Array, Array, Array]:
        """Return the coordinates, the ids and the boxes as kernels read them."""
        ids = np.asarray(tree.ids, self.index_dtype(tree.num_ids))
        return plain(tree.coordinates), plain(ids), plain(boxes)

    def _in_search(self, kernel: Callable[..., Any], tree: Tree, *arguments: Any) -> None:
        """Call a kernel on ranges of leaves, shorter ones for many axes."""
        per_leaf = (len(tree.ids) >> tree.depth) * tree.num_axes
        self._in_ranges(kernel, 2**tree.depth, per_leaf, *arguments, report="search the tree")

    def _in_ranges(
        self,
        kernel: Callable[..., Any],
        length: int,
        item_size: int,
        *arguments: Any,
        report: str = "",
    ) -> None:
        """Call a kernel on short ranges of items (points, nodes or leaves) of `item_size` points.

        Between ranges, the calling thread returns to Python: the user can interrupt it, and it
        reports its progress as the step `report`.
        """
        step = max(1, sizes().points_of_range // max(1, item_size))
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
