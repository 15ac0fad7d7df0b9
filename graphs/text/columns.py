"""Text to columns: blocks of lines parsed at once, and a bad line found and named.

Blocks of plain lines are parsed by `lines` if the file is large; others by pyarrow, as they stand
or, where that fails, with one blank between fields and without comments. A block that pyarrow
refuses, or may misread, is walked line by line: that is exact, and names the first bad line.
"""

from __future__ import annotations

import csv
import re
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, GraphError
from ...runtime.native import has_numba
from ..edge_list import EdgeList, join_weights
from .files import LARGEST_EXACT, fail, shown, split_fields
from .lines import kernels, parse_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from ..edge_list import Columns

    _Parsed = tuple[Columns | None, int]  # and the number of lines

BLOCK_SIZE = 2**19  # so that what is parsed at once stays in the cache
_ANY = "surrogateescape"  # so that any bytes are text

_LINE = 20  # bytes, of an edge with a weight
_LARGEST_ID = np.iinfo(np.int64).max - 1
_WANTED = ("u", "v", "weight")
_DECIMAL_MARKS = (b".", b"e", b"E", b"n", b"N")
_INTEGER = re.compile(rb"-?[0-9]+")
_DECIMAL = re.compile(rb"-?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|-?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True)
class Row:
    """What each line of a file must hold: the `fields` tag, u, v and weight, and others to skip.

    Lines whose first byte is one of `comments` are skipped; ids run from `first_id` on. Blanks and
    tabs stand between fields or, where they may be quoted, the `delimiter`. Messages show `header`.
    """

    comments: bytes
    fields: tuple[str, ...] = _WANTED
    tag: bytes = b""
    first_id: int = 0
    num_vertices: int | None = None
    delimiter: bytes = b""
    header: str = ""

    @property
    def last_id(self) -> int:
        """Largest id allowed."""
        if self.num_vertices is None:
            return _LARGEST_ID
        return self.first_id + self.num_vertices - 1


def read_rows(
    path: Path,
    handle: IO[bytes],
    row: Row,
    *,
    number: int,
    pending: bytes = b"",
    stated: tuple[int, int] | None = None,
    block_size: int = BLOCK_SIZE,
) -> EdgeList:
    """Parse the rest of a file, from line `number` on, after the `pending` lines already read.

    `stated` is the line that states the number of edges, and that number. Weights become int64;
    uint64 if one needs it; float64 if one is decimal.

    Raises
    ------
    FileFormatError
        Naming the first line that does not hold such a row; or the edge, if no dtype holds the
        weights of all blocks exactly.
    """

    def blocks(number: int) -> Iterator[Columns]:
        texts = whole_lines(handle, pending, block_size, is_quoted=bool(row.delimiter))
        parse = partial(_parse_block, row=row, parse_lines=_compiled(path, row))
        for block, parsed in _ahead(parse, texts):
            try:
                columns, num_lines = parsed.result()
            except ValueError:
                columns, num_lines = _walk(path, block, number, row), block.count(b"\n")
            if columns is not None:
                yield columns
            number += num_lines

    return join_blocks(path, blocks(number), row.num_vertices, stated)


def join_blocks(
    path: Path,
    blocks: Iterable[Columns],
    num_vertices: int | None,
    stated: tuple[int, int] | None = None,
) -> EdgeList:
    """Collect column blocks into one graph, whose number of edges a line of the file may state.

    Raises
    ------
    FileFormatError
        If no dtype holds the weights of all blocks exactly, or there are other edges than stated.
    """
    columns = list(zip(*blocks, strict=True))
    if not columns:
        columns = [(np.empty(0, np.int64),), (np.empty(0, np.int64),), (None,)]
    u, v, weights = columns
    try:
        weight = None if weights[0] is None else join_weights(weights)
        graph = EdgeList(np.concatenate(u), np.concatenate(v), weight, num_vertices=num_vertices)
    except GraphError as error:
        message = f"{path}: {error}"
        raise FileFormatError(message) from error
    if stated is not None and graph.num_edges != stated[1]:
        which = "more" if graph.num_edges > stated[1] else "fewer"
        problem = f"{graph.num_edges} edges, {which} than the {stated[1]} stated here"
        fail(path, stated[0], f"the file holds {problem}")
    return graph


def whole_lines(
    handle: IO[bytes], pending: bytes, size: int, *, is_quoted: bool = False
) -> Iterator[bytes]:
    """Cut what is left of a file into blocks that end where a line ends, but not within quotes."""
    while True:
        segments = [pending]
        if len(pending) < size:
            segments += [handle.read(size - len(pending)), handle.readline()]
        block = b"".join(segments)
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
    places = [_WANTED.index(name) if name in _WANTED else -1 for name in row.fields]
    places = places[bool(row.tag) :]
    ids = range(row.first_id, row.last_id + 1)
    return partial(parse_lines, tag=row.tag, places=places, delimiter=row.delimiter, ids=ids)


def _parse_block(
    block: bytes, row: Row, parse_lines: Callable[[bytes], Columns | None] | None
) -> _Parsed:
    """Parse a block of lines; a ValueError says that it must be walked."""
    if parse_lines and (columns := parse_lines(block)):
        return columns, len(columns[0])  # without a pass to count them
    num_lines = block.count(b"\n")
    if row.delimiter not in (b"", b" "):
        return _parse(block, row), num_lines
    text = block.replace(b"\t", b" ")
    if b"\r" in text:  # a search for two bytes takes far longer than one for the first
        text = text.replace(b"\r\n", b"\n")
    try:
        return _parse(text, row), num_lines
    except ValueError:  # most blocks are tidy as they stand
        return _parse(_tidy(text, row), row), num_lines


def _tidy(text: bytes, row: Row) -> bytes:
    """Leave rows only, with one blank between fields."""
    while b"  " in text:  # faster than a regular expression, by far
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    if any(bytes([mark]) in text for mark in row.comments):
        return re.sub(rb"(?m)^[%b].*\n" % row.comments, b"", text)
    return text


def _parse(text: bytes, row: Row) -> Columns | None:
    """Parse lines by pyarrow; a ValueError says that they may have another form."""
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow import csv as arrow_csv

    if not text or text.isspace():
        return None
    _require(b"\r" not in text or bool(row.delimiter))  # it would be the end of a line
    wanted = [name for name in ("tag", *_WANTED) if name in row.fields]
    may_be_hexadecimal = b"x" in text or b"X" in text  # which pyarrow takes for integers
    are_integers = not any(mark in text for mark in _DECIMAL_MARKS)
    integers = ("u", "v", "weight") if are_integers else ("u", "v")
    types = {
        name: pa.string() if may_be_hexadecimal or name not in integers else pa.int64()
        for name in wanted
    }
    quote = '"' if row.delimiter else False
    table = arrow_csv.read_csv(
        pa.BufferReader(text),
        arrow_csv.ReadOptions(column_names=row.fields, use_threads=False, block_size=len(text) + 1),
        arrow_csv.ParseOptions(delimiter=(row.delimiter or b" ").decode(), quote_char=quote),
        arrow_csv.ConvertOptions(
            column_types=types, include_columns=wanted, check_utf8=False, null_values=[]
        ),
    )
    columns = {name: table[name].chunk(0) for name in wanted}  # the block is one chunk
    if row.delimiter and b" " in text:
        for name in (name for name in wanted if types[name] == pa.string()):
            columns[name] = compute.ascii_trim_whitespace(columns[name])
    if row.tag:
        _require(compute.all(compute.equal(columns["tag"], row.tag)).as_py())
    if may_be_hexadecimal:
        for strings in columns.values():
            found = compute.match_substring(strings, "x", ignore_case=True)
            _require(not compute.any(found).as_py())
    u, v = (np.asarray(columns[name].cast("int64")) for name in "uv")
    _require(min(u.min(), v.min()) >= row.first_id and max(u.max(), v.max()) <= row.last_id)
    if row.first_id:
        u, v = u - row.first_id, v - row.first_id
    return u, v, _weights(columns["weight"]) if "weight" in columns else None


def _weights(strings: Any) -> NDArray[Any]:
    """Parse weights; a ValueError says that pyarrow may not take one as it is written."""
    import pyarrow as pa
    from pyarrow import compute

    if strings.type == pa.int64():
        return np.asarray(strings)
    data = strings.buffers()[2]
    text = data.to_pybytes() if data else b""
    if not any(mark in text for mark in _DECIMAL_MARKS):
        return np.asarray(strings.cast("int64"))
    weight = np.asarray(strings.cast("float64"))
    _require(np.abs(weight).max() < LARGEST_EXACT)  # neither NaN, overflow nor a rounded integer
    if b"+" in text:
        _require(not compute.any(compute.starts_with(strings, "+")).as_py())
    return weight


def _require(is_plain: bool) -> None:
    if not is_plain:
        message = "pyarrow may misread this"
        raise ValueError(message)


def _walk(path: Path, block: bytes, number: int, row: Row) -> Columns | None:
    """Parse a block line by line, or raise the error that names its first bad line."""
    lines, rows = [], []
    for here, fields in records(path, block, number, row.delimiter):
        if fields and not (fields[0] and fields[0][:1] in row.comments):
            lines.append(here)
            try:
                rows.append(_values(fields, row))
            except ValueError as error:
                fail(path, here, str(error))
    if not rows:
        return None
    columns = list(zip(*rows, strict=True))
    u, v = (np.array(list(map(_integer, ids))) - row.first_id for ids in columns[:2])
    return u, v, _exact_weights(path, lines, columns[2]) if len(columns) > 2 else None


def records(
    path: Path, block: bytes, number: int, delimiter: bytes
) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number of each line and its fields, which may be quoted if there is a delimiter."""
    if not delimiter:
        yield from enumerate(map(split_fields, block.split(b"\n")), number)
        return
    lines = (line.strip(" \r") for line in block.decode(errors=_ANY).split("\n"))
    reader = csv.reader(lines, delimiter=delimiter.decode(), skipinitialspace=True)
    here = number
    try:
        for fields in reader:
            yield here, [field.strip().encode(errors=_ANY) for field in fields]
            here = number + reader.line_num
    except csv.Error as error:
        fail(path, here, str(error))


def _values(fields: list[bytes], row: Row) -> list[bytes]:
    """Return u, v and the weight of one line; a ValueError says what is wrong with it."""
    header = row.header or " ".join(row.fields).replace("tag", row.tag.decode())
    problem = None
    if row.tag and fields[0] != row.tag:
        problem = f"expected '{header}', found {shown(b' '.join(fields))}"
    elif len(fields) != len(row.fields):
        problem = f"expected {len(row.fields)} fields, '{header}', found {len(fields)}"
    else:
        values = [fields[row.fields.index(name)] for name in _WANTED if name in row.fields]
        problems = [_id_problem(token, row) for token in values[:2]]
        problems += [_weight_problem(token) for token in values[2:]]
        problem = next(filter(None, problems), None)
    if problem:
        raise ValueError(problem)
    return values


def _exact_weights(path: Path, lines: list[int], tokens: tuple[bytes, ...]) -> NDArray[Any]:
    """Return weights in the dtype that holds all of them, or name the first that it does not."""
    integers = {at: _integer(token) for at, token in enumerate(tokens) if _INTEGER.fullmatch(token)}
    is_decimal, is_signed = len(integers) < len(tokens), min(integers.values(), default=0) < 0
    for at, value in integers.items():
        if is_decimal and abs(value) > LARGEST_EXACT:
            company = "decimal weights, which are read as float64"
        elif is_signed and value >= 2**63:
            company = "negative weights, which are read as int64"
        else:
            continue
        fail(path, lines[at], f"integer weight {value} is not exact beside {company}")
    if is_decimal:
        return np.array(list(map(float, tokens)))
    dtype = np.uint64 if max(integers.values()) >= 2**63 else np.int64
    return np.array(list(integers.values()), dtype)


def _id_problem(token: bytes, row: Row) -> str | None:
    if not _INTEGER.fullmatch(token):
        return f"{shown(token)} is not a vertex id"
    if not row.first_id <= _integer(token) <= row.last_id:
        return f"vertex id {token[:24].decode()} is not in {row.first_id} to {row.last_id}"
    return None


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
