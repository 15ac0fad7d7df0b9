"""The primitives of `..paths` by kernels; `paths` explains how these cover paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.memory import empty
from ...runtime.native import Each, Kernels, raw
from ...runtime.team import team
from ..consecutive import ids_of
from ..joins import FEW
from ..numpy_arrays import NumpyArrays
from ..paths import BLOCK, Array

if TYPE_CHECKING:
    from collections.abc import Callable

paths = Kernels(f"{__package__}.paths")

#: A word that is larger than any record.
NONE = np.uint64(2**64 - 1)
#: As an array of bits: no bit is set.
NO_BITS = np.empty(0, np.uint64)
#: The number of light paths for each node that are covered before the others are filtered.
_LIGHT_PAIRS = 2.25
#: The number of light paths for each node of the core that cover the core, in order.
_IN_ORDER = 2
#: The least number of light paths that are put in order. While leaves are stripped, the size of the
#: core is unknown. There is time to order this number, or one path for each of four nodes.
_LEAST_ORDERED, _NODES_PER_ORDERED = 2**18, 4
#: The largest height of a subtree outside the core of a tree.
_FRINGE = 16
#: The largest number of core nodes with which paths need no order, because they are short.
_SMALL_CORE = 64


class PathArrays(NumpyArrays):
    """The part of `NumbaArrays` for paths and ranges; `self` is the whole module."""

    def path_sums(self: Any, parent: Array, values: Array, /) -> Array:
        out = empty(len(values), values.dtype)
        paths.path_sums(raw(parent), raw(values), raw(out))
        return out

    def cover_paths(
        self: Any, u: Array, v: Array, a: Array, b: Array, key: Array, ignored: Array, size: int, /
    ) -> Array:
        none = len(key)
        if size >= 2**31 or none >= 2**32:  # a word holds two nodes, or half a key and a position
            covering: Array = super().cover_paths(u, v, a, b, key, ignored, size)
            return covering
        pairs = a, b, key, self.consecutive(0, none, self.index_dtype(none))
        others = type(self)(max(1, self.threads - 1))
        bits, ordered = self._bits(ignored, none), max(_LEAST_ORDERED, size // _NODES_PER_ORDERED)
        tasks = (others._light_pairs, pairs, size, ordered, bits), (self._strip, u, v, size)
        light, (queue, above, core) = self._team.call(_call, tasks)  # at the same time
        number, parent = empty(size, queue.dtype), queue[:size]
        self._team.share(paths.number_nodes, size, *map(raw, (queue, number)))
        self._team.share(paths.number_parents, size, *map(raw, (above, number, parent)))
        first = self._first_paths((number, parent, core), pairs, light, key, bits)
        child = empty(len(u), number.dtype)
        self._team.share(paths.list_children, len(u), *map(raw, (u, v, number, child)))
        return self.gather(first, child)

    def _strip(self: Any, u: Array, v: Array, size: int) -> tuple[Array, Array, int]:
        """Return the arrays of `strip_leaves`, and its result."""
        nodes, dtype = self.full(size, 0, np.uint64), self.index_dtype(size)
        queue, above = empty(size + 1, dtype), empty(size + 1, dtype)
        paths.count_neighbors(raw(u), raw(v), nodes)
        core = paths.strip_leaves(nodes, _FRINGE, raw(queue), raw(above))
        return queue, above, core

    def _light_pairs(
        self: Any, pairs: Any, size: int, ordered: float, ignored: Array = NO_BITS
    ) -> tuple[Any, bool, tuple[Array, ...], bool]:
        """Return light pairs, whether there are others, `_in_order` of them, and whether it is all.

        There are some pairs for each node, but at least an eighth of all pairs, so that the pairs
        are not filtered often.
        """
        count, dtype = max(_LIGHT_PAIRS * size, len(pairs[2]) / 8), self.index_dtype(size)
        light, has_others = self._lightest(pairs, count, dtype, ignored)
        return light, has_others, *self._in_order(light, ordered, dtype)

    def _lightest(
        self: Any, pairs: Any, count: float, dtype: Any, ignored: Array = NO_BITS
    ) -> tuple[Any, bool]:
        """Return about `count` pairs with the smallest keys, and whether there are others."""
        a, b, key, ids = pairs
        limit: Any = self.largest(key.dtype)
        if has_others := len(key) > max(count, FEW):
            sample = np.sort(key[:: max(1, len(key) >> 13)])
            limit = sample[int(len(sample) * count / len(key))]
        elif not len(ignored):
            return pairs, False
        return self._compact_others(a, b, key, ids, limit, dtype, ignored), has_others

    def _in_order(
        self: Any, pairs: Any, count: float, dtype: Any
    ) -> tuple[tuple[Array, ...], bool]:
        """Return the ends and ids of about `count` of the lightest pairs, and whether it is all."""
        count = max(count, len(pairs[2]) / 8)
        if not (are_all := 2 * count >= len(pairs[2])):
            pairs, _ = self._lightest(pairs, count, dtype)
        a, b, key, ids = pairs
        order = self._positions(self._sorted_records(raw(key)))
        return tuple(self.gather(column, order) for column in (a, b, ids)), are_all

    def _first_paths(
        self: Any, tree: Any, pairs: Any, light: Any, keys: Array, ignored: Array = NO_BITS
    ) -> Array:
        """Return the id of the first pair that covers the edge from each node to its parent.

        As in Filter-Kruskal, the light pairs cover their paths first. Then the nodes on each path
        are joined, and the other pairs cover the smaller tree of joined nodes.

        Parameters
        ----------
        tree : tuple
            The number of each node, the parent of each number, and the size of the core.
        pairs : tuple of arrays
            The ends, keys and ids of all pairs.
        light : tuple
            As `_light_pairs` returns it.
        keys : array
            The key of each id. Their number is the result for edges that no pair covers.
        ignored : uint64 array
            As `_bits` returns it.
        """
        (number, parent, core), (some, has_others, *in_order) = tree, light
        dtype, size = parent.dtype, len(parent)
        first, are_all = self._cover_light(tree, some, *in_order, keys)
        if are_all and not has_others:
            return first
        label, tops = empty(size, dtype), empty(size + 1, dtype)
        tops = tops[: paths.number_tops(len(keys), *map(raw, (parent, first, label, tops)))]
        parent, label = self.gather(label, self.gather(parent, tops)), self.gather(label, number)
        core = int(np.searchsorted(tops, core))
        if core <= _SMALL_CORE:
            found = self._cover_together(parent, label, pairs, keys, ignored)
            self._replace(first, tops, found)
            return first
        pairs = self._relabel_others(label, *pairs, ignored)
        if len(pairs[2]):
            tree = self.arange(len(tops), dtype), parent, core
            light = self._light_pairs(pairs, len(tops), len(pairs[2]))
            self._replace(first, tops, self._first_paths(tree, pairs, light, keys))
        return first

    def _cover_light(
        self: Any, tree: Any, pairs: Any, in_order: Any, are_all: bool, keys: Array
    ) -> tuple[Array, bool]:
        """Return the first ids among light pairs, of which the lightest cover the core.

        Return also whether the lightest pairs are all of them.
        """
        number, parent, core = tree
        top, wanted = empty(len(parent), parent.dtype), _IN_ORDER * core
        paths.climb_to_core(raw(parent), core, raw(top))
        if not are_all and len(in_order[2]) < wanted:
            in_order, are_all = self._in_order(pairs, wanted, top.dtype)
        are_all |= not core
        a, b, ids = in_order if are_all and core else [column[:wanted] for column in in_order]
        columns, rows, inside = self._lower_fringe(number, top, pairs, keys)
        a, b = self.gather(number, a), self.gather(number, b)
        covering = self._filled(core, len(ids), self.index_dtype(len(ids)))
        first = empty(len(parent), self.index_dtype(len(keys)))
        raised = raw(parent), core, rows, inside, raw(number), *columns
        self._team.together(  # loops that only one thread can run
            (paths.cover_core, (*map(raw, (a, b, parent[:core] * 2, top, covering)),)),
            (paths.raise_fringe, (*raised, len(keys), raw(first))),
        )
        first[:core] = self.gather(ids, covering, fill=len(keys))
        return first, are_all

    def _lower_fringe(
        self: Any, number: Array, top: Array, pairs: Any, keys: Array
    ) -> tuple[tuple[Any, ...], Array, Array]:
        """Lower records as the kernel does; return `_record_columns`, all records, and `inside`."""
        size, length, labels = len(number), len(pairs[2]), empty(len(number), np.uint64)
        self._team.share(paths.pack_tops, size, raw(number), raw(top), labels)
        helpers = team(min(self.threads, 1 + 2 * length // max(1, size)))  # a word for each end
        shares, columns = helpers.shares(length), _record_columns(pairs, keys)
        rows = empty(len(shares) * size, np.uint64).reshape(len(shares), -1)
        inside = empty(length + 1, np.uint32)
        stops = helpers.share(paths.lower_fringe, length, labels, *columns, Each(rows), inside)
        parts = [inside[start:stop] for (start, _), stop in zip(shares, stops, strict=True)]
        return columns, rows, np.ascontiguousarray(self.concat(parts))

    def _cover_together(
        self: Any, parent: Array, label: Array, pairs: Any, keys: Array, ignored: Array
    ) -> Array:
        """Return the id of the first path that contains each node and its parent.

        The labels of nodes are the ends of paths. Threads follow paths in any order, so the paths
        inside branches must be short.
        """
        size, length, none = len(parent), len(pairs[2]), len(keys)
        helpers = team(max(1, min(self.threads, length // (2 * size))))  # memory of a word per pair
        rows = self._filled((len(helpers.shares(length)) + 1) * size, NONE, np.uint64)
        rows, branch = rows.reshape(-1, size), empty(size, parent.dtype)
        paths.climb_to_branch(raw(parent), raw(branch))
        columns, outside = _record_columns(pairs, keys), self._outside(label, pairs[0])
        tree = raw(parent), raw(branch), Each(rows), rows[-1]
        arguments = raw(label), raw(outside), *columns, ignored, *tree
        helpers.share(paths.lower_ends, length, *arguments)
        first = empty(size, self.index_dtype(none))
        paths.raise_records(raw(parent), rows, columns[-1], none, raw(first))
        return first

    def range_max(self: Any, table: tuple[Array, Array], first: Array, last: Array, /) -> Array:
        near, far = map(np.ascontiguousarray, table)
        out, size = empty(len(first), near.dtype), len(near) // (BLOCK + 1)
        arrays = near, far, size, raw(first), raw(last)
        self._team.share(paths.range_max, len(first), *arrays, out)
        return out


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


def _record_columns(pairs: Any, keys: Array) -> tuple[Any, ...]:
    """Return the arguments of kernels that make records of pairs, key above id.

    These are the columns; then the smallest key, the number of bits that records lack, and the key
    of each id if they lack any.
    """
    u, v, key, ids = pairs
    lowest = cut = 0
    if key.itemsize > 4 and len(key):
        lowest = int(key.min())
        cut = max(0, (int(key.max()) - lowest).bit_length() - 31)
    whole = raw(keys if cut else keys[:0])
    return *map(raw, (u, v, key)), *ids_of(ids), np.uint64(lowest), cut, whole
