"""A dataflow: named steps from some fields to others; it is checked, described and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..stages.fields import ANYTHING
from .check import Known, check
from .describe import as_svg, as_text
from .steps import check_steps, stages_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from ..stages import Stage
    from .steps import Step


@dataclass(frozen=True)
class ByBackend:
    """A tuning value per backend; it affects speed, never the result.

    Attributes
    ----------
    value : object
        For all backends that `on` does not name.
    on : dict
        By the names of backends.
    """

    value: Any
    on: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Dataflow:
    """Steps in order, what they start from and what they are run for.

    Attributes
    ----------
    name : str
        What errors, pictures and, of a strategy, dashboards call it.
    steps : tuple of Stage, Loop or When
    inputs : dict of str to Known
        The fields that a run hands over.
    result : tuple of str
        The fields it is run for.
    summary : str
        One line for listings.
    values : dict
        Other fields it starts from.
    """

    name: str
    steps: tuple[Step, ...]
    inputs: Mapping[str, Known]
    result: tuple[str, ...]
    summary: str
    values: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_steps(self.steps, self.name)

    def check(self) -> None:
        """Check that the steps fit together: see `check.check`; a run does this first."""
        return self._checked

    @cached_property
    def _checked(self) -> None:
        known = {**self.inputs, **dict.fromkeys(self.values, Known(ANYTHING))}
        check(self.name, self.steps, known, self.result)

    @cached_property
    def moves_edges(self) -> bool:
        """Whether stages read the edges and write others: rounds, not scans."""
        return any("edges" in stage.writes for stage in self.stages())

    def values_on(self, backend: str) -> dict[str, Any]:
        """Return the values it starts from on a backend."""
        return {
            name: value.on.get(backend, value.value) if isinstance(value, ByBackend) else value
            for name, value in self.values.items()
        }

    def stages(self) -> Iterator[Stage]:
        """Yield the stages in order; those of a loop follow its verdict."""
        return stages_of(self.steps)

    def describe(self) -> str:
        """Return a table of the steps: what each reads and writes, and where it runs."""
        title = f"{self.name}: {self.summary}" if self.summary else self.name
        return as_text(title, self.steps, self._in_partitions, self.result)

    def draw(self, path: str | PathLike[str] | None = None) -> str:
        """Return a picture (SVG) of the data flow, and write it to `path` if given."""
        given = [*self.inputs, *self.values]
        picture = as_svg(self.name, self.steps, self._in_partitions, given)
        if path is not None:
            Path(path).write_text(picture, encoding="utf-8")
        return picture

    @property
    def _in_partitions(self) -> frozenset[str]:
        return frozenset(name for name, known in self.inputs.items() if known.in_partitions)

    def _repr_svg_(self) -> str:
        return self.draw()

    def __repr__(self) -> str:
        return f"<pipeline {self.name}: {' -> '.join(stage.name for stage in self.stages())}>"
