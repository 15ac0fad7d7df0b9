"""An array module that checks the arguments of every call, for debugging and for tests."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import PrimitiveError
from ..primitives.paths import BLOCK_BITS
from ..primitives.vocabulary import ArrayModule

#: The check of the arguments of each primitive.
CHECKS: dict[str, Callable[..., str]] = {}


class CheckedModule:
    """An array module that checks arguments against the contracts, then calls `module`.

    Raises
    ------
    PrimitiveError
        If an argument violates the contract. The message names the primitive, the argument, and its
        dtype, length or first invalid value.
    """

    def __init__(self, module: ArrayModule) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        return functools.partial(_checked, name, function) if name in CHECKS else function


def _checked(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    if problem := CHECKS[name](*args, **options):
        message = f"{name}: {problem}"
        raise PrimitiveError(message)
    return function(*args, **options)


# The following functions return a message about a wrong argument, or an empty string.


def unless(is_right: bool, message: str) -> str:
    return "" if is_right else message


def of_kinds(argument: str, array: Any, kinds: str, wanted: str) -> str:
    is_right = array.dtype.kind in kinds
    return unless(is_right, f"expected {wanted} for {argument}, got {array.dtype}")


def valid_places(argument: str, index: Any, size: int) -> str:
    if problem := of_kinds(argument, index, "iu", "integers"):
        return problem
    if not len(index) or (int(index.min()) >= 0 and int(index.max()) < size):
        return ""
    bad = index[(index < 0) | (index >= size)][0]
    return f"{argument} contains {bad}, but indices must be from 0 to {size - 1}"


def same_length(**arrays: Any) -> str:
    lengths = {argument: len(array) for argument, array in arrays.items()}
    return unless(len(set(lengths.values())) == 1, f"lengths differ: {lengths}")


def _named(word: str, arrays: tuple[Any, ...]) -> dict[str, Any]:
    """Return arrays by names such as "column 0"."""
    return {f"{word} {position}": array for position, array in enumerate(arrays)}


def _ascending(offsets: Any, end: int | None) -> str:
    if problem := of_kinds("offsets", offsets, "iu", "integers"):
        return problem
    is_complete = bool(len(offsets)) and offsets[0] == 0 and end in (None, int(offsets[-1]))
    is_ascending = not bool((offsets[1:] < offsets[:-1]).any())
    message = "offsets must ascend from 0" + ("" if end is None else f" to {end}")
    return unless(is_complete and is_ascending, message)


def check(*primitives: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Register the decorated function as the check of these primitives."""

    def register(check: Callable[..., str]) -> Callable[..., str]:
        CHECKS.update(dict.fromkeys(primitives, check))
        return check

    return register


@check("segmented_reduce", "segmented_argmin")
def _segments(values: Any, offsets: Any, *_: Any) -> str:
    return _ascending(offsets, len(values))


@check("segmented_broadcast")
def _broadcast(values: Any, offsets: Any) -> str:
    return _ascending(offsets, None) or same_length(values=values, segments=offsets[1:])


@check("scatter")
def _scatter(index: Any, values: Any, size: int, *_: Any, **__: Any) -> str:
    problem = valid_places("index", index, size)
    if problem or not np.ndim(values):
        return problem  # one value may be written to a place twice
    ordered = index.copy()
    ordered.sort()
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        return f"index contains {repeated[0]} more than once; use scatter_reduce"
    return same_length(index=index, values=values)


@check("scatter_reduce")
def _scatter_reduce(index: Any, values: Any, size: int, *_: Any) -> str:
    return valid_places("index", index, size) or same_length(index=index, values=values)


@check("scatter_argmin")
def _scatter_argmin(indices: Any, values: Any, size: int) -> str:
    problem = of_kinds("values", values, "u", "unsigned integers")
    for position, index in enumerate(indices):
        name = f"indices[{position}]"
        problem = problem or valid_places(name, index, size)
        problem = problem or same_length(**{name: index, "values": values})
    return problem


@check("compact_pairs")
def _compact_pairs(u: Any, v: Any, key: Any, limit: int, dtype: Any, *columns: Any) -> str:
    return same_length(u=u, v=v, key=key, **_named("column", columns))


@check("relabel_pairs")
def _relabel_pairs(label: Any, u: Any, v: Any, *columns: Any) -> str:
    problem = valid_places("u", u, len(label)) or valid_places("v", v, len(label))
    return problem or same_length(u=u, v=v, **_named("column", columns))


@check("pack_flags")
def _pack_flags(flags: Any) -> str:
    return of_kinds("flags", flags, "b", "flags")


@check("compact_marked")
def _compact_marked(bits: Any, u: Any, v: Any, *columns: Any) -> str:
    problem = of_kinds("bits", bits, "u", "unsigned integers")
    problem = problem or valid_places("u", u, 8 * len(bits)) or valid_places("v", v, 8 * len(bits))
    return problem or same_length(u=u, v=v, **_named("column", columns))


@check("unique_inverse")
def _unique_inverse(values: Any, size: int) -> str:
    return valid_places("values", values, size)


@check("deal")
def _deal(index: Any, size: int, *columns: Any) -> str:
    problem = valid_places("index", index, size)
    return problem or same_length(index=index, **_named("column", columns))


