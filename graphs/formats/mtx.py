"""Graphs as sparse matrices in the Matrix Market exchange format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..text.columns import BLOCK_SIZE, Row, column_blocks, join_blocks
from ..text.files import (
    check_num_edges,
    fail,
    first_row,
    head_lines,
    open_text,
    parse_count,
    shown,
    split_fields,
    write_rows,
)

if TYPE_CHECKING:
    from pathlib import Path

    from ..edge_list import EdgeList

_COMMENT = b"%"
_WEIGHTED = {b"pattern": False, b"integer": True, b"real": True, b"double": True}
_SYMMETRIES = (b"general", b"symmetric", b"skew-symmetric")


def read_mtx(path: Path, *, block_size: int = BLOCK_SIZE) -> EdgeList:
    """Read a square coordinate matrix, plain or compressed: an edge for each stored entry.

    Entries are taken as they are stored, zeros and the diagonal among them: of a symmetric matrix
    one triangle, of a general one maybe both. Rows and columns are numbered from 1. A pattern has
    no weights.

    Source: Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats", NISTIR 5935, 1996.

    Raises
    ------
    FileFormatError
        If the file is anything else; names the line.
    """
    with open_text(path) as handle:
        lines = head_lines(path, handle)
        weighted = _weighted(path, *next(lines))
        number, line = first_row(path, lines, _COMMENT, "line of sizes")
        fields = split_fields(line)
        if len(fields) != 3:
            fail(path, number, f"expected 'rows columns entries', found {len(fields)} fields")
        rows, columns, stated = (parse_count(path, number, token) for token in fields)
        if rows != columns:
            fail(path, number, f"a graph is a square matrix, not one of {rows} by {columns}")
        row = Row(_COMMENT, weighted=weighted, first_id=1, num_vertices=rows)
        blocks = column_blocks(path, handle, row, number=number + 1, block_size=block_size)
        graph = join_blocks(path, blocks, rows)
    check_num_edges(path, number, stated, graph.num_edges)
    return graph


def write_mtx(path: Path, graph: EdgeList) -> None:
    """Write a symmetric matrix: an entry for each edge, below the diagonal or on it.

    Rows and columns are numbered from 1. Parallel edges are entries at one place.
    """
    ends = [ids.astype(np.int64) + 1 for ids in (graph.u, graph.v)]
    field = "real" if graph.weight.dtype.kind == "f" else "integer"
    size = graph.num_vertices
    with path.open("wb") as file:
        file.write(f"%%MatrixMarket matrix coordinate {field} symmetric\n".encode())
        file.write(f"{size} {size} {graph.num_edges}\n".encode())
        write_rows(file, [np.maximum(*ends), np.minimum(*ends), graph.weight])


def _weighted(path: Path, number: int, line: bytes) -> bool:
    """Read the first line; tell whether entries have values."""
    words = split_fields(line.lower())
    if len(words) != 5 or words[:2] != [b"%%matrixmarket", b"matrix"]:
        message = "expected '%%MatrixMarket matrix coordinate FIELD SYMMETRY', found "
        fail(path, number, message + shown(b" ".join(words)))
    _, _, layout, field, symmetry = words
    for word, known in (
        (layout, (b"coordinate",)),
        (field, tuple(_WEIGHTED)),
        (symmetry, _SYMMETRIES),
    ):
        if word not in known:
            names = ", ".join(name.decode() for name in known)
            fail(path, number, f"{shown(word)} is none of {names}")
    return _WEIGHTED[field]
