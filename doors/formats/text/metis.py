"""The METIS format: each line lists the neighbours of one vertex."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ....errors import FileFormatError
from ....graphs.edge_list import Columns
from ....graphs.libraries import pa
from ...libraries.arrow_tables import plain_values
from ..file_format import Format
from .blocks import Blocks, Header
from .row_parser import DECIMAL, arrow_table, check_last_line, require, whole_lines
from .text_file import (
    LARGEST_EXACT,
    SHORT_INTEGER,
    TextFile,
    check_edges,
    open_text,
    range_problem,
    shown,
    split_fields,
)

_COMMENT = b"%"
_LONGEST_LINE = 2**27  # it lists all neighbours of a vertex
_FORMAT = re.compile(rb"[01]{1,3}")
_COMMENT_LINE = re.compile(rb"^%.*\n", re.MULTILINE)
_BLANKS = bytes.maketrans(b"\t", b" ")


class _Layout(NamedTuple):
    """The layout of the lines of vertices."""

    num_vertices: int
    #: Number of leading fields to skip: the size and the weights of the vertex.
    num_skipped: int
    #: Number of fields for each neighbour: 2 if edges have weights, otherwise 1.
    step: int


def metis_blocks(path: Path, *, encoding: str | None = None) -> Blocks:
    """Yield the header and the blocks of a METIS graph, plain or compressed.

    After the header `n m [format [ncon]]` there are n lines, for vertices 1 to n. Each listed
    neighbour becomes an edge. So each edge of the METIS graph is read twice, once from each end. If
    the last digit of the format is 1, the weight of the edge follows each neighbour; it may be
    decimal, unlike in METIS. If the first or second digit is 1, a line begins with the size or
    with `ncon` weights of its vertex; these are ignored. Lines that start with `%` are comments.

    Source: Karypis, "METIS: A Software Package for Partitioning Unstructured Graphs", manual of
    version 5.1, section 4.1.1.
    """
    with open_text(path, encoding) as file:
        number, line = file.first_row(_COMMENT, "line of counts")
        layout, num_edges = _header(file, number, split_fields(line))
        check_edges(path, number, num_edges, 4)
        yield Header(layout.num_vertices)
        header_line, num_neighbours = number, 0
        number, vertex = number + 1, 0
        for block in whole_lines(file, longest=_LONGEST_LINE):
            try:
                degree, columns = _parse(block, layout, vertex)
            except ValueError as error:
                _raise_for_malformed_line(file, block, layout, number, vertex, error)
            yield columns
            num_neighbours += len(columns[0])
            vertex += len(degree)
            number += block.count(b"\n")
        # Lines at the end may be missing: their vertices have no neighbours.
        if num_neighbours != 2 * num_edges:
            file.fail(
                header_line,
                f"states {num_edges} edges, so {2 * num_edges} neighbours, one at each end; the "
                f"lines list {num_neighbours}, of {vertex} of {layout.num_vertices} vertices",
            )


def _header(file: TextFile, number: int, fields: list[bytes]) -> tuple[_Layout, int]:
    """Parse the header; return the format of further lines, and the number of edges."""
    digits = fields[2].zfill(3) if len(fields) > 2 else b"000"
    if not 2 <= len(fields) <= 4 or not _FORMAT.fullmatch(digits):
        file.fail(number, f"expected 'n m [format [ncon]]', found {shown(b' '.join(fields))}")
    counts = [file.count(number, token) for token in (*fields[:2], *fields[3:])]
    has_sizes, has_weights, is_weighted = (digit == ord("1") for digit in digits)
    num_weights = counts[2] if len(counts) > 2 else 1
    return _Layout(counts[0], has_sizes + has_weights * num_weights, 1 + is_weighted), counts[1]


def _parse(block: bytes, layout: _Layout, vertex: int) -> tuple[NDArray[np.int64], Columns]:
    """Return the degrees of the vertices from `vertex` on, and their arcs.

    Raise a ValueError if a line may be malformed.
    """
    require(block.endswith(b"\n"), "a line that is too long")
    text = _COMMENT_LINE.sub(b"", block).replace(b"\r\n", b"\n").translate(_BLANKS)
    others = text.translate(None, b"0123456789- \n")
    is_decimal = layout.step > 1 and bool(others) and not others.translate(None, b".eE+")
    require(is_decimal or not others, "a byte that is not part of a number")
    values = _numbers(text, pa.float64() if is_decimal else pa.int64())
    num_fields, num_lines = _fields_per_line(text), layout.num_vertices - vertex
    require(not num_fields[num_lines:].any(), "more lines than vertices")
    num_fields = num_fields[:num_lines]
    degree, odd = np.divmod(num_fields - layout.num_skipped, layout.step)
    require(not odd.any() and degree.min(initial=0) >= 0, "a line without its fields")
    if layout.num_skipped:  # drop the size and weights of the vertex
        first_field = np.repeat(np.cumsum(num_fields) - num_fields, num_fields)
        values = values[np.arange(len(values)) - first_field >= layout.num_skipped]
    v = values[:: layout.step].astype(np.int64, copy=False) - 1
    if is_decimal:
        require((v + 1 == values[::2]).all(), "a vertex that is not an integer")
        require(abs(values).max() < LARGEST_EXACT, "a number that float64 may round")
    is_inside = not len(v) or (v.min() >= 0 and v.max() < layout.num_vertices)
    require(is_inside, "a vertex out of range")
    u = np.repeat(np.arange(vertex, vertex + len(degree)), degree)
    return degree, (u, v, values[1::2] if layout.step > 1 else None)


def _numbers(text: bytes, kind: Any) -> NDArray[Any]:
    """Return all numbers of a text of digits, signs and white space, or raise a ValueError."""
    lines = text.replace(b" ", b"\n")
    if lines.isspace() or not lines:
        return np.empty(0, kind.to_pandas_dtype())
    return plain_values(arrow_table(lines, ["n"], {"n": kind})["n"].chunk(0))


def _fields_per_line(text: bytes) -> NDArray[np.int64]:
    """Return the number of fields in each line."""
    data = np.frombuffer(text, np.uint8)
    if not len(data):
        return np.empty(0, np.int64)
    is_first = data > ord(" ")
    is_first[1:] &= data[:-1] <= ord(" ")
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.append(0, ends[:-1] + 1)
    return np.add.reduceat(is_first, starts, dtype=np.int64)


def _raise_for_malformed_line(
    file: TextFile, block: bytes, layout: _Layout, number: int, vertex: int, cause: ValueError
) -> NoReturn:
    """Raise an error that names the first malformed line of a block; if there is none, the block.

    Its first line has the number `number`, and lists the neighbours of vertex `vertex`, from 0.
    """
    check_last_line(file, block, number)
    for line_number, line in enumerate(block.split(b"\n"), number):
        file.check_line_ends(line_number, line)
        fields = split_fields(line)
        if line.startswith(_COMMENT):
            continue
        vertex += 1
        if vertex > layout.num_vertices and fields:
            file.fail(line_number, f"there are only {layout.num_vertices} vertices")
        for column, token in enumerate(fields):
            is_weight = (
                layout.step > 1
                and column >= layout.num_skipped
                and (column - layout.num_skipped) % 2
            )
            if not SHORT_INTEGER.fullmatch(token) and not (is_weight and DECIMAL.fullmatch(token)):
                file.fail(line_number, f"{shown(token)} is not an integer of at most 18 digits")
        degree, odd = divmod(len(fields) - layout.num_skipped, layout.step)
        if vertex <= layout.num_vertices and (degree < 0 or odd):
            wanted = f"{layout.num_skipped} fields and {layout.step} for each neighbour"
            file.fail(line_number, f"expected {wanted}, found {len(fields)}")
        for token in fields[layout.num_skipped :: layout.step]:
            if not 1 <= int(token) <= layout.num_vertices:
                file.fail(line_number, range_problem(token.decode(), 1, layout.num_vertices))
    raise FileFormatError(f"{file.path}: lines {number} to {line_number}: {cause}")


FORMAT = Format("metis", (".graph", ".metis"), blocks=metis_blocks, is_text=True)
