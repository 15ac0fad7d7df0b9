"""The steps of a pipeline: stages, loops and conditions; how they are walked and edited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import PipelineError
from ..stages import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(frozen=True, init=False, eq=False)
class Compound:
    """Steps that run depending on a stage's verdict.

    Attributes
    ----------
    verdict : Stage
        Writes one verdict; it is asked before each pass, including the first.
    steps : tuple of Stage, Loop or When
        The body.
    """

    verdict: Stage
    steps: tuple[Step, ...]

    #: How the verdict is introduced in pictures.
    sign = ""


#: What a pipeline is made of.
Step = Stage | Compound


class Loop(Compound):
    """Steps repeated until a stage's verdict is true.

    Parameters
    ----------
    *steps : Stage, Loop or When
        The body.
    until : Stage
        Writes one verdict: True ends the loop.
    """

    sign = "until"

    def __init__(self, *steps: Step, until: Stage) -> None:
        object.__setattr__(self, "verdict", until)
        object.__setattr__(self, "steps", steps)


class When(Compound):
    """Steps that run once if a stage's verdict is true.

    Parameters
    ----------
    condition : Stage
        Writes one verdict.
    *steps : Stage, Loop or When
        The body.
    """

    sign = "when"

    def __init__(self, condition: Stage, *steps: Step) -> None:
        object.__setattr__(self, "verdict", condition)
        object.__setattr__(self, "steps", steps)


def check_steps(steps: Iterable[Any], pipeline: str) -> None:
    """Refuse anything but stages, loops and conditions.

    Raises
    ------
    PipelineError
        Naming the pipeline and the step.
    """
    for step in steps:
        if isinstance(step, Compound):
            check_steps((*step.steps, step.verdict), pipeline)
        elif not isinstance(step, Stage):
            message = (
                f"pipeline {pipeline!r}: {step!r} is neither a stage nor a Loop nor a When; "
                "declare functions with @stage"
            )
            raise PipelineError(message)


def stages_of(steps: Iterable[Step]) -> Iterator[Stage]:
    """Yield the stages in order; those of a block follow its verdict."""
    for step in steps:
        if isinstance(step, Compound):
            yield step.verdict
            yield from stages_of(step.steps)
        else:
            yield step


def edited(
    steps: Iterable[Step], name: str, change: Callable[[Stage], Sequence[Step]]
) -> Iterator[Step]:
    """Yield the steps, with those that `change` gives in place of every stage called `name`."""
    for step in steps:
        if isinstance(step, Stage):
            yield from change(step) if step.name == name else (step,)
            continue
        verdict = change(step.verdict) if step.verdict.name == name else (step.verdict,)
        if len(verdict) != 1 or not isinstance(verdict[0], Stage):
            message = f"stage {name!r} gives a verdict: it can only be replaced, by one stage"
            raise PipelineError(message)
        body = edited(step.steps, name, change)
        yield Loop(*body, until=verdict[0]) if isinstance(step, Loop) else When(verdict[0], *body)
