"""Primitives for paths in trees and for ranges of arrays.

The body of each primitive is its definition by functions of the vocabulary. Array modules with
compiled loops override the body and return the same result.

| primitive   | result                                                           |
|-------------|------------------------------------------------------------------|
| path_sums   | sums of values on the paths from each node to its root           |
| cover_paths | the first path, by key, that covers each edge of a forest        |
| max_table   | maxima of windows, from which the maximum of any range follows   |
| range_max   | the maximum of each range, by four gathers                       |

The table of maxima has two parts. The first part has the maxima of *windows* of 1, 2, 4, 8 and 16
consecutive values. The second part has the maxima of windows of 1, 2, 4, ... *blocks* of 16 values.
Two windows, which may overlap, cover a range of up to 32 values. A longer range is covered by two
windows of 16 values at its ends and two windows of blocks between them. So the table has about six
values for each value of the array. Without blocks, it would have log2(n) values for each.

Source: Bender and Farach-Colton, "The LCA Problem Revisited", LATIN 2000, for the windows and the
blocks.
"""

from __future__ import annotations

from typing import Any, Protocol

Array = Any

#: The binary logarithm of the length of a block.
BLOCK = 4
#: float64 has the exponent of a number above 52 bits, with this bias.
_FRACTION_BITS, _BIAS = 52, 1023


class Paths(Protocol):
    """The part of an `ArrayModule` for paths and ranges; `self` is the whole module."""

    def path_sums(self: Any, parent: Array, values: Array, /) -> Array:
        """Return the sum of the values of each node and all its ancestors.

        This definition doubles the length of the summed paths in each step.

        Parameters
        ----------
        parent : index array of length n
            The parent of each node has a larger number. A root is its own parent.
        values : integer array of length n
            The sums must fit into its dtype.

        Returns
        -------
        array of length n, with the dtype of `values`
        """
        is_root = parent == self.arange(len(parent), dtype=parent.dtype)
        zeros = self.full(len(values), 0, dtype=values.dtype)
        sums = self.where(is_root, zeros, values)
        while True:
            above = self.gather(parent, parent)
            sums = sums + self.gather(sums, parent)
            if not self.count(above != parent):
                return sums + self.gather(values, above)
            parent = above

    def cover_paths(
        self: Any, u: Array, v: Array, a: Array, b: Array, key: Array, ignored: Array, size: int, /
    ) -> Array:
        """Find the first path, in ascending order of keys, that covers each edge of a forest.

        The paths join two sides of an edge. The first of them is in the minimum forest of all pairs
        of ends, so this definition ignores the other paths. It roots the trees, divides each path
        into at most four climbs whose lengths are powers of two, and marks these climbs. Then it
        replaces each mark by marks of two climbs of half the length, until each mark covers one
        edge.

        Parameters
        ----------
        u, v : index arrays of length f
            The edges of a forest over nodes below `size`.
        a, b : index arrays of length m
            The ends of each path; both are in the same tree.
        key : unsigned integer array of length m
            Of paths with equal keys, the first in the arrays comes first.
        ignored : index array
            The positions of paths that are ignored, in ascending order.
        size : int

        Returns
        -------
        index array of length f
            The position of the first path that contains each edge; m if no path contains it.
        """
        b = self.where(self.scatter(ignored, True, len(a), False, dtype="bool"), a, b)
        chosen, _ = self.join_by_key(a, b, key, size)
        a, b = self.gather(a, chosen), self.gather(b, chosen)
        none, node = len(chosen), self.arange(size, dtype=self.index_dtype(size))
        above, edge = _rooted(self, u, v, size)
        climbs, depth = [above], self.asarray(above != node, node.dtype)
        while self.count((top := self.gather(climbs[-1], climbs[-1])) != climbs[-1]):
            depth = depth + self.gather(depth, climbs[-1])
            climbs.append(top)
        path = self.arange(none, dtype=self.index_dtype(none))
        first = [self.full(size, none, dtype=path.dtype) for _ in climbs]

        def climb(level: int, end: Array, is_climbing: Array) -> Array:
            start, mark = self.compact(is_climbing, end, path)
            marked = self.scatter_reduce(start, mark, size, "min", none)
            first[level] = self.minimum(first[level], marked)
            return self.where(is_climbing, self.gather(climbs[level], end), end)

        a, b = (self.asarray(end, node.dtype) for end in (a, b))
        is_low = self.gather(depth, a) > self.gather(depth, b)
        low, high = self.where(is_low, a, b), self.where(is_low, b, a)
        rise = self.gather(depth, low) - self.gather(depth, high)
        for level in range(len(climbs)):
            low = climb(level, low, (rise >> level) & 1 == 1)
        for level in reversed(range(len(climbs))):
            differ = self.gather(climbs[level], low) != self.gather(climbs[level], high)
            low, high = climb(level, low, differ), climb(level, high, differ)
        for end in (low, high):
            climb(0, end, low != high)
        for level in reversed(range(1, len(climbs))):
            half = self.scatter_reduce(climbs[level - 1], first[level], size, "min", none)
            first[level - 1] = self.minimum(self.minimum(first[level - 1], first[level]), half)
        below, place = self.compact(edge < len(u), first[0], edge)
        found = self.scatter(place, below, len(u), none, dtype=path.dtype)
        return self.gather(chosen, found, fill=len(key))

    def max_table(self: Any, values: Array, /) -> tuple[Array, Array]:
        """Return the table that `range_max` needs.

        Parameters
        ----------
        values : index array of length n

        Returns
        -------
        near : array of length 5 n
            At ``k * n + i``, the maximum of the 2^k values from position i on, or of all values up
            to the end of the array.
        far : array of length j b
            At ``k * b + i``, the maximum of the 2^k blocks from block i on, or of all blocks up to
            the end. There are b blocks, and j is the smallest number for which 2^j exceeds b.
        """
        near = _windows(self, values, BLOCK + 1)
        blocks = near[BLOCK][:: 2**BLOCK]
        far = _windows(self, blocks, max(1, len(blocks).bit_length()))
        return self.concat(near), self.concat(far)

    def range_max(self: Any, table: tuple[Array, Array], first: Array, last: Array, /) -> Array:
        """Return the maximum of each range of the array from which `table` was made.

        Parameters
        ----------
        table : tuple of arrays
            As `max_table` returns it.
        first, last : index arrays of length m
            The positions of the first and the last value of each range.

        Returns
        -------
        array of length m, with the dtype of the table
        """
        near, far = table
        size = len(near) // (BLOCK + 1)
        blocks = -(-size >> BLOCK)
        found = _window_max(self, near, size, first, last)
        low, high = (first + (2**BLOCK - 1)) >> BLOCK, ((last + 1) >> BLOCK) - 1
        has_blocks = low <= high
        low = self.minimum(low, max(0, blocks - 1))
        between = _window_max(self, far, blocks, low, self.maximum(low, high))
        return self.where(has_blocks, self.maximum(found, between), found)


