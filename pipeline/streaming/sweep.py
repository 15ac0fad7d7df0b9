"""The strategy "sweep", for graphs whose vertices do not fit in memory: its edges are on disk.

Each range of vertices has a bucket: a file of edges. Edges are added to it when the graph is read,
and when earlier ranges are removed. When its range is removed, it is read and then deleted.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ...graphs.source import EdgeSource, as_index, check_dtype
from ...progress import report_progress
from ...runtime.host import show_bytes
from ...runtime.memory import pool
from ...runtime.scratch import mapped
from ...runtime.sizes import sizes
from ...stages.fields import Edges
from ...stages.strategies import readers
from .buckets import (
    ANOTHER_FOLDER,
    Dealt,
    Frame,
    FrameFile,
    VertexOrder,
    choose_ranges,
    rows_at_once,
    write_errors,
)
from .checkpoint import Record
from .solver import Solver
from .threads import Block, in_order, read_in_order


@dataclass(frozen=True)
class Sweeper(readers.Sweeper):
    """Deals the edges of a graph to buckets, with the settings of a sweep."""

    solver: Solver
    #: The number of edges that memory holds.
    capacity: int
    num_vertices: int
    num_edges: int
    first_edge: int
    weight_dtype: np.dtype[Any]
    #: The folder of the buckets without a checkpoint.
    folder: str

    def deal(self, source: EdgeSource, record: Record | None) -> Buckets:
        """Write the edges of a graph to buckets; resume from those of a killed run, if any."""
        buckets = self._open(record)
        saved_at = time.perf_counter()
        rest = source.slice(buckets.num_read, self.num_edges)
        size = max(1, min(sizes().block_edges, self.capacity // 2))
        calls = (
            (read, partial(self._deal, buckets.order, first))
            for first, _, read in rest.blocks(size)
        )
        for count, dealt in read_in_order(calls, self.solver.backend):
            buckets.append(dealt)
            buckets.num_read += count
            if record is not None and time.perf_counter() - saved_at > record.seconds:
                buckets.save()
                saved_at = time.perf_counter()
            report_progress("deal edges", buckets.num_read, self.num_edges)
        buckets.save()
        return buckets

    def _open(self, record: Record | None) -> Buckets:
        """Return new buckets, or those of a killed run."""
        bits, ops = sizes().tile.bit_length() - 1, self.solver.ops
        index = ops.index_dtype(self.num_vertices + 2**bits)
        key, edge_id = np.dtype(f"u{self.weight_dtype.itemsize}"), ops.index_dtype(self.num_edges)
        dtypes = index, index, key, edge_id
        folder, saved = Path(self.folder), record and record.load()
        if record is not None:
            folder = Path(record.path).with_suffix("")
            if not saved:  # the buckets of a run that saved no state would take disk space
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(exist_ok=True)
        if saved:
            (starts, ends), state = saved
            bits = state["bits"]
        else:
            self._check_disk(folder, sum(dtype.itemsize for dtype in dtypes))
            tiles = max(1, -(-self.num_vertices >> bits))
            starts = np.array(choose_ranges(tiles, 2**bits, self.num_edges, self.capacity))
            num_files = len(starts) - 1 + max(1, -(-self.num_edges // self.capacity))
            ends, state = np.zeros((num_files, 2), np.int64), {"num_read": 0, "range": 0}
        order = VertexOrder.of(bits, starts, index)
        if not order.fits(self.capacity, state["range"]):
            raise OptionError(
                f"{folder.parent}: the checkpoint was written with more memory; set memory= to at "
                "least the value of the interrupted run"
            )
        return Buckets(self, order, dtypes, folder, record, len(ends)).restore(ends, state)

    def _check_disk(self, folder: Path, edge_bytes: int) -> None:
        """Check the free space: a bucket is on disk twice while its edges move.

        Forest ids need no extra space: each replaces a larger edge that was removed.
        """
        needed = edge_bytes * (self.num_edges + min(self.num_edges, self.capacity))
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise OptionError(
                f"{folder}: {show_bytes(needed)} of disk space are needed for edges, but only "
                f"{show_bytes(free)} are free; {ANOTHER_FOLDER}"
            )

    def _deal(self, order: VertexOrder, first: int, block: Block) -> tuple[int, Dealt]:
        """Drop the self-loops of a block, and sort its other edges by their buckets."""
        ops, count = self.solver.thread_ops, len(block[0])
        u, v, weight = map(ops.asarray, block)
        check_dtype(first, weight.dtype, self.weight_dtype)
        u, v = (order.positions(ops, as_index(ends, self.num_vertices)) for ends in (u, v))
        key = ops.order_key(weight, descending=self.solver.maximum)
        dtype = ops.index_dtype(self.num_edges)
        edge_id = ops.consecutive(first - self.first_edge, count, dtype)
        largest = ops.largest(key.dtype)
        columns = ops.compact_pairs(u, v, key, largest, order.rank.dtype, edge_id)
        return count, order.deal(ops, *columns)


class Buckets(readers.Buckets):
    """The edges between vertices that are not removed yet, and the ids of the forest so far.

    Of `num_files` files in `folder`, each range of vertices has one, and the rest are for ranges of
    edge ids, which count from the first edge of the graph. `dtypes` are those of the columns u, v,
    key and edge id. After each range, `record` saves the state.
    """

    def __init__(
        self,
        sweeper: Sweeper,
        order: VertexOrder,
        dtypes: Sequence[np.dtype[Any]],
        folder: Path,
        record: Record | None,
        num_files: int,
    ) -> None:
        self.order, self._sweeper, self._record = order, sweeper, record
        #: The number of edges that were read from the graph.
        self.num_read = 0
        #: The number of ranges that were removed, which is the number of the current range.
        self._range = 0
        self._folder = folder.parent
        buckets = [f"bucket-{number}" for number in range(order.num_ranges)]
        ranges = [f"forest-{number}" for number in range(num_files - order.num_ranges)]
        self._forest_files = [FrameFile(folder / name, dtypes[-1:]) for name in ranges]
        #: The buckets, and then the files of forest ids.
        self._files = [FrameFile(folder / name, dtypes) for name in buckets] + self._forest_files
        #: The current bucket, if it was read in one block.
        self._block: Edges | None = None

    @property
    def id_bits(self) -> int:
        """The number of bits of an edge id."""
        return self._sweeper.num_edges.bit_length()

    @property
    def first_vertex(self) -> int:
        """The position of the first vertex that is not removed."""
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
        is_whole = bucket.num_rows <= capacity
        most = bucket.num_rows if is_whole else rows_at_once(capacity, self.num_vertices)
        for columns in bucket.blocks(most):
            for ends in columns[:2]:
                ends -= self.first_vertex
            block = Edges(*map(ops.asarray, columns))
            self._block = block if is_whole else None
            yield block

    def move(self, replace_ends: Callable[[Any, Edges], Iterable[Any]]) -> Buckets:
        """Move the edges of the current bucket to later ones, and begin the next range with edges.

        Threads call `replace_ends` with an array module and a part of a block. It returns the
        columns of the edges to keep.
        """
        solver, first, step = self._sweeper.solver, self.first_vertex, sizes().block_edges

        def deal(edges: Edges) -> Dealt:
            u, v, *rest = replace_ends(solver.thread_ops, edges)
            return self.order.deal(solver.thread_ops, u + first, v + first, *rest)

        calls = (
            partial(deal, Edges(*(column[start : start + step] for column in block)))
            for block in self.blocks(solver.ops)
            for start in range(0, len(block.u), step)
        )
        for dealt in in_order(calls, solver.backend):
            self.append(dealt)
        done, self._block = self._range, None
        self._skip_empty(done + 1)
        self.save()
        self._files[done].remove()
        total = self.order.start(self.order.num_ranges)
        report_progress("remove vertices", self.first_vertex, total)
        return self

    def _skip_empty(self, first: int) -> None:
        """Begin the first range with edges from range `first` on, or else the last range."""
        filled = (n for n in range(first, self.order.num_ranges) if self._files[n].num_rows)
        self._range = next(filled, self.order.num_ranges - 1)

    def append(self, dealt: Dealt) -> None:
        """Write edges to their buckets."""
        for bucket, frame in dealt:
            self._files[bucket].append(frame)

    def add_to_forest(self, edge_ids: NDArray[Any]) -> None:
        """Write the ids of edges in the forest."""
        edge_ids, count = np.sort(edge_ids), len(self._forest_files)
        firsts = [self._sweeper.num_edges * number // count for number in range(1, count)]
        cuts = np.searchsorted(edge_ids, firsts)
        for file, ids in zip(self._forest_files, np.split(edge_ids, cuts), strict=True):
            if len(ids):
                file.append(Frame.of([ids]))

    def forest_ids(self) -> NDArray[np.int64]:
        """Return the ids of the edges in the forest, in ascending order; free the last bucket.

        The array is a file mapped to memory if there are more than `capacity` ids.
        """
        self._block = None
        pool().trim()  # the ids need larger blocks than ranges have freed
        count = sum(file.num_rows for file in self._forest_files)
        blocks = map(self._sorted_ids, self._forest_files)
        if count <= self._sweeper.capacity:
            return np.concatenate(list(blocks))
        with write_errors(self._folder):
            return mapped(blocks, count, np.int64, self._folder)

    def _sorted_ids(self, file: FrameFile) -> NDArray[np.int64]:
        """Read the ids of a range, at most `capacity`."""
        ((ids,),) = file.blocks(file.num_rows)
        ids.sort()
        edge_ids: NDArray[np.int64] = np.add(ids, self._sweeper.first_edge, dtype=np.int64)
        return edge_ids

    def save(self) -> None:
        """Save the state, if there is a record."""
        if self._record is not None:
            ends = np.array([(file.num_rows, file.num_bytes) for file in self._files])
            state = {"num_read": self.num_read, "range": self._range, "bits": self.order.bits}
            self._record.save((self.order.starts, ends), state)

    def restore(self, ends: NDArray[np.int64], state: dict[str, Any]) -> Buckets:
        """Restore a saved state; remove frames written after it or by another run."""
        self.num_read, self._range = state["num_read"], state["range"]
        for number, (file, end) in enumerate(zip(self._files, ends.tolist(), strict=True)):
            file.restore(*(end if number >= self._range else (0, 0)))
        return self
