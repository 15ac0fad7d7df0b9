"""Stages that build the single-linkage hierarchy of a forest, and functions for queries about it.

The hierarchy is a tree. Its nodes are the vertices and the edges of the forest. An edge joins two
clusters, and its node represents the resulting cluster. The *rank* of an edge is its position in
the order of (weight, edge id).
"""

from typing import Any

from ...primitives.vocabulary import ArrayModule
from ..declare import stage
from ..fields import Count, Edges, Index
from ..fragments import in_order_of_first


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


def line_up(ops: ArrayModule, parent: Any, size: Any, num_vertices: int) -> tuple[Any, Any]:
    """Arrange the vertices in a line in which every cluster of the hierarchy is contiguous.

    The place of a node is the place of its first vertex. The first child of an edge has the same
    place as the edge. The second child comes after the vertices of the first child. `parent` and
    `size` are results of `merge_clusters`.

    Returns
    -------
    place : index array of length n
        The place of each vertex.
    gap : index array of length n
        The rank of the edge that first joins the vertices at a place and the next in one cluster.
        Between two components and at the end, it is the number of edges.
    """
    dtype, num_edges = parent.dtype, len(size)
    node = ops.arange(len(parent), dtype=dtype)
    is_child = parent != node
    sizes = ops.concat([ops.full(num_vertices, 1, dtype=dtype), ops.asarray(size, dtype)])
    before = ops.scan(ops.where(~is_child, sizes, 0), dtype=dtype, exclusive=True)
    child, edge = ops.compact(is_child, node, parent)
    edge = edge - num_vertices
    first = ops.scatter_reduce(edge, child, num_edges, "min", ops.largest(dtype))
    second, edge = ops.compact(ops.gather(first, edge) != child, child, edge)
    shift = ops.gather(sizes, ops.gather(first, edge))
    shift = ops.scatter(second, shift, len(parent), 0, dtype=dtype)
    place = ops.path_sums(parent, ops.where(is_child, shift, before))
    gap = ops.scatter(ops.gather(place, second) - 1, edge, num_vertices, num_edges, dtype=dtype)
    return place[:num_vertices], gap


def heaviest_between(ops: ArrayModule, place: Any, table: Any, a: Any, b: Any, none: int) -> Any:
    """Return the highest rank on the path between each pair of vertices.

    This is the highest rank among the gaps between their places, because an edge joins two
    neighboring clusters of the line. It is `none` if both are the same vertex, and the number of
    edges if no path joins them. `place` is a result of `line_up`, and `table` the `max_table` of
    the gaps.
    """
    a, b = ops.gather(place, a), ops.gather(place, b)
    low, high = ops.minimum(a, b), ops.maximum(a, b)
    return ops.where(low < high, ops.range_max(table, low, ops.maximum(high - 1, low)), none)
