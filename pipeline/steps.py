"""The steps of a pipeline: stages, loops, conditions and pipelines; functions over their sequences.

A pipeline within another follows from one mechanism, the renaming of fields. All fields that its
steps write get names of its own, so no other step can read or overwrite them. Entering it binds the
fields that it reads to these names, and leaving it binds its results to fields of the outer
pipeline. A binding is not a task and copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from ..errors import PipelineError
from ..stages import Stage
from ..stages.declare import rename
from ..stages.fields import CHOSEN, Field

#: The default bound on the rounds of a loop, and the bound on the depth of a recursion.
MOST_ROUNDS, MOST_LEVELS = 10_000, 64
#: The type of edge ids that stages add to the forest.
ADDED = Field(CHOSEN)


@dataclass(frozen=True, eq=False)
class Compound:
    """Steps that run depending on the verdict of a stage."""

    #: Writes one verdict; it runs before each pass, including the first.
    verdict: Stage
    steps: tuple[Step, ...]
    #: A run that needs more passes fails.
    rounds: int = MOST_ROUNDS

    #: The word before the name of the verdict in tables and pictures.
    keyword = ""


class Loop(Compound):
    """Steps repeated until a stage's verdict is true.

    Parameters
    ----------
    *steps : Stage, Loop, When, Pipeline or Recurse
        The body.
    until : Stage
        Writes one verdict, before each pass; True ends the loop.
    rounds : int
        A run that needs more passes fails.
    """

    keyword = "until"

    def __init__(self, *steps: Any, until: Stage, rounds: int = MOST_ROUNDS) -> None:
        super().__init__(until, as_steps(steps), rounds)


class When(Compound):
    """Steps that run once if a stage's verdict is true.

    Parameters
    ----------
    condition : Stage
        Writes one verdict.
    *steps : Stage, Loop, When, Pipeline or Recurse
        The body.
    """

    keyword = "when"

    def __init__(self, condition: Stage, *steps: Any) -> None:
        super().__init__(condition, as_steps(steps))


class Recurse:
    """The pipeline that contains this step, run on other fields.

    A loop or a condition around it, or before it, must end the recursion.

    Parameters
    ----------
    **names : str
        Fields of the containing pipeline, by the names that the steps use, as for
        `Pipeline.renamed`: ``Recurse(edges="sample", forest="sample_forest")``.
    """

    def __init__(self, **names: str) -> None:
        self.names = names
        #: The result whose edge ids are added to those of the containing pipeline, if any is.
        self.adds = "forest" if names.get("forest", "forest") == "forest" else ""

    def renamed(self, names: Mapping[str, str]) -> Recurse:
        """Return the step for a pipeline with other fields."""
        copy = Recurse(**{names.get(a, a): names.get(b, b) for a, b in self.names.items()})
        copy.adds = names.get(self.adds, self.adds)
        return copy


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps in order, from which a `Dataflow` is derived; see `Pipeline` for the attributes."""

    name: str
    steps: tuple[Step, ...]
    result: tuple[str, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Binding:
    """Fields that get further names when a run enters or leaves a pipeline within another."""

    #: The inner pipeline as errors name it.
    title: str
    #: The new name of each field.
    names: Mapping[str, str]
    #: Fields of edge ids that start empty.
    new: tuple[str, ...] = ()
    #: The new name of edge ids that are added to those of this name; others are replaced.
    added: str = ""


@dataclass(frozen=True, eq=False)
class Nested:
    """A pipeline as a step of another one."""

    pipeline: Steps
    #: The initial fields that it reads, and the lengths of axes.
    inputs: frozenset[str]
    #: The fields that its steps write.
    types: Mapping[str, Field]
    #: The names of inputs and results in the outer pipeline, where they differ.
    outer: Mapping[str, str]
    #: Precedes the names of the fields that its steps write.
    prefix: str
    #: The result whose edge ids are added to those of the outer pipeline; empty for none.
    adds: str
    #: Whether the pipeline contains this step.
    is_recursive: bool = False

    @classmethod
    def of(cls, pipeline: Steps, outer: Mapping[str, str] | None = None) -> Nested:
        """Return a pipeline as a step."""
        types = written(pipeline.steps)
        inputs = _inputs(pipeline.steps, pipeline.result, types)
        adds = "forest" if "forest" in pipeline.result else ""
        return cls(pipeline, inputs, types, outer or {}, f"{pipeline.name}.", adds)

    def renamed(self, names: Mapping[str, str], prefix: str = "") -> Nested:
        """Return the step with other outer fields, and a longer prefix."""
        axes = (field.axis for field in self.types.values())
        outer = {
            name: names.get(self.outer.get(name, name), self.outer.get(name, name))
            for name in (*self.inputs, *self.pipeline.result, *axes)
        }
        return replace(self, outer=outer, prefix=prefix + self.prefix)

    @property
    def values(self) -> dict[str, Any]:
        """The values of the inner pipeline, which become those of the outer one."""
        values = self.pipeline.values
        return {self.outer.get(name, name): value for name, value in values.items()}

    @property
    def depth(self) -> int:
        """The number of pipelines of this name around its steps, itself included."""
        return f".{self.prefix}".count(f".{self.pipeline.name}.")

    @cached_property
    def title(self) -> str:
        """The inner pipeline as errors name it."""
        return f"pipeline {self.pipeline.name!r}"

    @cached_property
    def reads(self) -> frozenset[str]:
        """The fields of the outer pipeline that it reads."""
        return frozenset(self.outer.get(name, name) for name in self.inputs)

    @cached_property
    def writes(self) -> dict[str, Field]:
        """The fields of the outer pipeline that it writes."""
        results = [name for name in self.pipeline.result if name in self.types]
        found = {self.outer.get(name, name): self.types[name] for name in results}
        return found | ({self.added: ADDED} if self.added in found else {})

    @property
    def added(self) -> str:
        """The field of the outer pipeline to which edge ids are added."""
        return self.outer.get(self.adds, self.adds)

    @cached_property
    def body(self) -> tuple[Step, ...]:
        """The steps with other fields, between two bindings."""
        own = {name: self.prefix + name for name in self.types}
        names = {**self.outer, **own}
        taken = {self.outer.get(name, name): own[name] for name in own if name in self.inputs}
        new = (own[name] for name, field in self.types.items() if field.is_chosen)
        given = {
            own[name]: self.outer.get(name, name) for name in self.pipeline.result if name in own
        }
        return (
            Binding(self.title, taken, tuple(new)),
            *edit(self.pipeline.steps, lambda step: (renamed(step, names, self.prefix),)),
            Binding(self.title, given, added=self.added),
        )


Step = Stage | Compound | Nested | Recurse | Binding


def as_steps(steps: Iterable[Any]) -> tuple[Step, ...]:
    """Return steps with each pipeline as a `Nested` step."""
    return tuple(Nested.of(step) if isinstance(step, Steps) else step for step in steps)


def resolved(pipeline: Steps, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return steps with each `Recurse` as a `Nested` step that contains the pipeline itself."""
    found = [step for step in leaves_of(steps) if isinstance(step, Recurse)]
    types, result, prefix = written(steps), pipeline.result, f"{pipeline.name}."
    for step in found:
        types |= {step.names.get(name, name): types[name] for name in result if name in types}
    inputs: frozenset[str] | None = None
    while found and inputs != (read := _inputs(steps, result, types)):
        inputs = read  # what it reads within itself may add to what it reads
        steps = tuple(edit(steps, lambda step: (_within(step, pipeline, read, types, prefix),)))
    return steps


def _within(
    step: Any, pipeline: Steps, inputs: frozenset[str], types: Mapping[str, Field], prefix: str
) -> Step:
    if isinstance(step, Recurse):
        return Nested(pipeline, inputs, types, step.names, prefix, step.adds, is_recursive=True)
    if isinstance(step, Nested) and step.is_recursive:
        return replace(step, inputs=inputs)
    return step  # type: ignore[no-any-return]


def unresolved(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps with `Recurse` again; see `resolved`."""

    def change(step: Any) -> tuple[Step]:
        if not (isinstance(step, Nested) and step.is_recursive):
            return (step,)
        again = Recurse(**step.outer)
        again.adds = step.adds
        return (again,)

    return edit(steps, change)


def renamed(step: Any, names: Mapping[str, str], prefix: str = "") -> Any:
    """Return a step that is not a loop or condition with other fields."""
    if isinstance(step, Nested):
        return step.renamed(names, prefix)
    if isinstance(step, Recurse):
        return step.renamed(names)
    return rename(step, names)


def written(steps: Iterable[Step]) -> dict[str, Field]:
    """Return the fields that steps write, with the type that the last writer declares."""
    found: dict[str, Field] = {}
    for step in leaves_of(steps):
        found |= step.writes if isinstance(step, Stage | Nested) else {}
    return found


def _inputs(
    steps: tuple[Step, ...], result: Sequence[str], types: Mapping[str, Field]
) -> frozenset[str]:
    """Return the initial fields that steps read; edge ids that they write start empty."""
    needed = needed_before(steps, frozenset(result))
    return frozenset(n for n in needed if n not in types or not types[n].is_chosen)


def leaves_of(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps that are not loops or conditions, and the stages that write verdicts."""
    for step in steps:
        if isinstance(step, Compound):
            yield step.verdict
            yield from leaves_of(step.steps)
        else:
            yield step


def names_read(steps: Iterable[Step]) -> Iterator[str]:
    """Yield the names of the fields that steps read, also those of combinations."""
    for step in leaves_of(steps):
        if isinstance(step, Stage):
            yield from (*step.reads, *step.combiner_reads)
        elif isinstance(step, Nested):
            yield from step.reads if step.is_recursive else names_read(step.body)
        elif isinstance(step, Binding):
            yield from step.names


def compounds_of(steps: Iterable[Step]) -> Iterator[Compound]:
    """Yield the loops and conditions, also those within other steps."""
    for step in steps:
        if isinstance(step, Compound):
            yield step
            yield from compounds_of(step.steps)
        elif isinstance(step, Nested) and not step.is_recursive:
            yield from compounds_of(step.body)


def stages_of(steps: Iterable[Step]) -> Iterator[Stage]:
    """Yield the stages in order; the body of a loop or condition follows its verdict.

    A pipeline that contains itself is yielded once.
    """
    for step in leaves_of(steps):
        if isinstance(step, Nested):
            yield from () if step.is_recursive else stages_of(step.body)
        elif not isinstance(step, Binding | Recurse):
            yield step  # type: ignore[misc]  # others are refused by the caller


def edit(steps: Iterable[Step], change: Callable[[Any], Sequence[Step]]) -> Iterator[Step]:
    """Yield the steps, with those that `change` returns in place of each.

    It is called for each step that is not a loop or condition, and for stages that write verdicts.
    """
    for step in steps:
        if not isinstance(step, Compound):
            yield from change(step)
            continue
        verdict = change(step.verdict)
        if len(verdict) != 1 or not isinstance(verdict[0], Stage):
            problem = "writes a verdict; it can be replaced by one stage"
            raise PipelineError(f"{step.verdict.title} {problem}")
        body = tuple(edit(step.steps, change))
        if isinstance(step, Loop):
            yield Loop(*body, until=verdict[0], rounds=step.rounds)
        else:
            yield When(verdict[0], *body)


def walk(
    steps: tuple[Step, ...], after: frozenset[str], decide: Callable[[Compound, int], bool]
) -> Iterator[tuple[Stage | Binding, frozenset[str]]]:
    """Yield the stages in the order in which they run, and the fields needed before each of them.

    The fields `after` are needed after the steps. When the stage that writes the verdict of a loop
    or condition has run, `decide` returns this verdict; it gets the number of passes so far.
    """
    for position, step in enumerate(steps):
        needed = needed_before(steps[position:], after)
        if isinstance(step, Stage | Binding):
            yield step, needed
        elif isinstance(step, Nested):
            if step.depth > MOST_LEVELS:
                raise PipelineError(f"{step.title}: contains itself {MOST_LEVELS} times")
            yield from walk(step.body, needed_before(steps[position + 1 :], after), decide)
        elif isinstance(step, Loop):
            yield step.verdict, needed
            passes = 0
            while not decide(step, passes):
                yield from walk(step.steps, needed, decide)
                yield step.verdict, needed
                passes += 1
        elif isinstance(step, When):
            yield step.verdict, needed
            if decide(step, 0):
                yield from walk(step.steps, needed_before(steps[position + 1 :], after), decide)


@lru_cache(maxsize=512)
def needed_before(steps: tuple[Step, ...], after: frozenset[str]) -> frozenset[str]:
    """Return the fields that are needed before `steps`, if `after` are needed after them."""
    needed = after
    for step in reversed(steps):
        if isinstance(step, Compound):  # the body may run or not
            needed = needed.union(needed_before(step.steps, frozenset()))
            step = step.verdict
        if isinstance(step, Binding):
            kept = needed & {step.added}
            needed = needed.difference(step.names.values(), step.new).union(kept, step.names)
        elif isinstance(step, Stage | Nested):
            read = step.combiner_reads if isinstance(step, Stage) else ()
            replaced = {
                name
                for name, field in step.writes.items()
                if not field.is_chosen or (isinstance(step, Nested) and name != step.added)
            }
            needed = needed.difference(replaced).union(step.reads, read)
    return needed
