"""Stages over a graph in compressed sparse row form (CSR), with both arcs of each edge.

Edges are sorted once, by weight and id. The position of an edge is its rank, so no two edges tie in
any round.
"""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Arcs, Count, Edges, Flags, Index, Lightest, VertexIndex


@stage(writes="edges")
def sort_edges(ops: ArrayModule, edges: Edges) -> Edges:
    """Sort the edges by weight, ties by id, so that the position of an edge is its rank."""
    order = ops.argsort(edges.key)
    return Edges(*(ops.gather(column, order) for column in edges))


@stage(writes="arcs")
def build_csr(ops: ArrayModule, edges: Edges, num_vertices: Count) -> Arcs:
    """Build the CSR form of the graph: edge and destination of each arc, ordered by source.

    Source: Sousa, Mariano and Proenca, section IV-A.
    """
    u, v, *_ = edges
    source = ops.concat([u, v])
    order = ops.argsort(source)
    dtype = order.dtype
    degree = ops.scatter_reduce(source, ops.full(len(order), 1, dtype), num_vertices, "sum", 0)
    return Arcs(
        order % max(1, len(u)),
        ops.gather(ops.concat([v, u]), order),
        ops.offsets(degree, dtype=dtype),
    )


@stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
def find_min_edge_per_vertex(ops: ArrayModule, arcs: Arcs, edges: Edges) -> Lightest:
    """Find the lightest edge of each vertex: its key, its id and its other end.

    A vertex without arcs gets the largest key and id, and itself as the other end. The paper breaks
    ties by destination, which does not order parallel edges; this stage compares ranks.

    Source: Sousa, Mariano and Proenca, section IV-B, step 1.
    """
    _, _, key, edge_id = edges
    vertex = ops.arange(len(arcs.offsets) - 1, dtype=arcs.destination.dtype)
    position = ops.segmented_argmin(arcs.edge, arcs.offsets)
    edge = ops.gather(arcs.edge, position, fill=len(key))
    return (
        ops.gather(key, edge, fill=ops.largest(key.dtype)),
        ops.gather(edge_id, edge, fill=ops.largest(edge_id.dtype)),
        ops.gather(arcs.destination, position, fill=vertex),
    )


@stage(writes=("is_crossing", "crossing_degree"))
def count_new_edges(ops: ArrayModule, arcs: Arcs, label: VertexIndex) -> tuple[Flags, VertexIndex]:
    """Flag the arcs between fragments, and count those of each vertex.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    _, destination, offsets = arcs
    is_crossing = ops.segmented_broadcast(label, offsets) != ops.gather(label, destination)
    degree = ops.segmented_reduce(is_crossing.astype(offsets.dtype), offsets, "sum", 0)
    return is_crossing, degree


@stage(writes=("segment_start", "fragment_offsets"))
def assign_edge_segments(
    ops: ArrayModule, crossing_degree: VertexIndex, label: VertexIndex, num_fragments: Count
) -> tuple[VertexIndex, Index]:
    """Assign a segment of the new arcs to each fragment, and a range in it to each of its vertices.

    A prefix sum of the fragments' degrees yields the segments, and one over the vertices sorted by
    fragment yields their ranges. In the paper, threads get places from an atomic counter instead,
    so the layout depends on timing.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    dtype = crossing_degree.dtype
    degree = ops.scatter_reduce(label, crossing_degree, num_fragments, "sum", 0)
    by_fragment = ops.argsort(label)
    start = ops.scan(ops.gather(crossing_degree, by_fragment), dtype=dtype, exclusive=True)
    return (
        ops.scatter(by_fragment, start, len(label), 0, dtype=dtype),
        ops.offsets(degree, dtype=dtype),
    )


@stage(writes="arcs")
def insert_new_edges(
    ops: ArrayModule,
    arcs: Arcs,
    label: VertexIndex,
    is_crossing: Flags,
    crossing_degree: VertexIndex,
    segment_start: VertexIndex,
    fragment_offsets: Index,
) -> Arcs:
    """Move the arcs between fragments to their segments of the contracted graph.

    Parallel arcs are kept: removing them costs more than it saves.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    dtype = crossing_degree.dtype
    edge, end = ops.compact(is_crossing, arcs.edge, arcs.destination)
    # All arcs of one vertex move by the same distance.
    shift = segment_start - ops.scan(crossing_degree, dtype=dtype, exclusive=True)
    moved = ops.segmented_broadcast(shift, ops.offsets(crossing_degree, dtype=dtype))
    place = ops.arange(len(edge), dtype=dtype) + moved
    return Arcs(
        ops.scatter(place, edge, len(edge), 0, dtype=edge.dtype),
        ops.scatter(place, ops.gather(label, end), len(edge), 0, dtype=end.dtype),
        fragment_offsets,
    )


@stage(writes="num_edges", combine="sum")
def count_arcs(arcs: Arcs) -> Count:
    """Count the remaining edges. Each edge has two arcs."""
    return len(arcs.edge) // 2
