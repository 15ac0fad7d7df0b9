"""How the results of a stage over two parts of the edge list join into the result over both."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..primitives.vocabulary import ArrayModule

Combine = Callable[["ArrayModule", tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]]


def add(_: ArrayModule, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Add, arrays or numbers."""
    return tuple(a + b for a, b in zip(left, right, strict=True))


def minimum(ops: ArrayModule, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take the smaller values."""
    return tuple(ops.minimum(a, b) for a, b in zip(left, right, strict=True))


def maximum(ops: ArrayModule, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Take the larger values."""
    return tuple(ops.maximum(a, b) for a, b in zip(left, right, strict=True))


def lexicographic_minimum(
    ops: ArrayModule, left: tuple[Any, ...], right: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Take the smaller rows: by the first field, then the second; the others come along."""
    key, tie = zip(left[:2], right[:2], strict=True)
    is_right = (key[1] < key[0]) | ((key[1] == key[0]) & (tie[1] < tie[0]))
    return tuple(ops.where(is_right, b, a) for a, b in zip(left, right, strict=True))


def concatenation(
    ops: ArrayModule, left: tuple[Any, ...], right: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Put the arrays of one part after those of the other."""
    return tuple(ops.concat([a, b]) for a, b in zip(left, right, strict=True))


def every(_: ArrayModule, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Ask for truth in all parts."""
    return tuple(a & b for a, b in zip(left, right, strict=True))


def some(_: ArrayModule, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Ask for truth in any part."""
    return tuple(a | b for a, b in zip(left, right, strict=True))


COMBINE: dict[str, Combine] = {
    "sum": add,
    "concatenation": concatenation,
    "minimum": minimum,
    "maximum": maximum,
    "all": every,
    "any": some,
    "lexicographic minimum": lexicographic_minimum,
}
