"""Edge lists as text: a line `u v` or `u v weight` for each edge, separated by spaces or tabs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ....errors import FileFormatError, GraphError
from ...column_names import Weight, choose_columns
from ...edge_list import Columns, check_weight
from ..file_format import Format
from .blocks import Blocks, Header
from .csv import csv_tables, row_fields
from .row_parser import Row, read_rows
from .text_file import TextFile, is_number, open_text, split_fields

_COMMENTS = b"#%"
#: Lines of comments that are kept while it is unknown whether the line before them is an edge.
_MOST_COMMENTS = 2**16


def txt_blocks(path: Path, weight: Weight = "weight") -> Blocks:
    """Yield the header and the blocks of a text edge list, plain or compressed.

    Vertices are numbered from 0. Lines that start with `#` or `%` are comments. The numbers of
    vertices and edges may come first: on separate lines, or on one line if the edges have weights.
    Without weights, a first line of two numbers is an edge, and it is an error if it could be the
    numbers of vertices and edges, too.

    `weight` may be a position, or a tuple of the positions of both ends and optionally the weights.
    Then the file does not state numbers of vertices and edges, and a line has any number of fields.

    Weights are int64; uint64 if one exceeds int64; float64 if one is decimal. If float64 would
    round an integer, the file is refused.
    """
    with open_text(path) as file:
        if isinstance(weight, tuple | int):
            weight = (0, 1, weight) if isinstance(weight, int) else weight
            start, pending = file.first_row(_COMMENTS, "edges")
            names = [str(at) for at in range(len(split_fields(pending)))]
            try:
                row = Row(_COMMENTS, row_fields(names, choose_columns(names, weight)))
            except GraphError as error:
                file.fail(start, str(error))
            yield Header()
            yield from read_rows(file, row, number=start, pending=pending)
            return
        check_weight(weight)
        counts, width, start, pending = _head(file)
        num_vertices = counts[0][1] if counts else None
        fields = "u", "v", "weight" if weight else "2"
        # Ids from 1 to the stated number are valid, too: then vertex 0 has no edge.
        num_ids = num_vertices + 1 if num_vertices else num_vertices
        row = Row(_COMMENTS, fields[:width], num_vertices=num_ids)
        line, num_edges = counts[1] if len(counts) == 2 else (1, None)
        yield Header(num_vertices, num_edges, line, is_lenient=True)
        blocks = read_rows(file, row, number=start, pending=pending)
        yield from blocks if counts or width == 3 else _check_first_edge(file, start, blocks)


def _check_first_edge(file: TextFile, number: int, blocks: Iterator[Columns]) -> Iterator[Columns]:
    """Yield edges without weights; check that the first one is not the counts of a graph.

    It could be, if its second number is that of further edges, and no vertex id exceeds the first.
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
            number,
            f"{shown!r} may state the numbers of vertices and edges, because {count} edges follow; "
            "write one number per line if so, or pass columns=(0, 1) if it is an edge",
        )


def _head(file: TextFile) -> tuple[list[tuple[int, int]], int, int, bytes]:
    """Read lines up to the first line that must be an edge.

    Return the counts with their line numbers; the number of fields of an edge; and the number of
    the first line that was read but not parsed, with the text from there.
    """
    counts: list[tuple[int, int]] = []
    # `pending` begins with a line of two numbers. They are counts if edges with weights follow;
    # otherwise the line is an edge.
    start, pending = 1, b""
    for number, line in file.lines():
        fields = split_fields(line)
        is_comment = not fields or fields[0][:1] in _COMMENTS
        if pending:
            # Of comments keep only the line ends, to number the lines that follow.
            pending += b"\n" if is_comment else line
            if number - start > _MOST_COMMENTS:
                file.fail(number, f"more than {_MOST_COMMENTS} lines without edges")
        if is_comment:
            continue
        if pending and len(fields) == 3:
            pair = split_fields(pending.partition(b"\n")[0])
            return [(start, file.count(start, token)) for token in pair], 3, number, line
        if pending:
            return [], 2, start, pending
        if len(fields) == 1 and len(counts) < 2:
            counts.append((number, file.count(number, fields[0])))
        elif len(fields) == 2 and not counts:
            start, pending = number, line
        elif len(fields) in (2, 3):
            return counts, len(fields), number, line
        else:
            file.fail(
                number,
                f"expected 'u v' or 'u v weight', found {len(fields)} fields; choose columns by "
                "position from 0, as in columns=(0, 1, 2)",
            )
    if not counts and not pending:
        raise FileFormatError(f"{file.path}: holds no edges")
    return counts, 2, start, pending


FORMAT = Format(
    "txt",
    (".txt", ".tsv", ".edges", ".el", ".edgelist"),
    blocks=txt_blocks,
    tables=partial(csv_tables, comments=_COMMENTS),
    has_columns=True,
    begins=lambda line: not line.isspace() and all(map(is_number, split_fields(line))),
)
