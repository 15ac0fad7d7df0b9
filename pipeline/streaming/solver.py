"""The solver of scans and merges: the forest of edges in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...primitives import Backend, array_module
from ...stages.fields import Columns
from ..run.execute import execute_here, forest_ids
from ..run.workers import worker_backend

if TYPE_CHECKING:
    from ..dataflow import Dataflow


class Cut(NamedTuple):
    """A position in the order of (weight, edge id): the last edge before it."""

    key: int
    edge_id: int


@dataclass(frozen=True)
class Solver:
    """Finds minimum forests within a task.

    Attributes
    ----------
    flow : Dataflow
        From ``columns`` to ``forest``; see `strategies.from_columns`.
    backend : Backend
    maximum : bool
    """

    flow: Dataflow
    backend: Backend
    maximum: bool

    @property
    def ops(self) -> Any:
        """The array module."""
        return array_module(self.backend)

    def here(self) -> Solver:
        """Return this solver with the backend of the worker that runs this task."""
        return replace(self, backend=worker_backend(self.backend))

    def keys(self, weight: Any) -> Any:
        """Return unsigned keys in the order of the weights, the same in every partition."""
        return self.ops.order_key(weight, signed=True, descending=self.maximum)

    def forest(self, columns: Columns, num_vertices: int) -> Columns:
        """Return the forest of these edges."""
        ops = self.ops
        u, v, weight = map(ops.asarray, columns[:3])
        # Positions replace edge ids: their order is the same, and they need fewer bits.
        position = ops.consecutive(0, len(u), dtype=ops.index_dtype(len(u)))
        fields = {
            "columns": Columns(u, v, weight, position),
            "num_vertices": num_vertices,
            "num_edges": len(u),
            "maximum": self.maximum,
            "weight_dtype": weight.dtype,
        }
        found = execute_here(self.flow, fields, self.backend)
        chosen = forest_ids(self.flow.name, found["forest"], 0, len(u))
        return Columns(*(ops.gather(column, chosen) for column in columns))

    def up_to(self, cut: Cut | None, columns: Columns) -> Columns:
        """Return the edges up to a cut; all edges if there is no cut."""
        if cut is None:
            return columns
        key = self.keys(columns.weight)
        kept = (key < cut.key) | ((key == cut.key) & (columns.edge_id <= cut.edge_id))
        return Columns(*self.ops.compact(kept, *columns))
