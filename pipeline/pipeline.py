"""The pipeline: an algorithm as a value that is composed, edited, checked, drawn and run."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import PipelineError
from ..stages.fields import EDGES, Field
from .check import Known
from .dataflow import ByBackend, Dataflow
from .engine import OF_EVERY_RUN, run
from .steps import edited

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..stages import Stage
    from .engine import Outcome
    from .steps import Step

__all__ = ["ByBackend", "Pipeline"]

#: The fields every pipeline starts from; `edges` lie in partitions of the edge list.
INPUTS = {
    "edges": Known(EDGES, in_partitions=True),
    "weight_order": Known(Field("", "any")),
    "num_vertices": Known(Field("", "count")),
    "num_edges": Known(Field("", "count")),
    "maximum": Known(Field("", "verdict")),
    "forest": Known(Field("", "chosen")),
}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Pipeline(Dataflow):
    """An algorithm: steps from a graph's edges to the fields in `result`.

    It starts from the fields ``edges`` (`stages.fields.Edges`, in partitions), ``weight_order``
    (`primitives.weight_order.WeightOrder`), ``num_vertices``, ``num_edges``, ``maximum``, an empty
    ``forest``, and the values that `given` adds. What stages write to ``forest`` as
    `stages.fields.Chosen` is collected over all rounds and sorted at the end.

    It is checked when it runs, so that edits may pass through states that do not fit.

    Parameters
    ----------
    name : str
        What reports, errors and pictures call it.
    *steps : Stage, Loop or When
        What it does, in order.
    result : tuple of str
        The fields it is run for.
    summary : str
        One line for listings.
    values : dict
        Other fields it starts from; see `given`, `ByBackend`.

    Raises
    ------
    PipelineError
        If a step is no step, or a value would hide a field of the run. Names it.
    """

    def __init__(
        self,
        name: str,
        *steps: Step,
        result: tuple[str, ...] = ("forest",),
        summary: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name, steps, INPUTS, result, summary, dict(values or {}))
        if hidden := self.values.keys() & (OF_EVERY_RUN | INPUTS.keys()):
            names = ", ".join(sorted(hidden))
            message = f"pipeline {name!r}: no value may be called {names}: every run has that field"
            raise PipelineError(message)

    def run(
        self, graph: Any, *, result: str | Sequence[str] | None = None, **options: Any
    ) -> Outcome:
        """Run on a graph and return the fields asked for, with the report.

        Parameters
        ----------
        graph
            As `mstflow.minimum_spanning_forest` takes it.
        result : str or sequence of str, optional
            Names of fields; those of the pipeline if not given. A field that lies in partitions is
            put together in the order of edge ids.
        **options
            Those of `mstflow.minimum_spanning_forest`, except ``algorithm``.

        Returns
        -------
        Outcome
            ``fields, report = pipeline.run(graph)``: a dict of the fields, and the `Report`.

        Raises
        ------
        MstflowError
            On a bad graph, file or option, a pipeline that does not fit together, or a stage that
            fails.
        """
        names = (result,) if isinstance(result, str) else tuple(result or self.result)
        return run(self._copy(result=names), graph, **options)

    def given(self, **values: Any) -> Pipeline:
        """Return a copy that also starts from these values; stages read them by name.

        Raises
        ------
        PipelineError
            If no stage reads a value, or it would hide a field of the run. Names it, and the
            nearest name that a stage reads.
        """
        read = {name for stage in self.stages() for name in (*stage.reads, *stage.combiner_reads)}
        for name in values.keys() - read - INPUTS.keys():
            nearest = difflib.get_close_matches(name, read, 1)
            hint = f"; did you mean {nearest[0]!r}?" if nearest else "; insert the stage first"
            message = f"pipeline {self.name!r}: no stage reads {name!r}{hint}"
            raise PipelineError(message)
        return self._copy(values={**self.values, **values})

    def named(self, name: str, summary: str = "") -> Pipeline:
        """Return a copy of another name, for reports, errors and pictures."""
        return self._copy(name=name, summary=summary)

    def insert_before(self, name: str, *steps: Step) -> Pipeline:
        """Return a copy with `steps` before every stage called `name`.

        Raises
        ------
        PipelineError
            If there is none. Names those there are.
        """
        return self._edit(name, lambda stage: (*steps, stage))

    def insert_after(self, name: str, *steps: Step) -> Pipeline:
        """Return a copy with `steps` after every stage called `name`; see `insert_before`."""
        return self._edit(name, lambda stage: (stage, *steps))

    def replace(self, name: str, *steps: Step) -> Pipeline:
        """Return a copy with `steps` in place of every stage called `name`; see `insert_before`."""
        return self._edit(name, lambda _: steps)

    def remove(self, name: str) -> Pipeline:
        """Return a copy without the stages called `name`; see `insert_before`."""
        return self._edit(name, lambda _: ())

    def _copy(self, **changes: Any) -> Pipeline:
        fields = {
            "name": self.name,
            "steps": self.steps,
            "result": self.result,
            "summary": self.summary,
            "values": self.values,
            **changes,
        }
        return Pipeline(fields.pop("name"), *fields.pop("steps"), **fields)

    def _edit(self, name: str, change: Callable[[Stage], Sequence[Step]]) -> Pipeline:
        if all(stage.name != name for stage in self.stages()):
            known = ", ".join(dict.fromkeys(stage.name for stage in self.stages()))
            message = f"pipeline {self.name!r} has no stage {name!r}; it has: {known}"
            raise PipelineError(message)
        return self._copy(steps=edited(self.steps, name, change))
