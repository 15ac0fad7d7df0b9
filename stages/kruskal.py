"""Stages that sort edges by weight and join them one after another."""

from ..primitives.vocabulary import ArrayModule
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
    """Take the edges one by one, the lightest first, and choose each that joins two fragments.

    Source: Kruskal, "On the Shortest Spanning Subtree of a Graph", 1956, construction A.
    """
    joining, color = ops.join_by_key(whole_u, whole_v, whole_key, num_vertices)
    return ops.gather(whole_id, joining), color


@stage(writes=("sorted_u", "sorted_v", "order"))
def sort_by_weight(
    ops: ArrayModule, whole_u: Index, whole_v: Index, whole_key: Keys
) -> tuple[Index, Index, Index]:
    """Sort the edges by weight, ties by position, and remember where each of them stood."""
    order = ops.argsort(whole_key)
    return ops.gather(whole_u, order), ops.gather(whole_v, order), order


@stage(writes=("chosen", "main_cycles", "helper_cycles"))
def join_with_helpers(
    ops: ArrayModule,
    sorted_u: Index,
    sorted_v: Index,
    order: Index,
    whole_id: Index,
    num_vertices: Count,
) -> tuple[Index, Count, Count]:
    """Join as `join_by_weight`, with helpers; count the cycle edges each side rejects.

    The edges chosen are always the same, the counts depend on the timing of threads.

    Source: Katsigiannis et al., "An approach to parallelize Kruskal's algorithm using Helper
    Threads", algorithms 2 and 3, and the counts of figure 7.
    """
    joining, helper_cycles = ops.join_with_helpers(sorted_u, sorted_v, num_vertices)
    chosen = ops.gather(whole_id, ops.gather(order, joining))
    return chosen, len(order) - len(joining) - helper_cycles, helper_cycles
