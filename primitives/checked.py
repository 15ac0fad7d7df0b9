"""An array module that checks its callers: for debugging, and for the contracts' tests."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PrimitiveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .interface import ArrayModule


class CheckedModule:
    """`module`, refusing arguments that break the contracts of `interface`.

    Raises
    ------
    PrimitiveError
        Naming the primitive, the argument, and its dtype, length or first offending value.
    """

    def __init__(self, module: ArrayModule) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        return functools.partial(_checked, name, function) if name in _CHECKS else function


def _checked(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    _CHECKS[name](name, *args, **options)
    return function(*args, **options)


def _places(name: str, argument: str, index: Any, size: int) -> None:
    if index.dtype.kind not in "iu":
        message = f"{name}: {argument} must hold integers, not {index.dtype}"
        raise PrimitiveError(message)
    if len(index) and not (int(index.min()) >= 0 and int(index.max()) < size):
        bad = index[(index < 0) | (index >= size)][0]
        message = f"{name}: {argument} holds {bad}, but there are {size} places"
        raise PrimitiveError(message)


def _same_length(name: str, **arrays: Any) -> None:
    lengths = {argument: len(array) for argument, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        message = f"{name}: lengths differ: {lengths}"
        raise PrimitiveError(message)


def _segments(name: str, values: Any, offsets: Any, *_: Any) -> None:
    _places(name, "offsets", offsets, len(values) + 1)
    ends = len(offsets) and int(offsets[0]) == 0 and int(offsets[-1]) == len(values)
    if not ends or bool((offsets[1:] < offsets[:-1]).any()):
        message = f"{name}: offsets must ascend from 0 to {len(values)}"
        raise PrimitiveError(message)


def _check_broadcast(name: str, values: Any, offsets: Any) -> None:
    _same_length(name, values=values, segments=offsets[1:])
    if len(offsets) and bool((offsets[1:] < offsets[:-1]).any()):
        message = f"{name}: offsets must ascend"
        raise PrimitiveError(message)


def _check_scatter(name: str, index: Any, values: Any, size: int, *_: Any, dtype: Any) -> None:
    _places(name, "index", index, size)
    if np.ndim(values):
        _same_length(name, index=index, values=values)
    flags = np.bincount(index, minlength=1) if len(index) else np.zeros(1)
    if int(flags.max()) > 1:
        message = f"{name}: place {int(flags.argmax())} occurs twice; use scatter_reduce"
        raise PrimitiveError(message)


def _check_scatter_reduce(name: str, index: Any, values: Any, size: int, *_: Any) -> None:
    _places(name, "index", index, size)
    _same_length(name, index=index, values=values)


def _check_scatter_argmin(name: str, indices: Any, values: Any, size: int) -> None:
    for index in indices:
        _check_scatter_reduce(name, index, values, size)


def _check_gather(name: str, values: Any, index: Any, fill: Any = None) -> None:
    _places(name, "index", index, len(values) + (fill is not None))


def _check_compact(name: str, mask: Any, *arrays: Any) -> None:
    for position, array in enumerate(arrays):
        _same_length(name, mask=mask, **{f"array {position}": array})


def _check_pointer_jump(name: str, parent: Any) -> None:
    _places(name, "parent", parent, len(parent))
    for _ in range(len(parent).bit_length()):
        parent = parent[parent]
    if bool((parent[parent] != parent).any()):
        message = f"{name}: the parents have a cycle"
        raise PrimitiveError(message)


_CHECKS: dict[str, Callable[..., None]] = {
    "segmented_reduce": _segments,
    "segmented_argmin": _segments,
    "segmented_broadcast": _check_broadcast,
    "scatter": _check_scatter,
    "scatter_reduce": _check_scatter_reduce,
    "scatter_argmin": _check_scatter_argmin,
    "gather": _check_gather,
    "compact": _check_compact,
    "pointer_jump": _check_pointer_jump,
}
