"""HDBSCAN: mutual reachability weights, and the selection of stable clusters.

`minimum_spanning_forest` runs between these two steps, with any algorithm.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError
from ..graphs.adopt import edge_list
from ..graphs.edge_list import EdgeList
from ..pipeline.options import check_count
from .clusters import linkage
from .reachability import reachability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..primitives import Backend
    from .edges import ForestEdges


def mutual_reachability(
    graph: Any,
    *,
    min_samples: int = 5,
    num_vertices: int | None = None,
    weight: str | None = "weight",
    backend: str = "auto",
) -> EdgeList:
    """Replace the weights of a graph of distances by mutual reachability distances.

    The core distance of a sample is the distance to its `min_samples`-th nearest sample, counting
    itself. The mutual reachability distance of an edge is the maximum of its distance and the core
    distances of both ends. The minimum spanning tree of the result is the tree of HDBSCAN, and
    `Forest.hdbscan` selects its clusters.

    Parameters
    ----------
    graph
        A graph in memory, as for `minimum_spanning_forest`. Vertices are samples and weights are
        non-negative distances. It has the edges of all pairs, or from each sample to at least
        ``min_samples - 1`` nearest neighbors. Each edge may occur once or as both arcs.
    min_samples : int
        Number of samples, including the sample itself, in a dense neighborhood. With 1, the
        weights do not change.
    num_vertices, weight, backend
        As for `minimum_spanning_forest`.

    Returns
    -------
    EdgeList
        The same edges with new weights of the same dtype. The core distance of a sample with too
        few neighbors is the largest value of the dtype, which is infinity for floats.

    Raises
    ------
    GraphError
        If the graph is invalid or has a negative weight. The message names the edge.
    OptionError
        If an option is invalid.
    """
    check_count("min_samples", min_samples, 1, optional=False)
    edges = edge_list(graph, num_vertices, weight)
    is_negative = edges.weight < 0
    if is_negative.any():
        first = int(is_negative.argmax())
        message = f"edge {first}: weight {edges.weight[first]} is negative; distances cannot be"
        raise GraphError(message)
    fields, _ = reachability.given(min_samples=int(min_samples)).run(
        edges, backend=backend, strategy="whole", progress=False
    )
    return EdgeList(edges.u, edges.v, fields["weights"], num_vertices=edges.num_vertices)


def hdbscan(forest: ForestEdges, min_cluster_size: int, backend: Backend) -> NDArray[np.int64]:
    """Return the most stable clusters, as documented at `Forest.hdbscan`."""
    check_count("min_cluster_size", min_cluster_size, 2, optional=False)
    home, parent, stability = _condense(linkage(forest, backend), min_cluster_size)
    is_stable = _choose(parent, stability)
    label = [-1] * len(parent)
    for cluster in range(1, len(parent)):  # parents come before their children
        label[cluster] = label[parent[cluster]]
        if label[cluster] == -1 and is_stable[cluster]:
            label[cluster] = cluster
    number = {-1: -1}
    labels = [number.setdefault(label[cluster], len(number) - 1) for cluster in home]
    return np.array(labels, np.int64)


def _condense(
    table: NDArray[np.float64], min_cluster_size: int
) -> tuple[list[int], list[int], list[float]]:
    """Condense a hierarchy from the root down.

    Edges of equal weight are removed together (Algorithm 1 of the source), so the result does not
    depend on the order of tied edges. If this leaves at least two components of `min_cluster_size`
    vertices, they become clusters; otherwise the cluster continues without the smaller components.
    Density is 1 / height. The stability of a cluster is the sum, over its vertices, of the
    difference between the density at which the vertex leaves and the density at which the cluster
    arises.

    Returns
    -------
    home : list of length n
        The smallest cluster that contains each vertex.
    parent, stability : lists, one entry for each cluster
        Cluster 0 is the root and its own parent.
    """
    n = len(table) + 1
    left, right = table[:, :2].T.astype(np.int64).tolist()
    height = table[:, 2].tolist()
    size = [1] * n + table[:, 3].astype(np.int64).tolist()
    home = [0] * len(size)
    parent, birth, stability = [0], [0.0], [0.0]
    is_tied = [False] * (n - 1)  # rows of the same split as a row above
    for row in reversed(range(n - 1)):
        if is_tied[row]:
            continue
        cluster, children, pending = home[n + row], [], [left[row], right[row]]
        while pending:
            child = pending.pop()
            if child >= n and height[child - n] == height[row]:
                is_tied[child - n] = True
                pending += [left[child - n], right[child - n]]
            else:
                children.append(child)
                home[child] = cluster
        if size[n + row] < min_cluster_size:
            continue  # these vertices left the cluster together, at a split above
        density = 1 / height[row] if height[row] else math.inf
        large = [child for child in children if size[child] >= min_cluster_size]
        if len(large) > 1:
            for child in large:
                home[child] = len(parent)
                parent.append(cluster)
                birth.append(density)
                stability.append(0.0)
        if density > birth[cluster]:  # inf - inf would be nan
            stays = size[large[0]] if len(large) == 1 else 0
            stability[cluster] += (density - birth[cluster]) * (size[n + row] - stays)
    return home[:n], parent, stability


def _choose(parent: list[int], stability: list[float]) -> list[bool]:
    """Return which clusters are at least as stable as the best selection among their descendants.

    Taking the outermost of these maximises the total stability of disjoint clusters. Ignore the
    root's entry; it is never selected.
    """
    within = [0.0] * len(parent)
    for cluster in reversed(range(1, len(parent))):
        within[parent[cluster]] += max(stability[cluster], within[cluster])
    return [own >= best for own, best in zip(stability, within, strict=True)]
