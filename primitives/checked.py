"""An array module that checks the arguments of every call, for debugging and for tests."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PrimitiveError
from .paths import BLOCK
from .points import PADDING, Tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from .vocabulary import ArrayModule


class CheckedModule:
    """An array module that checks arguments against the contracts, then calls `module`.

    Raises
    ------
    PrimitiveError
        If an argument violates the contract. Names the primitive, the argument, and its dtype,
        length or first invalid value.
    """

    def __init__(self, module: ArrayModule) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        return functools.partial(_checked, name, function) if name in CHECKS else function


def _checked(name: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    CHECKS[name](name, *args, **options)
    return function(*args, **options)


def _dtype(name: str, argument: str, array: Any, kinds: str, wanted: str) -> None:
    if array.dtype.kind not in kinds:
        message = f"{name}: expected {wanted} for {argument}, got {array.dtype}"
        raise PrimitiveError(message)


def _places(name: str, argument: str, index: Any, size: int) -> None:
    _dtype(name, argument, index, "iu", "integers")
    if len(index) and not (int(index.min()) >= 0 and int(index.max()) < size):
        bad = index[(index < 0) | (index >= size)][0]
        message = f"{name}: {argument} contains {bad}, but there are {size} places"
        raise PrimitiveError(message)


def _same_length(name: str, **arrays: Any) -> None:
    lengths = {argument: len(array) for argument, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        message = f"{name}: lengths differ: {lengths}"
        raise PrimitiveError(message)


def _ascending(name: str, offsets: Any, end: int | None) -> None:
    _dtype(name, "offsets", offsets, "iu", "integers")
    if (
        not len(offsets)
        or int(offsets[0]) != 0
        or (end is not None and int(offsets[-1]) != end)
        or bool((offsets[1:] < offsets[:-1]).any())
    ):
        message = f"{name}: offsets must ascend from 0" + ("" if end is None else f" to {end}")
        raise PrimitiveError(message)


def _check_segments(name: str, values: Any, offsets: Any, *_: Any) -> None:
    _ascending(name, offsets, len(values))


def _check_broadcast(name: str, values: Any, offsets: Any) -> None:
    _ascending(name, offsets, None)
    _same_length(name, values=values, segments=offsets[1:])


def _check_scatter(name: str, index: Any, values: Any, size: int, *_: Any, **__: Any) -> None:
    _places(name, "index", index, size)
    if not np.ndim(values):
        return  # a single value: places may repeat
    _same_length(name, index=index, values=values)
    ordered = index.copy()
    ordered.sort()
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        message = f"{name}: index contains {repeated[0]} more than once; use scatter_reduce"
        raise PrimitiveError(message)


def _check_scatter_reduce(name: str, index: Any, values: Any, size: int, *_: Any) -> None:
    _places(name, "index", index, size)
    _same_length(name, index=index, values=values)


def _check_scatter_argmin(name: str, indices: Any, values: Any, size: int) -> None:
    _dtype(name, "values", values, "u", "unsigned integers")
    for position, index in enumerate(indices):
        _places(name, f"indices[{position}]", index, size)
        _same_length(name, **{f"indices[{position}]": index, "values": values})


def _check_compact_pairs(name: str, u: Any, v: Any, key: Any, *rest: Any) -> None:
    columns = {f"column {position}": column for position, column in enumerate(rest[2:])}
    _same_length(name, u=u, v=v, key=key, **columns)


def _check_relabel_pairs(name: str, label: Any, u: Any, v: Any, *columns: Any) -> None:
    _places(name, "u", u, len(label))
    _places(name, "v", v, len(label))
    _same_length(name, u=u, v=v, **{f"column {i}": column for i, column in enumerate(columns)})


def _check_deal(name: str, index: Any, size: int, *columns: Any) -> None:
    _places(name, "index", index, size)
    _same_length(name, index=index, **{f"column {i}": column for i, column in enumerate(columns)})


def _check_multiprefix(name: str, index: Any, values: Any, start: Any) -> None:
    _places(name, "index", index, len(start))
    _same_length(name, index=index, values=values)
    _dtype(name, "values", values, "iu", "integers")
    if values.dtype != start.dtype:
        message = f"{name}: values are {values.dtype}, but start is {start.dtype}"
        raise PrimitiveError(message)


def _check_segmented_compact(name: str, mask: Any, offsets: Any, start: Any, *arrays: Any) -> None:
    _dtype(name, "mask", mask, "b", "flags")
    _ascending(name, offsets, len(mask))
    _same_length(name, segments=offsets[1:], start=start)
    _same_length(name, mask=mask, **{f"array {i}": array for i, array in enumerate(arrays)})
    if bool(mask.any()):
        _places(name, "start", start, len(mask) + 1)


def _check_scatter_min_pairs(name: str, u: Any, v: Any, key: Any, ids: Any, size: int) -> None:
    _dtype(name, "key", key, "u", "unsigned integers")
    _places(name, "u", u, size)
    _places(name, "v", v, size)
    _same_length(name, u=u, v=v, key=key, ids=ids)


def _check_cut_mirrors(name: str, target: Any, ids: Any) -> None:
    _places(name, "target", target, len(target))
    _same_length(name, target=target, ids=ids)


def _check_join_in_order(name: str, u: Any, v: Any, size: int) -> None:
    _places(name, "u", u, size)
    _places(name, "v", v, size)
    _same_length(name, u=u, v=v)


def _check_join_by_key(name: str, u: Any, v: Any, key: Any, size: int, **_: Any) -> None:
    _check_join_in_order(name, u, v, size)
    _same_length(name, u=u, v=v, key=key)


def _check_contract_tile(name: str, u: Any, v: Any, key: Any, size: int) -> None:
    _check_join_by_key(name, u, v, key, size + 1)


def _check_unite(name: str, parent: Any, u: Any, v: Any, **_: Any) -> None:
    _check_pointer_jump(name, parent)
    _check_join_in_order(name, u, v, len(parent))


def _check_join_levels(name: str, u: Any, v: Any, ends: Any, size: int) -> None:
    _check_join_in_order(name, u, v, size)
    if not all(start <= stop for start, stop in itertools.pairwise([0, *ends, len(u)])):
        message = f"{name}: ends must ascend from 0 to {len(u)}"
        raise PrimitiveError(message)


def _check_label_level(name: str, parent: Any, level: Any, *_: Any, **__: Any) -> None:
    _same_length(name, parent=parent, level=level)
    _check_pointer_jump(name, parent)


def _check_gather(name: str, values: Any, index: Any, fill: Any = None) -> None:
    _places(name, "index", index, len(values) + (fill is not None))
    if np.ndim(fill):
        _same_length(name, index=index, fill=fill)


def _check_compact(name: str, mask: Any, *arrays: Any) -> None:
    _dtype(name, "mask", mask, "b", "flags")
    for position, array in enumerate(arrays):
        _same_length(name, mask=mask, **{f"array {position}": array})


def _check_order_key(name: str, weights: Any, **_: Any) -> None:
    _dtype(name, "weights", weights, "biuf", "real numbers")
    if bool((weights != weights).any()):
        message = f"{name}: weights contain NaN"
        raise PrimitiveError(message)


def _check_weights_of(name: str, keys: Any, dtype: Any, **_: Any) -> None:
    wanted = f"u{np.dtype(dtype).itemsize}"
    if keys.dtype != wanted:
        message = f"{name}: expected {np.dtype(wanted)} keys of {np.dtype(dtype)}, got {keys.dtype}"
        raise PrimitiveError(message)


def _check_pointer_jump(name: str, parent: Any) -> None:
    _places(name, "parent", parent, len(parent))
    ancestor = parent
    for _ in range(len(parent).bit_length()):
        ancestor = ancestor[ancestor]
    # Each ancestor is now a root or a node of a cycle, which is not its own parent.
    lost = ancestor[parent[ancestor] != ancestor]
    if len(lost):
        message = f"{name}: parent has a cycle through node {lost[0]}"
        raise PrimitiveError(message)


def _check_path_sums(name: str, parent: Any, values: Any) -> None:
    _places(name, "parent", parent, len(parent))
    _same_length(name, parent=parent, values=values)
    _dtype(name, "values", values, "iu", "integers")
    step = parent.copy()
    step[:] = 1
    early = parent[parent < step.cumsum() - 1]
    if len(early):
        message = f"{name}: parent contains {early[0]} for a node with a larger number"
        raise PrimitiveError(message)


def _check_range_max(name: str, table: Any, first: Any, last: Any) -> None:
    size = len(table[0]) // (BLOCK + 1)
    _places(name, "first", first, size)
    _places(name, "last", last, size)
    _same_length(name, first=first, last=last)
    empty = first[first > last]
    if len(empty):
        message = f"{name}: the range that begins at {empty[0]} is empty"
        raise PrimitiveError(message)


def _check_points(name: str, points: Any, *_: Any) -> None:
    _places(name, "ids", points.ids, points.num_ids)
    _dtype(name, "coordinates", points.coordinates, "f", "floats")
    wanted = len(points.ids) * points.num_axes + PADDING * isinstance(points, Tree)
    if len(points.coordinates) != wanted:
        message = f"{name}: coordinates have length {len(points.coordinates)}, not {wanted}"
        raise PrimitiveError(message)


def _check_point_distances(name: str, points: Any, u: Any, v: Any) -> None:
    _check_points(name, points)
    _check_join_in_order(name, u, v, len(points.ids))


def _check_build_tree(name: str, points: Any, depth: int) -> None:
    _check_points(name, points)
    if depth < 0 or (depth and 2**depth > len(points.ids)):
        message = f"{name}: depth is {depth}, but there are {len(points.ids)} points"
        raise PrimitiveError(message)


def _check_neighbors(name: str, tree: Any, boxes: Any, k: int, rank: int) -> None:
    _check_points(name, tree)
    if not (1 <= k < len(tree.ids) and 0 <= rank <= k):
        message = f"{name}: k is {k} and rank {rank}, but there are {len(tree.ids)} points"
        raise PrimitiveError(message)


def _check_fragments(name: str, points: Any, core: Any, fragment: Any, count: int) -> None:
    _check_points(name, points)
    _places(name, "fragment", fragment, count)
    _same_length(name, ids=points.ids, core=core, fragment=fragment)


def _check_outside(
    name: str, tree: Any, boxes: Any, core: Any, reach: Any, neighbor: Any, fragment: Any,
    count: int, nearest: Any, bound: Any,
) -> None:  # fmt: skip
    _check_fragments(name, tree, core, fragment, count)
    _same_length(name, fragment=fragment, reach=reach, nearest=nearest, bound=bound)
    _places(name, "neighbor", neighbor, len(fragment))
    _places(name, "nearest", nearest, len(fragment) + 1)


def _check_sought(name: str, points: Any, core: Any, fragment: Any, sought: Any, k: int) -> None:
    _check_fragments(name, points, core, fragment, len(fragment))
    _places(name, "sought", sought, len(fragment))
    if bool((sought[1:] <= sought[:-1]).any()) or k < 1:
        message = f"{name}: sought must ascend, and k must be at least 1"
        raise PrimitiveError(message)


CHECKS: dict[str, Callable[..., None]] = {
    "segmented_reduce": _check_segments,
    "segmented_argmin": _check_segments,
    "segmented_broadcast": _check_broadcast,
    "scatter": _check_scatter,
    "scatter_reduce": _check_scatter_reduce,
    "scatter_argmin": _check_scatter_argmin,
    "compact_pairs": _check_compact_pairs,
    "relabel_pairs": _check_relabel_pairs,
    "deal": _check_deal,
    "multiprefix": _check_multiprefix,
    "segmented_compact": _check_segmented_compact,
    "scatter_min_pairs": _check_scatter_min_pairs,
    "cut_mirrors": _check_cut_mirrors,
    "join_in_order": _check_join_in_order,
    "join_by_key": _check_join_by_key,
    "contract_tile": _check_contract_tile,
    "join_with_helpers": _check_join_in_order,
    "unite": _check_unite,
    "merge_in_order": _check_join_in_order,
    "join_levels": _check_join_levels,
    "label_level": _check_label_level,
    "gather": _check_gather,
    "compact": _check_compact,
    "order_key": _check_order_key,
    "weights_of": _check_weights_of,
    "pointer_jump": _check_pointer_jump,
    "path_sums": _check_path_sums,
    "range_max": _check_range_max,
    "count_equal": _check_points,
    "point_distances": _check_point_distances,
    "build_tree": _check_build_tree,
    "bound_nodes": _check_points,
    "nearest_neighbors": _check_neighbors,
    "nearest_outside": _check_outside,
    "nearest_in_blocks": _check_sought,
    "lightest_between": _check_fragments,
}
