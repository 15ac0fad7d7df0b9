"""Text files, plain or compressed: open them, read their first lines, and write rows."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ....errors import FileFormatError, file_errors
from ....graphs.libraries import arrow_csv, pa
from ....progress import report_progress
from ...file_checks import max_expanded_size
from ...places.url import Place

#: An integer of at most 18 digits, which fits in 64 bits.
SHORT_INTEGER = re.compile(rb"-?[0-9]{1,18}")
LARGEST_EXACT = 2**53  # float64 represents all integers up to here
#: Dtypes that `write_rows` converts before it writes them, and the dtypes that it writes.
WRITTEN_AS: dict[str, np.dtype[Any]] = {"bool": np.dtype("uint8"), "float16": np.dtype("float32")}

DECOMPRESSORS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
    ".zst": lambda file: pa.input_stream(file, compression="zstd"),
}

_BYTE_ORDER_MARK = codecs.BOM_UTF8
#: Those of other encodings, the longer ones first: that of UTF-16 begins that of UTF-32.
_BYTE_ORDER_MARKS = {
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
#: Bytes of the longest line, except in formats whose lines list all neighbours.
LONGEST_LINE = 2**20
_BUFFER_SIZE = 2**17
_PEEKED = 2**16  # bytes of lines that are read ahead
#: Bytes by which a file may be too short for the edges that it states. For a small file, the error
#: that names the malformed line is more useful.
_SLACK = 2**16


class _CountedFile(io.RawIOBase):
    """A file that calls a function with the number of bytes that were read so far."""

    def __init__(self, file: Any, callback: Callable[[int], None]) -> None:
        self.file, self.callback, self.num_bytes = file, callback, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self.file.readinto(buffer)
        self.num_bytes += count
        self.callback(self.num_bytes)
        return count


class _Utf8(io.RawIOBase):
    """A file of text in some encoding, read as UTF-8."""

    def __init__(self, path: Place, file: Any, encoding: str) -> None:
        self._path, self._file, self._encoding = path, file, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line, self._rest = 1, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            data = self._file.read1(_BUFFER_SIZE)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line = self._line + error.object[: error.start].count(b"\n")
                fail(self._path, line, f"the text is not {self._encoding}: {error}")
            self._rest = text.encode()
            self._line += text.count("\n")
            if not data:
                break
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class TextFile:
    """An open text file, whose first lines are read one by one; its errors name a line.

    Line `number` is the last one that was read. `pending` are the lines after it that were put
    back, and `handle` has the decompressed content after these; `read` and `readline` read both.
    """

    def __init__(self, path: Place, handle: IO[bytes]) -> None:
        self.path, self.handle, self.number, self.pending = path, handle, 0, b""

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield further lines with their numbers; the caller may stop at any line."""
        while line := self.readline():
            self.number += 1
            self.check_line_ends(self.number, line)
            if len(line) == LONGEST_LINE:
                self.fail(self.number, f"longer than {LONGEST_LINE} bytes")
            # Some editors write a byte order mark at the start of a UTF-8 file.
            yield self.number, line.removeprefix(_BYTE_ORDER_MARK) if self.number == 1 else line
        if self.number == 0:
            raise FileFormatError(f"{self.path}: empty file")

    def peek(self, count: int) -> bytes:
        """Return the next lines, at most `count` and few if they are long; they stay unread."""
        lines = b""
        while count and len(lines) < _PEEKED and (line := self.readline()):
            lines, count = lines + line, count - 1
        self.pending = lines + self.pending
        return lines.removeprefix(_BYTE_ORDER_MARK) if self.number == 0 else lines

    def read(self, size: int) -> bytes:
        """Read bytes, at most `size`."""
        start, self.pending = self.pending[:size], self.pending[size:]
        return start if len(start) == size else start + self.handle.read(size - len(start))

    def readline(self, longest: int = LONGEST_LINE) -> bytes:
        """Read the rest of a line, at most `longest` bytes; the number of lines is unchanged."""
        if not self.pending:
            return self.handle.readline(longest)
        line, end, self.pending = self.pending.partition(b"\n")
        return line + end

    def first_row(self, comments: bytes, missing: str) -> tuple[int, bytes]:
        """Return the next line that is neither empty nor a comment, with its number."""
        for number, line in self.lines():
            fields = split_fields(line)
            if fields and fields[0][:1] not in comments:
                return number, line
        raise FileFormatError(f"{self.path}: holds no {missing}")

    def unread(self, number: int, lines: bytes) -> None:
        """Put lines back, of which the first has this number."""
        self.number, self.pending = number - 1, lines + self.pending

    def count(self, number: int, token: bytes) -> int:
        """Parse a number of vertices or edges that line `number` states."""
        if not token.isdigit() or len(token) > 18:
            self.fail(number, f"{shown(token)} is not a count of vertices or edges")
        return int(token)

    def check_line_ends(self, number: int, line: bytes) -> None:
        """Check that a line has no carriage return, except before its end."""
        if b"\r" in line.removesuffix(b"\n").removesuffix(b"\r"):
            self.fail(number, r"a carriage return within the line; end lines with \n or \r\n")

    def fail(self, number: int, problem: str) -> NoReturn:
        """Raise an error that names the line."""
        fail(self.path, number, problem)


