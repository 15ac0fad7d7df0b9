"""Segments of a source: consecutive edges from one place, read block by block.

Each kind of place has a class: columns in memory (`ArraySegment`), an iterable of chunks
(`Chunks`), a chunk that Dask computes (`Delayed`), rows of another segment (`Rows`). Classes for
files are in `formats` and `read`.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import GraphError
from ..runtime.device import host_array, refuse_device
from .edge_list import checked_column
from .file_errors import file_errors

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from .edge_list import Columns

#: The number of edges of a block, and the function that reads it.
Read = tuple[int, Callable[[], "Columns"]]

#: Bytes at the beginning of a file that its fingerprint covers.
_HEADER = 4096


class Segment(Protocol):
    """Consecutive edges of a source."""

    @property
    def num_edges(self) -> int | None:
        """Number of edges; None if it is unknown until they are read."""

    @property
    def is_direct(self) -> bool:
        """Whether a slice can be read without the edges before it."""

    @property
    def edges_at_once(self) -> int:
        """Number of edges that any read loads at least; 0 if it loads only those asked for."""

    @property
    def num_vertices(self) -> int:
        """Number of vertices that the segment states; 0 if it states none."""

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that read the blocks, in order; most have at most `size` edges."""

    def slice(self, start: int, stop: int) -> Segment:
        """Return the edges at positions `start` to `stop` - 1; `num_edges` must be known."""

    def fingerprint(self) -> str:
        """Return a digest that identifies the edges.

        Raises
        ------
        GraphError
            If it can be read only once.
        """


def digest(*data: Any) -> str:
    """Return the BLAKE2b digest of bytes-like values."""
    found = hashlib.blake2b(digest_size=16)
    for each in data:
        found.update(each)
    return found.hexdigest()


def file_fingerprint(path: Path) -> str:
    """Return a digest of a file's name, inode, size, times of change, and first bytes.

    No program can set the time of the last status change (ctime) back.

    Raises
    ------
    FileFormatError
        If the file cannot be read. Names the file.
    """
    with file_errors(path), path.open("rb") as file:
        status = os.fstat(file.fileno())
        times = status.st_mtime_ns, status.st_ctime_ns
        stated = path.name, status.st_ino, status.st_size, *times
        return digest(repr(stated).encode(), file.read(_HEADER))


@dataclass(frozen=True)
class ArraySegment:
    """Columns in memory; slices are views. `num_vertices` may exceed the largest id plus one."""

    u: NDArray[Any]
    v: NDArray[Any]
    weight: NDArray[Any] | None
    num_vertices: int = 0
    is_direct = True
    edges_at_once = 0

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.u)

    def reads(self, size: int) -> Iterator[Read]:
        """Yield views."""
        for start in range(0, self.num_edges, size):
            block = self.slice(start, min(start + size, self.num_edges))
            yield block.num_edges, partial(lambda block: (block.u, block.v, block.weight), block)

    def fingerprint(self) -> str:
        """Return a digest of all values."""
        columns = [self.u, self.v, *([] if self.weight is None else [self.weight])]
        shown = repr([(column.dtype.str, column.shape) for column in columns]).encode()
        return digest(shown, *(np.ascontiguousarray(host_array(column)).data for column in columns))

    def slice(self, start: int, stop: int) -> ArraySegment:
        """Return views."""
        weight = None if self.weight is None else self.weight[start:stop]
        return ArraySegment(self.u[start:stop], self.v[start:stop], weight)


def column_segment(columns: Any, name: str) -> ArraySegment:
    """Return a tuple (u, v) or (u, v, weight) of arrays as a segment.

    Raises
    ------
    GraphError
        If it is anything else. The message begins with `name`.
    """
    if not isinstance(columns, tuple | list) or len(columns) not in (2, 3):
        message = f"{name}: expected (u, v) or (u, v, weight), found {type(columns).__name__}"
        raise GraphError(message)
    for column in columns:
        refuse_device(column, name)
    try:
        names = ("u", "v", "weight")[: len(columns)]
        u, v, *weight = map(checked_column, names, columns)
    except GraphError as error:
        message = f"{name}: {error}"
        raise GraphError(message) from error
    if any(len(column) != len(u) for column in (v, *weight)):
        lengths = ", ".join(str(len(column)) for column in (u, v, *weight))
        message = f"{name}: columns must have one length, found lengths {lengths}"
        raise GraphError(message)
    return ArraySegment(u, v, weight[0] if weight else None)


