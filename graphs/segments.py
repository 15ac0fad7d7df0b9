"""Segments of a source: consecutive edges of one input, read block by block.

There is a class for each kind of input: columns in memory (`ArraySegment`), an iterable of chunks
(`Chunks`) and a chunk that Dask computes (`Delayed`). The doors add classes for files.
"""

from __future__ import annotations

import functools
import itertools
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..runtime.device import host_array, refuse_device
from ..runtime.identity import digest
from .edge_list import Columns, are_ones, checked_column

#: The number of edges of a block, and the function that reads it.
Read = tuple[int, Callable[[], "Columns"]]

#: Number of lanes of a checksum. Their sums fit in the cache. The number is a prime, so the period
#: of repetitive columns is rarely a multiple of it.
_LANES = 1021


class Segment(ABC):
    """Consecutive edges of a source."""

    #: Whether each read checks that the input has not changed since it was opened, and returns
    #: columns in native byte order.
    detects_changes = False

    @property
    @abstractmethod
    def num_edges(self) -> int | None:
        """Number of edges; None if it is unknown until they are read."""

    @property
    def is_direct(self) -> bool:
        """Whether a slice can be read without the edges before it."""
        return True

    @property
    def edges_at_once(self) -> int:
        """Smallest number of edges that a read loads; 0 if it loads only the requested edges."""
        return 0

    @property
    def num_vertices(self) -> int:
        """Number of vertices that the segment states; 0 if it states no number."""
        return 0

    @property
    def is_weighted(self) -> bool:
        """Whether the input has weights; without weights, each edge has weight 1."""
        return True

    @property
    def origin(self) -> tuple[str, int]:
        """The file of the edges, and the row of the first edge; ("", 0) without a file."""
        return "", 0

    @property
    def format_name(self) -> str:
        """The format of the file; empty without a file."""
        return ""

    @property
    def file_bytes(self) -> int:
        """Bytes of the file that a scan of the edges reads; 0 without a file."""
        return 0

    @property
    def wing(self) -> str:
        """The wing that solves a graph of this segment without its edges; see `plugins.wing`."""
        return ""

    @property
    def checksums(self) -> tuple[tuple[int, int], ...]:
        """The number of edges and the checksum of each chunk; empty if there are none."""
        return ()

    @abstractmethod
    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that read the blocks, in order; usually of at most `size` edges."""

    @abstractmethod
    def slice(self, start: int, stop: int) -> Segment:
        """Return the edges at positions `start` to `stop` - 1; `num_edges` must be known."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a digest that identifies the edges."""


@dataclass(frozen=True, kw_only=True)
class Range(Segment):
    """Base of segments that are edges `start` to `stop` - 1 of an input."""

    start: int = 0
    stop: int

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.stop - self.start

    def slice(self, start: int, stop: int) -> Segment:
        """Return a range of these edges."""
        return replace(self, start=self.start + start, stop=self.start + stop)


@dataclass(frozen=True)
class ArraySegment(Segment):
    """Columns in memory; slices are views. `num_vertices` may exceed the largest id plus one.

    `files` lists the files of the columns, with their numbers of edges.
    """

    u: NDArray[Any]
    v: NDArray[Any]
    weight: NDArray[Any] | None
    num_vertices: int = 0
    files: tuple[tuple[str, int], ...] = ()

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return len(self.u)

    @property
    def is_weighted(self) -> bool:
        """Whether the segment has a column of weights."""
        return not are_ones(self.weight)

    def reads(self, size: int) -> Iterator[Read]:
        """Yield views."""
        for start in range(0, self.num_edges, size):
            block = self.slice(start, min(start + size, self.num_edges))
            yield block.num_edges, partial(lambda block: (block.u, block.v, block.weight), block)

    def fingerprint(self) -> str:
        """Return a digest of all values."""
        shown = repr([(column.dtype.str, column.shape) for column in self.columns]).encode()
        values = (np.ascontiguousarray(host_array(column)).data for column in self.columns)
        return digest(shown, *values)

    @property
    def columns(self) -> list[NDArray[Any]]:
        """The columns that exist."""
        return [self.u, self.v, *([] if self.weight is None else [self.weight])]

    def slice(self, start: int, stop: int) -> ArraySegment:
        """Return views."""
        weight = None if self.weight is None else self.weight[start:stop]
        return ArraySegment(self.u[start:stop], self.v[start:stop], weight)


