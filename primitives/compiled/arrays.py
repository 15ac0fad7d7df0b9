"""The Numba module: NumPy arrays and compiled kernels, shared among threads."""

from __future__ import annotations

import operator
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...runtime.kernels import NONE, plain, raw
from ...runtime.memory import empty
from ...runtime.sizes import sizes
from ...runtime.team import STREAMED, Each, Team, team
from ..hierarchies import TALLY, level_dtype
from ..joins import helper_ranges
from ..paths import BLOCK_BITS
from ..vocabulary import Side
from . import elements, kruskal, pairs, shared_trees, sorting, trees
from .base import BaseArrays, ids_of, ranges_of
from .runs import DIGIT, Runs, choose_buckets

Array = NDArray[Any]

_NO_ORDER = np.empty(0, np.uint32)
#: The threads that join runs in order: one joins, and two sort faster than it joins.
_JOINERS = 3
#: Seconds between two looks of a waiting helper at the progress of the main thread.
_PAUSE = 1e-3
#: The time that a helper saves for a pair, compared with that of an element: most pairs are read in
#: vain, and reading them slows down the main thread.
_HELPED = 1 / 16
#: With this number of places for each pair or more, a table of records does not pay: filling and
#: reading it would take longer than lowering three columns for the pairs.
_SPARSE = 8
#: The least threads for which `unite` is shared: atomic unions take 1.3 to 2 times the work of its
#: definition, which joins on one thread.
_UNITERS = 4


