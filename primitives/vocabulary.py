"""The vocabulary: the functions that an array module offers to stages.

An array module is an object with these functions over its own one-dimensional arrays. All functions
are pure: they never write to their arguments, which may be read-only. The arrays themselves have
operators (``==``, ``&``, ``~``, ``+``), slices and ``len``.

**1. Functions of the array API standard**, with its names and meanings

| primitive               | result                                               | work, memory   |
|-------------------------|------------------------------------------------------|----------------|
| asarray                 | host values as an array                              | n, 0           |
| empty                   | uninitialised memory                                 | 0, 0           |
| full, arange            | one repeated value; 0, 1, 2, ...                     | n, 0           |
| concat                  | the concatenation of arrays                          | n, 0           |
| where, minimum, maximum | elementwise choice                                   | n, 0           |
| sort, argsort           | ascending; argsort is stable                         | n log n, 8n    |
| searchsorted            | places at which to insert values in ascending ones   | n log m, 0     |

**2. Further functions**

| primitive               | result                                               | work, memory   |
|-------------------------|------------------------------------------------------|----------------|
| index_dtype, largest    | dtype for positions; largest value of a dtype        | 0, 0           |
| to_host                 | values as a NumPy array                              | n, 0           |
| count                   | number of true flags                                 | n, 0           |
| gather                  | values at given positions                            | n, 0           |
| compact                 | elements selected by a mask, in order                | n, 8n          |
| scan                    | prefix sums, inclusive or exclusive                  | n, 0           |
| offsets                 | CSR offsets from segment lengths                     | n, 0           |
| segmented_reduce        | min, max or sum of each segment                      | n, 0           |
| segmented_argmin        | position of the first smallest value of each segment | n, 8n          |
| segmented_broadcast     | one value per segment, repeated over the segment     | n, 0           |
| scatter                 | values written to distinct places, or one to all     | n, 0           |
| scatter_reduce          | values written to places, reduced where they meet    | n, 0           |
| scatter_argmin          | position of the first smallest value at each place   | n, 8n          |
| partition               | the k smallest values first                          | n, 0           |
| any_signed              | whether any sign bit is set                          | n, 0           |
| order_key, weights_of   | weights to unsigned keys of the same order, and back | n, 0           |
| pointer_jump            | root of every node of a forest of parents            | n log depth, n |

Of these, the vocabulary defines `offsets`, `partition`, `segmented_argmin` and `pointer_jump`. A
module may override them, as those of part 3.

**3. Fused functions**: compositions of functions of parts 1 and 2. The body of each is its
definition. A module may override it with a single pass over memory, which must return the same
bits. *Pairs* of nodes are two index arrays of equal length, such as the ends of edges. The compiled
module has a single pass for the columns of edges: `compact_pairs` with one further column, and
`relabel_pairs` with two. With others it runs the definition, in up to twice the time.

| primitive               | result                                               | work, memory   |
|-------------------------|------------------------------------------------------|----------------|
| consecutive             | consecutive integers, read-only                      | n or 0         |
| any_equal               | whether elements at the same position are equal      | n, n           |
| not_equal               | at which positions elements differ                   | n, 0           |
| compact_pairs           | pairs of different nodes and keys up to a limit      | n, 8n          |
| relabel_pairs           | pairs of different labels, in place of nodes         | n, 8n          |
| pack_flags              | flags as the bits of bytes                           | n, 8n          |
| compact_marked          | pairs with a node whose bit is set                   | n, 8n          |
| unique_inverse          | distinct integers, and the place of each among them  | n log n, 8n    |
| deal                    | columns sorted by an index of few values, stably     | n, n           |
| deal_ends               | both ends of pairs, sorted by the owners of nodes    | n, 8n          |
| multiprefix             | prefix sums of the values at each place              | n log n, 8n    |
| relabel_arcs            | labels of arcs' heads; arcs between labels, counted  | n, n           |
| segmented_compact       | selected elements of each segment, at a given place  | n, 8n          |
| scatter_min_pairs       | smallest pair at each place                          | n, 8n          |
| cut_mirrors             | forest of parents from one arrow per node            | n, 0           |
| number_roots            | consecutive numbers of trees, at every node          | n, n           |
| sorted_union            | union of disjoint sets of integers, ascending        | n log n, 8n    |
| isin                    | whether values occur in an ascending array           | n log m, 8n    |

An array module has four further groups of functions: the algorithm kernels (`primitives.joins`),
hierarchies of sets (`primitives.hierarchies`), paths and ranges (`primitives.paths`), and its
threads and memory (`runtime.host`). `pointsets.primitives` adds those for points.

Positions have the dtype `index_dtype(length)`. The length of the array stands for a position that
does not exist, such as that of the minimum of an empty segment. `gather` replaces it by a fill
value. Modules do not check their arguments. `CheckedModule` raises errors for the most common
violations of these contracts.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from ..runtime.host import Resources
from .hierarchies import Hierarchies
from .joins import Joins
from .paths import Paths

Array = Any
DType = Any
#: The functions that reduce values.
Reduction = Literal["min", "max", "sum"]
Side = Literal["left", "right"]


class ArrayModule(Joins, Hierarchies, Paths, Resources, Protocol):
    """All primitives, for the arrays of one library."""

    # 1. Functions of the array API standard.

    def asarray(self, values: Any, /, dtype: DType = None) -> Array:
        """Return `values` as an array of this module, without a copy if possible."""

    def empty(self, size: int, /, dtype: DType) -> Array:
        """Return an uninitialised array of `size` elements, to which the caller may write."""

    def full(self, size: int, value: Any, /, dtype: DType) -> Array:
        """Return an array of `size` elements, all equal to `value`."""

    def arange(self, size: int, /, dtype: DType) -> Array:
        """Return 0, 1, ..., size - 1."""

    def concat(self, arrays: list[Array], /) -> Array:
        """Return the concatenation of at least one array."""

    def where(self, mask: Array, yes: Any, no: Any, /) -> Array:
        """Return `yes` where the mask is true, else `no`, elementwise."""

    def minimum(self, left: Array, right: Any, /) -> Array:
        """Return the smaller of two values, elementwise."""

    def maximum(self, left: Array, right: Any, /) -> Array:
        """Return the larger of two values, elementwise."""

    def sort(self, values: Array, /) -> Array:
        """Return the values in ascending order."""

    def argsort(self, values: Array, /) -> Array:
        """Return the positions of the values in ascending order; ties by position."""

    def searchsorted(self, ascending: Array, values: Array, /, *, side: Side = "left") -> Array:
        """Return the place in an ascending array at which each value can be inserted.

        Parameters
        ----------
        ascending : integer array of length m
        values : array of length n
            With the dtype of `ascending`.
        side : {"left", "right"}
            Count the elements that are less than a value, or those that are at most the value.

        Returns
        -------
        array of length n
            Numbers up to m, with the dtype ``index_dtype(m)``.
        """

    # 2. Further functions.

    def index_dtype(self, size: int, /) -> DType:
        """Return int32 if it can hold `size`, else int64."""

    def largest(self, dtype: DType, /) -> Any:
        """Return the largest value of a dtype: infinity for floats."""

    def to_host(self, array: Array, /) -> Any:
        """Return the values as a NumPy array, without a copy if they are in host memory."""

    def count(self, mask: Array, /) -> int:
        """Return the number of true flags."""

    def gather(self, values: Array, index: Array, /, fill: Any = None) -> Array:
        """Return ``values[index]``, an array of length m.

        Parameters
        ----------
        values : array of length n
        index : integer array of length m
            Positions below n; with `fill`, also n.
        fill : one value, or array of length m, optional
            The value at position n.
        """

    def compact(self, mask: Array, /, *arrays: Array) -> tuple[Array, ...]:
        """Return the elements of each array whose flag is true, in order.

        Parameters
        ----------
        mask : bool array of length n
        *arrays : arrays of length n
        """

    def scan(self, values: Array, /, dtype: DType, *, exclusive: bool = False) -> Array:
        """Return the prefix sums.

        Parameters
        ----------
        values : bool or integer array of length n
        dtype : integer dtype
            Of the result, an array of length n.
        exclusive : bool
            Exclude the value at each position from its sum, so that the first sum is 0.
        """

    def offsets(self, lengths: Array, /, dtype: DType) -> Array:
        """Return the n + 1 CSR offsets of n segments: 0 and the inclusive scan of `lengths`."""
        return self.concat([self.full(1, 0, dtype), self.scan(lengths, dtype)])

    def segmented_reduce(
        self, values: Array, offsets: Array, op: Reduction, initial: Any, /
    ) -> Array:
        """Reduce each segment ``values[offsets[i]:offsets[i + 1]]``. An empty one gets `initial`.

        Parameters
        ----------
        values : array of length m
            Numbers; the result has their dtype. Flags are counted: the dtype is ``index_dtype(m)``.
        offsets : integer array of length n + 1
            Ascending from 0 to m.
        op : {"min", "max", "sum"}
        initial : number
        """

    def segmented_argmin(self, values: Array, offsets: Array, /) -> Array:
        """Return the position of the first smallest value of each segment; m if it is empty.

        Parameters
        ----------
        values : array of length m
            Numbers without NaN.
        offsets : integer array of length n + 1
            Ascending from 0 to m.
        """
        smallest, none = self.segmented_reduce(values, offsets, "min", 0), len(values)
        is_smallest = values == self.segmented_broadcast(smallest, offsets)
        position = self.where(is_smallest, self.arange(none, self.index_dtype(none)), none)
        return self.segmented_reduce(position, offsets, "min", none)

    def segmented_broadcast(self, values: Array, offsets: Array, /) -> Array:
        """Return ``values[i]`` at each position of segment i.

        Parameters
        ----------
        values : array of length n
        offsets : integer array of length n + 1
            Ascending from 0 to the length of the result.
        """

    def scatter(self, index: Array, values: Any, size: int, fill: Any, /, dtype: DType) -> Array:
        """Return an array of `size` elements: `values` at the places `index`, `fill` elsewhere.

        Parameters
        ----------
        index : integer array of length m
            Places below `size`; distinct unless `values` is a single value.
        values : array of length m, or one value
        size : int
        fill : number, bool, or array of length `size` with the dtype of the result
        dtype : dtype
            Of the result.
        """

    def scatter_reduce(
        self, index: Array, values: Array, size: int, op: Reduction, initial: Any, /
    ) -> Array:
        """Reduce the values that share a place, starting from `initial`.

        Parameters
        ----------
        index : integer array of length m
            Places below `size`; they may repeat.
        values : array of length m
            Numbers; the result has their dtype.
        size : int
        op : {"min", "max", "sum"}
        initial : number
        """

    def scatter_argmin(self, indices: tuple[Array, ...], values: Array, size: int, /) -> Array:
        """Return the position of the first smallest value that is sent to each place.

        Parameters
        ----------
        indices : tuple of integer arrays of length m
            ``values[i]`` is sent to the place ``index[i]`` of each array.
        values : unsigned integer array of length m
            Ties go to the smaller position.

        Returns
        -------
        integer array of length `size`
            Positions below m; m for a place that receives no value.
        """

    def partition(self, values: Array, k: int, /) -> Array:
        """Return the values in an order in which position `k` has the value that a sort puts there.

        No larger value comes before it. If `k` is at least the length, the order is unspecified.
        """
        return self.sort(values)

    def any_signed(self, weights: Array, /) -> bool:
        """Return whether any weight has its sign bit set: a negative number or -0.0."""

    def order_key(
        self, weights: Array, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        """Return unsigned integers of the same width that compare as the weights do.

        Parameters
        ----------
        weights : array of bool, any integer, float16, float32 or float64
            No NaN. -0.0 and 0.0 have the same key.
        signed : bool
            Whether sign bits may be set. If False, ascending keys are views of the weights, which
            use no memory. Keys are comparable only if they were computed with the same value.
        descending : bool
            Whether to reverse the order, so that the heaviest weight gets the smallest key.
        """

    def weights_of(
        self, keys: Array, dtype: DType, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        """Return the weights of keys that `order_key` computed, with 0.0 instead of -0.0.

        Parameters
        ----------
        keys : unsigned integer array
            Of the width of `dtype`.
        dtype : dtype of the weights
        signed, descending : bool
            The arguments of `order_key`.
        """

    def pointer_jump(self, parent: Array, /) -> Array:
        """Return the root of every node. A root is its own parent, which is the only cycle."""
        while self.count((above := self.gather(parent, parent)) != parent):
            parent = above
        return parent

    # 3. Fused functions: the body is the definition.

    def consecutive(self, first: int, size: int, /, dtype: DType) -> Array:
        """Return `first`, `first` + 1, ..., possibly as a read-only `Consecutive`."""
        count = self.arange(size, dtype=dtype)
        return count + self.asarray(first, dtype) if first else count

    def any_equal(self, left: Array, right: Array, /) -> bool:
        """Return whether two arrays of integers have an equal element at any position."""
        return self.count(left == right) > 0

    def not_equal(self, left: Array, right: Array, /) -> Array:
        """Return a flag for each position: whether two arrays of integers differ there."""
        return left != right

    def compact_pairs(
        self, u: Array, v: Array, key: Array, limit: int, dtype: DType, /, *columns: Array
    ) -> tuple[Array, ...]:
        """Select the pairs of two different nodes with keys of at most `limit`, in order.

        Parameters
        ----------
        u, v : index arrays of length m
        key : unsigned integer array of length m
        limit : int
        dtype : index dtype
            Of the selected u and v.
        *columns : arrays of length m
            Further columns to select from.

        Returns
        -------
        tuple of arrays
            The selected elements of u, v, key and each column.
        """
        u, v, *others = self.compact((key <= limit) & (u != v), u, v, key, *columns)
        return self.asarray(u, dtype), self.asarray(v, dtype), *others

    def relabel_pairs(
        self, label: Array, u: Array, v: Array, /, *columns: Array
    ) -> tuple[Array, ...]:
        """Replace the nodes of each pair by their labels; select the pairs of different labels.

        Parameters
        ----------
        label : index array of length n
        u, v : index arrays of length m
            Places below n.
        *columns : arrays of length m
            Further columns to select from.

        Returns
        -------
        tuple of arrays
            The selected elements of ``label[u]``, ``label[v]`` and each column, in order.
        """
        new_u, new_v = self.gather(label, u), self.gather(label, v)
        return self.compact(new_u != new_v, new_u, new_v, *columns)

    def pack_flags(self, flags: Array, /) -> Array:
        """Return bytes that have the flag of position i as bit i % 8 of byte i // 8."""
        size = len(flags)
        place = self.arange(size, self.index_dtype(size))
        bit = self.asarray([1 << bit for bit in range(8)], "uint8")
        place, bits = self.compact(flags, place >> 3, self.gather(bit, place & 7))
        return self.scatter_reduce(place, bits, -(-size // 8), "sum", 0)

    def compact_marked(
        self, bits: Array, u: Array, v: Array, /, *columns: Array
    ) -> tuple[Array, ...]:
        """Select the pairs of nodes one of which, or both, has its bit set.

        Parameters
        ----------
        bits : array of bytes
            Those of `pack_flags`, for n flags.
        u, v : index arrays of length m
            Places below n.
        *columns : arrays of length m
            Further columns to select from.

        Returns
        -------
        tuple of arrays
            The selected elements of u, v and each column, in order.
        """
        of_u, of_v = (self.gather(bits, end >> 3) >> (end & 7) for end in (u, v))
        return self.compact((of_u | of_v) & 1 == 1, u, v, *columns)

    def unique_inverse(self, values: Array, size: int, /) -> tuple[Array, Array]:
        """Return the distinct values, and the place of each value among them.

        Parameters
        ----------
        values : index array of length n
            Integers below `size`.
        size : int

        Returns
        -------
        distinct : array
            In ascending order.
        place : index array of length n
        """
        count, order = len(values), self.argsort(values)
        dtype, ascending = self.index_dtype(count), self.gather(values, order)
        is_first = self.concat(
            [self.full(min(1, count), True, bool), ascending[1:] != ascending[:-1]]
        )
        place = self.scatter(order, self.scan(is_first, dtype) - 1, count, 0, dtype)
        return self.compact(is_first, ascending)[0], place

    def deal(self, index: Array, size: int, /, *columns: Array) -> tuple[Array, ...]:
        """Sort columns by an index of few values; equal values keep their order.

        Parameters
        ----------
        index : index array of length m
            Values below `size`.
        size : int
        *columns : arrays of length m

        Returns
        -------
        offsets : array of length `size` + 1
            The first position of each value in the sorted columns; last, m.
        *columns : arrays of length m
        """
        one = self.full(len(index), 1, self.index_dtype(len(index)))
        offsets = self.offsets(self.scatter_reduce(index, one, size, "sum", 0), one.dtype)
        place = self.multiprefix(index, one, offsets[:-1])
        dealt = (self.scatter(place, x, len(index), 0, x.dtype) for x in columns)
        return offsets, *dealt

    def deal_ends(
        self, u: Array, v: Array, key: Array, owner: Array, bits: int, size: int, /
    ) -> tuple[Array, ...]:
        """Sort both ends of pairs by the owners of nodes; equal owners keep the order of pairs.

        Parameters
        ----------
        u, v : index arrays of length m
            Nodes. Both have the same dtype.
        key : array of length m
        owner : index array
            The owner of each block of 2^`bits` nodes, below `size`.
        bits : int
        size : int

        Returns
        -------
        offsets : array of length `size` + 1
            The first position of each owner in the next three arrays; last, 2 m.
        node, other, key : arrays of length 2 m
            Each end, the other end of its pair, and the key of the pair.
        place_u, place_v : index arrays of length m
            The positions of both ends of each pair.
        """
        ends, dtype = 2 * len(u), self.index_dtype(2 * len(u))
        even = 2 * self.arange(len(u), dtype)
        alternating = self.concat([even, even + 1])
        columns = (
            self.scatter(alternating, self.concat([*both]), ends, 0, both[0].dtype)
            for both in ((u, v), (v, u), (key, key))
        )
        position = self.arange(ends, dtype)
        node, *others = columns
        index = self.gather(owner, node >> bits)
        offsets, *dealt, end = self.deal(index, size, node, *others, position)
        place = self.scatter(end, position, ends, 0, dtype)
        return offsets, *dealt, self.gather(place, even), self.gather(place, even + 1)

    def multiprefix(self, index: Array, values: Array, start: Array, /) -> Array:
        """Add to the `start` of each value's place all earlier values at the same place.

        Parameters
        ----------
        index : index array of length m
            Places below n.
        values : integer array of length m
        start : array of length n
            With the dtype of the values, which holds all sums.
        """
        order = self.argsort(index)
        sums = self.scan(self.gather(values, order), dtype=start.dtype, exclusive=True)
        total = self.scatter_reduce(index, values, len(start), "sum", 0)
        distance = start - self.offsets(total, dtype=start.dtype)[:-1]
        sums = sums + self.gather(distance, self.gather(index, order))
        return self.scatter(order, sums, len(index), 0, dtype=start.dtype)

    def relabel_arcs(
        self, label: Array, destination: Array, offsets: Array, /
    ) -> tuple[Array, Array, Array]:
        """Look up the labels of the destinations of arcs, and find the arcs between two labels.

        Parameters
        ----------
        label : index array of length n
        destination : index array of length m
            Nodes below n. Segment i has the arcs from node i.
        offsets : integer array of length n + 1
            Ascending from 0 to m.

        Returns
        -------
        target : index array of length m
            The label of each destination.
        is_crossing : bool array of length m
            Whether the source has another label.
        degree : index array of length n
            The number of arcs from each node to another label, with the dtype ``index_dtype(m)``.
        """
        target = self.gather(label, destination)
        is_crossing = self.not_equal(self.segmented_broadcast(label, offsets), target)
        return target, is_crossing, self.segmented_reduce(is_crossing, offsets, "sum", 0)

    def segmented_compact(
        self, mask: Array, offsets: Array, start: Array, /, *arrays: Array
    ) -> tuple[Array, ...]:
        """Move the elements of each segment that a mask selects, in order, to consecutive places.

        Parameters
        ----------
        mask : bool array of length m
        offsets : integer array of length n + 1
            Ascending from 0 to m.
        start : index array of length n
            The place of the first element of each segment. The places of all selected elements are
            distinct and below their number.
        *arrays : arrays of length m

        Returns
        -------
        tuple of arrays
            The selected elements of each array, at their new places.
        """
        selected, count = self.compact(mask, *arrays), self.count(mask)
        ends = self.offsets(self.segmented_reduce(mask, offsets, "sum", 0), dtype=start.dtype)
        distance = self.segmented_broadcast(start - ends[:-1], ends)
        place = self.arange(count, start.dtype) + distance
        return tuple(self.scatter(place, x, count, 0, dtype=x.dtype) for x in selected)

    def scatter_min_pairs(
        self, u: Array, v: Array, key: Array, ids: Array, size: int, /
    ) -> tuple[Array, Array, Array]:
        """Find the pair with the smallest (key, id) at each place, and the other node of the pair.

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
            For a place in no pair: the largest key, the largest id and the place itself.
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
        """Convert an arrow per node to a forest of parents: remove one of two opposite arrows.

        Parameters
        ----------
        target : index array of length n
            The head of each node's arrow. No cycle has more than two nodes.
        ids : array of length n
            The id of each arrow.

        Returns
        -------
        parent : index array of length n
            The target of each node. If two nodes point at each other, the smaller one becomes a
            root, which is its own parent. A node that points at itself is also a root.
        kept : array
            The ids of the arrows that remain, in order: those of all nodes except roots.
        """
        node = self.arange(len(target), dtype=target.dtype)
        is_cut = (self.gather(target, target) == node) & (node < target)
        parent = self.where(is_cut, node, target)
        return parent, self.compact(parent != node, ids)[0]

    def number_roots(self, root: Array, /) -> tuple[Array, int]:
        """Assign the numbers 0, 1, ... to the roots in order, and to each node its root's number.

        Parameters
        ----------
        root : index array of length n
            The root of each node. A root is its own root.

        Returns
        -------
        number : index array of length n
        count : int
            The number of roots.
        """
        is_root = root == self.arange(len(root), dtype=root.dtype)
        number = self.scan(is_root, dtype=root.dtype, exclusive=True)
        return self.gather(number, root), self.count(is_root)

    def sorted_union(self, arrays: tuple[Array, ...], /) -> Array:
        """Return the union of disjoint sets of integers, in ascending order.

        Parameters
        ----------
        arrays : tuple of integer arrays
            At least one array. No integer may occur twice in all arrays together.
        """
        return self.sort(self.concat(list(arrays)))

    def isin(self, values: Array, ascending: Array, /) -> Array:
        """Return whether each value occurs in an ascending array of the same integer dtype."""
        place = self.searchsorted(ascending, values)
        return (self.gather(ascending, place, fill=0) == values) & (place < len(ascending))
