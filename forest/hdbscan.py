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

    A split creates two clusters if both sides have at least `min_cluster_size` vertices; otherwise
    the cluster continues without the vertices of the small sides. Density is 1 / height. The
    stability of a cluster is the sum, over its vertices, of the difference between the density at
    which the vertex leaves and the density at which the cluster arises.

    Returns
    -------
    home : list of length n
        The smallest cluster that contains each vertex.
    parent, stability : lists, one entry for each cluster
        Cluster 0 is the root and its own parent.
    """
    n = len(table) + 1
    left, right = table[:, :2].T.astype(np.int64).tolist()
    density = [1 / height if height else math.inf for height in table[:, 2].tolist()]
    size = [1] * n + table[:, 3].astype(np.int64).tolist()
    home = [0] * len(size)
    parent, birth, stability = [0], [0.0], [0.0]
    for row in reversed(range(n - 1)):
        cluster, children = home[n + row], (left[row], right[row])
        home[left[row]] = home[right[row]] = cluster
        if size[n + row] < min_cluster_size:
            continue  # these vertices left the cluster together, at the split above
        leaving = [child for child in children if size[child] < min_cluster_size]
        if not leaving:
            leaving.extend(children)
            for child in children:
                home[child] = len(parent)
                parent.append(cluster)
                birth.append(density[row])
                stability.append(0.0)
        if density[row] > birth[cluster]:  # inf - inf would be nan
            lifetime = density[row] - birth[cluster]
            stability[cluster] += lifetime * sum(size[child] for child in leaving)
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
