"""`.gr` files of DIMACS for shortest paths; also its `.col` files and PACE's `.gr` (read only)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....graphs.edge_table import EdgeTable
from ..file_format import Format
from .blocks import Blocks, Header
from .row_parser import LineLayout, read_rows
from .text_file import TextFile, is_number, open_text, shown, split_fields, write_rows

_COMMENT = b"c"
#: The first field of the lines of edges, and the names of all fields.
_ARC = b"a", ("tag", "u", "v", "weight")
_EDGE = b"e", ("tag", "u", "v")
_PAIR = b"", ("u", "v")
#: The lines of edges, by the second field of the header.
_LINES = {b"sp": _ARC, b"tw": _PAIR, b"td": _PAIR, b"edge": _EDGE, b"edges": _EDGE, b"col": _EDGE}


def gr_blocks(path: Path, *, encoding: str | None = None) -> Blocks:
    """Yield the header and the blocks of a `.gr` file, plain or compressed.

    After the line `p sp n m` there are m arcs `a u v weight`. After the lines `p tw n m` and
    `p td n m` there are m unweighted edges `u v`, and after `p edge n m` and `p col n m` lines
    `e u v`, whose number is not checked, because both arcs of an edge may be listed. Vertices
    are numbered from 1. In a file of arcs without a `p` line, vertices are numbered from 0, and
    their number is the largest id plus one. Lines that start with `c` are comments.
    """
    with open_text(path, encoding) as file:
        number, line = file.first_row(_COMMENT, "'p' line and no arcs")
        fields = split_fields(line)
        if fields[0] == b"p":
            layout, num_edges = _header(file, number, fields)
            yield Header(layout.num_vertices, num_edges, number)
        else:
            file.unread(number, line)
            tag, names = _ARC
            layout = LineLayout(_COMMENT, names, tag)
            yield Header()
        yield from read_rows(file, layout)


def write_gr(path: Path, table: EdgeTable) -> None:
    """Write `p sp n m` and an arc `a u v weight` for each edge; vertices are numbered from 1."""
    with path.open("wb") as file:
        file.write(f"p sp {table.num_vertices} {table.num_edges}\n".encode())
        for columns in table.blocks():
            ends = (columns[name].astype(np.int64) + 1 for name in "uv")
            write_rows(file, [*ends, columns["weight"]], tag="a")


def _header(file: TextFile, number: int, fields: list[bytes]) -> tuple[LineLayout, int | None]:
    """Parse `p sp n m`, `p tw n m` or `p edge n m`; return the format of other lines, and m.

    None stands for an m that is not checked.
    """
    if len(fields) != 4 or fields[1] not in _LINES:
        wanted = "'p sp n m', 'p tw n m' or 'p edge n m'"
        file.fail(number, f"expected {wanted}, found {shown(b' '.join(fields))}")
    num_vertices, num_edges = (file.count(number, token) for token in fields[2:])
    tag, names = _LINES[fields[1]]
    comments = _COMMENT + b"n" * (tag == b"e")  # lines `n` have colours of vertices
    return LineLayout(comments, names, tag, 1, num_vertices), None if tag == b"e" else num_edges


def begins(line: bytes) -> bool:
    """Return whether a line is a header or an arc, not an edge of a vertex called `p` or `a`."""
    tag, *fields = split_fields(line) or [b""]
    if tag == b"p":
        return len(fields) > 1 and fields[0] in _LINES
    return tag == b"a" and len(fields) == 3 and all(map(is_number, fields))


FORMAT = Format(
    "gr",
    (".gr", ".col"),
    blocks=gr_blocks,
    write=write_gr,
    writes_with="pyarrow.csv",
    begins=begins,
    is_text=True,
)
