"""A run from end to end: open the scheduler and the graph, plan the run, follow the plan."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ..errors import MemoryBoundError, OptionError
from ..graphs.edge_list import EdgeList
from ..graphs.source import EdgeSource
from ..plugins import wing
from ..primitives import array_module, gpu_pays, resolve_backend
from ..progress import set_listener
from ..runtime.team import sharing
from .options import Options
from .partitions import is_persisted, num_chunks, sized
from .planned_run import PlannedRun
from .planning.plan import plan
from .planning.request import Alternatives, Request
from .report.report import Report
from .schedulers.scheduler import Inline, Scheduler
from .streaming.bounds import check_reading
from .streaming.checkpoint import hold_checkpoint, recorded_partitions
from .streaming.facts import GraphFacts, device_bytes


class Run(NamedTuple):
    """The outcome of a run: result fields by name, the report, and the opened graph.

    If the graph can be read only once, the fields include ``found``, the columns of the forest. If
    Dask computes it, scans include ``weighed`` and ``weights``, ids and weights of the forest.
    """

    fields: dict[str, Any]
    report: Report
    graph: EdgeList | EdgeSource


def run(alternatives: Alternatives, graph: Any, options: Options) -> Run:
    """Run a pipeline on a graph."""
    alternatives.pipeline.check_reads()
    if options.backend != "auto":
        resolve_backend(options.backend, 0)  # check the name before the graph is read
    with (
        set_listener(options.progress),
        hold_checkpoint(options.checkpoint),
        _open_scheduler(options) as scheduler,
        # Other schedulers run tasks in parallel.
        sharing(scheduler.task_threads if scheduler.eager else 1),
    ):
        opened = _open(graph, options, scheduler)
        if isinstance(opened, EdgeSource) and opened.wing:
            outcome = wing(opened.wing).run(alternatives, opened, options, scheduler)
            if outcome is not None:
                return Run(*outcome)
        return _run_on_edges(alternatives, opened, options, scheduler)


def _open(graph: Any, options: Options, scheduler: Scheduler) -> EdgeList | EdgeSource:
    opened: EdgeList | EdgeSource = wing("doors").open_graph(
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
    return opened


def _run_on_edges(
    alternatives: Alternatives,
    opened: EdgeList | EdgeSource,
    options: Options,
    scheduler: Scheduler,
) -> Run:
    """Plan the run, and follow the plan."""
    chosen_by_name = alternatives.pipeline
    for field, state in chosen_by_name.inputs.items():
        if state.only_of and field in chosen_by_name.fields_read:
            name = chosen_by_name.name
            raise OptionError(f"algorithm {name!r} needs a graph of {state.only_of}")
    numbered = opened.nbytes if options.ends is not None and isinstance(opened, EdgeList) else 0
    with _reserve(numbered, options) as options:
        source = _measure(opened, scheduler, options)
        request = _request(alternatives, source, scheduler, options)
        chosen = plan(request)
    fields, report = PlannedRun(request, chosen, source, scheduler).execute()
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
def _reserve(num_bytes: int, options: Options) -> Iterator[Options]:
    """Subtract the bytes of a graph that this call numbered from the bound; errors add them."""
    bound = options.bound
    if not num_bytes or bound is None:
        yield options
        return
    try:
        yield replace(options, memory=max(1, bound - num_bytes))
    except MemoryBoundError as error:
        raise error.beside(bound, num_bytes, "the numbered graph") from error


def _measure(opened: EdgeList | EdgeSource, scheduler: Scheduler, options: Options) -> EdgeSource:
    """Return an opened graph as a source with its sizes; check the memory for it."""
    source = EdgeSource.of(opened)
    if options.bound is not None and not source.is_measured:  # otherwise the plan checks more
        check_reading(source, options.bound)
    source = source if source.names is None else replace(source, names=None)  # tasks need none
    source = sized(source, scheduler)
    if options.bound is None and not source.is_on_device:
        is_wanted = options.num_vertices is not None
        source.check_vertices(is_wanted=is_wanted)
        source.warn_if_sparse(is_wanted=is_wanted)
    return source


def _request(
    alternatives: Alternatives, source: EdgeSource, scheduler: Scheduler, options: Options
) -> Request:
    """Return the run to plan: with the facts about its graph, and the memory of its device."""
    count = num_chunks(source)
    is_computed_again = count > 0 and not is_persisted(source)
    facts = GraphFacts.of(source, count, is_computed_again=is_computed_again)
    backend = _backend(alternatives, facts, options)
    if options.checkpoint is not None and options.partitions is None:
        # A run on another number of workers continues the work that a checkpoint holds.
        options = replace(options, partitions=recorded_partitions(options.checkpoint))
    request = Request(alternatives, options, facts, scheduler, backend)
    if not scheduler.eager or (free := array_module(backend).device_memory(0)) is None:
        return request
    needed = device_bytes(source)
    if free < needed:
        free = array_module(backend).device_memory()
    return replace(request, device_memory=free, device_bytes=needed)


def _backend(alternatives: Alternatives, graph: GraphFacts, options: Options) -> str:
    """Return the array module for a graph."""
    is_default = alternatives.is_default  # no other pipeline was measured on a GPU
    is_plain = options.backend == "auto" and options.partitions is None and not options.streams
    if is_default and is_plain and graph.is_in_memory and gpu_pays(graph.num_edges):
        return "cupy"
    return resolve_backend(options.backend, graph.num_edges, on_device=graph.is_on_device)
