"""An array module that checks the arguments of every call, for debugging and for tests."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import PrimitiveError
from ..pointsets.primitives.searches import PADDING, Tree
from .paths import BLOCK
from .vocabulary import ArrayModule

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


def _unless(is_right: bool, message: str) -> str:
    return "" if is_right else message


def _dtype(argument: str, array: Any, kinds: str, wanted: str) -> str:
    is_right = array.dtype.kind in kinds
    return _unless(is_right, f"expected {wanted} for {argument}, got {array.dtype}")


def _places(argument: str, index: Any, size: int) -> str:
    if problem := _dtype(argument, index, "iu", "integers"):
        return problem
    if not len(index) or (int(index.min()) >= 0 and int(index.max()) < size):
        return ""
    bad = index[(index < 0) | (index >= size)][0]
    return f"{argument} contains {bad}, but indices must be from 0 to {size - 1}"


def _same_length(**arrays: Any) -> str:
    lengths = {argument: len(array) for argument, array in arrays.items()}
    return _unless(len(set(lengths.values())) == 1, f"lengths differ: {lengths}")


def _named(word: str, arrays: tuple[Any, ...]) -> dict[str, Any]:
    """Return arrays by names such as "column 0"."""
    return {f"{word} {position}": array for position, array in enumerate(arrays)}


def _ascending(offsets: Any, end: int | None) -> str:
    if problem := _dtype("offsets", offsets, "iu", "integers"):
        return problem
    is_complete = bool(len(offsets)) and offsets[0] == 0 and end in (None, int(offsets[-1]))
    is_ascending = not bool((offsets[1:] < offsets[:-1]).any())
    message = "offsets must ascend from 0" + ("" if end is None else f" to {end}")
    return _unless(is_complete and is_ascending, message)


def _check(*primitives: str) -> Callable[[Callable[..., str]], Callable[..., str]]:
    """Register the decorated function as the check of these primitives."""

    def register(check: Callable[..., str]) -> Callable[..., str]:
        CHECKS.update(dict.fromkeys(primitives, check))
        return check

    return register


@_check("segmented_reduce", "segmented_argmin")
def _segments(values: Any, offsets: Any, *_: Any) -> str:
    return _ascending(offsets, len(values))


@_check("segmented_broadcast")
def _broadcast(values: Any, offsets: Any) -> str:
    return _ascending(offsets, None) or _same_length(values=values, segments=offsets[1:])


@_check("scatter")
def _scatter(index: Any, values: Any, size: int, *_: Any, **__: Any) -> str:
    problem = _places("index", index, size)
    if problem or not np.ndim(values):
        return problem  # one value may be written to a place twice
    ordered = index.copy()
    ordered.sort()
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        return f"index contains {repeated[0]} more than once; use scatter_reduce"
    return _same_length(index=index, values=values)


@_check("scatter_reduce")
def _scatter_reduce(index: Any, values: Any, size: int, *_: Any) -> str:
    return _places("index", index, size) or _same_length(index=index, values=values)


@_check("scatter_argmin")
def _scatter_argmin(indices: Any, values: Any, size: int) -> str:
    problem = _dtype("values", values, "u", "unsigned integers")
    for position, index in enumerate(indices):
        name = f"indices[{position}]"
        problem = problem or _places(name, index, size)
        problem = problem or _same_length(**{name: index, "values": values})
    return problem


@_check("compact_pairs")
def _compact_pairs(u: Any, v: Any, key: Any, limit: int, dtype: Any, *columns: Any) -> str:
    return _same_length(u=u, v=v, key=key, **_named("column", columns))


@_check("relabel_pairs")
def _relabel_pairs(label: Any, u: Any, v: Any, *columns: Any) -> str:
    problem = _places("u", u, len(label)) or _places("v", v, len(label))
    return problem or _same_length(u=u, v=v, **_named("column", columns))


@_check("deal")
def _deal(index: Any, size: int, *columns: Any) -> str:
    problem = _places("index", index, size)
    return problem or _same_length(index=index, **_named("column", columns))


@_check("multiprefix")
def _multiprefix(index: Any, values: Any, start: Any) -> str:
    problem = _places("index", index, len(start)) or _same_length(index=index, values=values)
    problem = problem or _dtype("values", values, "iu", "integers")
    message = f"values are {values.dtype}, but start is {start.dtype}"
    return problem or _unless(values.dtype == start.dtype, message)


@_check("segmented_compact")
def _segmented_compact(mask: Any, offsets: Any, start: Any, *arrays: Any) -> str:
    problem = _dtype("mask", mask, "b", "flags") or _ascending(offsets, len(mask))
    problem = problem or _same_length(segments=offsets[1:], start=start)
    problem = problem or _same_length(mask=mask, **_named("array", arrays))
    return problem or (_places("start", start, len(mask) + 1) if bool(mask.any()) else "")


@_check("scatter_min_pairs")
def _scatter_min_pairs(u: Any, v: Any, key: Any, ids: Any, size: int) -> str:
    problem = _dtype("key", key, "u", "unsigned integers")
    return problem or _pairs(u, v, size) or _same_length(u=u, key=key, ids=ids)


@_check("cut_mirrors")
def _cut_mirrors(target: Any, ids: Any) -> str:
    return _places("target", target, len(target)) or _same_length(target=target, ids=ids)


@_check("join_in_order", "join_with_helpers", "merge_in_order")
def _pairs(u: Any, v: Any, size: int) -> str:
    return _places("u", u, size) or _places("v", v, size) or _same_length(u=u, v=v)


@_check("join_by_key")
def _join_by_key(u: Any, v: Any, key: Any, size: int, **_: Any) -> str:
    return _pairs(u, v, size) or _same_length(u=u, v=v, key=key)


@_check("contract_tile")
def _contract_tile(u: Any, v: Any, key: Any, size: int) -> str:
    return _join_by_key(u, v, key, size + 1)


@_check("unite")
def _unite(parent: Any, u: Any, v: Any, **_: Any) -> str:
    return _parents(parent) or _pairs(u, v, len(parent))


@_check("join_levels")
def _join_levels(u: Any, v: Any, ends: Any, size: int) -> str:
    problem = _pairs(u, v, size)
    is_ascending = all(start <= stop for start, stop in itertools.pairwise([0, *ends, len(u)]))
    return problem or _unless(is_ascending, f"ends must ascend from 0 to {len(u)}")


@_check("label_level")
def _label_level(parent: Any, level: Any, *_: Any, **__: Any) -> str:
    return _same_length(parent=parent, level=level) or _parents(parent)


@_check("gather")
def _gather(values: Any, index: Any, fill: Any = None) -> str:
    problem = _places("index", index, len(values) + (fill is not None))
    return problem or (_same_length(index=index, fill=fill) if np.ndim(fill) else "")


@_check("compact")
def _compact(mask: Any, *arrays: Any) -> str:
    problem = _dtype("mask", mask, "b", "flags")
    return problem or _same_length(mask=mask, **_named("array", arrays))


@_check("order_key")
def _order_key(weights: Any, **_: Any) -> str:
    problem = _dtype("weights", weights, "biuf", "real numbers")
    return problem or ("weights contain NaN" if bool((weights != weights).any()) else "")


@_check("weights_of")
def _weights_of(keys: Any, dtype: Any, **_: Any) -> str:
    dtype, wanted = np.dtype(dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    return _unless(keys.dtype == wanted, f"expected {wanted} keys of {dtype}, got {keys.dtype}")


@_check("pointer_jump")
def _parents(parent: Any) -> str:
    if problem := _places("parent", parent, len(parent)):
        return problem
    ancestor = parent
    for _ in range(len(parent).bit_length()):
        ancestor = ancestor[ancestor]
    # Each ancestor is now a root or a node of a cycle, which is not its own parent.
    in_cycle = ancestor[parent[ancestor] != ancestor]
    return f"parent has a cycle through node {in_cycle[0]}" if len(in_cycle) else ""


@_check("path_sums")
def _path_sums(parent: Any, values: Any) -> str:
    problem = _places("parent", parent, len(parent)) or _same_length(parent=parent, values=values)
    if problem := problem or _dtype("values", values, "iu", "integers"):
        return problem
    ones = parent.copy()
    ones[:] = 1
    node = ones.cumsum() - 1
    smaller = parent[parent < node]
    return f"parent contains {smaller[0]} for a node with a larger number" if len(smaller) else ""


@_check("range_max")
def _range_max(table: Any, first: Any, last: Any) -> str:
    size = len(table[0]) // (BLOCK + 1)
    problem = _places("first", first, size) or _places("last", last, size)
    if problem := problem or _same_length(first=first, last=last):
        return problem
    empty = first[first > last]
    return f"the range that begins at {empty[0]} is empty" if len(empty) else ""


@_check("count_equal", "bound_nodes")
def _points(points: Any, *_: Any) -> str:
    problem = _places("ids", points.ids, points.num_ids)
    problem = problem or _dtype("coordinates", points.coordinates, "f", "floats")
    count = len(points.coordinates)
    wanted = len(points.ids) * points.num_axes + PADDING * isinstance(points, Tree)
    return problem or _unless(count == wanted, f"coordinates have length {count}, not {wanted}")


@_check("point_distances")
def _point_distances(points: Any, u: Any, v: Any) -> str:
    return _points(points) or _pairs(u, v, len(points.ids))


@_check("build_tree")
def _build_tree(points: Any, depth: int) -> str:
    is_right = depth == 0 or (depth > 0 and 2**depth <= len(points.ids))
    message = f"depth is {depth}, but {len(points.ids)} points allow no 2**depth leaves"
    return _points(points) or _unless(is_right, message)


@_check("nearest_neighbors")
def _neighbors(tree: Any, boxes: Any, k: int, rank: int) -> str:
    count = len(tree.ids)
    is_right = 1 <= k < count and 0 <= rank <= k
    message = f"expected 1 <= k < {count} and 0 <= rank <= k, got k = {k} and rank = {rank}"
    return _points(tree) or _unless(is_right, message)


@_check("lightest_between")
def _fragments(points: Any, core: Any, fragment: Any, count: int) -> str:
    problem = _points(points) or _places("fragment", fragment, count)
    return problem or _same_length(ids=points.ids, core=core, fragment=fragment)


@_check("nearest_outside")
def _outside(
    tree: Any, boxes: Any, core: Any, reach: Any, neighbor: Any, fragment: Any, count: int,
    nearest: Any, bound: Any,
) -> str:  # fmt: skip
    problem = _fragments(tree, core, fragment, count)
    problem = problem or _same_length(fragment=fragment, reach=reach, nearest=nearest, bound=bound)
    problem = problem or _places("neighbor", neighbor, len(fragment))
    return problem or _places("nearest", nearest, len(fragment) + 1)


@_check("nearest_in_blocks")
def _sought(points: Any, core: Any, fragment: Any, sought: Any, k: int) -> str:
    problem = _fragments(points, core, fragment, len(fragment))
    problem = problem or _places("sought", sought, len(fragment))
    is_right = k >= 1 and not bool((sought[1:] <= sought[:-1]).any())
    return problem or _unless(is_right, "sought must ascend, and k must be at least 1")
