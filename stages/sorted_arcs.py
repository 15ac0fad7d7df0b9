"""Stages over both arcs of each edge, sorted so that the arcs of a vertex are a segment."""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Count, Edges, Index, Lightest


@stage(writes="edges")
def list_both_arcs(ops: ArrayModule, edges: Edges) -> Edges:
    """List both arcs of each edge, ordered by id."""
    u, v, key, edge_id = edges
    ids = ops.concat([edge_id, edge_id])
    order = ops.argsort(ids)
    columns = (ops.concat(both) for both in ([u, v], [v, u], [key, key]))
    return Edges(*(ops.gather(column, order) for column in (*columns, ids)))


@stage(writes="num_edges", combine="sum")
def count_listed_edges(ops: ArrayModule, edges: Edges) -> Count:
    """Count the remaining edges. Only the arcs that lead to the larger vertex count."""
    return ops.count(edges.u < edges.v)


@stage(writes=("sorted_arcs", "offsets"))
def sort_arcs(ops: ArrayModule, edges: Edges, num_vertices: Count) -> tuple[Edges, Index]:
    """Sort the arcs by source. Arcs of the same source remain in the order of ids.

    Source: parallel-boruvka, "My solution", the first step of each round.
    """
    order = ops.argsort(edges.u)
    one = ops.full(len(order), 1, dtype=order.dtype)
    degree = ops.scatter_reduce(edges.u, one, num_vertices, "sum", 0)
    arcs = Edges(*(ops.gather(column, order) for column in edges))
    return arcs, ops.offsets(degree, dtype=order.dtype)


@stage(writes=("best_key", "best_id", "best_end"), combine="lexicographic minimum")
def find_shortest_arcs(
    ops: ArrayModule, sorted_arcs: Edges, offsets: Index, num_vertices: Count
) -> Lightest:
    """Find the lightest arc of each vertex: its key, its id and its other end.

    Source: parallel-boruvka, "My solution". There, the minima of the processors are merged.
    """
    _, end, key, edge_id = sorted_arcs
    position = ops.segmented_argmin(key, offsets)
    vertex = ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices))
    return (
        ops.gather(key, position, fill=ops.largest(key.dtype)),
        ops.gather(edge_id, position, fill=ops.largest(edge_id.dtype)),
        ops.asarray(ops.gather(end, position, fill=vertex), vertex.dtype),
    )
