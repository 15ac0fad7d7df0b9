"""The CUDA module: functions of CuPy where it has them, and kernels for the other primitives.

A `CupyDevice` provides CuPy and launches kernels. Kernels are written in C++ (`sources/`) and have
one thread for each element. A kernel that selects elements writes a bit for each element. The
places of the selected elements are prefix sums over tiles of 256 bits. So results are in order and
deterministic.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

from ...errors import KernelError
from ...runtime.sizes import sizes
from ...runtime.team import in_shares
from ..numpy_arrays import NumpyArrays
from ..vocabulary import ArrayModule, Reduction, Side
from .device import CupyDevice, computing_here
from .kernels import FILE_OF

Array = Any
DType = Any

_WORD, _TILE = 32, 256  # bits, as in common.cuh
_HALF, _ALL_BITS = 32, 2**64 - 1
#: The number of columns that the kernel `move` takes.
_COLUMNS = 4
#: If a list is short, `join_in_order` starts this number of rounds before the host reads a length.
#: Threads beyond the length end at once, which takes less time than to wait.
_ROUNDS = 5
#: The bits of a position in the words of `join_in_order`; the bits above are the number of a round.
#: Each round with short paths at least halves the number of sets, and each other round the paths.
_POSITION = 54


def cupy_arrays(threads: int = 1) -> ArrayModule:
    """Return the array module of the current GPU; `threads` has no effect."""
    return CudaArrays(CupyDevice())


class CudaArrays(ArrayModule):
    """The primitives on one device."""

    threads = 1

    def __init__(self, device: CupyDevice) -> None:
        self._device, self._xp = device, device.xp

    index_dtype = staticmethod(NumpyArrays.index_dtype)
    largest = staticmethod(NumpyArrays.largest)

    def device_memory(self, enough: int = sys.maxsize) -> int:
        return self._device.free_memory(enough)

    def beside(self) -> AbstractContextManager[Any]:
        return self._device.beside()

    def asarray(self, values: Any, /, dtype: DType = None) -> Array:
        limit = sizes().copied_to_device
        if not isinstance(values, np.ndarray) or values.nbytes <= limit:
            array = self._xp.asarray(values, dtype=dtype)
            return self._xp.ascontiguousarray(array) if array.ndim else array
        dtype = values.dtype if dtype is None else dtype
        if not values.strides[0]:  # a broadcast value
            return self.full(len(values), values[0], dtype)
        out = self.empty(len(values), dtype)
        step = limit // values.itemsize

        def copy(start: int, stop: int) -> None:
            for first in range(start * step, min(stop * step, len(values)), step):
                block = slice(first, first + step)
                out[block] = self._xp.asarray(values[block], dtype=out.dtype)

        in_shares(computing_here(copy), -(-len(values) // step), per_place=step)
        return out

    def to_host(self, array: Array, /) -> Array:
        return self._xp.asnumpy(array)

    def empty(self, size: int, /, dtype: DType) -> Array:
        return self._xp.empty(size, dtype)

    def arange(self, size: int, /, dtype: DType) -> Array:
        return self._xp.arange(size, dtype=dtype)

    def full(self, size: int, value: Any, /, dtype: DType) -> Array:
        word = _word_of(value, dtype)
        return self._xp.full(size, word, word.dtype).view(dtype)

    def where(self, mask: Array, yes: Any, no: Any, /) -> Array:
        return self._xp.where(mask, yes, no)

    def minimum(self, left: Array, right: Any, /) -> Array:
        return self._elementwise(self._xp.minimum, left, right)

    def maximum(self, left: Array, right: Any, /) -> Array:
        return self._elementwise(self._xp.maximum, left, right)

    def concat(self, arrays: list[Array], /) -> Array:
        return self._xp.concatenate(arrays)

    def count(self, mask: Array, /) -> int:
        return int(self._xp.count_nonzero(mask))

    def scan(self, values: Array, /, dtype: DType, *, exclusive: bool = False) -> Array:
        sums = self._xp.cumsum(values, dtype=dtype)
        return sums - values.astype(dtype, copy=False) if exclusive else sums

    def offsets(self, lengths: Array, /, dtype: DType) -> Array:
        ends = self._xp.zeros(len(lengths) + 1, dtype)
        ends[1:] = self._xp.cumsum(lengths, dtype=dtype)
        return ends

    def segmented_reduce(
        self, values: Array, offsets: Array, op: Reduction, initial: Any, /
    ) -> Array:
        """Scatter the values to their segments; floats are added in unspecified order."""
        if values.dtype == bool:
            values = values.astype(self.index_dtype(len(values)))
        segments, dtype = len(offsets) - 1, values.dtype
        smallest = -math.inf if dtype.kind == "f" else int(np.iinfo(dtype).min)
        neutral = {"min": self.largest(dtype), "max": smallest, "sum": 0}[op]
        segment = self._segment_of_each(len(values), offsets)
        reduced = self.scatter_reduce(segment, values, segments, op, neutral)
        is_empty = offsets[1:] == offsets[:-1]
        return self.where(is_empty, self.full(segments, initial, dtype), reduced)

    def segmented_argmin(self, values: Array, offsets: Array, /) -> Array:
        segment = self._segment_of_each(len(values), offsets)
        return self.scatter_argmin((segment,), self.order_key(values), len(offsets) - 1)

    def segmented_broadcast(self, values: Array, offsets: Array, /) -> Array:
        return self._broadcast(values, offsets, int(offsets[-1]))

    def scatter(self, index: Array, values: Any, size: int, fill: Any, /, dtype: DType) -> Array:
        is_array = getattr(fill, "ndim", 0)
        out = self.concat([fill]) if is_array else self.full(size, fill, dtype)
        if getattr(values, "ndim", 0):
            out[index] = values
        else:
            word = _word_of(values, dtype)
            out.view(word.dtype)[index] = word
        return out

    def scatter_reduce(
        self, index: Array, values: Array, size: int, op: Reduction, initial: Any, /
    ) -> Array:
        out = self.full(size, initial, values.dtype)
        if op == "sum" and values.dtype.kind == "f":
            sums = self._xp.bincount(index, weights=values, minlength=size)
            return (out + sums).astype(out.dtype)
        # CUDA has atomics for unsigned words of 32 and 64 bits.
        wide = np.dtype(f"u{max(4, values.itemsize)}")
        if op == "sum":
            values, sums = (array.astype(wide, copy=False) for array in (values, out))
            self._launch("scatter_add", (values, index), len(index), index, values, sums)
            return sums.astype(out.dtype, copy=False)
        key, best = (self.order_key(weights).astype(wide, copy=False) for weights in (values, out))
        self._launch(f"scatter_{op}", (key, index), len(index), index, key, best)
        return self.weights_of(best.astype(f"u{values.itemsize}", copy=False), values.dtype)

    def scatter_argmin(self, indices: tuple[Array, ...], values: Array, size: int, /) -> Array:
        none = len(values)
        _, position, mask = self._first_smallest(indices, values, size)
        return self.minimum(position & mask, none).astype(self.index_dtype(none))

    def gather(self, values: Array, index: Array, /, fill: Any = None) -> Array:
        out = self.empty(len(index), values.dtype)
        if fill is None:
            self._launch("gather", (values, index), len(index), values, index, out)
            return out
        if not hasattr(fill, "dtype"):
            fill = self.full(1, fill, dtype=values.dtype)
        fill = fill.astype(values.dtype, copy=False)
        arguments = values, len(values), index, fill, len(fill) > 1, out
        self._launch("gather_or_fill", (values, index), len(index), *arguments)
        return out

    def compact(self, mask: Array, /, *arrays: Array) -> tuple[Array, ...]:
        selection = self._select("flag", (), len(mask), mask)
        return self._move(selection, arrays)

    def sort(self, values: Array, /) -> Array:
        return self._xp.sort(values)

    def argsort(self, values: Array, /) -> Array:
        size, key = len(values), self.order_key(values)
        if key.itemsize > 4 or size > 2**_HALF:
            return self._xp.argsort(key, kind="stable").astype(self.index_dtype(size))
        records = key.astype("u8") << _HALF
        records |= self.arange(size, dtype="u8")
        records.sort()
        return (records & (2**_HALF - 1)).astype(self.index_dtype(size))

    def searchsorted(self, ascending: Array, values: Array, /, *, side: Side = "left") -> Array:
        place = self._xp.searchsorted(ascending, values, side)
        return place.astype(self.index_dtype(len(ascending)))

    def partition(self, values: Array, k: int, /) -> Array:
        return self.sort(values)  # CuPy's partition also sorts

    any_signed = staticmethod(NumpyArrays.any_signed)

    def order_key(
        self, weights: Array, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        signed = signed and weights.dtype.kind not in "bu"
        unsigned = f"u{weights.itemsize}"
        if not signed and not descending:
            return self._xp.ascontiguousarray(weights).view(unsigned)
        out = self.empty(len(weights), unsigned)
        options = signed, weights.dtype.kind == "f", descending
        self._launch("order_key", (weights,), len(weights), weights, *options, out)
        return out

    weights_of = staticmethod(NumpyArrays.weights_of)

    def pointer_jump(self, parent: Array, /) -> Array:
        return self._roots(parent.copy())

    def compact_pairs(
        self, u: Array, v: Array, key: Array, limit: int, dtype: DType, /, *columns: Array
    ) -> tuple[Array, ...]:
        u, v = _in_wider_dtype(u, v)
        selection = self._select("flag_light", (u, key), len(u), u, v, key, limit)
        return self._move(selection, (u, v, key, *columns), (dtype, dtype))

    def relabel_pairs(
        self, label: Array, u: Array, v: Array, /, *columns: Array
    ) -> tuple[Array, ...]:
        u, v = _in_wider_dtype(u, v)
        selection = self._select("flag_joining", (label, u), len(u), label, u, v)
        labels = [self.empty(selection.total, label.dtype) for _ in range(2)]
        arguments = selection.bits, selection.ends, label, u, v, *labels
        self._launch("move_labels", (label, u), len(u), *arguments)
        return (*labels, *self._move(selection, columns))

    def scatter_min_pairs(
        self, u: Array, v: Array, key: Array, ids: Array, size: int, /
    ) -> tuple[Array, Array, Array]:
        u, v = _in_wider_dtype(u, v)
        smallest, position, mask = self._first_smallest((u, v), key, size)
        other, out_id = self.empty(size, u.dtype), self.empty(size, ids.dtype)
        arguments = position, mask, len(u), u, v, ids, self.largest(ids.dtype), out_id, other
        self._launch("follow", (u, ids), size, *arguments)
        if smallest is position:
            smallest >>= _HALF
        return smallest.astype(key.dtype), out_id, other.astype(self.index_dtype(size), copy=False)

    def cut_mirrors(self, target: Array, ids: Array, /) -> tuple[Array, Array]:
        parent = self.empty(len(target), target.dtype)
        non_roots = self._select("cut_mirrors", (target,), len(target), target, parent)
        return parent, *self._move(non_roots, (ids,))

    def number_roots(self, root: Array, /) -> tuple[Array, int]:
        roots, number = self._select("flag_roots", (root,), len(root), root), root.copy()
        arguments = roots.bits, roots.ends, root, number
        self._launch("number_roots", (root,), len(root), *arguments)
        return number, roots.total

    def sorted_union(self, arrays: tuple[Array, ...], /) -> Array:
        values = arrays[0] if len(arrays) == 1 else self._xp.concatenate(arrays)
        if not len(values):
            return values
        extremes = self.empty(2, values.dtype)
        extremes[:1], extremes[1:] = values.min(), values.max()
        lowest, highest = self.to_host(extremes).tolist()  # the host waits once
        span = highest + 1 - lowest
        # A bit set has bits from value 0 on, and must not use more memory than the values.
        if lowest < 0 or span > _WORD * len(values):
            return self.sort(values)
        bits = self._no_bits(span)
        self._launch("mark", (values,), len(values), values, lowest, bits)
        return self._list(self._counted(bits, span, len(values)), lowest, values.dtype)

    def join_in_order(self, u: Array, v: Array, size: int, /) -> tuple[Array, Array]:
        """Join in rounds: each set finds its first pair, which joins two sets.

        A round visits all pairs that are not yet inside a set, although only the first rounds join
        many sets. So a long list is joined in parts, and a filter drops most pairs of a part before
        its rounds. The first eighth joins most sets of a skewed graph, the first half those of a
        random graph. Each part costs launches, which a short list does not repay.
        """
        length = len(u)
        index, position = self.index_dtype(size), self.index_dtype(length)
        parent, joining = self.arange(size, dtype=index), self._no_bits(length)
        state = parent, self.full(size, _ALL_BITS, dtype="u8"), joining
        rounds = iter(range(2 ** (64 - _POSITION) - 2, 0, -1))
        stops = (length // 8, length // 2) if length >= sizes().joined_in_parts else ()
        pairs = u.astype(index, copy=False), v.astype(index, copy=False), self.empty(0, position)
        for start, stop in itertools.pairwise((0, *stops, length)):
            part = tuple(column[start:stop] for column in pairs)
            if start:
                places = self._xp.arange(start, stop, dtype=position)
                part = self.relabel_pairs(self._roots(parent), *part[:2], places)
            self._join_in_rounds(part, start > 0, state, rounds)
        return self._list(self._counted(joining, length), 0, position), self._roots(parent)

    def _join_in_rounds(
        self,
        pairs: tuple[Array, ...],
        is_listed: bool,
        state: tuple[Array, Array, Array],
        rounds: Iterator[int],
    ) -> None:
        """Join pairs of nodes and positions; the positions are their places unless `is_listed`.

        Each round writes the pairs that are not yet inside a set to a list for the next round. The
        host reads only the length of this list, and for short lists only after several rounds.
        """
        parent, first, joining = state
        left, types = len(pairs[0]), (parent, pairs[2])
        while left:
            count = _ROUNDS if left < sizes().joined_in_parts else 1
            lengths, is_deep = self._xp.zeros((2, count + 1), "u8")
            lists = [
                tuple(self.empty(left, column.dtype) for column in pairs)
                for _ in range(min(count, 2))
            ]
            for i in range(count):
                rest, number = lists[i % 2], next(rounds, 0) << _POSITION
                if not number:
                    raise KernelError("the rounds of join_in_order make no progress")
                before, after, deep = lengths[i : i + 1], lengths[i + 1 : i + 2], is_deep[i : i + 1]
                arguments = is_listed, number, parent, first, *rest, after, deep
                self._launch("find_first", types, left, i > 0, before, *pairs, *arguments)
                arguments = *rest, number, first, parent, joining
                self._launch("join_first", types, left, after, deep, *arguments)
                pairs, is_listed = rest, True
            left = int(lengths[count])

    def _first_smallest(
        self, indices: tuple[Array, ...], values: Array, size: int
    ) -> tuple[Array, Array, int]:
        """Return the smallest value sent to each place, its first position, and a mask.

        The values and positions are arrays of 64-bit words. If a word can hold both, they are the
        same array: the value in the upper half, the position in the bits of the mask. If a place
        receives no value, all bits of its word are set.
        """
        records = self.full(size, _ALL_BITS, dtype="u8")
        if values.itemsize <= 4 and len(values) < 2**_HALF:
            for index in indices:
                self._launch("lower_records", (index, values), len(values), index, values, records)
            return records, records, 2**_HALF - 1
        position, key = records.copy(), values.astype("u8", copy=False)
        for index in indices:
            self._launch("scatter_min", (key, index), len(key), index, key, records)
        for index in indices:
            self._launch("lower_positions", (index,), len(key), index, key, records, position)
        return records, position, _ALL_BITS

    def _elementwise(self, extreme: Any, left: Array, right: Any) -> Array:
        """Apply CuPy's minimum or maximum; to keys of float32, whose subnormal values it loses."""
        if left.dtype != np.float32:
            return extreme(left, right)
        if not getattr(right, "ndim", 0):
            right = self.full(1, right, left.dtype)
        return self.weights_of(extreme(self.order_key(left), self.order_key(right)), left.dtype)

    def _roots(self, parent: Array) -> Array:
        """Return the root of each node, and halve the paths of `parent`."""
        root = self.empty(len(parent), parent.dtype)
        self._launch("find_roots", (parent,), len(parent), parent, root)
        return root

    def _segment_of_each(self, length: int, offsets: Array) -> Array:
        segments = len(offsets) - 1
        return self._broadcast(self.arange(segments, self.index_dtype(segments)), offsets, length)

    def _broadcast(self, values: Array, offsets: Array, length: int) -> Array:
        out = self.empty(length, values.dtype)
        self._launch("broadcast", (values, offsets), length, values, offsets, len(values), out)
        return out

    def _select(
        self, kernel: str, types: tuple[Array, ...], size: int, *arguments: Any
    ) -> _Selection:
        """Launch a kernel that writes a bit for each element: whether it is selected."""
        bits = self.empty(-(-size // _WORD), "u4")
        self._launch(kernel, types, size, *arguments, bits)
        return self._counted(bits, size)

    def _no_bits(self, size: int) -> Array:
        return self._xp.zeros(-(-size // _WORD), "u4")

    def _counted(self, bits: Array, size: int, total: int | None = None) -> _Selection:
        """Count the bits of each tile; the host waits for the total unless it is known."""
        counts = self.empty(-(-size // _TILE), "u8")
        self._launch("count_tiles", (), len(counts), bits, len(bits), counts)
        ends = self._xp.cumsum(counts, dtype="u8")
        if total is None:
            total = int(ends[-1]) if size else 0
        return _Selection(bits, ends, size, total)

    def _move(
        self, selection: _Selection, columns: tuple[Array, ...], dtypes: tuple[DType, ...] = ()
    ) -> tuple[Array, ...]:
        """Return the selected elements of each column; the first results have these dtypes."""
        out = tuple(
            self.empty(selection.total, dtype or column.dtype)
            for column, dtype in itertools.zip_longest(columns, dtypes)
        )
        for first in range(0, len(columns), _COLUMNS):
            group = slice(first, first + _COLUMNS)
            pairs = list(zip(columns[group], out[group], strict=True))
            widths = sum((a.itemsize | b.itemsize << 4) << 8 * i for i, (a, b) in enumerate(pairs))
            pointers = [*itertools.chain(*pairs), *[0, 0] * (_COLUMNS - len(pairs))]
            arguments = selection.bits, selection.ends, widths, *pointers
            self._launch("move", (), selection.size, *arguments)
        return out

    def _list(self, selection: _Selection, first: int, dtype: DType) -> Array:
        """Return the selected positions, counted from `first`."""
        out = self.empty(selection.total, dtype)
        arguments = selection.bits, selection.ends, first, out
        self._launch("list_positions", (out,), selection.size, *arguments)
        return out

    def _launch(self, name: str, types: tuple[Array, ...], size: int, *arguments: Any) -> None:
        """Launch a kernel for the widths of these arrays, all taken as unsigned integers."""
        if size:
            instance = _instance(name, *(array.itemsize for array in types))
            self._device.launch(*instance, size, *arguments)


@functools.cache
def _instance(name: str, *sizes: int) -> tuple[str, str]:
    """Return the file and the C++ name of a kernel for arrays with items of these sizes."""
    widths = ", ".join(f"u{8 * size}" for size in sizes)
    kernel = f"{name}<{widths}>" if sizes else name
    return FILE_OF[kernel], kernel


def _word_of(value: Any, dtype: DType) -> Any:
    """Return the bits of a value as an unsigned integer.

    CuPy fills arrays with zeros by a memset, so it would write 0.0 instead of -0.0.
    """
    one = np.array(value, dtype)
    return one.view(f"u{one.itemsize}")[()]


def _in_wider_dtype(u: Array, v: Array) -> tuple[Array, Array]:
    """Return both arrays in the wider of their dtypes, as kernels require."""
    dtype = max(u.dtype, v.dtype, key=lambda dtype: dtype.itemsize)
    return u.astype(dtype, copy=False), v.astype(dtype, copy=False)


class _Selection(NamedTuple):
    """Selected elements of `size`: their bits, their counts up to each tile's end, their number."""

    bits: Array
    ends: Array
    size: int
    total: int
