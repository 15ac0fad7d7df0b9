"""The edges that a scan holds: up to a number, in the order of their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...graphs.source import check_dtype
from ...stages.fields import Columns
from .solver import Cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from .solver import Solver

#: From so many edges for each fragment on it is told which fragments they touch.
_MANY = 2


class Selected(NamedTuple):
    """What is left of the `seen` edges from `first` on: those with keys up to `limit`."""

    first: int
    seen: int
    limit: int
    key: NDArray[Any]
    columns: Columns


class EdgeBuffer:
    """Holds up to `capacity` edges; makes room in one of two ways.

    Parameters
    ----------
    solver : Solver
    num_fragments : int
        What the ends of edges are below.
    capacity : int
    weight_dtype : dtype, optional
        That of the first edges if not given.
    folds : bool
        Whether a full buffer is replaced by its forest, which must then be half of it at most;
        otherwise the heavier half goes, and with it all that is heavier still.

    Attributes
    ----------
    ops : array module
        Of the columns.
    limit : int or None
        The largest key that is still taken; None for all.
    cut : Cut or None
        Up to where all edges that were offered have been taken; None for all.
    """

    def __init__(
        self,
        solver: Solver,
        num_fragments: int,
        capacity: int,
        weight_dtype: np.dtype[Any] | None,
        *,
        folds: bool,
    ) -> None:
        self.ops, self._solver, self._num_fragments = solver.ops, solver, num_fragments
        self._capacity, self._weight_dtype, self._folds = capacity, weight_dtype, folds
        index = self.ops.index_dtype(num_fragments)
        dtypes = index, index, weight_dtype or np.int64, np.int64
        self._columns = self._allocated(0, dtypes)
        self._size = 0
        self.is_forest = True
        self.limit: int | None = None
        self.cut: Cut | None = None

    @property
    def columns(self) -> Columns:
        """What it holds."""
        return Columns(*(column[: self._size] for column in self._columns))

    def release(self) -> tuple[NDArray[Any], ...]:
        """Return what it holds, in memory that has no room for more; it is not used again."""
        if self._size == len(self._columns[0]):
            return tuple(self._columns)
        copies = self._allocated(self._size, _dtypes(self._columns))
        for copy, column in zip(copies, self.columns, strict=True):
            copy[:] = column
        return tuple(copies)

    def append(self, piece: Selected) -> None:
        """Add the edges of a block, after making room for them if need be.

        Raises
        ------
        GraphError
            If their weights have another dtype than those before. Names the edge.
        """
        if not len(self._columns[0]):
            self._columns = self._allocated(self._capacity, _dtypes(piece.columns))
        self._weight_dtype = check_dtype(piece.first, piece.columns[2].dtype, self._weight_dtype)
        half = max(1, self._capacity // 2)
        for start in range(0, len(piece.key), half):
            rows = slice(start, min(start + half, len(piece.key)))
            if self._size + rows.stop - start > self._capacity:
                if self._folds:
                    self.reduce()
                else:
                    self._keep_lightest(half)
            if self.limit is not None and self.limit < 0:
                return  # no key is that small, and no array compares with what it cannot hold
            columns: Iterable[NDArray[Any]] = [column[rows] for column in piece.columns]
            if self.limit is not None and self.limit < piece.limit:  # it was lowered meanwhile
                columns = self.ops.compact(piece.key[rows] <= self.limit, *columns)
            self._place(self._size, columns)
            self.is_forest = False

    def stop_at(self, cut: Cut, limit: int) -> None:
        """Take only edges up to a cut, which from now on are those with keys up to `limit`."""
        self.cut, self.limit = cut, limit

    def reduce(self, *, above: int = 0) -> None:
        """Put the forest of what it holds in its place, if that is more than so many edges."""
        if self.is_forest or self._size <= above:
            return
        touched, count = self._number_touched()
        u, v, *rest = self._solver.forest(self.columns, count)
        if touched is not None:
            u, v = (self.ops.gather(touched, ends) for ends in (u, v))
        if self._capacity:
            self._place(0, (u, v, *rest))
        else:  # no more will come
            self._columns, self._size = [u, v, *rest], len(u)
        self.is_forest = True

    def restore(self, columns: Iterable[Any], *, is_forest: bool) -> None:
        """Hold these edges, as it did before. Arrays that fill it are taken over."""
        self._columns = list(map(self.ops.asarray, columns))
        self._size = len(self._columns[0])
        if self._size < self._capacity:
            columns = tuple(self._columns)
            self._columns = self._allocated(self._capacity, _dtypes(columns))
            self._place(0, columns)
        self.is_forest = is_forest

    def _allocated(self, size: int, dtypes: Iterable[Any]) -> list[NDArray[Any]]:
        """Return arrays that it may write to, where the array module has its own."""
        return [self.ops.empty(size, dtype) for dtype in dtypes]

    def _number_touched(self) -> tuple[NDArray[Any] | None, int]:
        """Renumber the ends over the fragments that edges touch, if those are at most half of all.

        Returns the fragment of each number, or None, and how many numbers there are.
        """
        ops, size = self.ops, self._num_fragments
        u, v = self.columns[:2]
        if len(u) < _MANY * size:
            return None, size
        is_touched = ops.scatter(u, True, size, False, dtype=np.bool_)
        is_touched |= ops.scatter(v, True, size, False, dtype=np.bool_)
        count = ops.count(is_touched)
        if 2 * count > size:
            return None, size
        number = ops.scan(is_touched, dtype=u.dtype, exclusive=True)
        for ends in (u, v):
            ends[:] = ops.gather(number, ends)
        return ops.compact(is_touched, ops.arange(size, dtype=u.dtype))[0], count

    def _keep_lightest(self, count: int) -> None:
        """Keep the `count` lightest edges, and take only lighter ones from now on."""
        # Ids ascend, so of the edges with the last key the first are kept: no later one is.
        ops, key = self.ops, self._solver.keys(self.columns[2])
        last = int(ops.partition(key, count - 1)[count - 1])
        kept = key < last
        ties = np.flatnonzero(key == last)[: count - ops.count(kept)]
        kept[ties] = True
        self.stop_at(Cut(last, int(self.columns[3][int(ties[-1])])), last - 1)
        self._place(0, ops.compact(kept, *self.columns))

    def _place(self, start: int, columns: Iterable[NDArray[Any]]) -> None:
        """Write columns from a row on; what was behind it goes."""
        for held, column in zip(self._columns, columns, strict=True):
            self._size = start + len(column)
            held[start : self._size] = column


def _dtypes(columns: Iterable[NDArray[Any]]) -> list[np.dtype[Any]]:
    return [column.dtype for column in columns]
