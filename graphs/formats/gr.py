"""`.gr` files: the DIMACS shortest-path format, and to read the PACE treewidth format."""

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

_COMMENT = b"c"
_TAGS = {b"sp": b"a", b"tw": b"", b"td": b""}


def read_gr(path: Path, *, block_size: int = BLOCK_SIZE) -> EdgeList:
    """Read a `.gr` file, plain or compressed.

    After `p sp n m` come m arcs `a u v weight`; after `p tw n m` or `p td n m` m edges `u v`,
    unweighted. Both number vertices from 1. A file of arcs without a `p` line is taken as written:
    from 0, with as many vertices as its largest id asks for. Lines that start with `c` are
    comments.

    Raises
    ------
    FileFormatError
        If the file is anything else; names the line.
    """
    with open_text(path) as handle:
        number, line = first_row(path, head_lines(path, handle), _COMMENT, "'p' line and no arcs")
        fields = split_fields(line)
        if fields[0] == b"p":
            row, stated = _header(path, number, fields)
            start, pending = number + 1, b""
        else:
            row, stated = Row(_COMMENT, b"a"), None
            start, pending = number, line
        blocks = column_blocks(
            path, handle, row, number=start, pending=pending, block_size=block_size
        )
        graph = join_blocks(path, blocks, row.num_vertices)
    if stated is not None:
        check_num_edges(path, number, stated, graph.num_edges)
    return graph


def write_gr(path: Path, graph: EdgeList) -> None:
    """Write `p sp n m` and an arc `a u v weight` for each edge, vertices numbered from 1."""
    with path.open("wb") as file:
        file.write(f"p sp {graph.num_vertices} {graph.num_edges}\n".encode())
        ends = (ids.astype(np.int64) + 1 for ids in (graph.u, graph.v))
        write_rows(file, [*ends, graph.weight], tag="a")


def _header(path: Path, number: int, fields: list[bytes]) -> tuple[Row, int]:
    """Read `p sp n m` or `p tw n m`: what the lines after it hold, and how many there are."""
    if len(fields) != 4 or fields[1] not in _TAGS:
        fail(path, number, f"expected 'p sp n m' or 'p tw n m', found {shown(b' '.join(fields))}")
    num_vertices, num_edges = (parse_count(path, number, token) for token in fields[2:])
    tag = _TAGS[fields[1]]
    return Row(_COMMENT, tag, bool(tag), 1, num_vertices), num_edges
