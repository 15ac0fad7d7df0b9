"""One scan of a part of the edges: the minimum forest of the lightest that join two fragments.

Blocks of the part are read, checked and filtered by threads side by side, and what is left of them
goes to a buffer, in order. A buffer that fills up makes room in one of two ways. If its forest must
be small, since few fragments are left, the forest takes its place: an edge that is the heaviest on
a cycle here is so in the whole graph. Otherwise only its lighter half is kept, and from there on
the scan passes over what is heavier: a later scan, with more of the vertices joined, will see to
that. So no scan takes more memory than the buffer, whatever the graph. What a later scan holds, a
`star` has looked at before.
"""

from __future__ import annotations

import collections
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graphs.source import BLOCK_EDGES
from ...primitives import Backend, array_module
from ..run import scratch
from ..run.partitions import COLUMNS, as_index
from ..run.report import Work
from ..run.workers import device_errors
from .buffer import EdgeBuffer, Selected
from .solver import Cut
from .star import Star

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ...graphs.source import EdgeSource
    from .checkpoint import Checkpoint
    from .solver import Columns, Solver

    #: First edge id, length, and what reads the columns.
    Block = tuple[int, int, Callable[[], Columns]]

#: A first scan that has no limit of weight folds only if a forest takes at most an eighth of the
#: buffer: to find forests again and again would cost more than a second scan.
_FEW = 8


class Scan(NamedTuple):
    """What the parts of one scan have in common.

    Attributes
    ----------
    num_vertices, num_fragments : int
    capacity : int
        How many edges are held at a time.
    is_one_of_several : bool
        Whether edges may be left to a later scan.
    limit : int or None
        The largest key to take, of such a scan; None for all.
    """

    num_vertices: int
    num_fragments: int
    capacity: int
    is_one_of_several: bool = False
    limit: int | None = None

    @property
    def folds(self) -> bool:
        """Whether a forest takes the place of the edges that are held, when they are too many."""
        if self.limit is not None:
            return False
        is_first = self.is_one_of_several and self.num_fragments == self.num_vertices
        return self.num_fragments <= self.capacity // (_FEW if is_first else 2)


