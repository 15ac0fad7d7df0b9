"""Buckets: the edges of a sweep on disk, in one file for each range of vertices.

A bucket is filled while earlier ranges are removed, read when its own range is, and then deleted.
"""

from __future__ import annotations

import os
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, OptionError
from ...graphs.file_checks import file_errors
from ...progress import report_progress
from ...runtime.memory import empty
from ...runtime.sizes import sizes
from ...stages.fields import Edges
from .threads import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from .checkpoint import Record
    from .sweep import Dealt, Sweeper, VertexOrder

ANOTHER_FOLDER = "choose another folder by checkpoint= or by the environment variable TMPDIR"


class Buckets:
    """The edges between vertices that are not yet removed, and the ids of the forest so far.

    Parameters
    ----------
    sweeper : Sweeper
    order : VertexOrder
    dtypes : tuple of dtype
        Of the columns: u, v, key, and an edge id, which counts from the first edge of the graph.
    folder : Path
    record : Record, optional
        Saves the state after each range.
    """

    def __init__(
        self,
        sweeper: Sweeper,
        order: VertexOrder,
        dtypes: Sequence[np.dtype[Any]],
        folder: Path,
        record: Record | None,
    ) -> None:
        self.order, self._sweeper, self._record = order, sweeper, record
        #: The number of edges that were read from the graph.
        self.seen = 0
        self._range = 0
        self._forest = SegmentFile(folder / "forest", dtypes[-1:])
        names = (f"bucket-{number}" for number in range(order.num_ranges))
        self._files = [SegmentFile(folder / name, dtypes) for name in names]
        #: The bucket that was last read, if it was read in one block.
        self._block: Edges | None = None

    @property
    def id_bits(self) -> int:
        """The number of bits of an edge id."""
        return self._sweeper.num_edges.bit_length()

    @property
    def first_vertex(self) -> int:
        """The place of the first vertex that is not removed."""
        return self.order.start(self._range)

    @property
    def num_vertices(self) -> int:
        """The number of vertices in the current range."""
        return self.order.start(self._range + 1) - self.first_vertex

    @property
    def is_last(self) -> bool:
        """Whether only the current range remains."""
        return self._range == self.order.num_ranges - 1

    def blocks(self, ops: Any) -> Iterator[Edges]:
        """Read the current bucket in blocks, at least one; ends count from `first_vertex`."""
        if self._block is not None:
            yield self._block
            return
        bucket, capacity = self._files[self._range], self._sweeper.capacity
        is_whole = bucket.count <= capacity
        # The forest so far and a block fit in memory twice, while they are concatenated.
        most = bucket.count if is_whole else (capacity - self.num_vertices) // 2
        for u, v, *others in bucket.blocks(most):
            u, v = (ops.asarray(ends) - self.first_vertex for ends in (u, v))
            block = Edges(u, v, *map(ops.asarray, others))
            self._block = block if is_whole else None
            yield block

    def move(self, replace_ends: Callable[[Any, Edges], Iterable[Any]]) -> Buckets:
        """Move the edges of the current bucket to later ones, and begin the next range.

        Threads call `replace_ends` with an array module and some edges of `blocks`. It returns the
        columns of the edges that remain.
        """
        solver, first, step = self._sweeper.solver, self.first_vertex, sizes().segment

        def deal(edges: Edges) -> Dealt:
            u, v, *others = replace_ends(solver.thread_ops, edges)
            return self.order.deal(solver.thread_ops, u + first, v + first, *others)

        calls = (
            partial(deal, Edges(*(column[start : start + step] for column in block)))
            for block in self.blocks(solver.ops)
            for start in range(0, len(block.u), step)
        )
        for dealt in in_order(calls, solver.backend):
            self.append(dealt)
        self._block, self._range = None, self._range + 1
        self.save()
        self._files[self._range - 1].remove()
        total = self.order.start(self.order.num_ranges)
        report_progress("remove vertices", self.first_vertex, total)
        return self

    def append(self, dealt: Dealt) -> None:
        """Write edges to their buckets."""
        ends, columns = dealt
        for bucket, count in enumerate(np.diff(ends).tolist()):
            if count:
                rows = slice(int(ends[bucket]), int(ends[bucket]) + count)
                self._files[bucket].append([column[rows] for column in columns])

    def add_to_forest(self, edge_ids: NDArray[Any]) -> None:
        """Write the ids of edges in the forest."""
        self._forest.append([edge_ids])

    def forest_ids(self) -> NDArray[Any]:
        """Return the ids of the edges in the forest, in ascending order."""
        ((ids,),) = self._forest.blocks(self._forest.count)
        ids.sort()
        first = self._sweeper.first_edge
        return np.add(ids, first, dtype=np.int64) if first else ids

    def save(self) -> None:
        """Save the state, if there is a record."""
        if self._record is not None:
            ends = np.array([(file.count, file.length) for file in self._all_files])
            state = {"seen": self.seen, "range": self._range, "bits": self.order.bits}
            self._record.save((self.order.starts, ends), state)

    def restore(self, ends: NDArray[np.int64], state: dict[str, Any]) -> Buckets:
        """Restore a saved state; remove what was written to files later, or by another run."""
        self.seen, self._range = state["seen"], state["range"]
        for number, (file, end) in enumerate(zip(self._all_files, ends.tolist(), strict=True)):
            file.restore(*(end if number >= self._range else (0, 0)))
        return self

    @property
    def _all_files(self) -> list[SegmentFile]:
        return [*self._files, self._forest]


class SegmentFile:
    """Columns in a file, which is a sequence of segments.

    A segment consists of its length and a checksum, both of 64 bits, and the columns.

    Attributes
    ----------
    count, length : int
        The number of rows and of bytes.
    """

    def __init__(self, path: Path, dtypes: Sequence[np.dtype[Any]]) -> None:
        self._path, self._dtypes = path, dtypes
        self.count = self.length = 0

    def append(self, columns: Sequence[NDArray[Any]]) -> None:
        """Append columns, in one segment or more."""
        try:
            with self._path.open("ab") as file:
                for start in range(0, len(columns[0]), sizes().segment):
                    part = [column[start : start + sizes().segment] for column in columns]
                    head = np.array([len(part[0]), _sum(part)], np.int64)
                    self.length += file.write(b"".join(x.data for x in (head, *part)))
                    self.count += len(part[0])
        except OSError as error:
            raise OptionError(
                f"{self._path.parent}: cannot write edges: {error.strerror}; {ANOTHER_FOLDER}"
            ) from error

    def blocks(self, most: int) -> Iterator[list[NDArray[Any]]]:
        """Read the columns in blocks, at least one, of up to `most` rows or of one segment."""
        block, held, seen = [empty(most, dtype) for dtype in self._dtypes], 0, 0
        with file_errors(self._path), open(self._path if self.count else os.devnull, "rb") as file:
            while seen < self.count:
                head = np.frombuffer(file.read(16), np.int64)
                rows, expected = head.tolist() if len(head) == 2 else (0, None)
                if held + rows > len(block[0]):
                    if held:
                        yield [column[:held] for column in block]
                    held, block = 0, [empty(max(most, rows), dtype) for dtype in self._dtypes]
                segment = [column[held : held + rows] for column in block]
                if (
                    any(file.readinto(x.data) < x.nbytes for x in segment)
                    or _sum(segment) != expected
                ):
                    raise FileFormatError(f"{self._path}: the file is damaged; start the run again")
                held, seen = held + rows, seen + rows
        yield [column[:held] for column in block]

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
