"""Primitives that build trees: they join the sets of both nodes of each pair.

The body of each primitive is its definition by functions of the vocabulary, and works in rounds.
Array modules with compiled loops override the body and return the same result, except for values
that a docstring calls unspecified.
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol

Array = Any

#: The time that a helper takes for a pair, divided by that of the main thread. A helper is slower:
#: it cannot shorten paths, and the main thread's writes are not in its cache.
_HELPER_COST = 1.6


class Joins(Protocol):
    """The part of an `ArrayModule` that joins sets; `self` is the whole module."""

    def join_in_order(self: Any, u: Array, v: Array, size: int, /) -> tuple[Array, Array]:
        """Join the sets of both nodes of each pair, one pair after another, as Kruskal does.

        This definition finds the same pairs in rounds: in each round, the first pair of every set
        joins two sets.

        Parameters
        ----------
        u, v : index arrays of length m
            Nodes below `size`.
        size : int
            The number of nodes. Initially, each node is a separate set.

        Returns
        -------
        joining : index array
            The positions of the pairs that joined two sets, ascending.
        root : index array of length `size`
            The smallest node of the final set of each node.
        """
        node = root = self.arange(size, dtype=self.index_dtype(size))
        position = self.arange(len(u), dtype=self.index_dtype(len(u)))
        joining = [position[:0]]
        u, v, position = self.relabel_pairs(node, u, v, position)
        while len(u):
            _, hook, kept = join_first_pairs(self, u, v, position, size)
            u, v, position = self.relabel_pairs(hook, u, v, position)
            root = self.gather(hook, root)
            joining.append(kept)
        smallest = self.scatter_reduce(root, node, size, "min", size)
        return self.sorted_union(tuple(joining)), self.gather(smallest, root)

    def join_by_key(self: Any, u: Array, v: Array, key: Array, size: int, /) -> tuple[Array, Array]:
        """Join pairs as `join_in_order` does, in ascending order of their keys, ties by position.

        Parameters
        ----------
        u, v : index arrays of length m
            Nodes below `size`.
        key : unsigned integer array of length m
        size : int

        Returns
        -------
        joining : index array
            The positions of the pairs that joined two sets, in order of joining.
        root : index array of length `size`
            One node of each node's final set, the same for all nodes of the set.
        """
        order = self.argsort(key)
        joining, root = self.join_in_order(self.gather(u, order), self.gather(v, order), size)
        return self.gather(order, joining), root

    def join_with_helpers(self: Any, u: Array, v: Array, size: int, /) -> tuple[Array, int]:
        """Join pairs as `join_in_order` does, while helper threads reject pairs inside a set.

        `helper_ranges` divides the pairs among the threads. The main thread joins pairs in order.
        Each helper scans its range, and again whenever the main thread has halved its distance to
        the range. It rejects pairs inside a set, which can never join two sets. This definition
        scans each range once, just before it joins the pairs of the range.

        Parameters
        ----------
        u, v : index arrays of length m
            Nodes below `size`.
        size : int

        Returns
        -------
        joining : index array
            The positions of the pairs that joined two sets, ascending.
        rejected : int
            The number of pairs rejected by helpers. With threads it depends on timing.
        """
        root = self.arange(size, dtype=self.index_dtype(size))
        dtype, joining, rejected = self.index_dtype(len(u)), [], 0
        for start, stop in helper_ranges(len(u), size, self.threads):
            position = self.arange(stop - start, dtype=dtype) + start
            a, b, position = self.relabel_pairs(root, u[start:stop], v[start:stop], position)
            if start:  # no helper scans the main thread's range
                rejected += stop - start - len(position)
            joined, hook = self.join_in_order(a, b, size)
            joining.append(self.gather(position, joined))
            root = self.gather(hook, root)
        return self.concat(joining), rejected

    def unite(
        self: Any, parent: Array, u: Array, v: Array, /, *, by_rank: bool
    ) -> tuple[Array, Array]:
        """Join the sets of both nodes of each pair, all pairs at once.

        Parameters
        ----------
        parent : index array of length n
            A tree for each set. A root is its own parent, the only cycle.
        u, v : index arrays of length m
            Nodes below n.
        by_rank : bool
            Whether to link roots by rank, which bounds the length of paths. Otherwise the smaller
            root becomes a child of the larger root.

        Returns
        -------
        parent : index array of length n
            A tree for each set; its shape is unspecified.
        is_joining : bool array of length m
            Whether each pair joined two sets. In a cycle of pairs, an unspecified one did not.
        """
        root = self.pointer_jump(parent)
        joining, hook = self.join_in_order(self.gather(root, u), self.gather(root, v), len(root))
        is_joining = self.scatter(joining, True, len(u), False, dtype=bool)
        return self.asarray(self.gather(hook, root), parent.dtype), is_joining

    def contract_tile(
        self: Any, u: Array, v: Array, key: Array, size: int, /
    ) -> tuple[Array, Array, Array, int]:
        """Join the nodes of a subgraph by pairs that are in the forest of the whole graph.

        The forest is minimal under (key, position). The pairs must include every pair of the graph
        with a node in the subgraph. Two graphs of these pairs determine the result:

        - Treat all nodes outside as one node. A pair in the forest of this graph is the lightest
          one across a cut of the whole graph, so it is certain to be in the forest.
        - Remove all nodes outside. A pair that is not in the forest of this graph is the heaviest
          one of a cycle, so it is not in the forest.

        Source: Tarjan, "Data Structures and Network Algorithms", 1983, section 6.1 (the blue and
        the red rule).

        Parameters
        ----------
        u, v : index arrays of length m
            Nodes of the subgraph, which are below `size`, or `size` for any node outside.
        key : unsigned integer array of length m
        size : int

        Returns
        -------
        certain, undecided : index arrays
            The positions of the pairs inside the subgraph that are certain to be in the forest, and
            of those that may be in it; both in ascending order of keys.
        number : index array of length `size`
            The number of each node's set after the certain pairs are joined.
        count : int
            The number of sets.
        """
        order = self.argsort(key)
        u, v = self.gather(u, order), self.gather(v, order)
        is_inside = self.maximum(u, v) < size
        contracted = self.scatter(self.join_in_order(u, v, size + 1)[0], True, len(u), False, bool)
        inside = self.compact(is_inside, u, v, order, contracted & is_inside)
        joining, _ = self.join_in_order(*inside[:2], size)
        u, v, order, is_certain = (self.gather(column, joining) for column in inside)
        _, root = self.join_in_order(*self.compact(is_certain, u, v), size)
        certain, undecided = (self.compact(mask, order)[0] for mask in (is_certain, ~is_certain))
        return certain, undecided, *self.number_roots(root)


def join_first_pairs(
    ops: Any, u: Array, v: Array, position: Array, size: int
) -> tuple[Array, Array, Array]:
    """Join each node by the first of its pairs: a round of Boruvka's algorithm.

    The nodes of each pair are distinct, and positions ascend. Return the position of the first pair
    of each node (the largest value for a node in no pair), one node of each node's new set, and the
    positions of the pairs that joined two sets.
    """
    rank = ops.order_key(position, signed=False)
    _, first, other = ops.scatter_min_pairs(u, v, rank, position, size)
    hook, joining = ops.cut_mirrors(other, first)
    return first, ops.pointer_jump(hook), joining


def helper_ranges(length: int, size: int, threads: int) -> list[tuple[int, int]]:
    """Divide a range of pairs into a range for the main thread, then one for each helper.

    The main thread is faster, so its range is larger. When it reaches the range of the first
    helper, each helper has scanned its range about once. The first `size` pairs, as many as there
    are nodes, are also in its range: too few of them are inside a set.
    """
    if threads == 1:
        return [(0, length)]
    helpers = threads - 1
    main = min(length, max(size, int(length * _HELPER_COST / (_HELPER_COST + helpers))))
    starts = [main + (length - main) * helper // helpers for helper in range(helpers + 1)]
    return [(0, main), *itertools.pairwise(starts)]
