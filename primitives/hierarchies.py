"""Primitives for hierarchies of sets, which form when pairs of nodes join sets in order.

The body of each primitive is its definition by functions of the vocabulary. Array modules with
compiled loops override the body and return the same result.

The definition of `merge_in_order` uses rounds of Boruvka's algorithm. The *rank* of a pair is its
position. In each round, the *holder* of a fragment is the pair of lowest rank that leaves the
fragment. The pairs inside the fragment with lower ranks than its holder are below the holder in the
tree. Some of them are already in the chain of a smaller fragment; the others form the *chain* of
this fragment. A chain is sorted by rank. The parent of each pair in it is the next pair, and the
parent of the last pair is the holder. The parent of a node is its holder in the first round. After
the last round no pair leaves a fragment, so the last pair of its chain is a root.

For example, let the pairs of rank 0 to 3 be a-b, d-e, b-d and b-c:

1. The holders of a, b, c, d and e are the pairs 0, 0, 3, 1 and 1. Contracting these pairs leaves
   the fragments abc, which contains pairs 0 and 3, and de, which contains pair 1.
2. Pair 2 is the holder of both fragments. The chain of abc is pair 0, and the chain of de is pair
   1. Pair 3 has a higher rank than pair 2, so it stays *open*: it will be in the chain of a later
   fragment.
3. No pair leaves the fragment abcde. Its chain is pairs 2 and 3.

So pair 2 is the parent of pairs 0 and 1, pair 3 is the parent of pair 2 and node c, and pair 3 is
the root.

Source: Sao, Prokopenko and Lebrun-Grandie, "PANDORA: A Parallel Dendrogram Construction Algorithm
for Single Linkage Clustering on GPU", ICPP 2024. The paper contracts all edges that have a vertex
as a child, which is a round of Boruvka's algorithm.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from .joins import join_first_pairs
from .paths import log2

Array = Any

#: The number of entries for each level in the tally of `join_levels`; the last is the largest size.
TALLY = 64


class Hierarchies(Protocol):
    """The part of an `ArrayModule` for hierarchies of sets; `self` is the whole module."""

    def merge_in_order(self: Any, u: Array, v: Array, size: int, /) -> tuple[Array, Array]:
        """Return the tree of the sets that pairs create when they join sets in order.

        Parameters
        ----------
        u, v : index arrays of length f
            Nodes below `size`. Each pair joins two sets: the pairs have no cycle.
        size : int
            The number of nodes. Initially, each node is a separate set.

        Returns
        -------
        parent : index array of length `size` + f
            The pair that merges each set: `size` + r stands for pair r and for the set that it
            creates. A set that is never merged is its own parent.
        count : int64 array of length f
            The number of nodes in the set that each pair creates.
        """
        chains = _find_chains(self, u, v, size)
        return _find_parents(self, chains, size), _count_nodes(self, chains)

    def join_levels(
        self: Any, u: Array, v: Array, ends: Sequence[int], size: int, /
    ) -> tuple[Array, Array, Array]:
        """Join the sets of pairs, level by level.

        Parameters
        ----------
        u, v : index arrays of length m
            Nodes below `size`, sorted by level.
        ends : sequence of int
            The number of pairs up to the end of each level, ascending and at most m.
        size : int
            The number of nodes. Initially, each node is a separate set.

        Returns
        -------
        parent : index array of length `size`
            The smallest node of each node's set at the level of the node.
        level : unsigned integer array of length `size`
            The first level at which the node is not the smallest one of its set. For the smallest
            node of a final set, which is its own parent, the number of levels.
        tally : int64 array of length 64 t, for t levels
            At ``64 * l + k``, the number of sets of 2^k to 2^(k + 1) - 1 nodes after level l; at
            ``64 * l + 63``, the number of nodes of the largest set.
        """
        node = parent = root = self.arange(size, dtype=self.index_dtype(size))
        dtype = level_dtype(len(ends))
        level = self.full(size, len(ends), dtype=dtype)
        count, tally = self.full(size, 1, dtype="int64"), [self.full(0, 0, dtype="int64")]
        for step, (start, stop) in enumerate(itertools.pairwise([0, *ends])):
            a, b = (self.gather(root, end[start:stop]) for end in (u, v))
            _, hook = self.join_in_order(a, b, size)
            is_joined = hook != node  # for a root that joined the set of a smaller one
            parent = self.where(is_joined, hook, parent)
            level = self.where(is_joined, self.full(size, step, dtype=dtype), level)
            root = self.gather(hook, root)
            count = self.scatter_reduce(hook, count, size, "sum", 0)
            tally.append(_tally(self, count))
        return parent, level, self.concat(tally)

    def label_level(
        self: Any, parent: Array, level: Array, step: int, /, dtype: Any
    ) -> tuple[Array, int]:
        """Return numbers of the sets at one level, in the order of their smallest nodes.

        Parameters
        ----------
        parent, level : arrays of length n
            As `join_levels` returns them.
        step : int
            The level.
        dtype : integer dtype

        Returns
        -------
        label : array of length n
            The number of the set of each node, from 0.
        count : int
            The number of sets.
        """
        node = self.arange(len(parent), dtype=parent.dtype)
        root = self.pointer_jump(self.where(level <= step, parent, node))
        label, count = self.number_roots(root)
        return self.asarray(label, dtype), count


def level_dtype(levels: int) -> str:
    """Return the dtype for numbers from 0 to `levels`."""
    return "uint8" if levels < 2**8 else "uint32"


def _tally(ops: Any, count: Array) -> Array:
    """Return the number of sets by size, and the largest size; `count` is 0 except for roots."""
    (filled,) = ops.compact(count > 0, count)
    ones = ops.full(len(filled), 1, dtype="int64")
    sizes = ops.scatter_reduce(log2(ops, filled), ones, TALLY - 1, "sum", 0)
    offsets = ops.asarray([0, len(count)], "int64")
    return ops.concat([sizes, ops.segmented_reduce(count, offsets, "max", 0)])


class _Chains(NamedTuple):
    """The chains of f pairs."""

    #: The rank of the holder of each node; f if no pair contains the node.
    first_holder: Array
    #: The number of pairs in the chains of each round.
    lengths: list[int]
    #: The ranks of all pairs, sorted by chain, then by rank.
    rank: Array
    #: The rank of the holder of each pair's chain; f if no pair leaves the fragment.
    holder: Array
    #: Whether the pair is the last one of its chain.
    is_head: Array


def _find_chains(ops: Any, u: Array, v: Array, size: int) -> _Chains:
    """Find the chains, round by round. Fragments are numbered consecutively through all rounds."""
    num_pairs, dtype = len(u), ops.index_dtype(size + len(u))
    rank = ops.arange(num_pairs, dtype=dtype)
    open_rank = fragment = rank[:0]
    holders, below_holders, chains, first = [], [], [], 0
    while True:
        holder, root, _ = join_first_pairs(ops, u, v, rank, size)
        is_below = ops.gather(holder, fragment) > open_rank
        below, held_by = ops.compact(is_below, open_rank, fragment)
        open_rank, fragment = ops.compact(~is_below, open_rank, fragment)
        holders.append(ops.minimum(holder, num_pairs))
        below_holders.append(below)
        chains.append(ops.asarray(held_by, dtype) + ops.asarray(first, dtype))
        first += size
        if not len(u):
            break
        label, size = ops.number_roots(root)
        into = ops.gather(label, u)
        joined, into = ops.compact(into == ops.gather(label, v), rank, into)
        open_rank = ops.concat([open_rank, joined])
        fragment = ops.concat([ops.gather(label, fragment), into])
        u, v, rank = ops.relabel_pairs(label, u, v, rank)
    chain = ops.scatter(ops.concat(below_holders), ops.concat(chains), num_pairs, 0, dtype=dtype)
    order = ops.asarray(ops.argsort(chain), dtype)
    chain = ops.gather(chain, order)
    after = ops.concat([chain[1:], ops.full(min(1, num_pairs), -1, dtype=dtype)])
    holder = ops.gather(ops.concat(holders), chain)
    return _Chains(
        holders[0], [len(ranks) for ranks in below_holders], order, holder, chain != after
    )


def _find_parents(ops: Any, chains: _Chains, size: int) -> Array:
    """Return the parent of each node and pair: the next pair of its chain, or its holder."""
    num_pairs, dtype = len(chains.rank), chains.rank.dtype
    following = ops.concat([chains.rank[1:], chains.rank[:1]])  # the last pair is a head
    above = ops.where(chains.is_head, chains.holder, following)
    above = ops.scatter(chains.rank, above, num_pairs, 0, dtype=dtype)
    above = ops.concat([ops.asarray(chains.first_holder, dtype), above])
    node = ops.arange(len(above), dtype=dtype)
    return ops.where(above < num_pairs, above + ops.asarray(size, dtype), node)


def _count_nodes(ops: Any, chains: _Chains) -> Array:
    """Count the nodes below each pair, round by round.

    The holder of a chain belongs to a chain of a later round. So the nodes below a chain are
    counted before those below its holder.
    """
    num_pairs, dtype = len(chains.rank), chains.rank.dtype
    place = ops.scatter(chains.rank, ops.arange(num_pairs, dtype=dtype), num_pairs, 0, dtype=dtype)

    def add_below(holder: Array, count: Array, start: int) -> Array:
        """Count the nodes that are below each place from `start` on, but not below its chain."""
        holder, count = ops.compact(holder < num_pairs, holder, count)
        place_of_holder = ops.gather(place, holder) - start
        return ops.scatter_reduce(place_of_holder, count, num_pairs - start, "sum", 0)

    ones = ops.full(len(chains.first_holder), 1, dtype="int64")
    outside, counts, start = add_below(chains.first_holder, ones, 0), [], 0
    for length in chains.lengths:
        stop = start + length
        is_head = chains.is_head[start:stop]
        count = _sum_along_chains(ops, outside[:length], is_head)
        holder, whole = ops.compact(is_head, chains.holder[start:stop], count)
        outside = outside[length:] + add_below(holder, whole, stop)
        counts.append(count)
        start = stop
    return ops.scatter(chains.rank, ops.concat(counts), num_pairs, 0, dtype="int64")


def _sum_along_chains(ops: Any, values: Array, is_head: Array) -> Array:
    """Return the prefix sums within each chain. A head is the last pair of its chain."""
    total = ops.scan(values, dtype="int64")
    before = ops.concat([ops.full(1, 0, dtype="int64"), *ops.compact(is_head, total)])
    return total - ops.gather(before, ops.scan(is_head, dtype="int64", exclusive=True))
