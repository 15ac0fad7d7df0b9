"""Stages that join edges one after another, in the order of their weights."""

from ..primitives.fused import ArrayModule
from .declare import stage
from .fields import Count, EdgeIndex, EdgeKeys, Index, Keys, VertexIndex


@stage(
    writes=("whole_u", "whole_v", "whole_key", "whole_id"), over="edges", combine="concatenation"
)
def bring_edges_together(
    u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex
) -> tuple[Index, Index, Keys, Index]:
    """Bring the edges that are left from all parts to one place, in order."""
    return u, v, key, edge_id


@stage(writes=("chosen", "color"))
def join_by_weight(
    ops: ArrayModule,
    whole_u: Index,
    whole_v: Index,
    whole_key: Keys,
    whole_id: Index,
    num_vertices: Count,
) -> tuple[Index, VertexIndex]:
    """Take the edges by weight, ties by position, and choose each that joins two fragments.

    Source: Kruskal, "On the Shortest Spanning Subtree of a Graph", 1956, construction A.
    """
    order = ops.argsort(whole_key)
    u, v = ops.gather(whole_u, order), ops.gather(whole_v, order)
    joining, color = ops.join_in_order(u, v, num_vertices)
    return ops.gather(whole_id, ops.gather(order, joining)), color
