"""Mutual reachability distances of a graph, from which HDBSCAN selects clusters."""

from collections.abc import Callable
from typing import Any

from ..errors import GraphError
from ..graphs.edge_list import EdgeList
from ..pipeline.options import check_count
from ..plugins import wing
from .catalogue.reachability import reachability


def mutual_reachability(
    graph: Any,
    *,
    min_samples: int = 5,
    num_vertices: int | None = None,
    weight: str | Callable[..., Any] | None = "weight",
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
        non-negative distances. It must contain all pairs, or the pairs of each sample and its
        ``min_samples - 1`` nearest neighbors. If several edges join two samples, such as both
        arcs of an edge, the smallest distance counts.
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
        If the graph is invalid or has a negative weight. Names the edge.
    OptionError
        If an option is invalid.
    """
    check_count("min_samples", min_samples, 1, optional=False)
    edges: EdgeList = wing("doors").edge_list(graph, num_vertices=num_vertices, weight=weight)
    is_negative = edges.weight < 0
    if is_negative.any():
        first = int(is_negative.argmax())
        message = (
            f"edge {first}: weight {edges.weight[first]} is negative; distances must be at least 0"
        )
        raise GraphError(message)
    fields, _ = reachability.given(min_samples=int(min_samples)).run(
        edges, backend=backend, strategy="whole", progress=False
    )
    return EdgeList(
        edges.u,
        edges.v,
        fields["weights"],
        num_vertices=edges.num_vertices,
        names=edges.names,
    )
