"""One scan of a partition: threads read, check and filter blocks and add them to a buffer in order.

The memory of a scan is the buffer and a few blocks.
"""

from __future__ import annotations

import collections
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ...graphs.source import BLOCK_EDGES, EdgeSource
from ...primitives import Backend, array_module
from ...progress import report_progress
from ...stages.fields import Columns
from ..run.partitions import as_index
from .bounds import FOLD_SHARE
from .buffer import EdgeBuffer, Selected
from .solver import Cut, Solver
from .star import Star

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from .checkpoint import Record

    #: First edge id, length, and the function that reads the columns.
    Block = tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]

T = TypeVar("T")


class Scan(NamedTuple):
    """The parameters of a scan that all partitions share."""

    #: The step and the number of edges in progress reports; 0 if the number is not known.
    step: str
    num_edges: int
    first_edge: int
    num_vertices: int
    num_fragments: int
    #: Number of edges that each task holds.
    capacity: int
    #: Whether a later scan may take edges that this one skips.
    can_rescan: bool = False
    #: The largest key to take if `can_rescan`; None for no limit.
    limit: int | None = None

    @property
    def folds(self) -> bool:
        """Whether a full buffer is replaced by its forest."""
        if self.limit is not None:
            return False
        is_first = self.can_rescan and self.num_fragments == self.num_vertices
        return self.num_fragments <= self.capacity // (FOLD_SHARE if is_first else 2)


def read_partition(
    solver: Solver, scan: Scan, source: EdgeSource, labels: Any = None, record: Record | None = None
) -> EdgeBuffer:
    """Scan a partition; return the buffer, reduced if it has more edges than fragments.

    `labels` is the fragment of each vertex; None if each vertex is a fragment. `record` is work of
    an earlier run to resume from; it is updated every `record.seconds`, and at the end.
    """
    solver, (dtype, most) = solver.here(), (source.weight_dtype, source.num_edges)
    buffer = EdgeBuffer(solver, scan.num_fragments, scan.capacity, dtype, folds=scan.folds)
    seen, saved = buffer.resume(record), time.perf_counter()
    if scan.limit is not None and not seen:
        buffer.stop_at(Cut(scan.limit, np.iinfo(np.int64).max), scan.limit)
    rest = source if not seen else source.slice(seen, most or 0)
    size = max(1, min(BLOCK_EDGES, scan.capacity // 2, BLOCK_EDGES if most is None else most))
    positions = solver.ops.arange(size, solver.ops.index_dtype(size))
    star = None
    if labels is not None:
        star = Star(solver.thread_ops, scan.num_fragments, dtype or np.dtype(np.int64))
    select = partial(_select, solver, scan.num_vertices, labels, star, positions)
    calls = (partial(select, block, buffer.limit) for block in rest.blocks(size))
    for selected in in_order(calls, solver.backend):
        buffer.append(selected if star is None else star.select(selected))
        seen += selected.seen
        done = source.first_id - scan.first_edge + seen
        report_progress(scan.step, done, max(done, scan.num_edges))
        if buffer.limit is not None and buffer.limit < 0:
            seen = most or seen  # all later edges exceed the limit
            break
        if record is not None and time.perf_counter() - saved > record.seconds:
            buffer.save(record, seen)
            saved = time.perf_counter()
    buffer.reduce(above=scan.num_fragments)
    buffer.save(record, seen)
    return buffer


def _select(
    solver: Solver,
    num_vertices: int,
    labels: NDArray[Any] | None,
    star: Star | None,
    positions: NDArray[Any],
    block: Block,
    limit: int | None,
) -> Selected:
    """Read a block; select the edges with keys up to `limit` that join two fragments."""
    first, count, read = block
    ops = solver.thread_ops
    u, v, weight = map(ops.asarray, read())
    u, v = (as_index(ids, num_vertices) for ids in (u, v))
    position = positions[:count] if count <= len(positions) else ops.arange(count, positions.dtype)
    limit = ops.largest(np.dtype(f"u{weight.itemsize}")) if limit is None else limit
    if labels is None or star is None:
        dtype = ops.index_dtype(num_vertices)
        u, v, key, position = ops.compact_light_pairs(
            u, v, weight, limit, dtype, position, descending=solver.maximum
        )
    else:
        u, v, key, position = ops.relabel_light_pairs(
            labels, star.bound, u, v, weight, limit, position, descending=solver.maximum
        )
    edge_id = np.add(position, first, dtype=np.int64)
    return Selected(first, count, limit, key, Columns(u, v, ops.gather(weight, position), edge_id))


def in_order(calls: Iterable[Callable[[], T]], backend: Backend) -> Iterator[T]:
    """Yield the results of all calls in order; meanwhile, threads execute later calls."""
    ops = array_module(backend)

    def call_beside(beside: Any, call: Callable[[], T]) -> T:
        with beside:
            return call()

    with ThreadPoolExecutor(backend.threads, "mstflow-scan") as team:
        ahead: collections.deque[Any] = collections.deque()
        try:
            for call in calls:
                ahead.append(team.submit(call_beside, ops.beside(), call))
                if len(ahead) > backend.threads + 1:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:  # on an error or an early end, cancel calls that no thread has started
            for each in ahead:
                each.cancel()
