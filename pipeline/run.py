"""The run of a plan: its dataflow, its initial fields, its checkpoint, and the resulting fields."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import memory_errors
from ..graphs.source import EdgeSource
from ..primitives import Backend, reading_backend, transfer
from ..runtime.memory import keeping_blocks
from ..runtime.scratch import scratch_folder
from ..runtime.sizes import sizes
from ..stages.fields import rebuilt
from .catalogue.strategies import STRATEGIES, from_columns, strategy_flow
from .dataflow import Dataflow
from .execute import execute, forest_ids
from .partitions import fingerprint_input, split
from .planning.plan import Plan
from .planning.situation import Situation
from .report.report import Outcome
from .schedulers.scheduler import Scheduler
from .streaming.checkpoint import Record, check_shared, fingerprint, open_checkpoint


@dataclass(frozen=True)
class Run:
    """A run on the edges of `source` that follows `plan`."""

    situation: Situation
    plan: Plan
    source: EdgeSource
    scheduler: Scheduler

    @property
    def backend(self) -> Backend:
        """The array module of tasks, and the threads of each task."""
        return Backend(self.plan.backend, self.scheduler.task_threads)

    @property
    def task_backend(self) -> Backend:
        """The array module of the strategy's own tasks."""
        reads_blocks = STRATEGIES[self.plan.strategy].reader or self.plan.holds_forests
        return reading_backend(self.backend) if reads_blocks else self.backend

    @property
    def inner(self) -> Dataflow:
        """The dataflow that finds the forest of edges in memory, within a task."""
        return from_columns(self.situation.request.pipeline)

    @cached_property
    def flow(self) -> Dataflow:
        """The dataflow of the plan."""
        graph, strategy = self.situation.graph, self.plan.strategy
        flow = strategy_flow(
            strategy,
            self.situation.pipeline(strategy),
            holds_forests=self.plan.holds_forests,
            rescans=self.plan.rescans,
            with_weights=graph.num_chunks > 0,  # Dask would compute the chunks again
        )
        return replace(flow, result=("forest", "found")) if graph.is_read_once else flow

    def execute(self) -> Outcome:
        """Run; return the result fields and the report."""
        request, graph = self.situation.request, self.situation.graph
        source, records = self.source, self._open_records()
        with memory_errors(source.num_vertices, source.num_edges):
            # Blocks that are kept for the next run are in memory together with the result.
            with (
                self._bucket_folder(records) as folder,
                keeping_blocks(for_next=request.bound is None and graph.is_in_memory),
            ):
                shared = self._initial_fields() | self._reader(folder)
                fields, report = self._execute(shared, records)
            report.plan = self.plan
            return Outcome(self._results(fields), report)

    def _execute(self, shared: dict[str, Any], records: Callable[[str], Record] | None) -> Outcome:
        """Run the dataflow; partitions of several processes that exchange values are ranks."""
        flow, scheduler, backend = self.flow, self.scheduler, self.task_backend
        if scheduler.is_remote and STRATEGIES[self.plan.strategy].exchanges:
            from .ranks.executor import execute_on_ranks

            return execute_on_ranks(
                flow,
                self._partition_fields,
                shared,
                scheduler=scheduler,
                backend=backend,
                checkpoint=records,
            )
        return execute(
            flow,
            self._partition_fields(),
            shared,
            scheduler=scheduler,
            backend=backend,
            split_every=self.situation.request.split_every,
            checkpoint=records,
        )

    def _partition_fields(self) -> list[dict[str, Any]]:
        """Return the initial fields of each partition; send it to a worker if it is in memory."""
        parts = split(self.source, self.plan.partitions, self.scheduler)
        return [{"source": part, "rank": rank} for rank, part in enumerate(parts)]

    def _open_records(self) -> Callable[[str], Record] | None:
        """Open the records of tasks, if the run has a checkpoint."""
        request = self.situation.request
        if request.checkpoint is None:
            return None
        identity = {
            "input": fingerprint_input(self.source, self.scheduler),
            "num_vertices": self.source.num_vertices,
            "pipeline": [fingerprint(flow) for flow in (self.flow, self.inner)],
            "partitions": self.plan.partitions,
            "rescans": self.plan.rescans,
            "split_every": request.split_every,  # determines which forests a merge joins
            "maximum": request.maximum,
        }
        records = open_checkpoint(request.checkpoint, identity)
        self.scheduler.on_each_worker(check_shared, os.path.abspath(request.checkpoint))
        return records

    @contextlib.contextmanager
    def _bucket_folder(self, records: object) -> Iterator[str]:
        """Yield a new folder for a sweep without a checkpoint; for other runs, an empty string."""
        if "sweeper" not in self.flow.fields_read or records is not None:
            yield ""
            return
        with scratch_folder() as folder:
            yield folder

    def _initial_fields(self) -> dict[str, Any]:
        """Return the fields of the whole graph that exist before the first step."""
        return {
            "num_vertices": self.source.num_vertices or 0,
            "num_edges": self.source.num_edges,
            "maximum": self.situation.request.maximum,
            "weight_dtype": self.source.weight_dtype,
            "unsigned": self.source.unsigned,
            "first_edge": self.source.first_id,
            "num_light": self.plan.num_light,
            "few": sizes().joined_by_one_rank,
        }

    def _reader(self, folder: str) -> dict[str, Any]:
        """Return the field with which the stages of a strategy read the graph, if there is one."""
        if self.flow.fields_read.isdisjoint(("scanner", "tile_joiner", "sweeper")):
            return {}
        from .streaming.scan import Scanner
        from .streaming.solver import Solver
        from .streaming.sweep import Sweeper
        from .streaming.tiles import TileJoiner

        source, capacity, fields = self.source, self.plan.capacity, self.flow.fields_read
        num_vertices, num_edges, first = source.num_vertices or 0, source.num_edges, source.first_id
        solver = Solver(self.inner, self.backend, self.situation.request.maximum)
        if "scanner" in fields:
            scans = 1 if self.plan.estimate is None else self.plan.estimate.scans
            scanner = Scanner(
                solver, capacity, self.plan.rescans, num_vertices, num_edges, first, scans
            )
            return {"scanner": scanner}
        if "tile_joiner" in fields:
            return {"tile_joiner": TileJoiner(solver, first, num_edges)}
        dtype: Any = source.weight_dtype  # the source is measured
        return {
            "sweeper": Sweeper(solver, capacity, num_vertices, num_edges or 0, first, dtype, folder)
        }

    def _results(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a run as copies, and its forest as sorted edge ids.

        An array of the pool would keep a whole block from reuse.
        """
        source = self.source
        forest, first, count = fields.pop("forest", None), source.first_id, source.num_edges
        results = {name: self._copy(value) for name, value in fields.items()}
        if forest is not None:
            edge_ids = transfer(forest, self.task_backend, on_device=source.is_on_device)
            stop = None if count is None else first + count
            results["forest"] = forest_ids(self.plan.algorithm, edge_ids, first, stop)
        return results

    def _copy(self, value: Any) -> Any:
        """Return a copy of a field in the memory of the graph, host or device."""
        if isinstance(value, tuple):
            return rebuilt(value, map(self._copy, value))
        if isinstance(value, type) or not getattr(value, "ndim", 0):
            return value
        array = transfer(value, self.task_backend, on_device=self.source.is_on_device)
        return np.array(array) if isinstance(array, np.ndarray) else array
