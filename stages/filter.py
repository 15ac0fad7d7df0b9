"""Stages that set heavy edges aside until the light ones have shown which of them can matter."""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Count, Edges, Index, Keys, Number, Verdict

#: About how many keys, or edges, a sample holds.
SAMPLE = 2**13
#: Vertices whose ids differ by less are near: what belongs to those between stays in a cache.
NEAR = 2**14


@stage(writes="is_sparse")
def sparse_graph_left(
    num_edges: Count, num_vertices: Count, small: Number, dense: Number
) -> Verdict:
    """Return whether there are too few edges, for each vertex or at all, to set any aside."""
    return num_edges <= max(0, small, dense * num_vertices)


def _sample(ops: ArrayModule, edge_id: Any, num_edges: int, *columns: Any) -> tuple[Any, ...]:
    """Take the values of some edges, the same however the edges are partitioned."""
    every, count = 1 << max(0, num_edges.bit_length() - SAMPLE.bit_length()), len(edge_id)
    first = int(edge_id[0]) if count else 0
    if not count or int(edge_id[-1]) - first == count - 1:  # consecutive ids
        return tuple(column[-first % every :: every] for column in columns)
    return ops.compact(edge_id & (every - 1) == 0, *columns)


@stage(writes=("sample_u", "sample_v"), combine="concatenation")
def sample_ends(ops: ArrayModule, edges: Edges, num_edges: Count) -> tuple[Index, Index]:
    """Take the ends of some edges, in order."""
    u, v = _sample(ops, edges.edge_id, num_edges, edges.u, edges.v)
    return u, v


@stage(writes="few_edges")
def choose_few_edges(
    ops: ArrayModule, sample_u: Index, sample_v: Index, few: Number, scattered: Number
) -> Number:
    """Choose how many edges are few, more unless most follow one whose ends are near.

    Rounds read what belongs to vertices in the order of the edges, and gain if that is an order of
    the vertices, too; edges that are taken by weight have no such order left.
    """
    near = 0
    for ends in (sample_u, sample_v):
        before, after = ends[:-1], ends[1:]
        near += ops.count(ops.maximum(before, after) - ops.minimum(before, after) < NEAR)
    return few if near >= len(sample_u) else few * scattered


@stage(writes="rounds_are_over")
def rounds_are_over(
    num_edges: Count, num_vertices: Count, few_edges: Number, dense: Number
) -> Verdict:
    """Return whether joining the edges left one by one is quicker than further rounds.

    It is if they are few, or if there are many for each fragment: rounds stall where most edges
    join the same fragments over and over.
    """
    return num_edges <= max(0, few_edges) or num_edges > dense * num_vertices


@stage(writes="rounds_pay")
def rounds_pay(num_edges: Count, num_vertices: Count, few_edges: Number, dense: Number) -> Verdict:
    """Return the opposite of `rounds_are_over`."""
    return not rounds_are_over(num_edges, num_vertices, few_edges, dense)


@stage(writes="sample", combine="concatenation")
def sample_keys(ops: ArrayModule, edges: Edges, num_edges: Count) -> Keys:
    """Take the keys of some edges."""
    return _sample(ops, edges.edge_id, num_edges, edges.key)[0]


@stage(writes="pivot")
def choose_pivot(
    ops: ArrayModule, sample: Keys, num_vertices: Count, num_edges: Count, light_per_vertex: Number
) -> Count:
    """Choose the key up to which edges are light: `light_per_vertex` for each vertex.

    Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
    ALENEX 2009; their pivot is the median.
    """
    rank = int(len(sample) * light_per_vertex * num_vertices / num_edges)
    if rank >= len(sample):
        return int(ops.largest(sample.dtype))
    return int(ops.partition(sample, rank)[rank])


@stage(writes="held_edges")
def hold_edges(edges: Edges) -> Edges:
    """Keep all edges for the second scan, without a copy."""
    return edges


@stage(writes="edges")
def select_light_edges(ops: ArrayModule, edges: Edges, pivot: Count, num_vertices: Count) -> Edges:
    """Keep the edges up to the pivot, without loops: the first scan."""
    u, v, key, edge_id = edges
    dtype = ops.index_dtype(num_vertices)
    return Edges(*ops.compact_pairs(u, v, key, pivot, dtype, edge_id))


@stage(writes="edges")
def select_joining_edges(ops: ArrayModule, held_edges: Edges, labels: Index) -> Edges:
    """Keep the edges that join two fragments of the light forest: the second scan.

    No light edge is among them, and a heavy edge inside a fragment is the heaviest of a cycle.
    """
    return Edges(*ops.relabel_pairs(labels, *held_edges))
