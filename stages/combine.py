"""How the results of a stage over several partitions join into the result over all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..primitives.vocabulary import ArrayModule

#: What a stage wrote in one partition: the value of each field.
Written = tuple[Any, ...]
#: Joins what a stage wrote in several partitions, in order. May name shared fields as further
#: parameters.
Combine = Callable[..., Written]


def _each(ops: ArrayModule, parts: list[Written], join: Callable[[list[Any]], Any]) -> Written:
    """Join the values of each field."""
    return tuple(join(list(values)) for values in zip(*parts, strict=True))


def _is_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float)  # Python's, which never wrap


def add(ops: ArrayModule, parts: list[Written]) -> Written:
    """Add arrays or numbers."""
    return _each(ops, parts, lambda values: reduce(lambda a, b: a + b, values))


def minimum(ops: ArrayModule, parts: list[Written]) -> Written:
    """Take the smallest values."""
    return _each(ops, parts, lambda v: min(v) if _is_scalar(v[0]) else reduce(ops.minimum, v))


def maximum(ops: ArrayModule, parts: list[Written]) -> Written:
    """Take the largest values."""
    return _each(ops, parts, lambda v: max(v) if _is_scalar(v[0]) else reduce(ops.maximum, v))


def every(ops: ArrayModule, parts: list[Written]) -> Written:
    """Return true where all partitions have true."""
    return _each(ops, parts, lambda values: reduce(lambda a, b: a & b, values))


def some(ops: ArrayModule, parts: list[Written]) -> Written:
    """Return true where any partition has true."""
    return _each(ops, parts, lambda values: reduce(lambda a, b: a | b, values))


def lexicographic_minimum(ops: ArrayModule, parts: list[Written]) -> Written:
    """Take the smallest rows: by the first field, then the second; the others come along."""

    def smaller(left: Written, right: Written) -> Written:
        if _is_scalar(left[0]):
            return min(left, right, key=lambda row: row[:2])
        key, tie = zip(left[:2], right[:2], strict=True)
        is_right = (key[1] < key[0]) | ((key[1] == key[0]) & (tie[1] < tie[0]))
        return tuple(ops.where(is_right, b, a) for a, b in zip(left, right, strict=True))

    return reduce(smaller, parts)


def concatenation(ops: ArrayModule, parts: list[Written]) -> Written:
    """Put the arrays, or the columns of records, of all partitions one after another."""

    def joined(values: list[Any]) -> Any:
        if isinstance(values[0], tuple):
            columns = map(joined, map(list, zip(*values, strict=True)))
            return getattr(type(values[0]), "_make", tuple)(columns)
        return ops.concat(values)

    return _each(ops, parts, joined)


COMBINE: dict[str, Combine] = {
    "sum": add,
    "concatenation": concatenation,
    "minimum": minimum,
    "maximum": maximum,
    "all": every,
    "any": some,
    "lexicographic minimum": lexicographic_minimum,
}
