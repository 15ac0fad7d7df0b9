"""A run from end to end: open the graph, plan, split it into partitions, execute."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MemoryBoundError, OptionError, memory_errors
from ..graphs.edge_list import EdgeList
from ..graphs.open import open_graph
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module, gpu_pays, placed, resolve_backend
from ..progress import Listener, set_listener
from ..runtime.memory import keeping_blocks
from ..runtime.team import sharing
from ..stages.fields import rebuilt
from .options import check_count, check_flag, parse_bytes
from .plan import Candidates, Request, plan
from .points import points_of, run_on_points
from .run.execute import execute, forest_ids
from .run.partitions import fingerprint_input, num_chunks, sized, split
from .run.schedulers import Inline, Scheduler
from .strategies import from_columns, strategy_flow
from .streaming.bounds import Graph, check_reading
from .streaming.checkpoint import fingerprint, open_checkpoint
from .streaming.solver import Solver

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from .dataflow import Dataflow
    from .report.report import Plan, Report


def run_on(
    candidates: Candidates,
    graph: Any,
    *,
    num_vertices: int | None = None,
    weight: str | Callable[..., Any] | None = "weight",
    ends: Sequence[str] | None = None,
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
) -> tuple[dict[str, Any], Report, EdgeList | EdgeSource]:
    """Run a pipeline on a graph; return the result fields, the report and the opened graph.

    For the options see `minimum_spanning_forest`. If the graph can be read only once, the result
    also has ``found``, the columns of the forest.
    """
    check_flag("maximum", maximum)
    check_count("threads", threads, 1)
    check_count("partitions", partitions, 1)
    check_count("split_every", split_every, 2, optional=False)
    bound = None if memory is None else parse_bytes(memory)
    candidates.pipeline.check()
    resolve_backend(backend, 0)  # check the name before the graph is read
    with (
        set_listener(progress),
        _opened(scheduler, threads) as where,
        sharing(where.task_threads if where.eager else 1),  # elsewhere, tasks run in parallel
    ):
        opened = open_graph(
            graph,
            num_vertices,
            weight,
            ends=ends,
            memory=bound,
            checkpoint=checkpoint,
            is_streamed=streams(memory, strategy, scheduler),
            is_bounded=bound is not None,
        )
        points = points_of(opened)
        if points is not None and (flow := candidates.for_points(points)) is not None:
            refused = {
                "maximum": maximum,
                "partitions": partitions,
                "strategy": strategy not in ("auto", "whole"),
                "checkpoint": checkpoint,
            }
            source: Any = opened
            return run_on_points(flow, source, backend, where, memory=bound, **refused)
        if candidates.pipeline.reads("points"):
            name = candidates.pipeline.name
            raise OptionError(f"algorithm {name!r} needs the points of mstflow.points")
        numbered = opened.nbytes if ends is not None and isinstance(opened, EdgeList) else 0
        with _beside(numbered, bound) as free:
            source = _measured(opened, where, free, may_check=num_vertices is None)
            is_whole = partitions is None and not streams(memory, strategy, scheduler)
            if backend == "auto" and is_whole and _suits_gpu(source, candidates):
                backend = "cupy"
            facts, device_memory = _facts(source, backend, where)
            request = Request(
                candidates,
                backend,
                strategy,
                partitions,
                split_every,
                free,
                keeps_checkpoint=checkpoint is not None,
                on_device=source.is_on_device,
                device_memory=device_memory,
            )
            decided = plan(request, facts, where)
        using = Backend(decided.backend, where.task_threads)
        flow = _flow(decided, candidates, source, facts.num_edges)
        solver = Solver(from_columns(candidates.pipeline), using, bool(maximum))
        records = None
        if checkpoint is not None:
            identity = {
                "input": fingerprint_input(source, where),
                "num_vertices": source.num_vertices,
                "pipeline": [fingerprint(flow), fingerprint(solver.flow)],
                "partitions": decided.partitions,
                "split_every": split_every,  # determines which forests a merge joins
                "maximum": bool(maximum),
            }
            records = open_checkpoint(checkpoint, identity)
        with memory_errors(source.num_vertices, source.num_edges):
            # Blocks that are kept for the next run are in memory together with the result.
            with keeping_blocks(for_next=bound is None and facts.is_in_memory):
                fields, report = execute(
                    flow,
                    [{"source": part} for part in split(source, decided.partitions, where)],
                    _initial_fields(source, solver, decided),
                    scheduler=where,
                    backend=using,
                    split_every=split_every,
                    checkpoint=records,
                )
            fields = _results(fields, decided.algorithm, using, source)
        report.plan = decided
        is_list = isinstance(opened, EdgeList)
        return fields, report, opened if is_list else replace(source, names=opened.names)


def streams(memory: Any, strategy: str, scheduler: Any) -> bool:
    """Return whether a run with these options streams files, instead of loading them."""
    return memory is not None or strategy not in ("auto", "whole") or scheduler != "inline"


def _opened(choice: Any, threads: int | None) -> contextlib.AbstractContextManager[Scheduler]:
    """Open the scheduler that a caller chose; import Dask only if the scheduler needs it."""
    if isinstance(choice, Inline) or (isinstance(choice, str) and choice == "inline"):
        return contextlib.nullcontext(Inline(threads) if isinstance(choice, str) else choice)
    from .run.opening import open_scheduler

    return open_scheduler(choice, threads)


@contextlib.contextmanager
def _beside(numbered: int, bound: int | None) -> Iterator[int | None]:
    """Yield the bound without the bytes of a graph that this call numbered; errors add them."""
    try:
        yield bound if bound is None else max(1, bound - numbered)
    except MemoryBoundError as error:
        if not numbered or bound is None:
            raise
        raise error.beside(bound, numbered, "the numbered graph") from error


def _measured(
    opened: EdgeList | EdgeSource, where: Scheduler, bound: int | None, *, may_check: bool
) -> EdgeSource:
    """Return an opened graph as a source with its sizes; check the memory for it."""
    source = opened if isinstance(opened, EdgeSource) else EdgeSource.of(opened)
    if bound is not None and not source.is_measured:  # otherwise the plan checks more
        check_reading(source, bound)
    source = source if source.names is None else replace(source, names=None)  # tasks need none
    source = sized(source, where)
    if bound is None and may_check and not source.is_on_device:
        source.check_vertices()
    return source


def _suits_gpu(source: EdgeSource, candidates: Candidates) -> bool:
    """Return whether a GPU solves a graph in host memory faster; only the default was measured."""
    is_default = candidates.on_numpy is not None
    return is_default and source.is_in_memory and gpu_pays(source.num_edges or 0)


def _facts(source: EdgeSource, backend: str, where: Scheduler) -> tuple[Graph, int | None]:
    """Return the properties of a graph, and the free bytes of the device if tasks use one."""
    chunks = num_chunks(source)
    if not where.eager:
        return Graph.of(source, chunks), None
    num_edges = sys.maxsize if source.num_edges is None else source.num_edges
    ops = array_module(resolve_backend(backend, num_edges, on_device=source.is_on_device))
    free = ops.device_memory(0)
    # Reading the first chunk of an iterator would consume it.
    graph = Graph.of(source, chunks, for_device=free is not None and not source.is_read_once)
    if free is not None and free < (graph.device_bytes or sys.maxsize):
        free = ops.device_memory()
    return graph, free


def _flow(decided: Plan, candidates: Candidates, source: EdgeSource, num_edges: int) -> Dataflow:
    """Return the dataflow of a plan."""
    pipeline = candidates.in_memory(decided.backend, num_edges)
    flow = strategy_flow(decided.strategy, pipeline, holds_forests=decided.holds_forests)
    return replace(flow, result=("forest", "found")) if source.is_read_once else flow


def _initial_fields(source: EdgeSource, solver: Solver, decided: Plan) -> dict[str, Any]:
    """Return the fields of the whole graph that exist before the first step of any strategy."""
    return {
        "num_vertices": source.num_vertices or 0,
        "num_edges": source.num_edges,
        "maximum": solver.maximum,
        "weight_dtype": source.weight_dtype,
        "unsigned": source.unsigned,
        "solver": solver,
        "capacity": decided.capacity,
        "first_edge": source.first_id,
        "num_light": decided.num_light,
        "num_partitions": decided.partitions,
    }


def _results(
    fields: dict[str, Any], pipeline: str, backend: Backend, source: EdgeSource
) -> dict[str, Any]:
    """Return the fields of a run as copies, and its forest as sorted edge ids.

    An array of the pool would keep a whole block from reuse.
    """
    forest, first, count = fields.pop("forest", None), source.first_id, source.num_edges
    found = {name: _own(value, backend, source) for name, value in fields.items()}
    if forest is not None:
        edge_ids = placed(forest, backend, on_device=source.is_on_device)
        stop = None if count is None else first + count
        found["forest"] = forest_ids(pipeline, edge_ids, first, stop)
    return found


def _own(value: Any, backend: Backend, source: EdgeSource) -> Any:
    """Return a copy of a field in the memory of the graph, host or device."""
    if isinstance(value, tuple):
        return rebuilt(value, (_own(item, backend, source) for item in value))
    if isinstance(value, type) or not getattr(value, "ndim", 0):
        return value
    found = placed(value, backend, on_device=source.is_on_device)
    return np.array(found) if isinstance(found, np.ndarray) else found
