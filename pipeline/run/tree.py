"""Reduction by a tree of tasks: neighbours are joined as soon as there are enough of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def reduce_tree(
    leaves: Iterable[Any], split_every: int, join: Callable[[int, int, list[Any]], Any]
) -> Any:
    """Join `split_every` neighbours at a time, level by level, and return the last result.

    Leaves are taken one after another, and few results wait: `split_every` - 1 at each level.

    Parameters
    ----------
    leaves : iterable of handles
        At least one.
    split_every : int
    join : callable
        Called with the level, from 1 on, the place in the level, and the results to join, in order.
    """
    waiting: list[list[Any]] = []
    joined: list[int] = []
    for result in leaves:
        level = 0
        while True:
            if level == len(waiting):
                waiting.append([])
                joined.append(0)
            waiting[level].append(result)
            del result  # or it would outlive its joining
            if len(waiting[level]) < split_every:
                break
            group, waiting[level] = waiting[level], []
            result = join(level + 1, joined[level], group)
            joined[level] += 1
            level += 1
            del group
    rest: list[Any] = []
    for level, group in enumerate(waiting):
        rest = [*group, *rest]
        if len(rest) > 1:
            rest = [join(level + 1, joined[level], rest)]
    (root,) = rest
    return root
