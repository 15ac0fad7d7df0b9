"""Edge lists as text: a line `u v` or `u v weight` for each edge, separated by spaces or tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....errors import FileFormatError
from ..file_format import Format
from .blocks import Header
from .columns import Row, read_rows
from .text_file import TextFile, is_number, open_text, split_fields

if TYPE_CHECKING:
    from pathlib import Path

    from .blocks import Blocks

_COMMENTS = b"#%"
_MOST_COMMENTS = 2**16  # after the first edge or line of counts


def txt_blocks(path: Path) -> Blocks:
    """Yield the header and the blocks of a text edge list, plain or compressed.

    Vertices are numbered from 0. Lines that start with `#` or `%` are comments. The number of
    vertices and the number of edges may come first. They are on separate lines, or on one line if
    the edges have weights. (Without weights, a line of two numbers is an edge.)

    Weights are int64; uint64 if one exceeds int64; float64 if one is decimal. If float64 would
    round an integer, the file is refused.
    """
    with open_text(path) as file:
        counts, width, start, pending = _head(file)
        num_vertices = counts[0][1] if counts else None
        row = Row(_COMMENTS, ("u", "v", "weight")[:width], num_vertices=num_vertices)
        line, num_edges = counts[1] if len(counts) == 2 else (1, None)
        yield Header(num_vertices, num_edges, line)
        yield from read_rows(file, row, number=start, pending=pending)


def _head(file: TextFile) -> tuple[list[tuple[int, int]], int, int, bytes]:
    """Read lines up to the first line that must be an edge.

    Return the counts with their line numbers, the number of fields of an edge, and the lines that
    were read but not parsed, with the number of the first of them.
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
            file.fail(number, f"expected 'u v' or 'u v weight', found {len(fields)} fields")
    if not counts and not pending:
        raise FileFormatError(f"{file.path}: holds no edges")
    return counts, 2, start, pending


FORMAT = Format(
    "txt",
    (".txt", ".tsv", ".edges", ".el", ".edgelist"),
    blocks=txt_blocks,
    begins=lambda line: not line.isspace() and all(map(is_number, split_fields(line))),
)
