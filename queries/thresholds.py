"""Flat clusters at many thresholds, from the edges of a forest, in one pass.

Thresholds are processed from strict to loose. The edges of the strictest threshold join vertices.
The additional edges of each later threshold join the clusters of the previous one. So every edge of
the forest is processed once. For each vertex, the result stores the threshold at which it stops
being the first vertex of its cluster, and the first vertex of its cluster at this threshold. The
labels of any threshold are computed from these two arrays in one pass over the vertices.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import OptionError
from ..forest.edges import ForestBlocks
from ..primitives import Backend, array_module
from ..primitives.hierarchies import TALLY, level_dtype
from ..primitives.weight_order import WeightOrder


class ClusterCounts(NamedTuple):
    """The clusters at one threshold.

    Attributes
    ----------
    threshold : int or float
    clusters : int
        Number of clusters, including single vertices.
    singletons : int
        Number of clusters of one vertex.
    largest : int
        Number of vertices of the largest cluster.
    sizes : dict of int to int
        Number of clusters of 1, 2 to 3, 4 to 7 vertices and so on, by the smallest size of each
        range. Ranges without clusters are missing.
    """

    threshold: int | float
    clusters: int
    singletons: int
    largest: int
    sizes: dict[int, int]


def check_thresholds(thresholds: Sequence[Any]) -> None:
    """Check that thresholds are one or more different numbers."""
    for threshold in thresholds:
        if not isinstance(threshold, numbers.Real) or threshold != threshold:
            message = f"a threshold must be a number, not {threshold!r}"
            raise OptionError(message)
    if not thresholds or len(set(thresholds)) < len(thresholds):
        message = f"expected one or more different thresholds, got {list(thresholds)}"
        raise OptionError(message)


def cut_at(
    edges: ForestBlocks, thresholds: Sequence[Any], backend: Backend
) -> tuple[tuple[ClusterCounts, ...], Callable[[int, DTypeLike], NDArray[Any]]]:
    """Find the clusters at each threshold, as `Forest.clusters` defines them.

    Return the counts of each threshold, and a function that returns the cluster of each vertex at
    the i-th threshold, numbered by first vertex.
    """
    check_thresholds(thresholds)
    weights = WeightOrder(edges.weight_dtype, signed=True, descending=edges.maximum)
    limits = [weights.key_of(threshold) for threshold in thresholds]  # -1 if it keeps no weight
    strict_first = sorted(range(len(limits)), key=limits.__getitem__)
    levels = sorted(range(len(limits)), key=strict_first.__getitem__)  # the inverse permutation
    ops, size, count = array_module(backend), edges.num_vertices, len(limits)
    parent, vertex_level, tally = ops.join_levels(*_sorted_by_level(ops, edges, limits), size)
    rows = ops.to_host(tally).reshape(count, TALLY)[levels].tolist()
    counts = tuple(map(_cluster_counts, thresholds, rows))
    return counts, partial(_labels, backend, parent, vertex_level, levels)


def _sorted_by_level(ops: Any, edges: ForestBlocks, limits: list[int]) -> tuple[Any, Any, Any]:
    """Return u and v of the edges, sorted by level, and the number of edges up to each level.

    The level of an edge is the number of limits that its key exceeds. Edges that exceed all limits
    are left out.
    """
    index, dtype = ops.index_dtype(edges.num_vertices), level_dtype(len(limits))
    nothing = ops.full(0, 0, dtype=index)
    sorted_u, sorted_v = ([[nothing] for _ in limits] for _ in "uv")
    for u, v, weight in edges.blocks:
        key = ops.order_key(ops.asarray(weight), descending=edges.maximum)
        level = ops.full(len(key), sum(limit < 0 for limit in limits), dtype=dtype)
        for limit in limits:
            if limit >= 0:
                level = level + (key > limit)
        columns = (ops.asarray(end, index) for end in (u, v))
        offsets, *dealt = ops.deal(ops.asarray(level, index), len(limits) + 1, *columns)
        bounds = [*itertools.pairwise(ops.to_host(offsets).tolist())]
        for pieces, column in zip((sorted_u, sorted_v), dealt, strict=True):
            for place, (start, stop) in zip(pieces, bounds, strict=False):
                place.append(column[start:stop])
    ends = [*itertools.accumulate(sum(map(len, pieces)) for pieces in sorted_u)]
    return _concatenated(ops, sorted_u), _concatenated(ops, sorted_v), ends


def _concatenated(ops: Any, pieces: list[list[Any]]) -> Any:
    """Return the arrays of all lists as one array, and release them."""
    joined = ops.concat([*itertools.chain(*pieces)])
    pieces.clear()
    return joined


def _labels(
    backend: Backend, parent: Any, level: Any, levels: list[int], position: int, dtype: DTypeLike
) -> NDArray[Any]:
    ops = array_module(backend)
    labels, _ = ops.label_level(parent, level, levels[position], dtype)
    on_host: NDArray[Any] = ops.to_host(labels)
    return on_host


def _cluster_counts(threshold: Any, row: list[int]) -> ClusterCounts:
    """Return the counts; `row` has the clusters of each range of sizes, then the largest size."""
    *numbers, largest = row
    value = threshold.item() if isinstance(threshold, np.generic) else threshold
    sizes = {2**k: number for k, number in enumerate(numbers) if number}
    return ClusterCounts(value, sum(numbers), numbers[0], largest, sizes)
