"""Stages that divide the vertices into a range for each rank, and functions of ranges."""

import itertools
import math
from typing import Any, NamedTuple

from ....primitives.vocabulary import ArrayModule
from ...declare import stage
from ...fields import Amount, Count, Edges, Index
from ...filter import sample_columns

#: Bits of the largest number of blocks: the owners of all blocks fit in a processor's cache.
_BITS = 16


class Ranges(NamedTuple):
    """The vertices of each rank: consecutive blocks of 2^bits vertices.

    Attributes
    ----------
    starts : tuple of int, of length p + 1
        The first vertex of each rank; last, the number of vertices. A rank may own none.
    owner : index array
        The rank of each block.
    bits : int
        At least 3, so that the flags of a rank are whole bytes, except for those of the last block.
    """

    starts: tuple[int, ...]
    owner: Any
    bits: int

    @property
    def num_ranks(self) -> int:
        """The number of ranks."""
        return len(self.starts) - 1


@stage(writes="sampled_ends", combine="concatenation")
def sample_ends(ops: ArrayModule, edges: Edges, num_edges: Count, sample_size: Amount) -> Index:
    """Return both ends of each edge of a sample."""
    u, v, _, edge_id = edges
    return ops.concat([*sample_columns(ops, edge_id, num_edges, sample_size, u, v)])


@stage(writes=("ranges", "num_labels"))
def divide_vertices(
    ops: ArrayModule,
    sampled_ends: Index,
    num_vertices: Count,
    num_edges: Count,
    light_per_vertex: Amount,
    num_partitions: Count,
) -> tuple[Ranges, Count]:
    """Divide the vertices into ranges of about equal memory; return the ranges and their number.

    A rank needs about as much memory for a vertex as for a light arc that it receives. The sample
    estimates the tails of arcs.
    """
    bits = max(3, num_vertices.bit_length() - _BITS)
    num_blocks, num_ends = (num_vertices >> bits) + 1, len(sampled_ends)
    num_arcs = 2 * min(num_edges, light_per_vertex * num_vertices)
    per_end = math.ceil(num_arcs / max(1, num_ends))
    arcs = ops.full(num_ends, per_end, "int64")
    load = ops.scatter_reduce(sampled_ends >> bits, arcs, num_blocks, "sum", 1 << bits)
    total = (num_blocks << bits) + per_end * num_ends
    before = ops.scan(load, "int64", exclusive=True)
    owner = ops.asarray(before * num_partitions // total, ops.index_dtype(num_partitions))
    first = ops.searchsorted(owner, ops.arange(num_partitions, owner.dtype))
    starts = (min(block << bits, num_vertices) for block in ops.to_host(first).tolist())
    return Ranges((*starts, num_vertices), owner, bits), num_vertices


def own_labels(ops: ArrayModule, parent: Any, rank: int, ranges: Ranges) -> Any:
    """Return the vertices of a rank."""
    return ops.arange(len(parent), parent.dtype) + ranges.starts[rank]


def places(labels: Any, rank: int, ranges: Ranges) -> Any:
    """Return the places of labels in the arrays of their owner."""
    return labels - ranges.starts[rank]


def is_own(labels: Any, rank: int, ranges: Ranges) -> Any:
    """Return for each label whether a rank owns it."""
    first, stop = ranges.starts[rank : rank + 2]
    return (labels >= first) & (labels < stop)


def owners(ops: ArrayModule, labels: Any, ranges: Ranges) -> Any:
    """Return the ranks that own labels."""
    return ops.gather(ranges.owner, labels >> ranges.bits)


def by_owner(ops: ArrayModule, moving: Any, above: Any, ranges: Ranges) -> tuple[Any, Any]:
    """Sort moving vertices and their parents by the owners of the parents."""
    _, moving, above = ops.deal(owners(ops, above, ranges), ranges.num_ranks, moving, above)
    return moving, above


def slices(
    ops: ArrayModule, columns: tuple[Any, ...], ranges: Ranges
) -> tuple[tuple[Any, ...], ...]:
    """Divide columns, which are sorted by the owners of the first column, by these owners."""
    owner = owners(ops, columns[0], ranges)
    ranks = ops.arange(ranges.num_ranks, owner.dtype)
    bounds = [*ops.to_host(ops.searchsorted(owner, ranks)).tolist(), len(owner)]
    return tuple(
        tuple(column[low:high] for column in columns) for low, high in itertools.pairwise(bounds)
    )
