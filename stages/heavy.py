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
from .queries.hierarchy import heaviest_between, line_up


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
