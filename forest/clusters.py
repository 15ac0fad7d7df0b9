"""The clusters in a spanning forest: its trees, flat clusters, the single-linkage hierarchy.

A minimum spanning forest holds all that single-linkage clustering asks of a graph: whatever the
edges up to some weight connect, its own edges up to that weight connect.

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
    """Return the component of each vertex, numbered by their first vertices.

    Parameters
    ----------
    u, v : integer arrays of length m
        The ends of edges.
    num_vertices : int
    backend : Backend

    Returns
    -------
    int64 array of length n
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
    """Return the flat clusters that `Forest.cut` describes: components of the edges it keeps."""
    _check_minimum(forest)
    if (k is None) == (distance is None):
        message = "cut needs one of k and distance"
        raise OptionError(message)
    if distance is not None:
        kept = np.flatnonzero(_at_most(forest.weight, distance))
    else:
        num_kept = forest.num_vertices - _checked_k(k, forest)
        kept = _by_weight(forest.weight, backend)[:num_kept]
    return component_labels(forest.u[kept], forest.v[kept], forest.num_vertices, backend)


def linkage(forest: ForestEdges, backend: Backend) -> NDArray[np.float64]:
    """Return the hierarchy that `Forest.linkage` describes, in the form scipy gives it."""
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
            f"k must be an integer from {forest.num_components}, the components of the graph, "
            f"to {forest.num_vertices}, its vertices, not {k!r}"
        )
        raise OptionError(message)
    return int(k)


def _check_minimum(forest: ForestEdges) -> None:
    if forest.maximum:
        message = "clusters follow from a minimum spanning forest, and this is a maximum one"
        raise OptionError(message)


def _check_linkage(forest: ForestEdges) -> None:
    if forest.num_components != 1:
        message = (
            f"linkage needs a connected graph, and this one has {forest.num_components} "
            "components; cut() takes any graph"
        )
        raise GraphError(message)
    negative = np.flatnonzero(forest.weight < 0)
    if len(negative):
        first = negative[0]
        message = (
            f"edge {forest.edge_ids[first]}: weight {forest.weight[first]} is negative, which no "
            "height in a linkage matrix may be; cut() takes any weights"
        )
        raise GraphError(message)


def _by_weight(weight: NDArray[Any], backend: Backend) -> NDArray[Any]:
    """Return the positions of the edges in the order (weight, edge id)."""
    ops = array_module(backend)
    order = ops.argsort(ops.order_key(ops.asarray(weight)))
    positions: NDArray[Any] = placed(order, backend, on_device=is_on_device(weight))
    return positions


def _at_most(weight: NDArray[Any], distance: Any) -> NDArray[np.bool_]:
    """Compare exactly: neither side is rounded to the dtype of the other."""
    if not isinstance(distance, numbers.Real) or distance != distance:
        message = f"distance must be a number, not {distance!r}"
        raise OptionError(message)
    if isinstance(distance, np.generic):
        distance = distance.item()  # or large integers would be rounded on the way
    # Rounded down to the next number that a weight may equal, the bound keeps the same edges.
    if weight.dtype.kind == "f":
        return weight <= np.float64(_float_below(distance))
    if weight.dtype == np.bool_:
        weight = weight.view(np.uint8)
    bound: Any = distance
    if -math.inf < bound < math.inf:
        bound = math.floor(bound)
    limits = np.iinfo(weight.dtype)  # a GPU compares with nothing beyond
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
    """Join the clusters at both ends of each edge to a new one: union-find, paths halved.

    Parameters
    ----------
    u, v : sequences of f vertices
    parent, size : mutable sequences of n + f
        At first 0, 1, ... and ones. Cluster n + i is what edge i makes.
    left, right : mutable sequences of f
        Receive the clusters that each edge joins.
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
    # Python reads and writes the elements of lists several times faster than those of arrays.
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
