"""Facts about the columns of a graph, and copies of columns, by the threads of `team.sharing`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .sizes import sizes
from .team import in_shares


class Survey(NamedTuple):
    """Facts about the columns of a graph."""

    #: The largest id of each column, where ids are viewed as unsigned; -1 without edges.
    u: int
    v: int
    has_nan: bool
    #: Whether any weight may have its sign bit set.
    may_be_signed: bool


def survey(u: NDArray[Any], v: NDArray[Any], weight: NDArray[Any]) -> Survey:
    """Survey columns of equal length."""
    if len(weight) and not weight.strides[0]:
        weight = weight[:1]  # all weights are equal
    kind = weight.dtype.kind
    has_nan = kind == "f" and bool(np.isnan(_largest(weight)))
    top_u, top_v = (int(_largest(ids.view(f"u{ids.itemsize}"))) for ids in (u, v))
    return Survey(top_u, top_v, has_nan, kind not in "bu")


def _largest(array: NDArray[Any]) -> Any:
    """Return the largest element, NaN if any is NaN; -1 if the array is empty."""
    if not len(array):
        return -1
    if len(array) < 2 * sizes().smallest_share or not isinstance(array, np.ndarray):
        return array.max()  # also on a device
    return np.max(in_shares(lambda start, stop: array[start:stop].max(), len(array)))


def copied(array: NDArray[Any], dtype: DTypeLike) -> tuple[NDArray[Any], bool]:
    """Return a copy with another dtype, and whether each element is less than the next one."""
    if not isinstance(array, np.ndarray):  # on a device
        return array.astype(dtype), bool((array[:-1] < array[1:]).all())
    out = np.empty(len(array), dtype)

    def copy(start: int, stop: int) -> bool:
        out[start:stop] = array[start:stop]
        return bool((array[start : stop - 1] < array[start + 1 : stop]).all()) and (
            start == 0 or bool(array[start - 1] < array[start])
        )

    return out, all(in_shares(copy, len(array)))
