"""Stages that put heavy edges aside until the light ones have told which of them can matter."""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Count, EdgeIndex, EdgeKeys, HeldIndex, HeldKeys, Index, Keys, Verdict

#: About so many keys, or edges, are looked at.
SAMPLE = 2**13
#: Vertices whose numbers differ by less are near: what belongs to those between stays in a cache.
NEAR = 2**14


@stage(writes="is_sparse")
def sparse_graph_left(num_edges: Count, num_vertices: Count, small: Count, dense: float) -> Verdict:
    """Tell whether there are too few edges, for each vertex or at all, to put any aside."""
    return num_edges <= max(0, small, dense * num_vertices)


def _sample(ops: ArrayModule, edge_id: Any, num_edges: int, *columns: Any) -> tuple[Any, ...]:
    """Take the values of some edges, the same however the edges are split."""
    every, count = 1 << max(0, num_edges.bit_length() - SAMPLE.bit_length()), len(edge_id)
    first = int(edge_id[0]) if count else 0
    if not count or int(edge_id[-1]) - first == count - 1:  # consecutive ids
        return tuple(column[-first % every :: every] for column in columns)
    return ops.compact(edge_id & (every - 1) == 0, *columns)


@stage(writes=("sample_u", "sample_v"), over="edges", combine="concatenation")
def sample_ends(
    ops: ArrayModule, u: EdgeIndex, v: EdgeIndex, edge_id: EdgeIndex, num_edges: Count
) -> tuple[Index, Index]:
    """Take the ends of some edges, in order."""
    u, v = _sample(ops, edge_id, num_edges, u, v)
    return u, v


@stage(writes="few")
def join_more_if_scattered(
    ops: ArrayModule, sample_u: Index, sample_v: Index, few: Count, scattered: Count
) -> Count:
    """Raise the number of edges that are few, unless most follow one whose ends are near.

    Rounds read what belongs to vertices in the order of the edges, and gain if that is an order of
    the vertices, too; edges that are taken by weight have no such order left.
    """
    near = 0
    for ends in (sample_u, sample_v):
        before, after = ends[:-1], ends[1:]
        near += ops.count(ops.maximum(before, after) - ops.minimum(before, after) < NEAR)
    return few if near >= len(sample_u) else few * scattered


@stage(writes="few_edges")
def few_edges_left(num_edges: Count, num_vertices: Count, few: Count, dense: float) -> Verdict:
    """Tell whether so few edges are left that to join them one by one is quicker than rounds.

    Or so many for each fragment: rounds stall where most join the same ones over and over.
    """
    return num_edges <= max(0, few) or num_edges > dense * num_vertices


@stage(writes="sample", over="edges", combine="concatenation")
def sample_keys(ops: ArrayModule, key: EdgeKeys, edge_id: EdgeIndex, num_edges: Count) -> Keys:
    """Take the keys of some edges."""
    return _sample(ops, edge_id, num_edges, key)[0]


@stage(writes="pivot")
def choose_pivot(
    ops: ArrayModule,
    sample: Keys,
    num_vertices: Count,
    num_edges: Count,
    light_per_vertex: float,
) -> Count:
    """Choose the key up to which edges are light: `light_per_vertex` for each vertex.

    Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
    ALENEX 2009; their pivot is the median.
    """
    rank = int(len(sample) * light_per_vertex * num_vertices / num_edges)
    if rank >= len(sample):
        return int(ops.largest(sample.dtype))
    return int(ops.partition(sample, rank)[rank])


@stage(writes=("held_u", "held_v", "held_key", "held_id"), over="edges", resizes="held")
def hold_edges(
    u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex
) -> tuple[HeldIndex, HeldIndex, HeldKeys, HeldIndex]:
    """Remember all edges for the second scan; nothing is copied."""
    return u, v, key, edge_id


@stage(writes=("u", "v", "key", "edge_id"), over="edges", resizes="edges")
def select_light_edges(
    ops: ArrayModule,
    u: EdgeIndex,
    v: EdgeIndex,
    key: EdgeKeys,
    edge_id: EdgeIndex,
    pivot: Count,
    num_vertices: Count,
) -> tuple[EdgeIndex, EdgeIndex, EdgeKeys, EdgeIndex]:
    """Keep the edges up to the pivot, loops left out: the first scan."""
    return ops.compact_pairs(u, v, key, pivot, ops.index_dtype(num_vertices), edge_id)


@stage(writes=("u", "v", "key", "edge_id"), over="edges", resizes="edges")
def select_joining_edges(
    ops: ArrayModule,
    held_u: HeldIndex,
    held_v: HeldIndex,
    held_key: HeldKeys,
    held_id: HeldIndex,
    labels: Index,
) -> tuple[EdgeIndex, EdgeIndex, EdgeKeys, EdgeIndex]:
    """Keep the edges that join two fragments of the light forest: the second scan.

    No light edge is among them, and a heavy edge inside a fragment is the heaviest of a cycle.
    """
    return ops.relabel_pairs(labels, held_u, held_v, held_key, held_id)
