"""The first lines of a table: a header, edges, or content that is not a list of edges."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...column_names import END_NAMES, columns_in
from .text_file import TextFile, is_number

#: Number of lines that are compared with the first one.
NUM_LINES = 64
#: Words in the names of the columns of ends.
_WORD = re.compile(
    "u|v|from|to|source|target|src|dst|dest|destination|origin|left|right|head|tail|start|end|ids?|"
    "node|vertex|key|label|name|record|entity|parent|child|user"
)
#: One line of a table: its number and its fields.
Numbered = tuple[int, list[str]]


def is_header(fields: Sequence[str], ends: Sequence[Any] | None) -> bool:
    """Return whether a line has names of columns: the names of both ends, or else no number.

    The names of the ends are `ends`, by default one of the usual pairs.
    """
    pairs = END_NAMES if ends is None else [list(columns_in(ends))]
    has_ends = any(set(pair) <= set(fields) for pair in pairs)
    return has_ends or not any(map(is_number, fields))


def check_is_edge(
    file: TextFile, rows: Sequence[Numbered], delimiter: str, ends: Any = None
) -> None:
    """Check that the first of some rows, which should be an edge, does not look like a header.

    For vertices with names, `ends` are the positions of their columns.
    """
    number, first = rows[0]
    others = [fields for _, fields in rows[1:] if len(fields) == len(first)]
    way_out = "write a line of column names before it if it is an edge"
    if _are_positions(first, others, is_spaced=delimiter == " ", has_names=ends is not None):
        shown = ",".join(first)
        problem = f"{shown!r} may be a header of column numbers, as pandas writes it; remove it, or"
        file.fail(number, f"{problem} {way_out}")
    places = [] if ends is None else list(columns_in(ends))
    if 0 <= max(places, default=-1) < len(first) and _are_labels(first, others, places):
        named = f"ends={_in_place(tuple(ends), first)!r}"
        problem = (
            f"looks like a header: name the columns, as in {named}, because text has no header"
        )
        file.fail(number, f"{problem} if ends= are positions; {way_out}")


def _are_positions(
    first: list[str], others: Sequence[list[str]], *, is_spaced: bool, has_names: bool
) -> bool:
    """Return whether fields are 0, 1, 2 and so on, as pandas names columns, and not an edge."""
    named = first[first[:1] == [""] :]
    if len(named) < 2 or named != [str(at) for at in range(len(named))]:
        return False
    # Of two columns, and in lines with spaces, only a column without integers shows the header.
    differs = any(
        not any(map(str.isdecimal, column)) and (has_names or all(map(is_number, column)))
        for column in zip(*others, strict=True)
    )
    return differs or len(named) < len(first) or (len(named) > 2 and not is_spaced)


def _are_labels(first: list[str], others: Sequence[list[str]], ends: Sequence[int]) -> bool:
    """Return whether the ends of the first line are words that only the names of columns have.

    The first line is also a header if it has no number, but a column below it has only numbers.
    """
    if all(_has_word(first[end]) for end in ends):
        return not any(_has_word(fields[end]) for fields in others for end in ends)
    columns = zip(*others, strict=True)
    return not any(map(is_number, first)) and any(all(map(is_number, each)) for each in columns)


def _has_word(name: str) -> bool:
    """Return whether a name has one of `_WORD`, as `left`, `node_1` and `personId` have."""
    words = re.findall("[a-z]+", re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower())
    return any(map(_WORD.fullmatch, words))


def _in_place(ends: Any, names: Sequence[str]) -> Any:
    """Return positions, maybe nested, as names."""
    if isinstance(ends, tuple | list):
        return tuple(_in_place(end, names) for end in ends)
    return names[ends] if isinstance(ends, int) else ends


def check_is_table(file: TextFile, rows: Sequence[Numbered], delimiter: str) -> None:
    """Check that rows are not those of a matrix of distances, with or without labels."""
    number, fields = rows[0][0], [fields for _, fields in rows]
    has_labels = _have_labels(fields)
    if not has_labels and not _is_symmetric(fields):
        return
    options = f"{', sep=' + repr(delimiter) if delimiter != ',' else ''}"
    options += ", index_col=0" if has_labels else ", header=None"
    file.fail(
        number,
        "the text is a matrix of distances, not a list of edges; pass (i, j, d[i, j]) with "
        f"d = pandas.read_csv(path{options}).to_numpy() and i, j = numpy.triu_indices(len(d), 1)",
    )


def _have_labels(rows: Sequence[list[str]]) -> bool:
    """Return whether rows are a matrix with a header, and the same labels before each row."""
    header, *lines = rows
    has_corner = {*map(len, lines)} == {len(header)} and not is_number(header[0])
    labels = header[1:] if has_corner else header
    are_rows = 2 <= len(lines) <= len(labels) and all(
        line[0] == label and len(line) == len(labels) + 1 and all(map(is_number, line[1:]))
        for line, label in zip(lines, labels, strict=False)
    )
    has_words = not any(map(is_number, labels))
    return are_rows and (has_words or _is_symmetric([line[1:] for line in lines]))


def _is_symmetric(rows: Sequence[list[str]]) -> bool:
    """Return whether rows are a square matrix, of at least 3 rows, with zeros on its diagonal."""
    size = len(rows[0])
    if not 3 <= len(rows) <= size or {*map(len, rows)} != {size}:
        return False
    try:
        matrix = np.array([row[: len(rows)] for row in rows], float)
    except ValueError:
        return False
    # Three edges may look like a matrix, but hardly ever like one without a distance of zero.
    num_zeros = np.count_nonzero(matrix == 0)
    is_symmetric = bool((matrix == matrix.T).all()) and not matrix.diagonal().any()
    return is_symmetric and (num_zeros == 3 or size > 3)
