"""The primitives over elements and segments, by compiled loops over shares of a range."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...runtime.kernels import plain, raw
from ...runtime.memory import empty
from ...runtime.sizes import sizes
from ...runtime.team import STREAMED, Each, divide, team
from ..consecutive import Consecutive
from ..numpy_arrays import UFUNCS, NumpyArrays
from ..vocabulary import Reduction
from . import elements, reduce, scatter, sorting

Array = NDArray[Any]

#: Threads that write to places at this distance do not share a cache line.
_CACHE_LINE = 64


class BaseArrays(NumpyArrays):
    """The primitives over elements and segments.

    `partition` and `sort` are NumPy's. Reductions of floats are NumPy's too: the order of
    additions determines their last bits.
    """

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        self._team = team(threads)

    def asarray(self, values: Any, /, dtype: DTypeLike | None = None) -> Any:
        if isinstance(values, Consecutive):
            return self.consecutive(values.first, len(values), dtype or values.dtype)
        return np.asarray(values, dtype)

    def arange(self, size: int, /, dtype: DTypeLike) -> Array:
        if size < sizes().filled_together:
            return np.arange(size, dtype=dtype)
        numbers = empty(size, dtype)  # NumPy would take new memory from the system
        self._team.share(elements.count_up, size, raw(numbers), per_place=STREAMED)
        return numbers

    def consecutive(self, first: int, size: int, /, dtype: DTypeLike) -> Any:
        return Consecutive(first, size, dtype)

    def gather(self, values: Any, index: Array, /, fill: Any = None) -> Array:
        is_consecutive = isinstance(values, Consecutive)
        if is_consecutive and fill is None and not values.first and values.dtype == index.dtype:
            return index
        out = empty(len(index), values.dtype)
        if is_consecutive:
            numbers = values.first, len(values), int(fill or 0)
            self._team.share(scatter.add_or_fill, len(index), raw(index), *numbers, raw(out))
        elif fill is None:
            self._team.share(scatter.gather, len(index), raw(values), raw(index), raw(out))
        else:
            filling = np.atleast_1d(np.asarray(fill, values.dtype))
            arrays = raw(values), raw(index), raw(filling), raw(out)
            self._team.share(scatter.gather_or_fill, len(index), *arrays)
        return out

    def full(self, size: int, value: Any, /, dtype: DTypeLike) -> Array:
        if size < sizes().filled_together:
            return np.full(size, value, dtype)
        out = empty(size, dtype)
        self._team.share(_fill, size, value, out, per_place=STREAMED)
        return out

    def concat(self, arrays: list[Array], /) -> Array:
        size = sum(map(len, arrays))
        if size < sizes().filled_together:
            return np.concatenate(arrays)
        out, end = empty(size, np.result_type(*arrays)), 0
        for array in arrays:
            target = out[end : end + len(array)]
            self._team.share(_copy, len(array), np.asarray(array), target, per_place=STREAMED)
            end += len(array)
        return out

    def where(self, mask: Array, yes: Any, no: Any, /) -> Array:
        if len(mask) < sizes().filled_together:
            return super().where(mask, yes, no)
        out = empty(len(mask), np.where(mask[:1], _part(yes, 0, 1), _part(no, 0, 1)).dtype)

        def choose(start: int, stop: int) -> None:
            parts = _part(yes, start, stop), _part(no, start, stop)
            out[start:stop] = np.where(mask[start:stop], *parts)

        self._team.share(choose, len(mask), per_place=STREAMED)
        return out

    def minimum(self, left: Array, right: Any, /) -> Array:
        return self._elementwise(np.minimum, left, right)

    def maximum(self, left: Array, right: Any, /) -> Array:
        return self._elementwise(np.maximum, left, right)

    def not_equal(self, left: Array, right: Array, /) -> Array:
        return self._elementwise(np.not_equal, left, right)

    def compact(self, mask: Array, /, *arrays: Array) -> tuple[Array, ...]:
        flags = raw(mask)
        counts = self._team.share(elements.count_flags, len(flags), flags)
        places = [*itertools.accumulate(counts, initial=0)]
        selected = []
        for array in map(np.asarray, arrays):
            out = empty(places[-1], array.dtype)
            columns = Each(places), Each(counts), flags, raw(array), raw(out)
            self._team.share(elements.compact, len(flags), *columns)
            selected.append(out)
        return tuple(selected)

    def scan(self, values: Array, /, dtype: DTypeLike, *, exclusive: bool = False) -> Array:
        out = empty(len(values), dtype)
        self._scan(values, raw(out), exclusive)
        return out

    def offsets(self, lengths: Array, /, dtype: DTypeLike) -> Array:
        ends = empty(len(lengths) + 1, dtype)
        ends[0] = 0
        self._scan(lengths, raw(ends)[1:], exclusive=False)
        return ends

    def _scan(self, values: Array, out: Array, exclusive: bool) -> None:
        values = raw(values) if values.dtype.kind in "bu" else plain(values)
        shares = _one_or_several(len(self._team.shares(len(values), STREAMED)))
        ranges = ranges_of(len(values), shares)
        totals = self._team.run(elements.total, shares, *ranges, values) if shares > 1 else []
        before = [np.uint64(total % 2**64) for total in itertools.accumulate(totals, initial=0)]
        self._team.run(elements.scan, shares, *ranges, Each(before), exclusive, values, out)

    def segmented_reduce(
        self, values: Array, offsets: Array, op: Reduction, initial: Any, /
    ) -> Array:
        if values.dtype.kind not in "biu":
            return super().segmented_reduce(values, offsets, op, initial)
        is_flag = values.dtype == bool
        dtype = self.index_dtype(len(values)) if is_flag else values.dtype
        out = empty(len(offsets) - 1, dtype)
        items = raw(values) if is_flag else plain(values)
        arguments = items, raw(offsets), dtype.type(initial), out
        self._share_segments(reduce.REDUCE_SEGMENTS[op], offsets, *arguments)
        return out

    def segmented_argmin(self, values: Array, offsets: Array, /) -> Array:
        if values.dtype.kind not in "iu":
            values = self.order_key(values)
        none = len(values)
        out = empty(len(offsets) - 1, self.index_dtype(none))
        arrays = plain(values), raw(offsets)
        self._share_segments(reduce.argmin, offsets, *arrays, np.uint64(none), raw(out))
        return out

    def segmented_broadcast(self, values: Array, offsets: Array, /) -> Array:
        out = empty(int(offsets[-1]), values.dtype)
        self._share_segments(reduce.broadcast, offsets, raw(values), raw(offsets), raw(out))
        return out

    def segmented_compact(
        self, mask: Array, offsets: Array, start: Array, /, *arrays: Array
    ) -> tuple[Array, ...]:
        if len(arrays) != 2:
            return super().segmented_compact(mask, offsets, start, *arrays)
        count = self.count(mask)
        spare = [np.uint64(count + _CACHE_LINE * i) for i in range(self._team.size)]
        moved = [empty(count + _CACHE_LINE * self._team.size, array.dtype) for array in arrays]
        columns = map(raw, (mask, offsets, start, *arrays, *moved))
        self._share_segments(reduce.compact, offsets, Each(spare), *columns)
        return tuple(out[:count] for out in moved)

    def relabel_arcs(
        self, label: Array, destination: Array, offsets: Array, /
    ) -> tuple[Array, Array, Array]:
        size, length = len(offsets) - 1, len(destination)
        target, is_crossing = empty(length, label.dtype), empty(length, bool)
        degree = empty(size, self.index_dtype(length))
        arrays = map(raw, (label, destination, offsets, target, is_crossing, degree))
        self._share_segments(reduce.relabel_arcs, offsets, *arrays)
        return target, is_crossing, degree

    def _share_segments(self, kernel: Callable[..., Any], offsets: Array, *arguments: Any) -> None:
        """Call a kernel on shares of the segments with about equal numbers of elements."""
        size = len(offsets) - 1
        shares = self._team.shares(max(size, int(offsets[-1])))
        # Starts of another dtype would make NumPy convert all offsets.
        starts = np.array([start for start, _ in shares], offsets.dtype)
        cuts = offsets[:-1].searchsorted(starts).tolist()
        ranges = Each(cuts), Each([*cuts[1:], size])
        self._team.run(kernel, len(shares), *ranges, *arguments)

    def scatter(
        self, index: Array, values: Any, size: int, fill: Any, /, dtype: DTypeLike
    ) -> Array:
        is_array = np.ndim(fill) > 0
        out = self.concat([fill]) if is_array else self.full(size, fill, dtype=dtype)
        values = raw(np.atleast_1d(np.asarray(values, dtype)))
        writers = self._team if size >= sizes().lowered_together else team(1)
        writers.share(scatter.scatter, len(index), raw(index), values, raw(out))
        return out

    def scatter_reduce(
        self, index: Array, values: Array, size: int, op: Reduction, initial: Any, /
    ) -> Array:
        if values.dtype.kind not in "iu":
            return super().scatter_reduce(index, values, size, op, initial)
        shares = self._num_rows(len(index), size)
        neutral = 0 if op == "sum" else initial
        others = self.full((shares - 1) * size, neutral, values.dtype).reshape(shares - 1, size)
        rows: list[Array] = [self.full(size, initial, values.dtype), *others]
        columns = raw(index), plain(values), Each(rows)
        ranges = ranges_of(len(index), shares)
        self._team.run(scatter.SCATTER_REDUCE[op], shares, *ranges, *columns)

        def join_rows(start: int, stop: int) -> None:
            out = rows[0][start:stop]
            for row in rows[1:]:
                UFUNCS[op](out, row[start:stop], out=out)

        if shares > 1:
            self._team.share(join_rows, size)
        return rows[0]

    def deal(self, index: Array, size: int, /, *columns: Array) -> tuple[Array, ...]:
        """Count the values of each share; then write two or four columns in one pass.

        Other numbers of columns are dealt by the definition.
        """
        if len(columns) not in scatter.DEAL:
            return super().deal(index, size, *columns)
        values, shares = raw(index), self._num_rows(len(index), size)
        ranges, width = ranges_of(len(index), shares), 1 << max(0, size - 1).bit_length()
        places, total = np.zeros((shares, width), np.uint64), np.zeros(width, np.uint64)
        self._team.run(sorting.count_digits, shares, *ranges, values, 0, Each(places))
        sorting.make_places(places, total)
        dealt = [empty(len(index), column.dtype) for column in columns]
        arrays = map(raw, (*columns, *dealt))
        self._team.run(scatter.DEAL[len(columns)], shares, *ranges, values, Each(places), *arrays)
        return self.offsets(total[:size], self.index_dtype(len(index))), *dealt

    def deal_ends(
        self, u: Array, v: Array, key: Array, owner: Array, bits: int, size: int, /
    ) -> tuple[Array, ...]:
        """Deal both ends in one pass of one thread."""
        ends, place = 2 * len(u), self.index_dtype(2 * len(u))
        offsets, owners = np.zeros(size + 1, np.uint64), (raw(owner), np.uint64(bits))
        scatter.count_ends(raw(u), raw(v), *owners, offsets[1:])
        offsets = offsets.cumsum()
        dealt = [empty(ends, column.dtype) for column in (u, v, key)]
        places = [empty(len(u), place) for _ in range(2)]
        arrays = map(raw, (u, v, key, *dealt, *places))
        scatter.deal_ends(*owners, offsets[:-1].copy(), *arrays)
        return offsets.astype(place), *dealt, *places

    def multiprefix(self, index: Array, values: Array, start: Array, /) -> Array:
        """Sum up the values of each thread in a separate row; then a row has its first sums."""
        size, out = len(start), empty(len(index), start.dtype)
        shares = _one_or_several(self._num_rows(len(index), size))
        rows = self.full(shares * size, 0, start.dtype).reshape(shares, size)
        columns, ranges = (raw(index), raw(values)), ranges_of(len(index), shares)
        if shares > 1:
            add = scatter.SCATTER_REDUCE["sum"]
            self._team.run(add, shares, *ranges, *columns, Each(raw(rows)))
        self._team.share(scatter.start_rows, size, raw(start), raw(rows))
        self._team.run(scatter.multiprefix, shares, *ranges, *columns, Each(raw(rows)), raw(out))
        return out

    def _num_rows(self, length: int, size: int) -> int:
        """Return the number of threads that reduce values to separate rows of `size` places.

        All rows have at most one place for each value, or for each four values if a row fits in a
        cache: filling and combining more would take longer than the threads save.
        """
        per_place = 1 if size >= sizes().lowered_together else 4
        return max(1, min(len(self._team.shares(length)), length // max(1, per_place * size)))

    def _elementwise(self, function: np.ufunc, left: Any, right: Any) -> Array:
        """Apply a function to shares of two arrays, or of an array and a number."""
        if len(left) < sizes().filled_together or (np.ndim(right) and len(right) != len(left)):
            result: Array = function(left, right)
            return result
        out = empty(len(left), function(left[:1], _part(right, 0, 1)).dtype)

        def apply(start: int, stop: int) -> None:
            function(left[start:stop], _part(right, start, stop), out=out[start:stop])

        self._team.share(apply, len(left), per_place=STREAMED)
        return out


def _one_or_several(shares: int) -> int:
    """Return the shares of a function that needs a second pass over all elements if it is shared.

    Two threads would take as long as one.
    """
    return 1 if shares == 2 else shares


def _part(values: Any, start: int, stop: int) -> Any:
    """Return a slice of an array; a number as it is."""
    return values[start:stop] if np.ndim(values) else values


def _fill(start: int, stop: int, value: Any, out: Array) -> None:
    out[start:stop].fill(value)


def _copy(start: int, stop: int, values: Array, out: Array) -> None:
    out[start:stop] = values[start:stop]


def ids_of(array: Any) -> tuple[Array, np.uint64]:
    """Return ids as two arguments of a kernel; see `pairs.id_at`."""
    if isinstance(array, Consecutive):
        return np.empty(0, f"u{array.dtype.itemsize}"), np.uint64(array.first)
    return raw(array), np.uint64(0)


def ranges_of(length: int, count: int) -> tuple[Each, Each]:
    """Divide the range up to `length` into `count` ranges; return their starts and their stops."""
    starts, stops = zip(*divide(length, count), strict=True)
    return Each(starts), Each(stops)
