"""Stages that split the edges into light and heavy ones, and drop most heavy edges early.

The lightest edges are processed first. Their forest connects most vertices, and its trees are
called fragments. A heavy edge inside a fragment is the heaviest edge of a cycle, so it is dropped.
Only the heavy edges between two fragments remain.
"""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Amount, Count, Edges, Index, Keys, Verdict

#: The approximate number of edges in a sample.
SAMPLE = 2**13
#: Vertices are near if their ids differ by less: the data between them fit in a cache.
NEAR = 2**14
#: Every this many edges of a sample, two are compared: each is in a cache line of its own.
SPARSELY = 8


@stage(writes="is_sparse")
def sparse_graph_left(
    num_edges: Count, num_vertices: Count, small: Amount, dense: Amount
) -> Verdict:
    """Return whether there are at most `small` edges or `dense` edges per vertex: no split pays."""
    return num_edges <= max(small, dense * num_vertices)


def _sample(ops: ArrayModule, edge_id: Any, num_edges: int, *columns: Any) -> tuple[Any, ...]:
    """Return the elements of `columns` that belong to a sample of the edges.

    Their ids are the multiples of a power of two, so the sample does not depend on the partitions.
    """
    every, count = 1 << max(0, num_edges.bit_length() - SAMPLE.bit_length()), len(edge_id)
    # Fetch both ids at once: the host waits for each transfer from a device.
    ends = ops.to_host(ops.concat([edge_id[:1], edge_id[-1:]])).tolist()
    first = ends[0] if ends else 0
    if not ends or ends[1] - first == count - 1:  # consecutive ids
        return tuple(column[-first % every :: every] for column in columns)
    return ops.compact(edge_id & (every - 1) == 0, *columns)


@stage(writes=("sample_u", "sample_v"), combine="concatenation")
def sample_ends(ops: ArrayModule, edges: Edges, num_edges: Count) -> tuple[Index, Index]:
    """Return both ends of each edge in a sample."""
    u, v = _sample(ops, edges.edge_id, num_edges, edges.u, edges.v)
    return u, v


@stage(writes="few_edges")
def choose_few_edges(
    ops: ArrayModule, sample_u: Index, sample_v: Index, few: Amount, scattered: Amount
) -> Amount:
    """Choose the number of edges up to which Kruskal's algorithm is faster than Boruvka's.

    Boruvka's algorithm reads the edges in order. It is fast if the ends of most edges are near
    those of the edge before, whose data are still in the cache. This stage returns `few` if that
    holds for at least half of some edges in the sample, and `few * scattered` otherwise.
    """
    if scattered == 1:
        return few
    near = 0
    for ends in (sample_u, sample_v):
        before, after = ends[:-1:SPARSELY], ends[1::SPARSELY]
        near += ops.count(ops.maximum(before, after) - ops.minimum(before, after) < NEAR)
    return few if near >= len(before) else few * scattered


@stage(writes="rounds_are_over")
def rounds_are_over(
    num_edges: Count, num_vertices: Count, few_edges: Amount, dense: Amount
) -> Verdict:
    """Return whether Kruskal's algorithm is faster for the remaining edges than further rounds.

    That is the case if few edges remain, or if there are many per fragment. Then many of them join
    the same two fragments, and a round of Boruvka's algorithm drops only a few.
    """
    return num_edges <= few_edges or num_edges > dense * num_vertices


@stage(writes="rounds_pay")
def rounds_pay(num_edges: Count, num_vertices: Count, few_edges: Amount, dense: Amount) -> Verdict:
    """Return the opposite of `rounds_are_over`."""
    return not rounds_are_over(num_edges, num_vertices, few_edges, dense)


@stage(writes="sample", combine="concatenation")
def sample_keys(ops: ArrayModule, edges: Edges, num_edges: Count) -> Keys:
    """Return the key of each edge in a sample."""
    return _sample(ops, edges.edge_id, num_edges, edges.key)[0]


@stage(writes="pivot")
def choose_pivot(
    ops: ArrayModule, sample: Keys, num_vertices: Count, num_edges: Count, light_per_vertex: Amount
) -> Count:
    """Choose the pivot, the largest key of about `light_per_vertex` light edges per vertex.

    Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
    ALENEX 2009. There the pivot is the median.
    """
    share = light_per_vertex * num_vertices / num_edges
    if share >= 1:
        return int(ops.largest(sample.dtype))
    rank = int(len(sample) * share)
    return int(ops.partition(sample, rank)[rank])


@stage(writes="held_edges")
def hold_edges(edges: Edges) -> Edges:
    """Keep all edges for `select_joining_edges`, without a copy."""
    return edges


@stage(writes="edges")
def select_light_edges(
    ops: ArrayModule,
    edges: Edges,
    pivot: Count,
    num_edges: Count,
    num_vertices: Count,
    light_per_vertex: Amount,
    few_edges: Amount,
) -> Edges:
    """Select the edges whose keys are at most the pivot, without loops.

    Keep all edges if one partition has them and no rounds follow: `join_light_edges` selects them.
    """
    if len(edges.u) == num_edges and light_per_vertex * num_vertices <= few_edges:
        return edges
    u, v, key, edge_id = edges
    return Edges(*ops.compact_pairs(u, v, key, pivot, ops.index_dtype(num_vertices), edge_id))


@stage(writes="edges")
def select_joining_edges(ops: ArrayModule, held_edges: Edges, labels: Index) -> Edges:
    """Select the edges between two fragments of the light forest.

    `labels[x]` is the fragment of vertex x. Both ends of a light edge are in the same fragment.
    """
    return Edges(*ops.relabel_pairs(labels, *held_edges))
