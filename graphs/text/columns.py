"""Text to columns: blocks of lines parsed at once, and a bad line found and named.

In large files, blocks of plain lines are parsed by `lines`; all others by pyarrow, as they
stand. Where that fails, `_tidy` leaves one blank between fields and drops comments and empty lines,
and it is tried again. Only a block that is still doubtful is walked line by line, by `_explain`, to
say what is wrong where.
"""

from __future__ import annotations

import re
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...errors import FileFormatError, GraphError
from ...runtime.native import has_numba
from ..edge_list import EdgeList, join_weights
from .files import LARGEST_EXACT, fail, shown, split_fields
from .lines import kernels, parse_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from .files import Columns

    _Parsed = tuple[Columns | None, int]  # and the number of lines

BLOCK_SIZE = 2**19  # so that what is parsed at once stays in the cache

_LINE = 20  # bytes, of an edge with a weight
_LARGEST_ID = np.iinfo(np.int64).max - 1
_DECIMAL_MARKS = (b".", b"e", b"E", b"n", b"N")
_MISREAD = (b"x", b"X", b"(")  # pyarrow takes hexadecimal integers and nan(...) for numbers
_INTEGER = re.compile(rb"-?[0-9]+")
_DECIMAL = re.compile(rb"-?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|-?inf(inity)?", re.IGNORECASE)
_LONG_INTEGER_WEIGHT = re.compile(rb"[ \t](-?[0-9]{16,})[ \t]*\n")


@dataclass(frozen=True)
class Row:
    """What each line of a file must hold: a tag (if any), u, v and a weight (if any).

    Lines whose first byte is one of `comments` are skipped; ids run from `first_id` on. With a
    `delimiter`, other fields may stand among these, and `places` tells which is which, as in
    `lines.parse_lines`. `plain` leaves these fields of a block of lines, between blanks, and
    `split` those of one line; a ValueError says that it cannot.
    """

    comments: bytes
    tag: bytes = b""
    weighted: bool = True
    first_id: int = 0
    num_vertices: int | None = None
    places: Sequence[int] = ()
    delimiter: bytes = b""
    plain: Callable[[bytes], bytes] = bytes
    split: Callable[[bytes], list[bytes]] = split_fields

    @property
    def last_id(self) -> int:
        """Largest id allowed."""
        if self.num_vertices is None:
            return _LARGEST_ID
        return self.first_id + self.num_vertices - 1

    @property
    def fields(self) -> list[str]:
        """Names of the fields, in order."""
        return ["tag"] * bool(self.tag) + ["u", "v"] + ["weight"] * self.weighted


def column_blocks(
    path: Path,
    handle: IO[bytes],
    row: Row,
    *,
    number: int,
    pending: bytes = b"",
    block_size: int = BLOCK_SIZE,
) -> Iterator[Columns]:
    """Parse the rest of a file, block by block.

    Parameters
    ----------
    path : Path
        Name for messages.
    handle : binary file
        Read from where it stands.
    row : Row
        What each line must hold.
    number : int
        Number of the first line.
    pending : bytes
        Lines already taken from `handle` that are to be parsed first.
    block_size : int
        Bytes to read at a time.

    Yields
    ------
    u, v : int64 arrays
        0-based vertex ids.
    weight : int64, uint64 or float64 array, or None
        float64 if a weight of the block is decimal, else the first of the other two that holds
        all of them; None if rows have no weight.

    Raises
    ------
    FileFormatError
        Naming the first line that does not hold such a row.
    """
    blocks = whole_lines(handle, pending, block_size, is_quoted=bool(row.delimiter))
    parse = partial(_parse_block, row=row, parse_lines=_compiled(path, row))
    for block, parsed in _ahead(parse, blocks):
        try:
            columns, num_lines = parsed.result()
        except ValueError as doubt:
            _explain(path, block, number, row, doubt)
        if columns is not None:
            yield columns
        number += num_lines


def join_blocks(path: Path, blocks: Iterable[Columns], num_vertices: int | None) -> EdgeList:
    """Collect column blocks into one graph.

    Raises
    ------
    FileFormatError
        If no dtype holds the weights of all blocks exactly; names the edge.
    """
    columns = list(zip(*blocks, strict=True))
    if not columns:
        columns = [(np.empty(0, np.int64),), (np.empty(0, np.int64),), (None,)]
    u, v, weights = columns
    try:
        weight = None if weights[0] is None else join_weights(weights)
        return EdgeList(np.concatenate(u), np.concatenate(v), weight, num_vertices=num_vertices)
    except GraphError as error:
        message = f"{path}: {error}"
        raise FileFormatError(message) from error


def whole_lines(
    handle: IO[bytes], pending: bytes, size: int, *, is_quoted: bool = False
) -> Iterator[bytes]:
    """Cut what is left of a file into blocks that end where a line ends, but not within quotes."""
    while True:
        pieces = [pending]
        if len(pending) < size:
            pieces += [handle.read(size - len(pending)), handle.readline()]
        block = b"".join(pieces)
        if not block:
            return
        if is_quoted and block.count(b'"') % 2:
            block += _rest_of_quote(handle)
        yield block if block.endswith(b"\n") else block + b"\n"
        pending = b""


