"""A run from end to end: open the graph, plan, split it into partitions, execute."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import MemoryBoundError, OptionError, memory_errors
from ..graphs.edge_list import EdgeList
from ..graphs.open import open_graph
from ..graphs.source import EdgeSource
from ..primitives import Backend, array_module, gpu_pays, resolve_backend, transfer
from ..progress import set_listener
from ..runtime.memory import keeping_blocks
from ..runtime.scratch import scratch_folder
from ..runtime.team import sharing
from ..stages.fields import rebuilt
from .catalogue.strategies import STRATEGIES, from_columns, strategy_flow
from .execute import execute, forest_ids
from .partitions import fingerprint_input, is_persisted, num_chunks, sized, split
from .plan import Candidates, Request, plan
from .points import points_of, run_on_points
from .schedulers.scheduler import Inline, Scheduler
from .streaming.bounds import check_reading
from .streaming.checkpoint import (
    check_shared,
    fingerprint,
    open_checkpoint,
    recorded_partitions,
)
from .streaming.facts import GraphFacts, device_bytes
from .streaming.scan import Scanner
from .streaming.solver import Solver
from .streaming.sweep import Sweeper
from .streaming.tiles import TileJoiner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .dataflow import Dataflow
    from .options import Options
    from .plan import Plan
    from .report.report import Report


class Run(NamedTuple):
    """The outcome of a run: result fields by name, the report, and the opened graph.

    If the graph can be read only once, the fields include ``found``, the columns of the forest. If
    Dask computes it, scans include ``weighed`` and ``weights``, ids and weights of the forest.
    """

    fields: dict[str, Any]
    report: Report
    graph: EdgeList | EdgeSource


def run(candidates: Candidates, graph: Any, options: Options) -> Run:
    """Run a pipeline on a graph."""
    candidates.pipeline.check()
    if options.backend != "auto":
        resolve_backend(options.backend, 0)  # check the name before the graph is read
    with (
        set_listener(options.progress),
        _open_scheduler(options) as scheduler,
        sharing(
            scheduler.task_threads if scheduler.eager else 1
        ),  # elsewhere, tasks run in parallel
    ):
        opened = open_graph(
            graph,
            options.num_vertices,
            options.weight,
            ends=options.ends,
            columns=options.columns,
            first_id=options.first_id,
            encoding=options.encoding,
            memory=options.bound,
            checkpoint=options.checkpoint,
            is_streamed=options.streams,
            is_bounded=options.bound is not None,
            is_inline=scheduler.eager,
            workers=scheduler if scheduler.is_remote else None,
        )
        if isinstance(opened, EdgeSource) and (points := points_of(opened)) is not None:
            flow = candidates.for_points(points)
            if flow is not None:
                return Run(*run_on_points(flow, opened, options, scheduler))
        if candidates.pipeline.reads("points"):
            name = candidates.pipeline.name
            raise OptionError(f"algorithm {name!r} needs the points of mstflow.points")
        numbered = opened.nbytes if options.ends is not None and isinstance(opened, EdgeList) else 0
        with _reserve(numbered, options.bound) as free:
            source = _measure(opened, scheduler, options)
            bounded = options if free == options.bound else replace(options, memory=free)
            request = _request(candidates, source, scheduler, bounded)
            decided = plan(request)
        fields, report = _execute(request, decided, source)
        is_list = isinstance(opened, EdgeList)
        return Run(fields, report, opened if is_list else replace(source, names=opened.names))


def _open_scheduler(options: Options) -> contextlib.AbstractContextManager[Scheduler]:
    """Open the scheduler that a caller chose; import Dask only if the scheduler needs it."""
    choice, threads = options.scheduler, options.threads
    if isinstance(choice, Inline) or (isinstance(choice, str) and choice == "inline"):
        return contextlib.nullcontext(Inline(threads) if isinstance(choice, str) else choice)
    from .schedulers.opening import open_scheduler

    return open_scheduler(choice, threads)


@contextlib.contextmanager
def _reserve(numbered: int, bound: int | None) -> Iterator[int | None]:
    """Yield the bound without the bytes of a graph that this call numbered; errors add them."""
    try:
        yield bound if bound is None else max(1, bound - numbered)
    except MemoryBoundError as error:
        if not numbered or bound is None:
            raise
        raise error.beside(bound, numbered, "the numbered graph") from error


def _measure(opened: EdgeList | EdgeSource, scheduler: Scheduler, options: Options) -> EdgeSource:
    """Return an opened graph as a source with its sizes; check the memory for it."""
    source = EdgeSource.of(opened)
    if options.bound is not None and not source.is_measured:  # otherwise the plan checks more
        check_reading(source, options.bound)
    source = source if source.names is None else replace(source, names=None)  # tasks need none
    source = sized(source, scheduler)
    if options.bound is None and options.num_vertices is None and not source.is_on_device:
        source.check_vertices()
        source.warn_if_sparse()
    return source


def _request(
    candidates: Candidates, source: EdgeSource, scheduler: Scheduler, options: Options
) -> Request:
    """Return the run to plan: with the facts about its graph, and the memory of its device."""
    is_default = candidates.on_numpy is not None  # no other pipeline was measured on a GPU
    is_plain = options.backend == "auto" and options.partitions is None and not options.streams
    if is_plain and is_default and source.is_in_memory and gpu_pays(source.num_edges or 0):
        options = replace(options, backend="cupy")
    if options.checkpoint is not None and options.partitions is None:
        # A run on another number of workers continues the work that a checkpoint holds.
        options = replace(options, partitions=recorded_partitions(options.checkpoint))
    count = num_chunks(source)
    is_computed_again = count > 0 and not is_persisted(source)
    facts = GraphFacts.of(source, count, is_computed_again=is_computed_again)
    backend = resolve_backend(options.backend, facts.num_edges, on_device=facts.is_on_device)
    if not scheduler.eager:
        return Request(candidates, options, facts, scheduler, backend)
    ops = array_module(backend)
    free, needed = ops.device_memory(0), 0
    if free is not None:
        needed = device_bytes(source)
        free = ops.device_memory() if free < needed else free
    return Request(candidates, options, facts, scheduler, backend, free, needed)


def _execute(request: Request, decided: Plan, source: EdgeSource) -> tuple[dict[str, Any], Report]:
    """Follow a plan; return the result fields and the report."""
    options, scheduler = request.options, request.scheduler
    assert isinstance(scheduler, Scheduler)  # a plan needs only its workers
    backend = Backend(decided.backend, scheduler.task_threads)
    flow = _flow(request, decided)
    solver = Solver(
        from_columns(request.candidates.pipeline), backend, maximum=bool(options.maximum)
    )
    records = _open_records(request, decided, source, scheduler, (flow, solver.flow))
    with memory_errors(source.num_vertices, source.num_edges):
        # Blocks that are kept for the next run are in memory together with the result.
        with (
            _bucket_folder(decided, records) as folder,
            keeping_blocks(for_next=options.bound is None and request.graph.is_in_memory),
        ):
            fields, report = execute(
                flow,
                [{"source": part} for part in split(source, decided.partitions, scheduler)],
                _initial_fields(source, solver, decided, folder),
                scheduler=scheduler,
                backend=backend,
                split_every=options.split_every,
                checkpoint=records,
            )
        report.plan = decided
        return _results(fields, decided.algorithm, backend, source), report


def _open_records(
    request: Request,
    decided: Plan,
    source: EdgeSource,
    scheduler: Scheduler,
    flows: Sequence[Dataflow],
) -> Callable[[str], Any] | None:
    """Open the records of tasks, if the run has a checkpoint."""
    options = request.options
    if options.checkpoint is None:
        return None
    identity = {
        "input": fingerprint_input(source, scheduler),
        "num_vertices": source.num_vertices,
        "pipeline": list(map(fingerprint, flows)),
        "partitions": decided.partitions,
        "split_every": options.split_every,  # determines which forests a merge joins
        "maximum": bool(options.maximum),
    }
    records = open_checkpoint(options.checkpoint, identity)
    scheduler.on_each_worker(check_shared, os.path.abspath(options.checkpoint))
    return records


def _flow(request: Request, decided: Plan) -> Dataflow:
    """Return the dataflow of a plan."""
    flow = strategy_flow(
        decided.strategy,
        request.pipeline(decided.strategy),
        holds_forests=decided.holds_forests,
        weighs=request.graph.num_chunks > 0,  # Dask would compute the chunks once more
    )
    return replace(flow, result=("forest", "found")) if request.graph.is_read_once else flow


@contextlib.contextmanager
def _bucket_folder(decided: Plan, records: Callable[[str], Any] | None) -> Iterator[str]:
    """Yield a new folder for a sweep without a checkpoint; for other runs, an empty string."""
    if decided.strategy != "sweep" or records is not None:
        yield ""
        return
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(scratch_folder(None))
        except OSError as error:
            raise OptionError(f"cannot create a folder for edges: {error}") from error
        yield folder


def _initial_fields(
    source: EdgeSource, solver: Solver, decided: Plan, folder: str
) -> dict[str, Any]:
    """Return the fields of the whole graph that exist before the first step of any strategy."""
    num_vertices, num_edges, first = source.num_vertices or 0, source.num_edges, source.first_id
    can_rescan = STRATEGIES[decided.strategy].rescans
    fields: dict[str, Any] = {
        "num_vertices": num_vertices,
        "num_edges": num_edges,
        "maximum": solver.maximum,
        "weight_dtype": source.weight_dtype,
        "unsigned": source.unsigned,
        "first_edge": first,
        "num_light": decided.num_light,
        "num_partitions": decided.partitions,
        "scanner": Scanner(solver, decided.capacity, can_rescan, num_vertices, num_edges, first),
        "tile_joiner": TileJoiner(solver, first, num_edges),
    }
    if decided.strategy == "sweep" and source.weight_dtype is not None:  # it is measured
        sizes = num_vertices, num_edges or 0, first
        fields["sweeper"] = Sweeper(solver, decided.capacity, *sizes, source.weight_dtype, folder)
    return fields


def _results(
    fields: dict[str, Any], pipeline: str, backend: Backend, source: EdgeSource
) -> dict[str, Any]:
    """Return the fields of a run as copies, and its forest as sorted edge ids.

    An array of the pool would keep a whole block from reuse.
    """
    forest, first, count = fields.pop("forest", None), source.first_id, source.num_edges
    results = {name: _copy(value, backend, source) for name, value in fields.items()}
    if forest is not None:
        edge_ids = transfer(forest, backend, on_device=source.is_on_device)
        stop = None if count is None else first + count
        results["forest"] = forest_ids(pipeline, edge_ids, first, stop)
    return results


def _copy(value: Any, backend: Backend, source: EdgeSource) -> Any:
    """Return a copy of a field in the memory of the graph, host or device."""
    if isinstance(value, tuple):
        return rebuilt(value, (_copy(item, backend, source) for item in value))
    if isinstance(value, type) or not getattr(value, "ndim", 0):
        return value
    array = transfer(value, backend, on_device=source.is_on_device)
    return np.array(array) if isinstance(array, np.ndarray) else array
