"""Tells the format of a file by its content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..formats.arrow import MAGIC as ARROW
from .files import head_lines, is_number, open_text, split_fields

if TYPE_CHECKING:
    from pathlib import Path

_BINARY = {b"PAR1": "parquet", ARROW: "arrow", b"PK\x03\x04": "npz"}


def sniff(path: Path) -> str | None:
    """Name the format of a file, as far as its first bytes or lines tell; None if they do not.

    METIS cannot be told from a list of edges, nor an Arrow stream from anything.

    Raises
    ------
    FileFormatError
        If the file cannot be read.
    """
    with open_text(path) as handle:
        lines = head_lines(path, handle)
        for number, line in lines:
            for magic, name in _BINARY.items():
                if number == 1 and line.startswith(magic):
                    return name
            if line.lower().startswith(b"%%matrixmarket"):
                return "mtx"
            fields = split_fields(line)
            if fields and fields[0] in (b"p", b"a", b"c"):
                return "gr"
            if fields and fields[0][:1] not in b"#%":
                return _kind_of_rows(line, fields)
    return None


def _kind_of_rows(line: bytes, fields: list[bytes]) -> str | None:
    if all(map(is_number, fields)):
        return "txt"
    values = split_fields(line.replace(b",", b" ").replace(b";", b" "))
    is_header = not any(map(is_number, values)) and _is_text(line)
    return "csv" if len(values) > 1 and (is_header or all(map(is_number, values))) else None


def _is_text(line: bytes) -> bool:
    try:
        return line.decode().replace("\t", " ").strip().isprintable()
    except UnicodeDecodeError:
        return False