def _rest_of_quote(handle: IO[bytes]) -> bytes:
    """Return the lines up to the one that closes a quote, or enough to say that none does."""
    lines, size = [], 0
    while size < BLOCK_SIZE and (line := handle.readline()):
        lines.append(line)
        size += len(line)
        if line.count(b'"') % 2:
            break
    return b"".join(lines)


def _ahead(
    function: Callable[[bytes], _Parsed], blocks: Iterable[bytes]
) -> Iterator[tuple[bytes, Future[_Parsed]]]:
    """Yield blocks in order with what becomes of them, on as many threads as pyarrow would take."""
    import pyarrow as pa

    waiting: deque[tuple[bytes, Future[_Parsed]]] = deque()
    with ThreadPoolExecutor(pa.cpu_count()) as pool:
        for block in blocks:
            waiting.append((block, pool.submit(function, block)))
            if len(waiting) > pa.cpu_count():
                yield waiting.popleft()
        yield from waiting


def _compiled(path: Path, row: Row) -> Callable[[bytes], Columns | None] | None:
    """Return the compiled parser, if a solver's kernels would be loaded for as many edges."""
    if not has_numba() or not kernels.pay_for(path.stat().st_size // _LINE):
        return None
    places = row.places or range(2 + row.weighted)
    ids = range(row.first_id, row.last_id + 1)
    return partial(parse_lines, tag=row.tag, places=places, delimiter=row.delimiter, ids=ids)


def _parse_block(
    block: bytes, row: Row, parse_lines: Callable[[bytes], Columns | None] | None
) -> _Parsed:
    """Parse a block of lines; a ValueError says that it is doubtful."""
    if parse_lines and (columns := parse_lines(block)):
        return columns, len(columns[0])  # without a pass to count them
    num_lines = np.count_nonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return _columns(block, row), int(num_lines)


def _columns(block: bytes, row: Row) -> Columns | None:
    """Parse a block that may have to be tidied first."""
    text = row.plain(block)
    if text[: text.find(b"\n")].endswith(b"\r"):
        text = text.replace(b"\r\n", b"\n")
    try:
        return _parse(text, row) if text else None
    except ValueError:  # most blocks are tidy as they stand
        text = _tidy(text, row)
        return _parse(text, row) if text else None


def _tidy(block: bytes, row: Row) -> bytes:
    """Leave rows only, with one blank between fields."""
    block = block.replace(b"\r\n", b"\n").replace(b"\t", b" ")
    data = _without_gaps(np.frombuffer(block, np.uint8))
    ends = np.flatnonzero(data == ord("\n")) + 1
    starts = np.append(0, ends)[:-1]
    wanted = ~np.isin(data[starts], np.frombuffer(row.comments, np.uint8))
    return data[np.repeat(wanted, ends - starts)].tobytes()


def _without_gaps(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Drop blanks at either end of a line, all but one of a run of blanks, and empty lines."""
    gap = (data == ord(" ")) | (data == ord("\n"))
    keep = data != ord(" ")
    keep[:-1] |= ~gap[1:]
    data, keep = data[keep], ~gap[keep]
    keep[1:] |= data[:-1] != ord("\n")
    kept: NDArray[np.uint8] = data[keep]
    return kept


def _parse(text: bytes, row: Row) -> Columns:
    """Parse text between single blanks or tabs; a ValueError says that it may not be that."""
    if any(mark in text for mark in _MISREAD):
        message = "a byte that is not part of a number"
        raise ValueError(message)
    bounds = _bounds(text, row)
    u, v = (_ids(text, *each, row) for each in bounds[:2])
    return u, v, _weights(text, *bounds[2]) if row.weighted else None


def _ids(
    text: bytes, start: NDArray[np.int64], stop: NDArray[np.int64], row: Row
) -> NDArray[np.int64]:
    """Parse vertex ids, and let them start from 0; a ValueError says that one is out of range."""
    ids = _numbers(text, start, stop, "int64")
    if ids.min() < row.first_id or ids.max() > row.last_id:
        message = "a vertex id out of range"
        raise ValueError(message)
    return ids - row.first_id if row.first_id else ids


def _weights(text: bytes, start: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[Any]:
    if any(mark in text for mark in _DECIMAL_MARKS):
        weight = _numbers(text, start, stop, "float64")
        _check_decimals(text, weight)
        return weight
    try:
        return _numbers(text, start, stop, "int64")
    except ValueError:
        return _numbers(text, start, stop, "uint64")


def _bounds(text: bytes, row: Row) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Find where each number of each line starts and stops, field by field."""
    data = np.frombuffer(text, np.uint8)
    stop = np.flatnonzero(data <= ord(" "))
    width = len(row.fields)
    marks = data[stop[:width]].tobytes()
    is_row = marks.replace(b"\t", b" ") == b" " * (width - 1) + b"\n"
    if not is_row or data.take(stop).tobytes() != marks * (len(stop) // width):
        message = "fields that are not between single blanks"
        raise ValueError(message)
    start = np.append(0, stop[:-1] + 1)
    bounds = [(start[i::width], stop[i::width]) for i in range(width)]
    if row.tag:
        (first, end), *bounds = bounds
        if (end - first != 1).any() or (data[first] != ord(row.tag)).any():
            message = "a line with another tag"
            raise ValueError(message)
    return bounds


def _numbers(
    text: bytes, start: NDArray[np.int64], stop: NDArray[np.int64], dtype: str
) -> NDArray[Any]:
    """Parse a number in each range of a text, by pyarrow; a ValueError says that one is none."""
    import pyarrow as pa

    # Every second string is a number; those between them are marked as missing.
    offsets = np.append(0, np.column_stack([start, stop]))
    every_second = pa.py_buffer(b"\xaa" * (len(start) // 4 + 1))
    buffers = pa.py_buffer(offsets), pa.py_buffer(text), every_second
    numbers = pa.LargeStringArray.from_buffers(2 * len(start), *buffers).cast(dtype)
    return np.frombuffer(numbers.buffers()[1], dtype)[1 : 2 * len(start) : 2].copy()


def _check_decimals(text: bytes, weight: NDArray[np.float64]) -> None:
    """Refuse what pyarrow reads but mstflow does not: NaN, overflow, a plus, rounded integers."""
    doubtful = np.isnan(weight.min()) or (
        b"+" in text and any(plus in text for plus in (b" +", b"\t+"))
    )
    if not doubtful and max(weight.max(), -weight.min()) >= LARGEST_EXACT:
        doubtful = np.isinf(weight).sum() != text.lower().count(b"inf") or any(
            abs(_integer(token)) > LARGEST_EXACT for token in _LONG_INTEGER_WEIGHT.findall(text)
        )
    if doubtful:
        message = "a weight that cannot be taken as it is written"
        raise ValueError(message)


def _explain(path: Path, block: bytes, number: int, row: Row, doubt: ValueError) -> NoReturn:
    """Find the first bad line of a block and raise the error that names it."""
    weights = []
    for here, line in enumerate(block.split(b"\n"), number):
        try:
            fields = row.split(line)
        except ValueError as error:
            fail(path, here, str(error))
        if not fields or (fields[0] and fields[0][:1] in row.comments):
            continue
        problem = _row_problem(fields, row)
        if problem:
            fail(path, here, problem)
        weights.append((here, fields[-1]))
    # Each line is fine by itself: integer weights that need more than one dtype are left.
    integers = [(here, _integer(token)) for here, token in weights if _INTEGER.fullmatch(token)]
    if len(integers) < len(weights):
        bound, company = LARGEST_EXACT, "decimal weights, which are read as float64"
    else:
        bound, company = 2**63 - 1, "negative weights, which are read as int64"
    for here, value in integers:
        if abs(value) > bound and row.weighted:
            fail(path, here, f"integer weight {value} is not exact beside {company}")
    message = f"{path}: lines {number} to {here - 1}: {doubt}"
    raise FileFormatError(message)


def _row_problem(fields: list[bytes], row: Row) -> str | None:
    """Say what is wrong with one row, if anything is."""
    form = " ".join(row.fields).replace("tag", row.tag.decode())
    if row.tag and fields[0] != row.tag:
        return f"expected '{form}', found {shown(b' '.join(fields))}"
    if len(fields) != len(row.fields):
        return f"expected {len(row.fields)} fields, '{form}', found {len(fields)}"
    first = len(row.tag)
    for token in fields[first : first + 2]:
        if not _INTEGER.fullmatch(token):
            return f"{shown(token)} is not a vertex id"
        if not row.first_id <= _integer(token) <= row.last_id:
            return f"vertex id {token[:24].decode()} is not in {row.first_id} to {row.last_id}"
    return _weight_problem(fields[-1]) if row.weighted else None


def _integer(token: bytes) -> int:
    """Value of an integer, cut to 40 digits: enough to fail every check, few enough for int()."""
    value = int(token.lstrip(b"-0")[:40] or b"0")
    return -value if token.startswith(b"-") else value


def _weight_problem(token: bytes) -> str | None:
    if token.lower().lstrip(b"+-") == b"nan":
        return "the weight is NaN"
    if not _DECIMAL.fullmatch(token):
        return f"{shown(token)} is not a weight"
    if _INTEGER.fullmatch(token):
        if not -(2**63) <= _integer(token) < 2**64:
            return f"integer weight {token[:24].decode()} does not fit in 64 bits"
    elif np.isinf(float(token)) and b"inf" not in token.lower():
        return f"weight {token[:24].decode()} is beyond float64"
    return None
