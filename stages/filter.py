"""Stages that put heavy edges aside until the light ones have told which of them can matter."""

from ..primitives.interface import ArrayModule
from .declare import stage
from .fields import (
    Count,
    EdgeIndex,
    EdgeKeys,
    HeldIndex,
    HeldKeys,
    Index,
    Keys,
)

#: One key in so many is looked at to choose the pivot.
SAMPLE_EVERY = 16
#: Light edges for each vertex; fewer leave fragments small, more leave less to filter.
LIGHT_PER_VERTEX = 1.25
#: With fewer edges for each vertex than this, a second scan costs more than it saves.
FILTER_FROM = 3.0


@stage(writes="sample", over="edges", combine="concatenation")
def sample_keys(key: EdgeKeys, edge_id: EdgeIndex) -> Keys:
    """Take the keys of edges at even distances, the same however the edges are split.

    The ids must be consecutive, as they are before the first selection.
    """
    first = -int(edge_id[0]) % SAMPLE_EVERY if len(edge_id) else 0
    return key[first::SAMPLE_EVERY]


@stage(writes="pivot")
def choose_pivot(ops: ArrayModule, sample: Keys, num_vertices: Count, num_edges: Count) -> Count:
    """Choose the key up to which edges are light: a little over one for each vertex.

    In a graph of few edges all are light.

    Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
    ALENEX 2009, whose recursion on the pivot is one step here.
    """
    if num_edges <= FILTER_FROM * num_vertices:
        return ops.largest(sample.dtype)
    rank = int(len(sample) * LIGHT_PER_VERTEX * num_vertices / num_edges)
    return int(ops.partition(sample, rank)[rank])


@stage(writes=("held_u", "held_v", "held_key", "held_id"), over="edges", resizes="held")
def hold_edges(
    ops: ArrayModule, u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex, pivot: Count
) -> tuple[HeldIndex, HeldIndex, HeldKeys, HeldIndex]:
    """Remember all edges for the second scan, if any of them is heavy; nothing is copied."""
    stop = 0 if pivot == ops.largest(key.dtype) else len(u)
    return u[:stop], v[:stop], key[:stop], edge_id[:stop]


@stage(writes=("u", "v", "key", "edge_id"), over="edges", resizes="edges")
def select_light_edges(
    ops: ArrayModule, u: EdgeIndex, v: EdgeIndex, key: EdgeKeys, edge_id: EdgeIndex, pivot: Count
) -> tuple[EdgeIndex, EdgeIndex, EdgeKeys, EdgeIndex]:
    """Keep the edges up to the pivot, loops left out: the first scan."""
    return ops.compact((key <= pivot) & (u != v), u, v, key, edge_id)


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
    u, v = ops.gather(labels, held_u), ops.gather(labels, held_v)
    return ops.compact(u != v, u, v, held_key, held_id)
