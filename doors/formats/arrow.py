"""Arrow IPC: files (also called Feather) and streams, which are read by record batches.

A stream is a sequence of messages: the schema, dictionaries and record batches. To read some record
batches, pyarrow gets a short stream, without the others. A file has a footer that lists them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graphs.edge_list import EdgeList
from ...graphs.libraries import dataset, pa
from ...graphs.source import EdgeSource
from ...runtime.memory import empty
from ..column_names import USUAL, Choose, ColumnNames
from ..file_checks import FileState, check_decompressed, unchanged
from ..libraries.arrow_batches import EDGE_BYTES, Batches, OpenFile
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

#: The bounds of consecutive messages, in bytes.
_Bytes = tuple[int, int]


class _Batch(NamedTuple):
    """The place of a record batch."""

    number: int
    num_rows: int
    #: In a stream, the messages that are needed to read it; it is the last one.
    messages: tuple[_Bytes, ...] = ()


def read_arrow(path: Place, choose: Choose = USUAL, keys: Keys = ()) -> EdgeList:
    """Read an Arrow IPC file or stream; some columns may be among `keys`."""
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


def arrow_source(path: Place, choose: Choose = USUAL, keys: Keys = ()) -> EdgeSource:
    """Return an Arrow IPC file or stream as a source, reading only its metadata."""
    with arrow_errors(path):
        opened = _opened(path, choose, keys)
        dtypes = _check_size(path, opened)
    names, batches = opened.names, opened.batches
    row = sum(dtype.itemsize for dtype in dtypes.values())
    starts = tuple(accumulate((batch.num_rows for batch in batches), initial=0))
    segment = RecordBatches(
        path=path,
        state=opened.state,
        columns=names,
        starts=starts,
        columns_bytes=row * starts[-1],
        row_bytes=row,
        keys=keys,
        stop=starts[-1],
        file=opened.file,
        batches=tuple(batches),
    )
    weight_dtype = dtypes[names.weight] if names.weight is not None else np.dtype(np.int64)
    num_vertices = stated_num_vertices(opened.schema.metadata)
    return EdgeSource((segment,), num_vertices, weight_dtype=weight_dtype)


@dataclass(frozen=True, kw_only=True)
class RecordBatches(Batches):
    """A range of the rows of an Arrow IPC file or stream."""

    file: OpenFile[Any] = field(compare=False, repr=False)
    batches: tuple[_Batch, ...]

    @property
    def format_name(self) -> str:
        """The name of the format."""
        return "arrow"

    def table(self, first: int, last: int) -> Any:
        """Read record batches."""
        return _read_batches(self.file, self.columns, self.batches[first:last])

    @property
    def sizes(self) -> Sequence[int]:
        """The number of edges for which the memory of each batch, or of its message, is enough."""
        messages = (_length(batch.messages[-1:]) for batch in self.batches)
        return [
            max(rows, num_bytes // EDGE_BYTES)
            for rows, num_bytes in zip(super().sizes, messages, strict=True)
        ]

    @property
    def edges_at_once(self) -> int:
        """Number of edges that take the memory of the largest batch, or of its messages."""
        lengths = (_length(batch.messages) for batch in self.batches)
        return max(super().edges_at_once, max(lengths, default=0) // EDGE_BYTES)


def _length(messages: Sequence[_Bytes]) -> int:
    """Return the number of bytes of messages."""
    return sum(stop - start for start, stop in messages)


class _Opened(NamedTuple):
    """The metadata of a file or stream: its columns, those of the graph, and its batches."""

    file: OpenFile[Any]
    state: FileState
    schema: Any
    names: ColumnNames
    batches: list[_Batch]

    def tables(self, keys: Keys) -> Iterator[Any]:
        """Yield a table of the columns of the graph for each record batch; at least one table."""
        empty_tables = [] if self.batches else [self.schema.empty_table()]
        batches = (_read_batches(self.file, self.names, [batch]) for batch in self.batches)
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
    file = OpenFile(path, partial(_open_file, names=names))
    return _Opened(file, state, schema, names, batches)


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


def _read_batches(file: OpenFile[Any], names: ColumnNames, batches: Sequence[_Batch]) -> Any:
    """Read consecutive record batches as a `pyarrow.Table`, with the columns that the file has."""
    if messages := sorted({bounds for batch in batches for bounds in batch.messages}):
        source = pa.py_buffer(_read_messages(file.path, messages))
        with _open(pa.ipc.open_stream, source, names) as stream:
            table = stream.read_all()
    else:
        numbers = [batch.number for batch in batches]
        table = pa.Table.from_batches(file.read(lambda reader: [*map(reader.get_batch, numbers)]))
    table.validate()  # otherwise damaged lengths lead beyond the end of a buffer
    return table


def _open_file(path: Place, names: ColumnNames) -> Any:
    """Return a reader of a file. A mapped file that is truncated would end the process."""
    source = pa.PythonFile(path.open()) if isinstance(path, Url) else pa.OSFile(str(path))
    return _open(pa.ipc.open_file, source, names)


def _open(open_: Callable[..., Any], source: Any, names: ColumnNames) -> Any:
    """Return a reader of the columns with these names."""
    with open_(source) as reader:
        stored = enumerate(reader.schema.names)
        included = [place for place, name in stored if name in names.present]
    return open_(source, options=_options(included))


def _read_messages(path: Place, messages: Sequence[_Bytes]) -> NDArray[np.uint8]:
    """Read messages into memory of the pool, one after the other."""
    data, end = empty(_length(messages), np.uint8), 0
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
