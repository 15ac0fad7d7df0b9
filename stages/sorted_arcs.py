"""Stages over both arcs of every edge, sorted by vertex: the arcs of a vertex are a segment."""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import ArcIndex, ArcKeys, Count, EdgeIndex, EdgeKeys, Offsets, VertexIndex, VertexKeys


@stage(writes=("u", "v", "key", "edge_id"), over="edges", resizes="edges")
def list_both_arcs(
    ops: ArrayModule, u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex
) -> tuple[EdgeIndex, EdgeIndex, EdgeKeys, EdgeIndex]:
    """List each edge twice, once from either end; ids still ascend."""
    ids = ops.concat([edge_id, edge_id])
    order = ops.argsort(ids)
    columns = ([u, v], [v, u], [key, key])
    return (
        *(ops.gather(ops.concat(both), order) for both in columns),
        ops.gather(ids, order),
    )


@stage(writes="num_edges", over="edges", combine="sum")
def count_listed_edges(ops: ArrayModule, u: EdgeIndex, v: EdgeIndex) -> Count:
    """Count the edges that are left: of each, the arc that leads to the larger vertex."""
    return ops.count(u < v)


@stage(
    writes=("arc_end", "arc_key", "arc_id", "offsets"), over="edges", resizes=("arcs", "offsets")
)
def sort_arcs(
    ops: ArrayModule,
    u: EdgeIndex,
    v: EdgeIndex,
    key: EdgeKeys,
    edge_id: EdgeIndex,
    num_vertices: Count,
) -> tuple[ArcIndex, ArcKeys, ArcIndex, Offsets]:
    """Sort the arcs by the vertex they start from; those of one vertex stay in the order of ids.

    Source: parallel-boruvka, "My solution", the first step of each round.
    """
    order = ops.argsort(u)
    one = ops.full(len(u), 1, dtype=order.dtype)
    degree = ops.scatter_reduce(u, one, num_vertices, "add", 0)
    arcs = (ops.gather(column, order) for column in (v, key, edge_id))
    return (*arcs, ops.offsets(degree, dtype=order.dtype))


@stage(writes=("best_key", "best_id", "best_end"), over="edges", combine="lexicographic minimum")
def find_shortest_arcs(
    ops: ArrayModule,
    arc_end: ArcIndex,
    arc_key: ArcKeys,
    arc_id: ArcIndex,
    offsets: Offsets,
    num_vertices: Count,
) -> tuple[VertexKeys, VertexIndex, VertexIndex]:
    """Take the lightest arc of each segment; parts of the edge list join their minima.

    Source: parallel-boruvka, "My solution": minima of each processor's segments, then merged.
    """
    position = ops.segmented_argmin(arc_key, offsets)
    vertex = ops.arange(num_vertices, dtype=ops.index_dtype(num_vertices))
    return (
        ops.gather(arc_key, position, fill=ops.largest(arc_key.dtype)),
        ops.gather(arc_id, position, fill=ops.largest(arc_id.dtype)),
        ops.asarray(ops.gather(arc_end, position, fill=vertex), vertex.dtype),
    )