def _rooted(ops: Any, u: Array, v: Array, size: int) -> tuple[Array, Array]:
    """Return the parent of each node of a forest, and the position of the edge to it.

    The root of a tree is its smallest node. It is its own parent, and its edge is at position f.

    Source: Tarjan and Vishkin, "An Efficient Parallel Biconnectivity Algorithm", SIAM J. Comput. 14
    (1985). An Euler tour passes each edge down and up. Pointer doubling counts the remaining arcs.
    """
    num_edges = len(u)
    dtype = ops.index_dtype(max(2 * num_edges, size))
    source, target = ops.asarray(ops.concat([u, v]), dtype), ops.asarray(ops.concat([v, u]), dtype)
    arc, node = (ops.arange(length, dtype=dtype) for length in (2 * num_edges, size))
    twin = ops.where(arc < num_edges, arc + num_edges, arc - num_edges)
    order = ops.asarray(ops.argsort(source), dtype)
    place = ops.scatter(order, arc, len(arc), 0, dtype=dtype)
    degree = ops.scatter_reduce(source, ops.full(len(arc), 1, dtype=dtype), size, "sum", 0)
    ends = ops.offsets(degree, dtype=dtype)
    following = place + 1
    is_last = following == ops.gather(ends[1:], source)
    following = ops.where(is_last, ops.gather(ends, source), following)
    following = ops.gather(order, ops.gather(following, twin))
    _, root = ops.join_in_order(u, v, size)
    start = ops.gather(order, ops.gather(ends, ops.gather(root, source)))
    following = ops.where(following == start, arc, following)
    left = ops.asarray(following != arc, dtype)
    while ops.count((beyond := ops.gather(following, following)) != following):
        left, following = left + ops.gather(left, following), beyond
    is_down = left > ops.gather(left, twin)
    child, parent, edge = ops.compact(is_down, target, source, ops.minimum(arc, twin))
    edge = ops.scatter(child, edge, size, num_edges, dtype=dtype)
    above = ops.scatter(child, parent, size, 0, dtype=dtype)
    return ops.asarray(ops.where(edge < num_edges, above, node), ops.index_dtype(size)), edge


def _windows(ops: Any, values: Array, count: int) -> list[Array]:
    """Return the maxima of windows of 1, 2, 4, ... values, for `count` lengths."""
    rows, size = [values], len(values)
    for level in range(count - 1):
        row, cut = rows[-1], max(0, size - 2**level)
        rows.append(ops.concat([ops.maximum(row[:cut], row[size - cut :]), row[cut:]]))
    return rows


def _window_max(ops: Any, table: Array, size: int, first: Array, last: Array) -> Array:
    """Return the maximum of two windows that cover a range: one at its start, one at its end."""
    dtype, levels = ops.index_dtype(len(table)), len(table) // max(1, size)
    level = ops.minimum(ops.asarray(log2(ops, last - first + 1), dtype), levels - 1)
    width = ops.gather(ops.asarray([2**each for each in range(levels)], dtype), level)
    row = level * size
    return ops.maximum(ops.gather(table, row + first), ops.gather(table, row + last + 1 - width))


def log2(ops: Any, values: Array) -> Array:
    """Return the binary logarithms of positive integers below 2^53, rounded down (int64)."""
    exponent = ops.order_key(ops.asarray(values, "float64"), signed=False) >> _FRACTION_BITS
    return ops.asarray(exponent, "int64") - _BIAS
