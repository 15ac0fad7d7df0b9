"""Reduction by a tree of tasks: neighbours are joined as soon as there are enough of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def reduce_tree(
    leaves: Iterable[Any], split_every: int, join: Callable[[int, list[Any]], Any]
) -> Any:
    """Return what is left when `split_every` neighbours at a time have been joined.

    Leaves are taken one after another, and few results wait: `split_every` - 1 at each level.

    Parameters
    ----------
    leaves : iterable of handles
        At least one.
    split_every : int
    join : callable
        Told the level, from 1 on, and the results to join, in order.
    """
    waiting: list[list[Any]] = []
    for result in leaves:
        level = 0
        while True:
            if level == len(waiting):
                waiting.append([])
            waiting[level].append(result)
            del result  # or it would outlive its joining
            if len(waiting[level]) < split_every:
                break
            group, waiting[level] = waiting[level], []
            level += 1
            result = join(level, group)
            del group
    rest: list[Any] = []
    for level, group in enumerate(waiting):
        rest = [*group, *rest]
        if len(rest) > 1:
            rest = [join(level + 1, rest)]
    (root,) = rest
    return root
