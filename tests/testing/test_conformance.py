"""The conformance tests that are installed with the package, on modules with and without faults."""

import numpy as np
import pytest

from mstflow.errors import PrimitiveError
from mstflow.primitives.numpy_arrays import NumpyArrays
from mstflow.testing import StrictArrays, check_backend


def test_own_modules_conform(examples):
    check_backend(NumpyArrays(), examples=examples)
    check_backend(StrictArrays(), examples=examples)


class Unstable(NumpyArrays):
    def argsort(self, values, /):
        order = np.argsort(values, kind="stable")[::-1]
        return order[np.argsort(values[order], kind="stable")].astype("int32")


class Wide(NumpyArrays):
    def searchsorted(self, ascending, values, /, *, side="left"):
        return np.searchsorted(ascending, values, side)


class Changing(NumpyArrays):
    def asarray(self, values, /, dtype=None):
        return np.array(values, dtype)

    def sort(self, values, /):
        values.sort()
        return values


class Partial(NumpyArrays):
    def scatter_argmin(self, indices, values, size, /):
        raise NotImplementedError("unsigned values")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Unstable(), r"argsort\(.*\) returned int32\[.*\], expected int32\["),
        (Wide(), r"searchsorted\(.*side=.*\) returned int64.* expected int32"),
        (Changing(), r"sort\(.*\) changed an argument"),
        (Partial(), r"scatter_argmin\(.*\) failed: NotImplementedError: unsigned values"),
    ],
)
def test_faults_are_shown(module, message):
    with pytest.raises(PrimitiveError, match=message):
        check_backend(module)
