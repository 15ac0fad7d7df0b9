"""Algorithm kernels: they join sets along pairs, and alone among primitives know what a tree is.

Each method is a definition in the functions of the vocabulary. An array module with loops over
elements overrides it; the definition finds the same in rounds.

| primitive         | result                                                                      |
|-------------------|-----------------------------------------------------------------------------|
| join_in_order     | the pairs that join two sets, taken one after another, and each node's set  |
| join_by_key       | the same, taken in ascending order of keys                                  |
| join_with_helpers | the same in order, while other threads reject pairs ahead                   |
| unite             | the sets joined by all pairs at once, and which pairs did                   |
"""

from __future__ import annotations

import itertools
from typing import Any, Protocol

Array = Any

#: How many times as long as the main thread a helper takes for a pair, since it only looks: the
#: main thread halves paths, and has in its cache what it writes.
_HELPER_COST = 1.6


class Joins(Protocol):
    """What an `ArrayModule` does with sets; `self` is one."""

    def join_in_order(self: Any, u: Array, v: Array, size: int, /) -> tuple[Array, Array]:
        """Join the sets of both members of each pair, one pair after another, as Kruskal does.

        It is sequential by nature: a module that can follow pairs one by one does; here rounds in
        which every set takes its first pair find the same.

        Parameters
        ----------
        u, v : index arrays of length m
            Nodes below `size`.
        size : int
            How many nodes there are; at first each is a set of its own.

        Returns
        -------
        joining : index array
            The positions of the pairs that joined two sets, ascending.
        root : index array of length `size`
            The smallest node of the set that each node is in at last.
        """
        node = root = self.arange(size, dtype=self.index_dtype(size))
        position = self.arange(len(u), dtype=self.index_dtype(len(u)))
        joining = [position[:0]]
        u, v, position = self.relabel_pairs(node, u, v, position)
        while len(u):
            rank = self.order_key(position, signed=False)
            _, first, other = self.scatter_min_pairs(u, v, rank, position, size)
            hook, kept = self.cut_mirrors(other, first)
            hook = self.pointer_jump(hook)
            u, v, position = self.relabel_pairs(hook, u, v, position)
            root = self.gather(hook, root)
            joining.append(kept)
        smallest = self.scatter_reduce(root, node, size, "min", size)
        return self.sort_distinct(tuple(joining)), self.gather(smallest, root)

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
            The positions of the pairs that joined two sets, in the order in which they did.
        root : index array of length `size`
            The smallest node of the set that each node is in at last.
        """
        order = self.argsort(key)
        joining, root = self.join_in_order(self.gather(u, order), self.gather(v, order), size)
        return self.gather(order, joining), root

    def join_with_helpers(self: Any, u: Array, v: Array, size: int, /) -> tuple[Array, int]:
        """Join pairs as `join_in_order` does, while helpers reject those inside a set ahead of it.

        The pairs are parted among the threads by `helper_parts`. The main thread joins them in
        order; each other looks at its own part, over and over, until the main thread gets there,
        and rejects what lies inside a set already: it will do so ever after. Here each part is
        looked at once, just before.

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
            How many pairs the helpers spared the main thread: with compiled threads, a matter of
            timing.
        """
        root = self.arange(size, dtype=self.index_dtype(size))
        dtype, joining, rejected = self.index_dtype(len(u)), [], 0
        for start, stop in helper_parts(len(u), self.threads):
            position = self.arange(stop - start, dtype=dtype) + start
            a, b, position = self.relabel_pairs(root, u[start:stop], v[start:stop], position)
            if start:  # no helper looks at the main thread's own part
                rejected += stop - start - len(position)
            joined, hook = self.join_in_order(a, b, size)
            joining.append(self.gather(position, joined))
            root = self.gather(hook, root)
        return self.concat(joining), rejected

    def unite(
        self: Any, parent: Array, u: Array, v: Array, /, *, by_rank: bool
    ) -> tuple[Array, Array]:
        """Join the sets of both members of each pair, all pairs at once.

        Parameters
        ----------
        parent : index array of length n
            A tree for each set: a root is its own parent; there is no other cycle.
        u, v : index arrays of length m
            Places below n.
        by_rank : bool
            Whether threads hang the lower tree below the higher, which bounds the steps of each of
            them, or the smaller root below the larger, which is simpler.

        Returns
        -------
        parent : index array of length n
            A tree for each set, of whatever shape.
        is_joining : array of bool, length m
            Which pairs joined two sets. Where pairs close a cycle it is open which of them did not.
        """
        root = self.pointer_jump(parent)
        joining, hook = self.join_in_order(self.gather(root, u), self.gather(root, v), len(root))
        is_joining = self.scatter(joining, True, len(u), False, dtype=bool)
        return self.asarray(self.gather(hook, root), parent.dtype), is_joining


def helper_parts(length: int, threads: int) -> list[tuple[int, int]]:
    """Part pairs in a row among the main thread, which comes first, and its helpers.

    The main thread's part is as much larger as it is faster, so that each helper has looked at all
    of its own when the main thread gets to the first.
    """
    if threads == 1:
        return [(0, length)]
    helpers = threads - 1
    main = int(length * _HELPER_COST / (_HELPER_COST + helpers))
    cuts = [main + (length - main) * helper // helpers for helper in range(helpers + 1)]
    return [(0, main), *itertools.pairwise(cuts)]
