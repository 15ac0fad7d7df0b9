"""Tables as text, such as CSV and TSV, with or without a header."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import FileFormatError, OptionError
from ....graphs.edge_table import EdgeTable
from ....graphs.libraries import arrow_csv, compute, pa
from ....graphs.vertex_names import name_columns
from ...column_names import USUAL, Choice, ColumnNames, columns_in
from ...libraries.arrow_tables import arrow_errors, arrow_values, with_keys
from ...places.folders import Keys
from ...places.url import Place
from ..file_format import Format, SavedForest
from .blocks import Blocks, Header
from .first_line import NUM_LINES, check_is_edge, check_is_table, is_header
from .row_parser import (
    ANY_BYTES,
    LineLayout,
    arrow_table,
    check_last_line,
    parse_weights,
    read_rows,
    records,
    whole_lines,
)
from .text_file import WRITTEN_AS, TextFile, open_text, split_fields, write_rows
from .tidy import has_comments, tidied

_DELIMITERS = (b",", b";", b"\t", b" ")  # in order of preference
_QUOTED_FIELD = re.compile(rb'(?:^|(?<=[,;\t ]))"(?:[^"]|"")*"')
_COMMENTS = b"#%"  # before the first row and, if spaces separate fields, between rows
_MAX_COLUMNS = 4096
_BLOCK_SIZE = 2**24  # bytes of a block of names, which several threads parse


def csv_blocks(
    path: Place, choose: Choice = USUAL, keys: Keys = (), *, encoding: str | None = None
) -> Blocks:
    """Yield the header and the blocks of a table, plain or compressed, with an edge in each line.

    The first line has the names of the columns, of which `choose` finds those of the graph. If it
    contains a number, but not the names of both ends, it is not a header, and the columns are u, v
    and optionally weight. The delimiter is the first of comma, semicolon, tab and space that occurs
    in the first line. Lines before it that start with `#` or `%` are comments. Fields may be
    quoted; spaces around them are ignored. Ids and weights are parsed as in `txt_blocks`. The
    weight may be one of `keys`, the columns that the names of the file's folders state.
    """
    with open_text(path, encoding) as file:
        delimiter, names, chosen, has_header = _read_head(file, choose, keys)
        stated = {name: value for name, value in keys if name not in names}
        if in_folders := stated.keys() & {chosen.u, chosen.v}:
            message = (
                f"{min(in_folders)!r} is in the names of folders; read it as a name with ends="
            )
            raise OptionError(f"{path}: {message}")
        yield Header()
        header = delimiter.decode().join(names)
        columns = names if has_header else range(len(names))
        layout = LineLayout(
            b"", row_fields(names, chosen), delimiter=delimiter, header=header, columns=columns
        )
        blocks = read_rows(file, layout)
        if chosen.weight not in stated:
            yield from blocks
            return
        column = with_keys(pa.table({"u": [0]}), keys)[chosen.weight]
        (weight_of_all,) = arrow_values(f"{path}: {chosen.weight}", column)
        for u, v, _ in blocks:
            yield u, v, np.full(len(u), weight_of_all)


def csv_tables(
    path: Place,
    choose: Choice,
    keys: Keys = (),
    *,
    encoding: str | None = None,
    comments: bytes = b"",
) -> Iterator[Any]:
    """Yield blocks of a table whose vertices have names: the chosen columns, and a table of them.

    Names are strings that are not empty, and weights are numbers. Spaces around a field are not
    part of it, unless they are quoted. Lines that start with one of the bytes `comments` are
    skipped.
    """
    with open_text(path, encoding) as file:
        delimiter, names, chosen, _ = _read_head(file, choose, keys, has_names=True)
        comments = _COMMENTS if delimiter == b" " else comments
        number = file.number + 1
        wanted = [name for name in chosen.present if name in names]
        ends = [name for name in columns_in((chosen.u, chosen.v)) if name in names]
        parse = partial(_parse_names, names=names, wanted=wanted, ends=ends, delimiter=delimiter)
        for block in whole_lines(file, _BLOCK_SIZE, is_quoted=True):
            check_last_line(file, block, number)
            rows = partial(_rows, file, block, number, delimiter, comments)
            try:
                table = parse(block, comments=comments)
            except pa.ArrowInvalid as error:
                _raise_for_malformed_line(file, rows(), names)
                file.fail(number, f"in the lines from here: {error}")
            for name in ends:
                if (row := compute.index(table[name], "").as_py()) >= 0:
                    file.fail(_line_of(row, rows), f"column {name!r} has no value")
            if chosen.weight in wanted:
                strings = table[chosen.weight].combine_chunks()
                weights = parse_weights(file, strings, partial(_line_of, rows=rows))
                position = wanted.index(chosen.weight)
                table = table.set_column(position, chosen.weight, pa.array(weights))
            if len(table):
                yield chosen, with_keys(table, keys)
            number += block.count(b"\n")


def _parse_names(
    block: bytes,
    *,
    names: Sequence[str],
    wanted: Sequence[str],
    ends: Sequence[str],
    delimiter: bytes,
    comments: bytes,
) -> Any:
    """Parse lines with pyarrow to a table of strings, without spaces around unquoted fields."""

    def parse(text: bytes) -> Any:
        if not text or text.isspace():
            return pa.table({name: pa.array([], pa.string()) for name in wanted})
        types = dict.fromkeys(wanted, pa.string())
        return arrow_table(text, names, types, delimiter, has_names=True)

    may_be_tidy = delimiter != b" " and not has_comments(block, comments)
    # To tidy quoted lines takes much longer than to parse them.
    if b'"' in block and may_be_tidy and b' "' not in block and b'\t"' not in block:
        with contextlib.suppress(pa.ArrowInvalid):
            table = parse(block)
            if all(compute.utf8_trim(table[name], " \t").equals(table[name]) for name in ends):
                return table
    return parse(tidied(block, delimiter, comments))


def _rows(
    file: TextFile, block: bytes, number: int, delimiter: bytes, comments: bytes
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the fields of each row with the number of its first line, from `number` on."""
    block = block.replace(b"\t", b" ") if delimiter == b" " else block
    for line, fields in records(file, block, number, delimiter):
        if any(fields) and not (fields[0] and fields[0][:1] in comments):
            yield line, fields


