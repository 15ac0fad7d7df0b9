"""A run from end to end: open the graph, plan, split it into partitions, execute."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MemoryBoundError, memory_errors
from ..graphs.edge_list import EdgeList
from ..graphs.open import open_graph
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module, placed, resolve_backend, suggest_gpu
from ..progress import Listener, set_listener
from ..runtime.host import show_bytes
from ..runtime.memory import keeping_blocks
from ..runtime.native import COMPILED_FROM
from ..runtime.team import sharing
from ..stages.fields import rebuilt
from .options import check_count, check_flag, parse_bytes
from .plan import FEW, Request, plan
from .run.execute import execute, forest_ids
from .run.partitions import fingerprint_input, num_chunks, sized, split
from .run.schedulers import Inline, Scheduler
from .strategies import from_columns, strategy_flow
from .streaming.bounds import Graph, check_reading
from .streaming.checkpoint import fingerprint, open_checkpoint
from .streaming.solver import Solver

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from .dataflow import Dataflow
    from .report.report import Plan, Report


def run_on(
    pipeline: Dataflow,
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
    for_scans: Dataflow | None = None,
    for_few: Dataflow | None = None,
) -> tuple[dict[str, Any], Report, EdgeList | EdgeSource]:
    """Run a pipeline on a graph; return the result fields, the report and the opened graph.

    For the options see `minimum_spanning_forest`. If the graph can be read only once, the result
    also has ``found``, the columns of the forest.

    Two pipelines that find the same forest may replace it: `for_scans` on the edges in the buffer
    of a scan, which are few per vertex, and `for_few` on graphs with few edges.
    """
    check_flag("maximum", maximum)
    check_count("threads", threads, 1)
    check_count("partitions", partitions, 1)
    check_count("split_every", split_every, 2, optional=False)
    bound = None if memory is None else parse_bytes(memory)
    pipeline.check()
    resolve_backend(backend, 0)  # check the name before the graph is read
    is_streamed = memory is not None or strategy not in ("auto", "whole") or scheduler != "inline"
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
            is_streamed=is_streamed,
            is_bounded=bound is not None,
        )
        numbered = 0  # bytes of names and numbers that this call made
        if bound is not None and ends is not None and isinstance(opened, EdgeList):
            numbered, bound = opened.nbytes, max(1, bound - opened.nbytes)
        source = opened if isinstance(opened, EdgeSource) else EdgeSource.of(opened)
        if bound is not None:
            check_reading(source, bound)
        source = source if source.names is None else replace(source, names=None)  # tasks need none
        source = sized(source, where)
        if bound is None and num_vertices is None and not source.is_on_device:
            source.check_vertices()
        num_edges = COMPILED_FROM if source.num_edges is None else source.num_edges
        choose = partial(resolve_backend, backend, num_edges, on_device=source.is_on_device)
        using = Backend(choose(), where.task_threads)
        solver = Solver(from_columns(for_scans or pipeline), using, bool(maximum))
        few = for_few if num_edges <= FEW else None
        device_memory = array_module(using).device_memory(0) if where.eager else None
        # Reading the first chunk of an iterator would consume it.
        for_device = device_memory is not None and not source.is_read_once
        facts = Graph.of(source, num_chunks(source), for_device=for_device)
        if device_memory is not None and device_memory < (facts.device_bytes or sys.maxsize):
            device_memory = array_module(using).device_memory()
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
            device_memory=device_memory,
            for_few=None if few is None else (few.name, choose(are_few=True)),
        )
        decided = _plan_beside(numbered, request, facts, where)
        advice = suggest_gpu(num_edges) if backend == "auto" and source.is_in_memory else ""
        if advice and not source.is_on_device:
            decided = replace(decided, advice=advice)
        if few is not None and decided.algorithm == few.name:
            pipeline = few
        using = using._replace(name=decided.backend)
        flow = strategy_flow(decided.strategy, pipeline, holds_forests=decided.holds_forests)
        if source.is_read_once:
            flow = replace(flow, result=("forest", "found"))
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
            with keeping_blocks():
                fields, report = execute(
                    flow,
                    [{"source": part} for part in split(source, decided.partitions, where)],
                    _initial_fields(source, solver, decided),
                    scheduler=where,
                    backend=using,
                    split_every=split_every,
                    checkpoint=records,
                )
            fields = _results(fields, pipeline.name, using, source)
        report.plan = decided
        is_list = isinstance(opened, EdgeList)
        return fields, report, opened if is_list else replace(source, names=opened.names)


def _opened(choice: Any, threads: int | None) -> contextlib.AbstractContextManager[Scheduler]:
    """Open the scheduler that a caller chose; import Dask only if the scheduler needs it."""
    if isinstance(choice, Inline) or (isinstance(choice, str) and choice == "inline"):
        return contextlib.nullcontext(Inline(threads) if isinstance(choice, str) else choice)
    from .run.opening import open_scheduler

    return open_scheduler(choice, threads)


def _plan_beside(numbered: int, request: Request, facts: Graph, where: Scheduler) -> Plan:
    """Plan a run beside a graph that this call numbered; errors state the memory of both."""
    try:
        return plan(request, facts, where)
    except MemoryBoundError as error:
        if not numbered:
            raise
        beside = f"beside the numbered graph, which takes {show_bytes(numbered)}"
        raise MemoryBoundError(f"{beside}: {error}", error.needed + numbered) from error


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
    if not getattr(value, "ndim", 0):
        return value
    found = placed(value, backend, on_device=source.is_on_device)
    return np.array(found) if isinstance(found, np.ndarray) else found