class NumbaArrays(BaseArrays):
    """All primitives; kernels compute most of them, and threads share the elements."""

    def __init__(self, threads: int = 1) -> None:
        super().__init__(threads)
        #: A weak reference to the last labels, and the result of `_has_rare_label` for them.
        self._cached: tuple[Callable[[], Array | None], Array] = (lambda: None), np.empty(0)

    def any_equal(self, left: Array, right: Array, /) -> bool:
        if left.dtype != right.dtype:
            return super().any_equal(left, right)
        arrays = raw(left), raw(right)
        return any(self._team.share(elements.any_equal, len(left), *arrays, per_place=STREAMED))

    def any_signed(self, weights: Array, /) -> bool:  # type: ignore[override]  # it uses threads
        if weights.dtype.kind in "bu" or not len(weights):
            return False
        sign, ranges = 8 * weights.itemsize - 1, self._ranges(raw(weights))
        return any(highest < 0 or highest >> sign for _, highest in ranges)

    def order_key(
        self, weights: Array, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        signed = signed and weights.dtype.kind not in "bu"
        if not signed and not descending:
            return super().order_key(weights, signed=False)
        out = empty(len(weights), f"u{weights.itemsize}")
        options = np.uint64(8 * weights.itemsize - 1), signed, weights.dtype.kind == "f", descending
        self._team.share(elements.order_key, len(out), raw(weights), *options, out)
        return out

    def pointer_jump(self, parent: Array, /) -> Array:
        root, halved = empty(len(parent), parent.dtype), self.concat([parent])
        self._team.share(trees.find_roots, len(root), raw(halved), raw(root))
        return root

    def compact_pairs(
        self, u: Array, v: Array, key: Array, limit: int, dtype: Any, /, *columns: Array
    ) -> tuple[Array, ...]:
        if len(columns) != 1:
            return super().compact_pairs(u, v, key, limit, dtype, *columns)
        (ids,) = columns
        arguments = [*map(raw, (u, v, key)), *ids_of(ids), raw(key).dtype.type(limit)]
        dtypes = dtype, dtype, key.dtype, ids.dtype
        return self._select(pairs.compact_pairs, len(u), arguments, dtypes, STREAMED)

    def relabel_pairs(
        self, label: Array, u: Array, v: Array, /, *columns: Array
    ) -> tuple[Array, ...]:
        if len(columns) != 2:
            return super().relabel_pairs(label, u, v, *columns)
        key, ids = columns
        has_rare_label = self._has_rare_label(label, u)
        arguments = [raw(label), has_rare_label, *map(raw, (u, v, key)), *ids_of(ids)]
        dtypes = label.dtype, label.dtype, key.dtype, ids.dtype
        return self._select(pairs.relabel_pairs, len(u), arguments, dtypes)

    def compact_marked(
        self, bits: Array, u: Array, v: Array, /, *columns: Array
    ) -> tuple[Array, ...]:
        if len(columns) != 2:
            return super().compact_marked(bits, u, v, *columns)
        key, ids = columns
        arguments = [bits, *map(raw, (u, v, key)), *ids_of(ids)]
        dtypes = u.dtype, v.dtype, key.dtype, ids.dtype
        return self._select(pairs.compact_marked, len(u), arguments, dtypes)

    def scatter_min_pairs(
        self, u: Array, v: Array, key: Array, ids: Array, size: int, /
    ) -> tuple[Array, Array, Array]:
        if len(key) >= 2**32:
            return super().scatter_min_pairs(u, v, key, ids, size)
        dtype = self.index_dtype(size)
        if _SPARSE * len(key) <= size and len(self._team.shares(len(key))) == 1:
            dtypes = key.dtype, ids.dtype
            out_key, out_id = (self.full(size, self.largest(each), each) for each in dtypes)
            other = self.arange(size, dtype)
            columns = *map(raw, (u, v, key)), *ids_of(ids), *map(raw, (out_key, out_id, other))
            pairs.lower_columns(*columns)
            return out_key, out_id, other
        out_key, out_id = empty(size, key.dtype), empty(size, ids.dtype)
        other, no_id = empty(size, dtype), np.uint64(self.largest(ids.dtype))
        records = self._lowest(u, v, key, size)
        arrays = *map(raw, (u, v, key)), *ids_of(ids), no_id, *map(raw, (out_key, out_id, other))
        self._team.share(pairs.follow_pairs, size, *records, *arrays)
        return out_key, out_id, other

    def scatter_argmin(self, indices: tuple[Array, ...], values: Array, size: int, /) -> Array:
        none = len(values)
        if not 0 < none < 2**32 or len(indices) > 2:
            return super().scatter_argmin(indices, values, size)
        records, *_ = self._lowest(indices[0], indices[-1], values, size)
        position = empty(size, self.index_dtype(none))
        self._team.share(pairs.list_positions, size, records, np.uint64(none), raw(position))
        return position

    def _lowest(
        self, u: Array, v: Array, key: Array, size: int
    ) -> tuple[Array, np.uint64, np.uint64]:
        """Return the smallest record of the pairs at each place, the lowest key, and `cut`.

        See `pairs.lower`. At least a bit of the upper half is free if bits of the keys are cut, so
        no record has the upper half of `NONE`.
        """
        words = raw(key)
        lowest, highest = self._extent(words) if key.itemsize > 4 else (0, 0)
        base, cut = np.uint64(lowest), np.uint64(max(0, (highest - lowest).bit_length() - 31))
        # Threads lower records in separate rows if these are few or short, otherwise in one row.
        shares, ends = len(self._team.shares(len(key))), [raw(u), raw(v)]
        num_rows = min(shares, max(2, len(key) // (2 * size)))
        if num_rows < shares and size >= sizes().lowered_together:
            num_rows = 1
        rows = self.full(size * num_rows, NONE, np.uint64).reshape(-1, size)
        fixed = *ends, words, base, cut
        if num_rows == 1 < shares:
            exclusive = self._exclusive_places(ends)
            self._team.share(pairs.lower, len(key), *exclusive, *fixed, rows[0])
        else:
            everywhere = np.uint64(0), np.uint64(size)
            team(num_rows).share(pairs.lower, len(key), *everywhere, *fixed, Each(rows))
        if num_rows > 1:
            self._team.share(pairs.join_rows, size, rows, words, cut)
        return rows[0], base, cut

    def _exclusive_places(self, arrays: Sequence[Array]) -> tuple[Each, Each]:
        """Return the first place that only this share of arrays of places has, and their number.

        Exclusive places are above those of all earlier shares, and below those of all later shares.
        Many graphs have most neighbors of a vertex near it.
        """
        ranges = np.array([self._ranges(array, per_place=1) for array in arrays])
        lows, highs = ranges[:, :, 0].min(axis=0), ranges[:, :, 1].max(axis=0)
        first = np.append(0, np.maximum.accumulate(highs)[:-1] + 1)
        end = np.append(np.minimum.accumulate(lows[::-1])[-2::-1], 2**63 - 1)
        counts = np.maximum(end - first, 0)
        return Each(first.astype(np.uint64)), Each(counts.astype(np.uint64))

    def cut_mirrors(self, target: Array, ids: Array, /) -> tuple[Array, Array]:
        parent = empty(len(target), target.dtype)
        arguments = [*map(raw, (target, ids, parent))]
        (kept,) = self._select(trees.cut_mirrors, len(target), arguments, [ids.dtype])
        return parent, kept

    def _counts(self, length: int, per_place: float = 1) -> tuple[Each, Array]:
        """Return two arguments of kernels that count elements, and of those that list them.

        They are the number of a share of the range up to `length`, and the counts of all shares.
        """
        shares = len(self._team.shares(length, per_place))
        return Each(range(shares)), np.zeros(shares, np.uint64)

    def sorted_union(self, arrays: tuple[Array, ...], /) -> Array:
        dtype, total = np.result_type(*arrays), sum(map(len, arrays))
        columns = [raw(array) for array in arrays if len(array)]
        ranges = [self._ranges(column) for column in columns]
        ends = [end for shares in ranges for share in shares for end in share]
        lowest, highest = min(ends, default=0), max(ends, default=0)
        words = (highest - lowest) // 64 + 1
        # Negative values become negative as int64, or too large for their dtype as words.
        is_signed = lowest < 0 or highest > min(np.iinfo(array.dtype).max for array in arrays)
        if is_signed or words > total:  # a bit set would use more memory than the values
            ordered: Array = super().sorted_union(arrays)
            return ordered
        first, out = np.uint64(lowest), empty(total, dtype)
        # Each share sets bits of its own row. Several rows have at most a word for four values.
        most, share = max(1, total // (4 * words)), self._team.share
        shares = [min(most, len(self._team.shares(len(column)))) for column in columns]
        bits = self.full(max(shares) * words, 0, np.uint64).reshape(-1, words)
        for count, column in zip(shares, columns, strict=True):
            shared = *ranges_of(len(column), count), column, first, Each(bits)
            self._team.run(sorting.mark, count, *shared)
        number, counts = self._counts(words, per_place=64)
        share(sorting.join_marks, words, number, counts, bits, per_place=64)
        share(sorting.list_marks, words, number, counts, bits[0], first, raw(out), per_place=64)
        return out

    def unique_inverse(self, values: Array, size: int, /) -> tuple[Array, Array]:
        count, words = len(values), -(-size // 64)
        if words > count:  # a bit set would use more memory than the values
            return super().unique_inverse(values, size)
        bits, first = self.full(words, 0, np.uint64), np.uint64(0)
        before = empty(words, np.uint32 if count < 2**32 else np.uint64)
        sorting.mark(0, count, raw(values), first, bits)
        distinct = empty(sorting.count_before(bits, before), values.dtype)
        sorting.list_marks(0, words, 0, np.zeros(1, np.uint64), bits, first, raw(distinct))
        place = empty(count, self.index_dtype(count))
        self._team.share(sorting.rank_marks, count, raw(values), bits, before, raw(place))
        return distinct, place

    def pack_flags(self, flags: Array, /) -> Array:
        return np.packbits(raw(flags).view(np.uint8), bitorder="little")

    def _extent(self, words: Array) -> tuple[int, int]:
        """Return the smallest and the largest word."""
        lows, highs = zip(*self._ranges(words), strict=True)
        return min(low % 2**64 for low in lows), max(high % 2**64 for high in highs)

    def _ranges(self, words: Array, per_place: float = STREAMED) -> list[tuple[int, int]]:
        """Return the smallest and the largest word of each share, as int64."""
        return self._team.share(sorting.find_range, len(words), words, per_place=per_place)

    def argsort(self, values: Array, /) -> Array:
        key = raw(values if values.dtype.kind in "bu" else self.order_key(values))
        size, dtype = len(key), self.index_dtype(len(key))
        if size > 2**32:
            ordered: Array = super().argsort(values)
            return ordered
        return self._positions(self._sorted_records(key)).view(dtype)

    def searchsorted(self, ascending: Array, values: Array, /, *, side: Side = "left") -> Array:
        if ascending.dtype != values.dtype or ascending.dtype not in (np.int32, np.int64):
            return super().searchsorted(ascending, values, side=side)
        out = empty(len(values), self.index_dtype(len(ascending)))
        arrays = plain(ascending), plain(values)
        self._team.share(elements.find_places, len(out), *arrays, side == "right", raw(out))
        return out

    def _sorted_records(self, key: Array) -> Array:
        """Return a word for each key, in ascending order; its lower half is the key's position."""
        lowest, highest = self._extent(key) if len(key) else (0, 0)
        bits = max(1, (highest - lowest).bit_length())
        cut, base = max(0, bits - 32), np.uint64(lowest)
        records = self._sort_bits(key, base, cut, bits - cut)
        if cut and not sorting.sort_ties(records, key, len(key)):
            order = self._positions(self._sort_bits(key, base, 0, cut))
            records = self._sort_bits(key, base, cut, bits - cut, order)
        return records

    def _sort_bits(
        self, key: Array, base: Any, cut: int, bits: int, order: Array = _NO_ORDER
    ) -> Array:
        """Sort records by `bits` bits of the keys, from bit `cut` on; ties keep the given order."""
        size, sorters = len(key), self._sorters(len(key))
        records = empty(size, np.uint64)
        sorters.share(sorting.make_records, size, key, base, cut, order, records)
        digit = -(-bits // -(-bits // DIGIT))
        for shift in range(32, 32 + bits, digit):
            counts = np.zeros((len(sorters.shares(size)), 2**digit), np.uint64)
            total = np.zeros(2**digit, np.uint64)
            sorters.share(sorting.count_digits, size, records, shift, Each(counts))
            sorting.make_places(counts, total)
            if total.max() < size:  # not all records have the same digit
                moved = empty(size, np.uint64)
                sorters.share(sorting.sort_by_digit, size, records, shift, Each(counts), moved)
                records = moved
        return records

    def _positions(self, records: Array) -> Array:
        """Return the positions in the lower halves of records."""
        order = empty(len(records), f"u{self.index_dtype(len(records)).itemsize}")
        self._sorters(len(records)).share(sorting.list_positions, len(records), records, order)
        return order

    def _sorters(self, size: int) -> Team:
        """Return the threads that sort an array of this size."""
        return self._team if size >= sizes().sorted_together else team(1)

    def join_in_order(self, u: Array, v: Array, size: int, /) -> tuple[Array, Array]:
        root = self.arange(size, dtype=self.index_dtype(size))
        joining = empty(min(len(u), size), self.index_dtype(len(u)))
        count = trees.join_in_order(raw(u), raw(v), raw(root), raw(joining))
        trees.flatten(raw(root))
        return joining[:count], root

    def join_by_key(self, u: Array, v: Array, key: Array, size: int, /) -> tuple[Array, Array]:
        runs = self._make_runs(u, v, key, size)
        if runs is None:
            return super().join_by_key(u, v, key, size)
        failed = np.zeros(1, np.uint8)
        joining, root = self._join_runs(runs, size, failed, self.index_dtype(len(u)))
        if failed[0]:
            return super().join_by_key(u, v, key, size)
        return joining, root

    def _join_runs(self, runs: Runs, size: int, failed: Array, dtype: Any) -> tuple[Array, Array]:
        """Join all runs in this thread, while the other threads sort later runs."""
        shares = min(_JOINERS, len(self._team.shares(len(runs.records))))
        root = self.arange(size, dtype=self.index_dtype(size))
        joining = empty(min(len(runs.records), max(0, size - 1)) + 1, dtype)
        states, progress = np.zeros(len(runs.ends), np.uint64), np.zeros(2, np.uint64)
        copies = empty((shares - 1) * size, root.dtype).reshape(shares - 1, size)
        buffers = empty(shares * 2 * runs.longest, np.uint64).reshape(shares, -1, 2)
        joins, outputs = [True, *[False] * (shares - 1)], [raw(joining), *map(raw, copies)]
        arguments = states, *runs[:4], Each(buffers), failed, progress, raw(root), Each(outputs)
        count, *_ = self._team.run(kruskal.join_or_sort, shares, Each(joins), *arguments)
        trees.flatten(raw(root))
        return joining[:count], root

    def _make_runs(self, u: Array, v: Array, key: Array, size: int) -> Runs | None:
        """Distribute the pairs to runs; return None if a run or a pair does not fit."""
        length, shares, share = len(key), len(self._team.shares(len(key))), self._team.share
        if not length or length > 2**32 or size > 2**32:
            return None
        words = raw(key)
        lowest, highest = self._extent(words)
        cut = max(0, (highest - lowest).bit_length() - 32)
        shift, floor, num_buckets = choose_buckets(words, lowest, highest, cut, sizes().run)
        buckets = words, np.uint64(lowest), shift, floor
        counts, total = np.empty((shares, num_buckets), np.uint64), np.zeros(num_buckets, np.uint64)
        ends, bits = np.empty((2, num_buckets), np.int64)
        share(kruskal.count_buckets, length, *buckets, Each(counts))
        sorting.make_places(counts, total)
        num_runs, longest = kruskal.find_runs(total, floor, sizes().run, shift - cut, ends, bits)
        if longest > max(sizes().longest_run, length // (4 * shares)):
            return None
        records = empty(2 * length, np.uint64).reshape(-1, 2)
        share(kruskal.deal, length, raw(u), raw(v), *buckets, cut, Each(counts), records)
        # Only keys of 64 bits lose bits. With one type for all keys, kernels are compiled once.
        whole_key = words if cut else np.empty(0, np.uint64)
        return Runs(ends[:num_runs], bits[:num_runs], whole_key, records, longest)

    def join_with_helpers(self, u: Array, v: Array, size: int, /) -> tuple[Array, int]:
        parent = raw(self.arange(size, self.index_dtype(size)))
        joining = empty(min(len(u), size), self.index_dtype(len(u)))
        undecided, reached = self.full(len(u), 1, np.uint8), np.zeros(1, np.uint64)
        shared = raw(u), raw(v), parent, undecided, reached
        _, *ranges = helper_ranges(len(u), size, len(self._team.shares(len(u), _HELPED)))

        def join() -> tuple[int, int]:
            try:
                joined, examined = shared_trees.join_undecided(*shared, raw(joining))
                return joined, examined
            finally:  # the helpers run until this is set
                reached[0] = len(u)

        def reject(start: int, stop: int) -> None:
            goal = start // 2
            while (now := int(reached[0])) < start:
                if now < goal:
                    time.sleep(_PAUSE)
                else:
                    shared_trees.reject_cycles(start, stop, *shared)
                    goal = (now + start) // 2

        helpers = ((reject, *limits) for limits in ranges)
        (joined, examined), *_ = self._team.call(operator.call, [(join,), *helpers])
        return joining[:joined], len(u) - examined

    def unite(self, parent: Array, u: Array, v: Array, /, *, by_rank: bool) -> tuple[Array, Array]:
        if len(self._team.shares(len(u))) < _UNITERS:
            return super().unite(parent, u, v, by_rank=by_rank)
        words, tree = empty(len(parent), np.uint64), empty(len(parent), parent.dtype)
        is_joining = empty(len(u), bool)
        words[:] = parent
        columns = raw(u), raw(v), by_rank, raw(is_joining)
        self._team.share(shared_trees.unite, len(u), words, *columns)
        self._team.share(shared_trees.list_parents, len(tree), words, raw(tree))
        return tree, is_joining

    def merge_in_order(self, u: Array, v: Array, size: int, /) -> tuple[Array, Array]:
        dtype = self.index_dtype(size + len(u))
        parent, count = self.arange(size + len(u), dtype), empty(len(u), np.int64)
        words, top = _words_of_roots(self.arange(size, dtype))
        ends = (raw(end.astype(dtype, copy=False)) for end in (u, v))
        trees.merge_in_order(*ends, top, words, raw(parent), raw(count))
        return parent, count

    def join_levels(
        self, u: Array, v: Array, ends: Sequence[int], size: int, /
    ) -> tuple[Array, Array, Array]:
        dtype = self.index_dtype(size)
        parent, level = self.arange(size, dtype), self.full(size, len(ends), level_dtype(len(ends)))
        tally = np.zeros((len(ends), TALLY), np.uint64)
        tally[:1, 0], tally[:1, -1] = size, size > 0
        words, top = _words_of_roots(self.full(size, 1, dtype))
        pairs = (raw(end.astype(dtype, copy=False)) for end in (u, v))
        trees.join_levels(*pairs, np.array(ends, np.uint64), top, words, raw(parent), level, tally)
        return parent, level, tally.ravel().view(np.int64)

    def label_level(
        self, parent: Array, level: Array, step: int, /, dtype: DTypeLike
    ) -> tuple[Array, int]:
        label = empty(len(parent), dtype)
        count = trees.label_level(raw(parent), raw(level), np.uint64(step), raw(label))
        return label, count

    def contract_tile(
        self, u: Array, v: Array, key: Array, size: int, /
    ) -> tuple[Array, Array, Array, int]:
        if len(u) > 2**32:
            return super().contract_tile(u, v, key, size)
        node, position = self.index_dtype(size), self.index_dtype(len(u))
        tree, fragment = self.arange(size, node), self.arange(size, node)
        certain, undecided = empty(size, position), empty(size, position)
        is_open, counts = np.zeros(size, np.uint8), np.zeros(2, np.int64)
        sets = tree, fragment, is_open
        arrays = u, v, self._sorted_records(raw(key)), *sets, certain, undecided, counts
        trees.contract_tile(*map(raw, arrays))
        trees.flatten(raw(fragment))
        number, count = self.number_roots(fragment)
        return certain[: counts[0]], undecided[: counts[1]], number, count

    def range_max(self, table: tuple[Array, Array], first: Array, last: Array, /) -> Array:
        near, far = table
        out, size = empty(len(first), near.dtype), len(near) // (BLOCK_BITS + 1)
        arguments = raw(near), raw(far), size, raw(first), raw(last), raw(out)
        self._team.share(trees.range_max, len(first), *arguments)
        return out

    def path_sums(self, parent: Array, values: Array, /) -> Array:
        out = empty(len(values), values.dtype)
        trees.path_sums(raw(parent), raw(values), raw(out))
        return out

    def _select(
        self,
        kernel: Callable[..., Any],
        length: int,
        arguments: list[Any],
        dtypes: Sequence[Any],
        per_place: float = 1,
    ) -> tuple[Array, ...]:
        """Return the elements that a kernel selects from `length`, in arrays of these dtypes.

        The kernel writes them to the front of each share's range. Then they move to the front of
        the arrays, one array for each thread.
        """
        outs = [empty(length, dtype) for dtype in dtypes]
        counts = self._team.share(kernel, length, *arguments, *map(raw, outs), per_place=per_place)
        if len(counts) > 1:
            starts = [start for start, _ in self._team.shares(length, per_place)]
            movers = self._team if sum(counts) >= sizes().filled_together else team(1)
            movers.run(_close_gaps, len(outs), Each(outs), starts, counts)
        return tuple(out[: sum(counts)] for out in outs)

    def _has_rare_label(self, label: Array, ends: Array) -> Array:
        """Return a bit for each node: whether its label is not that of most ends of pairs.

        The result is empty if no label is that of most ends, or if there are few nodes or pairs. A
        scan passes the same labels with each block, so the last result is cached.
        """
        if min(len(label), len(ends)) < sizes().summarised_labels:
            return np.empty(0, np.uint64)
        known, bits = self._cached
        if known() is label:
            return bits
        words = raw(label)
        sample = np.sort(words[ends[:: len(ends) // 1024]])
        median = sample[len(sample) // 2]
        is_frequent = 2 * np.count_nonzero(sample == median) > len(sample)
        bits = np.empty(-(-len(label) // 64) if is_frequent else 0, np.uint64)
        self._team.share(pairs.mark_unlike, len(bits), words, median, bits, per_place=64)
        self._cached = weakref.ref(label), bits
        return bits


def _close_gaps(array: Array, starts: Sequence[int], counts: Sequence[int]) -> None:
    """Move the elements at the front of each range to the front of the array."""
    total = counts[0]
    for start, count in zip(starts[1:], counts[1:], strict=True):
        if total < start:
            array[total : total + count] = array[start : start + count]
        total += count


def _words_of_roots(values: Array) -> tuple[Array, np.uint64]:
    """Return words for `find_set` that make each node a root with its value, and the bit `top`."""
    words, top = raw(values), np.uint64(1 << 8 * values.itemsize - 1)
    words |= words.dtype.type(top)
    return words, top
