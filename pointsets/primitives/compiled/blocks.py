"""The primitives for points in blocks of distances, by kernels.

A block has few rows and many columns. Matrix products are NumPy's, on the threads of its BLAS
library; environment variables such as OPENBLAS_NUM_THREADS set their number. Then the threads of
the team take shares of the rows of the block. The threads of the library and those of the team
never run at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....progress import report_progress
from ....runtime.kernels import helper, kernel, plain
from ....runtime.sizes import sizes
from ....runtime.team import Each
from ...distances import LARGEST, METRICS, ROOT, SAME, distance_block
from ..blocks import Blocks, screen_of
from ..searches import Points
from .searches import NumbaSearches
from .space import to_distance

Array = NDArray[Any]

#: The number of entries that are compared before a branch.
_RUN = 128
#: `convert` for blocks of distances. For blocks of products, it is the conversion of squares.
_EXACT = -1


class NumbaPoints(Blocks, NumbaSearches):
    """The primitives for points: those of `primitives.blocks`, and the searches."""

    def nearest_in_blocks(
        self, points: Points, core: Array, fragment: Array, sought: Array, k: int, /
    ) -> tuple[Array, Array]:
        size, index, share = len(points.ids), self.index_dtype(len(points.ids)), self._team.share
        # If most points are sought, search for all: a block serves its rows and its columns.
        is_whole = 2 * len(sought) > size or callable(points.metric)
        queries = self.arange(size, index) if is_whole else sought.astype(index, copy=False)
        weight = np.full((len(queries), k), math.inf)
        neighbor = np.full((len(queries), k), size, index)
        blocks = _Matrix(points, share)
        height, width = sizes().block_rows, sizes().block_columns
        limit = np.full(len(queries), -math.inf, blocks.half.dtype)
        weights = *blocks.exact, plain(core), plain(fragment.astype(index, copy=False))
        arguments = blocks.half, *weights, limit, weight, neighbor
        for start in _first_rows(len(queries)):
            rows = queries[start : start + height]
            left, after = blocks.rows[rows], start + len(rows)
            firsts = range(after if is_whole else 0, size, width)
            columns = [(first, min(first + width, size)) for first in firsts]
            if is_whole:
                columns.insert(0, (start, after))
            for first, end in columns:
                block = blocks.between(left, blocks.rows[first:end])
                given = rows, start, first, *arguments
                share(keep_for_rows, len(left), block, *given, per_place=width)
                if is_whole and first > start:
                    share(keep_for_columns, end - first, block, *given[1:], per_place=height)
        if len(queries) > len(sought):
            weight, neighbor = weight[sought], neighbor[sought]
        return weight.ravel(), neighbor.ravel()

    def lightest_between(
        self, points: Points, core: Array, fragment: Array, count: int, /
    ) -> tuple[Array, Array]:
        size, index, shares = len(points.ids), self.index_dtype(len(points.ids)), self._team.size
        blocks = _Matrix(points, self._team.share)
        weight = np.full((shares, count * count), math.inf)
        edge_id = np.full((shares, count * count), self.largest(np.int64))
        limit = np.full((shares, count * count), math.inf, blocks.half.dtype)
        limit[:, :: count + 1] = -math.inf  # no edge is inside a fragment
        width = sizes().block_columns
        weights = *blocks.exact, plain(core), plain(fragment.astype(index, copy=False))
        found = Each(limit), Each(weight), Each(edge_id)
        arguments = *weights, plain(points.ids), points.num_ids, count, *found
        for start in _first_rows(size):
            left = blocks.rows[start : start + sizes().block_rows]
            for first in range(start, size, width):
                block = blocks.between(left, blocks.rows[first : first + width])
                given = block, blocks.half, start, first
                self._team.share(keep_lightest, len(left), *given, *arguments, per_place=width)
        best = weight.min(axis=0)
        return best, np.where(weight == best, edge_id, self.largest(np.int64)).min(axis=0)


class _Matrix:
    """Blocks of products or negative distances of points."""

    def __init__(self, points: Points, share: Any) -> None:
        self._points, self._share = points, share
        coordinates = plain(points.coordinates).reshape(-1, points.num_axes)
        #: `rows` and `half` of `Screen`; for distances, the coordinates and zeros.
        self.rows, self.half = coordinates, np.zeros(len(coordinates))
        convert, limit = _EXACT, [1.0, 1.0, 0.0, 0.0]
        if screen := screen_of(np, points):
            self.rows, self.half, *limit = screen
            convert = METRICS[points.metric].convert
        #: `coordinates`, `convert` and `is_single` of `_weight`, and the numbers of `_limit`.
        self.exact = coordinates, convert, points.dtype == "float32", *limit

    def between(self, left: Array, right: Array) -> Array:
        """Return the block of two ranges of rows."""
        _, convert, is_single, *_ = self.exact
        metric = self._points.metric
        block: Array
        if convert != _EXACT:
            block = left @ right.T
        elif callable(metric):
            block = -distance_block(metric, self._points.dtype, left, right)
        else:
            block = np.empty((len(left), len(right)))
            is_largest = METRICS[metric].norm == LARGEST
            arguments = left, np.ascontiguousarray(right.T), is_single, is_largest, block
            self._share(sum_lengths, len(left), *arguments, per_place=4 * sizes().block_rows)
        return block


def _first_rows(size: int) -> Iterator[int]:
    """Yield the first row of each block of rows, and report the progress."""
    for start in range(0, size, sizes().block_rows):
        report_progress("search in blocks", start, size)
        yield start
    report_progress("search in blocks", size, size)


@helper
def _weight(u, v, product, coordinates, convert, is_single, core):
    """Return the weight of an edge: the exact distance, or a core distance that is larger."""
    if convert == _EXACT:
        distance = -np.float64(product)
    else:
        distance = np.float64(0.0)
        for axis in range(coordinates.shape[1]):
            difference = coordinates[u, axis] - coordinates[v, axis]
            distance += difference * difference
        distance = to_distance(convert, is_single, distance)
    return max(distance, max(core[u], core[v]))


@helper
def _limit(weight, convert, scale, margin, tiny, least):
    """Compute `Screen.limit`; for blocks of distances, return the weight."""
    if convert == _EXACT:
        return weight
    length = weight * margin + tiny
    if convert == ROOT:
        length *= length
    elif convert != SAME:
        length *= 2.0
    return length * margin * scale + least


@helper
def _insert(place, new, other, weight, neighbor):
    """Insert a neighbor into the list of a point, unless the list is full of nearer points.

    Return whether it was inserted.
    """
    rank = weight.shape[1] - 1
    if new > weight[place, rank] or (new == weight[place, rank] and other >= neighbor[place, rank]):
        return False
    while rank > 0 and (
        new < weight[place, rank - 1]
        or (new == weight[place, rank - 1] and other < neighbor[place, rank - 1])
    ):
        weight[place, rank] = weight[place, rank - 1]
        neighbor[place, rank] = neighbor[place, rank - 1]
        rank -= 1
    weight[place, rank], neighbor[place, rank] = new, other
    return True


@kernel
def keep_for_rows(
    start, stop, block, rows, first_row, first_column, half, coordinates, convert, is_single, scale,
    margin, tiny, least, core, fragment, limit, weight, neighbor,
):  # fmt: skip
    """Insert the columns of a block into the lists of its rows."""
    width, last = block.shape[1], weight.shape[1] - 1
    for i in range(start, stop):
        point, place = np.int64(rows[i]), first_row + i
        label, lowest = fragment[point], limit[place]
        for begin in range(0, width, _RUN):
            end = min(begin + _RUN, width)
            # Indices from 0 need no test for negative ones, so the loop becomes vectors.
            run, bound = block[i, begin:end], half[first_column + begin : first_column + end]
            labels, near = fragment[first_column + begin : first_column + end], np.int32(0)
            for j in range(len(run)):
                near |= np.int32((run[j] - bound[j] >= lowest) & (labels[j] != label))
            if not near:
                continue
            for j in range(begin, end):
                other = first_column + j
                if block[i, j] - half[other] < lowest or fragment[other] == label:
                    continue
                if core[other] > weight[place, last]:
                    continue
                new = _weight(point, other, block[i, j], coordinates, convert, is_single, core)
                if _insert(place, new, other, weight, neighbor):
                    bound = _limit(weight[place, last], convert, scale, margin, tiny, least)
                    limit[place] = np.float64(half[point]) - bound
                    lowest = limit[place]


@kernel
def keep_for_columns(
    start, stop, block, first_row, first_column, half, coordinates, convert, is_single, scale,
    margin, tiny, least, core, fragment, limit, weight, neighbor,
):  # fmt: skip
    """Insert the rows of a block into the lists of its columns."""
    last = weight.shape[1] - 1
    for i in range(len(block)):
        point = first_row + i
        label, height = fragment[point], half[point]
        for begin in range(start, stop, _RUN):
            end = min(begin + _RUN, stop)
            run, lowest = block[i, begin:end], limit[first_column + begin : first_column + end]
            labels, near = fragment[first_column + begin : first_column + end], np.int32(0)
            for j in range(len(run)):
                near |= np.int32((run[j] - height >= lowest[j]) & (labels[j] != label))
            if not near:
                continue
            for j in range(begin, end):
                other = first_column + j
                if block[i, j] - height < limit[other] or fragment[other] == label:
                    continue
                if core[point] > weight[other, last]:
                    continue
                new = _weight(other, point, block[i, j], coordinates, convert, is_single, core)
                if _insert(other, new, point, weight, neighbor):
                    bound = _limit(weight[other, last], convert, scale, margin, tiny, least)
                    limit[other] = np.float64(half[other]) - bound


@kernel
def keep_lightest(
    start, stop, block, half, first_row, first_column, coordinates, convert, is_single, scale,
    margin, tiny, least, core, fragment, ids, num_ids, count, limit, weight, edge_id,
):  # fmt: skip
    """Find lightest edges between fragments, among the entries of a block above the diagonal."""
    for i in range(start, stop):
        point = first_row + i
        label = np.int64(fragment[point])
        for j in range(max(0, point + 1 - first_column), block.shape[1]):
            other = first_column + j
            other_label = np.int64(fragment[other])
            if half[point] + half[other] - block[i, j] > limit[label * count + other_label]:
                continue
            new = _weight(point, other, block[i, j], coordinates, convert, is_single, core)
            edge = np.int64(ids[point]) * num_ids + np.int64(ids[other])
            place = min(label, other_label) * count + max(label, other_label)
            if new > weight[place] or (new == weight[place] and edge >= edge_id[place]):
                continue
            weight[place], edge_id[place] = new, edge
            bound = _limit(new, convert, scale, margin, tiny, least)
            limit[label * count + other_label] = limit[other_label * count + label] = bound


@kernel
def sum_lengths(start, stop, left, right, is_single, largest, block):
    """Write the negative Manhattan distances of a block, or the largest differences."""
    width = right.shape[1]
    for i in range(start, stop):
        for j in range(width):
            block[i, j] = 0.0
        for axis in range(len(right)):
            value = left[i, axis]
            if largest:
                for j in range(width):
                    block[i, j] = max(block[i, j], abs(value - right[axis, j]))
            else:
                for j in range(width):
                    block[i, j] += abs(value - right[axis, j])
        for j in range(width):
            distance = block[i, j]
            block[i, j] = -np.float64(np.float32(distance)) if is_single else -distance
