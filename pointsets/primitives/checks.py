"""The checks of the arguments of the primitives for points; see `testing.checked`."""

from __future__ import annotations

from typing import Any

from ...testing.checked import check, of_kinds, same_length, unless, valid_pairs, valid_places
from .searches import PADDING, Tree


@check("count_equal", "bound_nodes")
def _points(points: Any, *_: Any) -> str:
    problem = valid_places("ids", points.ids, points.num_ids)
    problem = problem or of_kinds("coordinates", points.coordinates, "f", "floats")
    count = len(points.coordinates)
    wanted = len(points.ids) * points.num_axes + PADDING * isinstance(points, Tree)
    return problem or unless(count == wanted, f"coordinates have length {count}, not {wanted}")


@check("point_distances")
def _point_distances(points: Any, u: Any, v: Any) -> str:
    return _points(points) or valid_pairs(u, v, len(points.ids))


@check("build_tree")
def _build_tree(points: Any, depth: int, search_axes: int = 0) -> str:
    is_right = depth == 0 or (depth > 0 and 2**depth <= len(points.ids))
    message = f"depth is {depth}, but {len(points.ids)} points allow no 2**depth leaves"
    return _points(points) or unless(is_right, message)


@check("nearest_neighbors")
def _neighbors(tree: Any, boxes: Any, k: int, rank: int) -> str:
    count = len(tree.ids)
    is_right = 1 <= k < count and 0 <= rank <= k
    message = f"expected 1 <= k < {count} and 0 <= rank <= k, got k = {k} and rank = {rank}"
    return _points(tree) or unless(is_right, message)


@check("lightest_between")
def _fragments(points: Any, core: Any, fragment: Any, count: int) -> str:
    problem = _points(points) or valid_places("fragment", fragment, count)
    return problem or same_length(ids=points.ids, core=core, fragment=fragment)


@check("nearest_outside")
def _outside(
    tree: Any, boxes: Any, core: Any, reach: Any, neighbor: Any, fragment: Any, count: int,
    nearest: Any, bound: Any,
) -> str:  # fmt: skip
    problem = _fragments(tree, core, fragment, count)
    problem = problem or same_length(fragment=fragment, reach=reach, nearest=nearest, bound=bound)
    problem = problem or valid_places("neighbor", neighbor, len(fragment))
    return problem or valid_places("nearest", nearest, len(fragment) + 1)


@check("nearest_in_blocks")
def _sought(points: Any, core: Any, fragment: Any, sought: Any, k: int) -> str:
    problem = _fragments(points, core, fragment, len(fragment))
    problem = problem or valid_places("sought", sought, len(fragment))
    is_right = k >= 1 and not bool((sought[1:] <= sought[:-1]).any())
    return problem or unless(is_right, "sought must ascend, and k must be at least 1")
