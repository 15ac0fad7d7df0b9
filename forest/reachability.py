"""Mutual reachability distances, the weights of HDBSCAN; see `mutual_reachability`.

The vertices are samples. Each pass over the edges finds the next nearest neighbor of every sample.
Distances are represented by their keys.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013, definitions 1 to 4.

Promise: each new weight is one of the given weights, or the largest value of the dtype, and does
not depend on the partitions.
"""

from collections.abc import Callable
from typing import Any

from ..errors import GraphError
from ..graphs.edge_list import EdgeList
from ..graphs.open import edge_list
from ..pipeline.options import check_count
from ..pipeline.pipeline import Pipeline
from ..pipeline.steps import Loop
from ..primitives.vocabulary import ArrayModule
from ..stages.declare import stage
from ..stages.fields import Count, Edges, Verdict, VertexIndex, VertexKeys


@stage(writes=("core_distance", "core_neighbor", "num_samples"))
def start_core_distances(
    ops: ArrayModule, num_vertices: Count, weight_order: Any
) -> tuple[VertexKeys, VertexIndex, Count]:
    """Start with each sample as its own nearest sample, at distance 0.

    Its id as a neighbor is -1, which precedes all other neighbors at distance 0.
    """
    key_dtype = f"u{weight_order.dtype.itemsize}"
    return (
        ops.full(num_vertices, weight_order.key_of(0), dtype=key_dtype),
        ops.full(num_vertices, -1, dtype=ops.index_dtype(num_vertices)),
        1,
    )


@stage(writes=("core_distance", "core_neighbor"), combine="lexicographic minimum")
def find_next_neighbors(
    ops: ArrayModule,
    edges: Edges,
    core_distance: VertexKeys,
    core_neighbor: VertexIndex,
    num_vertices: Count,
    weight_order: Any,
) -> tuple[VertexKeys, VertexIndex]:
    """Find the next nearest neighbor of each sample, in the order (distance, neighbor).

    This order counts an edge once even if it occurs twice, as in symmetric graphs. A sample
    without further neighbors gets the largest distance and the largest id.
    """
    u, v, key, _ = edges
    sample, neighbor = ops.concat([u, v]), ops.concat([v, u])
    distance = ops.concat([key, key])
    last = ops.gather(core_distance, sample)
    is_tied = (distance == last) & (neighbor > ops.gather(core_neighbor, sample))
    is_beyond = (sample != neighbor) & ((distance > last) | is_tied)
    sample, neighbor, distance = ops.compact(is_beyond, sample, neighbor, distance)
    farthest = weight_order.key_of(ops.largest(weight_order.dtype))
    nearest = ops.scatter_reduce(sample, distance, num_vertices, "min", farthest)
    is_nearest = distance == ops.gather(nearest, sample)
    sample, neighbor = ops.compact(is_nearest, sample, neighbor)
    neighbor = ops.asarray(neighbor, core_neighbor.dtype)
    no_neighbor = ops.largest(neighbor.dtype)
    return nearest, ops.scatter_reduce(sample, neighbor, num_vertices, "min", no_neighbor)


@stage(writes="num_samples")
def count_sample(num_samples: Count) -> Count:
    """Count the neighbor found in this pass."""
    return num_samples + 1


@stage(writes="enough_samples")
def enough_samples(num_samples: Count, min_samples: Count) -> Verdict:
    """Return whether the core distances include `min_samples` samples."""
    return num_samples >= min_samples


@stage(writes="edges")
def weigh_by_reachability(ops: ArrayModule, edges: Edges, core_distance: VertexKeys) -> Edges:
    """Replace each key by the maximum of itself and the core distances of both ends."""
    core = ops.maximum(ops.gather(core_distance, edges.u), ops.gather(core_distance, edges.v))
    return edges._replace(key=ops.maximum(edges.key, core))


@stage(writes="weights", combine="concatenation")
def list_weights(ops: ArrayModule, edges: Edges, weight_order: Any) -> Any:
    """Return the weights of all edges, in the order of edge ids."""
    return weight_order.weights_of(ops, edges.key)


#: Insert these steps before an algorithm to compute the tree of HDBSCAN. They need the strategy
#: "whole", or "iterate" without `memory`, because other strategies split the edges before all new
#: weights are known.
REACH = (
    start_core_distances,
    Loop(find_next_neighbors, count_sample, until=enough_samples),
    weigh_by_reachability,
)

reachability = Pipeline(
    "mutual-reachability", *REACH, list_weights, result=("weights",), values={"min_samples": 5}
)


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
        If the graph is invalid or has a negative weight. Names the edge.
    OptionError
        If an option is invalid.
    """
    check_count("min_samples", min_samples, 1, optional=False)
    edges = edge_list(graph, num_vertices, weight)
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
