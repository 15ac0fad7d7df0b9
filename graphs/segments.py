"""Segments of an edge list: edges in a row that can be read block by block, wherever they lie."""

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

#: How many edges, and what reads them.
Read = tuple[int, Callable[[], "Columns"]]

#: So many bytes at so many places tell a file from others.
_BYTES, _PLACES = 4096, 64


class Segment(Protocol):
    """Some edges in a row."""

    @property
    def num_edges(self) -> int | None:
        """Number of edges, or None where only reading can tell."""

    @property
    def is_direct(self) -> bool:
        """Whether any part can be read without what comes before it."""

    @property
    def edges_at_once(self) -> int:
        """Number of edges that are read where some are asked for; 0 if no more than those."""

    @property
    def num_vertices(self) -> int:
        """Number of vertices that the segment is known to have; 0 if nothing is known."""

    def reads(self, size: int) -> Iterator[Read]:
        """Yield what reads the edges in order, mostly at most `size` at a time."""

    def slice(self, start: int, stop: int) -> Segment:
        """Return the edges at these positions, if their number is known."""

    def fingerprint(self) -> str:
        """Return what tells its edges from others.

        Raises
        ------
        GraphError
            If nothing does, short of reading it.
        """


def digest(*data: Any) -> str:
    """Return a digest of bytes-like values."""
    found = hashlib.blake2b(digest_size=16)
    for each in data:
        found.update(each)
    return found.hexdigest()


def file_fingerprint(path: Path) -> str:
    """Return a digest of a file's name, size, time of change, and bytes here and there.

    Raises
    ------
    FileFormatError
        If it cannot be read. Names it.
    """
    with file_errors(path), path.open("rb") as file:
        status = os.fstat(file.fileno())
        data = [f"{path.name} {status.st_size} {status.st_mtime_ns}".encode()]
        for place in range(_PLACES):
            file.seek(status.st_size * place // _PLACES)
            data.append(file.read(_BYTES))
    return digest(*data)


@dataclass(frozen=True)
class ArraySegment:
    """Columns in memory; their parts are views. Their maker may know of vertices beyond them."""

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
            segment = self.slice(start, min(start + size, self.num_edges))
            yield segment.num_edges, partial(lambda part: (part.u, part.v, part.weight), segment)

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
    """Return a tuple (u, v) or (u, v, weight) of arrays as a segment; `name` is for messages.

    Raises
    ------
    GraphError
        If it is anything else.
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
        message = f"{name}: columns must be as long as each other, but have lengths {lengths}"
        raise GraphError(message)
    return ArraySegment(u, v, weight[0] if weight else None)


#: What makes a segment of a chunk; the text is for messages.
Adopt = Callable[[Any, str], ArraySegment]


class Sequential(ABC):
    """Base of segments that are read from the beginning; only that tells their length."""

    num_edges: int | None = None
    is_direct = False
    edges_at_once = num_vertices = 0

    @abstractmethod
    def arrays(self) -> Iterator[ArraySegment]:
        """Read what it is made of, in order."""

    def reads(self, size: int) -> Iterator[Read]:
        """Yield views of what it is made of."""
        for segment in self.arrays():
            yield from segment.reads(size)

    def slice(self, start: int, stop: int) -> Rows:
        """Return those of the edges, found by reading from the beginning."""
        return Rows(self, start, stop)

    def fingerprint(self) -> str:
        """Refuse: what is read may be anything the next time."""
        message = "chunks cannot be told from others; a checkpoint needs files or arrays"
        raise GraphError(message)


@dataclass(frozen=True)
class Chunks(Sequential):
    """An iterable of chunks; by default tuples (u, v) or (u, v, weight) of arrays."""

    chunks: Iterable[Any]
    adopt: Adopt = column_segment

    @property
    def is_iterator(self) -> bool:
        """Whether it can be gone through only once."""
        return isinstance(self.chunks, Iterator)

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
            except Exception as error:  # an iterable may raise anything
                message = f"chunk {position}: {type(error).__name__}: {error}"
                raise GraphError(message) from error
            yield self.adopt(chunk, f"chunk {position}")


@dataclass(frozen=True)
class Delayed(Sequential):
    """A chunk that Dask computes: a `dask.delayed` object, a future, or the value of one."""

    chunk: Any
    name: str
    adopt: Adopt = column_segment

    def arrays(self) -> Iterator[ArraySegment]:
        """Compute the chunk."""
        yield self.adopt(_computed(self.chunk), f"chunk {self.name}")


def _computed(chunk: Any) -> Any:
    """Return the value of a chunk, in this thread unless it lies on a cluster."""
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
    """Edges `start` to `stop` of a segment that is read from its beginning, or in its own units."""

    segment: Segment
    start: int
    stop: int
    num_vertices = 0

    @property
    def edges_at_once(self) -> int:
        """Number of edges that are read where some are asked for; chunks are of any size."""
        return 0 if isinstance(self.segment, Chunks) else self.stop

    @property
    def is_direct(self) -> bool:
        """Whether the segment is no larger than what is read anyway."""
        return self.segment.is_direct

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.stop - self.start

    def reads(self, size: int) -> Iterator[Read]:
        """Read from the beginning, and leave out what comes before."""
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
        message = f"there were {self.stop} edges at first, and {first} when they were read again"
        raise GraphError(message)

    def slice(self, start: int, stop: int) -> Rows:
        """Return some of these rows."""
        return Rows(self.segment, self.start + start, self.start + stop)

    def fingerprint(self) -> str:
        """Return that of the segment, and which rows."""
        return f"{self.segment.fingerprint()}[{self.start}:{self.stop}]"


def _rows(read: Callable[[], Columns], low: int, high: int) -> Columns:
    u, v, weight = read()
    return u[low:high], v[low:high], None if weight is None else weight[low:high]
