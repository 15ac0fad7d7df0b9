"""The sweep of a graph with more vertices than memory; its edges are on disk, in buckets.

There is a bucket for each range of vertices. It is filled while earlier ranges are removed, read
when its own range is, and then deleted.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...graphs.source import EdgeSource, as_index, check_dtype
from ...progress import report_progress
from ...runtime.host import show_bytes
from ...runtime.memory import pool
from ...runtime.sizes import sizes
from ...stages.fields import Edges
from .buckets import ANOTHER_FOLDER, RANGE_SHARE, SegmentFile, VertexOrder, choose_ranges
from .threads import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from .buckets import Dealt
    from .checkpoint import Record
    from .solver import Solver

    #: First edge id, length, and the function that reads the columns.
    Block = tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]


def _index(size: int) -> np.dtype[Any]:
    return np.dtype(np.int32 if size < 2**31 else np.int64)


@dataclass(frozen=True)
class Sweeper:
    """Deals a graph to buckets; what all ranges have in common.

    Attributes
    ----------
    solver : Solver
    capacity : int
        The number of edges that memory holds.
    num_vertices, num_edges, first_edge : int
    weight_dtype : dtype
    folder : str
        For the buckets, if there is no checkpoint.
    """

    solver: Solver
    capacity: int
    num_vertices: int
    num_edges: int
    first_edge: int
    weight_dtype: np.dtype[Any]
    folder: str

    def deal(self, source: EdgeSource, record: Record | None) -> Buckets:
        """Write the edges of a graph to buckets, or take up the buckets of a killed run."""
        buckets = self._open(record)
        saved = time.perf_counter()
        rest = source.slice(buckets.seen, self.num_edges)
        size = max(1, min(sizes().block_edges, self.capacity // 2))
        calls = (partial(self._deal, buckets.order, block) for block in rest.blocks(size))
        for count, dealt in in_order(calls, self.solver.backend):
            buckets.append(dealt)
            buckets.seen += count
            if record is not None and time.perf_counter() - saved > record.seconds:
                buckets.save()
                saved = time.perf_counter()
            report_progress("deal edges", buckets.seen, self.num_edges)
        buckets.save()
        return buckets

    def _open(self, record: Record | None) -> Buckets:
        """Return new buckets, or those of a killed run."""
        bits = sizes().tile.bit_length() - 1
        index = _index(self.num_vertices + 2**bits)
        dtypes = index, index, np.dtype(f"u{self.weight_dtype.itemsize}"), _index(self.num_edges)
        folder, saved = Path(self.folder), record and record.load()
        if record is not None:
            folder = Path(record.path).with_suffix("")
            folder.mkdir(exist_ok=True)
        if saved:
            (starts, ends), state = saved
            bits = state["bits"]
            self._check_ranges(folder, 2**bits, starts[state["range"] :])
        else:
            self._check_disk(folder, sum(dtype.itemsize for dtype in dtypes))
            tiles = max(1, -(-self.num_vertices >> bits))
            starts = np.array(choose_ranges(tiles, 2**bits, self.num_edges, self.capacity))
            ends, state = np.zeros((len(starts), 2), np.int64), {"seen": 0, "range": 0}
        order = VertexOrder.of(bits, starts, index)
        return Buckets(self, order, dtypes, folder, record).restore(ends, state)

    def _check_ranges(self, folder: Path, tile: int, starts: NDArray[np.int64]) -> None:
        """Check that the ranges of a killed run are not too large for the memory of this one."""
        if np.diff(starts).max() * tile > max(tile, self.capacity // RANGE_SHARE):
            raise OptionError(
                f"{folder.parent}: the run that was killed had more memory; set memory= to as much"
            )

    def _check_disk(self, folder: Path, edge: int) -> None:
        """Check the free space: a bucket is on disk twice while its edges move."""
        needed = edge * (self.num_edges + min(self.num_edges, self.capacity))
        needed += 8 * self.num_vertices
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise OptionError(
                f"{folder}: {show_bytes(needed)} of disk space are needed for edges, but only "
                f"{show_bytes(free)} are free; {ANOTHER_FOLDER}"
            )

    def _deal(self, order: VertexOrder, block: Block) -> tuple[int, Dealt]:
        """Read a block, and sort its edges by their buckets; drop loops."""
        first, count, read = block
        ops = self.solver.thread_ops
        u, v, weight = map(ops.asarray, read())
        check_dtype(first, weight.dtype, self.weight_dtype)
        u, v = (order.place(ops, as_index(ends, self.num_vertices)) for ends in (u, v))
        key = ops.order_key(weight, descending=self.solver.maximum)
        edge_id = ops.consecutive(first - self.first_edge, count, _index(self.num_edges))
        largest = ops.largest(key.dtype)
        columns = ops.compact_pairs(u, v, key, largest, order.rank.dtype, edge_id)
        return count, order.deal(ops, *columns)


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
        for columns in bucket.blocks(most):
            for ends in columns[:2]:
                ends -= self.first_vertex
            block = Edges(*map(ops.asarray, columns))
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
        """Return the ids of the edges in the forest, in ascending order; free the last bucket."""
        self._block = None
        pool().trim()  # the ids need larger blocks than those that the ranges have freed
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
