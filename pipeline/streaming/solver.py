"""The solver of scans and merges: it runs an algorithm inside a task, on edges in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from ...primitives import Backend, array_module, reading_backend
from ...progress import set_listener
from ...stages.fields import Columns, Cut
from ..dataflow import Dataflow
from ..execute import execute, forest_ids
from ..schedulers.scheduler import Inline, worker_backend

#: Edges per vertex from which the solver searches for the vertices that the edges touch.
_DENSE = 2


@dataclass(frozen=True)
class Solver:
    """Finds minimum forests inside a task."""

    #: From ``columns`` to ``forest``; see `strategies.from_columns`.
    flow: Dataflow
    #: That of the dataflow. Blocks of a graph may be on another one: `reading_backend`.
    backend: Backend
    maximum: bool

    @property
    def ops(self) -> Any:
        """The array module."""
        return array_module(reading_backend(self.backend))

    @property
    def thread_ops(self) -> Any:
        """The array module of one thread, for threads that work on different blocks."""
        return array_module(reading_backend(self.backend)._replace(threads=1))

    def on_this_worker(self) -> Solver:
        """Return this solver with the backend of the worker that runs this task."""
        return replace(self, backend=worker_backend(self.backend))

    def keys(self, weight: Any) -> Any:
        """Return unsigned keys in the order of the weights, the same in every partition."""
        return self.ops.order_key(weight, signed=True, descending=self.maximum)

    def forest(self, columns: Columns, num_vertices: int) -> Columns:
        """Return the minimum forest of some edges; the ends in `columns` may be overwritten."""
        ops, size = self.ops, len(columns.u)
        columns = Columns(*map(ops.asarray, columns))
        touched, count = self._number_touched(columns, num_vertices)
        # Positions replace edge ids: their order is the same, and they need fewer bits.
        position = ops.consecutive(0, size, dtype=ops.index_dtype(size))
        shared = {
            "num_vertices": count,
            "num_edges": size,
            "maximum": self.maximum,
            "weight_dtype": columns.weight.dtype,
            "unsigned": False,
        }
        with set_listener(False):  # the task reports progress
            fields, _ = execute(
                self.flow,
                [{"columns": columns._replace(edge_id=position)}],
                shared,
                scheduler=Inline(self.backend.threads),
                backend=self.backend,
            )
        forest = fields["forest"]
        if ops is not (module := array_module(self.backend)):
            forest = module.to_host(forest)
        chosen = forest_ids(self.flow.name, forest, 0, size)
        u, v, *others = (ops.gather(column, chosen) for column in columns)
        if touched is not None:
            u, v = ops.gather(touched, u), ops.gather(touched, v)
        return Columns(u, v, *others)

    def _number_touched(self, columns: Columns, size: int) -> tuple[NDArray[Any] | None, int]:
        """Renumber the touched vertices consecutively, if they are at most half of `size` vertices.

        Return the vertex of each number, or None if nothing was renumbered, and their count.
        """
        ops, (u, v, *_) = self.ops, columns
        if len(u) < _DENSE * size:
            return None, size
        is_touched = ops.scatter(u, True, size, False, dtype=bool)
        is_touched |= ops.scatter(v, True, size, False, dtype=bool)
        count = ops.count(is_touched)
        if 2 * count > size:
            return None, size
        number = ops.scan(is_touched, dtype=u.dtype, exclusive=True)
        for ends in (u, v):
            ends[:] = ops.gather(number, ends)
        return ops.compact(is_touched, ops.arange(size, dtype=u.dtype))[0], count

    def up_to(self, cut: Cut, columns: Columns) -> Columns:
        """Return the edges up to a cut, in the order of (weight, edge id)."""
        key = self.keys(columns.weight)
        kept = (key < cut.key) | ((key == cut.key) & (columns.edge_id <= cut.edge_id))
        return Columns(*self.ops.compact(kept, *columns))
