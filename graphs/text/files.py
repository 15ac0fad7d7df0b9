"""Text files, plain or compressed: their lines, the counts in their headers, their errors."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import zlib
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...errors import FileFormatError
from ...progress import report_progress
from ..file_errors import file_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

LARGEST_EXACT = 2**53  # beyond it, float64 does not hold every integer


class _TellingFile(io.FileIO):
    """A file that tells how much of it has been read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.step, self.size = f"read {path.name}", path.stat().st_size

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        report_progress(self.step, self.tell(), self.size)
        return count


def _open_zst(file: IO[bytes]) -> IO[bytes]:
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(file, compression="zstd"))


DECOMPRESSORS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": _open_zst,
}

_LONGEST_LINE = 2**20
_BUFFER = 2**17


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[IO[bytes]]:
    """Open a plain or compressed file; whatever fails while it is open names the file."""
    with (
        file_errors(path, EOFError, zlib.error, lzma.LZMAError),
        io.BufferedReader(_TellingFile(path), _BUFFER) as file,
        DECOMPRESSORS.get(path.suffix, contextlib.nullcontext)(file) as handle,
    ):
        yield handle


def head_lines(path: Path, handle: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines, one at a time, for as long as the caller wants them."""
    number = 0
    while line := handle.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            fail(path, number, f"longer than {_LONGEST_LINE} bytes")
        # Some editors start a file with the UTF-8 byte order mark.
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    if number == 0:
        message = f"{path}: empty file"
        raise FileFormatError(message)


def first_row(
    path: Path, lines: Iterator[tuple[int, bytes]], comments: bytes, missing: str
) -> tuple[int, bytes]:
    """Take lines up to the first that is neither empty nor a comment; it must not be `missing`."""
    for number, line in lines:
        fields = split_fields(line)
        if fields and fields[0][:1] not in comments:
            return number, line
    message = f"{path}: holds no {missing}"
    raise FileFormatError(message)


def split_fields(line: bytes) -> list[bytes]:
    """Split at blanks and tabs only: any other byte is part of a field and judged there."""
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    return [field for field in line.replace(b"\t", b" ").split(b" ") if field]


def is_number(token: bytes | str) -> bool:
    """Whether a segment of a line is a number."""
    try:
        float(token)
    except ValueError:
        return False
    return True


def parse_count(path: Path, number: int, token: bytes) -> int:
    """Read the count of vertices or edges that line `number` gives."""
    if not token.isdigit() or len(token) > 18:
        fail(path, number, f"{shown(token)} is not a count of vertices or edges")
    return int(token)


def write_rows(
    handle: IO[bytes], columns: Sequence[NDArray[Any]], delimiter: str = " ", tag: str = ""
) -> None:
    """Write a line for each record, after a tag if there is one.

    Booleans become 0 and 1, floats the shortest text that reads back as the same float of their
    width (halves of single floats).
    """
    import pyarrow as pa
    from pyarrow import csv

    arrays = [pa.array(_as_numbers(values)) for values in columns]
    if tag:
        arrays.insert(0, pa.repeat(tag, len(columns[0])))
    table = pa.table(arrays, names=[str(i) for i in range(len(arrays))])
    form = csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    csv.write_csv(table, handle, form)


def _as_numbers(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    return values.astype(np.float32) if values.dtype == np.float16 else values


def shown(token: bytes) -> str:
    """Show a segment of a file in a message, whatever its bytes are."""
    return ascii(token[:24].decode("latin-1"))


def fail(path: Path, number: int, problem: str) -> NoReturn:
    """Raise the error that names a line."""
    message = f"{path}: line {number}: {problem}"
    raise FileFormatError(message)
