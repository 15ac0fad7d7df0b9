"""The edges of a forest as plain arrays; exact sums and comparisons of their columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class ForestEdges(NamedTuple):
    """The edges of a spanning forest, in ascending order of edge ids.

    The columns have the dtypes of the graph.
    """

    edge_ids: NDArray[np.int64]
    u: NDArray[Any]
    v: NDArray[Any]
    weight: NDArray[Any]
    num_vertices: int
    maximum: bool


class ForestBlocks(NamedTuple):
    """The edges of a spanning forest in ascending order of edge ids, block by block."""

    #: Yields u, v and weight of each block.
    blocks: Iterable[tuple[Any, ...]]
    weight_dtype: np.dtype[Any]
    num_vertices: int
    maximum: bool


#: Multiplied by 2^_SCALE, every finite float64 is an integer.
_SCALE = 1126


def total(weight: NDArray[Any]) -> int | float:
    """Return the exact sum of integers as an int, or of floats rounded once to binary64."""
    return total_of((weight,), weight.dtype)


def total_of(blocks: Iterable[NDArray[Any]], dtype: np.dtype[Any]) -> int | float:
    """Return the `total` of several arrays of one dtype."""
    is_float, exact_sum, infinities = dtype.kind == "f", 0, set()
    for block in blocks:
        for start in range(0, len(block), 2**20):
            values = block[start : start + 2**20]
            if is_float and (is_infinite := np.isinf(values)).any():
                infinities |= set(values[is_infinite].tolist())
            else:
                exact_sum += _sum_floats(values) if is_float else _sum_integers(values)
    if not is_float:
        return exact_sum
    if infinities:
        return infinities.pop() if len(infinities) == 1 else math.nan
    exact = Fraction(exact_sum, 2**_SCALE)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _sum_integers(values: NDArray[Any]) -> int:
    """Return the sum of at most 2^20 integers; summing 32-bit halves cannot overflow."""
    words = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
    low = words.dtype.type(2**32 - 1)
    return (int((words >> 32).sum()) << 32) + int((words & low).sum())


def _sum_floats(values: NDArray[Any]) -> int:
    """Return the sum of at most 2^20 floats, multiplied by 2^`_SCALE`, as an exact integer.

    Mantissas of equal exponent are summed as integers, in two halves that are exact in float64.
    """
    mantissa, exponent = np.frexp(values.astype(np.float64))
    words = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = exponent.min()
    high, low = (np.bincount(exponent - lowest, half) for half in (words >> 26, words & 2**26 - 1))
    shift = int(lowest) + _SCALE - 53
    sums = (int(a) * 2**26 + int(b) for a, b in zip(high, low, strict=True))
    return sum(mantissas << (shift + offset) for offset, mantissas in enumerate(sums))


def equal_exactly(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the positions at which two columns have exactly the same number."""
    equal: NDArray[np.bool_] = left == right
    if (left.dtype.kind == "f") != (right.dtype.kind == "f"):
        # NumPy rounds 64-bit integers to compare them with floats; Python does not.
        for position in np.flatnonzero(equal & (abs(left.astype(np.float64)) >= 2.0**53)):
            equal[position] = left[position].item() == right[position].item()
    return equal