def _line_of(row: int, rows: Callable[[], Iterator[tuple[int, list[bytes]]]]) -> int:
    """Return the number of the line of a row, which is needed only for an error."""
    line, _ = next(itertools.islice(rows(), row, None))
    return line


def _raise_for_malformed_line(
    file: TextFile, rows: Iterable[tuple[int, list[bytes]]], names: Sequence[str]
) -> None:
    """Raise an error that names the first malformed line of some rows, if there is one."""
    for line, fields in rows:
        if len(fields) != len(names):
            has_row_names = len(fields) == len(names) + 1
            hint = "; name the column of row names, too" if has_row_names else ""
            file.fail(line, f"expected {len(names)} fields, found {len(fields)}{hint}")
        try:
            b" ".join(fields).decode()
        except UnicodeDecodeError:
            problem = "the text is not UTF-8; name its encoding, as in encoding='latin-1'"
            file.fail(line, problem)


def row_fields(names: Sequence[str], chosen: ColumnNames) -> tuple[str, ...]:
    """Return the fields of a `LineLayout` for all columns of a table, of which some are chosen."""
    known = dict(zip(chosen, ("u", "v", "weight"), strict=True))
    return tuple(known.get(name, str(at)) for at, name in enumerate(names))


def _read_head(
    file: TextFile,
    choose: Choice,
    keys: Keys,
    *,
    has_names: bool = False,
) -> tuple[bytes, list[str], ColumnNames, bool]:
    """Read the first line, and choose the columns of the graph.

    A line of numbers is not a header. If vertices have names and columns are chosen by position,
    the text has none. Without a header, the columns are u, v and weight; if columns are chosen by
    position, further columns may follow.

    Return the delimiter, the names of all columns, the chosen columns, and whether a header has the
    names.
    """
    number, line = file.first_row(_COMMENTS, "edges")
    first_lines = line + file.peek(NUM_LINES)
    first_record, *_ = _QUOTED_FIELD.sub(b'""', first_lines).splitlines()
    delimiter = next((mark for mark in _DELIMITERS if mark in first_record.strip()), b",")
    first_lines = tidied(first_lines, delimiter)
    rows = [
        (at, [field.decode(errors="replace") for field in fields])
        for at, fields in records(file, first_lines, number, delimiter)
        if fields
    ]
    _, names = rows[0]
    if len(names) > _MAX_COLUMNS:
        file.fail(number, f"{len(names)} columns, more than {_MAX_COLUMNS}")
    check_is_table(file, rows, delimiter.decode())
    has_no_header = has_names and choose.is_by_position
    has_header = not has_no_header and is_header(names, choose.ends)
    try:
        if not has_header:
            check_is_edge(file, rows, delimiter.decode(), choose.ends if has_no_header else None)
            if len(names) > 3 and not has_no_header and (has_names or choose.is_usual):
                raise ValueError(
                    f"{len(names)} columns without a header; choose columns by position from 0, as "
                    "in columns=(0, 1, 2)"
                )
            default = "u", "v", "weight", *map(str, range(3, len(names)))
            names = list(default[: len(names)])
            file.unread(number, line)
        chosen = choose([*names, *(name for name, _ in keys if name not in names)])
    except (FileFormatError, OptionError):
        raise
    except ValueError as error:
        file.fail(number, str(error))
    return delimiter, names, chosen, has_header


