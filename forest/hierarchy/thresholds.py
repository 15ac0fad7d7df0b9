"""Flat clusters at many thresholds, from the edges of a forest, one threshold at a time.

Thresholds are processed from strict to loose. The edges of the strictest threshold join vertices.
The additional edges of each later threshold join the clusters of the threshold before. So every
edge of the forest is processed once, and the labels of only one threshold are in memory.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import OptionError
from ...primitives import array_module
from ...primitives.weight_order import WeightOrder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

    from ...primitives import Backend
    from ..edges import ForestEdges


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


def largest_keys(
    weight_dtype: np.dtype[Any], thresholds: Sequence[Any], *, maximum: bool
) -> list[int]:
    """Return the largest key of a weight that each threshold keeps; -1 if it keeps no weight.

    Raises
    ------
    OptionError
        If a threshold is not a number.
    """
    order = WeightOrder(weight_dtype, signed=True, descending=maximum)
    for threshold in thresholds:
        if not isinstance(threshold, numbers.Real) or threshold != threshold:
            message = f"a threshold must be a number, not {threshold!r}"
            raise OptionError(message)
    return [order.key_of(threshold) for threshold in thresholds]


def clusters_at_thresholds(
    edges: ForestEdges, thresholds: Sequence[Any], backend: Backend
) -> Iterator[tuple[int, Any, int]]:
    """Yield the clusters at each threshold, the strictest first.

    Parameters
    ----------
    edges : ForestEdges
    thresholds : sequence of numbers
        Edges of at most this weight are kept; in a maximum forest, edges of at least this weight.
    backend : Backend

    Yields
    ------
    place : int
        The position of the threshold in `thresholds`.
    labels : index array of length n
        The cluster of each vertex, numbered by first vertex; on the device of the backend.
    count : int
        The number of clusters.

    Raises
    ------
    OptionError
        If a threshold is not a number.
    """
    limits = largest_keys(edges.weight.dtype, thresholds, maximum=edges.maximum)
    ops = array_module(backend)
    count = edges.num_vertices
    dtype = ops.index_dtype(count)
    labels = ops.arange(count, dtype=dtype)
    key = ops.order_key(ops.asarray(edges.weight), descending=edges.maximum)
    u, v = (ops.asarray(end, dtype) for end in (edges.u, edges.v))
    for place in sorted(range(len(limits)), key=limits.__getitem__):
        if limits[place] >= 0:
            is_kept = key <= limits[place]
            a, b = ops.compact(is_kept, u, v)
            key, u, v = ops.compact(~is_kept, key, u, v)
            _, root = ops.join_in_order(ops.gather(labels, a), ops.gather(labels, b), count)
            number, count = ops.number_roots(root)  # a root is the first vertex of its cluster
            labels = ops.gather(number, labels)
        yield place, labels, count
