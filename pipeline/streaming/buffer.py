"""The buffer of a scan: a bounded number of edges, in ascending order of edge ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...graphs.source import check_dtype
from ...stages.fields import Columns, Cut
from .checkpoint import Record
from .solver import Solver


class Selected(NamedTuple):
    """The edges of a block with keys up to `limit`."""

    #: The first edge id of the block, and the number of its edges.
    first: int
    num_read: int
    limit: int
    key: NDArray[Any]
    columns: Columns


class EdgeBuffer:
    """Holds up to `capacity` edges, whose ends are less than `num_fragments`.

    If `folds` is true, the edges of a full buffer are replaced by their forest. If `drops` is true
    and they still fill more than half of it, the heavier edges are dropped, and heavier edges are
    skipped from then on.
    """

    def __init__(
        self,
        solver: Solver,
        num_fragments: int,
        capacity: int,
        weight_dtype: np.dtype[Any] | None,
        *,
        folds: bool,
        drops: bool,
    ) -> None:
        self.ops, self._solver, self._num_fragments = solver.ops, solver, num_fragments
        self._capacity, self._weight_dtype = capacity, weight_dtype
        self._folds, self._drops = folds, drops
        index = self.ops.index_dtype(num_fragments)
        dtypes = index, index, weight_dtype or np.int64, np.int64
        self._columns = [self.ops.empty(0, dtype) for dtype in dtypes]
        self._size = 0
        #: Whether the edges in the buffer have no cycle.
        self.is_forest = True
        #: The largest key that the buffer takes; None for no limit.
        self.limit: int | None = None
        #: The buffer has taken every edge up to this one; None if it has taken all edges.
        self.cut: Cut | None = None

    @property
    def columns(self) -> Columns:
        """The edges in the buffer."""
        return Columns(*(column[: self._size] for column in self._columns))

    def release(self) -> Columns:
        """Return the edges; the buffer must not be used again.

        They are copied if this frees more than half of the buffer, or if it has more edges than
        fragments, which is the most that a bound on memory counts for edges that wait.
        """
        length = len(self._columns[0])
        if self._size >= length // 2 and length <= self._num_fragments:
            return self.columns
        copies = self._allocate(self._size, self._columns)
        for copy, column in zip(copies, self.columns, strict=True):
            copy[:] = column
        return Columns(*copies)

    def append(self, selected: Selected) -> None:
        """Add the edges of a block; reduce the buffer first if it is full."""
        first, _, limit, key, columns = selected
        if not len(self._columns[0]):
            self._columns = self._allocate(self._capacity, columns)
        self._weight_dtype = check_dtype(first, columns.weight.dtype, self._weight_dtype)
        half = max(1, self._capacity // 2)
        for start in range(0, len(key), half):
            rows = slice(start, min(start + half, len(key)))
            if self._size + rows.stop - start > self._capacity:
                self._make_room(half)
            if self.limit is not None and self.limit < 0:
                return  # no key is negative, and unsigned keys do not compare with -1
            added: Iterable[NDArray[Any]] = [column[rows] for column in columns]
            if self.limit is not None and self.limit < limit:  # lowered since the block was read
                added = self.ops.compact(key[rows] <= self.limit, *added)
            self._write(self._size, added)
            self.is_forest = False

    def _make_room(self, count: int) -> None:
        """Reduce the edges of a full buffer to at most `count`."""
        if self._folds:
            self.reduce()
        if self._drops and self._size > count:
            self._keep_lightest(count)
            self._folds = False  # another forest would hardly be smaller

    def stop_at(self, cut: Cut, limit: int) -> None:
        """Take only edges up to a cut: from now on, those with keys up to `limit`."""
        self.cut, self.limit = cut, limit

    def reduce(self, *, above: int = 0) -> None:
        """Replace the edges by their forest if there are more than `above` of them."""
        if not self.is_forest and self._size > above:
            self._write(0, self._solver.forest(self.columns, self._num_fragments))
            self.is_forest = True

    def save(self, record: Record | None, num_read: int) -> None:
        """If there is a record, save the edges and the number of edges that the scan has read."""
        if record is not None:
            state = {"cut": self.cut, "limit": self.limit, "is_forest": self.is_forest}
            record.save(map(self.ops.to_host, self.columns), {"num_read": num_read, **state})

    def resume(self, record: Record | None) -> int:
        """Restore the edges from a record; return the number of edges that the scan had read."""
        found = record and record.load()
        if not found:
            return 0
        columns, state = found
        columns = tuple(map(self.ops.asarray, columns))
        self._columns = self._allocate(self._capacity, columns)
        self._write(0, columns)
        self.is_forest = state["is_forest"]
        if state["cut"] is not None:
            self.stop_at(Cut(*state["cut"]), state["limit"])
        return int(state["num_read"])

    def _allocate(self, size: int, like: Iterable[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return writable arrays of the same dtypes in the memory of the array module."""
        return [self.ops.empty(size, column.dtype) for column in like]

    def _keep_lightest(self, count: int) -> None:
        """Keep the `count` lightest edges; from now on, take only edges lighter than these."""
        # Ids are ascending, so of the edges with the last key, keep the first ones.
        ops, columns = self.ops, self.columns
        key = self._solver.keys(columns.weight)
        last = int(ops.partition(key, count - 1)[count - 1])
        kept = key < last
        ties = np.flatnonzero(key == last)[: count - ops.count(kept)]
        kept[ties] = True
        self.stop_at(Cut(last, int(columns.edge_id[int(ties[-1])])), last - 1)
        self._write(0, ops.compact(kept, *columns))

    def _write(self, start: int, columns: Iterable[NDArray[Any]]) -> None:
        """Write columns from row `start` on, and end the buffer after them."""
        added = Columns(*columns)
        self._size = start + len(added.edge_id)
        if self._size > self._capacity:  # NumPy would broadcast a single edge to no rows
            raise ValueError(f"{self._size} edges do not fit in a buffer of {self._capacity}")
        for own, column in zip(self._columns, added, strict=True):
            own[start : self._size] = column
