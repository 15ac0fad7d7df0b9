"""Tables as text, such as CSV and TSV, with or without a header."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import OptionError
from ..format import Format
from ..tables import choose_columns, naming
from ..text.columns import BLOCK_SIZE, Row, read_rows, records
from ..text.files import (
    fail,
    first_row,
    head_lines,
    is_number,
    open_text,
    split_fields,
    write_rows,
)
from ..text.table import Header, join_blocks

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from ..edge_list import EdgeList
    from ..format import EdgeTable, SavedForest
    from ..text.table import Blocks

_DELIMITERS = (b",", b";", b"\t", b" ")  # in order of preference
_MOST_COLUMNS = 4096


def read_csv(
    path: Path, weight: str | None = "weight", *, block_size: int = BLOCK_SIZE
) -> EdgeList:
    """Read a table as text, plain or compressed, with one edge per line.

    The first line names the columns, of which `tables.choose_columns` finds those of the graph;
    the others are ignored. If the first line contains a number, it is not a header, and the
    columns are u, v and optionally weight. The delimiter is the first of comma, semicolon, tab and
    space that occurs in the first line. Lines before it that start with `#` are comments. Fields
    may be quoted. Ids and weights are parsed as in `read_txt`.
    """
    return join_blocks(path, csv_blocks(path, weight, block_size))


def csv_blocks(path: Path, weight: str | None = "weight", block_size: int = BLOCK_SIZE) -> Blocks:
    """Yield the header and the blocks of a table."""
    with open_text(path) as handle:
        number, line = first_row(path, head_lines(path, handle), b"#", "edges")
        delimiter = next((mark for mark in _DELIMITERS if mark in line.strip()), b",")
        ((_, fields),) = records(path, line.rstrip(b"\n"), number, delimiter)
        names, start, pending = (
            [field.decode(errors="replace") for field in fields],
            number + 1,
            b"",
        )
        if len(names) > _MOST_COLUMNS:
            fail(path, number, f"{len(names)} columns, more than {_MOST_COLUMNS}")
        try:
            if any(map(is_number, names)):
                names, start, pending = ["u", "v", "weight"][: len(names)], number, line
            chosen = choose_columns(names, weight)
        except OptionError:
            raise
        except ValueError as error:
            fail(path, number, str(error))
        known = {name: field for field, name in zip(("u", "v", "weight"), chosen, strict=True)}
        row = Row(
            b"",
            tuple(known.get(name, str(at)) for at, name in enumerate(names)),
            delimiter=delimiter,
            header=delimiter.decode().join(names),
        )
        yield Header()
        yield from read_rows(
            path, handle, row, number=start, pending=pending, block_size=block_size
        )


def read_csv_forest(path: Path, weight_dtype: np.dtype[Any]) -> SavedForest:
    """Read all columns of a forest: ids as int64, weights as `weight_dtype`."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # `write_csv` writes float16 as float32, and bool as 0 and 1.
    written_as = {"float16": pa.float32(), "bool": pa.uint8()}
    weight = written_as.get(weight_dtype.name) or pa.from_numpy_dtype(weight_dtype)
    types = dict.fromkeys(("edge_id", "u", "v"), pa.int64())

    def parse(types: dict[str, Any]) -> Any:
        options = arrow_csv.ConvertOptions(column_types=types, null_values=[])
        return arrow_csv.read_csv(path, convert_options=options)

    with naming(path):
        try:
            table = parse({**types, "weight": weight})
        except pa.ArrowInvalid:  # other weights than the graph's: verification reports the edge
            table = parse(types)
        if len(set(table.column_names)) < len(table.column_names):
            message = "two columns have the same name"
            raise ValueError(message)
        return {name: table[name].to_numpy() for name in table.column_names}, None


def write_csv(path: Path, table: EdgeTable) -> None:
    """Write a header, and a line for each edge."""
    with path.open("wb") as file:
        file.write((",".join(table.dtypes) + "\n").encode())
        for columns in table.blocks():
            write_rows(file, list(columns.values()), ",")


def _begins(line: bytes) -> bool:
    """Return whether a line has several fields, and all or none of them are numbers."""
    fields = split_fields(line.replace(b",", b" ").replace(b";", b" "))
    numbers = list(map(is_number, fields))
    if len(fields) < 2 or fields[0][:1] in b"#%":
        return False
    return all(numbers) or (not any(numbers) and _is_text(line))


def _is_text(line: bytes) -> bool:
    try:
        return line.decode().replace("\t", " ").strip().isprintable()
    except UnicodeDecodeError:
        return False


FORMAT = Format(
    "csv",
    (".csv", ".txt", ".tsv", ".edges", ".el", ".edgelist"),
    read_csv,
    blocks=csv_blocks,
    write=write_csv,
    read_forest=read_csv_forest,
    begins=_begins,
    has_columns=True,
)
