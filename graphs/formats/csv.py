"""Reads tables as text: CSV and its kin, with a header that names the columns or without one."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ..tables import ColumnNames, choose_columns
from ..text.columns import BLOCK_SIZE, Row, column_blocks, join_blocks
from ..text.files import fail, first_row, head_lines, is_number, open_text

if TYPE_CHECKING:
    from pathlib import Path

    from ..edge_list import EdgeList

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
        layout = _Layout(tuple(names), chosen, delimiter)
        weighted = chosen.weight is not None
        row = Row(
            b"",
            weighted=weighted,
            places=layout.places,
            delimiter=delimiter.encode(),
            plain=layout.plain,
            split=layout.split,
        )
        blocks = column_blocks(
            path, handle, row, number=start, pending=pending, block_size=block_size
        )
        return join_blocks(path, blocks, None)


@dataclass(frozen=True)
class _Layout:
    """The columns of a table, those of them that are wanted, and what stands between them."""

    names: tuple[str, ...]
    chosen: ColumnNames
    delimiter: str

    @property
    def places(self) -> list[int]:
        """Where each column stands among the wanted ones, or -1."""
        wanted = self.chosen.present
        return [wanted.index(name) if name in wanted else -1 for name in self.names]

    def split(self, line: bytes) -> list[bytes]:
        """Split one line: the wanted fields; a ValueError says what is wrong with it."""
        fields = _split(line, self.delimiter)
        if not fields:
            return []
        if len(fields) != len(self.names):
            form = self.delimiter.join(self.names)
            message = f"expected {len(self.names)} fields, '{form}', found {len(fields)}"
            raise ValueError(message)
        return [fields[self.names.index(name)].encode(errors=_ANY) for name in self.chosen.present]

    def plain(self, block: bytes) -> bytes:
        """Leave the wanted columns of whole lines, with a blank between them."""
        if self._is_bare(block) and self._is_full(block):
            return block.replace(self.delimiter.encode(), b" ")
        from pyarrow import compute

        fields = [compute.ascii_trim_whitespace(values) for values in self._fields(block)]
        rows = compute.binary_join_element_wise(*fields, " ")
        text: bytes = compute.binary_join_element_wise(rows, "", "\n").buffers()[2].to_pybytes()
        if text.count(b" ") != len(rows) * (len(fields) - 1):
            message = "a field with a blank in it"
            raise ValueError(message)
        return text

    def _is_bare(self, block: bytes) -> bool:
        """Whether a block holds the wanted columns and nothing else."""
        is_bare = list(self.names) == self.chosen.present and b'"' not in block
        return is_bare and (self.delimiter == " " or b" " not in block)

    def _is_full(self, block: bytes) -> bool:
        """Whether no field is empty, as far as the number of delimiters tells."""
        data = np.frombuffer(block, np.uint8)
        marks, lines = (np.count_nonzero(data == ord(mark)) for mark in (self.delimiter, "\n"))
        return self.delimiter == " " or bool(marks == lines * (len(self.names) - 1))

    def _fields(self, block: bytes) -> list[Any]:
        """Read the wanted columns of whole lines as text."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        wanted = self.chosen.present
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(column_names=self.names, use_threads=False),
            arrow_csv.ParseOptions(delimiter=self.delimiter),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                check_utf8=False,
            ),
        )
        return [table[name].combine_chunks() for name in wanted]


def _split(line: bytes, delimiter: str) -> list[str]:
    text = line.decode(errors=_ANY).strip()
    try:
        fields = list(csv.reader([text], delimiter=delimiter, skipinitialspace=True))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    return [field.strip() for field in fields[0]] if fields else []
