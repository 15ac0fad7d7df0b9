"""Parse lines of fields to columns, block by block; an error names the first malformed line.

pyarrow parses each block: first unchanged and, if this fails, without comments and with single
spaces. If pyarrow refuses or might misread a block, Python parses it line by line. This is exact
and finds the malformed line.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....graphs.edge_list import LARGEST_ID, Columns
from ....graphs.libraries import arrow_csv, compute, pa
from ...libraries.arrow_tables import plain_values
from .text_file import (
    LARGEST_EXACT,
    LONGEST_LINE,
    TextFile,
    is_number,
    range_problem,
    shown,
    split_fields,
)
from .tidy import with_single_spaces

#: The columns of a block, None if it has no rows; and its number of lines.
_Parsed = tuple[Columns | None, int]

#: Bytes of a block, which fits in the cache. `python -m benchmarks record files` measures it.
BLOCK_SIZE = 2**19
ANY_BYTES = "surrogateescape"  # decodes and encodes any bytes

_COLUMNS = ("u", "v", "weight")
_DECIMAL_MARKS = (b".", b"e", b"E", b"n", b"N")
_INTEGER = re.compile(rb"[+-]?[0-9]+")
DECIMAL = re.compile(
    rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?", re.IGNORECASE
)


@dataclass(frozen=True)
class LineLayout:
    """The layout of a line: its fields, and the vertex ids that it may have."""

    #: Lines that start with one of these bytes are skipped.
    comments: bytes
    #: "tag", "u", "v", "weight" in the order of the line. Fields of other names are skipped.
    fields: tuple[str, ...] = _COLUMNS
    #: Value of the field "tag" in every line.
    tag: bytes = b""
    #: Smallest vertex id; it becomes 0.
    first_id: int = 0
    num_vertices: int | None = None
    #: The byte that separates fields, which may be quoted. If empty, spaces and tabs separate
    #: fields, and quotes are ordinary characters.
    delimiter: bytes = b""
    #: The names of the fields in messages; by default `fields`.
    header: str = ""
    #: For a hint to `ends=`, if the ends may be names: the columns, by title or else by position.
    columns: Sequence[str | int] = ()

    @property
    def last_id(self) -> int:
        """Largest valid vertex id."""
        return LARGEST_ID if self.num_vertices is None else self.first_id + self.num_vertices - 1


def read_rows(file: TextFile, layout: LineLayout) -> Iterator[Columns]:
    """Parse the rest of a file; yield blocks.

    The weights of a block are int64; uint64 if one exceeds int64; float64 if one is decimal.
    """
    number, blocks = file.number + 1, whole_lines(file, is_quoted=bool(layout.delimiter))
    for block, parsed in _parse_ahead(partial(_parse_block, layout=layout), blocks):
        try:
            columns, num_lines = parsed.result()
        except ValueError:
            columns, num_lines = _parse_lines(file, block, number, layout), block.count(b"\n")
        if columns is not None:
            yield columns
        number += num_lines


def whole_lines(
    file: TextFile, size: int = BLOCK_SIZE, *, is_quoted: bool = False, longest: int = LONGEST_LINE
) -> Iterator[bytes]:
    """Split the rest of a file into blocks of whole lines; quoted line ends do not end a block.

    If a line is too long, its block has no line end at its end, and no other block follows.
    """
    while True:
        start, rest = file.read(size), file.readline(longest)
        block = start + rest
        if not block:
            return
        if is_quoted and block.count(b'"') % 2:
            block += _rest_of_quote(file)
        if not block.endswith(b"\n") and len(rest) == longest:
            yield block
            return
        yield block if block.endswith(b"\n") else block + b"\n"


def check_last_line(file: TextFile, block: bytes, number: int) -> None:
    """Check that the last line of a block, which begins with line `number`, is not too long."""
    if not block.endswith(b"\n"):
        length = len(block) - block.rfind(b"\n") - 1
        file.fail(number + block.count(b"\n"), f"longer than {length} bytes")


def _rest_of_quote(file: TextFile) -> bytes:
    """Return the lines up to the end of a quoted field; at most about one block."""
    lines, size = [], 0
    while size < BLOCK_SIZE and (line := file.readline()):
        lines.append(line)
        size += len(line)
        if line.count(b'"') % 2:
            break
    return b"".join(lines)


def _parse_ahead(
    parse: Callable[[bytes], _Parsed], blocks: Iterable[bytes]
) -> Iterator[tuple[bytes, Future[_Parsed]]]:
    """Yield blocks in order, with futures of their columns; later blocks are parsed in threads."""
    waiting: deque[tuple[bytes, Future[_Parsed]]] = deque()
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        for block in blocks:
            waiting.append((block, pool.submit(parse, block)))
            if len(waiting) > pa.cpu_count():
                yield waiting.popleft()
        yield from waiting


def _parse_block(block: bytes, layout: LineLayout) -> _Parsed:
    """Parse lines; return the columns and the number of lines, or raise a ValueError."""
    require(block.endswith(b"\n"))
    num_lines = block.count(b"\n")
    if layout.delimiter not in (b"", b" "):
        return _parse(block, layout), num_lines
    text = block.replace(b"\t", b" ")
    if b"\r" in text:  # much faster than a search for two bytes
        text = text.replace(b"\r\n", b"\n")
    try:
        return _parse(text, layout), num_lines
    except ValueError:  # few blocks have comments or repeated spaces
        text = with_single_spaces(text)
        if any(bytes([mark]) in text for mark in layout.comments):
            text = re.sub(rb"(?m)^[%b].*\n" % layout.comments, b"", text)
        return _parse(text, layout), num_lines


def arrow_table(
    text: bytes,
    names: Sequence[str],
    types: Mapping[str, Any],
    delimiter: bytes = b"",
    *,
    has_names: bool = False,
) -> Any:
    """Parse lines with pyarrow to a `pyarrow.Table` of the columns in `types`, of one chunk each.

    `names` are the names of all columns, and `delimiter` is that of a `LineLayout`. If
    vertices have names, they must be UTF-8, and pyarrow uses several threads.
    """
    separator, quote = (delimiter or b" ").decode(), '"' if delimiter else False
    return arrow_csv.read_csv(
        pa.BufferReader(text),
        arrow_csv.ReadOptions(column_names=names, use_threads=has_names, block_size=len(text) + 1),
        arrow_csv.ParseOptions(delimiter=separator, quote_char=quote),
        arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=[], check_utf8=has_names
        ),
    )


def _parse(text: bytes, layout: LineLayout) -> Columns | None:
    """Parse lines with pyarrow; raise a ValueError if it refuses or might misread them."""
    if not text or text.isspace():
        return None
    # pyarrow would end the line at a lone carriage return.
    require(b"\r" not in text or text.count(b"\r") == text.count(b"\r\n") * bool(layout.delimiter))
    may_be_hexadecimal = b"x" in text or b"X" in text  # pyarrow parses 0x10 as an integer
    are_decimal = any(mark in text for mark in _DECIMAL_MARKS)
    integers = _COLUMNS[: 0 if may_be_hexadecimal else 2 if are_decimal else 3]
    wanted = [name for name in ("tag", *_COLUMNS) if name in layout.fields]
    types = {name: pa.int64() if name in integers else pa.string() for name in wanted}
    table = arrow_table(text, layout.fields, types, layout.delimiter)
    columns = {name: table[name].chunk(0) for name in wanted}
    for name, values in columns.items():
        if layout.delimiter and b" " in text and values.type == pa.string():
            columns[name] = compute.ascii_trim_whitespace(values)
    if layout.tag:
        # Comparing with a Python value would import pandas, if it is installed.
        require(columns["tag"].unique().to_pylist() == [layout.tag.decode()])
    if may_be_hexadecimal:
        require(not any(map(_has_letter_x, columns.values())))
    u, v = (_arrow_ids(columns[name]) for name in "uv")
    require(min(u.min(), v.min()) >= layout.first_id and max(u.max(), v.max()) <= layout.last_id)
    if layout.first_id:
        u, v = u - layout.first_id, v - layout.first_id
    return u, v, _arrow_weights(columns["weight"]) if "weight" in columns else None


def _arrow_ids(column: Any) -> NDArray[np.int64]:
    """Convert vertex ids, of integers or of strings such as 5.0, with pyarrow."""
    try:
        return plain_values(column.cast("int64"))
    except pa.ArrowInvalid:
        values = plain_values(column.cast("float64"))
        ids = values.astype(np.int64)
        require(bool((ids == values).all()) and np.abs(values).max() < LARGEST_EXACT)
        return ids


def _arrow_weights(column: Any) -> NDArray[Any]:
    """Convert weights, of integers or of strings, with pyarrow.

    Raise a ValueError if pyarrow refuses a weight or might round it.
    """
    if column.type == pa.int64():
        return plain_values(column)
    data = column.buffers()[2]
    text = data.to_pybytes() if data else b""
    if not any(mark in text for mark in _DECIMAL_MARKS):
        return plain_values(column.cast("int64"))
    weight = plain_values(column.cast("float64"))
    require(np.abs(weight).max() < LARGEST_EXACT)  # excludes NaN, overflow and rounded integers
    if b"+" in text:
        require(not compute.any(compute.starts_with(column, "+")).as_py())
    return weight


def parse_weights(file: TextFile, strings: Any, line_of: Callable[[int], int]) -> NDArray[Any]:
    """Parse a `pyarrow.StringArray` of weights; `line_of` returns the line of a row, for errors."""
    strings = compute.ascii_trim_whitespace(strings)
    try:
        require(not _has_letter_x(strings))
        return _arrow_weights(strings)
    except ValueError:
        tokens = [token.encode() for token in strings.to_pylist()]
    for row, token in enumerate(tokens):
        try:
            _check_weight(token)
        except ValueError as error:
            file.fail(line_of(row), str(error))
    return _exact_weights(file, line_of, tokens)


def _has_letter_x(strings: Any) -> bool:
    return bool(compute.any(compute.match_substring(strings, "x", ignore_case=True)).as_py())


def require(is_met: bool | np.bool_, problem: str = "pyarrow might misread this block") -> None:
    """Raise a ValueError unless a condition for parsing a block at once is met."""
    if not is_met:
        raise ValueError(problem)


def _parse_lines(file: TextFile, block: bytes, number: int, layout: LineLayout) -> Columns | None:
    """Parse lines one by one; raise an error that names the first malformed line."""
    check_last_line(file, block, number)
    lines, rows = [], []
    for line, fields in records(file, block, number, layout.delimiter):
        if fields and not (fields[0] and fields[0][:1] in layout.comments):
            lines.append(line)
            try:
                rows.append(_checked_fields(fields, layout))
            except ValueError as error:
                file.check_line_ends(line, b" ".join(fields) + b" ")
                file.fail(line, str(error))
    if not rows:
        return None
    us, vs, *weights = zip(*rows, strict=True)
    u, v = (np.array(list(map(_integer, ids))) - layout.first_id for ids in (us, vs))
    return u, v, _exact_weights(file, lines.__getitem__, weights[0]) if weights else None


def records(
    file: TextFile, block: bytes, number: int, delimiter: bytes
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the fields of each record with the number of its first line, from `number` on.

    A record is a line. With a delimiter, fields may be quoted and contain line ends.
    """
    if not delimiter:
        yield from enumerate(map(split_fields, block.split(b"\n")), number)
        return
    lines = (line.strip(" \r") for line in block.decode(errors=ANY_BYTES).split("\n"))
    reader = csv.reader(lines, delimiter=delimiter.decode(), skipinitialspace=True)
    line = number
    try:
        for fields in reader:
            yield line, [field.encode(errors=ANY_BYTES) for field in fields]
            line = number + reader.line_num
    except csv.Error as error:
        file.check_line_ends(line, block.split(b"\n")[line - number])
        file.fail(line, str(error))


