"""Coordinates of points in any form, as an array of floats; large integers are never rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..graphs.libraries import is_instance
from ..runtime.device import refuse_device

#: Integers below this bound are exact as float64.
_EXACT = 2**53


def as_floats(values: Any) -> NDArray[Any]:
    """Return points as a two-dimensional array of float32 or float64, in native byte order."""
    refuse_device(values, "X")
    if hasattr(values, "tocsr") or hasattr(values, "todense"):
        raise GraphError(
            "X is sparse, but a search tree needs all coordinates; pass X.toarray(), or reduce the "
            "dimensions first (sklearn.decomposition.TruncatedSVD)"
        )
    if isinstance(values, np.ma.MaskedArray):
        raise GraphError("X must not be a masked array; drop the points with missing values")
    columns = _columns_of(values)
    arrays = [_as_array(column)[:, None] for column in columns] or [_as_array(values)]
    floats = [_without_rounding(array, place) for place, array in enumerate(arrays)]
    return floats[0] if len(floats) == 1 else np.concatenate(floats, axis=1)


def _columns_of(table: Any) -> list[Any]:
    """Return the columns of a table, which may differ in dtype; none for other objects."""
    if is_instance(table, "pandas.DataFrame"):
        return [column for _, column in table.items()]
    if is_instance(table, "polars.DataFrame"):
        return list(table.get_columns())
    return list(table.columns) if is_instance(table, "pyarrow.Table") else []


def _as_array(values: Any) -> NDArray[Any]:
    """Convert values to an array, without rounding: one of objects if a list has large integers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "f" and isinstance(values, list | tuple):
            is_large = (abs(array) >= _EXACT).any()
            return np.asarray(values, object) if is_large else array
    except (TypeError, ValueError) as error:
        raise GraphError(f"X is not an array of numbers: {error}") from error
    return array


def _without_rounding(array: NDArray[Any], first_column: int) -> NDArray[Any]:
    """Convert two-dimensional coordinates to float32 or float64; each integer must be exact."""
    if array.dtype.kind == "c":
        raise GraphError("X is complex; pass real and imaginary parts as two columns")
    if array.ndim == 1:
        raise GraphError(
            "X must have shape (points, dimensions), not one axis; pass X.reshape(-1, 1) for "
            "points on a line, or X.reshape(1, -1) for a single point"
        )
    if array.ndim != 2:
        raise GraphError(f"X must have shape (points, dimensions), not {array.shape}")
    dtype = array.dtype.newbyteorder("=")
    if dtype in (np.float32, np.float64):
        return array.astype(dtype, copy=False)
    if dtype == np.float16:
        return array.astype(np.float32)
    if dtype.kind == "f":
        raise GraphError(f"X is {dtype}, wider than float64; round it by X.astype(float)")
    is_time = dtype.kind in "mM"
    numbers = array.astype(np.int64) if is_time else array
    try:
        floats = numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"X is not an array of numbers: {error}") from error
    for row, column in np.argwhere(abs(floats) >= _EXACT).tolist():
        digits = str(numbers[row, column])
        if is_time and np.isnat(array[row, column]):
            floats[row, column] = np.nan
        elif digits.lstrip("-").isdigit() and int(digits) != float(floats[row, column]):
            raise GraphError(
                f"X is {digits} in row {row}, column {first_column + column}, which is not exact "
                "as float64; subtract the smallest value of the column from it (of an array: "
                "X - X.min(axis=0)), or round the column to float64"
            )
    return floats