def checksum(columns: Iterable[NDArray[Any]]) -> int:
    """Return a checksum of columns, in a fraction of the time of a scan.

    Words of 64 bits are distributed to lanes in turn, and each lane is summed. So the checksum
    depends on the positions of the words. The result is the CRC-32 of the sums, the bytes after the
    last full round, and the dtypes.
    """
    crc = 0
    for column in columns:
        values = column[:1] if column.strides == (0,) else column  # all values are the same
        data = np.ascontiguousarray(values).view(np.uint8)
        whole = len(data) // (8 * _LANES) * 8 * _LANES
        words = data[:whole].view(np.uint64).reshape(-1, _LANES)
        crc = zlib.crc32(f"{column.dtype.str} {len(column)}".encode(), crc)
        crc = zlib.crc32(np.add.reduce(words, axis=0).data, crc)
        crc = zlib.crc32(data[whole:].data, crc)
    return crc


def column_segment(columns: Any, name: str) -> ArraySegment:
    """Return a tuple (u, v) or (u, v, weight) of arrays as a segment."""
    if not isinstance(columns, tuple | list) or len(columns) not in (2, 3):
        message = f"{name}: expected (u, v) or (u, v, weight), found {type(columns).__name__}"
        raise GraphError(message)
    for column in columns:
        refuse_device(column, name)
    try:
        u, v, *weight = map(checked_column, ("u", "v", "weight"), columns)
    except GraphError as error:
        raise GraphError(f"{name}: {error}") from error
    if any(len(column) != len(u) for column in (v, *weight)):
        lengths = ", ".join(str(len(column)) for column in (u, v, *weight))
        raise GraphError(f"{name}: columns must have one length, found lengths {lengths}")
    return ArraySegment(u, v, weight[0] if weight else None)


#: Converts a chunk to a segment; the string is the chunk's name in messages.
Adopt = Callable[[Any, str], ArraySegment]


@dataclass(frozen=True, kw_only=True)
class Sequential(Segment):
    """Base of segments that can only be read from the beginning.

    `start` and `stop` are a range of the edges. `stop` is None until they are counted.
    """

    start: int = 0
    stop: int | None = None
    #: Whether the edges are loaded block by block or chunk by chunk, not all at once.
    is_in_blocks = False
    #: The number of edges whose columns of 64 bits take as much memory, if all are loaded at once.
    most_edges = 0
    is_direct = False

    @property
    def num_edges(self) -> int | None:
        """Number of edges."""
        return None if self.stop is None else self.stop - self.start

    @property
    def edges_at_once(self) -> int:
        """Number of edges that a read loads; 0 if `is_in_blocks`."""
        return (
            0 if self.is_in_blocks else min(filter(None, (self.stop, self.most_edges)), default=0)
        )

    @abstractmethod
    def arrays(self) -> Iterator[ArraySegment]:
        """Yield all edges in order."""

    @abstractmethod
    def identity(self) -> str:
        """Return a digest that identifies all edges."""

    def slice(self, start: int, stop: int) -> Segment:
        """Return a range of these edges."""
        return replace(self, start=self.start + start, stop=self.start + stop)

    def fingerprint(self) -> str:
        """Return a digest that identifies the edges."""
        return f"{self.identity()}[{self.start}:{self.stop}]"

    def reads(self, size: int) -> Iterator[Read]:
        """Yield functions that return the edges of the range; read from the beginning.

        If the range ends with the last known chunk, a further chunk is an error.
        """
        if self.stop is None:
            yield from self.all_reads(size)
        if not self.stop:
            return
        first, total = 0, sum(count for count, _ in self.checksums)
        for count, read in self.all_reads(size):
            low, high = max(self.start - first, 0), min(self.stop - first, count)
            if low < high:
                yield high - low, partial(rows_of, read, low, high)
            first += count
            if first >= self.stop != total:
                return
        if first < self.stop:
            raise GraphError(f"the first scan read {self.stop} edges, a later one only {first}")

    def all_reads(self, size: int) -> Iterator[Read]:
        """Yield functions that return views of all edges."""
        for segment in self.arrays():
            yield from segment.reads(size)


