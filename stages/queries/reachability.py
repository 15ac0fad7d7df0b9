"""Stages that replace distances between samples by mutual reachability distances.

The vertices are samples, and the keys of the edges represent distances. The core distance of a
sample is the distance to its k-th nearest sample, counting itself, with k = `min_samples`. One pass
over the edges finds the next nearest neighbor of every sample.
"""

from ...primitives.vocabulary import ArrayModule
from ...primitives.weight_order import WeightOrder
from ..declare import stage
from ..fields import Count, Edges, Verdict, VertexIndex, VertexKeys, Weights


@stage(writes=("core_distance", "core_neighbor", "num_samples"))
def start_core_distances(
    ops: ArrayModule, num_vertices: Count, weight_order: WeightOrder
) -> tuple[VertexKeys, VertexIndex, Count]:
    """Start with each sample as its own nearest sample, at distance 0.

    The id of this neighbor is -1, which precedes all other neighbors at distance 0.
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
    weight_order: WeightOrder,
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
def list_weights(ops: ArrayModule, edges: Edges, weight_order: WeightOrder) -> Weights:
    """Return the weights of all edges, in the order of edge ids."""
    return weight_order.weights_of(ops, edges.key)
