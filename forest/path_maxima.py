"""The tree of Boruvka's algorithm on a forest, and the heaviest edges on its paths.

Leaves are the vertices; each fragment carries the edge it chose, and fragments above one tree's
vertices are equally many. The heaviest edge between two vertices is the heaviest choice met on the
way up from both to where they meet, at most log2 n steps. So many paths are walked side by side.

Source: V. King, "A simpler minimum spanning tree verification algorithm", Algorithmica 18 (1997):
the property of Boruvka trees. Where two paths meet is found by climbing, not by her tables, which
take more memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..primitives import array_module

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMPY = array_module("numpy")


class MergeTree(NamedTuple):
    """Fragments of Boruvka's algorithm on a forest, at most 2 n; the first n are the vertices."""

    parent: NDArray[Any]  # of each fragment, the one it was merged into, or itself
    chosen: NDArray[Any]  # of each fragment, the rank of the edge it chose; -1 if it has none
    height: int
    num_vertices: int

    def heaviest_on_paths(
        self, u: NDArray[Any], v: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the rank of the heaviest edge between each u and v, and where there is no path.

        Parameters
        ----------
        u, v : integer arrays of length k
            Vertices.

        Returns
        -------
        rank : integer array of length k
            -1 where u is v or there is no path.
        apart : integer array
            Positions, ascending, at which u and v are in two trees.
        """
        rank = np.full(len(u), -1, self.chosen.dtype)
        climbing = np.flatnonzero(u != v)
        u, v = u[climbing], v[climbing]
        heaviest = np.full(len(climbing), -1, self.chosen.dtype)
        for _ in range(self.height):
            np.maximum(heaviest, self.chosen[u], out=heaviest)
            np.maximum(heaviest, self.chosen[v], out=heaviest)
            u, v = self.parent[u], self.parent[v]
            met = u == v
            if met.any():
                rank[climbing[met]] = heaviest[met]
                still = np.flatnonzero(~met)
                climbing, heaviest, u, v = (x[still] for x in (climbing, heaviest, u, v))
        return rank, climbing

    def trees(self) -> NDArray[Any]:
        """Return for each vertex the fragment that is its whole tree."""
        tree = np.arange(self.num_vertices, dtype=self.parent.dtype)
        for _ in range(self.height):
            tree = self.parent[tree]
        return tree


def merge_tree(
    u: NDArray[Any], v: NDArray[Any], num_vertices: int
) -> tuple[MergeTree, NDArray[Any]]:
    """Merge the vertices along the edges of a forest, round by round.

    Parameters
    ----------
    u, v : integer arrays of length f
        Ends of the edges, lightest first: the position of an edge is its rank.
    num_vertices : int

    Returns
    -------
    tree : MergeTree
    closing : integer array
        The ranks of edges that close cycles: those that each have come together with lighter ones.
    """
    size, first = num_vertices, 0
    dtype = _NUMPY.index_dtype(2 * size)
    u, v = u.astype(dtype, copy=False), v.astype(dtype, copy=False)
    rank = np.arange(len(u), dtype=_NUMPY.index_dtype(len(u)))
    parents, choices, closing = [], [], []
    while True:
        # Ends that came together by other edges, all of them lighter: every choice was.
        loop = u == v
        closing.append(rank[loop])
        u, v, rank = u[~loop], v[~loop], rank[~loop]
        if not len(u):
            break
        choice, root = _choose(u, v, size)
        merges = choice < len(u)
        number = np.cumsum(merges & (root == np.arange(size)), dtype=dtype) - 1
        new = number[root]
        own = np.arange(first, first + size, dtype=dtype)
        parents.append(np.where(merges, first + size + new, own))
        choices.append(np.where(merges, np.append(rank, rank.dtype.type(-1))[choice], -1))
        left = np.ones(len(u), np.bool_)
        left[choice[merges]] = False
        u, v, rank = new[u[left]], new[v[left]], rank[left]
        first, size = first + size, int(number[-1]) + 1
    parents.append(np.arange(first, first + size, dtype=dtype))
    choices.append(np.full(size, -1, rank.dtype))
    parent, chosen = np.concatenate(parents), np.concatenate(choices)
    tree = MergeTree(parent, chosen, len(choices) - 1, num_vertices)
    return tree, np.concatenate(closing)


def _choose(u: NDArray[Any], v: NDArray[Any], size: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Let each fragment choose its first edge, and find the fragments that this merges.

    Parameters
    ----------
    u, v : integer arrays of length k
        Ends of the edges, lightest first; no loops.
    size : int
        Number of fragments.

    Returns
    -------
    choice : integer array of length `size`
        Position of the edge each fragment chose; k if it has none.
    root : integer array of length `size`
        One of the fragments it is merged with, the same for all of them.
    """
    position = np.arange(len(u), dtype=u.dtype)
    choice = np.full(size, len(u), u.dtype)
    np.minimum.at(choice, u, position)
    np.minimum.at(choice, v, position)
    own = np.arange(size, dtype=u.dtype)
    target, chooses = own.copy(), np.flatnonzero(choice < len(u))
    edge = choice[chooses]
    target[chooses] = u[edge] ^ v[edge] ^ own[chooses]  # the other end
    # Edges are strictly ordered, so the only cycles are pairs that chose one edge.
    is_first_of_pair = (target[target] == own) & (own < target)
    target[is_first_of_pair] = own[is_first_of_pair]
    return choice, _NUMPY.pointer_jump(target)
