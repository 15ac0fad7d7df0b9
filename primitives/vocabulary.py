"""The vocabulary: every function that an array module offers to stages.

An array module is an object with these functions over its own one-dimensional arrays. All are
pure: they never write to arguments, which may be read-only. The arrays themselves bring operators
(``==``, ``&``, ``~``, ``+``, slices, ``len``).

**1. As in the array API standard**

| primitive               | result                                               | work, memory   |
|-------------------------|------------------------------------------------------|----------------|
| asarray                 | values of the host as an array                       | n, 0           |
| empty                   | memory for values to come                            | 0, 0           |
| full, arange            | one value over and over; 0, 1, 2, ...                | n, 0           |
| concat                  | arrays one after another                             | n, 0           |
| where, minimum, maximum | elementwise choice                                   | n, 0           |
| sort, argsort           | ascending; argsort is stable                         | n log n, 8n    |

**2. Our own**

| primitive               | result                                               | work, memory   |
|-------------------------|------------------------------------------------------|----------------|
| index_dtype, largest    | the dtype of positions; the largest value of a dtype | 0, 0           |
| to_host                 | values as an array of NumPy's                        | n, 0           |
| count                   | number of true flags                                 | n, 0           |
| gather                  | values from places                                   | n, 0           |
| compact                 | the elements that a mask selects, order kept         | n, 8n          |
| scan                    | sums of all values up to each (or before each)       | n, 0           |
| offsets                 | CSR offsets from segment lengths                     | n, 0           |
| segmented_reduce        | min, max or sum of each segment                      | n, 0           |
| segmented_argmin        | position of the first smallest value of each segment | n, 8n          |
| segmented_broadcast     | one value a segment, repeated over the segment       | n, 0           |
| scatter                 | values to distinct places, or one value to places    | n, 0           |
| scatter_reduce          | values to places, those that meet are reduced        | n, 0           |
| scatter_argmin          | position of the first smallest value at each place   | n, 8n          |
| partition               | the k smallest first, then the next, then the others | n, 0           |
| any_signed              | whether a sign bit is set                            | n, 0           |
| order_key, weights_of   | unsigned integers in the order of weights, and back  | n, 0           |
| pointer_jump            | root of every node of a parent forest                | n log depth, n |

**3. Fused**: several of the above in one pass, for modules that can. Each method is written in
functions of parts 1 and 2; that definition is what an override must equal, bit for bit. *Pairs* are
two index arrays of one length: the ends of edges, the nodes of arcs.

| primitive               | result                                               | work, memory   |
|-------------------------|------------------------------------------------------|----------------|
| consecutive             | integers from any on, to be read only                | n or 0         |
| compact_pairs           | pairs of distinct members with keys up to a limit    | n, 8n          |
| relabel_pairs           | pairs of labels, those that still differ             | n, 8n          |
| scatter_min_pairs       | the smallest pair at each place                      | n, 8n          |
| cut_mirrors             | a parent forest from arrows, and the ids of its arcs | n, 0           |
| number_roots            | roots numbered in order, and each node by its root   | n, n           |
| sort_distinct           | distinct integers of several arrays, ascending       | n log n, 8n    |

Two further pages complete an array module: the algorithm kernels of `primitives.joins`, which know
what a tree is, and `runtime.resources`, the threads and the memory that it computes with.

A *position* that does not exist (an empty segment, a place no value reached) is the length of the
array it would point into; `gather` turns such positions into a fill value. Places and positions
have `index_dtype`: int32 where that suffices, else int64. `CheckedModule` refuses the commonest
breaches of these contracts where stages call; the other modules trust their callers.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from ..runtime.resources import Resources
from .joins import Joins

Array = Any
DType = Any


class ArrayModule(Joins, Resources, Protocol):
    """The functions above, for the arrays of one library."""

    # 1. Functions that the array API standard has, too.

    def asarray(self, values: Any, /, dtype: DType = None) -> Array:
        """Return `values` as an array of this module, copied only if it must be."""

    def empty(self, size: int, /, dtype: DType) -> Array:
        """Return `size` unspecified values, for a caller that writes them and owns the array."""

    def full(self, size: int, value: Any, /, dtype: DType) -> Array:
        """Return `size` times `value`."""

    def arange(self, size: int, /, dtype: DType) -> Array:
        """Return 0, 1, ..., size - 1."""

    def concat(self, arrays: list[Array], /) -> Array:
        """Return the arrays, at least one, one after another."""

    def where(self, mask: Array, yes: Any, no: Any, /) -> Array:
        """Return `yes` where the mask is true, else `no`, elementwise."""

    def minimum(self, left: Array, right: Any, /) -> Array:
        """Return the smaller of both, elementwise."""

    def maximum(self, left: Array, right: Any, /) -> Array:
        """Return the larger of both, elementwise."""

    def sort(self, values: Array, /) -> Array:
        """Return the values in ascending order."""

    def argsort(self, values: Array, /) -> Array:
        """Return the positions of the values in ascending order; ties by position."""

    # 2. Functions of our own.

    def index_dtype(self, size: int, /) -> DType:
        """Return the smaller of int32 and int64 that holds `size`."""

    def largest(self, dtype: DType, /) -> Any:
        """Return the largest value of a dtype, infinity if it has one: "none" in comparisons."""

    def to_host(self, array: Array, /) -> Any:
        """Return the values as an array of NumPy's, without a copy where host memory has them."""

    def count(self, mask: Array, /) -> int:
        """Return how many flags are true."""

    def gather(self, values: Array, index: Array, /, fill: Any = None) -> Array:
        """Return ``values[index]``, an array of length m.

        Parameters
        ----------
        values : array of length n
        index : integer array of length m
            Positions below n; equal to n, too, if there is a `fill` for them.
        fill : one value, or array of length m, optional
        """

    def compact(self, mask: Array, /, *arrays: Array) -> tuple[Array, ...]:
        """Return of each array the elements whose flag is true, order kept.

        Parameters
        ----------
        mask : bool array of length n
        *arrays : arrays of length n
        """

    def scan(self, values: Array, /, dtype: DType, *, exclusive: bool = False) -> Array:
        """Return running sums: with each value, or of those before it.

        Parameters
        ----------
        values : bool or integer array of length n
        dtype : integer dtype
            Of the sums, an array of length n.
        exclusive : bool
            Leave out the value itself, so that the first sum is 0.
        """

    def offsets(self, lengths: Array, /, dtype: DType) -> Array:
        """Return the n + 1 CSR offsets of n segments: 0, then the inclusive scan of `lengths`."""

    def segmented_reduce(
        self, values: Array, offsets: Array, op: Literal["min", "max", "sum"], initial: Any, /
    ) -> Array:
        """Reduce each segment ``values[offsets[i]:offsets[i + 1]]``; an empty one is `initial`.

        Parameters
        ----------
        values : array of length m
            Numbers; the result has their dtype.
        offsets : integer array of length n + 1
            Ascending from 0 to m.
        op : {"min", "max", "sum"}
        initial : number
        """

    def segmented_argmin(self, values: Array, offsets: Array, /) -> Array:
        """Return the position of the first smallest value of each segment; m for an empty one.

        Parameters
        ----------
        values : array of length m
            Numbers without NaN.
        offsets : integer array of length n + 1
            Ascending from 0 to m.
        """

    def segmented_broadcast(self, values: Array, offsets: Array, /) -> Array:
        """Return ``values[i]`` for every position of segment i: the inverse of a reduction.

        Parameters
        ----------
        values : array of length n
        offsets : integer array of length n + 1
            Ascending from 0 to the length of the result.
        """

    def scatter(self, index: Array, values: Any, size: int, fill: Any, /, dtype: DType) -> Array:
        """Return `size` times `fill`, with `values` written at some places.

        Parameters
        ----------
        index : integer array of length m
            Places below `size`: distinct ones, unless `values` is one value for all.
        values : array of length m, or one value
        size : int
        fill : number or bool
        dtype : dtype
            Of the result.
        """

    def scatter_reduce(
        self, index: Array, values: Array, size: int, op: Literal["min", "max", "add"],
        initial: Any, /,
    ) -> Array:  # fmt: skip
        """Reduce all values that share a place, starting from `initial`: the result where none is.

        Parameters
        ----------
        index : integer array of length m
            Places below `size`; duplicates welcome.
        values : array of length m
            Numbers; the result has their dtype.
        size : int
        op : {"min", "max", "add"}
        initial : number
        """

    def scatter_argmin(self, indices: tuple[Array, ...], values: Array, size: int, /) -> Array:
        """Return at each place the position of the first smallest value that is sent there.

        Parameters
        ----------
        indices : tuple of integer arrays of length m
            ``values[i]`` is sent to ``index[i]`` of each of them.
        values : unsigned integer array of length m
            Ties go to the smaller position.

        Returns
        -------
        integer array of length `size`
            Positions below m; m where no value is sent.
        """

    def partition(self, values: Array, k: int, /) -> Array:
        """Return the values reordered: what sorting puts at `k` is there, no larger one before it.

        With `k` the length or more, the order is any.
        """

    def any_signed(self, weights: Array, /) -> bool:
        """Return whether any weight has its sign bit set: negative numbers, and -0.0."""

    def order_key(
        self, weights: Array, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        """Return unsigned integers, as wide as the weights, that compare as the weights do.

        Parameters
        ----------
        weights : array of bool, any integer, float16, float32 or float64
            No NaN. -0.0 and 0.0 have one key.
        signed : bool
            Whether a sign bit may be set. Where none is, the keys are the weights' own bits, and
            take no memory. Keys made with different values of it do not compare.
        descending : bool
            Reverse the order: the heaviest weight gets the smallest key.
        """

    def weights_of(
        self, keys: Array, dtype: DType, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        """Return the weights of which `order_key` made these keys; of both zeros, 0.0.

        Parameters
        ----------
        keys : unsigned integer array
            As wide as `dtype`.
        dtype : dtype of the weights
        signed, descending : bool
            As given to `order_key`.
        """

    def pointer_jump(self, parent: Array, /) -> Array:
        """Return the root of every node. A root is its own parent; there is no other cycle."""

    # 3. Fused functions: each body is the definition that an override must equal.

    def consecutive(self, first: int, size: int, /, dtype: DType) -> Array:
        """Return `first`, `first` + 1, ... as an array, or what stands for one."""
        count = self.arange(size, dtype=dtype)
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
        place = self.arange(size, dtype=dtype)
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
        node = self.arange(len(target), dtype=target.dtype)
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
        is_root = root == self.arange(len(root), dtype=root.dtype)
        number = self.scan(is_root, dtype=root.dtype, exclusive=True)
        return self.gather(number, root), self.count(is_root)

    def sort_distinct(self, arrays: tuple[Array, ...], /) -> Array:
        """Return the values of several integer arrays, no two of them equal, in ascending order."""
        return self.sort(self.concat(list(arrays)))
