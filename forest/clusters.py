"""Clusters of a spanning forest: components, flat clusters and the single-linkage hierarchy.

For every threshold, the forest edges up to that weight connect the same vertices as the graph's
edges up to that weight do. So single-linkage clustering needs only the forest.

Source: Gower and Ross, "Minimum Spanning Trees and Single Linkage Cluster Analysis", 1969.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError, OptionError
from ..graphs.edge_list import EdgeList
from ..pipeline.run.partitions import placed
from ..primitives import array_module, why_not
from ..runtime.device import is_on_device
from ..runtime.native import Kernels
from ..runtime.toolchain import example
from .components import components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..primitives import Backend
    from .edges import ForestEdges

_compiled = Kernels(__name__)


def component_labels(
    u: NDArray[Any], v: NDArray[Any], num_vertices: int, backend: Backend
) -> NDArray[np.int64]:
    """Return the component of each vertex.

    Parameters
    ----------
    u, v : integer arrays of length m
        The ends of the edges.
    num_vertices : int
    backend : Backend

    Returns
    -------
    int64 array of length n
        Components are numbered in the order of their first vertices.
    """
    edges = EdgeList(u, v, np.zeros_like(u, np.uint8), num_vertices=num_vertices)
    fields, _ = components.run(
        edges, backend=backend.name, threads=backend.threads, strategy="whole", progress=False
    )
    labels: NDArray[np.int64] = fields["labels"]
    return labels


def cut(
    forest: ForestEdges, k: int | None, distance: float | None, backend: Backend
) -> NDArray[np.int64]:
    """Return flat clusters, as documented at `Forest.cut`."""
    _check_minimum(forest)
    if (k is None) == (distance is None):
        message = "cut needs exactly one of k and distance"
        raise OptionError(message)
    if distance is not None:
        kept = np.flatnonzero(_at_most(forest.weight, distance))
    else:
        num_kept = forest.num_vertices - _checked_k(k, forest)
        kept = _by_weight(forest.weight, backend)[:num_kept]
    return component_labels(forest.u[kept], forest.v[kept], forest.num_vertices, backend)


def linkage(forest: ForestEdges, backend: Backend) -> NDArray[np.float64]:
    """Return the single-linkage hierarchy, as documented at `Forest.linkage`."""
    n, weight = forest.num_vertices, forest.weight
    _check_minimum(forest)
    _check_linkage(forest)
    order = _by_weight(weight, backend)
    u, v = (ends[order].astype(np.int64) for ends in (forest.u, forest.v))
    is_plain = backend.name == "numpy" or why_not("numba")
    left, right, size = (_join_plain if is_plain else _join_compiled)(u, v, n)
    table = np.empty((len(order), 4))
    np.minimum(left, right, out=table[:, 0])
    np.maximum(left, right, out=table[:, 1])
    table[:, 2] = weight[order]
    table[:, 3] = size
    return table


def _checked_k(k: Any, forest: ForestEdges) -> int:
    is_count = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not is_count or not forest.num_components <= k <= forest.num_vertices:
        message = (
            f"k must be an integer from {forest.num_components} (the number of components) "
            f"to {forest.num_vertices} (the number of vertices), not {k!r}"
        )
        raise OptionError(message)
    return int(k)


def _check_minimum(forest: ForestEdges) -> None:
    if forest.maximum:
        message = "clustering needs a minimum spanning forest, got a maximum spanning forest"
        raise OptionError(message)


def _check_linkage(forest: ForestEdges) -> None:
    if forest.num_components != 1:
        message = (
            f"linkage needs a connected graph, got {forest.num_components} components; "
            "use cut(), which accepts any graph"
        )
        raise GraphError(message)
    negative = np.flatnonzero(forest.weight < 0)
    if len(negative):
        first = negative[0]
        message = (
            f"edge {forest.edge_ids[first]}: weight {forest.weight[first]} is negative; linkage "
            "needs non-negative weights, cut() accepts any"
        )
        raise GraphError(message)


def _by_weight(weight: NDArray[Any], backend: Backend) -> NDArray[Any]:
    """Return the positions of the edges, sorted by (weight, edge id)."""
    ops = array_module(backend)
    order = ops.argsort(ops.order_key(ops.asarray(weight)))
    positions: NDArray[Any] = placed(order, backend, on_device=is_on_device(weight))
    return positions


def _at_most(weight: NDArray[Any], distance: Any) -> NDArray[np.bool_]:
    """Return whether each weight is at most `distance`, compared without rounding either side."""
    if not isinstance(distance, numbers.Real) or distance != distance:
        message = f"distance must be a number, not {distance!r}"
        raise OptionError(message)
    if isinstance(distance, np.generic):
        distance = distance.item()  # NumPy would round large integers to compare them
    # Rounding the bound down to a value of the weights' dtype does not change the comparison.
    if weight.dtype.kind == "f":
        return weight <= np.float64(_float_below(distance))
    if weight.dtype == np.bool_:
        weight = weight.view(np.uint8)
    bound: Any = distance
    if -math.inf < bound < math.inf:
        bound = math.floor(bound)
    limits = np.iinfo(weight.dtype)  # CuPy cannot compare with integers beyond these
    fits = bound >= limits.min
    kept: NDArray[np.bool_] = weight <= min(bound, limits.max) if fits else weight != weight
    return kept


def _float_below(number: Any) -> float:
    """Return the largest float that is at most `number`."""
    try:
        nearest = float(number)
    except OverflowError:
        nearest = math.inf if number > 0 else -math.inf
    return math.nextafter(nearest, -math.inf) if nearest > number else nearest


@example([0, 2], [1, 0], [0, 1, 2, 3, 4], [1] * 5, [0, 0], [0, 0])
def _join(u: Any, v: Any, parent: Any, size: Any, left: Any, right: Any) -> None:
    """Merge the clusters of both ends of each edge, by union-find with path halving.

    Parameters
    ----------
    u, v : sequences of f vertices
    parent, size : mutable sequences of n + f
        Initially 0, 1, ... and ones. Edge i creates cluster n + i.
    left, right : mutable sequences of f
        Output: the two clusters that each edge merges.
    """
    new = len(parent) - len(u)
    for i in range(len(u)):
        a, b = u[i], v[i]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        left[i], right[i] = a, b
        parent[a] = new
        parent[b] = new
        size[new] = size[a] + size[b]
        new += 1


def _join_plain(u: NDArray[np.int64], v: NDArray[np.int64], n: int) -> tuple[Any, Any, Any]:
    # Element access is several times faster on Python lists than on arrays.
    f = len(u)
    parent, size, left, right = list(range(n + f)), [1] * (n + f), [0] * f, [0] * f
    _join(u.tolist(), v.tolist(), parent, size, left, right)
    return left, right, size[n:]


def _join_compiled(u: NDArray[np.int64], v: NDArray[np.int64], n: int) -> tuple[Any, Any, Any]:
    f = len(u)
    parent, size = np.arange(n + f), np.ones(n + f, np.int64)
    left, right = np.empty(f, np.int64), np.empty(f, np.int64)
    _compiled._join(u, v, parent, size, left, right)
    return left, right, size[n:]
