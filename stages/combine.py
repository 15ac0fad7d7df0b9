"""Functions that combine the results of a stage in several partitions into one result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any

from ..primitives.vocabulary import ArrayModule
from .fields import rebuilt

#: The result of a stage in one partition: the values of the fields that it writes.
Written = tuple[Any, ...]
#: A function of the array module and the list of the partitions' results, in order. The names of
#: further parameters are shared fields.
Combine = Callable[..., Written]


def _elementwise(apply: Callable[[ArrayModule, Any, Any], Any]) -> Combine:
    """Return a combination that applies a function to the values of two partitions at a time."""
    return lambda ops, parts: tuple(
        reduce(partial(apply, ops), values) for values in zip(*parts, strict=True)
    )


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
            return rebuilt(values[0], map(joined, map(list, zip(*values, strict=True))))
        return ops.concat(values)

    return tuple(joined(list(values)) for values in zip(*parts, strict=True))


#: The word for `combine` with which partitions exchange values. Each partition writes one value for
#: each partition. Afterwards, each has the values that all partitions wrote for it, in their order.
EXCHANGE = "exchange"
#: The combinations by name. Python compares single values, and `ops` arrays.
COMBINE: dict[str, Combine] = {
    "sum": _elementwise(lambda _, a, b: a + b),
    "concatenation": concatenation,
    "minimum": _elementwise(lambda ops, a, b: min(a, b) if _is_scalar(a) else ops.minimum(a, b)),
    "maximum": _elementwise(lambda ops, a, b: max(a, b) if _is_scalar(a) else ops.maximum(a, b)),
    "all": _elementwise(lambda _, a, b: a & b),
    "any": _elementwise(lambda _, a, b: a | b),
    "lexicographic minimum": lexicographic_minimum,
}
