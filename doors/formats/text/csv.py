"""Tables as text, such as CSV and TSV, with or without a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ....errors import OptionError
from ....graphs.edge_table import EdgeTable
from ....graphs.pyarrow import arrow_csv, pa
from ....graphs.vertex_names import name_columns
from ...column_names import Choose, Chooser, ColumnNames, Weight, choose_columns
from ...libraries.arrow_tables import arrow_errors, arrow_values, with_keys
from ...places.folders import Keys
from ...places.url import Place
from ..file_format import Format, SavedForest
from .blocks import Blocks, Header
from .row_parser import (
    ANY_BYTES,
    Row,
    arrow_table,
    check_last_line,
    parse_weights,
    read_rows,
    records,
    whole_lines,
    with_single_spaces,
)
from .text_file import WRITTEN_AS, TextFile, is_number, open_text, split_fields, write_rows

_DELIMITERS = (b",", b";", b"\t", b" ")  # in order of preference
_MAX_COLUMNS = 4096
_BLOCK_SIZE = 2**24  # bytes of a block of names, which several threads parse


def csv_blocks(path: Place, weight: Weight = "weight", keys: Keys = ()) -> Blocks:
    """Yield the header and the blocks of a table, plain or compressed, with an edge in each line.

    The first line has the names of the columns. `choose_columns` finds the columns of the
    graph; all others are ignored. If the first line contains a number, it is not a header, and the
    columns are u, v and optionally weight. The delimiter is the first of comma, semicolon, tab and
    space that occurs in the first line. Lines before it that start with `#` are comments. Fields
    may be quoted. Ids and weights are parsed as in `txt_blocks`. The weight may be one of `keys`,
    the columns that the names of the file's folders state.
    """
    with open_text(path) as file:
        choose = partial(choose_columns, weight=weight)
        by_position = isinstance(weight, tuple | int)
        delimiter, names, chosen = _read_head(file, choose, keys, by_position=by_position)
        stated = {name: value for name, value in keys if name not in names}
        if ends := stated.keys() & {chosen.u, chosen.v}:
            message = f"{min(ends)!r} is in the names of folders; read it as a name with ends="
            raise OptionError(f"{path}: {message}")
        yield Header()
        header = delimiter.decode().join(names)
        row = Row(b"", row_fields(names, chosen), delimiter=delimiter, header=header)
        blocks = read_rows(file, row)
        if chosen.weight not in stated:
            yield from blocks
            return
        column = with_keys(pa.table({"u": [0]}), keys)[chosen.weight]
        (weight_of_all,) = arrow_values(f"{path}: {chosen.weight}", column)
        for u, v, _ in blocks:
            yield u, v, np.full(len(u), weight_of_all)


def csv_tables(
    path: Place,
    choose: Chooser,
    keys: Keys = (),
    *,
    encoding: str | None = None,
    comments: bytes = b"",
) -> Iterator[Any]:
    """Yield blocks of a table whose vertices have names: the chosen columns, and a table of them.

    Names are strings, and weights are numbers. Lines that start with one of the bytes `comments`
    are skipped.
    """
    with open_text(path, encoding) as file:
        by_position = choose.is_by_position
        delimiter, names, chosen = _read_head(
            file, choose, keys, b"#" + comments, by_position=by_position, has_names=True
        )
        number = file.number + 1
        wanted = [name for name in chosen.present if name in names]
        types = dict.fromkeys(wanted, pa.string())
        for block in whole_lines(file, _BLOCK_SIZE, is_quoted=True):
            check_last_line(file, block, number)
            text, lines = _without_comments(block, number, delimiter, comments)
            if text and not text.isspace():
                try:
                    table = arrow_table(text, names, types, delimiter, has_names=True)
                except pa.ArrowInvalid as error:
                    _raise_for_malformed_line(file, text, lines, delimiter, names)
                    file.fail(number, f"in the lines from here: {error}")
                if chosen.weight in wanted:
                    weights = parse_weights(file, table[chosen.weight].combine_chunks(), lines)
                    position = wanted.index(chosen.weight)
                    table = table.set_column(position, chosen.weight, pa.array(weights))
                yield chosen, with_keys(table, keys)
            number += block.count(b"\n")


def _without_comments(
    block: bytes, number: int, delimiter: bytes, comments: bytes
) -> tuple[bytes, Sequence[int]]:
    """Return a block without comments, empty lines and repeated spaces; and its line numbers."""
    numbers: Sequence[int] = range(number, number + block.count(b"\n"))
    if delimiter == b" " and b'"' not in block:
        block = with_single_spaces(block.replace(b"\t", b" "))
    marks = [bytes([mark]) for mark in comments]
    if b'"' not in block and (b"\n\n" in block or any(mark in block for mark in marks)):
        lines = block.split(b"\n")[:-1]
        kept = [at for at, line in enumerate(lines) if line.strip() and line[:1] not in marks]
        return b"".join(lines[at] + b"\n" for at in kept), [numbers[at] for at in kept]
    return block, numbers


def _raise_for_malformed_line(
    file: TextFile, text: bytes, lines: Sequence[int], delimiter: bytes, names: list[str]
) -> None:
    """Raise an error that names the first malformed line of a block, if there is one."""
    for number, fields in records(file, text, 0, delimiter):
        if fields and len(fields) != len(names):
            has_row_names = len(fields) == len(names) + 1
            hint = "; name the column of row names, too" if has_row_names else ""
            file.fail(lines[number], f"expected {len(names)} fields, found {len(fields)}{hint}")
        try:
            b" ".join(fields).decode()
        except UnicodeDecodeError:
            problem = "the text is not UTF-8; name its encoding, as in encoding='latin-1'"
            file.fail(lines[number], problem)


def row_fields(names: Sequence[str], chosen: ColumnNames) -> tuple[str, ...]:
    """Return the fields of a `Row` for all columns of a table, of which some are chosen."""
    known = dict(zip(chosen, ("u", "v", "weight"), strict=True))
    return tuple(known.get(name, str(at)) for at, name in enumerate(names))


def _read_head(
    file: TextFile,
    choose: Choose,
    keys: Keys,
    comments: bytes = b"#",
    *,
    by_position: bool,
    has_names: bool = False,
) -> tuple[bytes, list[str], ColumnNames]:
    """Read the first line, and choose the columns of the graph.

    A line of numbers is not a header. If vertices have names and columns are chosen by position,
    there is no header. Without a header, the columns are u, v and weight; if columns are chosen by
    position, further columns may follow.

    Return the delimiter, the names of all columns, and the chosen columns.
    """
    number, line = file.first_row(comments, "edges")
    delimiter = next((mark for mark in _DELIMITERS if mark in line.strip()), b",")
    ((_, fields),) = records(file, line.rstrip(b"\n"), number, delimiter)
    if delimiter == b" ":
        fields = [field for field in fields if field]
    names = [field.decode(errors="replace") for field in fields]
    if len(names) > _MAX_COLUMNS:
        file.fail(number, f"{len(names)} columns, more than {_MAX_COLUMNS}")
    try:
        if (by_position and has_names) or any(map(is_number, names)):
            if len(names) > 3 and not by_position:
                raise ValueError(
                    f"{len(names)} columns without a header; choose columns by position from 0, as "
                    "in columns=(0, 1, 2)"
                )
            default = "u", "v", "weight", *map(str, range(3, len(names)))
            names = list(default[: len(names)])
            file.unread(number, line)
        chosen = choose([*names, *(name for name, _ in keys if name not in names)])
    except OptionError:
        raise
    except ValueError as error:
        file.fail(number, str(error))
    return delimiter, names, chosen


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
    """Return whether a line has several fields, and all or none of them are numbers."""
    fields = split_fields(line.replace(b",", b" ").replace(b";", b" "))
    numbers = set(map(is_number, fields))
    if len(fields) < 2 or fields[0][:1] in b"#%" or len(numbers) > 1:
        return False
    # A byte that is not text becomes an unassigned character, which is not printable.
    return True in numbers or line.decode(errors=ANY_BYTES).replace("\t", " ").strip().isprintable()


FORMAT = Format(
    "csv",
    (".csv", ".txt", ".tsv", ".edges", ".el", ".edgelist"),
    blocks=csv_blocks,
    write=write_csv,
    read_forest=read_csv_forest,
    begins=_begins,
    tables=csv_tables,
    has_columns=True,
    holds_names=True,
)
