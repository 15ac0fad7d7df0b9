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

from ...graphs.source import BLOCK_EDGES
from ...primitives import Backend, array_module
from ...progress import report_progress
from ...stages.fields import Columns
from ..run.partitions import as_index
from .bounds import FOLD_SHARE
from .buffer import EdgeBuffer, Selected
from .solver import Cut
from .star import Star

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ...graphs.source import EdgeSource
    from .checkpoint import Record
    from .solver import Solver

    #: First edge id, length, and the function that reads the columns.
    Block = tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]

T = TypeVar("T")


class Scan(NamedTuple):
    """The parameters of a scan that all partitions share."""

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


class Progress(NamedTuple):
    """The labels of progress reports: step, edges before the partition, edges of the graph."""

    step: str
    before: int
    total: int


def read_partition(
    solver: Solver,
    scan: Scan,
    source: EdgeSource,
    labels: Any,
    progress: Progress,
    record: Record | None,
) -> EdgeBuffer:
    """Scan a partition; return the buffer, reduced if it has more edges than fragments.

    `labels` is the fragment of each vertex; None if each vertex is a fragment. `record` is work of
    an earlier run to resume from; it is updated every `record.seconds`, and at the end.
    """
    buffer = EdgeBuffer(
        solver, scan.num_fragments, scan.capacity, source.weight_dtype, folds=scan.folds
    )
    seen, saved = resume(buffer, record), time.perf_counter()
    if scan.limit is not None and not seen:
        buffer.stop_at(Cut(scan.limit, np.iinfo(np.int64).max), scan.limit)
    rest = source if not seen else source.slice(seen, source.num_edges or 0)
    most = BLOCK_EDGES if source.num_edges is None else source.num_edges
    size = max(1, min(BLOCK_EDGES, scan.capacity // 2, most))
    positions = solver.ops.arange(size, solver.ops.index_dtype(size))
    dtype = source.weight_dtype or np.dtype(np.int64)
    star = None if labels is None else Star(_own_ops(solver), scan.num_fragments, dtype)
    select = partial(_select, solver, scan.num_vertices, labels, star, positions)
    calls = (partial(select, block, buffer.limit) for block in rest.blocks(size))
    for selected in in_order(calls, solver.backend):
        buffer.append(selected if star is None else star.select(selected))
        seen += selected.seen
        done = progress.before + seen
        report_progress(progress.step, done, max(done, progress.total))
        if buffer.limit is not None and buffer.limit < 0:
            seen = source.num_edges or seen  # all later edges exceed the limit
            break
        if record is not None and time.perf_counter() - saved > record.seconds:
            leave(buffer, record, seen)
            saved = time.perf_counter()
    buffer.reduce(above=scan.num_fragments)
    leave(buffer, record, seen)
    return buffer


def resume(buffer: EdgeBuffer, record: Record | None) -> int:
    """Restore the buffer from a record; return the number of edges that the scan had read."""
    found = record and record.load()
    if not found:
        return 0
    columns, state = found
    buffer.restore(columns, is_forest=state["is_forest"])
    if state["cut"] is not None:
        buffer.stop_at(Cut(*state["cut"]), state["limit"])
    return int(state["seen"])


def leave(buffer: EdgeBuffer, record: Record | None, seen: int) -> None:
    """If there is a record, save the buffer and the number of edges read."""
    if record is not None:
        state = {"seen": seen, "cut": buffer.cut, "limit": buffer.limit}
        columns = map(buffer.ops.to_host, buffer.columns)
        record.save(columns, {**state, "is_forest": buffer.is_forest})


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
    ops = _own_ops(solver)
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


def _own_ops(solver: Solver) -> Any:
    """Return an array module of one thread, because each thread works on its own block."""
    return array_module(Backend(solver.backend.name))


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
