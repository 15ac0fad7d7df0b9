"""Stages that drop edges which are too heavy for the minimum forest, by the forest of a sample.

An edge is *heavy* for a forest if the forest joins its ends, and the edge comes after all edges of
this path in the order of (weight, edge id). A heavy edge is the last one of a cycle, so it is in no
minimum forest. If a sample has each edge with probability 1/2, at most 2 n edges are expected not
to be heavy for its minimum forest.
"""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Amount, Count, Edges, Index, Verdict, VertexIndex
from .filter import hashed


@stage(writes="few_edges_left")
def few_edges_left(num_edges: Count, small: Amount) -> Verdict:
    """Return whether at most `small` edges remain."""
    return num_edges <= small


@stage(writes="sample")
def sample_half(ops: ArrayModule, edges: Edges, num_edges: Count) -> Edges:
    """Select each edge by one bit of a hash of its id and of the number of edges.

    So samples do not depend on partitions, and those of other numbers of edges are independent.
    """
    mixed = hashed(ops.asarray(edges.edge_id, "uint64") + hashed(num_edges))
    return Edges(*ops.compact((mixed >> 40) & 1 == 1, *edges))


@stage(writes="forest_edges", combine="concatenation")
def select_sample_forest(ops: ArrayModule, edges: Edges, sample_forest: Index) -> Edges:
    """Select the edges of the sample's forest, whose ids ascend."""
    ids = ops.asarray(sample_forest, edges.edge_id.dtype)
    return Edges(*ops.compact(ops.isin(edges.edge_id, ids), *edges))


@stage(writes=("path_place", "path_table", "ranked_edges"))
def index_paths(
    ops: ArrayModule, forest_edges: Edges, num_vertices: Count
) -> tuple[VertexIndex, Any, Edges]:
    """Sort the edges of a forest by weight, and prepare to find the heaviest edge of any path."""
    order = ops.argsort(forest_edges.key)
    ranked = Edges(*(ops.gather(column, order) for column in forest_edges))
    parent, size = ops.merge_in_order(ranked.u, ranked.v, num_vertices)
    place, gap = line_up(ops, parent, size, num_vertices)
    return place, ops.max_table(gap), ranked


@stage(writes="edges")
def drop_heavy_edges(
    ops: ArrayModule, edges: Edges, path_place: VertexIndex, path_table: Any, ranked_edges: Edges
) -> Edges:
    """Drop the edges that are heavy for the forest.

    Source: King, "A Simpler Minimum Spanning Tree Verification Algorithm", 1997, has the same
    queries in linear time; here a table answers them.
    """
    _, _, ranked_key, ranked_id = ranked_edges
    none = len(ranked_key)
    rank = heaviest_between(ops, path_place, path_table, edges.u, edges.v, none)
    key = ops.gather(ranked_key, rank, fill=ops.largest(ranked_key.dtype))
    last = ops.gather(ranked_id, rank, fill=ops.largest(ranked_id.dtype))
    is_light = (edges.key < key) | ((edges.key == key) & (edges.edge_id <= last))
    return Edges(*ops.compact(is_light, *edges))


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
