"""Tables as text for terminals and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

# Inherited or translucent colors are readable on white and on black.
_TABLE = "display:inline-table;vertical-align:top;border-collapse:collapse;margin:0.5em 2em 0.5em 0"
_CELL = "padding:0.1em 0.6em;background:none;color:inherit;font-variant-numeric:tabular-nums"
_RULE = ";border-bottom:1px solid rgba(128,128,128,0.6)"
_BAR = (
    ";min-width:4em"
    ";background:linear-gradient(90deg,rgba(30,150,170,0.5) {0:.0f}%,transparent {0:.0f}%)"
)


class Table(NamedTuple):
    """A head, rows, and the share of each row; `shares` is empty for a table without shares."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    shares: Sequence[float]


def as_text(caption: str, tables: Sequence[Table]) -> str:
    """Format the tables one below the other."""
    blocks = [caption] if caption else []
    for table in tables:
        lines = list(_lines(table))
        first_width, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
        rows = ([line[0].ljust(first_width), *map(str.rjust, line[1:], widths)] for line in lines)
        blocks.append("\n".join(map("  ".join, rows)))
    return "\n\n".join(blocks)


def as_html(caption: str, tables: Sequence[Table]) -> str:
    """Format the tables side by side, with bars behind the shares."""
    parts = [f"<div>{escape(caption)}</div>"] if caption else []
    for table in tables:
        head, *lines = _lines(table)
        parts += [f'<table style="{_TABLE}">', "<thead>", _row("th", head, _RULE), "</thead>"]
        bars = [_BAR.format(100 * share) for share in table.shares] or [""] * len(lines)
        parts += [_row("td", line, "", bar) for line, bar in zip(lines, bars, strict=True)]
        parts.append("</table>")
    return "\n".join(["<div>", *parts, "</div>"])


def _lines(table: Table) -> Iterator[tuple[str, ...]]:
    """Yield the head and the rows, with a last column for the shares if there are any."""
    yield (*table.head, "%") if table.shares else table.head
    for place, row in enumerate(table.rows):
        yield (*row, f"{100 * table.shares[place]:.0f}") if table.shares else row


def _row(tag: str, cells: Sequence[str], style: str, last: str = "") -> str:
    """Format a row; `last` is added to the style of its last cell."""
    styles = [";text-align:left", *[";text-align:right"] * (len(cells) - 1)]
    styles[-1] += last
    drawn = (
        f'<{tag} style="{_CELL}{style}{cell_style}">{escape(cell)}</{tag}>'
        for cell, cell_style in zip(cells, styles, strict=True)
    )
    return f"<tr>{''.join(drawn)}</tr>"
