"""The pipeline: an algorithm as a value that can be composed, edited, checked, drawn and run."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import OptionError, PipelineError
from ..graphs.reading import READING
from ..primitives.weight_order import WeightOrder
from ..stages import Stage
from ..stages.declare import Renamed, similar
from ..stages.fields import Columns, Edges, field_of
from .catalogue.strategies import COMMON_FIELDS, RESERVED_NAMES
from .dataflow import Dataflow, FieldState
from .engine import run
from .report.report import Outcome
from .request import Request
from .steps import Nested, as_steps, edit, leaves_of, renamed, resolved, unresolved

#: The initial fields of pipelines. Wings add those of their graphs.
INPUTS = {
    "columns": FieldState(field_of(Columns), in_partitions=True),
    "edges": FieldState(field_of(Edges), in_partitions=True),
    "weight_order": FieldState(field_of(WeightOrder)),
    **COMMON_FIELDS,
}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Pipeline(Dataflow):
    """An algorithm: steps from a graph's edges to the fields in `result`.

    Unless it states another promise, a pipeline returns the forest that is minimal in the order of
    (weight, edge id), on any backend and for any partitions.

    The initial fields are:

    - ``columns``: `stages.fields.Columns`, the edges with weights, in partitions,
    - ``edges``: `stages.fields.Edges`, the edges with keys, in partitions,
    - ``weight_order``: `primitives.weight_order.WeightOrder`,
    - ``num_vertices``, ``num_edges``, ``num_partitions``, ``maximum``, and an empty ``forest``,
    - the values that `given` adds.

    Stages write the ids of selected edges to ``forest``, as `stages.fields.Chosen`. The run
    collects the ids of all rounds, and sorts them at the end. If no stage reads ``edges`` or
    ``weight_order``, weights are not converted to keys.

    `check` checks a pipeline, and so does each run. Between two edits, the steps need not fit
    together.

    Parameters
    ----------
    name : str
        The name in reports, errors and pictures.
    *steps : Stage, Loop, When, Pipeline or Recurse
        The steps in order. A pipeline within another has fields of its own: only the initial fields
        that it reads come from the other one, and only its result goes there. `renamed` binds them
        to other names. Its ``forest`` is added to that of the other pipeline; any other result
        replaces the field of its name.
    result : str or tuple of str
        The fields that a run returns.
    summary : str
        One line for listings.
    values : dict
        Further initial fields; see `given` and `ByBackend`.
    footprint : float
        The bytes that a run needs besides the edges and the forest, relative to Kruskal's
        algorithm. A bound on memory relies on it.

    Raises
    ------
    PipelineError
        If a step is not one of these. Names the step. If a value has the name of an
        initial field of every run. Names the value.
    """

    def __init__(
        self,
        name: str,
        *steps: Any,
        result: str | tuple[str, ...] = ("forest",),
        summary: str = "",
        values: Mapping[str, Any] | None = None,
        footprint: float = 3.8,
    ) -> None:
        if not isinstance(name, str):
            raise PipelineError(f"the first argument of a Pipeline is its name, not {name!r}")
        result = (result,) if isinstance(result, str) else result
        given = as_steps(steps)
        inner = (step for step in leaves_of(given) if isinstance(step, Nested))
        values = dict(ChainMap(dict(values or {}), *(step.values for step in inner)))
        super().__init__(name, given, result, values, INPUTS, summary, footprint)
        object.__setattr__(self, "steps", resolved(self, given))
        if hidden := self.values.keys() & (RESERVED_NAMES | INPUTS.keys()):
            names = ", ".join(sorted(hidden))
            problem = f"every run has a field {names}; rename the value"
            raise PipelineError(f"pipeline {name!r}: {problem}")

    def run(
        self, graph: Any, *, result: str | Sequence[str] | None = None, **options: Any
    ) -> Outcome:
        """Run on a graph; return the requested fields and the report.

        Parameters
        ----------
        graph
            Any input of `mstflow.minimum_spanning_forest`.
        result : str or sequence of str, optional
            Names of fields; the pipeline's result by default. The values of a field in partitions
            are concatenated in the order of edge ids.
        **options
            The options of `mstflow.minimum_spanning_forest`, except for ``algorithm``.

        Returns
        -------
        Outcome
            ``fields, report = pipeline.run(graph)``: a dict of the fields, and the `Report`.

        Raises
        ------
        MstflowError
            If the graph, a file or an option is invalid, the steps do not fit together, or a stage
            fails.
        """
        names = (result,) if isinstance(result, str) else result or self.result
        if not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
            raise OptionError(f"result must be names of fields, not {result!r}")
        pipeline = self._copy(result=tuple(names))
        reading: Any = {name: options.pop(name) for name in READING & options.keys()}
        request = Request(pipeline=pipeline, is_custom=True, reading=reading, **options)
        (fields, report), _ = run(request, graph)
        return Outcome({name: fields[name] for name in names}, report)

    def given(self, **values: Any) -> Pipeline:
        """Return a copy with further initial fields, which stages read by name.

        Raises
        ------
        PipelineError
            If no stage reads a value, or a value has the name of an initial field of every run.
            Names the value and the most similar name that a stage reads.
        """
        for name in values.keys() - self.fields_read - INPUTS.keys():
            hint = similar(name, self.fields_read) or "; insert the stage first"
            raise PipelineError(f"pipeline {self.name!r}: no stage reads {name!r}{hint}")
        return self._copy(values={**self.values, **values})

    def named(self, name: str, summary: str = "") -> Pipeline:
        """Return a copy with another name, for reports, errors and pictures."""
        return self._copy(name=name, summary=summary)

    def renamed(self, **names: str) -> Pipeline:
        """Return a copy whose stages read and write other fields, as a step of another pipeline.

        For example, ``kruskal.renamed(edges="light_edges", forest="light_forest")``.

        Raises
        ------
        PipelineError
            If the pipeline has no field of an old name. Names the most similar one.
        """
        known = {*self.fields_read, *self.result, *self.fields_written}
        if unknown := names.keys() - known:
            name = unknown.pop()
            problem = f"has no field {name!r}{similar(name, known)}"
            raise PipelineError(f"pipeline {self.name!r}: {problem}")
        return self._copy(
            steps=edit(unresolved(self.steps), lambda step: (renamed(step, names),)),
            result=tuple(names.get(name, name) for name in self.result),
            values={names.get(name, name): value for name, value in self.values.items()},
        )

    def insert_before(self, name: str, *steps: Any) -> Pipeline:
        """Return a copy with `steps` before every stage called `name`.

        If the fields of that stage were renamed, those of the new steps are, too.

        Raises
        ------
        PipelineError
            If the pipeline has no such stage. Lists its stages.
        """
        return self._edit(name, lambda stage: (*steps, stage))

    def insert_after(self, name: str, *steps: Any) -> Pipeline:
        """Return a copy with `steps` after every stage called `name`; see `insert_before`."""
        return self._edit(name, lambda stage: (stage, *steps))

    def replace(self, name: str, *steps: Any) -> Pipeline:
        """Return a copy with `steps` in place of every stage called `name`; see `insert_before`."""
        return self._edit(name, lambda _: steps)

    def remove(self, name: str) -> Pipeline:
        """Return a copy without the stages called `name`; see `insert_before`."""
        return self._edit(name, lambda _: ())

    def _copy(self, **changes: Any) -> Pipeline:
        kept = ("name", "steps", "result", "summary", "values", "footprint")
        fields = {name: getattr(self, name) for name in kept}
        fields |= {"steps": unresolved(self.steps)} | changes
        return Pipeline(fields.pop("name"), *fields.pop("steps"), **fields)

    def _edit(self, name: str, change: Callable[[Stage], Sequence[Any]]) -> Pipeline:
        if all(stage.name != name for stage in self.stages()):
            known = ", ".join(dict.fromkeys(stage.name for stage in self.stages()))
            raise PipelineError(f"pipeline {self.name!r} has no stage {name!r}; it has: {known}")

        def edited(step: Any) -> Sequence[Any]:
            if isinstance(step, Nested) and isinstance(inner := step.pipeline, Pipeline):
                has_stage = any(stage.name == name for stage in inner.stages())
                return (Nested.of(inner._edit(name, change), step.outer) if has_stage else step,)
            if not isinstance(step, Stage) or step.name != name:
                return (step,)
            return [*edit(as_steps(change(step)), lambda new: (_like(step, new),))]

        return self._copy(steps=edit(unresolved(self.steps), edited))


def _like(step: Stage, new: Any) -> Any:
    """Return a step with the names of a stage whose place it takes."""
    return renamed(new, step.names) if isinstance(step, Renamed) and new is not step else new
