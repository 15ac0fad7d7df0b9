"""Fixture `layouts`: each array module, called with read-only arrays in several layouts."""

import numpy as np
import pytest

import mstflow
from cuda_machine import MachineCudaArrays
from mstflow.primitives import array_module
from mstflow.primitives.checked import CheckedModule


class Lender:
    """An array module for NumPy arrays, with a check that calls do not change their arguments.

    `step` is the distance of adjacent elements in memory.
    """

    def __init__(self, module, step=1):
        self._module = module
        self._step = step

    def __getattr__(self, name):
        def primitive(*args, **options):
            given = (args, options)
            lent_args, lent_options = lent = _map(self._lend, given)
            result = _map(_to_host, getattr(self._module, name)(*lent_args, **lent_options))
            unchanged = _map(_bits, given) == _map(_bits, _map(_to_host, lent))
            assert unchanged, f"{name} wrote to an argument"
            return result

        return primitive

    def _lend(self, value):
        if not isinstance(value, np.ndarray):
            return value
        lent = self._module.asarray(np.repeat(value, self._step))[:: self._step]
        if isinstance(lent, np.ndarray):  # arrays of other libraries have no such flag
            lent.flags.writeable = False
        return lent


def _map(function, value):
    """Apply `function` to the items of nested tuples, lists and dictionaries."""
    if isinstance(value, dict):
        return {key: _map(function, item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(_map(function, item) for item in value)
    return function(value)


def _to_host(value):
    return value.get() if hasattr(value, "get") else value  # CuPy's


def _bits(value):
    return value.tobytes() if isinstance(value, np.ndarray) else value


def modules():
    """Return the names of all array modules; with several threads, they share small arrays, too."""
    several = ["numba, 4 threads"] if "numba" in mstflow.backends() else []
    return [*mstflow.backends(), *several, "cuda interpreted"]


@pytest.fixture(params=modules(), scope="session")
def module(request):
    name, _, several = request.param.partition(",")
    if name == "cuda interpreted":
        request.getfixturevalue("cuda_machine")
        yield MachineCudaArrays()
        return
    if not several:
        yield array_module(name)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mstflow.runtime.team._SMALLEST_SHARE", 3)
        patch.setattr("mstflow.runtime.memory._SMALLEST", 8)
        patch.setattr("mstflow.primitives.numba.arrays._LONG_RUN", 8)
        patch.setattr("mstflow.primitives.numba.runs._RUN", 4)
        yield type(array_module(name))(4)


@pytest.fixture(scope="session")
def share(module):
    """Return the divisor of large sizes: the interpreter takes microseconds for each element."""
    return 16 if isinstance(module, MachineCudaArrays) else 1


@pytest.fixture(scope="session")
def layouts(module):
    """Return the module for each layout of its arguments."""
    return {
        "contiguous": Lender(module),
        "strided": Lender(module, step=2),
        "checked": Lender(CheckedModule(module)),
    }


@pytest.fixture(scope="session")
def ops(layouts):
    return layouts["contiguous"]


@pytest.fixture(scope="session")
def checked(layouts):
    return layouts["checked"]
