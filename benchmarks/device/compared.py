"""Each primitive that a solve calls on a GPU, beside its definition in NumPy."""

from __future__ import annotations

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from mstflow.primitives.numpy_arrays import NumpyArrays
from mstflow.primitives.vocabulary import ArrayModule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Results that the definitions leave open.
OPEN = ("empty", "partition", "unite", "join_with_helpers")
NAMES = [name for name in vars(ArrayModule) if not name.startswith("_") and name not in OPEN]


class Difference:
    """The first primitive that differed, with its arguments, as text; empty if none did."""

    text = ""


@contextlib.contextmanager
def first_difference() -> Iterator[Difference]:
    """Compare every call of a primitive on CuPy with NumPy's result for the same arguments."""
    from mstflow.primitives.cuda.arrays import CudaArrays

    found, module = Difference(), NumpyArrays()

    def compared(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(self: CudaArrays, *args: Any, **options: Any) -> Any:
            given = _on_host(self, args)  # before the call, which may fail
            result = function(self, *args, **options)
            if not found.text:
                expected, got = getattr(module, name)(*given, **options), _on_host(self, result)
                if not _equal(expected, got):
                    found.text = f"{name}{given!r}, {options}: {got!r}, expected {expected!r}"
            return result

        return call

    with contextlib.ExitStack() as stack:
        for name in NAMES:
            function = inspect.getattr_static(CudaArrays, name)
            if inspect.isfunction(function):  # not a static method, which needs no array
                own = compared(name, function)
                stack.enter_context(mock.patch.object(CudaArrays, name, own))
        yield found


def _on_host(ops: Any, value: Any) -> Any:
    """Copy the arrays of arguments or of a result to the host."""
    if isinstance(value, tuple | list):
        return type(value)(_on_host(ops, each) for each in value)
    is_array = type(value).__module__.startswith("cupy")
    return value.get() if is_array else value


def _equal(expected: Any, got: Any) -> bool:
    if isinstance(expected, tuple):
        return len(expected) == len(got) and all(map(_equal, expected, got))
    return np.array_equal(expected, got)
