"""One run from end to end: open the graph, plan, split it into partitions, execute."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..graphs.edge_list import EdgeList
from ..graphs.open import open_graph
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module, resolve_backend
from ..progress import set_listener
from ..runtime.memory import keeping_blocks
from ..runtime.native import COMPILED_FROM
from ..runtime.team import kernel_threads, sharing
from .options import check_count, choose_backend
from .plan import Graph, Request, Where, plan
from .run.execute import execute, forest_ids
from .run.partitions import as_field, num_chunks, placed, sized, split
from .run.schedulers import Inline
from .strategies import HOLD, LOAD, SCANNING, from_columns, from_partitions
from .streaming.bounds import parse_bytes
from .streaming.checkpoint import fingerprint, open_checkpoint
from .streaming.solver import Solver

if TYPE_CHECKING:
    import os

    from ..progress import Listener
    from .dataflow import Dataflow
    from .decided import Plan
    from .report.report import Report
    from .run.schedulers import Scheduler

#: The fields of a run by the time that a pipeline's own steps begin.
OF_EVERY_RUN = frozenset(name for stage in (*LOAD, *HOLD) for name in (*stage.reads, *stage.writes))


class Outcome(NamedTuple):
    """What a run of a pipeline gives.

    Attributes
    ----------
    fields : dict
        The fields asked for, by name.
    report : Report
    """

    fields: dict[str, Any]
    report: Report


@dataclass(frozen=True)
class Run:
    """A run that is over, with what it ran on.

    Attributes
    ----------
    fields : dict
        Its result; of a graph that is read only once also ``found``, the forest's columns.
    report : Report
    graph : EdgeList or EdgeSource
    """

    fields: dict[str, Any]
    report: Report
    graph: EdgeList | EdgeSource


def run(pipeline: Dataflow, graph: Any, **options: Any) -> Outcome:
    """Run a pipeline on a graph; see `Pipeline.run`."""
    done = run_on(pipeline, graph, **options)
    return Outcome({name: done.fields[name] for name in pipeline.result}, done.report)


def run_on(
    pipeline: Dataflow,
    graph: Any,
    *,
    num_vertices: int | None = None,
    weight: str | None = "weight",
    maximum: bool = False,
    backend: str = "auto",
    threads: int | None = None,
    scheduler: Any = "inline",
    partitions: int | None = None,
    strategy: str = "auto",
    split_every: int = 4,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | Listener = True,
    for_scans: Dataflow | None = None,
) -> Run:
    """Run a pipeline on whatever is a graph; the options are `minimum_spanning_forest`'s.

    `for_scans` takes the pipeline's place for the edges that a scan holds, few for each vertex; it
    must find the same forest.
    """
    check_count("threads", threads, 1)
    check_count("partitions", partitions, 1)
    check_count("split_every", split_every, 2, optional=False)
    bound = None if memory is None else parse_bytes(memory)
    pipeline.check()
    resolve_backend(backend, 0)  # a wrong name is refused before the graph is read
    is_streamed = memory is not None or strategy not in ("auto", "whole") or scheduler != "inline"
    with (
        set_listener(progress),
        _opened(scheduler, threads) as where,
        # Tasks that run side by side have a processor each.
        sharing(task_threads := (threads or kernel_threads()) if where.eager else 1),
    ):
        opened = open_graph(
            graph, num_vertices, weight, is_streamed=is_streamed, is_bounded=memory is not None
        )
        source = opened if isinstance(opened, EdgeSource) else EdgeSource.of(opened)
        source = sized(source, where)
        on_device = source.is_on_device
        num_edges = COMPILED_FROM if source.num_edges is None else source.num_edges
        name = choose_backend(backend, num_edges, on_device=on_device)
        using = Backend(name, task_threads)
        solver = Solver(from_columns(for_scans or pipeline), using, bool(maximum))
        request = Request(
            pipeline.name,
            solver.flow.name,
            using.name,
            strategy,
            partitions,
            split_every,
            bound,
            is_own=for_scans is None,
            gives_fields=pipeline.result != ("forest",),
            keeps_checkpoint=checkpoint is not None,
            device_memory=array_module(using).device_memory() if where.eager else None,
        )
        # Looking at its first chunk would take that from a graph that is read only once.
        for_device = request.device_memory is not None and not source.is_read_once
        facts = Graph.of(source, num_chunks(source), for_device=for_device)
        decided = plan(request, facts, Where.of(where, task_threads))
        flow = _flow(decided, pipeline, is_read_once=source.is_read_once)
        records = None
        if checkpoint is not None:
            identity = {
                "input": source.fingerprint(),
                "num_vertices": source.num_vertices,
                "pipeline": [fingerprint(flow), fingerprint(solver.flow)],
                "partitions": decided.partitions,
                "split_every": split_every,  # which forests a merge joins
                "maximum": bool(maximum),
            }
            records = open_checkpoint(checkpoint, identity)
        keeping = keeping_blocks() if decided.strategy in SCANNING else contextlib.nullcontext()
        with keeping:
            fields, report = execute(
                flow,
                [
                    {"source": as_field(part, where)}
                    for part in split(source, decided.partitions, where)
                ],
                _shared(source, decided, solver),
                scheduler=where,
                backend=using,
                split_every=split_every,
                checkpoint=records,
            )
            # Copies, one of each: arrays of the pool would keep its memory from others.
            first, count = source.first_id, source.num_edges
            stop = None if count is None else first + count
            fields = {
                name: forest_ids(
                    pipeline.name, placed(value, using, on_device=on_device), first, stop
                )
                if name == "forest"
                else _own(value, using, on_device)
                for name, value in fields.items()
            }
        report.plan = decided
        return Run(fields, report, opened if isinstance(opened, EdgeList) else source)


def _opened(choice: Any, threads: int | None) -> contextlib.AbstractContextManager[Scheduler]:
    """Open the scheduler that a caller chose; Dask is imported only for its own."""
    if isinstance(choice, Inline) or (isinstance(choice, str) and choice == "inline"):
        return contextlib.nullcontext(Inline() if isinstance(choice, str) else choice)
    from .run.opening import open_scheduler

    return open_scheduler(choice, threads)


def _flow(decided: Plan, pipeline: Dataflow, *, is_read_once: bool) -> Dataflow:
    """Return the steps of a run: a strategy, and in it the pipeline's."""
    if decided.strategy in SCANNING:
        flow = SCANNING[decided.strategy]
        return replace(flow, result=("forest", "found")) if is_read_once else flow
    first = HOLD if decided.holds_forests else LOAD
    return from_partitions(decided.strategy, pipeline, *first)


def _shared(source: EdgeSource, decided: Plan, solver: Solver) -> dict[str, Any]:
    """Return the fields that every strategy starts from, beside its partitions."""
    return {
        "num_vertices": source.num_vertices or 0,
        "num_edges": source.num_edges,
        "maximum": solver.maximum,
        "weight_dtype": source.weight_dtype,
        "solver": solver,
        "capacity": decided.capacity,
        "several_scans": decided.strategy == "two-scan",
        "first_edge": source.first_id,
        "num_light": decided.num_light,
        "num_partitions": decided.partitions,
    }


def _own(value: Any, backend: Backend, on_device: bool) -> Any:
    """Return a field where the graph lies, in memory of its own."""
    if isinstance(value, tuple):
        items = (_own(item, backend, on_device) for item in value)
        return getattr(type(value), "_make", type(value))(items)
    if not getattr(value, "ndim", 0):
        return value
    found = placed(value, backend, on_device=on_device)
    return np.array(found) if isinstance(found, np.ndarray) and not on_device else found
