"""The scan of a partition: read its edges block by block, and keep those that may be in the forest.

Threads read, check and filter the blocks, which are added to a buffer in order. The memory of a
scan is the buffer and a few blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...graphs.source import EdgeSource, as_index
from ...progress import report_progress
from ...runtime.memory import pool
from ...runtime.sizes import sizes
from ...stages.fields import Candidates, Columns, Cut
from ...stages.strategies import readers
from .bounds import FORESTS_PER_FOLD
from .buffer import EdgeBuffer, Selected
from .checkpoint import Record
from .hub_filter import HubFilter
from .solver import Solver
from .threads import Block, read_in_order


@dataclass(frozen=True)
class Scanner(readers.Scanner):
    """Scans partitions of a graph, with the settings of all scans of a run."""

    solver: Solver
    #: The number of edges that a buffer can hold.
    capacity: int
    #: Whether a later scan takes the edges that a scan skips.
    can_rescan: bool
    num_vertices: int
    #: None if the graph is an iterator.
    num_edges: int | None
    first_edge: int
    #: The number of scans that the plan expects; there may be more.
    planned_scans: int = 1
    #: The number of edges that a thread reads at once.
    block_edges: int = field(default_factory=lambda: sizes().block_edges)

    def scan(
        self,
        source: EdgeSource,
        num_fragments: int,
        labels: NDArray[Any] | None = None,
        limit: int | None = None,
        record: Record | None = None,
        *,
        number: int = 1,
        step: str = "",
    ) -> Candidates:
        """Scan a partition, or resume its scan from a record.

        Report progress as `step`, by default as scan `number` of all scans.

        Return the forest of the edges that the scan has taken. If there are at most `num_fragments`
        edges, they may be returned unreduced.
        """
        return _Scan(self, source, num_fragments, labels, limit, record, number, step).run()

    def takes_all(self, num_fragments: int, num_partitions: int) -> bool:
        """Return whether a scan starts without a limit, because it may be the last one.

        It is the last one if the buffers can hold all edges.
        """
        can_hold = (self.num_edges or 0) <= self.capacity * num_partitions
        return can_hold or self._may_fit(num_fragments)

    def folds(self, num_fragments: int) -> bool:
        """Return whether the forest of a full buffer replaces its edges."""
        if not self.can_rescan:
            return True
        if num_fragments < self.num_vertices:
            return self._may_fit(num_fragments)
        return num_fragments <= self.capacity // FORESTS_PER_FOLD

    def _may_fit(self, num_fragments: int) -> bool:
        """Return whether a forest of the fragments may fit in half of the buffer.

        The number of fragments includes isolated vertices, which are not known. They are often most
        of the fragments, so a scan whose forest does not fit drops its heavier edges.
        """
        return num_fragments <= 2 * self.capacity

    def keys(self, weight: Any) -> Any:
        """Return the keys of weights in the memory of the worker that runs this task."""
        return self.solver.on_this_worker().keys(weight)

    def reduce(
        self, candidates: Candidates, num_fragments: int, record: Record | None, *, trim: bool
    ) -> Candidates:
        """Return the forest of candidates; with `trim`, first drop the edges after their cut."""
        pool().trim()  # the edges need larger blocks than scans have freed
        solver = self.solver.on_this_worker()
        ops, saved = solver.ops, record and record.load()
        if saved:
            edges = Columns(*map(ops.asarray, saved[0]))
        else:
            u, v, *others = zip(*candidates.edges, strict=True)
            ends = (ops.concat(list(parts)) for parts in (u, v))  # copies: they may be overwritten
            rest = (parts[0] if len(parts) == 1 else ops.concat(list(parts)) for parts in others)
            edges = Columns(*ends, *rest)
            if trim and candidates.cut:
                edges = solver.up_to(candidates.cut, edges)
            edges = solver.forest(edges, num_fragments)
            if record is not None:
                record.save(map(ops.to_host, edges), {})
        return candidates._replace(edges=(edges,), is_forest=True)


@dataclass
class _Scan:
    """The scan of one partition."""

    scanner: Scanner
    source: EdgeSource
    num_fragments: int
    #: The fragment of each vertex; None before the first vertices are joined.
    labels: NDArray[Any] | None
    #: The largest key to select; None for no limit.
    limit: int | None
    record: Record | None
    number: int
    step: str

    def __post_init__(self) -> None:
        scanner, size, limit = self.scanner, self.num_fragments, self.limit
        dtype, folds = self.source.weight_dtype, limit is None and scanner.folds(size)
        self._solver = scanner.solver.on_this_worker()
        self._buffer = EdgeBuffer(
            self._solver, size, scanner.capacity, dtype, folds=folds, drops=scanner.can_rescan
        )
        self._filter = None
        if self.labels is not None:
            ops = self._solver.thread_ops
            self._filter = HubFilter(ops, size, dtype or np.dtype(np.int64))
        self._num_read = self._buffer.resume(self.record)
        self._read_seconds: list[float] = []  # of each read; threads append to it
        self._saved_at = time.perf_counter()
        if limit is not None and not self._num_read:
            self._buffer.stop_at(Cut(limit, np.iinfo(np.int64).max), limit)

    def run(self) -> Candidates:
        """Read the partition; see `Scanner.scan`."""
        record = self.record
        for selected in self._read():
            self._keep(selected)
            if record is not None and time.perf_counter() - self._saved_at > record.seconds:
                self._save()
        self._buffer.reduce(above=self.num_fragments)
        self._save()
        buffer, read_ms = self._buffer, int(1000 * sum(self._read_seconds))
        return Candidates((buffer.release(),), buffer.cut, buffer.is_forest, read_ms)

    def _read(self) -> Iterator[Selected]:
        """Yield the selected edges of each block."""
        source = self.source if self.labels is None else self.source.after_scan()
        buffer, total = self._buffer, source.num_edges
        rest = source.slice(self._num_read, total or 0) if self._num_read else source
        size = min(self.scanner.block_edges, self.scanner.capacity // 2)
        size = max(1, size if total is None else min(size, total))
        ops = self._solver.ops
        positions = ops.arange(size, ops.index_dtype(size))
        # The first scan reads all edges, because it checks them for all scans.
        may_stop = source.is_checked or self.labels is not None
        calls = (
            (
                partial(self._timed, read),
                partial(self._select, first, positions, buffer.limit),
            )
            for first, _, read in iter(partial(self._timed, next, rest.blocks(size), None), None)
        )
        for selected in read_in_order(calls, self._solver.backend):
            yield selected
            if may_stop and buffer.limit is not None and buffer.limit < 0:
                self._num_read = total or self._num_read  # all later edges exceed the limit
                return

    def _timed(self, read: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that reads, and record its time.

        A segment that is read from its beginning decodes the next block when it is iterated over.
        """
        start = time.perf_counter()
        try:
            return read(*arguments)
        finally:
            self._read_seconds.append(time.perf_counter() - start)

    def _select(
        self, first: int, positions: NDArray[Any], limit: int | None, block: Block
    ) -> Selected:
        """Select the edges of a block with keys up to `limit` that join two fragments."""
        ops, labels = self._solver.thread_ops, self.labels
        num_vertices, count = self.scanner.num_vertices, len(block[0])
        u, v, weight = map(ops.asarray, block)
        u, v = (as_index(ids, num_vertices) for ids in (u, v))
        is_short = count <= len(positions)
        position = positions[:count] if is_short else ops.arange(count, positions.dtype)
        if labels is None or limit is not None:
            key, dtype = self._keys(weight), ops.index_dtype(num_vertices)
            most = ops.largest(key.dtype) if limit is None else max(0, limit)
            u, v, _, position = ops.compact_pairs(u, v, key, most, dtype, position)
            weight = ops.gather(weight, position)
        if labels is not None:
            u, v, weight, position = ops.relabel_pairs(labels, u, v, weight, position)
        key = self._keys(weight)  # without a limit, only those of selected edges are needed
        if self._filter is not None:
            u, v, key, weight, position = self._filter.within_bounds(u, v, key, weight, position)
        edge_id = np.add(position, first, dtype=np.int64)
        limit = ops.largest(key.dtype) if limit is None else limit
        return Selected(first, count, limit, key, Columns(u, v, weight, edge_id))

    def _keys(self, weight: Any) -> Any:
        return self._solver.thread_ops.order_key(weight, descending=self._solver.maximum)

    def _keep(self, selected: Selected) -> None:
        """Add the edges of a block to the buffer."""
        self._buffer.append(selected if self._filter is None else self._filter.select(selected))
        self._num_read += selected.num_read
        self._report_progress()

    def _report_progress(self) -> None:
        """Report the edges that all scans have read, so that a bar does not restart."""
        scanner, number = self.scanner, self.number
        edges, scans = scanner.num_edges or 0, max(number, scanner.planned_scans)
        done = (number - 1) * edges + self.source.first_id - scanner.first_edge + self._num_read
        step = self.step or f"scan {number} of {scans}"
        report_progress(step, done, max(done, scans * edges))

    def _save(self) -> None:
        """If there is a record, save the buffer and the number of edges read."""
        self._buffer.save(self.record, self._num_read)
        self._saved_at = time.perf_counter()