@dataclass(frozen=True)
class Chunks(Sequential):
    """An iterable of chunks; by default tuples (u, v) or (u, v, weight) of arrays.

    Chunks are identified only by their values: the first scan computes a checksum of each chunk,
    and later scans compare it.
    """

    chunks: Any
    adopt: Adopt = column_segment
    #: The name of the only chunk; chunks without names are numbered.
    label: str = ""
    #: The number of edges and the checksum of each chunk; empty until they are counted.
    checksums: tuple[tuple[int, int], ...] = ()
    is_in_blocks = True

    def arrays(self) -> Iterator[ArraySegment]:
        """Iterate over the chunks again."""
        chunks = iter(self.chunks)
        for position in itertools.count():
            name = self.name(position)
            try:
                chunk = next(chunks)
            except StopIteration:
                return
            except Exception as error:  # the caller's code may raise anything
                raise GraphError(f"{name}: {type(error).__name__}: {error}") from error
            yield self.adopt(chunk, name)

    def name(self, position: int) -> str:
        """Return the name of a chunk, for messages."""
        return f"chunk {self.label or position}"

    def all_reads(self, size: int) -> Iterator[Read]:
        """Yield functions that return views; the first call for a chunk compares its checksum."""
        if not self.checksums:
            yield from super().all_reads(size)
            return
        for position, chunk in enumerate(self.arrays()):
            if position == len(self.checksums):
                raise self._change(position, "it was not in the first scan")
            num_edges, known = self.checksums[position]
            if chunk.num_edges != num_edges:
                change = f"it had {num_edges:,} edges and now has {chunk.num_edges:,}"
                raise self._change(position, change)
            compare = functools.cache(partial(self._compare, position, chunk, known))
            for count, read in chunk.reads(size):
                yield count, partial(_compare_and_read, compare, read)

    def identity(self) -> str:
        """Return a digest of the checksums, or of all values before they are known."""
        if self.checksums:
            return digest(repr(self.checksums).encode())
        return digest(*(array.fingerprint().encode() for array in self.arrays()))

    def _compare(self, position: int, chunk: ArraySegment, known: int) -> None:
        if checksum(chunk.columns) != known:
            raise self._change(position, "its values differ")

    def _change(self, position: int, change: str) -> GraphError:
        return GraphError(
            f"{self.name(position)} changed between two scans: {change}; "
            "the graph must have the same edges, in the same order, in each scan"
        )


def _compare_and_read(compare: Callable[[], None], read: Callable[[], Columns]) -> Columns:
    compare()
    return read()


def compute_chunk(chunk: Any) -> Any:
    """Compute a chunk, on the cluster that holds its data or else in this thread."""
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(chunk, distributed.Future):
        return chunk.result()
    if not hasattr(type(chunk), "__dask_graph__"):
        return chunk
    if distributed is not None and (persisted := distributed.futures_of(chunk)):
        return persisted[0].client.compute(chunk).result()
    return chunk.compute(scheduler="synchronous")


class Delayed(Chunks):
    """A chunk that Dask computes: a `dask.delayed` object, a future, or its computed value."""

    is_in_blocks = False

    @property
    def is_direct(self) -> bool:  # type: ignore[override]
        """Whether the chunk has been computed: a task gets its value."""
        return isinstance(self.chunks, tuple)

    def arrays(self) -> Iterator[ArraySegment]:
        """Compute the chunk."""
        yield self.adopt(compute_chunk(self.chunks), self.name(0))


def rows_of(read: Callable[[], Columns], low: int, high: int) -> Columns:
    """Read columns, and return some of their rows."""
    u, v, weight = read()
    return u[low:high], v[low:high], None if weight is None else weight[low:high]
