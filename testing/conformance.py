"""The conformance tests of an array module, for authors of backends."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import PrimitiveError
from ..primitives.vocabulary import ArrayModule
from ..stages.fields import rebuilt
from .primitive_cases import CASES, Draws, compare


def check_backend(module: ArrayModule, *, examples: int = 50) -> None:
    """Compare each primitive of an array module with a loop in plain Python.

    Arguments are random arrays of all dtypes and of lengths up to 20, of which many are empty, and
    have ties or extreme values. `check_algorithm` and a solve with ``backend=module`` then show
    whether the module's arrays suffice; `StrictArrays` states what they need.

    Parameters
    ----------
    module : ArrayModule
        The array module.
    examples : int
        The number of calls of each primitive.

    Raises
    ------
    PrimitiveError
        If a result is wrong, or a call fails or changes an argument. Shows the primitive, its
        arguments, the result and the expected one.
    """
    for name, (dtypes, build) in CASES.items():
        if not hasattr(ArrayModule, name):
            continue  # of a wing
        for seed in range(examples):
            draws, dtype = Draws(seed, seed % max(len(dtypes), 5)), dtypes[seed % len(dtypes)]
            _check_call(module, name, *build(draws, dtype, draws.randrange(21)))


def _check_call(
    module: ArrayModule, name: str, args: tuple[Any, ...], options: dict[str, Any], expected: Any
) -> None:
    shown = ", ".join([*map(_text, args), *(f"{key}={_text(v)}" for key, v in options.items())])
    lent = [_lent(module, value) for value in args]
    named = {key: _lent(module, value) for key, value in options.items()}
    try:
        result = _returned(module, getattr(module, name)(*lent, **named))
    except Exception as error:  # the module may raise anything
        problem = f"{type(error).__name__}: {error}"
        raise PrimitiveError(f"{name}({shown}) failed: {problem}") from error
    try:
        compare(name, result, expected)
    except AssertionError as error:
        wanted = "a result that passes its case" if callable(expected) else _text(expected)
        message = f"{name}({shown}) returned {_text(result)}, expected {wanted}"
        raise PrimitiveError(message) from error
    if _text(_returned(module, (*lent, *named.values()))) != _text((*args, *options.values())):
        raise PrimitiveError(f"{name}({shown}) changed an argument")


def _lent(module: ArrayModule, value: Any) -> Any:
    """Return an argument with arrays of the module."""
    if isinstance(value, list):
        return [_lent(module, each) for each in value]
    if isinstance(value, tuple):
        return rebuilt(value, [_lent(module, each) for each in value])
    return module.asarray(value) if isinstance(value, np.ndarray) else value


def _returned(module: ArrayModule, value: Any) -> Any:
    """Return a result with arrays of NumPy."""
    if isinstance(value, list):
        return [_returned(module, each) for each in value]
    if isinstance(value, tuple):
        return rebuilt(value, [_returned(module, each) for each in value])
    is_array = getattr(value, "ndim", 0) and not isinstance(value, np.ndarray)
    return module.to_host(value) if is_array else value


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_text, value))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.tolist()}"
    return repr(value)
