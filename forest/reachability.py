"""Mutual reachability: distances between samples become the weights by which HDBSCAN joins them.

Samples are vertices. The core distance of a sample is that within which lie as many samples as are
asked for, itself among them: small where samples are dense. Core distances take one pass over the
edges for each neighbor up to the farthest that counts.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013, definitions 1 to 4.

Distances are compared as keys, which also take the weight's place in each edge.

Promise: each weight is one of those given, or the largest of its dtype, the same in any partition.
"""

from typing import Any

from ..pipeline.pipeline import Pipeline
from ..pipeline.steps import Loop
from ..primitives.vocabulary import ArrayModule
from ..stages.declare import stage
from ..stages.fields import Count, Edges, Verdict, VertexIndex, VertexKeys


@stage(writes=("core_distance", "core_neighbor", "num_samples"))
def start_core_distances(
    ops: ArrayModule, num_vertices: Count, weight_order: Any
) -> tuple[VertexKeys, VertexIndex, Count]:
    """Begin with each sample itself, at distance 0, before all its neighbors."""
    key = f"u{weight_order.dtype.itemsize}"
    return (
        ops.full(num_vertices, weight_order.key_of(0), dtype=key),
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
    """Find the nearest neighbor of each sample beyond the one found last: its distance, its number.

    Neighbors are ordered by (distance, number), so an edge that is given twice, as both arcs of a
    symmetric graph are, counts once. A sample without one gets the largest distance and number.
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
    none = ops.largest(neighbor.dtype)
    return nearest, ops.scatter_reduce(sample, neighbor, num_vertices, "min", none)


@stage(writes="num_samples")
def count_sample(num_samples: Count) -> Count:
    """Count the samples within the core distances."""
    return num_samples + 1


@stage(writes="enough_samples")
def enough_samples(num_samples: Count, min_samples: Count) -> Verdict:
    """Return whether as many samples are within the core distances as are asked for."""
    return num_samples >= min_samples


@stage(writes="edges")
def weigh_by_reachability(ops: ArrayModule, edges: Edges, core_distance: VertexKeys) -> Edges:
    """Let each edge weigh its distance, or the core distance of one of its ends if that is more."""
    core = ops.maximum(ops.gather(core_distance, edges.u), ops.gather(core_distance, edges.v))
    return edges._replace(key=ops.maximum(edges.key, core))


@stage(writes="weights", combine="concatenation")
def list_weights(ops: ArrayModule, edges: Edges, weight_order: Any) -> Any:
    """List the weights of all edges, in order."""
    return weight_order.weights_of(ops, edges.key)


#: Before the first stage of an algorithm these make its forest HDBSCAN's tree, by the strategies
#: "whole" and unbounded "iterate": the others suppose that an edge's weight is its own.
REACH = (
    start_core_distances,
    Loop(find_next_neighbors, count_sample, until=enough_samples),
    weigh_by_reachability,
)

reachability = Pipeline(
    "mutual-reachability", *REACH, list_weights, result=("weights",), values={"min_samples": 5}
)
