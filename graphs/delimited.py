"""Reads tables as text: CSV and its kin, with a header that names the columns or without one."""

from __future__ import annotations

import csv
from functools import partial
from typing import TYPE_CHECKING

from ..errors import OptionError
from .columns import BLOCK_SIZE, Row, column_blocks, join_blocks
from .tables import ColumnNames, choose_columns
from .text import fail, first_row, head_lines, is_number, open_text

if TYPE_CHECKING:
    from pathlib import Path

    from .edge_list import EdgeList

_DELIMITERS = (",", ";", "\t", " ")  # the first that the first line holds
_ANY = "surrogateescape"  # so that any bytes are text


def read_csv(
    path: Path, weight: str | None = "weight", *, block_size: int = BLOCK_SIZE
) -> EdgeList:
    """Read a table as text, plain or compressed, with a record on each line.

    The first line names the columns, as `tables.choose_columns` has it; other columns are passed
    over, whatever they hold. If it holds a number, there are no names, and the columns are u, v
    and, if there are three, weight. It also tells the delimiter: comma, semicolon, tab or blank.
    Lines before it that start with `#` are comments. Fields may be quoted. Ids and weights are
    read as in `read_txt`.

    Raises
    ------
    FileFormatError
        If the file is anything else; names the line.
    OptionError
        If there is no column `weight`.
    """
    with open_text(path) as handle:
        number, line = first_row(path, head_lines(path, handle), b"#", "edges")
        delimiter = next((mark for mark in _DELIMITERS if mark.encode() in line.strip()), ",")
        try:
            names, start, pending = _split(line, delimiter), number + 1, b""
            if any(map(is_number, names)):
                names, start, pending = ["u", "v", "weight"][: len(names)], number, line
            chosen = choose_columns(names, weight)
        except OptionError:
            raise
        except ValueError as error:
            fail(path, number, str(error))
        row = Row(
            b"",
            weighted=chosen.weight is not None,
            split=partial(_chosen_fields, names=names, chosen=chosen, delimiter=delimiter),
            plain=partial(_chosen_text, names=names, chosen=chosen, delimiter=delimiter),
        )
        blocks = column_blocks(
            path, handle, row, number=start, pending=pending, block_size=block_size
        )
        return join_blocks(path, blocks, None)


def _chosen_text(block: bytes, names: list[str], chosen: ColumnNames, delimiter: str) -> bytes:
    """Leave the chosen columns, in order, with a blank between them."""
    wanted = chosen.present
    if names == wanted and b'"' not in block:
        if delimiter.isspace():
            return block
        if b" " not in block:
            return block.replace(delimiter.encode(), b" ")
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow import csv as arrow_csv

    table = arrow_csv.read_csv(
        pa.BufferReader(block),
        arrow_csv.ReadOptions(column_names=names, use_threads=False),
        arrow_csv.ParseOptions(delimiter=delimiter),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.string()),
            include_columns=wanted,
            check_utf8=False,
        ),
    )
    if not table.num_rows:
        return b""
    fields = [compute.ascii_trim_whitespace(table[name].combine_chunks()) for name in wanted]
    rows = compute.binary_join_element_wise(*fields, " ")
    text: bytes = compute.binary_join_element_wise(rows, "", "\n").buffers()[2].to_pybytes()
    if text.count(b" ") != table.num_rows * (len(wanted) - 1):
        message = "a field with a blank in it"
        raise ValueError(message)
    return text


def _chosen_fields(
    line: bytes, names: list[str], chosen: ColumnNames, delimiter: str
) -> list[bytes]:
    """Split one line: the chosen fields, in order; a ValueError says what is wrong with it."""
    fields = _split(line, delimiter)
    if fields and len(fields) != len(names):
        message = f"expected {len(names)} fields, '{delimiter.join(names)}', found {len(fields)}"
        raise ValueError(message)
    return [fields[names.index(name)].encode(errors=_ANY) for name in chosen.present if fields]


def _split(line: bytes, delimiter: str) -> list[str]:
    text = line.decode(errors=_ANY).strip()
    try:
        fields = list(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    return [field.strip() for field in fields[0]] if fields else []
