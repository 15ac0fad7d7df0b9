"""Stages that split the edges into light and heavy ones, and drop most heavy edges early.

The lightest edges are processed first. Their forest connects most vertices, and its trees are
called fragments. A heavy edge inside a fragment is the heaviest edge of a cycle, so it is dropped.
Only the heavy edges between two fragments remain.
"""

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Amount, Count, Edges, Index, Keys, Verdict

#: At least one of this many edges is light, so the passes of a loop over the remaining edges take
#: time linear in their number, even if most light edges are parallel or loops.
LEAST_LIGHT = 32


@stage(writes="is_sparse")
def sparse_graph_left(
    num_edges: Count, num_vertices: Count, small: Amount, dense: Amount
) -> Verdict:
    """Return whether there are at most `small` edges or `dense` edges per vertex: no split pays."""
    return num_edges <= max(small, dense * num_vertices)


@stage(writes="sample", combine="concatenation")
def sample_keys(ops: ArrayModule, edges: Edges, num_edges: Count, sample_size: Amount) -> Keys:
    """Return the key of one edge of each block of 2^k consecutive edges.

    A hash of the number of the block chooses the edge, so no regular order of the edges evades the
    sample. It is empty if each partition has less than a block.
    """
    bits = max(0, num_edges.bit_length() - int(sample_size).bit_length())
    block = ops.arange(len(edges.key) >> bits, "int64")
    hashed = ops.asarray(block, "uint64") * 0x1E3779B97F4A7C15
    hashed = (hashed ^ (hashed >> 32)) * 0x56E8FEB86659FD93
    offset = ops.asarray(hashed >> 1, "int64") >> (63 - bits)
    return ops.gather(edges.key, (block << bits) + offset)


@stage(writes="pivot")
def choose_pivot(
    ops: ArrayModule, sample: Keys, num_vertices: Count, num_edges: Count, light_per_vertex: Amount
) -> Count:
    """Choose the pivot, the largest key of about `light_per_vertex` light edges per vertex.

    All edges are light if the sample is empty.

    Source: Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
    ALENEX 2009. There the pivot is the median.
    """
    share = max(light_per_vertex * num_vertices / num_edges, 1 / LEAST_LIGHT)
    rank = len(sample) * min(share, 1)
    if rank >= len(sample):
        return int(ops.largest(sample.dtype))
    return int(ops.partition(sample, int(rank))[int(rank)])


@stage(writes="all_edges")
def keep_edges(edges: Edges) -> Edges:
    """Keep all edges, without a copy, while `edges` are the light ones."""
    return edges


@stage(writes="edges")
def restore_edges(all_edges: Edges) -> Edges:
    """Return to all edges."""
    return all_edges


@stage(writes="edges")
def select_light_edges(ops: ArrayModule, edges: Edges, pivot: Count, num_vertices: Count) -> Edges:
    """Select the edges whose keys are at most the pivot, without loops."""
    u, v, key, edge_id = edges
    return Edges(*ops.compact_pairs(u, v, key, pivot, ops.index_dtype(num_vertices), edge_id))


@stage(writes="edges")
def select_joining_edges(ops: ArrayModule, all_edges: Edges, labels: Index) -> Edges:
    """Select the edges between two fragments of the light forest.

    `labels[x]` is the fragment of vertex x. Both ends of a light edge are in the same fragment.
    """
    return Edges(*ops.relabel_pairs(labels, *all_edges))
