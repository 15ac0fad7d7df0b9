"""Stages that build the single-linkage hierarchy of a forest, and its clusters at a threshold.

The hierarchy is a tree. Its nodes are the vertices and the edges of the forest. An edge joins two
clusters, and its node represents the resulting cluster. The *rank* of an edge is its position in
the order of (weight, edge id).
"""

from typing import Any

from ...primitives.vocabulary import ArrayModule
from ...stages.declare import stage
from ...stages.fields import Count, Edges, Index
from ...stages.fragments import in_order_of_first


@stage(writes=("edges", "order"))
def rank_edges(ops: ArrayModule, whole_edges: Edges) -> tuple[Edges, Index]:
    """Sort the edges of the forest, which ascend by id, by key; replace their ids by ranks."""
    order = ops.argsort(whole_edges.key)
    u, v, key = (ops.gather(column, order) for column in whole_edges[:3])
    return Edges(u, v, key, ops.consecutive(0, len(order), dtype=order.dtype)), order


@stage(writes=("parent", "size"))
def merge_clusters(ops: ArrayModule, edges: Edges, num_vertices: Count) -> tuple[Index, Index]:
    """Return the parent of each node, and the number of vertices below each edge.

    Vertices are nodes 0 to n - 1. The edge of rank r is node n + r. A root is its own parent.
    """
    return ops.merge_in_order(edges.u, edges.v, num_vertices)


def clusters_at(ops: ArrayModule, parent: Any, num_vertices: int, num_kept: int) -> Any:
    """Return the cluster of each vertex if only the `num_kept` lightest edges join vertices.

    Clusters are numbered (int64) in the order of their first vertices. `parent` is a result of
    `merge_clusters`.
    """
    size = num_vertices + num_kept
    parent = parent[:size]
    root = ops.where(parent < size, parent, ops.arange(size, dtype=parent.dtype))
    return in_order_of_first(ops, ops.pointer_jump(root)[:num_vertices], size)
