"""Stages over a graph in compressed sparse row form (CSR), with both arcs of each edge.

Edges are sorted once, by weight and id. An arc has the rank of its edge in this order, so no two
edges tie in any round.
"""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Arcs, Count, Edges, Flags, Index, Lightest, VertexIndex


@stage(writes=("order", "rank"))
def sort_edges(ops: ArrayModule, edges: Edges) -> tuple[Index, Index]:
    """Sort the edges by (weight, id); return the edge of each rank, and the rank of each edge."""
    order = ops.argsort(edges.key)
    number = ops.arange(len(order), order.dtype)
    return order, ops.scatter(order, number, len(order), 0, dtype=order.dtype)


@stage(writes="arcs")
def build_csr(ops: ArrayModule, edges: Edges, rank: Index, num_vertices: Count) -> Arcs:
    """Build the CSR form of the graph: rank and destination of each arc, ordered by source.

    Source: Sousa, Mariano and Proenca, section IV-A.
    """
    return compress_rows(ops, edges.u, edges.v, rank, num_vertices)


def places_by_source(ops: ArrayModule, source: Any, num_vertices: int) -> tuple[Any, Any]:
    """Return the place of each arc in a stable order by source, and the offsets of the sources."""
    one = ops.full(len(source), 1, ops.index_dtype(len(source)))
    degree = ops.scatter_reduce(source, one, num_vertices, "sum", 0)
    offsets = ops.offsets(degree, dtype=one.dtype)
    return ops.multiprefix(source, one, offsets[:-1]), offsets


def compress_rows(ops: ArrayModule, u: Any, v: Any, edge: Any, num_vertices: int) -> Arcs:
    """Return both arcs of each edge as a CSR graph; arcs from `u` precede those from `v`."""
    u, v = (ops.asarray(end, ops.index_dtype(num_vertices)) for end in (u, v))
    source, size = ops.concat([u, v]), 2 * len(u)
    place, offsets = places_by_source(ops, source, num_vertices)
    return Arcs(
        ops.scatter(place, ops.concat([edge, edge]), size, 0, dtype=edge.dtype),
        ops.scatter(place, ops.concat([v, u]), size, 0, dtype=u.dtype),
        offsets,
    )


@stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
def find_min_edge_per_vertex(ops: ArrayModule, arcs: Arcs, edges: Edges, order: Index) -> Lightest:
    """Find the lightest edge of each vertex: its key, its id and its other end.

    A vertex without arcs gets the largest key and id, and itself as the other end. The paper breaks
    ties by destination, which does not order parallel edges; this stage compares ranks.

    Source: Sousa, Mariano and Proenca, section IV-B, step 1.
    """
    _, _, key, edge_id = edges
    vertex = ops.arange(len(arcs.offsets) - 1, dtype=arcs.destination.dtype)
    position = ops.segmented_argmin(arcs.edge, arcs.offsets)
    edge = ops.gather(order, ops.gather(arcs.edge, position, fill=len(key)), fill=len(key))
    return (
        ops.gather(key, edge, fill=ops.largest(key.dtype)),
        ops.gather(edge_id, edge, fill=ops.largest(edge_id.dtype)),
        ops.gather(arcs.destination, position, fill=vertex),
    )


@stage(writes=("target", "is_crossing", "crossing_degree"))
def count_new_edges(
    ops: ArrayModule, arcs: Arcs, label: VertexIndex
) -> tuple[Index, Flags, VertexIndex]:
    """Label the destinations, flag the arcs between fragments, and count these by vertex.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    return ops.relabel_arcs(label, arcs.destination, arcs.offsets)


@stage(writes=("segment_start", "fragment_offsets"))
def assign_edge_segments(
    ops: ArrayModule, crossing_degree: VertexIndex, label: VertexIndex, num_fragments: Count
) -> tuple[VertexIndex, Index]:
    """Assign a segment of the new arcs to each fragment, and a part of it to each vertex.

    A prefix sum of the fragments' degrees yields the segments. A prefix sum within a fragment
    yields the places of its vertices. In the paper, threads take places from an atomic counter, so
    their order depends on timing.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    degree = ops.scatter_reduce(label, crossing_degree, num_fragments, "sum", 0)
    offsets = ops.offsets(degree, dtype=degree.dtype)
    return ops.multiprefix(label, crossing_degree, offsets[:-1]), offsets


@stage(writes="arcs")
def insert_new_edges(
    ops: ArrayModule,
    arcs: Arcs,
    target: Index,
    is_crossing: Flags,
    segment_start: VertexIndex,
    fragment_offsets: Index,
) -> Arcs:
    """Move the arcs between fragments to their segments of the contracted graph.

    Parallel arcs are kept: removing them costs more than it saves.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    edge, destination = ops.segmented_compact(
        is_crossing, arcs.offsets, segment_start, arcs.edge, target
    )
    return Arcs(edge, destination, fragment_offsets)


@stage(writes="num_edges", combine="sum")
def count_arcs(arcs: Arcs) -> Count:
    """Count the remaining edges: half the number of arcs."""
    return len(arcs.edge) // 2
