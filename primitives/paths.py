"""Primitives for paths in trees and for ranges of arrays.

The body of each primitive is its definition by functions of the vocabulary. Array modules with
compiled loops override the body and return the same result.

The table of maxima has two arrays. The first has the maxima of *windows* of 1, 2, 4, 8 and 16
consecutive values. The second has the maxima of windows of 1, 2, 4, ... *blocks* of 16 values. Two
windows, which may overlap, cover a range of up to 32 values. A longer range is covered by two
windows of 16 values at its ends and two windows of blocks between them. So the table has about six
values for each value of the array. Without blocks, it would have log2(n) values for each.

Source: Bender and Farach-Colton, "The LCA Problem Revisited", LATIN 2000, for the windows and the
blocks.
"""

from __future__ import annotations

from typing import Any, Protocol

Array = Any

#: The binary logarithm of the length of a block.
BLOCK_BITS = 4
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
        near = _windows(self, values, BLOCK_BITS + 1)
        blocks = near[BLOCK_BITS][:: 2**BLOCK_BITS]
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
        size = len(near) // (BLOCK_BITS + 1)
        blocks = -(-size >> BLOCK_BITS)
        widest = _window_max(self, near, size, first, last)
        low, high = (first + (2**BLOCK_BITS - 1)) >> BLOCK_BITS, ((last + 1) >> BLOCK_BITS) - 1
        has_blocks = low <= high
        low = self.minimum(low, max(0, blocks - 1))
        between = _window_max(self, far, blocks, low, self.maximum(low, high))
        return self.where(has_blocks, self.maximum(widest, between), widest)


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
    width = ops.gather(ops.asarray([2**power for power in range(levels)], dtype), level)
    row = level * size
    return ops.maximum(ops.gather(table, row + first), ops.gather(table, row + last + 1 - width))


def log2(ops: Any, values: Array) -> Array:
    """Return the binary logarithms of positive integers below 2^53, rounded down (int64)."""
    exponent = ops.order_key(ops.asarray(values, "float64"), signed=False) >> _FRACTION_BITS
    return ops.asarray(exponent, "int64") - _BIAS
