"""The layout of a sweep: a random order of the vertices, its ranges, and files of edges."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError, OptionError
from ...graphs.file_checks import file_errors
from ...graphs.generate.counter_random import permute
from ...runtime.memory import empty
from ...runtime.sizes import sizes

#: Edges by the number of their bucket.
Dealt = list[tuple[int, "Segment"]]

#: The number of vertices of a range, and of the last range, is at most this share of the number of
#: edges that memory holds. Then the forest so far and a block of edges fit together. The last range
#: has more, because edges move until it is reached.
_RANGE_SHARE, _LAST_SHARE = 1 / 4, 1 / 2
#: The share of the rest for a block. It is held beside its copy in the edges that are joined.
_BLOCK_SHARE = 0.8
#: The share of memory that the edges of a range are expected to fill. A bucket may have more.
_FILLED = 0.8
#: The number of ranges is at most about this, because a thread writes to all buckets.
_RANGES = 256
#: Any number selects an order; runs that resume need the same one.
_KEY = 0x5EED


ANOTHER_FOLDER = "choose another folder by checkpoint= or by the environment variable TMPDIR"


class VertexOrder(NamedTuple):
    """A random order of the vertices, divided into ranges.

    Tiles of 2 ** `bits` consecutive vertices stay together. So the order takes little memory, and
    an edge between vertices with near ids is often inside a range.

    Attributes
    ----------
    bits : int
    rank : index array
        The place of each tile.
    starts : int64 array
        The place of the first tile of each range; last, the number of tiles.
    """

    bits: int
    rank: NDArray[Any]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, bits: int, starts: NDArray[np.int64], dtype: np.dtype[Any]) -> VertexOrder:
        """Return the order with these ranges, whose places have an index dtype."""
        count = int(starts[-1])
        rank = permute(np.arange(count, dtype=np.uint64), count, count.bit_length(), _KEY)
        return cls(bits, rank.astype(dtype), starts)

    @property
    def num_ranges(self) -> int:
        """The number of ranges."""
        return len(self.starts) - 1

    def start(self, number: int) -> int:
        """Return the place of the first vertex of a range."""
        return int(self.starts[number]) << self.bits

    def place(self, ops: Any, vertex: Any) -> Any:
        """Return the places of vertices in the order."""
        first = ops.gather(ops.asarray(self.rank), vertex >> self.bits) << self.bits
        return first | (vertex & ((1 << self.bits) - 1))

    def deal(self, ops: Any, u: Any, v: Any, key: Any, edge_id: Any) -> Dealt:
        """Sort edges, whose ends are places, by the range of their earlier end."""
        u, v = ops.minimum(u, v), ops.maximum(u, v)
        ranges = np.repeat(np.arange(self.num_ranges, dtype=np.int32), np.diff(self.starts))
        bucket = ops.gather(ops.asarray(ranges), u >> self.bits)
        ends, *columns = map(ops.to_host, ops.deal(bucket, self.num_ranges, u, v, key, edge_id))
        return [
            (bucket, Segment.of([column[start:stop] for column in columns]))
            for bucket, (start, stop) in enumerate(itertools.pairwise(ends.tolist()))
            if start < stop
        ]

    def fits(self, capacity: int, first: int = 0) -> bool:
        """Return whether the ranges from `first` on fit if memory holds `capacity` edges."""
        *ranges, last = (np.diff(self.starts[first:]) << self.bits).tolist()
        largest, tile = max(ranges, default=0), 1 << self.bits
        are_small = largest <= max(tile, capacity * _RANGE_SHARE)
        return are_small and last <= max(tile, capacity * _LAST_SHARE)


def rows_at_once(capacity: int, num_vertices: int) -> int:
    """Return the length of the blocks of a bucket that does not fit in memory.

    They are read beside the forest of a range of `num_vertices` vertices.
    """
    return int(_BLOCK_SHARE * (capacity - num_vertices))


def choose_ranges(num_tiles: int, tile: int, num_edges: int, capacity: int) -> list[int]:
    """Return the starts of ranges of tiles, and their end.

    If k vertices remain, the next one has 2 m / k edges on average, so ranges become shorter. Each
    vertex that was removed took an edge along.
    """
    starts, left = [0], num_tiles
    most, last = (int(capacity * share) // tile for share in (_RANGE_SHARE, _LAST_SHARE))
    least = math.log(max(2, num_tiles / max(1, last))) / _RANGES
    while left > max(1, last):
        edges = max(num_edges - (num_tiles - left) * tile, left * tile)
        share = max(_FILLED * capacity / (2 * edges), least)
        left -= max(1, min(int(left * share), most))
        starts.append(num_tiles - left)
    return [*starts, num_tiles]


def edges_moved(num_vertices: int, num_edges: int, capacity: int) -> float:
    """Return about how many times edges are written to buckets."""
    tile, moved = sizes().tile, float(num_edges)
    starts = choose_ranges(-(-num_vertices // tile), tile, num_edges, capacity)
    for start, stop in itertools.pairwise(starts[:-1]):
        left = starts[-1] - start
        edges = max(num_edges - start * tile, left * tile)
        moved += edges * (1 - ((starts[-1] - stop) / left) ** 2)
    return moved


@contextlib.contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Return a context in which a failure to write is an OptionError that names the folder."""
    try:
        yield
    except OSError as error:
        raise OptionError(
            f"{folder}: cannot write edges: {error.strerror}; {ANOTHER_FOLDER}"
        ) from error


