"""The pipeline: stages and loops in order, as a value that is composed, checked, drawn and run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import PipelineError
from .check import INPUTS, check
from .describe import as_svg, as_text
from .steps import Loop, check_steps, edited, stages_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from ..stages import Stage


@dataclass(frozen=True)
class ByBackend:
    """A value that is another on some backends: it may tell what is quicker, not what is found.

    Attributes
    ----------
    value : object
        On all others.
    on : dict
        By the names of backends.
    """

    value: Any
    on: Mapping[str, Any]


@dataclass(frozen=True, init=False, eq=False)
class Pipeline:
    """An algorithm: named steps from a graph's edges to the fields in `result`.

    It starts from the fields ``u, v, weight, edge_id`` (along the edges, in parts),
    ``num_vertices`` and ``maximum``, and whatever `given` adds. It is checked before it runs, so
    that edits may pass through states that do not fit.

    Parameters
    ----------
    name : str
        What reports and errors call it.
    *steps : Stage or Loop
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
        If a step is neither a stage nor a loop, or a value would hide a field of the graph. Names
        it.
    """

    name: str
    steps: tuple[Stage | Loop, ...]
    result: tuple[str, ...]
    summary: str
    values: Mapping[str, Any]

    def __init__(
        self,
        name: str,
        *steps: Stage | Loop,
        result: tuple[str, ...] = ("forest",),
        summary: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "result", result)
        object.__setattr__(self, "summary", summary)
        object.__setattr__(self, "values", dict(values or {}))
        check_steps(steps, name)
        if hidden := INPUTS.keys() & self.values.keys():
            message = f"pipeline {name!r}: {', '.join(hidden)} come from the graph"
            raise PipelineError(message)

    def check(self) -> None:
        """Check that the steps fit together: see `check.check`; a run does this first."""
        check(self.name, self.steps, tuple(self.values), self.result)

    def given(self, **values: Any) -> Pipeline:
        """Return a copy that also starts from these values; stages read them by name.

        Raises
        ------
        PipelineError
            If a value would hide a field of the graph. Names it.
        """
        return self._copy(values={**self.values, **values})

    def values_on(self, backend: str) -> dict[str, Any]:
        """Return the values it starts from on a backend."""
        return {
            name: value.on.get(backend, value.value) if isinstance(value, ByBackend) else value
            for name, value in self.values.items()
        }

    def insert_before(self, name: str, *steps: Stage | Loop) -> Pipeline:
        """Return a copy with `steps` before every stage called `name`.

        Raises
        ------
        PipelineError
            If there is none. Names those there are.
        """
        return self._edit(name, lambda stage: (*steps, stage))

    def insert_after(self, name: str, *steps: Stage | Loop) -> Pipeline:
        """Return a copy with `steps` after every stage called `name`; see `insert_before`."""
        return self._edit(name, lambda stage: (stage, *steps))

    def replace(self, name: str, *steps: Stage | Loop) -> Pipeline:
        """Return a copy with `steps` in place of every stage called `name`; see `insert_before`."""
        return self._edit(name, lambda _: steps)

    def remove(self, name: str) -> Pipeline:
        """Return a copy without the stages called `name`; see `insert_before`."""
        return self._edit(name, lambda _: ())

    def stages(self) -> Iterator[Stage]:
        """Yield the stages as they stand, those of a loop after the one that ends it."""
        return stages_of(self.steps)

    def describe(self) -> str:
        """Return a table of the steps: what each reads and writes, and what it runs over."""
        title = f"{self.name}: {self.summary}" if self.summary else self.name
        return as_text(title, self.steps, self.result)

    def draw(self, path: str | PathLike[str] | None = None) -> str:
        """Return a picture (SVG) of the data flow, and write it to `path` if given."""
        picture = as_svg(self.name, self.steps, self.values)
        if path is not None:
            Path(path).write_text(picture, encoding="utf-8")
        return picture

    def _repr_svg_(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        return f"<pipeline {self.name}: {' -> '.join(stage.name for stage in self.stages())}>"

    def _copy(self, **changes: Any) -> Pipeline:
        options = {"result": self.result, "summary": self.summary, "values": self.values}
        steps = changes.pop("steps", self.steps)
        return Pipeline(self.name, *steps, **{**options, **changes})

    def _edit(self, name: str, change: Callable[[Stage], Sequence[Stage | Loop]]) -> Pipeline:
        if all(stage.name != name for stage in self.stages()):
            known = ", ".join(dict.fromkeys(stage.name for stage in self.stages()))
            message = f"pipeline {self.name!r} has no stage {name!r}; it has: {known}"
            raise PipelineError(message)
        return self._copy(steps=edited(self.steps, name, change))
