"""Fused primitives: several plain ones in one pass, for modules that can; here in plain ones.

A module that inherits these may override any of them with a single pass over its arguments. Each
method below is the definition that such an override must equal, bit for bit but for what it leaves
open. Pairs are two index arrays of one length: the ends of edges, the nodes of arcs, whatever is
joined by twos.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, Protocol

from .vocabulary import Array, DType, PlainPrimitives

#: How many times as long as the main thread a helper takes for a pair, since it only looks: the
#: main thread halves paths, and has in its cache what it writes.
_HELPER_COST = 1.6


class ArrayModule(PlainPrimitives, Protocol):
    """What stages ask of an array module: the plain primitives, and these written in them."""

    def device_memory(self) -> int | None:
        """Return None: without a device there is no bound."""
        return None

    def beside(self) -> contextlib.AbstractContextManager[Any]:
        """Return what does nothing: threads of the host run beside each other anyway."""
        return contextlib.nullcontext()

    def consecutive(self, first: int, size: int, /, dtype: DType) -> Array:
        """Return `first`, `first` + 1, ... as an array, or what stands for one."""
        count = self.iota(size, dtype=dtype)
        return count + self.asarray(first, dtype) if first else count

    def compact_pairs(
        self, u: Array, v: Array, key: Array, limit: int, dtype: DType, /, *columns: Array
    ) -> tuple[Array, ...]:
        """Keep the pairs of distinct members whose key is at most `limit`, order kept.

        Parameters
        ----------
        u, v : index arrays of length m
        key : unsigned integer array of length m
        limit : int
        dtype : index dtype
            That u and v shall have.
        *columns : arrays of length m
            They come along.

        Returns
        -------
        tuple of arrays
            What is kept of u, v, key and each column.
        """
        kept_u, kept_v, *kept = self.compact((key <= limit) & (u != v), u, v, key, *columns)
        return self.asarray(kept_u, dtype), self.asarray(kept_v, dtype), *kept

    def relabel_pairs(
        self, label: Array, u: Array, v: Array, /, *columns: Array
    ) -> tuple[Array, ...]:
        """Replace both members of each pair by their labels, and keep those that still differ.

        Parameters
        ----------
        label : index array of length n
        u, v : index arrays of length m
            Places below n.
        *columns : arrays of length m
            They come along.

        Returns
        -------
        tuple of arrays
            What is kept of ``label[u]``, ``label[v]`` and each column, order kept.
        """
        new_u, new_v = self.gather(label, u), self.gather(label, v)
        return self.compact(new_u != new_v, new_u, new_v, *columns)

    def scatter_min_pairs(
        self, u: Array, v: Array, key: Array, ids: Array, size: int, /
    ) -> tuple[Array, Array, Array]:
        """Find at each place the pair with the smallest (key, id), and the other member of it.

        Parameters
        ----------
        u, v : index arrays of length m
            Places below `size`, distinct in each pair.
        key : unsigned integer array of length m
        ids : index array of length m
            Ascending.
        size : int

        Returns
        -------
        key, id, other : arrays of length `size`
            The largest key and id, and the place itself, where no pair has it.
        """
        position = self.scatter_argmin((u, v), key, size)
        dtype = self.index_dtype(size)
        place = self.iota(size, dtype=dtype)
        first = self.gather(u, position, fill=place)
        second = self.gather(v, position, fill=place)
        return (
            self.gather(key, position, fill=self.largest(key.dtype)),
            self.gather(ids, position, fill=self.largest(ids.dtype)),
            self.asarray(self.where(first == place, second, first), dtype),
        )

    def cut_mirrors(self, target: Array, ids: Array, /) -> tuple[Array, Array]:
        """Turn arrows between nodes into a forest of parents: of two that mirror cut the smaller's.

        Parameters
        ----------
        target : index array of length n
            Where each node's arrow leads. There is no cycle of more than two nodes.
        ids : array of length n
            One for each arrow.

        Returns
        -------
        parent : index array of length n
            The targets; a node whose arrow was cut, or led to itself, is its own parent: a root.
        kept : array
            The ids of all other nodes, in order.
        """
        node = self.iota(len(target), dtype=target.dtype)
        is_cut = (self.gather(target, target) == node) & (node < target)
        parent = self.where(is_cut, node, target)
        return parent, self.compact(parent != node, ids)[0]

    def number_roots(self, root: Array, /) -> tuple[Array, int]:
        """Give the roots numbers 0, 1, ... in order, and every node the number of its root.

        Parameters
        ----------
        root : index array of length n
            The root of each node; roots are their own.

        Returns
        -------
        number : index array of length n
        count : int
            How many roots there are.
        """
        is_root = root == self.iota(len(root), dtype=root.dtype)
        number = self.scan(is_root, dtype=root.dtype, exclusive=True)
        return self.gather(number, root), self.count(is_root)

    def sort_distinct(self, arrays: tuple[Array, ...], /) -> Array:
        """Return the values of several integer arrays, no two of them equal, in ascending order."""
        return self.sort(self.concatenate(list(arrays)))

    def join_in_order(self, u: Array, v: Array, size: int, /) -> tuple[Array, Array]:
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
        node = root = self.iota(size, dtype=self.index_dtype(size))
        position = self.iota(len(u), dtype=self.index_dtype(len(u)))
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

    def join_by_key(self, u: Array, v: Array, key: Array, size: int, /) -> tuple[Array, Array]:
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

    def join_with_helpers(self, u: Array, v: Array, size: int, /) -> tuple[Array, int]:
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
        root = self.iota(size, dtype=self.index_dtype(size))
        dtype, joining, rejected = self.index_dtype(len(u)), [], 0
        for start, stop in helper_parts(len(u), self.threads):
            position = self.iota(stop - start, dtype=dtype) + start
            a, b, position = self.relabel_pairs(root, u[start:stop], v[start:stop], position)
            if start:  # no helper looks at the main thread's own part
                rejected += stop - start - len(position)
            joined, hook = self.join_in_order(a, b, size)
            joining.append(self.gather(position, joined))
            root = self.gather(hook, root)
        return self.concatenate(joining), rejected

    def find(self, parent: Array, nodes: Array, /) -> Array:
        """Return the root of each of some nodes.

        Parameters
        ----------
        parent : index array of length n
            A root is its own parent; there is no other cycle.
        nodes : index array
            Places below n, duplicates welcome.
        """
        return self.gather(self.pointer_jump(parent), nodes)

    def unite(self, parent: Array, u: Array, v: Array, /, *, by_rank: bool) -> tuple[Array, Array]:
        """Join the sets of both members of each pair, all pairs at once.

        Parameters
        ----------
        parent : index array of length n
            A tree for each set, as in `find`.
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
