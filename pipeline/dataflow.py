"""The dataflow: a sequence of steps that can be checked, described and drawn."""

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
        The default.
    on : dict
        Values by name of backend.
    """

    value: Any
    on: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Dataflow:
    """A sequence of steps, with its initial fields and its results.

    Attributes
    ----------
    name : str
        The name in errors, pictures and task keys.
    steps : tuple of Stage, Loop or When
    inputs : dict of str to Known
        The initial fields that a run provides.
    result : tuple of str
        The fields that a run returns.
    summary : str
        One line for listings.
    values : dict
        Further initial fields.
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
        """Check that the steps fit together; every run calls this first. See `check.check`."""
        return self._checked

    @cached_property
    def _checked(self) -> None:
        known = {**self.inputs, **dict.fromkeys(self.values, Known(ANYTHING))}
        check(self.name, self.steps, known, self.result)

    @cached_property
    def moves_edges(self) -> bool:
        """Whether stages write the edges as fields, so rounds run over them instead of scans."""
        return any({"columns", "edges"} & stage.writes.keys() for stage in self.stages())

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
        """Return the data flow as SVG; also write it to `path` if given."""
        read = {name for stage in self.stages() for name in (*stage.reads, *stage.combiner_reads)}
        given = [name for name in (*self.inputs, *self.values) if name in read]
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
