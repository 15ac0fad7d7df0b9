"""The order of a run: its stages, the fields that must exist before each, and merge trees."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...errors import PipelineError
from ...stages import Stage
from ..steps import Loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..steps import Compound, Step


def walk(
    steps: tuple[Step, ...], after: frozenset[str], decide: Callable[[Compound], Any]
) -> Iterator[tuple[Stage, frozenset[str]]]:
    """Yield the stages in the order of their run, each with the fields that must exist before it.

    Parameters
    ----------
    after : frozenset of str
        The fields that must exist after the steps.
    decide : callable
        Returns the verdict of a loop or a condition, after the stage that writes it has run.

    Raises
    ------
    PipelineError
        If a verdict is not a bool: a loop might never end.
    """
    for position, step in enumerate(steps):
        needed = needed_before(steps[position:], after)
        if isinstance(step, Stage):
            yield step, needed
            continue
        yield step.verdict, needed
        if isinstance(step, Loop):
            while not _checked(step, decide(step)):
                yield from walk(step.steps, needed, decide)
                yield step.verdict, needed
        elif _checked(step, decide(step)):
            yield from walk(step.steps, needed_before(steps[position + 1 :], after), decide)


def _checked(step: Compound, verdict: Any) -> bool:
    if not isinstance(verdict, bool):
        message = f"stage {step.verdict.name!r}: gave {verdict!r} as a verdict, not a bool"
        raise PipelineError(message)
    return verdict


@lru_cache(maxsize=512)
def needed_before(steps: tuple[Step, ...], after: frozenset[str]) -> frozenset[str]:
    """Return the fields that must exist before `steps`, if `after` must exist after them."""
    needed = after
    for step in reversed(steps):
        if not isinstance(step, Stage):  # the body may run or not
            needed = needed.union(needed_before(step.steps, frozenset()))
            step = step.verdict
        replaced = {name for name, field in step.writes.items() if field.kind != "chosen"}
        needed = needed.difference(replaced).union(step.reads, step.combiner_reads)
    return needed


def joins_after(
    leaf: int, leaves: int, split_every: int, combines: bool = True
) -> Iterator[tuple[int, int, int]]:
    """Yield the joins of a merge tree that follow a leaf: level, number in the level, and size.

    Leaves arrive in order. Each join replaces the latest results by one result, so at most
    `split_every` - 1 results of each level exist at a time.
    """
    if not combines:
        return
    level, size = 1, split_every
    while (leaf + 1) % size == 0:
        yield level, leaf // size, split_every
        level, size = level + 1, size * split_every
    if leaf + 1 < leaves:
        return
    level, rest, waiting = 1, leaves, 0
    while rest:  # join the remaining results of each level with those of the levels below
        rest, left = divmod(rest, split_every)
        waiting += left
        if waiting > 1:
            yield level, rest, waiting
            waiting = 1
        level += 1