def _checked_fields(fields: list[bytes], layout: LineLayout) -> list[bytes]:
    """Return u, v and the weight of a line; raise a ValueError if one of them is invalid."""
    header = layout.header or " ".join(layout.fields).replace("tag", layout.tag.decode())
    if layout.tag and fields[0] != layout.tag:
        raise ValueError(f"expected '{header}', found {shown(b' '.join(fields))}")
    if len(fields) != len(layout.fields):
        raise ValueError(f"expected {len(layout.fields)} fields, '{header}', found {len(fields)}")
    values = [fields[layout.fields.index(name)] for name in _COLUMNS if name in layout.fields]
    if layout.delimiter:
        values = [value.strip() for value in values]
    for end, token in enumerate(values[:2]):
        if not _INTEGER.fullmatch(token):
            values[end] = token = _as_integer(token, layout)
        if not layout.first_id <= _integer(token) <= layout.last_id:
            raise ValueError(range_problem(token[:24].decode(), layout.first_id, layout.last_id))
    for token in values[2:]:
        _check_weight(token)
    return values


def _as_integer(token: bytes, layout: LineLayout) -> bytes:
    """Return a vertex id that is written as a float, such as 5.0, as an integer."""
    value = float(token) if DECIMAL.fullmatch(token) else 0.5
    if not value.is_integer() or abs(value) >= LARGEST_EXACT:
        raise ValueError(f"{shown(token)} is not a vertex id{_names_hint(token, layout)}")
    return str(int(value)).encode()


