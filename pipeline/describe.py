"""The description of a pipeline: a table of its steps as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..stages import Stage
from .steps import Binding, Compound, Nested, Step


class StepRow(NamedTuple):
    """A row of a table or picture: a stage, or a pipeline within another one."""

    #: The name, after "until" or "when" if the stage writes a verdict.
    label: str
    #: The number of loops, conditions and pipelines around it.
    depth: int
    reads: Sequence[str]
    writes: Sequence[str]
    in_partitions: bool
    #: The combination of the results of partitions.
    combine: str = ""
    #: Whether the rows below with a larger depth belong to it.
    has_body: bool = False
    #: Precedes the names of the fields of the pipeline that contains it.
    prefix: str = ""


def as_text(
    title: str, steps: Sequence[Step], in_partitions: Iterable[str], result: Sequence[str]
) -> str:
    """Return a table of the steps; the body of a loop or condition is indented below its verdict.

    A pipeline within another one is indented below its name, with its own fields. If it contains
    itself, its second occurrence has no body.

    For a stage that runs once per partition, the second column contains "partitions" and the
    combination of the results.
    """
    table = [("step", "runs over", "reads", "writes")]
    for row in step_rows(steps, set(in_partitions)):
        runs = f"partitions, {row.combine}" if row.combine else "partitions"
        cells = "  " * row.depth + row.label, runs if row.in_partitions else ""
        reads, writes = (
            " ".join(name.removeprefix(row.prefix) for name in names)
            for names in (row.reads, row.writes)
        )
        table.append((*cells, reads, writes))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in table)
    return "\n".join([title, "", *lines, "", f"result: {', '.join(result)}"])


def step_rows(steps: Sequence[Step], in_partitions: set[str], depth: int = 0) -> Iterator[StepRow]:
    """Yield a row for each stage; update the set `in_partitions` as stages write fields."""
    for step in steps:
        if isinstance(step, Stage):
            yield _stage_row(step, in_partitions, depth)
        elif isinstance(step, Compound):
            row = _stage_row(step.verdict, in_partitions, depth)
            yield row._replace(label=f"{step.keyword} {row.label}", has_body=True)
            yield from step_rows(step.steps, in_partitions, depth + 1)
        elif isinstance(step, Nested):
            name, has_body = step.pipeline.name, not step.is_recursive
            yield StepRow(name, depth, sorted(step.reads), [*step.writes], False, "", has_body)
            if has_body:
                for row in step_rows(step.body, in_partitions, depth + 1):
                    yield row if row.prefix else row._replace(prefix=step.prefix)
        elif isinstance(step, Binding):
            for old, new in step.names.items():
                (in_partitions.add if old in in_partitions else in_partitions.discard)(new)


def _stage_row(stage: Stage, in_partitions: set[str], depth: int) -> StepRow:
    """Return the row of a stage; update the set `in_partitions`."""
    combine, runs_in_partitions = stage.combine, not in_partitions.isdisjoint(stage.reads)
    name = combine if isinstance(combine, str) else getattr(combine, "__name__", "")
    in_partitions.difference_update(stage.writes)
    if runs_in_partitions and not stage.is_combined:
        in_partitions.update(stage.writes)
    return StepRow(stage.name, depth, [*stage.reads], [*stage.writes], runs_in_partitions, name)
