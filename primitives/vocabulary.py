"""The vocabulary: the plain primitives that an array module offers, on one page.

An array module is an object with these functions over its own one-dimensional arrays; `fused`
builds larger ones of them. All are pure: arguments are never written to and may be read-only.
Array operators (``==``, ``&``, ``~``, ``+``, slices, ``len``) are expected of the arrays
themselves.

| primitive               | result                                               | work, memory   |
|-------------------------|------------------------------------------------------|----------------|
| index_dtype, largest    | the dtype of positions; the largest value of a dtype | 0, 0           |
| asarray, to_host        | values of the host as an array, and back             | n, 0           |
| empty                   | memory for values to come                            | 0, 0           |
| iota, full              | 0, 1, 2, ...; one value over and over                | n, 0           |
| consecutive             | integers from any on, which may take no memory       | n or 0         |
| where, minimum, maximum | elementwise choice                                   | n, 0           |
| concatenate             | arrays one after another                             | n, 0           |
| count                   | number of true flags                                 | n, 0           |
| scan                    | sums of all values up to each (or before each)       | n, 0           |
| offsets                 | CSR offsets from segment lengths                     | n, 0           |
| segmented_reduce        | min, max or sum of each segment                      | n, 0           |
| segmented_argmin        | position of the first smallest value of each segment | n, 8n          |
| segmented_broadcast     | one value a segment, repeated over the segment       | n, 0           |
| scatter                 | values to distinct places, or one value to places    | n, 0           |
| scatter_reduce          | values to places, those that meet are reduced        | n, 0           |
| scatter_argmin          | position of the first smallest value at each place   | n, 8n          |
| gather                  | values from places                                   | n, 0           |
| compact                 | what a mask selects, order kept                      | n, 8n          |
| sort, argsort           | ascending; argsort is stable                         | n log n, 8n    |
| partition               | the k smallest first, then the next, then the others | n, 0           |
| any_signed              | whether a sign bit is set                            | n, 0           |
| order_key               | unsigned integers in the order of the weights        | n, 0           |
| pointer_jump            | root of every node of a parent forest                | n log depth, n |

A *position* that does not exist (an empty segment, a place no value reached) is the length of the
array it would point into; `gather` turns such positions into a fill value. Places and positions
have `index_dtype`: int32 where that suffices, else int64. `CheckedModule` refuses the commonest
breaches of these contracts where stages call; the plain modules trust their callers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Array = Any
DType = Any


class PlainPrimitives(Protocol):
    """The functions above, for the arrays of one library."""

    #: How many threads share a call, at most.
    threads: int

    def index_dtype(self, size: int, /) -> DType:
        """Return the smaller of int32 and int64 that holds `size`."""

    def largest(self, dtype: DType, /) -> Any:
        """Return the largest value of a dtype, infinity if it has one: "none" in comparisons."""

    def device_memory(self) -> int | None:
        """Return how many bytes are free for arrays on a device; None if they lie on the host."""

    def beside(self) -> AbstractContextManager[Any]:
        """Return a context for another thread that computes on the same device.

        What was begun here before it is entered runs first; what is begun after it is left, last.
        """

    def asarray(self, values: Any, /, dtype: DType = None) -> Array:
        """Return `values` as an array of this module, copied only if it must be."""

    def to_host(self, array: Array, /) -> Any:
        """Return the values as an array of NumPy's, without a copy where host memory has them."""

    def empty(self, size: int, /, dtype: DType) -> Array:
        """Return `size` unspecified values, for a caller that writes them and owns the array."""

    def iota(self, size: int, /, dtype: DType) -> Array:
        """Return 0, 1, ..., size - 1."""

    def consecutive(self, first: int, size: int, /, dtype: DType) -> Array:
        """Return `first`, `first` + 1, ... to be read only: a `Consecutive` may stand for it."""

    def full(self, size: int, value: Any, /, dtype: DType) -> Array:
        """Return `size` times `value`."""

    def where(self, mask: Array, yes: Any, no: Any, /) -> Array:
        """Return `yes` where the mask is true, else `no`, elementwise."""

    def minimum(self, left: Array, right: Any, /) -> Array:
        """Return the smaller of both, elementwise."""

    def maximum(self, left: Array, right: Any, /) -> Array:
        """Return the larger of both, elementwise."""

    def concatenate(self, arrays: list[Array], /) -> Array:
        """Return the arrays, at least one, one after another."""

    def count(self, mask: Array, /) -> int:
        """Return how many flags are true."""

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

    def sort(self, values: Array, /) -> Array:
        """Return the values in ascending order."""

    def argsort(self, values: Array, /) -> Array:
        """Return the positions of the values in ascending order; ties by position."""

    def partition(self, values: Array, k: int, /) -> Array:
        """Return the values reordered: what sorting puts at `k` is there, no larger one before it.

        With `k` the length or more, the order is any.
        """

    def any_signed(self, weights: Array, /) -> bool:
        """Tell whether any weight has its sign bit set: negative numbers, and -0.0."""

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

    def pointer_jump(self, parent: Array, /) -> Array:
        """Return the root of every node. A root is its own parent; there is no other cycle."""
