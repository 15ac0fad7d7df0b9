"""NumPy's arrays with one primitive of our own: places are reduced by sorting.

`numpy.ufunc.at` visits value after value. Where arrays can sort and reduce runs but have nothing
like it, equal places are brought together first; so this is also what a module for such a library
would do.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mstflow.primitives.numpy_arrays import NumpyArrays

REDUCE = {"min": np.minimum, "max": np.maximum, "sum": np.add}


class SortingArrays(NumpyArrays):
    """All primitives are NumPy's but one: `mstflow.primitives.vocabulary` has the contracts."""

    def scatter_reduce(
        self,
        index: NDArray[Any],
        values: NDArray[Any],
        size: int,
        op: Literal["min", "max", "sum"],
        initial: Any,
        /,
    ) -> NDArray[Any]:
        """Reduce the values that go to the same place, and `initial`, into an array of `size`."""
        target = np.full(size, initial, values.dtype)
        if len(index):
            order = np.argsort(index, kind="stable")
            place = index[order]
            starts = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
            reduced = REDUCE[op].reduceat(values[order], starts, dtype=values.dtype)
            place = place[starts]
            target[place] = REDUCE[op](target[place], reduced)
        return target
