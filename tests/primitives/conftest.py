"""Fixture `ops`: every array module, lent arrays it may not write to, in several layouts."""

import numpy as np
import pytest

import mstflow
from mstflow.primitives import array_module
from mstflow.primitives.checked import CheckedModule


class Lender:
    """An array module that takes and gives NumPy arrays, and proves that arguments stay as they are.

    `step` is the distance of neighbouring elements in memory.
    """

    def __init__(self, module, step=1):
        self._module = module
        self._step = step

    def __getattr__(self, name):
        def primitive(*args, **options):
            given = [*args, *options.values()]
            lent = [self._lend(value) for value in given]
            options_lent = dict(zip(options, lent[len(args) :], strict=True))
            result = getattr(self._module, name)(*lent[: len(args)], **options_lent)
            for before, after in zip(given, lent, strict=True):
                assert _bytes(before) == _bytes(_to_host(after)), f"{name} wrote to an argument"
            return _to_host(result)

        return primitive

    def _lend(self, value):
        if isinstance(value, tuple | list):
            return type(value)(self._lend(item) for item in value)
        if not isinstance(value, np.ndarray):
            return value
        lent = self._module.asarray(np.repeat(value, self._step))[:: self._step]
        if isinstance(lent, np.ndarray):  # the others have no such flag
            lent.flags.writeable = False
        return lent


def _to_host(value):
    if isinstance(value, tuple | list):
        return type(value)(_to_host(item) for item in value)
    return value.get() if hasattr(value, "get") else value


def _bytes(value):
    if isinstance(value, tuple | list):
        return [_bytes(item) for item in value]
    return value.tobytes() if isinstance(value, np.ndarray) else value


WRAPPERS = {
    "contiguous": Lender,
    "strided": lambda module: Lender(module, step=2),
    "checked": lambda module: Lender(CheckedModule(module)),
}


@pytest.fixture(scope="session", params=WRAPPERS)
def wrapper(request):
    return WRAPPERS[request.param]


@pytest.fixture(scope="session", params=mstflow.backends())
def ops(request, wrapper):
    return wrapper(array_module(request.param))


@pytest.fixture(scope="session", params=mstflow.backends())
def checked_ops(request):
    return WRAPPERS["checked"](array_module(request.param))
