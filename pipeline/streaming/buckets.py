"""The layout of a sweep: a random order of the vertices, ranges of this order, and their files."""

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

from ...errors import FileFormatError, OptionError, file_errors
from ...graphs.permutation import permute
from ...runtime.memory import empty
from ...runtime.sizes import sizes

#: Frames of edges, each with the number of its bucket.
Dealt = list[tuple[int, "Frame"]]

#: The largest number of vertices of a range, and of the last range, as a share of the number of
#: edges that memory holds. The forest so far and a block of edges then fit together. The last range
#: has more vertices, because edges move until it is reached.
_RANGE_SHARE, _LAST_SHARE = 1 / 4, 1 / 2
#: The share of the rest for a block: memory holds a block and a copy of its edges.
_BLOCK_SHARE = 0.8
#: The share of memory that the edges of a range are expected to fill. A bucket may have more.
_FILLED = 0.8
#: About the largest number of ranges: a thread writes to all buckets.
_MAX_RANGES = 256
#: Selects the order. Any number does, but a run that resumes needs the number of the first run.
_KEY = 0x5EED

#: How to avoid an error about a disk.
ANOTHER_FOLDER = "choose another folder by checkpoint= or by the environment variable TMPDIR"


class VertexOrder(NamedTuple):
    """A random order of the vertices, divided into ranges.

    Tiles of 2 ** `bits` consecutive vertices stay together. So the order takes little memory, and
    an edge between vertices with near ids is often inside a range.
    """

    bits: int
    #: The position of each tile in the order of tiles.
    rank: NDArray[Any]
    #: The position of the first tile of each range, and the number of tiles.
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, bits: int, starts: NDArray[np.int64], dtype: np.dtype[Any]) -> VertexOrder:
        """Return the order with these ranges and with positions of a dtype."""
        count = int(starts[-1])
        rank = permute(np.arange(count, dtype=np.uint64), count, count.bit_length(), _KEY)
        return cls(bits, rank.astype(dtype), starts)

    @property
    def num_ranges(self) -> int:
        """The number of ranges."""
        return len(self.starts) - 1

    def start(self, number: int) -> int:
        """Return the position of the first vertex of a range."""
        return int(self.starts[number]) << self.bits

    def positions(self, ops: Any, vertex: Any) -> Any:
        """Return the positions of vertices in the order."""
        first = ops.gather(ops.asarray(self.rank), vertex >> self.bits) << self.bits
        return first | (vertex & ((1 << self.bits) - 1))

    def deal(self, ops: Any, u: Any, v: Any, key: Any, edge_id: Any) -> Dealt:
        """Sort edges by the range of their earlier end; all ends are positions."""
        u, v = ops.minimum(u, v), ops.maximum(u, v)
        ranges = np.repeat(np.arange(self.num_ranges, dtype=np.int32), np.diff(self.starts))
        bucket = ops.gather(ops.asarray(ranges), u >> self.bits)
        ends, *columns = map(ops.to_host, ops.deal(bucket, self.num_ranges, u, v, key, edge_id))
        return [
            (bucket, Frame.of([column[start:stop] for column in columns]))
            for bucket, (start, stop) in enumerate(itertools.pairwise(ends.tolist()))
            if start < stop
        ]

    def fits(self, capacity: int, first: int = 0) -> bool:
        """Return whether memory for `capacity` edges is enough for the ranges from `first` on."""
        *ranges, last = (np.diff(self.starts[first:]) << self.bits).tolist()
        largest, tile = max(ranges, default=0), 1 << self.bits
        are_small = largest <= max(tile, capacity * _RANGE_SHARE)
        return are_small and last <= max(tile, capacity * _LAST_SHARE)


def rows_at_once(capacity: int, num_vertices: int) -> int:
    """Return the length of the blocks of a bucket that does not fit in memory.

    Memory also holds the forest of the bucket's range of `num_vertices` vertices.
    """
    return int(_BLOCK_SHARE * (capacity - num_vertices))


