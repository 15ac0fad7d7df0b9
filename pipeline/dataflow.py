"""The dataflow: a sequence of steps that can be checked, described and drawn.

A check follows the steps in order, and updates the `FieldState` of every field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import OptionError, PipelineError
from ..plugins import wing
from ..stages import Stage
from ..stages.declare import similar
from ..stages.fields import ANYTHING, INDEX, VERDICT, Columns, Edges, Field, field_of
from .describe import as_text
from .steps import (
    ADDED,
    Binding,
    Loop,
    Nested,
    Recurse,
    Step,
    Steps,
    compounds_of,
    names_read,
    needed_before,
    stages_of,
    written,
)

_VERDICT = Field(VERDICT)
#: The types of edges, which a stage must state.
_EDGES = field_of(Edges), field_of(Columns)
#: Fields that runs read besides the result of a pipeline. Wings add those of their runs.
READ_BY_RUNS: set[str] = set()


@dataclass(frozen=True)
class FieldState:
    """The declared properties of a field between two steps."""

    field: Field
    #: Whether each partition has its own value.
    in_partitions: bool = False
    #: Why the field no longer exists; empty if it exists.
    lost: str = ""
    #: The function whose graphs have this initial field; empty if every graph has it.
    only_of: str = ""


@dataclass(frozen=True)
class ByBackend:
    """A tuning value per backend; it affects speed, never the result.

    Attributes
    ----------
    value : object
        The default.
    on : dict
        Values by name of backend.
    """

    value: Any
    on: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Dataflow(Steps):
    """A sequence of steps, with its initial fields and its results.

    Attributes
    ----------
    inputs : dict of str to FieldState
        The initial fields that a run provides.
    name, steps, result, summary, values, footprint
        As for `Pipeline`.
    """

    inputs: Mapping[str, FieldState]
    summary: str
    footprint: float = 1.0

    def __post_init__(self) -> None:
        for step in self.stages():
            if not isinstance(step, Stage):
                raise PipelineError(
                    f"pipeline {self.name!r}: {step!r} is not a stage, Loop, When or pipeline; "
                    "decorate functions with @mstflow.stage"
                )

    def check(self) -> None:
        """Check that the steps fit together, and that each stage has an effect.

        A stage has an effect if the result, a report or another stage reads one of the fields that
        it writes. `Pipeline.run` checks only `check_reads`, because it may return other fields.

        Raises
        ------
        PipelineError
            If the steps do not fit together, or a stage has no effect. Names the stage and the
            field, and the most similar field that is read.
        """
        self.check_reads()
        return self._has_effects

    def check_reads(self) -> None:
        """Check that the steps fit together; every run calls this first.

        The body of a loop is checked twice, because a second pass reads fields of the first.

        Raises
        ------
        PipelineError
            If a stage reads a field that does not exist, or that has another axis or kind than the
            stage declares. A vertex-wise field no longer exists after the vertices have changed.
            After a stage that writes ``edges``, later stages must not read only ``columns``: they
            would ignore the change. Names the stage and the field.
        """
        self._checked  # noqa: B018

    @cached_property
    def _has_effects(self) -> None:
        after = self._checked
        verdicts = {name for step in compounds_of(self.steps) for name in step.verdict.writes}
        read = {*self.fields_read, *self.result, *verdicts, *READ_BY_RUNS}
        records = {
            name
            for stage in self.stages()
            for name, field in stage.reads.items()
            if field in _EDGES
        }
        for stage in self.stages():
            for name, field in stage.writes.items():
                if field == ANYTHING and name in records:
                    problem = f"writes {name!r} without a type; annotate what it returns"
                    raise PipelineError(f"{stage.title}: {problem}, as in -> Edges")
            split = [name for name in stage.writes if name in after and after[name].in_partitions]
            counts = [name for name, field in stage.writes.items() if field.is_reported]
            if read.isdisjoint(stage.writes) and (split or not counts):
                name = next(iter(stage.writes))
                hint = "; a report needs combine=" if split and counts else similar(name, read)
                raise PipelineError(f"{stage.title}: writes {name!r}, which nothing reads{hint}")

    @cached_property
    def _checked(self) -> dict[str, FieldState]:
        known = {**dict.fromkeys(self.values, FieldState(ANYTHING)), **self.inputs}
        after = reduce(_fields_after, self.steps, known)
        for field in self.result:
            _find(after, field, f"pipeline {self.name!r}: its result")
        for position, step in enumerate(self.steps, 1):
            if not isinstance(step, Stage) or "edges" not in step.writes:
                continue
            needed = needed_before(self.steps[position:], frozenset(self.result))
            if "columns" in needed and "edges" not in needed:
                problem = "writes 'edges', but later stages read only 'columns'"
                raise PipelineError(f"{step.title}: {problem}")
        return after

    @cached_property
    def moves_edges(self) -> bool:
        """Whether a stage writes the edges or fragments, as the rounds of an algorithm do."""
        return any(
            {"columns", "edges", "fragment"} & stage.writes.keys() for stage in self.stages()
        )

    @cached_property
    def fields_read(self) -> frozenset[str]:
        """The names of all fields that a step reads."""
        return frozenset(names_read(self.steps))

    @cached_property
    def fields_written(self) -> dict[str, Field]:
        """The fields that the steps write, with the type that the last writer declares."""
        return written(self.steps)

    def values_on(self, backend: str) -> dict[str, Any]:
        """Return the values for a backend."""
        return {
            name: value.on.get(backend, value.value) if isinstance(value, ByBackend) else value
            for name, value in self.values.items()
        }

    def stages(self) -> Iterator[Stage]:
        """Yield the stages in order; the body of a loop or condition follows its verdict."""
        return stages_of(self.steps)

    def describe(self) -> str:
        """Return a table of the steps: the fields they read and write, and where they run."""
        title = f"{self.name}: {self.summary}" if self.summary else self.name
        return as_text(title, self.steps, self._in_partitions, self.result)

    def draw(self, path: str | PathLike[str] | None = None) -> str:
        """Return the data flow as SVG; also write it to the .svg file `path` if given."""
        if path is not None and Path(path).suffix.lower() != ".svg":
            raise OptionError(f"{path}: a drawing is SVG; choose a name that ends with .svg")
        initial = [name for name in (*self.inputs, *self.values) if name in self.fields_read]
        picture: str = wing("interop").draw_steps(
            self.name, self.steps, self._in_partitions, initial
        )
        if path is not None:
            Path(path).write_text(picture, encoding="utf-8")
        return picture

    @property
    def _in_partitions(self) -> frozenset[str]:
        return frozenset(name for name, state in self.inputs.items() if state.in_partitions)

    def _repr_svg_(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        return f"<pipeline {self.name}: {' -> '.join(stage.name for stage in self.stages())}>"


def _fields_after(known: dict[str, FieldState], step: Step) -> dict[str, FieldState]:
    """Return the properties of all fields after a step, from those before it."""
    if isinstance(step, Stage):
        return _fields_after_stage(step, known)
    if isinstance(step, Binding):
        return _fields_after_binding(step, known)
    if isinstance(step, Nested):
        return _fields_after_pipeline(step, known)
    if isinstance(step, Recurse):
        raise PipelineError("Recurse is a step of a Pipeline; a Dataflow cannot contain it")
    verdict = step.verdict
    skipped = entered = _fields_after_stage(verdict, known)
    written = [skipped[name] for name in verdict.writes]
    if len(written) != 1 or written[0].in_partitions or not _VERDICT.accepts(written[0].field):
        raise PipelineError(
            f"{verdict.title}: it decides a {type(step).__name__}, so it must write one verdict "
            "for all partitions"
        )
    for _ in range(2 if isinstance(step, Loop) else 1):
        entered = reduce(_fields_after, step.steps, entered)
        if isinstance(step, Loop):
            entered = _fields_after_stage(verdict, entered)
    return {name: _merge_states(skipped.get(name), state) for name, state in entered.items()}


def _merge_states(skipped: FieldState | None, entered: FieldState) -> FieldState:
    """Return the properties of a field after steps that may be skipped."""
    where = "a loop or condition, which may not run"
    if skipped is None:
        return replace(entered, lost=f"written only inside {where}")
    if entered.lost or skipped.lost:
        return entered if entered.lost else skipped
    return entered if entered == skipped else replace(entered, lost=f"changed in kind by {where}")


def _fields_after_stage(stage: Stage, known: dict[str, FieldState]) -> dict[str, FieldState]:
    in_partitions = _check_reads(stage, known)
    if stage.is_exchange and not in_partitions:
        raise PipelineError(f"{stage.title}: only partitions exchange values; it reads none")
    in_partitions = in_partitions and not stage.is_combined
    _check_chosen(stage, known, in_partitions=in_partitions)
    after = dict(known)
    _lose_along(stage.writes, repr(stage.name), after)
    return after | {name: FieldState(field, in_partitions) for name, field in stage.writes.items()}


def _fields_after_pipeline(step: Nested, known: dict[str, FieldState]) -> dict[str, FieldState]:
    """Check a pipeline within another; a recursion is checked to the second level."""
    if step.is_recursive and step.depth > 2:
        for name in step.reads:
            _find(known, name, step.title)
        return known | {name: FieldState(field) for name, field in step.writes.items()}
    after = reduce(_fields_after, step.body, known)
    return {name: state for name, state in after.items() if not name.startswith(step.prefix)}


def _fields_after_binding(step: Binding, known: dict[str, FieldState]) -> dict[str, FieldState]:
    after = known | dict.fromkeys(step.new, FieldState(ADDED))
    _lose_along(step.names.values(), step.title, after)
    for old, new in step.names.items():
        found = _find(known, old, step.title)
        is_added = new == step.added
        if is_added and not (found.field.is_chosen or found.field.kind == INDEX):
            raise PipelineError(f"{step.title}: its forest is {found.field}, not ids of edges")
        field = ADDED if is_added else found.field.renamed(step.names)
        after[new] = replace(found, field=field)
    return after


def _lose_along(written: Iterable[str], writer: str, states: dict[str, FieldState]) -> None:
    """Mark the fields along an axis as lost if the length of the axis is written."""
    names = {*written}
    for name, state in states.items():
        if state.field.axis in names:
            lost = f"lost when {writer} changed the {state.field.axis.removeprefix('num_')}"
            states[name] = replace(state, lost=state.lost or lost)


def _check_reads(stage: Stage, known: dict[str, FieldState]) -> bool:
    """Check the fields that a stage reads; return whether any of them is in partitions."""
    in_partitions = False
    for name, wanted in stage.reads.items():
        found = _find(known, name, stage.title)
        if not wanted.accepts(found.field):
            problem = f"reads {name!r} as {wanted}, but it is {found.field}"
            raise PipelineError(f"{stage.title}: {problem}")
        in_partitions |= found.in_partitions
    for name in stage.combiner_reads:
        if _find(known, name, stage.title).in_partitions:
            raise PipelineError(
                f"{stage.title}: its combination reads {name!r}, which is in partitions; a "
                "combination can read only shared fields"
            )
    return in_partitions


def _check_chosen(stage: Stage, known: dict[str, FieldState], *, in_partitions: bool) -> None:
    """Check that a stage adds chosen edges, of all partitions, to a field of chosen edges."""
    for name, field in stage.writes.items():
        if not field.is_chosen:
            continue
        if in_partitions:
            problem = f"writes {name!r} in each partition; it needs combine="
            raise PipelineError(f"{stage.title}: {problem}")
        earlier = known[name].field if name in known else field
        if not earlier.is_chosen:
            problem = f"adds to {name!r} as {field}, but it is {earlier}"
            raise PipelineError(f"{stage.title}: {problem}")


def _find(known: dict[str, FieldState], name: str, reader: str) -> FieldState:
    """Return the properties of a field; raise an error that names the reader if it is missing."""
    if name not in known:
        problem = f"reads {name!r}, which no earlier stage writes"
        raise PipelineError(f"{reader}: {problem}{similar(name, known)}")
    if known[name].lost:
        raise PipelineError(f"{reader}: reads {name!r}, which was {known[name].lost}")
    return known[name]