#: Converts a chunk to a segment; the string is the chunk's name in messages.
Adopt = Callable[[Any, str], ArraySegment]


class Sequential(ABC):
    """Base of segments that can only be read from the beginning; their length is unknown."""

    num_edges: int | None = None
    is_direct = False
    edges_at_once = num_vertices = 0

    @abstractmethod
    def arrays(self) -> Iterator[ArraySegment]:
        """Yield the edges, in order, as they are read."""

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that return views."""
        for segment in self.arrays():
            yield from segment.reads(size)

    def slice(self, start: int, stop: int) -> Rows:
        """Return rows that are read from the beginning."""
        return Rows(self, start, stop)

    def fingerprint(self) -> str:
        """Return a digest of all values, which reads them once more."""
        return digest(*(array.fingerprint().encode() for array in self.arrays()))


@dataclass(frozen=True)
class Chunks(Sequential):
    """An iterable of chunks; by default tuples (u, v) or (u, v, weight) of arrays."""

    chunks: Iterable[Any]
    adopt: Adopt = column_segment

    @property
    def is_iterator(self) -> bool:
        """Whether the iterable can be read only once."""
        return isinstance(self.chunks, Iterator)

    def fingerprint(self) -> str:
        """Return a digest of all values, which reads them once more.

        Raises
        ------
        GraphError
            If they can be read only once.
        """
        if self.is_iterator:
            message = (
                "a checkpoint needs a graph that can be read again; pass files, arrays or a list "
                "of chunks instead of an iterator"
            )
            raise GraphError(message)
        return super().fingerprint()

    def arrays(self) -> Iterator[ArraySegment]:
        """Go through the chunks once more.

        Raises
        ------
        GraphError
            If the iterable fails. Names the chunk.
        """
        chunks = iter(self.chunks)
        for position in itertools.count():
            try:
                chunk = next(chunks)
            except StopIteration:
                return
            except Exception as error:  # code of the caller: it may raise anything
                message = f"chunk {position}: {type(error).__name__}: {error}"
                raise GraphError(message) from error
            yield self.adopt(chunk, f"chunk {position}")


@dataclass(frozen=True)
class Delayed(Sequential):
    """A chunk that Dask computes: a `dask.delayed` object, a future, or its computed value."""

    chunk: Any
    name: str
    adopt: Adopt = column_segment

    def arrays(self) -> Iterator[ArraySegment]:
        """Compute the chunk."""
        yield self.adopt(_computed(self.chunk), f"chunk {self.name}")


def _computed(chunk: Any) -> Any:
    """Compute a chunk: on the cluster that holds its data, otherwise in this thread."""
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(chunk, distributed.Future):
        return chunk.result()
    if not hasattr(type(chunk), "__dask_graph__"):
        return chunk
    persisted = distributed.futures_of(chunk) if distributed is not None else []
    if persisted:
        return persisted[0].client.compute(chunk).result()
    return chunk.compute(scheduler="synchronous")


@dataclass(frozen=True)
class Rows:
    """Edges `start` to `stop` - 1 of a segment that only reads whole units from the beginning."""

    segment: Segment
    start: int
    stop: int
    num_vertices = 0

    @property
    def edges_at_once(self) -> int:
        """Number of edges that a read loads; 0 for chunks, whose sizes are unknown."""
        return 0 if isinstance(self.segment, Chunks) else self.stop

    @property
    def is_direct(self) -> bool:
        """Whether the segment is direct."""
        return self.segment.is_direct

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.stop - self.start

    def reads(self, size: int) -> Iterator[Read]:
        """Read the segment from the beginning, and skip the edges before `start`."""
        if not self.stop:
            return
        first = 0
        for count, read in self.segment.reads(size):
            low, high = max(self.start - first, 0), min(self.stop - first, count)
            if low < high:
                yield high - low, partial(_rows, read, low, high)
            first += count
            if first >= self.stop:
                return
        message = f"the first scan read {self.stop} edges, a later one only {first}"
        raise GraphError(message)

    def slice(self, start: int, stop: int) -> Rows:
        """Return a slice of these rows."""
        return Rows(self.segment, self.start + start, self.start + stop)

    def fingerprint(self) -> str:
        """Return the fingerprint of the segment, and the range of rows."""
        return f"{self.segment.fingerprint()}[{self.start}:{self.stop}]"


def _rows(read: Callable[[], Columns], low: int, high: int) -> Columns:
    u, v, weight = read()
    return u[low:high], v[low:high], None if weight is None else weight[low:high]
