"""HDBSCAN in two halves: density into weights, and from the hierarchy the clusters that last.

Between them stands any spanning forest, found in whatever way.

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
    """Let the edges between samples weigh their mutual reachability distance.

    That is the largest of the edge's own distance and the core distances of its two ends, within
    which lie `min_samples` samples. The forest of the result is HDBSCAN's tree, and
    `Forest.hdbscan` its clusters.

    Parameters
    ----------
    graph
        Samples as vertices and distances, none of them negative, as weights: all pairs, or the
        nearest neighbors of each, at least ``min_samples - 1``. As `minimum_spanning_forest` takes
        it, but in memory. An edge may be given once or as both arcs.
    min_samples : int
        How many samples, with the one in question, make a neighborhood dense. With 1 the weights
        stay as they are.
    num_vertices, weight, backend
        As for `minimum_spanning_forest`.

    Returns
    -------
    EdgeList
        The same edges; their weights are some of those given, in the same dtype. A sample with too
        few neighbors has the largest core distance there is, infinity for floats.

    Raises
    ------
    GraphError
        On a graph that is not one, and on a negative weight; names the edge.
    OptionError
        On an option that is not right.
    """
    check_count("min_samples", min_samples, 1, optional=False)
    edges = edge_list(graph, num_vertices, weight)
    is_negative = edges.weight < 0
    if is_negative.any():
        first = int(is_negative.argmax())
        message = f"edge {first}: weight {edges.weight[first]} is negative, and so no distance"
        raise GraphError(message)
    fields, _ = reachability.given(min_samples=int(min_samples)).run(
        edges, backend=backend, strategy="whole", progress=False
    )
    return EdgeList(edges.u, edges.v, fields["weights"], num_vertices=edges.num_vertices)


def hdbscan(forest: ForestEdges, min_cluster_size: int, backend: Backend) -> NDArray[np.int64]:
    """Return the flat clusters that `Forest.hdbscan` describes."""
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
    """Follow a hierarchy down: a cluster is new where one splits into two that are large enough.

    Elsewhere a cluster merely loses vertices. Density is 1 / height; a vertex stays in a cluster
    from the density at which that arises to the one at which the vertex leaves it, and the sum over
    its vertices is the cluster's stability.

    Returns
    -------
    home : list of n
        The last cluster that each vertex is in.
    parent, stability : lists, an entry a cluster
        The first is the root, its own parent.
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
            continue  # its vertices have left the cluster together
        leaving = [child for child in children if size[child] < min_cluster_size]
        if not leaving:
            leaving.extend(children)
            for child in children:
                home[child] = len(parent)
                parent.append(cluster)
                birth.append(density[row])
                stability.append(0.0)
        if density[row] > birth[cluster]:  # both may be infinite, and their difference nothing
            lifetime = density[row] - birth[cluster]
            stability[cluster] += lifetime * sum(size[child] for child in leaving)
    return home[:n], parent, stability


def _choose(parent: list[int], stability: list[float]) -> list[bool]:
    """Tell which clusters are at least as stable as the best choice among those within them.

    This maximizes the sum of stabilities if of nested clusters only the outermost is taken. The
    root, whatever is said of it, is no choice.
    """
    within = [0.0] * len(parent)
    for cluster in reversed(range(1, len(parent))):
        within[parent[cluster]] += max(stability[cluster], within[cluster])
    return [own >= best for own, best in zip(stability, within, strict=True)]