@device_errors("local_forest")
def scan_part(
    solver: Solver,
    scan: Scan,
    source: EdgeSource,
    folder: str | None,
    progress: Callable[[int], None] | None,
    labels: Any,
    record: tuple[Checkpoint, str] | None,
    is_last: bool,
) -> tuple[Any, ...]:
    """Return the forest of a part, the cut up to which it is one, and the work it took.

    A part of no more edges than a forest may have is passed on as it is, unless it is the last: the
    merge finds its cycles.

    Parameters
    ----------
    source : EdgeSource
        The part.
    folder : str, optional
        Where to leave arrays.
    progress : callable, optional
        Told the number of edges of each block that has been seen.
    labels : index array of length n or None
        The fragment of each vertex; None if each is its own.
    record : checkpoint and name, optional
        What an earlier run may have left, and this one will.
    is_last : bool
        Whether it is not merged with others.

    Returns
    -------
    u, v, weight, edge_id : arrays
        The forest, ends as fragments.
    cut : Cut or None
        None if every edge was taken.
    work : Work
    """
    start = saved = time.perf_counter()
    solver = solver.here()
    labels = scratch.load(scratch.fetch(labels), solver.ops)
    buffer = EdgeBuffer(
        solver, scan.num_fragments, scan.capacity, source.weight_dtype, folds=scan.folds
    )
    seen = _resume(buffer, record)
    if scan.limit is not None and not seen:
        buffer.stop_at(Cut(scan.limit, np.iinfo(np.int64).max), scan.limit)
    rest = source if not seen else source.part(seen, source.num_edges or 0)
    size = min(BLOCK_EDGES, max(1, scan.capacity // 2))
    positions = solver.ops.arange(size, solver.ops.index_dtype(size))
    select = partial(_select, solver, scan.num_vertices, labels, positions)
    star = None if labels is None else Star(_own_ops(solver), scan.num_fragments)
    for piece in _in_order(rest.blocks(size), select, lambda: buffer.limit, solver.backend):
        buffer.append(piece if star is None else star.select(piece))
        seen += piece.seen
        if progress is not None:
            progress(piece.seen)
        if buffer.limit is not None and buffer.limit < 0:
            seen = source.num_edges or seen  # nothing comes before what it holds
            break
        if record is not None and time.perf_counter() - saved > record[0].seconds:
            _leave(buffer, record, seen)
            saved = time.perf_counter()
    buffer.reduce(above=0 if is_last else scan.num_fragments)
    _leave(buffer, record, seen)
    forest = scratch.store(buffer.release(), folder, solver.ops)
    return *forest, buffer.cut, Work(time.perf_counter() - start, buffer.moved)


@device_errors("merge_forests")
def merge_forests(
    solver: Solver,
    num_vertices: int,
    folder: str | None,
    *parts: tuple[Any, ...],
    record: tuple[Checkpoint, str] | None,
    is_last: bool,
) -> tuple[Any, ...]:
    """Return what `scan_part` would have of the parts in one: the forest of their forests.

    A column that is merged again may be a tuple of pieces, as they came.
    """
    start = time.perf_counter()
    solver = solver.here()
    cuts = {part[-2] for part in parts}
    cut = min(cuts - {None}, default=None)
    pieces = tuple(_pieces(part[place] for part in parts) for place in range(len(COLUMNS)))
    lengths = (len(ids) for ids in scratch.load(pieces[-1], solver.ops))
    if not is_last and len(cuts) == 1 and sum(lengths) <= num_vertices:
        return *pieces, cut, Work(time.perf_counter() - start, 0)
    buffer = EdgeBuffer(solver, num_vertices, 0, None, folds=True)
    if not _resume(buffer, record):
        columns = tuple(solver.ops.concat(list(scratch.load(p, solver.ops))) for p in pieces)
        if len(cuts) > 1:
            columns = solver.up_to(cut, columns)
        buffer.restore(columns, is_forest=False)
        buffer.reduce()
        _leave(buffer, record, 1)
    forest = scratch.store(buffer.release(), folder, solver.ops)
    return *forest, cut, Work(time.perf_counter() - start, buffer.moved)


def _pieces(columns: Iterable[Any]) -> tuple[Any, ...]:
    """Return the pieces of several columns in a row."""
    each = (c if type(c) is tuple else (c,) for c in columns)
    return tuple(itertools.chain.from_iterable(each))


def _resume(buffer: EdgeBuffer, record: tuple[Checkpoint, str] | None) -> int:
    """Take up what was left, and return how many edges had been seen."""
    found = record and record[0].load(record[1])
    if not found:
        return 0
    columns, state = found
    buffer.restore(columns, is_forest=state["is_forest"])
    if state["cut"] is not None:
        buffer.stop_at(Cut(*state["cut"]), state["limit"])
    return int(state["seen"])


def _leave(buffer: EdgeBuffer, record: tuple[Checkpoint, str] | None, seen: int) -> None:
    if record is not None:
        state = {"seen": seen, "cut": buffer.cut, "limit": buffer.limit}
        columns = map(buffer.ops.to_host, buffer.columns)
        record[0].save(record[1], columns, {**state, "is_forest": buffer.is_forest})


def _select(
    solver: Solver,
    num_vertices: int,
    labels: NDArray[Any] | None,
    positions: NDArray[Any],
    block: Block,
    limit: int | None,
) -> Selected:
    """Read a block; keep the edges up to a key that join two fragments."""
    first, count, read = block
    ops = _own_ops(solver)
    u, v, weight = map(ops.asarray, read())
    u, v = (as_index(ids, num_vertices) for ids in (u, v))
    position = positions[:count] if count <= len(positions) else ops.arange(count, positions.dtype)
    if labels is None:
        key = ops.order_key(weight, signed=True, descending=solver.maximum)
        limit = ops.largest(key.dtype) if limit is None else limit
        dtype = ops.index_dtype(num_vertices)
        u, v, key, position = ops.compact_pairs(u, v, key, limit, dtype, position)
        weight = ops.gather(weight, position)
    else:  # few are left of those whose labels differ
        u, v, weight, position = ops.relabel_pairs(labels, u, v, weight, position)
        key = ops.order_key(weight, signed=True, descending=solver.maximum)
        limit = ops.largest(key.dtype) if limit is None else limit
        if limit < ops.largest(key.dtype):
            u, v, weight, key, position = ops.compact(key <= limit, u, v, weight, key, position)
    columns = u, v, weight, first + position.astype(np.int64)
    return Selected(first, count, limit, key, columns)


def _own_ops(solver: Solver) -> Any:
    """Return the array module of one thread: each has a block of its own."""
    return array_module(Backend(solver.backend.name))


def _in_order(
    blocks: Iterable[Block],
    select: Callable[[Block, int | None], Selected],
    limit: Callable[[], int | None],
    backend: Backend,
) -> Iterator[Selected]:
    """Select from all blocks, some ahead of the one that is yielded."""
    ops = array_module(backend)

    def select_beside(beside: Any, block: Block, limit: int | None) -> Selected:
        with beside:
            return select(block, limit)

    with ThreadPoolExecutor(backend.threads, "mstflow-scan") as team:
        ahead: collections.deque[Any] = collections.deque()
        try:
            for block in blocks:
                ahead.append(team.submit(select_beside, ops.beside(), block, limit()))
                if len(ahead) > backend.threads + 1:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:  # on an error, or at an early end, what has not begun need not
            for each in ahead:
                each.cancel()