def read_csv_forest(path: Place, weight_dtype: np.dtype[Any], name_type: Any = None) -> SavedForest:
    """Read all columns of a forest: ids as int64 or `name_type`, weights as `weight_dtype`."""
    weight = pa.from_numpy_dtype(WRITTEN_AS.get(weight_dtype.name, weight_dtype))
    types = {"edge_id": pa.int64()}
    types |= name_columns("u", name_type or pa.int64()) | name_columns("v", name_type or pa.int64())
    options = arrow_csv.ConvertOptions(null_values=[], column_types={**types, "weight": weight})
    with arrow_errors(path):
        try:
            table = arrow_csv.read_csv(path, convert_options=options)
        except pa.ArrowInvalid:  # weights that differ from the graph's: `verify` reports the edge
            options.column_types = types
            table = arrow_csv.read_csv(path, convert_options=options)
        if len(set(table.column_names)) < len(table.column_names):
            raise ValueError("two columns have the same name")
        return {name: np.asarray(table[name]) for name in table.column_names}, None


def write_csv(path: Path, table: EdgeTable) -> None:
    """Write a header, and a line for each edge."""
    with path.open("wb") as file:
        file.write((",".join(table.dtypes) + "\n").encode())
        for columns in table.blocks():
            write_rows(file, list(columns.values()), ",")


def _begins(line: bytes) -> bool:
    """Return whether a line has several fields."""
    fields = split_fields(line.replace(b",", b" ").replace(b";", b" "))
    if len(fields) < 2 or fields[0][:1] in b"#%":
        return False
    # A byte that is not text becomes an unassigned character, which is not printable.
    return line.decode(errors=ANY_BYTES).replace("\t", " ").strip().isprintable()


FORMAT = Format(
    "csv",
    (".csv", ".txt", ".tsv", ".edges", ".el", ".edgelist"),
    blocks=csv_blocks,
    write=write_csv,
    writes_with="pyarrow.csv",
    read_forest=read_csv_forest,
    begins=_begins,
    tables=csv_tables,
    has_columns=True,
    holds_names=True,
    is_text=True,
)
