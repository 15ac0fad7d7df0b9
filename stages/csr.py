"""Stages over a compressed sparse row graph (CSR) that holds both arcs of each edge.

An arc is two numbers: where it leads and which edge it belongs to. Edges are sorted once, by
weight and id, so an edge's position is its rank: no two arcs at a vertex tie, in any round.
"""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import (
    ArcFlags,
    ArcIndex,
    Count,
    EdgeIndex,
    EdgeKeys,
    Index,
    Offsets,
    VertexIndex,
    VertexKeys,
)


@stage(writes=("u", "v", "key", "edge_id"), over="edges")
def sort_edges(
    ops: ArrayModule, u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex
) -> tuple[EdgeIndex, EdgeIndex, EdgeKeys, EdgeIndex]:
    """Sort edges by weight, ties by id: from here on the position of an edge is its rank."""
    order = ops.argsort(key)
    return (
        ops.gather(u, order),
        ops.gather(v, order),
        ops.gather(key, order),
        ops.gather(edge_id, order),
    )


@stage(writes=("arc_edge", "destination", "offsets"), over="edges", resizes=("arcs", "offsets"))
def build_csr(
    ops: ArrayModule, u: EdgeIndex, v: EdgeIndex, num_vertices: Count
) -> tuple[ArcIndex, ArcIndex, Offsets]:
    """List the arcs of each vertex one after another: the edge and the destination of each.

    Source: Sousa, Mariano and Proenca, section IV-A.
    """
    dtype = ops.index_dtype(2 * len(u))
    edge = ops.arange(len(u), dtype=dtype)
    source = ops.concat([u, v])
    order = ops.argsort(source)
    degree = ops.scatter_reduce(
        source, ops.full(len(source), 1, dtype=dtype), num_vertices, "add", 0
    )
    return (
        ops.gather(ops.concat([edge, edge]), order),
        ops.gather(ops.concat([v, u]), order),
        ops.offsets(degree, dtype=dtype),
    )


@stage(writes=("best_key", "best_id", "best_end"), over="edges", combine="lexicographic minimum")
def find_min_edge_per_vertex(
    ops: ArrayModule,
    arc_edge: ArcIndex,
    destination: ArcIndex,
    offsets: Offsets,
    key: EdgeKeys,
    edge_id: EdgeIndex,
) -> tuple[VertexKeys, VertexIndex, VertexIndex]:
    """Find the lightest edge of each vertex in its segment of arcs: its key, id and other end.

    A vertex without arcs gets the largest key and id, and itself as the end. The text scans each
    vertex's arcs in a thread and breaks ties by destination, which is no order once edges are
    parallel; here it is one segmented reduction over ranks.

    Source: Sousa, Mariano and Proenca, section IV-B, step 1.
    """
    vertex = ops.arange(len(offsets) - 1, dtype=destination.dtype)
    position = ops.segmented_argmin(arc_edge, offsets)
    edge = ops.gather(arc_edge, position, fill=len(key))
    return (
        ops.gather(key, edge, fill=ops.largest(key.dtype)),
        ops.gather(edge_id, edge, fill=ops.largest(edge_id.dtype)),
        ops.gather(destination, position, fill=vertex),
    )


@stage(writes=("is_crossing", "crossing_degree"), over="edges")
def count_new_edges(
    ops: ArrayModule, destination: ArcIndex, offsets: Offsets, label: VertexIndex
) -> tuple[ArcFlags, VertexIndex]:
    """Flag the arcs that lead to another fragment, and count them at each vertex.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    is_crossing = ops.segmented_broadcast(label, offsets) != ops.gather(label, destination)
    degree = ops.segmented_reduce(is_crossing.astype(offsets.dtype), offsets, "sum", 0)
    return is_crossing, degree


@stage(writes=("segment_start", "fragment_offsets"), over="edges")
def assign_edge_segments(
    ops: ArrayModule, crossing_degree: VertexIndex, label: VertexIndex, num_fragments: Count
) -> tuple[VertexIndex, Index]:
    """Give each fragment a segment of the new arcs, and in it each of its vertices a place.

    The degrees of a fragment's vertices add up to its own, whose exclusive scan starts the
    segments. The text lets threads draw places from an atomic counter; a second scan, over the
    vertices in order of fragment, gives every run the same layout.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    dtype = crossing_degree.dtype
    degree = ops.scatter_reduce(label, crossing_degree, num_fragments, "add", 0)
    by_fragment = ops.argsort(label)
    start = ops.scan(ops.gather(crossing_degree, by_fragment), dtype=dtype, exclusive=True)
    return (
        ops.scatter(by_fragment, start, len(label), 0, dtype=dtype),
        ops.offsets(degree, dtype=dtype),
    )


@stage(writes=("arc_edge", "destination", "offsets"), over="edges", resizes=("arcs", "offsets"))
def insert_new_edges(
    ops: ArrayModule,
    arc_edge: ArcIndex,
    destination: ArcIndex,
    label: VertexIndex,
    is_crossing: ArcFlags,
    crossing_degree: VertexIndex,
    segment_start: VertexIndex,
    fragment_offsets: Index,
) -> tuple[ArcIndex, ArcIndex, Offsets]:
    """Scatter the crossing arcs into the segments of the contracted graph.

    Parallel arcs between two fragments stay: dropping them costs more than it saves.

    Source: Sousa, Mariano and Proenca, section IV-B, step 5.
    """
    dtype = crossing_degree.dtype
    edge, end = ops.compact(is_crossing, arc_edge, destination)
    # The arcs of one vertex move together: by where they start now and where they shall.
    shift = segment_start - ops.scan(crossing_degree, dtype=dtype, exclusive=True)
    moved = ops.segmented_broadcast(shift, ops.offsets(crossing_degree, dtype=dtype))
    place = ops.arange(len(edge), dtype=dtype) + moved
    return (
        ops.scatter(place, edge, len(edge), 0, dtype=edge.dtype),
        ops.scatter(place, ops.gather(label, end), len(edge), 0, dtype=end.dtype),
        fragment_offsets,
    )


@stage(writes="num_edges", over="edges", combine="sum")
def count_arcs(arc_edge: ArcIndex) -> Count:
    """Count the edges that are left, two arcs each."""
    return len(arc_edge) // 2
