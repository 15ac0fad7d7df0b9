"""An array module with only what the contract of arrays allows.

A stage that runs on it is portable.
`Array` is the contract: everything that a stage, a strategy or a definition of a primitive may do
with an array besides passing it to functions of its module. An array module may have arrays that do
more.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..primitives.numpy_arrays import NumpyArrays
from ..primitives.vocabulary import ArrayModule


class Array:
    """A one-dimensional array that cannot be changed.

    It has `dtype`, `ndim`, `shape` and `nbytes`, the comparisons, ``+ - * // % & | ^ ~ << >>`` with
    another array of its length or a Python number, `len`, slices, items, `tolist`, and `min` and
    `max` as numbers.
    """

    __slots__ = ("_values",)
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __init__(self, values: Any) -> None:
        self._values = values.view()
        self._values.flags.writeable = False

    @property
    def dtype(self) -> Any:
        """The type of the elements, with a `kind` and an `itemsize` as in NumPy."""
        return self._values.dtype

    @property
    def ndim(self) -> int:
        """The number of axes, which is 1."""
        return 1

    @property
    def shape(self) -> tuple[int]:
        """The length, in a tuple."""
        return (len(self),)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return int(self._values.nbytes)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Array(self._values[place])
        if type(place) is int:
            return self._values[place].item()
        problem = f"an array has slices and items, not [{type(place).__name__}]; use ops.gather"
        raise TypeError(problem)

    def __setitem__(self, place: Any, value: Any) -> None:
        raise TypeError("an array cannot be changed; it may be read-only")

    def __iter__(self) -> Any:
        raise TypeError("a loop over an array takes an item at a time; use tolist()")

    def __bool__(self) -> bool:
        raise TypeError("an array is neither true nor false; use ops.count or len")

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError("an array was passed to NumPy; use the functions of ops")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"arrays of some modules have no {name!r}; use the functions of ops")

    def min(self) -> Any:
        """Return the smallest element as a number."""
        return self._values.min().item()

    def max(self) -> Any:
        """Return the largest element as a number."""
        return self._values.max().item()

    def tolist(self) -> list[Any]:
        """Return the elements as numbers."""
        return self._values.tolist()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Array({self.tolist()}, {self.dtype})"


def _operator(name: str) -> Callable[..., Array]:
    apply = getattr(operator, name)

    def method(self: Array, *others: Any) -> Array:
        return Array(apply(self._values, *map(_operand, others)))

    def reflected(self: Array, other: Any) -> Array:
        return Array(apply(_operand(other), self._values))

    setattr(Array, f"__{name.strip('_')}__", method)
    if name in ("add", "sub", "mul", "and_", "or_", "xor", "floordiv", "mod", "lshift", "rshift"):
        setattr(Array, f"__r{name.strip('_')}__", reflected)
    return method


def _operand(other: Any) -> Any:
    if isinstance(other, Array):
        return other._values
    if type(other) in (int, float, bool):
        return other
    raise TypeError(f"the other operand is a {type(other).__name__}, not an array or a number")


for _name in (
    *("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "floordiv", "mod"),
    *("and_", "or_", "xor", "invert", "neg", "lshift", "rshift"),
):
    _operator(_name)


def _inner(value: Any) -> Any:
    """Return NumPy's array in place of a strict one, also within a tuple or list."""
    if isinstance(value, Array):
        return value._values
    if isinstance(value, np.ndarray):
        raise TypeError("a function of ops got an array of NumPy; convert it with ops.asarray")
    if type(value) in (tuple, list):
        return type(value)(map(_inner, value))
    return value


def _outer(value: Any) -> Any:
    """Return a strict array in place of NumPy's, and Python's number in place of NumPy's."""
    if isinstance(value, np.ndarray):
        return Array(value)
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_outer, value)) if type(value) is tuple else value


def _primitive(name: str) -> Callable[..., Any]:
    function = getattr(NumpyArrays(), name)

    @functools.wraps(function)
    def call(self: StrictArrays, /, *args: Any, **options: Any) -> Any:
        options = {key: _inner(value) for key, value in options.items()}
        return _outer(function(*map(_inner, args), **options))

    return call


class StrictArrays(ArrayModule):
    """Those primitives without a definition by NumPy on strict arrays; all others as defined."""

    name = "strict"
    threads = 1

    def asarray(self, values: Any, /, dtype: Any = None) -> Array:
        """Return an array; only this function accepts arrays of NumPy."""
        values = values._values if isinstance(values, Array) else values
        return Array(np.asarray(values, dtype=dtype))

    def to_host(self, array: Any, /) -> Any:
        """Return the values as NumPy's array."""
        return _inner(array)


#: The functions of part 2 that the vocabulary defines.
_DEFINED = {"offsets", "partition", "pointer_jump", "segmented_argmin"}

for _name in vars(NumpyArrays).keys() - {"asarray", "to_host", "threads", *_DEFINED}:
    if not _name.startswith("_"):
        setattr(StrictArrays, _name, _primitive(_name))


STRICT: ArrayModule = StrictArrays()  # type: ignore[abstract]  # the loop above defines the rest
