"""Stages that select light edges, and afterwards those heavy edges that may join two fragments."""

from collections import Counter

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Amount, Count, Edges, Index, Keys, Verdict
from ...filter import choose_pivot

#: The largest number of labels from each rank that decide which fragment is the largest.
_SAMPLE = 2**10


@stage(writes="pivot")
def choose_light(
    ops: ArrayModule,
    sample: Keys,
    num_vertices: Count,
    num_edges: Count,
    light_per_vertex: Amount,
    num_labels: Count,
    num_partitions: Count,
    few: Count,
    dense: Amount,
) -> Count:
    """Choose the largest key of a light edge.

    All edges are light if there are few per fragment, or not more than vertices per rank.
    """
    if num_edges <= max(few, num_labels // num_partitions, dense * num_vertices):
        return int(ops.largest(sample.dtype))
    pivot: int = choose_pivot(ops, sample, num_vertices, num_edges, light_per_vertex)
    return pivot


@stage(writes="num_edges", combine="sum")
def count_heavy(ops: ArrayModule, edges: Edges, pivot: Count) -> Count:
    """Count the edges that are not light."""
    if pivot == int(ops.largest(edges.key.dtype)):
        return 0
    return ops.count(edges.key > pivot)


@stage(writes="has_heavy")
def has_heavy(num_edges: Count) -> Verdict:
    """Return whether there are heavy edges."""
    return num_edges > 0


@stage(writes="sampled_labels", combine="concatenation")
def sample_labels(parent: Index) -> Index:
    """Return the labels of some vertices of this rank."""
    return ~parent[:: max(1, len(parent) // _SAMPLE)]


@stage(writes="largest_fragment")
def find_largest(ops: ArrayModule, sampled_labels: Index) -> Count:
    """Return the most frequent label of the sample."""
    ((label, _),) = Counter(ops.to_host(sampled_labels).tolist()).most_common(1)
    return int(label)


@stage(writes="outside", combine="concatenation")
def mark_outside(ops: ArrayModule, parent: Index, largest_fragment: Count) -> Keys:
    """Send to all ranks which vertices are outside the largest fragment: a bit for each."""
    return ops.pack_flags(parent != ~largest_fragment)


@stage(writes="edges")
def select_outside(ops: ArrayModule, edges: Edges, outside: Keys) -> Edges:
    """Select the edges with an end outside the largest fragment.

    They include light edges inside other fragments, which `relabel_local` drops, and loops.
    """
    return Edges(*ops.compact_marked(outside, *edges))
