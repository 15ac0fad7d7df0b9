"""Stages that join edges one after another, in the order of their weights."""

from ..primitives.fused import ArrayModule
from .declare import stage
from .fields import Count, EdgeIndex, EdgeKeys, Index, Keys, VertexIndex


@stage(writes=("last_u", "last_v", "last_key", "last_id"), over="edges", combine="concatenation")
def bring_edges_together(
    u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex
) -> tuple[Index, Index, Keys, Index]:
    """Bring the edges that are left from all parts to one place, in order."""
    return u, v, key, edge_id


@stage(writes=("chosen", "color"))
def join_last_edges(
    ops: ArrayModule,
    last_u: Index,
    last_v: Index,
    last_key: Keys,
    last_id: Index,
    num_vertices: Count,
) -> tuple[Index, VertexIndex]:
    """Take the edges by weight, ties by position, and choose each that joins two fragments.

    Source: Kruskal, "On the Shortest Spanning Subtree of a Graph", 1956, construction A.
    """
    order = ops.argsort(last_key)
    u, v = ops.gather(last_u, order), ops.gather(last_v, order)
    joining, color = ops.join_in_order(u, v, num_vertices)
    return ops.gather(last_id, ops.gather(order, joining)), color
