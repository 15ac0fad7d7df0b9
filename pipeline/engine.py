"""A run from end to end: open the scheduler and the graph, plan the run, follow the plan."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..errors import MemoryBoundError, OptionError
from ..graphs.edge_list import EdgeList
from ..graphs.source import EdgeSource
from ..plugins import wing
from ..primitives import array_module, gpu_pays, resolve_backend
from ..progress import set_listener
from ..runtime.team import sharing
from .partitions import sized
from .planning.plan import plan
from .planning.situation import Situation
from .report.report import Outcome
from .request import Request
from .run import Run
from .schedulers.scheduler import Inline, Scheduler
from .streaming.bounds import check_reading
from .streaming.checkpoint import hold_checkpoint, recorded_partitions
from .streaming.facts import GraphFacts, device_bytes


def run(request: Request, graph: Any) -> tuple[Outcome, EdgeList | EdgeSource]:
    """Run a pipeline on a graph; return the outcome and the opened graph.

    If the graph can be read only once, the fields include ``found``, the columns of the forest. If
    Dask computes it, scans include ``weighed`` and ``weights``, ids and weights of the forest.
    """
    request.pipeline.check_reads()
    if request.backend != "auto":
        resolve_backend(request.backend, 0)  # check the name before the graph is read
    with (
        set_listener(request.progress),
        hold_checkpoint(request.checkpoint),
        _open_scheduler(request) as scheduler,
        # Other schedulers run tasks in parallel.
        sharing(scheduler.task_threads if scheduler.eager else 1),
    ):
        opened = _open(graph, request, scheduler)
        if isinstance(opened, EdgeSource) and opened.wing:
            solved: tuple[Outcome, EdgeSource] | None
            solved = wing(opened.wing).run(request, opened, scheduler)
            if solved is not None:
                return solved
        return _run_on_edges(request, opened, scheduler)


def _open(graph: Any, request: Request, scheduler: Scheduler) -> EdgeList | EdgeSource:
    opened: EdgeList | EdgeSource = wing("doors").open_graph(
        graph,
        is_streamed=request.streams,
        memory=request.bound,
        checkpoint=request.checkpoint,
        scheduler=scheduler,
        **request.reading,
    )
    return opened


def _run_on_edges(
    request: Request, opened: EdgeList | EdgeSource, scheduler: Scheduler
) -> tuple[Outcome, EdgeList | EdgeSource]:
    """Plan the run, and follow the plan."""
    pipeline = request.pipeline
    for field, state in pipeline.inputs.items():
        if state.only_of and field in pipeline.fields_read:
            raise OptionError(f"algorithm {pipeline.name!r} needs a graph of {state.only_of}")
    has_ends = request.reading.get("ends") is not None
    numbered = opened.nbytes if has_ends and isinstance(opened, EdgeList) else 0
    with _reserve(numbered, request) as request:
        source = _measure(opened, scheduler, request)
        situation = _situation(request, source, scheduler)
        chosen = plan(situation)
    outcome = Run(situation, chosen, source, scheduler).execute()
    is_list = isinstance(opened, EdgeList)
    return outcome, opened if is_list else replace(source, names=opened.names)


def _open_scheduler(request: Request) -> contextlib.AbstractContextManager[Scheduler]:
    """Open the scheduler that a caller chose; import Dask only if the scheduler needs it."""
    choice, threads = request.scheduler, request.threads
    if isinstance(choice, Inline) or (isinstance(choice, str) and choice == "inline"):
        return contextlib.nullcontext(Inline(threads) if isinstance(choice, str) else choice)
    from .schedulers.opening import open_scheduler

    return open_scheduler(choice, threads)


@contextlib.contextmanager
def _reserve(num_bytes: int, request: Request) -> Iterator[Request]:
    """Subtract the bytes of a graph that this call numbered from the bound; errors add them."""
    bound = request.bound
    if not num_bytes or bound is None:
        yield request
        return
    try:
        yield replace(request, memory=max(1, bound - num_bytes))
    except MemoryBoundError as error:
        raise error.beside(bound, num_bytes, "the numbered graph") from error


def _measure(opened: EdgeList | EdgeSource, scheduler: Scheduler, request: Request) -> EdgeSource:
    """Return an opened graph as a source with its sizes; check the memory for it."""
    source = EdgeSource.of(opened)
    if request.bound is not None and not source.is_measured:  # otherwise the plan checks more
        check_reading(source, request.bound)
    source = source if source.names is None else replace(source, names=None)  # tasks need none
    source = sized(source, scheduler)
    if request.bound is None and not source.is_on_device:
        is_wanted = request.reading.get("num_vertices") is not None
        doors = wing("doors")
        doors.check_vertices(source, is_wanted=is_wanted)
        doors.warn_if_sparse(source, is_wanted=is_wanted)
    return source


def _situation(request: Request, source: EdgeSource, scheduler: Scheduler) -> Situation:
    """Return the request with facts about the graph, and the memory of the device."""
    facts = GraphFacts.of(source)
    backend = _backend(request, facts)
    if request.checkpoint is not None and request.partitions is None:
        # A run on another number of workers continues the work that a checkpoint holds.
        request = replace(request, partitions=recorded_partitions(request.checkpoint))
    situation = Situation(request, facts, scheduler, backend)
    if not scheduler.eager or (free := array_module(backend).device_memory(0)) is None:
        return situation
    needed = device_bytes(source)
    if free < needed:
        free = array_module(backend).device_memory()
    return replace(situation, device_memory=free, device_bytes=needed)


def _backend(request: Request, graph: GraphFacts) -> str:
    """Return the array module for a graph."""
    is_default = request.is_default  # no other pipeline was measured on a GPU
    is_plain = request.backend == "auto" and request.partitions is None and not request.streams
    if is_default and is_plain and graph.is_in_memory and gpu_pays(graph.num_edges):
        return "cupy"
    return resolve_backend(request.backend, graph.num_edges, on_device=graph.is_on_device)
