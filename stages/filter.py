"""Stages that split the edges into light and heavy ones, and drop most heavy edges early.

The lightest edges are processed first. Their forest connects most vertices, and its trees are
called fragments. A heavy edge inside a fragment is the heaviest edge of a cycle, so it is dropped.
Only the heavy edges between two fragments remain.
"""

from typing import Any

from ..primitives.vocabulary import ArrayModule
from .declare import stage
from .fields import Amount, Count, Edges, Keys, Verdict

#: The smallest share of the sampled edges that are light. It bounds the number of passes, even if
#: most light edges are parallel or loops.
MIN_LIGHT_SHARE = 1 / 32


@stage(writes="is_sparse")
def sparse_graph_left(
    num_edges: Count, num_vertices: Count, small: Amount, dense: Amount
) -> Verdict:
    """Return whether at most `small` edges remain, or at most `dense` edges per vertex."""
    return num_edges <= max(small, dense * num_vertices)


#: Selects the low 63 bits of a product, so that Python's integers and uint64 have the same hash.
_HASH_MASK = 2**63 - 1


def hashed(number: Any) -> Any:
    """Return a hash of 63 bits; `number` is an int below 2^63 or a uint64 array of these."""
    mixed = number * 0x1E3779B97F4A7C15 & _HASH_MASK
    return (mixed ^ (mixed >> 32)) * 0x56E8FEB86659FD93 & _HASH_MASK


def _chosen_id(block: Any, bits: int) -> Any:
    """Return the edge id chosen for a block of 2^bits ids; `block` is an int or a uint64 array."""
    return (block << bits) + (hashed(block) >> (63 - bits))


def _chosen_ids(ops: ArrayModule, first: int, last: int, bits: int) -> Any:
    """Return the edge id chosen for each block from `first` to `last`, as int64."""
    block = ops.asarray(ops.arange(max(0, last + 1 - first), "int64") + first, "uint64")
    return ops.asarray(_chosen_id(block, bits), "int64")


@stage(writes="sample", combine="concatenation")
def sample_keys(ops: ArrayModule, edges: Edges, num_edges: Count, sample_size: Amount) -> Keys:
    """Return the keys of a sample of the edges."""
    return sample_columns(ops, edges.edge_id, num_edges, sample_size, edges.key)[0]


def sample_columns(
    ops: ArrayModule, edge_id: Any, num_edges: int, sample_size: float, *columns: Any
) -> tuple[Any, ...]:
    """Return columns of a sample of the edges.

    The sample has one id of each block of 2^k consecutive ids, chosen by a hash of the block. So it
    does not depend on the partitions, and no regular order of the edges evades it. It may be empty
    if ids are missing.
    """
    bits = max(0, num_edges.bit_length() - int(sample_size).bit_length())
    if not len(edge_id):
        return columns
    # Fetch both ids at once: the host waits for each transfer from a device.
    low, high = ops.to_host(ops.concat([edge_id[:1], edge_id[-1:]])).tolist()
    first, last = low >> bits, high >> bits
    if high - low == len(edge_id) - 1:  # consecutive ids
        first += _chosen_id(first, bits) < low
        last -= _chosen_id(last, bits) > high
        place = _chosen_ids(ops, first, last, bits) - low
        return tuple(ops.gather(column, place) for column in columns)
    block = edge_id >> bits
    if last - first < len(edge_id):  # hash each block once
        chosen = ops.gather(_chosen_ids(ops, first, last, bits), block - first)
    else:  # few ids of a long range are left
        chosen = ops.asarray(_chosen_id(ops.asarray(block, "uint64"), bits), "int64")
    return ops.compact(chosen == edge_id, *columns)


@stage(writes="pivot")
def choose_pivot(
    ops: ArrayModule, sample: Keys, num_vertices: Count, num_edges: Count, light_per_vertex: Amount
) -> Count:
    """Choose the pivot, a key that about `light_per_vertex` edges per vertex do not exceed.

    All edges are light if the sample is empty.

    Source: Osipov, Sanders and Singler, where the pivot is the median.
    """
    share = max(light_per_vertex * num_vertices / num_edges, MIN_LIGHT_SHARE)
    rank = len(sample) * min(share, 1)
    if rank >= len(sample):
        return int(ops.largest(sample.dtype))
    return int(ops.partition(sample, int(rank))[int(rank)])


@stage(writes="light_edges")
def select_light_edges(ops: ArrayModule, edges: Edges, pivot: Count, num_vertices: Count) -> Edges:
    """Select the edges whose keys are at most the pivot, and drop self-loops."""
    u, v, key, edge_id = edges
    return Edges(*ops.compact_pairs(u, v, key, pivot, ops.index_dtype(num_vertices), edge_id))
