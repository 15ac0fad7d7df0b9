"""Pictures of a pipeline, in words and in SVG: steps run downwards, fields stand side by side."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from ..stages import Stage
from .check import INPUTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .steps import Loop

_ROW, _COLUMN, _NAMES, _HEAD = 26, 30, 250, 130
_COLORS = {"edges": "#0b7285", "vertices": "#c2410c"}
_STYLE = "font:13px ui-monospace,Menlo,Consolas,monospace"


class _Row(NamedTuple):
    """A stage where it stands: how deep in loops, and whether it ends one."""

    stage: Stage
    depth: int
    ends_loop: bool


def as_text(title: str, steps: Sequence[Stage | Loop], result: Sequence[str]) -> str:
    """Return a table of the steps; a loop's body is indented below the stage that ends it."""
    lines = [title, ""]
    table = [("step", "over", "reads", "writes")]
    for row in _rows(steps):
        stage = row.stage
        sign = "until " if row.ends_loop else ""
        over = f"{stage.over}, {stage.combine}" if stage.combine else stage.over
        name = "  " * row.depth + sign + stage.name
        table.append((name, over, " ".join(stage.reads), " ".join(stage.writes)))
    widths = [max(len(line[column]) for line in table) for column in range(4)]
    for line in table:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, "", f"result: {', '.join(result)}"])


def as_svg(title: str, steps: Sequence[Stage | Loop], values: Iterable[str]) -> str:
    """Return the data flow of steps that start from the inputs of a pipeline and `values`.

    A row is a stage, teal over edges and orange over vertices; a column is a field. A ring is a
    read, a disc a write, and a line is a field's life. A box holds the body of a loop.
    """
    rows, given = list(_rows(steps)), [*INPUTS, *values]
    fields = list(dict.fromkeys([*given, *_fields(rows)]))
    width = _NAMES + _COLUMN * len(fields) + 70
    height = _HEAD + _ROW * (len(rows) + 1) + 14
    body = [
        *_loop_boxes(rows, width),
        *_headings(fields),
        *_lifelines(rows, fields, given),
        *(mark for number, row in enumerate(rows) for mark in _marks(number, row, fields)),
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" style="{_STYLE}">'
    )
    canvas = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", canvas, *body, "</svg>"])


def _rows(steps: Sequence[Stage | Loop], depth: int = 0) -> Iterator[_Row]:
    for step in steps:
        if isinstance(step, Stage):
            yield _Row(step, depth, ends_loop=False)
        else:
            yield _Row(step.until, depth, ends_loop=True)
            yield from _rows(step.steps, depth + 1)


def _fields(rows: list[_Row]) -> Iterator[str]:
    for row in rows:
        yield from row.stage.reads
        yield from row.stage.writes


def _x(column: int) -> float:
    return _NAMES + _COLUMN * (column + 0.5)


def _y(row: int) -> float:
    return _HEAD + _ROW * (row + 1)  # row -1 holds the inputs


def _headings(fields: list[str]) -> Iterator[str]:
    for column, name in enumerate(fields):
        at = f"{_x(column) - 2},{_HEAD - 18}"
        yield f'<text transform="translate({at}) rotate(-45)" fill="#334155">{escape(name)}</text>'


def _lifelines(rows: list[_Row], fields: list[str], given: list[str]) -> Iterator[str]:
    for column, name in enumerate(fields):
        touched = [n for n, row in enumerate(rows) if name in {*row.stage.reads, *row.stage.writes}]
        if name in given:
            yield f'<circle cx="{_x(column)}" cy="{_y(-1)}" r="4" fill="#64748b"/>'
            touched = [-1, *touched]
        yield (
            f'<line x1="{_x(column)}" x2="{_x(column)}" y1="{_y(touched[0])}" '
            f'y2="{_y(touched[-1])}" stroke="#cbd5e1" stroke-width="2"/>'
        )


def _marks(number: int, row: _Row, fields: list[str]) -> Iterator[str]:
    color = _COLORS[row.stage.over]
    label = ("until " if row.ends_loop else "") + row.stage.name
    slant = ' font-style="italic"' if row.ends_loop else ""
    x, y = 12 + 14 * row.depth, _y(number)
    yield f'<text x="{x}" y="{y + 4}" fill="{color}"{slant}>{escape(label)}</text>'
    for name in row.stage.reads:
        at = f'cx="{_x(fields.index(name))}" cy="{y}"'
        yield f'<circle {at} r="5" fill="#ffffff" stroke="{color}" stroke-width="2"/>'
    for name in row.stage.writes:
        radius = 3 if name in row.stage.reads else 5
        at = f'cx="{_x(fields.index(name))}" cy="{y}"'
        yield f'<circle {at} r="{radius}" fill="{color}"/>'


def _loop_boxes(rows: list[_Row], width: int) -> Iterator[str]:
    for first, row in enumerate(rows):
        if row.ends_loop:
            inside = (n for n in range(first + 1, len(rows)) if rows[n].depth <= row.depth)
            last = next(inside, len(rows)) - 1
            x, y = 4 + 14 * row.depth, _y(first) - _ROW / 2
            yield (
                f'<rect x="{x}" y="{y}" width="{width - 2 * x}" '
                f'height="{_ROW * (last - first + 1)}" rx="8" fill="#f8fafc" stroke="#cbd5e1"/>'
            )
