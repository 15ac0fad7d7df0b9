"""Files that store their rows in batches, each of which is read as a whole.

A batch is a row group of a Parquet file, or a record batch of Arrow IPC.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from ...graphs.edge_list import Columns
from ...graphs.segments import Range, Read, rows_of
from ..column_names import ColumnNames
from ..file_checks import FileState, file_fingerprint, unchanged
from ..places.folders import Keys
from ..places.url import Place
from .arrow_tables import arrow_columns, arrow_errors, with_keys

T = TypeVar("T")
#: Bytes of an edge in columns of 64 bits.
EDGE_BYTES = 24


@dataclass(frozen=True, kw_only=True)
class Batches(Range):
    """A range of the rows of such a file.

    A read joins small batches, because each block takes some time besides that for its edges.
    """

    path: Place
    state: FileState
    columns: ColumnNames
    #: The first row of each batch, and at the end the number of rows.
    starts: tuple[int, ...]
    #: Bytes of the columns in the file, and of a row in memory.
    columns_bytes: int
    row_bytes: int
    keys: Keys = ()
    detects_changes = True

    @abstractmethod
    def table(self, first: int, last: int) -> Any:
        """Read the batches `first` to `last` - 1 as one `pyarrow.Table`."""

    @property
    def sizes(self) -> Sequence[int]:
        """The number of edges for which the memory of each batch is enough."""
        return [stop - start for start, stop in pairwise(self.starts)]

    @property
    def edges_at_once(self) -> int:
        """Number of edges whose columns of 64 bits take the memory of the largest batch."""
        largest = max((stop - start for start, stop in pairwise(self.starts)), default=0)
        return -(-largest * self.row_bytes // EDGE_BYTES)

    @property
    def file_bytes(self) -> int:
        """Bytes of these rows in the file."""
        return self.columns_bytes * self.num_edges // max(1, self.starts[-1])

    @property
    def is_weighted(self) -> bool:
        """Whether the file has the column of weights."""
        return self.columns.weight is not None

    @property
    def origin(self) -> tuple[str, int]:
        """The file, and the row of the first edge."""
        return str(self.path), self.start

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that read consecutive batches: one, or several of at most this size."""
        start, ends = self.start, [*accumulate(self.sizes, initial=0)]
        while start < self.stop:
            first = bisect_right(self.starts, start) - 1
            last = max(first + 1, bisect_right(ends, ends[first] + size) - 1)
            stop, row = min(self.starts[last], self.stop), self.starts[first]
            read = partial(self.read_batches, first, last)
            yield stop - start, partial(rows_of, read, start - row, stop - row)
            start = stop

    def read_batches(self, first: int, last: int) -> Columns:
        """Read u, v and weight (or None) of the batches `first` to `last` - 1."""
        with unchanged(self.path, self.state), arrow_errors(self.path):
            table = with_keys(self.table(first, last), self.keys)
            return arrow_columns(self.columns, table, self.starts[first])

    def fingerprint(self) -> str:
        """Return the fingerprint of the file, the columns and the range of rows."""
        rows = f"{self.start}:{self.stop}"
        return f"{file_fingerprint(self.path)}[{rows}] {self.columns} {self.keys}"


class _OfThread(threading.local):
    """The reader that each thread has used last, until its file is collected."""

    def __init__(self) -> None:
        self.readers: WeakKeyDictionary[OpenFile[Any], Any] = WeakKeyDictionary()


_of_thread = _OfThread()


@dataclass(frozen=True, eq=False)
class OpenFile(Generic[T]):
    """A file that each thread opens once, because its metadata are parsed each time.

    The file is not memory-mapped: if a mapped file is truncated, an access ends the process.
    """

    path: Place
    open: Callable[[Place], T]

    def read(self, function: Callable[[T], Any]) -> Any:
        """Call a function of the reader of this thread."""
        readers = _of_thread.readers
        reader = readers.pop(self, None)  # a reader that fails is not used again
        if reader is None:
            readers.clear()
            reader = self.open(self.path)
        result = function(reader)
        readers[self] = reader
        return result
