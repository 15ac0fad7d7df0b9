"""Functions that combine the results of a stage in several partitions into one result."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..primitives.vocabulary import ArrayModule

#: The values of the fields that a stage wrote in one partition.
Written = tuple[Any, ...]
#: A function of the array module and of a list of the partitions' results, in order. Any further
#: parameters are named after shared fields.
Combine = Callable[..., Written]


def _each(parts: list[Written], join: Callable[[list[Any]], Any]) -> Written:
    """Apply `join` to each field: to the list of its values in all partitions."""
    return tuple(join(list(values)) for values in zip(*parts, strict=True))


def _by_operator(apply: Callable[[Any, Any], Any]) -> Combine:
    """Return the combination that applies an operator elementwise; Python integers are exact."""
    return lambda ops, parts: _each(parts, lambda values: reduce(apply, values))


def _by_order(name: str, of_scalars: Callable[[list[Any]], Any]) -> Combine:
    """Return the combination by a function of the array module, or of Python for scalars."""

    def combine(ops: ArrayModule, parts: list[Written]) -> Written:
        def join(values: list[Any]) -> Any:
            return of_scalars(values) if _is_scalar(values[0]) else reduce(apply, values)

        apply = getattr(ops, name)
        return _each(parts, join)

    return combine


def _is_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def lexicographic_minimum(ops: ArrayModule, parts: list[Written]) -> Written:
    """Return the smallest rows, elementwise.

    A row consists of one element of each field. Rows are compared by the first field, ties by the
    second.
    """

    def smaller(left: Written, right: Written) -> Written:
        if _is_scalar(left[0]):
            return min(left, right, key=lambda row: row[:2])
        key, tie = zip(left[:2], right[:2], strict=True)
        is_right = (key[1] < key[0]) | ((key[1] == key[0]) & (tie[1] < tie[0]))
        return tuple(ops.where(is_right, b, a) for a, b in zip(left, right, strict=True))

    return reduce(smaller, parts)


def concatenation(ops: ArrayModule, parts: list[Written]) -> Written:
    """Concatenate arrays, or the columns of records, in the order of the partitions."""

    def joined(values: list[Any]) -> Any:
        if isinstance(values[0], tuple):
            columns = map(joined, map(list, zip(*values, strict=True)))
            return getattr(type(values[0]), "_make", tuple)(columns)
        return ops.concat(values)

    return _each(parts, joined)


COMBINE: dict[str, Combine] = {
    "sum": _by_operator(operator.add),
    "concatenation": concatenation,
    "minimum": _by_order("minimum", min),
    "maximum": _by_order("maximum", max),
    "all": _by_operator(operator.and_),
    "any": _by_operator(operator.or_),
    "lexicographic minimum": lexicographic_minimum,
}