def choose_ranges(num_tiles: int, tile: int, num_edges: int, capacity: int) -> list[int]:
    """Return the starts of ranges, and the end of the last one, in tiles of `tile` vertices.

    If k vertices and m edges remain, the next vertex has 2 m / k edges on average, so ranges become
    shorter.
    """
    starts, remaining = [0], num_tiles
    most, last = (int(capacity * share) // tile for share in (_RANGE_SHARE, _LAST_SHARE))
    least_share = math.log(max(2, num_tiles / max(1, last))) / _MAX_RANGES
    while remaining > max(1, last):
        edges = _edges_after(num_tiles - remaining, num_tiles, tile, num_edges)
        share = max(_FILLED * capacity / (2 * edges), least_share)
        remaining -= max(1, min(int(remaining * share), most))
        starts.append(num_tiles - remaining)
    return [*starts, num_tiles]


def _edges_after(removed: int, num_tiles: int, tile: int, num_edges: int) -> int:
    """Return about how many edges remain when `removed` tiles are removed: one less per vertex."""
    return max(num_edges - removed * tile, (num_tiles - removed) * tile)


def edges_moved(num_vertices: int, num_edges: int, capacity: int) -> float:
    """Return about how many edges are written to buckets; an edge counts each time it moves."""
    tile, moved = sizes().tile, float(num_edges)
    *starts, num_tiles = choose_ranges(-(-num_vertices // tile), tile, num_edges, capacity)
    for start, stop in itertools.pairwise(starts):
        remaining_share = (num_tiles - stop) / (num_tiles - start)
        moved += _edges_after(start, num_tiles, tile, num_edges) * (1 - remaining_share**2)
    return moved


@contextlib.contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Return a context in which a failed write raises an OptionError that names the folder."""
    try:
        yield
    except OSError as error:
        raise OptionError(
            f"{folder}: cannot write edges: {error.strerror}; {ANOTHER_FOLDER}"
        ) from error


class Frame(NamedTuple):
    """Rows of columns as bytes, with a header that states their number and a checksum."""

    num_rows: int
    #: The number of rows and a checksum, both of 64 bits.
    head: bytes
    #: The columns, one after another.
    content: bytes

    @classmethod
    def of(cls, columns: Sequence[NDArray[Any]]) -> Frame:
        """Return columns as a frame."""
        num_rows, content = len(columns[0]), b"".join(column.data for column in columns)
        head = np.array([num_rows, zlib.crc32(content)], np.int64)
        return cls(num_rows, head.tobytes(), content)


class FrameFile:
    """A file of columns: a sequence of frames."""

    def __init__(self, path: Path, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._path, self._dtypes = path, dtypes
        self.num_rows = self.num_bytes = 0

    def append(self, frame: Frame) -> None:
        """Append a frame."""
        with write_errors(self._path.parent), self._path.open("ab") as file:
            file.writelines((frame.head, frame.content))
        self.num_bytes += len(frame.head) + len(frame.content)
        self.num_rows += frame.num_rows

    def blocks(self, most: int) -> Iterator[list[NDArray[Any]]]:
        """Read the columns in blocks, at least one, of up to `most` rows or of one frame."""
        block, filled, unread = self._allocate(most), 0, self.num_rows
        with file_errors(self._path), open(self._path if unread else os.devnull, "rb") as file:
            while unread:
                head = np.zeros(2, np.int64)
                file.readinto(head.data)
                rows, checksum = head.tolist()
                if not 0 < rows <= unread:
                    raise self._damage()
                if filled + rows > len(block[0]):
                    if filled:
                        yield [column[:filled] for column in block]
                    block, filled = self._allocate(max(most, rows)), 0
                frame = [column[filled : filled + rows] for column in block]
                is_short = any(file.readinto(column.data) < column.nbytes for column in frame)
                if is_short or _checksum(frame) != checksum:
                    raise self._damage()
                filled, unread = filled + rows, unread - rows
        yield [column[:filled] for column in block]

    def _allocate(self, num_rows: int) -> list[NDArray[Any]]:
        return [empty(num_rows, dtype) for dtype in self._dtypes]

    def _damage(self) -> FileFormatError:
        remedy = "remove the checkpoint, if there is one, and start again"
        return FileFormatError(f"{self._path}: the file is damaged; {remedy}")

    def restore(self, num_rows: int, num_bytes: int) -> None:
        """Return to an earlier state: remove the frames that were appended later."""
        self.num_rows, self.num_bytes = num_rows, num_bytes
        if not num_rows:
            self.remove()
            return
        with file_errors(self._path), self._path.open("r+b") as file:
            file.truncate(num_bytes)

    def remove(self) -> None:
        """Remove the file and its rows."""
        self._path.unlink(missing_ok=True)
        self.num_rows = self.num_bytes = 0


def _checksum(columns: Sequence[NDArray[Any]]) -> int:
    checksum = 0
    for column in columns:
        checksum = zlib.crc32(column.data, checksum)
    return checksum
