"""Consecutive integers that use no memory, such as edge ids before edges are selected."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike, NDArray


class Consecutive(NDArrayOperatorsMixin):
    """The integers from `first` on, in place of a read-only NumPy array of `length` elements.

    Array modules that know this class compute its elements. NumPy functions and array methods
    convert it to an array.
    """

    ndim, nbytes = 1, 0

    def __init__(self, first: int, length: int, dtype: DTypeLike) -> None:
        self.first, self.shape, self.dtype = first, (length,), np.dtype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        values = range(self.first, self.first + len(self))
        if isinstance(index, int):
            return self.dtype.type(values[index])
        if isinstance(index, slice) and index.step in (None, 1):
            chosen = values[index]
            return Consecutive(chosen.start, len(chosen), self.dtype)
        return np.asarray(self)[index]

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.arange(self.first, self.first + len(self), dtype=dtype or self.dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = (np.asarray(x) if isinstance(x, Consecutive) else x for x in inputs)
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy looks these up before the instance has a length
            raise AttributeError(name)
        return getattr(np.asarray(self), name)
