"""The NumPy module: the reference for every primitive that is not fused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..runtime.memory import empty
from .vocabulary import ArrayModule, Reduction, Side

Array = NDArray[Any]

#: The function that each reduction applies.
UFUNCS: dict[str, np.ufunc] = {
    "min": np.minimum,
    "max": np.maximum,
    "sum": np.add,
}
_SHORT, _LONG = np.dtype(np.int32), np.dtype(np.int64)


def _index_dtype(size: int, /) -> np.dtype[Any]:
    return _SHORT if size < 2**31 else _LONG


class NumpyArrays(ArrayModule):
    """The primitives as NumPy expressions in one thread."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads  # only `join_with_helpers` depends on it

    index_dtype = staticmethod(_index_dtype)

    @staticmethod
    def largest(dtype: DTypeLike, /) -> float:
        return {"f": math.inf, "b": True}.get(np.dtype(dtype).kind) or int(np.iinfo(dtype).max)

    def asarray(self, values: Any, /, dtype: DTypeLike | None = None) -> Array:
        return np.asarray(values, dtype=dtype)

    def to_host(self, array: Array, /) -> Array:
        return np.asarray(array)

    def empty(self, size: int, /, dtype: DTypeLike) -> Array:
        return empty(size, dtype)

    def arange(self, size: int, /, dtype: DTypeLike) -> Array:
        numbers = np.arange(size, dtype=dtype)
        if len(numbers) < size:  # NumPy returns an empty array if the size is far too large
            message = f"{size:,} values do not fit in memory"
            raise MemoryError(message)
        return numbers

    def full(self, size: int, value: Any, /, dtype: DTypeLike) -> Array:
        return np.full(size, value, dtype)

    def where(self, mask: Array, yes: Any, no: Any, /) -> Array:
        chosen: Array = np.where(mask, yes, no)
        return chosen

    def minimum(self, left: Array, right: Any, /) -> Array:
        smaller: Array = np.minimum(left, right)
        return smaller

    def maximum(self, left: Array, right: Any, /) -> Array:
        larger: Array = np.maximum(left, right)
        return larger

    def concat(self, arrays: list[Array], /) -> Array:
        return np.concatenate(arrays)

    def count(self, mask: Array, /) -> int:
        return int(np.count_nonzero(mask))

    def scan(self, values: Array, /, dtype: DTypeLike, *, exclusive: bool = False) -> Array:
        sums = np.cumsum(values, dtype=dtype)
        return sums - values.astype(dtype, copy=False) if exclusive else sums

    def offsets(self, lengths: Array, /, dtype: DTypeLike) -> Array:
        ends = np.zeros(len(lengths) + 1, dtype)
        np.cumsum(lengths, out=ends[1:])
        return ends

    def segmented_reduce(
        self, values: Array, offsets: Array, op: Reduction, initial: Any, /
    ) -> Array:
        dtype = self.index_dtype(len(values)) if values.dtype == bool else values.dtype
        reduced = np.full(len(offsets) - 1, initial, dtype)
        starts = offsets[:-1]
        # For an empty segment, reduceat would return the value after it.
        is_filled = starts < offsets[1:]
        if len(values):
            reduced[is_filled] = UFUNCS[op].reduceat(values, starts[is_filled], dtype=dtype)
        return reduced

    def segmented_argmin(self, values: Array, offsets: Array, /) -> Array:
        none = len(values)
        packed = _pack_with_position(values)
        if packed is not None:
            return _unpack_position(self.segmented_reduce(packed, offsets, "min", _ALL_ONES), none)
        smallest = self.segmented_reduce(values, offsets, "min", 0)
        is_smallest = values == self.segmented_broadcast(smallest, offsets)
        position = np.where(is_smallest, np.arange(none, dtype=self.index_dtype(none)), none)
        return self.segmented_reduce(position, offsets, "min", none)

    def segmented_broadcast(self, values: Array, offsets: Array, /) -> Array:
        return np.repeat(values, np.diff(offsets))

    def scatter(
        self, index: Array, values: Any, size: int, fill: Any, /, dtype: DTypeLike
    ) -> Array:
        target = np.full(size, fill, dtype)
        target[index] = values
        return target

    def scatter_reduce(
        self, index: Array, values: Array, size: int, op: Reduction, initial: Any, /
    ) -> Array:
        target = np.full(size, initial, values.dtype)
        UFUNCS[op].at(target, index, values)
        return target

    def scatter_argmin(self, indices: tuple[Array, ...], values: Array, size: int, /) -> Array:
        none = len(values)
        packed = _pack_with_position(values)
        if packed is not None:
            best = np.full(size, _ALL_ONES)
            for index in indices:
                np.minimum.at(best, index, packed)
            return _unpack_position(best, none)
        smallest = np.full(size, np.iinfo(values.dtype).max, values.dtype)
        for index in indices:
            np.minimum.at(smallest, index, values)
        position = np.full(size, none, self.index_dtype(none))
        for index in indices:
            found = np.flatnonzero(values == smallest.take(index))
            np.minimum.at(position, index.take(found), found.astype(position.dtype))
        return position

    def gather(self, values: Array, index: Array, /, fill: Any = None) -> Array:
        if fill is None:
            return values.take(index)
        if not len(values):
            return np.full(len(index), fill, values.dtype)
        taken = values.take(np.minimum(index, len(values) - 1))
        return np.where(index < len(values), taken, np.asarray(fill, values.dtype))

    def compact(self, mask: Array, /, *arrays: Array) -> tuple[Array, ...]:
        selected = np.flatnonzero(mask)
        return tuple(array.take(selected) for array in arrays)

    def sort(self, values: Array, /) -> Array:
        return np.sort(values)

    def argsort(self, values: Array, /) -> Array:
        packed = _pack_with_position(values)
        if packed is not None:  # several times faster than a stable argsort
            packed.sort()
            return _unpack_position(packed, len(values))
        return np.argsort(values, kind="stable").astype(self.index_dtype(len(values)))

    def searchsorted(self, ascending: Array, values: Array, /, *, side: Side = "left") -> Array:
        place = np.searchsorted(ascending, values, side)
        return place.astype(self.index_dtype(len(ascending)))

    def partition(self, values: Array, k: int, /) -> Array:
        return np.partition(values, k) if 0 <= k < len(values) else values.copy()

    @staticmethod
    def any_signed(weights: Array, /) -> bool:
        if weights.dtype.kind in "bu" or not len(weights):
            return False
        return int(weights.view(f"i{weights.dtype.itemsize}").min()) < 0

    def order_key(
        self, weights: Array, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        unsigned = np.dtype(f"u{weights.dtype.itemsize}")
        key: Array = weights.view(unsigned)
        if not signed or weights.dtype.kind in "bu":
            return ~key if descending else key
        sign = unsigned.type(1 << (8 * unsigned.itemsize - 1))
        if weights.dtype.kind == "f":
            key = (weights + weights.dtype.type(0)).view(unsigned)  # -0.0 becomes 0.0
            # Flip all bits of negative floats, whose order is reversed, and the sign of others.
            flip = (key.view(f"i{key.itemsize}") >> (8 * key.itemsize - 1)).view(unsigned)
            flip |= sign
            key ^= flip
        else:
            key = key ^ sign
        return ~key if descending else key

    @staticmethod
    def weights_of(
        keys: Array, dtype: DTypeLike, /, *, signed: bool = True, descending: bool = False
    ) -> Array:
        dtype, unsigned, top = np.dtype(dtype), keys.dtype, 8 * keys.itemsize - 1
        bits = ~keys if descending else keys
        if signed and dtype.kind not in "bu":
            flip: Any = unsigned.type(1 << top)
            if dtype.kind == "f":  # the top bit of the keys of negative weights is 0
                flip = flip | ~(bits.view(f"i{bits.itemsize}") >> top).view(unsigned)
            bits = bits ^ flip
        weights: Array = bits.view(dtype)
        return weights

    def pointer_jump(self, parent: Array, /) -> Array:
        while True:
            grandparent = parent.take(parent)
            if np.array_equal(grandparent, parent):
                return grandparent
            parent = grandparent


_ALL_ONES = np.uint64(2**64 - 1)


def _pack_with_position(values: Array) -> Array | None:
    """Return 64-bit words with a value in the upper bits and its position in the lower bits.

    The smallest word then has the first position of the smallest value. Return None for floats, and
    if a word is too small for the range of the values and a position.
    """
    if values.dtype.kind == "f":
        return None
    if not len(values):
        return np.empty(0, np.uint64)
    bits = len(values).bit_length()
    packed = values.astype(np.uint64)
    if values.dtype.kind == "i" or 8 * values.dtype.itemsize + bits > 64:
        lowest = int(values.min())
        if (int(values.max()) - lowest).bit_length() + bits > 64:
            return None
        packed -= np.uint64(lowest % 2**64)  # negative values wrap around, and wrap back here
    packed <<= np.uint64(bits)
    packed |= np.arange(len(values), dtype=np.uint64)
    return packed


def _unpack_position(packed: Array, none: int) -> Array:
    """Return the positions in packed words; for a word of ones, return `none`."""
    mask = np.uint64((1 << none.bit_length()) - 1)
    position: Array = np.minimum(packed & mask, np.uint64(none))
    return position.astype(_index_dtype(none))