@check("deal_ends")
def _deal_ends(u: Any, v: Any, key: Any, owner: Any, bits: int, size: int) -> str:
    nodes = len(owner) << bits
    problem = valid_places("u", u, nodes) or valid_places("v", v, nodes)
    problem = problem or valid_places("owner", owner, size)
    return problem or same_length(u=u, v=v, key=key)


@check("multiprefix")
def _multiprefix(index: Any, values: Any, start: Any) -> str:
    problem = valid_places("index", index, len(start)) or same_length(index=index, values=values)
    problem = problem or of_kinds("values", values, "iu", "integers")
    message = f"values are {values.dtype}, but start is {start.dtype}"
    return problem or unless(values.dtype == start.dtype, message)


@check("relabel_arcs")
def _relabel_arcs(label: Any, destination: Any, offsets: Any) -> str:
    problem = valid_places("destination", destination, len(label))
    problem = problem or _ascending(offsets, len(destination))
    return problem or same_length(label=label, sources=offsets[1:])


@check("segmented_compact")
def _segmented_compact(mask: Any, offsets: Any, start: Any, *arrays: Any) -> str:
    problem = of_kinds("mask", mask, "b", "flags") or _ascending(offsets, len(mask))
    problem = problem or same_length(segments=offsets[1:], start=start)
    problem = problem or same_length(mask=mask, **_named("array", arrays))
    return problem or (valid_places("start", start, len(mask) + 1) if bool(mask.any()) else "")


@check("scatter_min_pairs")
def _scatter_min_pairs(u: Any, v: Any, key: Any, ids: Any, size: int) -> str:
    problem = of_kinds("key", key, "u", "unsigned integers")
    return problem or valid_pairs(u, v, size) or same_length(u=u, key=key, ids=ids)


@check("cut_mirrors")
def _cut_mirrors(target: Any, ids: Any) -> str:
    return valid_places("target", target, len(target)) or same_length(target=target, ids=ids)


@check("join_in_order", "join_with_helpers", "merge_in_order")
def valid_pairs(u: Any, v: Any, size: int) -> str:
    return valid_places("u", u, size) or valid_places("v", v, size) or same_length(u=u, v=v)


@check("join_by_key")
def _join_by_key(u: Any, v: Any, key: Any, size: int, **_: Any) -> str:
    return valid_pairs(u, v, size) or same_length(u=u, v=v, key=key)


@check("contract_tile")
def _contract_tile(u: Any, v: Any, key: Any, size: int) -> str:
    return _join_by_key(u, v, key, size + 1)


@check("unite")
def _unite(parent: Any, u: Any, v: Any, **_: Any) -> str:
    return _parents(parent) or valid_pairs(u, v, len(parent))


@check("join_levels")
def _join_levels(u: Any, v: Any, ends: Any, size: int) -> str:
    problem = valid_pairs(u, v, size)
    is_ascending = all(start <= stop for start, stop in itertools.pairwise([0, *ends, len(u)]))
    return problem or unless(is_ascending, f"ends must ascend from 0 to {len(u)}")


@check("label_level")
def _label_level(parent: Any, level: Any, *_: Any, **__: Any) -> str:
    return same_length(parent=parent, level=level) or _parents(parent)


@check("gather")
def _gather(values: Any, index: Any, fill: Any = None) -> str:
    problem = valid_places("index", index, len(values) + (fill is not None))
    return problem or (same_length(index=index, fill=fill) if np.ndim(fill) else "")


@check("compact")
def _compact(mask: Any, *arrays: Any) -> str:
    problem = of_kinds("mask", mask, "b", "flags")
    return problem or same_length(mask=mask, **_named("array", arrays))


@check("order_key")
def _order_key(weights: Any, **_: Any) -> str:
    problem = of_kinds("weights", weights, "biuf", "real numbers")
    return problem or ("weights contain NaN" if bool((weights != weights).any()) else "")


@check("weights_of")
def _weights_of(keys: Any, dtype: Any, **_: Any) -> str:
    dtype, wanted = np.dtype(dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    return unless(keys.dtype == wanted, f"expected {wanted} keys of {dtype}, got {keys.dtype}")


@check("pointer_jump")
def _parents(parent: Any) -> str:
    if problem := valid_places("parent", parent, len(parent)):
        return problem
    ancestor = parent
    for _ in range(len(parent).bit_length()):
        ancestor = ancestor[ancestor]
    # Each ancestor is now a root or a node of a cycle, which is not its own parent.
    in_cycle = ancestor[parent[ancestor] != ancestor]
    return f"parent has a cycle through node {in_cycle[0]}" if len(in_cycle) else ""


@check("path_sums")
def _path_sums(parent: Any, values: Any) -> str:
    problem = valid_places("parent", parent, len(parent))
    problem = problem or same_length(parent=parent, values=values)
    if problem := problem or of_kinds("values", values, "iu", "integers"):
        return problem
    ones = parent.copy()
    ones[:] = 1
    node = ones.cumsum() - 1
    smaller = parent[parent < node]
    return f"parent contains {smaller[0]} for a node with a larger number" if len(smaller) else ""


@check("range_max")
def _range_max(table: Any, first: Any, last: Any) -> str:
    size = len(table[0]) // (BLOCK_BITS + 1)
    problem = valid_places("first", first, size) or valid_places("last", last, size)
    if problem := problem or same_length(first=first, last=last):
        return problem
    empty = first[first > last]
    return f"the range that begins at {empty[0]} is empty" if len(empty) else ""
