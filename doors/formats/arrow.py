"""Arrow IPC: files (also called Feather) and streams, which are read by record batches.

A stream is a sequence of messages: the schema, dictionaries and record batches. To read one record
batch, pyarrow gets a short stream, without the other ones. A file has a footer that lists them.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ...graphs.edge_list import Columns, EdgeList
from ...graphs.libraries import dataset, pa
from ...graphs.segments import Range, Read, rows_of
from ...graphs.source import EdgeSource
from ...runtime.memory import empty
from ..column_names import Choose, ColumnNames, Weight, choose_columns
from ..file_checks import FileState, check_decompressed, file_fingerprint, unchanged
from ..libraries.arrow_tables import (
    arrow_columns,
    arrow_dtypes,
    arrow_errors,
    keyed_schema,
    stated_num_vertices,
    with_keys,
)
from ..places.folders import Keys
from ..places.url import Place, Url
from .file_format import Format

_MAGIC = b"ARROW1"  # the first bytes of a file, but not of a stream
#: Rows of a table with names that is read.
_TABLE_ROWS = 2**17
#: Bytes of an edge in columns of 64 bits.
_EDGE_BYTES = 24

#: The bounds of consecutive messages, in bytes.
_Bytes = tuple[int, int]


class _Batch(NamedTuple):
    """The place of a record batch."""

    number: int
    num_rows: int
    #: In a stream, the messages that are needed to read it; it is the last one.
    messages: tuple[_Bytes, ...] = ()


def read_arrow(path: Place, weight: Weight = "weight", keys: Keys = ()) -> EdgeList:
    """Read an Arrow IPC file or stream; `choose_columns` finds its columns, also among `keys`."""
    choose = partial(choose_columns, weight=weight)
    with arrow_errors(path):
        opened = _opened(path, choose, keys)
        _check_size(path, opened)
        columns = arrow_columns(opened.names, pa.concat_tables(opened.tables(keys)))
        return EdgeList(*columns, num_vertices=stated_num_vertices(opened.schema.metadata))


def arrow_tables(path: Place, choose: Choose, keys: Keys = ()) -> Iterator[Any]:
    """Yield the chosen columns, and a table of them, for at most `_TABLE_ROWS` rows at a time."""
    with arrow_errors(path):
        opened, num_bytes = _opened(path, choose, keys), 0
        for table in opened.tables(keys):
            num_bytes += table.get_total_buffer_size()  # `nbytes` fails on views before pyarrow 21
            check_decompressed(path, num_bytes)
            for start in range(0, max(1, len(table)), _TABLE_ROWS):
                yield opened.names, table.slice(start, _TABLE_ROWS)


def arrow_source(path: Place, weight: Weight = "weight", keys: Keys = ()) -> EdgeSource:
    """Return an Arrow IPC file or stream as a source, reading only its metadata."""
    with arrow_errors(path):
        opened = _opened(path, partial(choose_columns, weight=weight), keys)
        dtypes = _check_size(path, opened)
    names, batches = opened.names, opened.batches
    starts = accumulate((batch.num_rows for batch in batches), initial=0)
    segments = (
        RecordBatch(path, opened.state, opened.file, batch, names, start, keys, stop=batch.num_rows)
        for batch, start in zip(batches, starts, strict=False)
    )
    weight_dtype = dtypes[names.weight] if names.weight is not None else np.dtype(np.int64)
    num_vertices = stated_num_vertices(opened.schema.metadata)
    return EdgeSource(tuple(segments), num_vertices, weight_dtype=weight_dtype)


@dataclass(frozen=True)
class RecordBatch(Range):
    """A range of the rows of one record batch, which is always read as a whole."""

    path: Place
    state: FileState
    file: _File = field(compare=False, repr=False)
    batch: _Batch
    columns: ColumnNames
    #: The first row of the record batch.
    first_row: int
    keys: Keys = ()
    detects_changes = True

    @property
    def edges_at_once(self) -> int:
        """Number of edges that each read loads, or that need the memory of its messages."""
        num_bytes = sum(stop - start for start, stop in self.batch.messages)
        return max(self.batch.num_rows, num_bytes // _EDGE_BYTES)

    @property
    def is_weighted(self) -> bool:
        """Whether the file has the column of weights."""
        return self.columns.weight is not None

    @property
    def origin(self) -> tuple[str, int]:
        """The file, and the row of the first edge."""
        return str(self.path), self.first_row + self.start

    def reads(self, size: int) -> Iterator[Read]:  # `size` has no effect
        """Yield one function, which reads the record batch."""
        yield self.num_edges, partial(rows_of, self._read, self.start, self.stop)

    def fingerprint(self) -> str:
        """Return the fingerprint of the file, the record batch, the columns and the rows."""
        rows = f"{self.batch.number}, {self.start}:{self.stop}"
        return f"{file_fingerprint(self.path)}[{rows}] {self.columns} {self.keys}"

    def _read(self) -> Columns:
        with unchanged(self.path, self.state), arrow_errors(self.path):
            table = _read_batch(self.file, self.batch)
            return arrow_columns(self.columns, with_keys(table, self.keys), self.first_row)


class _Opened(NamedTuple):
    """The metadata of a file or stream: its columns, those of the graph, and its batches."""

    file: _File
    state: FileState
    schema: Any
    names: ColumnNames
    batches: list[_Batch]

    def tables(self, keys: Keys) -> Iterator[Any]:
        """Yield a table of the columns of the graph for each record batch; at least one table."""
        empty_tables = [] if self.batches else [self.schema.empty_table()]
        batches = (_read_batch(self.file, batch) for batch in self.batches)
        for table in itertools.chain(batches, empty_tables):
            yield with_keys(table, keys).select(self.names.present)


def _check_size(path: Place, opened: _Opened) -> dict[str, np.dtype[Any]]:
    """Check the size of the columns of the graph; return their dtypes by name."""
    dtypes = arrow_dtypes(opened.names, opened.schema)
    row = sum(dtype.itemsize for dtype in dtypes.values())
    check_decompressed(path, row * sum(batch.num_rows for batch in opened.batches))
    return dtypes


def _opened(path: Place, choose: Choose, keys: Keys) -> _Opened:
    """Read the metadata. A local file is memory-mapped, so that nothing else is read."""
    state = FileState.of(path)
    handle = pa.PythonFile(path.open()) if isinstance(path, Url) else pa.memory_map(str(path))
    with unchanged(path, state), handle as file:
        is_file = file.read(len(_MAGIC)) == _MAGIC
        file.seek(0)
        schema, batches = _batches_of_file(path, file) if is_file else _batches_of_stream(file)
    schema = keyed_schema(schema, keys)
    names = choose(schema.names)
    return _Opened(_File(path, names.present), state, schema, names, batches)


def _batches_of_file(path: Place, file: Any) -> tuple[Any, list[_Batch]]:
    """Return the schema of a file, and its record batches."""
    with pa.ipc.open_file(file) as reader:
        schema = reader.schema
    if not schema.names:
        return schema, []
    widths = [_width(field.type) for field in schema]
    narrow = min(range(len(widths)), key=lambda place: (not widths[place], widths[place]))
    # The column may be compressed, so check first that it has not too many rows.
    file.seek(0)
    fragment = dataset.IpcFileFormat().make_fragment(file)
    check_decompressed(path, fragment.count_rows() * widths[narrow] // 8)
    with pa.ipc.open_file(file, options=_options([narrow])) as reader:
        counts = (reader.get_batch(place).num_rows for place in range(reader.num_record_batches))
        return schema, list(itertools.starmap(_Batch, enumerate(counts)))


def _batches_of_stream(file: Any) -> tuple[Any, list[_Batch]]:
    """Return the schema of a stream, and its record batches."""
    before: list[_Bytes] = []
    batches: list[_Batch] = []
    start, schema, no_columns = 0, None, pa.schema([])
    for message in pa.ipc.MessageReader.open_stream(file):
        bounds = start, file.tell()
        if message.type == "record batch":
            # Without columns, nothing is decompressed.
            num_rows = pa.ipc.read_record_batch(message, no_columns).num_rows
            batches.append(_Batch(len(batches), num_rows, (*before, bounds)))
        else:
            schema = schema or pa.ipc.read_schema(message)
            before.append(bounds)
        start = bounds[1]
    if schema is None:
        raise ValueError("has no columns")
    return schema, batches


def _width(arrow_type: Any) -> int:
    """Return the bits of a value; 0 for types without a fixed width, such as strings."""
    try:
        return int(arrow_type.bit_width)
    except ValueError:
        return 0


def _options(included: list[int]) -> Any:
    # The threads of mstflow read several record batches.
    return pa.ipc.IpcReadOptions(included_fields=included, use_threads=False)


@dataclass(frozen=True, eq=False)
class _File:
    """A file or stream of which these columns are read, as long as there are record batches of it.

    Opening a file takes time for each of its record batches, so each thread keeps one reader. The
    file is not memory-mapped: if a mapped file is truncated, an access ends the process.
    """

    path: Place
    names: list[str]

    def batch(self, number: int) -> Any:
        """Read a record batch of a file."""
        readers = _of_thread.readers
        reader = readers.pop(self, None)  # a reader that fails is not used again
        if reader is None:
            readers.clear()
            path = self.path
            source = pa.PythonFile(path.open()) if isinstance(path, Url) else pa.OSFile(str(path))
            reader = _open(pa.ipc.open_file, source, self.names)
        batch = reader.get_batch(number)
        readers[self] = reader
        return batch


class _OfThread(threading.local):
    """The reader that each thread has used last, until its file is collected."""

    def __init__(self) -> None:
        self.readers: WeakKeyDictionary[_File, Any] = WeakKeyDictionary()


_of_thread = _OfThread()


def _read_batch(file: _File, batch: _Batch) -> Any:
    """Read the columns of a file, if the record batch has them, as a `pyarrow.Table`."""
    if batch.messages:
        source = pa.py_buffer(_read_messages(file.path, batch.messages))
        with _open(pa.ipc.open_stream, source, file.names) as reader:
            table = pa.table(reader.read_next_batch())
    else:
        table = pa.table(file.batch(batch.number))
    table.validate()  # otherwise damaged lengths lead beyond the end of a buffer
    return table


def _open(open_: Callable[..., Any], source: Any, names: list[str]) -> Any:
    """Return a reader of the columns with these names."""
    with open_(source) as reader:
        included = [place for place, name in enumerate(reader.schema.names) if name in names]
    return open_(source, options=_options(included))


def _read_messages(path: Place, messages: Sequence[_Bytes]) -> NDArray[np.uint8]:
    """Read messages into memory of the pool, one after the other."""
    data, end = empty(sum(stop - start for start, stop in messages), np.uint8), 0
    with path.open("rb", buffering=0) as file:
        for start, stop in messages:
            file.seek(start)
            rest = data[end : end + stop - start].data
            while rest and (done := file.readinto(rest)):
                rest = rest[done:]
            if rest:
                raise ValueError("ends before its last message")
            end += stop - start
    return data


FORMAT = Format(
    "arrow",
    (".arrow", ".feather", ".ipc"),
    read_arrow,
    arrow_source,
    begins=lambda line: line.startswith(_MAGIC),
    tables=arrow_tables,
    has_columns=True,
)
