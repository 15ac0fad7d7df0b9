"""The steps of a pipeline: stages, and loops of steps; how they are walked and edited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import PipelineError
from ..stages import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(frozen=True, init=False, eq=False)
class Loop:
    """Steps repeated until a stage says stop; it is asked before each pass, also the first.

    Parameters
    ----------
    *steps : Stage or Loop
        The body.
    until : Stage
        Writes one verdict: True ends the loop.
    """

    steps: tuple[Stage | Loop, ...]
    until: Stage

    def __init__(self, *steps: Stage | Loop, until: Stage) -> None:
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "until", until)


def check_steps(steps: Iterable[Any], pipeline: str) -> None:
    """Refuse what is neither a stage nor a loop of them.

    Raises
    ------
    PipelineError
        Naming the pipeline and the step.
    """
    for step in steps:
        if isinstance(step, Loop):
            check_steps((*step.steps, step.until), pipeline)
        elif not isinstance(step, Stage):
            message = (
                f"pipeline {pipeline!r}: {step!r} is neither a stage nor a Loop; "
                "declare functions with @stage"
            )
            raise PipelineError(message)


def stages_of(steps: Iterable[Stage | Loop]) -> Iterator[Stage]:
    """Yield the stages as they stand, those of a loop after the one that ends it."""
    for step in steps:
        if isinstance(step, Loop):
            yield step.until
            yield from stages_of(step.steps)
        else:
            yield step


def edited(
    steps: Iterable[Stage | Loop],
    name: str,
    change: Callable[[Stage], Sequence[Stage | Loop]],
) -> Iterator[Stage | Loop]:
    """Yield the steps, with those that `change` gives in place of every stage called `name`."""
    for step in steps:
        if isinstance(step, Loop):
            until = change(step.until) if step.until.name == name else (step.until,)
            if len(until) != 1 or isinstance(until[0], Loop):
                message = f"stage {name!r} ends a loop: it can only be replaced, by one stage"
                raise PipelineError(message)
            yield Loop(*edited(step.steps, name, change), until=until[0])
        else:
            yield from change(step) if step.name == name else (step,)