def _names_hint(token: bytes, layout: LineLayout) -> str:
    """Return how to read ends as names, if a token can be one."""
    if not layout.columns or is_number(token):
        return ""
    columns = dict(zip(layout.fields, layout.columns, strict=True))
    left, right, *weight = (columns[name] for name in _COLUMNS if name in columns)
    hint = f"; if vertices have names, pass ends=({left!r}, {right!r})"
    hint += "".join(f", weight={each!r}" for each in weight)
    try:
        token.decode()
    except UnicodeDecodeError:
        hint += ", encoding='latin-1'"
    return hint


def _exact_weights(
    file: TextFile, line_of: Callable[[int], int], tokens: Sequence[bytes]
) -> NDArray[Any]:
    """Convert valid weights to the dtype that represents all of them exactly.

    Raise an error that names a line without such a dtype.
    """
    integers = {i: _integer(token) for i, token in enumerate(tokens) if _INTEGER.fullmatch(token)}
    is_decimal, is_signed = len(integers) < len(tokens), min(integers.values(), default=0) < 0
    for i, value in integers.items():
        if is_decimal and abs(value) > LARGEST_EXACT:
            cause = "decimal weights make all of them float64"
        elif is_signed and value >= 2**63:
            cause = "negative weights make all of them int64"
        else:
            continue
        file.fail(line_of(i), f"integer weight {value} would not be exact: {cause}")
    if is_decimal:
        return np.array(list(map(float, tokens)))
    dtype = np.uint64 if max(integers.values()) >= 2**63 else np.int64
    return np.array(list(integers.values()), dtype)


def _integer(token: bytes) -> int:
    """Return the value of the first 40 digits of an integer; more digits exceed every bound."""
    value = int(token.lstrip(b"+-0")[:40] or b"0")
    return -value if token.startswith(b"-") else value


def _check_weight(token: bytes) -> None:
    if token.lower().lstrip(b"+-") == b"nan":
        raise ValueError("the weight is NaN")
    if not DECIMAL.fullmatch(token):
        raise ValueError(f"{shown(token)} is not a weight")
    if _INTEGER.fullmatch(token):
        if not -(2**63) <= _integer(token) < 2**64:
            raise ValueError(f"integer weight {token[:24].decode()} does not fit in 64 bits")
    elif np.isinf(float(token)) and b"inf" not in token.lower():
        raise ValueError(f"weight {token[:24].decode()} is beyond float64")