class Segment(NamedTuple):
    """Rows of columns as bytes.

    Attributes
    ----------
    num_rows : int
    head, content : bytes
        This number and a checksum, both of 64 bits; and the columns, one after another.
    """

    num_rows: int
    head: bytes
    content: bytes

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]]) -> Segment:
        """Return columns as a segment."""
        num_rows, content = len(columns[0]), b"".join(column.data for column in columns)
        head = np.array([num_rows, zlib.crc32(content)], np.int64)
        return cls(num_rows, head.tobytes(), content)


class SegmentFile:
    """Columns in a file, which is a sequence of segments.

    Attributes
    ----------
    count, length : int
        The number of rows and of bytes.
    """

    def __init__(self, path: Path, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._path, self._dtypes = path, dtypes
        self.count = self.length = 0

    def append(self, segment: Segment) -> None:
        """Append a segment."""
        with write_errors(self._path.parent), self._path.open("ab") as file:
            file.writelines((segment.head, segment.content))
        self.length += len(segment.head) + len(segment.content)
        self.count += segment.num_rows

    def blocks(self, most: int) -> Iterator[list[NDArray[Any]]]:
        """Read the columns in blocks, at least one, of up to `most` rows or of one segment."""
        block, held, seen = [empty(most, dtype) for dtype in self._dtypes], 0, 0
        with file_errors(self._path), open(self._path if self.count else os.devnull, "rb") as file:
            while seen < self.count:
                head = np.zeros(2, np.int64)
                file.readinto(head.data)
                rows, expected = head.tolist()
                if not 0 < rows <= self.count - seen:
                    raise self._damage()
                if held + rows > len(block[0]):
                    if held:
                        yield [column[:held] for column in block]
                    held, block = 0, [empty(max(most, rows), dtype) for dtype in self._dtypes]
                segment = [column[held : held + rows] for column in block]
                is_short = any(file.readinto(x.data) < x.nbytes for x in segment)
                if is_short or _sum(segment) != expected:
                    raise self._damage()
                held, seen = held + rows, seen + rows
        yield [column[:held] for column in block]

    def _damage(self) -> FileFormatError:
        remedy = "remove the checkpoint, if there is one, and start again"
        return FileFormatError(f"{self._path}: the file is damaged; {remedy}")

    def restore(self, count: int, length: int) -> None:
        """Return to an earlier state: remove the segments that were appended later."""
        self.count, self.length = count, length
        if not count:
            self.remove()
            return
        with file_errors(self._path), self._path.open("r+b") as file:
            file.truncate(length)

    def remove(self) -> None:
        """Remove the file and its rows."""
        self._path.unlink(missing_ok=True)
        self.count = self.length = 0


def _sum(columns: Sequence[NDArray[Any]]) -> int:
    """Return a checksum."""
    checksum = 0
    for column in columns:
        checksum = zlib.crc32(column.data, checksum)
    return checksum
