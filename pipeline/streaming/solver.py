"""The forest of some edges at hand: what scans and merges are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...primitives import Backend, array_module
from ...progress import set_listener
from ...stages.fields import Columns
from ..result import forest_ids
from ..run.execute import execute
from ..run.loading import from_columns
from ..run.schedulers import Inline
from ..run.workers import worker_backend

if TYPE_CHECKING:
    from ..dataflow import Dataflow


class Cut(NamedTuple):
    """A place in the order of (weight, edge id): the last edge before it."""

    key: int
    edge_id: int


@dataclass(frozen=True)
class Solver:
    """What finds forests: a pipeline that gives minimum ones, and where it runs."""

    pipeline: Dataflow
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

    def forest(self, columns: Columns, num_vertices: int) -> tuple[Columns, int]:
        """Return the forest of these edges, and the bytes that were moved to find it."""
        ops = self.ops
        u, v, weight = map(ops.asarray, columns[:3])
        # Positions stand for edge ids: they compare alike and take fewer bits.
        position = ops.consecutive(0, len(u), dtype=ops.index_dtype(len(u)))
        shared = {
            "num_vertices": num_vertices,
            "num_edges": len(u),
            "maximum": self.maximum,
            "weight_dtype": weight.dtype,
        }
        with set_listener(False):  # the scan reports its own progress
            found, report = execute(
                from_columns(self.pipeline),
                [{"columns": Columns(u, v, weight, position)}],
                shared,
                scheduler=Inline(),
                backend=self.backend,
            )
        chosen = forest_ids(self.pipeline.name, found["forest"], 0, len(u))
        forest = Columns(*(ops.gather(column, chosen) for column in columns))
        return forest, sum(call.work.bytes for call in report.calls)

    def up_to(self, cut: Cut | None, columns: Columns) -> Columns:
        """Return the edges that do not come after a cut."""
        if cut is None:
            return columns
        key = self.keys(columns.weight)
        kept = (key < cut.key) | ((key == cut.key) & (columns.edge_id <= cut.edge_id))
        return Columns(*self.ops.compact(kept, *columns))
