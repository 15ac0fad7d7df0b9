"""The stages of the strategies that read a graph in scans.

In each partition, a scan finds the minimum forest of the lightest edges that join two fragments.
Then a tree of tasks merges the forests. There are two ways to empty a full buffer. If few fragments
remain, the forest of the buffered edges is small, and replaces them. Otherwise the buffer keeps its
lighter half, and the scan skips heavier edges from then on. A later scan takes the skipped edges,
when fewer fragments remain.

Only forests have to be merged: an edge outside the minimum forest of its partition is the heaviest
edge of a cycle in the partition, and this cycle also exists in the graph. Partitions are ranges of
edge ids, and neighbours are merged. So positions are in the order of edge ids, and ties break in
the same way at every level.

Threads read, check and filter the blocks of a partition, which are added to its buffer in order.
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
from ...primitives.vocabulary import ArrayModule  # noqa: TC001  # `stage` reads annotations
from ...progress import report_progress
from ...stages.declare import stage
from ...stages.fields import Chosen, Columns, Count, Verdict
from ..run.partitions import as_index
from .bounds import FOLD_SHARE, LAST_SHARE
from .buffer import EdgeBuffer, Selected
from .solver import Cut, Solver
from .star import Star

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    #: First edge id, length, and the function that reads the columns.
    Block = tuple[int, int, Callable[[], tuple[NDArray[Any], ...]]]

T = TypeVar("T")

#: The ratio of the ranks of two consecutive limits. If a limit is too high, the buffer lowers it.
_RAISED = 3


class Candidates(NamedTuple):
    """Edges of consecutive partitions that contain their minimum forest."""

    #: In the order of edge ids. The ends are fragments.
    edges: tuple[Columns, ...]
    #: The scan took every edge up to this one; None if it took all edges.
    cut: Cut | None
    #: Whether there is one item and it is a forest.
    is_forest: bool


def merge_forests(
    ops: ArrayModule,
    parts: list[tuple[Candidates]],
    solver: Solver,
    num_fragments: int,
    record: Any = None,
) -> tuple[Candidates]:
    """Find the forest of the forests of several partitions.

    If the candidates have at most one edge for each fragment, they are passed on unreduced.
    """
    cuts = {each.cut for (each,) in parts}
    cut = min((cut for cut in cuts if cut is not None), default=None)
    edges = tuple(columns for (each,) in parts for columns in each.edges)
    candidates = Candidates(edges, cut, is_forest=False)
    if len(cuts) == 1 and sum(len(columns.u) for columns in edges) <= num_fragments:
        return (candidates,)
    return (_reduced(solver.here(), candidates, num_fragments, record, trim=len(cuts) > 1),)


@stage(writes="candidates", combine=merge_forests)
def scan_partition(
    source: Any,
    solver: Any,
    num_vertices: Count,
    num_edges: Any,
    num_fragments: Count,
    num_scans: Count,
    can_rescan: Verdict,
    capacity: Count,
    limit: Any,
    labels: Any,
    first_edge: Count,
    record: Any = None,
) -> Any:
    """Find the forest of the lightest edges of a partition that join two fragments.

    If a partition has at most one edge for each fragment, it is passed on unreduced. A merge or the
    next stage then drops the cycles. `labels` is the fragment of each vertex; None before the first
    vertices are joined. The task resumes from its `record`, and updates it from time to time.
    """
    solver, dtype, total = solver.here(), source.weight_dtype, source.num_edges
    is_first = can_rescan and num_fragments == num_vertices
    folds = limit is None and num_fragments <= capacity // (FOLD_SHARE if is_first else 2)
    buffer = EdgeBuffer(solver, num_fragments, capacity, dtype, folds=folds)
    seen, saved = buffer.resume(record), time.perf_counter()
    if limit is not None and not seen:
        buffer.stop_at(Cut(limit, np.iinfo(np.int64).max), limit)
    rest = source if not seen else source.slice(seen, total or 0)
    size = max(1, min(BLOCK_EDGES, capacity // 2, BLOCK_EDGES if total is None else total))
    positions = solver.ops.arange(size, solver.ops.index_dtype(size))
    star = None
    if labels is not None:
        star = Star(solver.thread_ops, num_fragments, dtype or np.dtype(np.int64))
    select = partial(_select, solver, num_vertices, labels, star, positions)
    calls = (partial(select, block, buffer.limit) for block in rest.blocks(size))
    step = f"scan {num_scans}" if num_scans else "hold forests"
    for selected in in_order(calls, solver.backend):
        buffer.append(selected if star is None else star.select(selected))
        seen += selected.seen
        done = source.first_id - first_edge + seen
        report_progress(step, done, max(done, num_edges or 0))
        if buffer.limit is not None and buffer.limit < 0:
            seen = total or seen  # all later edges exceed the limit
            break
        if record is not None and time.perf_counter() - saved > record.seconds:
            buffer.save(record, seen)
            saved = time.perf_counter()
    buffer.reduce(above=num_fragments)
    buffer.save(record, seen)
    return Candidates((buffer.release(),), buffer.cut, buffer.is_forest)


@stage(writes="columns")
def hold_forest(
    source: Any, solver: Any, num_vertices: Count, num_edges: Any, capacity: Count
) -> Columns:
    """Find the forest of a partition; a partition with few edges is held unreduced."""
    only = {"num_scans": 0, "can_rescan": False, "limit": None, "labels": None, "first_edge": 0}
    graph = source, solver, num_vertices, num_edges
    held: Candidates = scan_partition(*graph, num_vertices, capacity=capacity, **only)
    return held.edges[0]


@stage(writes=("found", "cut"))
def finish_forest(
    candidates: Any, solver: Any, num_fragments: Count, record: Any = None
) -> tuple[Any, Any]:
    """Find the forest of the candidates of all partitions."""
    if not candidates.is_forest:
        candidates = _reduced(solver.here(), candidates, num_fragments, record, trim=False)
    (found,) = candidates.edges
    return found, candidates.cut


@stage(writes="forest")
def collect_forest(found: Any) -> Chosen:
    """Add the edges that a scan found to the forest."""
    return found.edge_id


@stage(writes=("num_fragments", "num_scans"))
def start_scans(num_vertices: Count) -> tuple[Count, Count]:
    """Make each vertex a fragment, and begin the first scan."""
    return num_vertices, 1


@stage(writes="sample", combine="concatenation")
def sample_weights(source: Any, num_light: Count, num_partitions: Count) -> Any:
    """Sample weights throughout the graph, if light edges need a limit."""
    return source.sample_weights(num_partitions if num_light else 0)


@stage(writes="limit")
def choose_limit(
    ops: ArrayModule, sample: Any, solver: Any, num_light: Count, num_edges: Any
) -> Any:
    """Choose a limit for the keys of about `num_light` edges; None if all edges are light."""
    rank = len(sample) * num_light // max(1, num_edges or 0)
    return _key_of_rank(ops, solver.keys(ops.asarray(sample)), rank)


@stage(writes=("labels", "num_fragments", "num_scans"))
def join_fragments(
    ops: ArrayModule, found: Any, labels: Any, num_fragments: Count, num_scans: Count
) -> tuple[Any, Count, Count]:
    """Join fragments along the forest of a scan, before the next scan."""
    _, root = ops.join_in_order(found.u, found.v, num_fragments)
    number, left = ops.number_roots(root)
    return number if labels is None else ops.gather(number, labels), left, num_scans + 1


@stage(writes="limit")
def raise_limit(
    ops: ArrayModule, sample: Any, solver: Any, cut: Any, num_fragments: Count, capacity: Count
) -> Any:
    """Choose the limit of the next scan; None if few fragments remain.

    A scan with a limit skips heavier edges without looking up the fragments of their ends.
    """
    if num_fragments <= capacity // LAST_SHARE:
        return None
    keys = solver.keys(ops.asarray(sample))
    return _key_of_rank(ops, keys, _RAISED * (1 + ops.count(keys <= cut.key)))


@stage(writes="nothing_left_out")
def nothing_left_out(cut: Any) -> Verdict:
    """Return whether no further scan is needed."""
    return cut is None


def _key_of_rank(ops: ArrayModule, keys: Any, rank: int) -> int | None:
    """Return the key of a rank in a sample; None if the sample is smaller."""
    return int(ops.partition(keys, rank)[rank]) if rank < len(keys) else None


def _reduced(
    solver: Solver, candidates: Candidates, num_fragments: int, record: Any, *, trim: bool
) -> Candidates:
    """Return the forest of candidates; with `trim`, without the edges after their cut."""
    ops, saved = solver.ops, record and record.load()
    if saved:
        edges = Columns(*map(ops.asarray, saved[0]))
    else:
        edges = Columns(*(ops.concat(list(parts)) for parts in zip(*candidates.edges, strict=True)))
        if trim and candidates.cut:
            edges = solver.up_to(candidates.cut, edges)
        edges = solver.forest(edges, num_fragments)
        if record is not None:
            record.save(map(ops.to_host, edges), {})
    return Candidates((edges,), candidates.cut, is_forest=True)


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
    key = ops.order_key(weight, descending=solver.maximum)
    largest, dtype = ops.largest(key.dtype), ops.index_dtype(num_vertices)
    limit = largest if limit is None else limit
    if labels is None or limit < largest:
        u, v, key, position = ops.compact_pairs(u, v, key, limit, dtype, position)
    if labels is not None and star is not None:
        u, v, key, position = ops.relabel_pairs(labels, u, v, key, position)
        u, v, key, position = star.within_bounds(u, v, key, position)
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
