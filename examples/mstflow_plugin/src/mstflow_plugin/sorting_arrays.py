"""An array module that differs from NumPy's in one primitive: `scatter_reduce` sorts.

Some array libraries can sort, and reduce runs of equal elements, but have nothing like
`numpy.ufunc.at`. A module for such a library would scatter in this way.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mstflow.primitives.numpy_arrays import NumpyArrays

REDUCE = {"min": np.minimum, "max": np.maximum, "sum": np.add}


class SortingArrays(NumpyArrays):
    """NumPy's primitives, except for one; the contracts are in `mstflow.primitives.vocabulary`."""

    def scatter_reduce(
        self,
        index: NDArray[Any],
        values: NDArray[Any],
        size: int,
        op: Literal["min", "max", "sum"],
        initial: Any,
        /,
    ) -> NDArray[Any]:
        """Return an array of `size` whose places hold `initial`, reduced with their values."""
        target = np.full(size, initial, values.dtype)
        if len(index):
            order = np.argsort(index, kind="stable")
            place = index[order]
            starts = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
            reduced = REDUCE[op].reduceat(values[order], starts, dtype=values.dtype)
            place = place[starts]
            target[place] = REDUCE[op](target[place], reduced)
        return target
