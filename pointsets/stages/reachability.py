"""Stages that replace distances between samples by mutual reachability distances.

The vertices are samples, and the keys of the edges represent distances. The core distance of a
sample is the distance to its k-th nearest sample, counting itself, with k = `min_samples`. One pass
over the arcs finds the next nearest neighbor of every sample, and the next pass drops all arcs to
it. So a neighbor counts once, at its smallest distance.
"""

from ...primitives.vocabulary import ArrayModule
from ...primitives.weight_order import WeightOrder
from ...stages.declare import stage
from ...stages.fields import Count, Edges, Index, Keys, Verdict, VertexIndex, VertexKeys, Weights


@stage(writes=("core_distance", "core_neighbor", "num_samples"))
def start_core_distances(
    ops: ArrayModule, num_vertices: Count, weight_order: WeightOrder
) -> tuple[VertexKeys, VertexIndex, Count]:
    """Start with each sample as its own nearest sample, at distance 0."""
    key_dtype = f"u{weight_order.dtype.itemsize}"
    return (
        ops.full(num_vertices, weight_order.key_of(0), dtype=key_dtype),
        ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices)),
        1,
    )


@stage(writes=("sample", "neighbor", "distance"))
def list_neighbors(
    ops: ArrayModule, edges: Edges, num_vertices: Count
) -> tuple[Index, Index, Keys]:
    """List both arcs of each edge: a sample, its neighbor and the distance."""
    u, v = (ops.asarray(end, ops.index_dtype(num_vertices)) for end in (edges.u, edges.v))
    return ops.concat([u, v]), ops.concat([v, u]), ops.concat([edges.key, edges.key])


@stage(writes=("sample", "neighbor", "distance"))
def drop_found_neighbors(
    ops: ArrayModule, sample: Index, neighbor: Index, distance: Keys, core_neighbor: VertexIndex
) -> tuple[Index, Index, Keys]:
    """Drop all arcs to the neighbor of each sample that was found last."""
    is_left = neighbor != ops.gather(core_neighbor, sample)
    sample, neighbor, distance = ops.compact(is_left, sample, neighbor, distance)
    return sample, neighbor, distance


@stage(writes=("core_distance", "core_neighbor"), combine="lexicographic minimum")
def find_next_neighbors(
    ops: ArrayModule,
    sample: Index,
    neighbor: Index,
    distance: Keys,
    num_vertices: Count,
    weight_order: WeightOrder,
) -> tuple[VertexKeys, VertexIndex]:
    """Find the nearest remaining neighbor of each sample, ties by the smaller id.

    A sample without further neighbors gets the largest distance and the largest id.
    """
    farthest = weight_order.key_of(ops.largest(weight_order.dtype))
    nearest = ops.scatter_reduce(sample, distance, num_vertices, "min", farthest)
    is_nearest = distance == ops.gather(nearest, sample)
    sample, neighbor = ops.compact(is_nearest, sample, neighbor)
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