@contextlib.contextmanager
def open_text(path: Place, encoding: str | None = None) -> Iterator[TextFile]:
    """Open a plain or compressed file as UTF-8; errors inside the block name the file."""
    decompress, most_bytes = DECOMPRESSORS.get(path.suffix.lower()), max_expanded_size(path)
    report = partial(report_progress, f"read {path.name}", total=path.stat().st_size)

    def check(size: int) -> None:
        if size > most_bytes:
            raise FileFormatError(
                f"{path}: decompresses to more than {most_bytes:,} bytes, which is far more than "
                "graphs do; decompress it first if that is right"
            )

    with file_errors(path, EOFError, zlib.error, lzma.LZMAError), path.open("rb", 0) as raw:
        file: Any = io.BufferedReader(_CountedFile(raw, report), _BUFFER_SIZE)
        with contextlib.ExitStack() as stack:
            if decompress is not None:
                data = stack.enter_context(decompress(file))
                file = io.BufferedReader(_CountedFile(data, check), _BUFFER_SIZE)
            yield TextFile(path, _as_utf8(path, file, encoding))


def _as_utf8(path: Place, file: Any, encoding: str | None) -> Any:
    """Return a file of text as a file of UTF-8; its byte order mark may state the encoding."""
    start = file.peek(4)
    marks = (name for name, mark in _BYTE_ORDER_MARKS.items() if start.startswith(mark))
    if (encoding := encoding or next(marks, None)) is None:
        return file
    return io.BufferedReader(_Utf8(path, file, encoding), _BUFFER_SIZE)


def split_fields(line: bytes) -> list[bytes]:
    """Split a line at spaces and tabs; with other white space in it, a field is invalid."""
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    return [field for field in line.replace(b"\t", b" ").split(b" ") if field]


def range_problem(shown_id: str, first: int, last: int) -> str:
    """Return the message for a vertex id that is not in a range."""
    if last < first:
        return f"vertex id {shown_id}, but the graph has no vertices"
    return f"vertex id {shown_id} is not in {first} to {last}"


def is_number(token: bytes | str) -> bool:
    """Return whether a field is a number."""
    try:
        float(token)
    except ValueError:
        return False
    return True


def check_edges(path: Place, number: int, count: int, size: int) -> None:
    """Check that a file can hold `count` edges of `size` bytes each, as line `number` states."""
    is_compressed = path.suffix.lower() in DECOMPRESSORS
    most_bytes = max_expanded_size(path) if is_compressed else path.stat().st_size
    if count * size > most_bytes + _SLACK:
        fail(path, number, f"states {count:,} edges or vertices, more than the file can hold")


def write_rows(
    handle: IO[bytes], columns: Sequence[NDArray[Any]], delimiter: str = " ", tag: str = ""
) -> None:
    """Write a line for each row of the columns; each line begins with `tag`, if given.

    Booleans are written as 0 and 1. A float is written as the shortest text that reads back as the
    same value in its dtype (float16: in float32). Columns of names are `pyarrow.Array` objects, and
    names are quoted.
    """
    arrays, quoting = [pa.repeat(tag, len(columns[0]))] if tag else [], "none"
    for values in columns:
        if isinstance(values, pa.Array):
            arrays.append(values)
            quoting = "needed"
        else:
            arrays.append(pa.array(values.astype(WRITTEN_AS.get(values.dtype.name, values.dtype))))
    table = pa.table(arrays, names=list(map(str, range(len(arrays)))))
    options = arrow_csv.WriteOptions(
        include_header=False, delimiter=delimiter, quoting_style=quoting
    )
    arrow_csv.write_csv(table, handle, options)


def shown(token: bytes) -> str:
    """Return the first bytes of a token as printable text, for a message."""
    return ascii(token[:24].decode("latin-1"))


def fail(path: Place, number: int, problem: str) -> NoReturn:
    """Raise an error that names the line."""
    raise FileFormatError(f"{path}: line {number}: {problem}")
