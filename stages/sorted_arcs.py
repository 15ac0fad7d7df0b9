"""Stages over a list of both arcs of each edge, and over the same list sorted by source."""

from ..primitives.vocabulary import ArrayModule
from .csr import places_by_source
from .declare import stage
from .fields import Count, Edges, Index, Keys, Lightest


@stage(writes="arc_list")
def list_both_arcs(ops: ArrayModule, edges: Edges, num_vertices: Count) -> Edges:
    """List both arcs of each edge, ordered by id."""
    dtype = ops.index_dtype(num_vertices)
    number = ops.arange(2 * len(edges.u), ops.index_dtype(2 * len(edges.u)))
    edge = number >> 1
    source, target = (ops.gather(ops.asarray(end, dtype), edge) for end in (edges.u, edges.v))
    is_back = (number & 1) > 0
    u, v = ops.where(is_back, target, source), ops.where(is_back, source, target)
    return Edges(u, v, ops.gather(edges.key, edge), ops.gather(edges.edge_id, edge))


@stage(writes="num_edges", combine="sum")
def count_listed_edges(ops: ArrayModule, arc_list: Edges) -> Count:
    """Count the remaining edges: the arcs that lead to the larger end."""
    return ops.count(arc_list.u < arc_list.v)


@stage(writes=("order", "sorted_key", "offsets"))
def sort_arcs(ops: ArrayModule, arc_list: Edges, num_vertices: Count) -> tuple[Index, Keys, Index]:
    """Sort the arcs by source, ties by id; return their positions, their keys and the offsets.

    This is a counting sort that moves only the keys.

    Source: parallel-boruvka, "My solution", the first step of each round. The source sorts whole
    records by comparisons.
    """
    size, dtype = len(arc_list.u), ops.index_dtype(len(arc_list.u))
    place, offsets = places_by_source(ops, arc_list.u, num_vertices)
    order = ops.scatter(place, ops.arange(size, dtype), size, 0, dtype=dtype)
    return order, ops.scatter(place, arc_list.key, size, 0, dtype=arc_list.key.dtype), offsets


@stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
def find_shortest_arcs(
    ops: ArrayModule,
    arc_list: Edges,
    order: Index,
    sorted_key: Keys,
    offsets: Index,
    num_vertices: Count,
) -> Lightest:
    """Find the lightest arc of each vertex: its key, its id and its other end.

    Source: parallel-boruvka, "My solution", which merges the minima of processors.
    """
    _, end, key, edge_id = arc_list
    arc = ops.gather(order, ops.segmented_argmin(sorted_key, offsets), fill=len(key))
    vertex = ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices))
    return (
        ops.gather(key, arc, fill=ops.largest(key.dtype)),
        ops.gather(edge_id, arc, fill=ops.largest(edge_id.dtype)),
        ops.asarray(ops.gather(end, arc, fill=vertex), vertex.dtype),
    )
