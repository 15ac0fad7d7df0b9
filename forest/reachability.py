"""Mutual reachability: distances between samples become the weights by which HDBSCAN joins them.

Samples are vertices. The core distance of a sample is that within which lie as many samples as are
asked for, itself among them: small where samples are dense. Core distances take one pass over the
edges for each neighbor up to the farthest that counts.

Source: Campello, Moulavi and Sander, "Density-Based Clustering Based on Hierarchical Density
Estimates", PAKDD 2013, definitions 1 to 4.

Promise: each weight is one of those given, or the largest of its dtype, the same in any partition.
"""

from ..pipeline.pipeline import Pipeline
from ..pipeline.steps import Loop
from ..primitives.vocabulary import ArrayModule
from ..stages.declare import stage
from ..stages.fields import (
    Count,
    EdgeIndex,
    EdgeWeights,
    Verdict,
    VertexIndex,
    VertexWeights,
    Weights,
)


@stage(writes=("core_distance", "core_neighbor", "num_samples"))
def start_core_distances(
    ops: ArrayModule, num_vertices: Count
) -> tuple[VertexWeights, VertexIndex, Count]:
    """Begin with each sample itself, before all its neighbors.

    False stands for the distance 0: bool is promoted to any dtype of weights.
    """
    return (
        ops.full(num_vertices, 0, dtype="bool"),
        ops.full(num_vertices, -1, dtype=ops.index_dtype(num_vertices)),
        1,
    )


@stage(writes=("core_distance", "core_neighbor"), over="edges", combine="lexicographic minimum")
def find_next_neighbors(
    ops: ArrayModule,
    u: EdgeIndex,
    v: EdgeIndex,
    weight: EdgeWeights,
    core_distance: VertexWeights,
    core_neighbor: VertexIndex,
    num_vertices: Count,
) -> tuple[VertexWeights, VertexIndex]:
    """Find the nearest neighbor of each sample beyond the one found last: its distance, its number.

    Neighbors are ordered by (distance, number), so an edge that is given twice, as both arcs of a
    symmetric graph are, counts once. Where there is none, the largest values stand.
    """
    sample, neighbor = ops.concat([u, v]), ops.concat([v, u])
    distance = ops.concat([weight, weight])
    last = ops.gather(core_distance, sample)
    is_tied = (distance == last) & (neighbor > ops.gather(core_neighbor, sample))
    is_beyond = (sample != neighbor) & ((distance > last) | is_tied)
    sample, neighbor, distance = ops.compact(is_beyond, sample, neighbor, distance)
    none = ops.largest(distance.dtype)
    nearest = ops.scatter_reduce(sample, distance, num_vertices, "min", none)
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
    """Tell whether as many samples are within the core distances as are asked for."""
    return num_samples >= min_samples


@stage(writes="weight", over="edges")
def weigh_by_reachability(
    ops: ArrayModule,
    u: EdgeIndex,
    v: EdgeIndex,
    weight: EdgeWeights,
    core_distance: VertexWeights,
) -> EdgeWeights:
    """Let each edge weigh its distance, or the core distance of one of its ends if that is more."""
    core = ops.maximum(ops.gather(core_distance, u), ops.gather(core_distance, v))
    return ops.maximum(weight, core)


@stage(writes="weights", over="edges", combine="concatenation")
def bring_weights_together(weight: EdgeWeights) -> Weights:
    """Bring the weights from all parts to one place, in order."""
    return weight


#: Before the first stage of an algorithm these make its forest HDBSCAN's tree, by the strategies
#: "whole" and "iterate": the others suppose that an edge's weight is its own.
REACH = (
    start_core_distances,
    Loop(find_next_neighbors, count_sample, until=enough_samples),
    weigh_by_reachability,
)

reachability = Pipeline(
    "mutual-reachability",
    *REACH,
    bring_weights_together,
    result=("weights",),
    values={"min_samples": 5},
)
