"""The steps of a pipeline: stages, loops and conditions, and functions over sequences of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import PipelineError
from ..stages import Stage


@dataclass(frozen=True, eq=False)
class Compound:
    """Steps that run depending on the verdict of a stage."""

    #: Writes one verdict; it runs before each pass, including the first.
    verdict: Stage
    steps: tuple[Step, ...]

    #: The word before the name of the verdict in tables and pictures.
    keyword = ""


Step = Stage | Compound


class Loop(Compound):
    """Steps repeated until a stage's verdict is true.

    Parameters
    ----------
    *steps : Stage, Loop or When
        The body.
    until : Stage
        Writes one verdict, before each pass; True ends the loop.
    """

    keyword = "until"

    def __init__(self, *steps: Step, until: Stage) -> None:
        super().__init__(until, steps)


class When(Compound):
    """Steps that run once if a stage's verdict is true.

    Parameters
    ----------
    condition : Stage
        Writes one verdict.
    *steps : Stage, Loop or When
        The body.
    """

    keyword = "when"

    def __init__(self, condition: Stage, *steps: Step) -> None:
        super().__init__(condition, steps)


def stages_of(steps: Iterable[Step]) -> Iterator[Stage]:
    """Yield the stages in order; the body of a loop or condition follows its verdict."""
    for step in steps:
        if isinstance(step, Compound):
            yield step.verdict
            yield from stages_of(step.steps)
        else:
            yield step


def edit_steps(
    steps: Iterable[Step], name: str, change: Callable[[Stage], Sequence[Step]]
) -> Iterator[Step]:
    """Yield the steps, with those that `change` returns in place of every stage called `name`."""
    for step in steps:
        if isinstance(step, Stage):
            yield from change(step) if step.name == name else (step,)
            continue
        verdict = change(step.verdict) if step.verdict.name == name else (step.verdict,)
        if len(verdict) != 1 or not isinstance(verdict[0], Stage):
            raise PipelineError(f"stage {name!r} writes a verdict; it can be replaced by one stage")
        body = edit_steps(step.steps, name, change)
        yield Loop(*body, until=verdict[0]) if isinstance(step, Loop) else When(verdict[0], *body)


def walk(
    steps: tuple[Step, ...], after: frozenset[str], decide: Callable[[Compound], Any]
) -> Iterator[tuple[Stage, frozenset[str]]]:
    """Yield the stages in the order in which they run, and the fields needed before each of them.

    The fields `after` are needed after the steps. When the stage that writes the verdict of a loop
    or condition has run, `decide` returns this verdict.
    """
    for position, step in enumerate(steps):
        needed = needed_before(steps[position:], after)
        if isinstance(step, Stage):
            yield step, needed
            continue
        yield step.verdict, needed
        if isinstance(step, Loop):
            while not _as_bool(step, decide(step)):
                yield from walk(step.steps, needed, decide)
                yield step.verdict, needed
        elif _as_bool(step, decide(step)):
            yield from walk(step.steps, needed_before(steps[position + 1 :], after), decide)


def _as_bool(step: Compound, verdict: Any) -> bool:
    if not isinstance(verdict, bool):
        raise PipelineError(f"{step.verdict.title}: gave verdict {verdict!r}, not a bool")
    return verdict


@lru_cache(maxsize=512)
def needed_before(steps: tuple[Step, ...], after: frozenset[str]) -> frozenset[str]:
    """Return the fields that are needed before `steps`, if `after` are needed after them."""
    needed = after
    for step in reversed(steps):
        if not isinstance(step, Stage):  # the body may run or not
            needed = needed.union(needed_before(step.steps, frozenset()))
            step = step.verdict
        replaced = {name for name, field in step.writes.items() if field.kind != "chosen"}
        needed = needed.difference(replaced).union(step.reads, step.combiner_reads)
    return needed
