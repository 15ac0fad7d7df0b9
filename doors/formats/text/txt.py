"""Edge lists as text: a line `u v` or `u v weight` for each edge, separated by spaces or tabs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ....errors import FileFormatError, GraphError
from ....graphs.edge_list import Columns
from ...column_names import USUAL, Choice
from ...weights import check_weight
from ..file_format import Format
from .blocks import Blocks, Header
from .csv import csv_tables, row_fields
from .first_line import NUM_LINES, check_is_edge, check_is_table
from .row_parser import LineLayout, read_rows
from .text_file import TextFile, is_number, open_text, split_fields

_COMMENTS = b"#%"
#: Lines that are kept while it is unknown whether the first of them is an edge.
_MAX_PENDING_LINES = 2**16


def txt_blocks(path: Path, choose: Choice = USUAL, *, encoding: str | None = None) -> Blocks:
    """Yield the header and the blocks of a text edge list, plain or compressed.

    Vertices are numbered from 0. Lines that start with `#` or `%` are comments. The numbers of
    vertices and edges may come first: on separate lines, or on one line if the edges have weights.
    Without weights, a first line of two numbers is an edge, and it is an error if it could be the
    numbers of vertices and edges, too.

    If columns are chosen by position, the file does not state numbers of vertices and edges, and a
    line has any number of fields.

    Weights are int64; uint64 if one exceeds int64; float64 if one is decimal. If float64 would
    round an integer, the file is refused.
    """
    with open_text(path, encoding) as file:
        _check_first_lines(file)
        if not choose.is_usual:
            chosen = Choice(choose.weight, choose.ends or (0, 1))
            number, first = file.first_row(_COMMENTS, "edges")
            file.unread(number, first)
            names = [str(position) for position in range(len(split_fields(first)))]
            try:
                fields = row_fields(names, chosen(names))
            except GraphError as error:
                file.fail(number, str(error))
            yield Header()
            yield from read_rows(file, LineLayout(_COMMENTS, fields, columns=range(len(fields))))
            return
        check_weight(choose)
        counts, width = _read_head(file)
        num_vertices = counts[0][1] if counts else None
        fields = ("u", "v", "weight" if choose.weight else "2")[:width]
        # Ids from 1 to the stated number are valid, too: then vertex 0 has no edge.
        num_ids = num_vertices + 1 if num_vertices else num_vertices
        layout = LineLayout(_COMMENTS, fields, num_vertices=num_ids, columns=range(width))
        line, num_edges = counts[1] if len(counts) == 2 else (1, None)
        yield Header(num_vertices, num_edges, line, is_lenient=True)
        blocks = read_rows(file, layout)
        yield from blocks if counts or width == 3 else _check_first_edge(file, blocks)


def _check_first_lines(file: TextFile) -> None:
    """Check that the first lines are neither a header of numbers nor a matrix."""
    rows, delimiter = [], " "
    for number, line in enumerate(file.peek(NUM_LINES).split(b"\n"), file.number + 1):
        fields = [field.decode(errors="replace") for field in split_fields(line)]
        if fields and fields[0][0] not in _COMMENTS.decode():
            rows.append((number, fields))
            delimiter = "\t" if b"\t" in line else delimiter
    if rows:
        num_counts = next((at for at, (_, fields) in enumerate(rows) if len(fields) > 1), 0)
        check_is_table(file, rows[num_counts:], delimiter)
        check_is_edge(file, rows, delimiter)


def _check_first_edge(file: TextFile, blocks: Iterator[Columns]) -> Iterator[Columns]:
    """Yield edges without weights; check that the first one is not the counts of a graph.

    It may be these if its second number is the number of further edges, and no vertex id exceeds
    its first number.
    """
    first: tuple[int, int] | None = None
    count = largest = 0
    for block in blocks:
        u, v, _ = block
        if first is None:
            first, u, v = (int(u[0]), int(v[0])), u[1:], v[1:]
        count += len(u)
        largest = max(largest, int(u.max(initial=0)), int(v.max(initial=0)))
        yield block
    if first is not None and 0 < count == first[1] and largest <= first[0]:
        shown = "{} {}".format(*first)
        file.fail(
            file.number + 1,
            f"{shown!r} may state the numbers of vertices and edges, because {count} edges follow; "
            "write one number per line if so, or pass columns=(0, 1) if it is an edge",
        )


def _read_head(file: TextFile) -> tuple[list[tuple[int, int]], int]:
    """Read the lines before the edges.

    Return the numbers of vertices and edges, each with the number of its line, as far as they are
    stated; and the number of fields of an edge.
    """
    counts: list[tuple[int, int]] = []
    # Line `start` is the first of `pending`, and has two numbers. They are counts if edges with
    # weights follow; otherwise the line is an edge.
    start, pending = 1, b""
    for number, line in file.lines():
        fields = split_fields(line)
        is_comment = not fields or fields[0][:1] in _COMMENTS
        if pending:
            # Of comments keep only the line ends, to number the lines that follow.
            pending += b"\n" if is_comment else line
            if number - start > _MAX_PENDING_LINES:
                file.fail(number, f"more than {_MAX_PENDING_LINES} lines without edges")
        if is_comment:
            continue
        if pending and len(fields) == 3:
            pair = split_fields(pending.partition(b"\n")[0])
            file.unread(number, line)
            return [(start, file.count(start, token)) for token in pair], 3
        if pending:
            break
        if len(fields) == 1 and len(counts) < 2:
            counts.append((number, file.count(number, fields[0])))
        elif len(fields) == 2 and not counts:
            start, pending = number, line
        elif len(fields) in (2, 3):
            file.unread(number, line)
            return counts, len(fields)
        else:
            file.fail(
                number,
                f"expected 'u v' or 'u v weight', found {len(fields)} fields; choose columns by "
                "position from 0, as in columns=(0, 1, 2)",
            )
    if not counts and not pending:
        raise FileFormatError(f"{file.path}: holds no edges")
    file.unread(start, pending)
    return counts, 2


def _begins(line: bytes) -> bool:
    """Return whether a line has only numbers, or is an edge between names with a number."""
    fields = split_fields(line)
    if all(map(is_number, fields)):
        return bool(fields)
    is_text = line.decode(errors="replace").replace("\t", " ").strip().isprintable()
    is_edge = is_text and len(fields) > 1 and fields[0][:1] not in _COMMENTS
    return is_edge and any(map(is_number, fields)) and not {*b",;"} & {*line}


FORMAT = Format(
    "txt",
    (".txt", ".tsv", ".edges", ".el", ".edgelist"),
    blocks=txt_blocks,
    tables=partial(csv_tables, comments=_COMMENTS),
    has_columns=True,
    begins=_begins,
    is_text=True,
)
