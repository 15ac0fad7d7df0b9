"""The data flow of a pipeline as an SVG picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from ..pipeline.describe import StepRow, step_rows
from ..pipeline.steps import Step

#: In pixels: the height of a row, the width of a column, the width of the names of stages, and the
#: height of the names of fields.
_ROW, _COLUMN, _NAMES, _HEAD = 26, 30, 250, 130
#: The colors of stages that run once for each partition, and of stages that run once.
_PER_PARTITION, _ONCE = "#0b7285", "#c2410c"


def draw_steps(
    title: str, steps: Sequence[Step], in_partitions: Iterable[str], initial: Iterable[str]
) -> str:
    """Return a picture of the data flow of steps with the fields `initial`.

    A row is a stage: teal if it runs once per partition, orange if it runs once. A column is a
    field: a ring marks a read, a disc marks a write, and a line connects the first and the last of
    them. A box encloses the body of a loop, a condition or a pipeline.
    """
    rows, initial = list(step_rows(steps, set(in_partitions))), list(initial)
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


def _x(column: int) -> float:
    return _NAMES + _COLUMN * (column + 0.5)


def _y(row: int) -> float:
    return _HEAD + _ROW * (row + 1)  # row -1 shows the initial fields


def _headings(fields: list[str]) -> Iterator[str]:
    for column, name in enumerate(fields):
        at = f"{_x(column) - 2},{_HEAD - 18}"
        yield f'<text transform="translate({at}) rotate(-45)" fill="#334155">{escape(name)}</text>'


def _field_lines(rows: list[StepRow], fields: list[str], initial: list[str]) -> Iterator[str]:
    for column, name in enumerate(fields):
        touched = [n for n, row in enumerate(rows) if name in {*row.reads, *row.writes}]
        if name in initial:
            yield f'<circle cx="{_x(column)}" cy="{_y(-1)}" r="4" fill="#64748b"/>'
            touched = [-1, *touched]
        yield (
            f'<line x1="{_x(column)}" x2="{_x(column)}" y1="{_y(touched[0])}" '
            f'y2="{_y(touched[-1])}" stroke="#cbd5e1" stroke-width="2"/>'
        )


def _marks(number: int, row: StepRow, fields: list[str]) -> Iterator[str]:
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


def _loop_boxes(rows: list[StepRow], width: int) -> Iterator[str]:
    for first, row in enumerate(rows):
        if row.has_body:
            after = (n for n in range(first + 1, len(rows)) if rows[n].depth <= row.depth)
            last = next(after, len(rows)) - 1
            x, y = 4 + 14 * row.depth, _y(first) - _ROW / 2
            yield (
                f'<rect x="{x}" y="{y}" width="{width - 2 * x}" '
                f'height="{_ROW * (last - first + 1)}" rx="8" fill="#f8fafc" stroke="#cbd5e1"/>'
            )
