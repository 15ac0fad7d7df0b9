"""Heaviest edges on paths of a forest, found in the merge tree of Boruvka's algorithm.

The leaves of the merge tree are the vertices. All leaves of one tree of the forest have the same
depth, at most log2 n. Each fragment stores the edge that it chose. To find the heaviest edge on the
path between two vertices, climb from both to their lowest common ancestor. The result is the
heaviest edge stored on the way. Many pairs climb at once.

This module shares only array primitives with the solvers, because verification checks their
results.

Source: V. King, "A simpler minimum spanning tree verification algorithm", Algorithmica 18 (1997),
for this property of Boruvka trees. King finds the common ancestors with tables; climbing needs less
memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..primitives import array_module

_NUMPY = array_module("numpy")


class MergeTree(NamedTuple):
    """The fragments of Boruvka's algorithm on a forest; the first n are the vertices."""

    #: The fragment that each fragment was merged into; a root is its own parent.
    parent: NDArray[Any]
    #: Rank of the edge that each fragment chose, or -1.
    chosen: NDArray[Any]
    #: Number of rounds.
    height: int
    num_vertices: int

    def heaviest_on_paths(
        self, u: NDArray[Any], v: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Find the heaviest edge on the path between each pair of vertices.

        Return its rank, or -1 where u equals v or no path exists; and the positions of the pairs
        without a path, ascending.
        """
        rank = np.full(len(u), -1, self.chosen.dtype)
        climbing = np.flatnonzero(u != v)
        u, v = u[climbing], v[climbing]
        heaviest = np.full(len(climbing), -1, self.chosen.dtype)
        for _ in range(self.height):
            np.maximum(heaviest, self.chosen[u], out=heaviest)
            np.maximum(heaviest, self.chosen[v], out=heaviest)
            u, v = self.parent[u], self.parent[v]
            has_met = u == v
            if has_met.any():
                rank[climbing[has_met]] = heaviest[has_met]
                rest = np.flatnonzero(~has_met)
                climbing, heaviest, u, v = (x[rest] for x in (climbing, heaviest, u, v))
        return rank, climbing

    def trees(self) -> NDArray[Any]:
        """Return the root fragment of each vertex."""
        tree = np.arange(self.num_vertices, dtype=self.parent.dtype)
        for _ in range(self.height):
            tree = self.parent[tree]
        return tree


def merge_tree(
    u: NDArray[Any], v: NDArray[Any], num_vertices: int
) -> tuple[MergeTree, NDArray[Any]]:
    """Return the merge tree of edges that should be a forest, and the ranks of those in cycles.

    The edges are sorted, lightest first; the position of an edge is its rank. An edge closes a
    cycle if lighter edges connect its ends.
    """
    size, first = num_vertices, 0  # number of fragments of the round, and the first of them
    dtype = _NUMPY.index_dtype(2 * size)
    u, v = u.astype(dtype, copy=False), v.astype(dtype, copy=False)
    rank = np.arange(len(u), dtype=_NUMPY.index_dtype(len(u)))
    parents, choices, closing = [], [], []
    while True:
        # Lighter edges have already merged the ends of these edges.
        is_loop = u == v
        closing.append(rank[is_loop])
        u, v, rank = u[~is_loop], v[~is_loop], rank[~is_loop]
        if not len(u):
            break
        choice, root = _choose(u, v, size)
        is_merged = choice < len(u)
        new_number = np.cumsum(is_merged & (root == np.arange(size)), dtype=dtype) - 1
        merged = new_number[root]
        fragment = np.arange(first, first + size, dtype=dtype)
        parents.append(np.where(is_merged, first + size + merged, fragment))
        choices.append(np.where(is_merged, np.append(rank, rank.dtype.type(-1))[choice], -1))
        is_unchosen = np.ones(len(u), np.bool_)
        is_unchosen[choice[is_merged]] = False
        u, v, rank = merged[u[is_unchosen]], merged[v[is_unchosen]], rank[is_unchosen]
        first, size = first + size, int(new_number[-1]) + 1
    parents.append(np.arange(first, first + size, dtype=dtype))
    choices.append(np.full(size, -1, rank.dtype))
    parent, chosen = np.concatenate(parents), np.concatenate(choices)
    tree = MergeTree(parent, chosen, len(choices) - 1, num_vertices)
    return tree, np.concatenate(closing)


def _choose(u: NDArray[Any], v: NDArray[Any], size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Choose the lightest edge of each fragment, and merge fragments along the chosen edges.

    The edges are sorted, lightest first, and have no loops. Return for each of `size` fragments the
    position of its choice, or the number of edges if it has none; and the representative of the
    merged fragment.
    """
    position = np.arange(len(u), dtype=u.dtype)
    choice = np.full(size, len(u), u.dtype)
    np.minimum.at(choice, u, position)
    np.minimum.at(choice, v, position)
    fragment = np.arange(size, dtype=u.dtype)
    target, choosing = fragment.copy(), np.flatnonzero(choice < len(u))
    edge = choice[choosing]
    target[choosing] = u[edge] ^ v[edge] ^ fragment[choosing]  # the other end
    # Edges are strictly ordered, so the only cycles are pairs that chose the same edge.
    is_first_of_pair = (target[target] == fragment) & (fragment < target)
    target[is_first_of_pair] = fragment[is_first_of_pair]
    return choice, _NUMPY.pointer_jump(target)
