"""Descriptions of a pipeline: a table of its steps as text, and its data flow as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from ..stages import Stage
from .steps import Binding, Compound, Nested, Step

#: In pixels: the height of a row, the width of a column, the width of the names of stages, and the
#: height of the names of fields.
_ROW, _COLUMN, _NAMES, _HEAD = 26, 30, 250, 130
#: The colors of stages that run once for each partition, and of stages that run once.
_PER_PARTITION, _ONCE = "#0b7285", "#c2410c"


class _Row(NamedTuple):
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
    for row in _rows(steps, set(in_partitions)):
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


def as_svg(
    title: str, steps: Sequence[Step], in_partitions: Iterable[str], initial: Iterable[str]
) -> str:
    """Return a picture of the data flow of steps with the fields `initial`.

    A row is a stage: teal if it runs once per partition, orange if it runs once. A column is a
    field: a ring marks a read, a disc marks a write, and a line connects the first and the last of
    them. A box encloses the body of a loop, a condition or a pipeline.
    """
    rows, initial = list(_rows(steps, set(in_partitions))), list(initial)
    touched = (name for row in rows for name in (*row.reads, *row.writes))
    fields = list(dict.fromkeys([*initial, *touched]))
    width = _NAMES + _COLUMN * len(fields) + 70
    height = _HEAD + _ROW * (len(rows) + 1) + 14
    body = [
        *_loop_boxes(rows, width),
        *_headings(fields),
        *_field_lines(rows, fields, initial),
        *(mark for number, row in enumerate(rows) for mark in _marks(number, row, fields)),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" '
        'style="font:13px ui-monospace,Menlo,Consolas,monospace">'
    )
    canvas = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", canvas, *body, "</svg>"])


def _rows(steps: Sequence[Step], in_partitions: set[str], depth: int = 0) -> Iterator[_Row]:
    """Yield a row for each stage; update the set `in_partitions` as stages write fields."""
    for step in steps:
        if isinstance(step, Stage):
            yield _stage_row(step, in_partitions, depth)
        elif isinstance(step, Compound):
            row = _stage_row(step.verdict, in_partitions, depth)
            yield row._replace(label=f"{step.keyword} {row.label}", has_body=True)
            yield from _rows(step.steps, in_partitions, depth + 1)
        elif isinstance(step, Nested):
            name, has_body = step.pipeline.name, not step.is_recursive
            yield _Row(name, depth, sorted(step.reads), [*step.writes], False, "", has_body)
            if has_body:
                for row in _rows(step.body, in_partitions, depth + 1):
                    yield row if row.prefix else row._replace(prefix=step.prefix)
        elif isinstance(step, Binding):
            for old, new in step.names.items():
                (in_partitions.add if old in in_partitions else in_partitions.discard)(new)


def _stage_row(stage: Stage, in_partitions: set[str], depth: int) -> _Row:
    """Return the row of a stage; update the set `in_partitions`."""
    combine, runs_in_partitions = stage.combine, not in_partitions.isdisjoint(stage.reads)
    name = combine if isinstance(combine, str) else getattr(combine, "__name__", "")
    in_partitions.difference_update(stage.writes)
    if runs_in_partitions and not stage.is_combined:
        in_partitions.update(stage.writes)
    return _Row(stage.name, depth, [*stage.reads], [*stage.writes], runs_in_partitions, name)


def _x(column: int) -> float:
    return _NAMES + _COLUMN * (column + 0.5)


def _y(row: int) -> float:
    return _HEAD + _ROW * (row + 1)  # row -1 shows the initial fields


def _headings(fields: list[str]) -> Iterator[str]:
    for column, name in enumerate(fields):
        at = f"{_x(column) - 2},{_HEAD - 18}"
        yield f'<text transform="translate({at}) rotate(-45)" fill="#334155">{escape(name)}</text>'


def _field_lines(rows: list[_Row], fields: list[str], initial: list[str]) -> Iterator[str]:
    for column, name in enumerate(fields):
        touched = [n for n, row in enumerate(rows) if name in {*row.reads, *row.writes}]
        if name in initial:
            yield f'<circle cx="{_x(column)}" cy="{_y(-1)}" r="4" fill="#64748b"/>'
            touched = [-1, *touched]
        yield (
            f'<line x1="{_x(column)}" x2="{_x(column)}" y1="{_y(touched[0])}" '
            f'y2="{_y(touched[-1])}" stroke="#cbd5e1" stroke-width="2"/>'
        )


def _marks(number: int, row: _Row, fields: list[str]) -> Iterator[str]:
    color = _PER_PARTITION if row.in_partitions else _ONCE
    slant = ' font-style="italic"' if row.has_body else ""
    x, y = 12 + 14 * row.depth, _y(number)
    yield f'<text x="{x}" y="{y + 4}" fill="{color}"{slant}>{escape(row.label)}</text>'
    for name in row.reads:
        at = f'cx="{_x(fields.index(name))}" cy="{y}"'
        yield f'<circle {at} r="5" fill="#ffffff" stroke="{color}" stroke-width="2"/>'
    for name in row.writes:
        radius = 3 if name in row.reads else 5
        at = f'cx="{_x(fields.index(name))}" cy="{y}"'
        yield f'<circle {at} r="{radius}" fill="{color}"/>'


def _loop_boxes(rows: list[_Row], width: int) -> Iterator[str]:
    for first, row in enumerate(rows):
        if row.has_body:
            after = (n for n in range(first + 1, len(rows)) if rows[n].depth <= row.depth)
            last = next(after, len(rows)) - 1
            x, y = 4 + 14 * row.depth, _y(first) - _ROW / 2
            yield (
                f'<rect x="{x}" y="{y}" width="{width - 2 * x}" '
                f'height="{_ROW * (last - first + 1)}" rx="8" fill="#f8fafc" stroke="#cbd5e1"/>'
            )
