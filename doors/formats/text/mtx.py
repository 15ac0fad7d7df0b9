"""The Matrix Market exchange format: graphs as sparse matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....graphs.edge_table import EdgeTable
from ..file_format import Format
from .blocks import Blocks, Header
from .row_parser import LineLayout, read_rows
from .text_file import TextFile, open_text, shown, split_fields, write_rows

_COMMENT = b"%"
_WEIGHTED = b"integer", b"unsigned-integer", b"real", b"double"
#: The fields of a line, by the type of the values that the first line states.
_FIELDS = {b"pattern": ("u", "v"), **dict.fromkeys(_WEIGHTED, ("u", "v", "weight"))}
_SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric")


def mtx_blocks(path: Path, *, encoding: str | None = None) -> Blocks:
    """Yield the header and the blocks of a square coordinate matrix, plain or compressed.

    Each stored entry becomes an edge, including zeros and the diagonal. A symmetric matrix stores
    one triangle, a general matrix may store both. Rows and columns are numbered from 1. A pattern
    matrix has no weights.

    Source: Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996.
    """
    with open_text(path, encoding) as file:
        fields_of_entry = _fields(file, *next(file.lines()))
        number, line = file.first_row(_COMMENT, "line of sizes")
        fields = split_fields(line)
        if len(fields) != 3:
            file.fail(number, f"expected 'rows columns entries', found {len(fields)} fields")
        rows, columns, num_entries = (file.count(number, token) for token in fields)
        if rows != columns:
            file.fail(number, f"expected a square matrix, found {rows} by {columns}")
        layout = LineLayout(_COMMENT, fields_of_entry, first_id=1, num_vertices=rows)
        yield Header(rows, num_entries, number)
        yield from read_rows(file, layout)


def write_mtx(path: Path, table: EdgeTable) -> None:
    """Write a symmetric matrix: an entry on or below the diagonal for each edge.

    Rows and columns are numbered from 1. Parallel edges become entries with equal indices.
    """
    field = "real" if table.dtypes["weight"].kind == "f" else "integer"
    size = table.num_vertices
    with path.open("wb") as file:
        file.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n".encode())
        file.write(f"{size} {size} {table.num_edges}\n".encode())
        for columns in table.blocks():
            ends = [columns[name].astype(np.int64) + 1 for name in "uv"]
            write_rows(file, [np.maximum(*ends), np.minimum(*ends), columns["weight"]])


def _fields(file: TextFile, number: int, line: bytes) -> tuple[str, ...]:
    """Parse the first line, and return the fields of an entry."""
    words = split_fields(line.lower())
    if len(words) != 5 or words[:2] != [b"%%matrixmarket", b"matrix"]:
        wanted = "'%%MatrixMarket matrix coordinate FIELD SYMMETRY'"
        file.fail(number, f"expected {wanted}, found {shown(b' '.join(words))}")
    for word, known in zip(words[2:], ((b"coordinate",), _FIELDS, _SYMMETRIES), strict=True):
        if word not in known:
            names = " or ".join(name.decode() for name in known)
            file.fail(number, f"expected {names}, found {shown(word)}")
    return _FIELDS[words[3]]


FORMAT = Format(
    "mtx",
    (".mtx",),
    blocks=mtx_blocks,
    write=write_mtx,
    writes_with="pyarrow.csv",
    begins=lambda line: line.lower().startswith(b"%%matrixmarket"),
    is_text=True,
)
