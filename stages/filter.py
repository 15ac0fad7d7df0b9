"""Stages that process light edges first, and then only heavy edges that join fragments."""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Count, Edges, Index, Keys, Number, Verdict

#: The approximate size of a sample.
SAMPLE = 2**13
#: Two vertices are near if their ids differ by less, so that the data between fits in a cache.
NEAR = 2**14


@stage(writes="is_sparse")
def sparse_graph_left(
    num_edges: Count, num_vertices: Count, small: Number, dense: Number
) -> Verdict:
    """Return whether the graph has too few edges, in total or per vertex, for filtering to pay."""
    return num_edges <= max(0, small, dense * num_vertices)


def _sample(ops: ArrayModule, edge_id: Any, num_edges: int, *columns: Any) -> tuple[Any, ...]:
    """Return columns of a sample of the edges; it does not depend on the partitions.

    The sample consists of the edges whose ids are multiples of a power of two.
    """
    every, count = 1 << max(0, num_edges.bit_length() - SAMPLE.bit_length()), len(edge_id)
    first = int(edge_id[0]) if count else 0
    if not count or int(edge_id[-1]) - first == count - 1:  # consecutive ids
        return tuple(column[-first % every :: every] for column in columns)
    return ops.compact(edge_id & (every - 1) == 0, *columns)


@stage(writes=("sample_u", "sample_v"), combine="concatenation")
def sample_ends(ops: ArrayModule, edges: Edges, num_edges: Count) -> tuple[Index, Index]:
    """Return the ends of a sample of the edges, in order."""
    u, v = _sample(ops, edges.edge_id, num_edges, edges.u, edges.v)
    return u, v


@stage(writes="few_edges")
def choose_few_edges(
    ops: ArrayModule, sample_u: Index, sample_v: Index, few: Number, scattered: Number
) -> Number:
    """Choose the number of edges below which to join them one by one: more if ends are scattered.

    Rounds read data of vertices in the order of the edges, which is fast if consecutive edges have
    ends that are near. Joining by weight loses that order, so it pays earlier where there is none.
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
    """Return whether joining the remaining edges one by one is faster than further rounds.

    It is faster for few edges, and for many edges per fragment: rounds make little progress if most
    edges join the same pairs of fragments.
    """
    return num_edges <= max(0, few_edges) or num_edges > dense * num_vertices


@stage(writes="rounds_pay")
def rounds_pay(num_edges: Count, num_vertices: Count, few_edges: Number, dense: Number) -> Verdict:
    """Return the negation of `rounds_are_over`."""
    return not rounds_are_over(num_edges, num_vertices, few_edges, dense)


@stage(writes="sample", combine="concatenation")
def sample_keys(ops: ArrayModule, edges: Edges, num_edges: Count) -> Keys:
    """Return the keys of a sample of the edges."""
    return _sample(ops, edges.edge_id, num_edges, edges.key)[0]


@stage(writes="pivot")
def choose_pivot(
    ops: ArrayModule, sample: Keys, num_vertices: Count, num_edges: Count, light_per_vertex: Number
) -> Count:
    """Choose the largest key of a light edge, for about `light_per_vertex` of them per vertex.

    Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
    ALENEX 2009. There the pivot is the median.
    """
    rank = int(len(sample) * light_per_vertex * num_vertices / num_edges)
    if rank >= len(sample):
        return int(ops.largest(sample.dtype))
    return int(ops.partition(sample, rank)[rank])


@stage(writes="held_edges")
def hold_edges(edges: Edges) -> Edges:
    """Keep all edges for the second scan, without copying."""
    return edges


@stage(writes="edges")
def select_light_edges(ops: ArrayModule, edges: Edges, pivot: Count, num_vertices: Count) -> Edges:
    """Select the edges with keys up to the pivot, except loops: the first scan."""
    u, v, key, edge_id = edges
    dtype = ops.index_dtype(num_vertices)
    return Edges(*ops.compact_pairs(u, v, key, pivot, dtype, edge_id))


@stage(writes="edges")
def select_joining_edges(ops: ArrayModule, held_edges: Edges, labels: Index) -> Edges:
    """Select the edges that join two fragments of the light forest: the second scan.

    All of them are heavy. A heavy edge inside a fragment is the heaviest of a cycle.
    """
    return Edges(*ops.relabel_pairs(labels, *held_edges))
