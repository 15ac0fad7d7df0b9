"""The plan of a run: all decisions that are made before it starts, with their reason and cost."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MemoryBoundError, OptionError, WorkerError
from ..primitives import suggest_gpu
from ..runtime.host import show_bytes
from ..runtime.sizes import sizes
from .catalogue.strategies import STRATEGIES
from .streaming.bounds import (
    FOLD_SHARE,
    LAST_SHARE,
    ScanMemory,
    SweepMemory,
    rounds_bytes,
    tiles_bytes,
)
from .streaming.buckets import edges_moved

if TYPE_CHECKING:
    from collections.abc import Callable

    from .dataflow import Dataflow
    from .options import Options
    from .schedulers.scheduler import Workers
    from .streaming.facts import GraphFacts

#: Light edges per vertex that the first of two scans takes. There are fewer than in
#: `filter-boruvka`, to save memory.
_LIGHT_PER_VERTEX = 1.5
#: The share of the capacity to fill. The limit for light edges is estimated from a sample, and a
#: buffer that overflows drops its heavier half.
_FILLED = 7 / 8
#: Edges per vertex above which a second scan is faster than holding and joining all edges.
_DENSE = 6

#: Seconds to load kernels.
_LOADING = 0.1
#: Nanoseconds of a thread: per edge that a first scan reads; per edge that a later scan reads,
#: which looks up labels; and to compute a forest, per edge and per vertex.
_FIRST, _AGAIN, _HELD, _VERTEX = 5.0, 17.0, 60.0, 30.0
#: Nanoseconds of a thread per edge that a sweep deals to buckets, and per edge that it moves.
_DEALT, _MOVED = 40.0, 55.0
#: The bound in errors if the device sets it.
_DEVICE_OPTION = "two thirds of the GPU's free memory: "
#: The strategies that have one partition.
#: The edges that a scan holds: as a share of the capacity if it has dropped a heavier half, and as
#: a share of all edges if few fragments remain.
_STOPPED, _LEFT = 0.75, 0.03


class Estimate(NamedTuple):
    """The estimated cost of a run that scans a graph.

    `read` and `sent` are the total bytes read from disks, and sent between workers. `written` are
    the bytes written to buckets on disk, and `disk` those on disk at the same time.
    """

    scans: int
    read: int
    sent: int
    seconds: float
    written: int = 0
    disk: int = 0


@dataclass(frozen=True)
class Plan:
    """The decisions about a run.

    Attributes
    ----------
    strategy, algorithm, backend, scheduler : str
    partitions : int
    capacity : int
        Number of edges that a task holds.
    holds_forests : bool
        Whether each partition is reduced to its forest before rounds run over them.
    num_light : int
        Number of light edges that the first of two scans takes; 0 for no limit.
    reason : str
        Why this strategy was chosen.
    advice : str
        Whether to persist the chunks of Dask, or to try a GPU, by a model.
    memory, least_memory : int or None
        Bytes that this plan needs, and the least bytes that any plan for this choice of strategy
        needs: "auto" may choose a sweep. On a cluster they are for each task, otherwise for all
        tasks that run at once. None if the strategy holds the whole graph.
    estimate : Estimate or None
        Cost of a strategy that reads the graph in scans.
    """

    strategy: str = "whole"
    partitions: int = 1
    capacity: int = 0
    reason: str = ""
    scheduler: str = "inline"
    algorithm: str = ""
    backend: str = ""
    holds_forests: bool = False
    num_light: int = 0
    memory: int | None = None
    least_memory: int | None = None
    estimate: Estimate | None = None
    advice: str = ""

    def __str__(self) -> str:
        where = "" if self.scheduler == "inline" else f", on {self.scheduler}"
        reason = f": {self.reason}{where}" if self.reason else ""
        return self.strategy + reason + (f"; {self.advice}" if self.advice else "")


class Candidates(NamedTuple):
    """Pipelines from which a plan chooses. They find the same forest."""

    pipeline: Dataflow
    #: Whether the caller defined it: it may not find the minimum forest.
    is_own: bool = False
    #: Replaces it in memory on NumPy.
    on_numpy: Dataflow | None = None
    #: Replaces that for few edges; see `Sizes.few`.
    few: Dataflow | None = None
    #: Chooses the pipeline for the points of `mstflow.points`.
    on_points: Callable[[Any], Dataflow] | None = None

    def for_points(self, points: Any) -> Dataflow | None:
        """Return the pipeline for points; None if this one reads all pairs as edges."""
        if self.on_points is not None:
            return self.on_points(points)
        return self.pipeline if self.pipeline.reads("points") else None

    def in_memory(self, backend: str, num_edges: int) -> Dataflow:
        """Return the pipeline for this number of edges in memory."""
        if backend != "numpy" or not self.on_numpy:
            return self.pipeline
        return self.few if self.few and num_edges <= sizes().few else self.on_numpy

    @property
    def gives_fields(self) -> bool:
        """Whether the caller requests fields other than the forest."""
        return self.pipeline.result != ("forest",)


@dataclass(frozen=True)
class Request:
    """A run to plan.

    Attributes
    ----------
    candidates : Candidates
    options : Options
        Its bound on memory is the limit of all tasks that run at once; on a cluster, of each task.
    graph : GraphFacts
    scheduler : Workers
    backend : str
        The array module for this number of edges.
    device_memory, device_bytes : int, optional
        If tasks compute on a device, its free bytes, and those that the whole graph needs.
    """

    candidates: Candidates
    options: Options
    graph: GraphFacts
    scheduler: Workers
    backend: str
    device_memory: int | None = None
    device_bytes: int = 0

    @property
    def partitions(self) -> int:
        """The number of partitions, unless the strategy has only one."""
        options, graph = self.options, self.graph
        count = options.partitions
        if count is None:
            known = STRATEGIES.get(options.strategy)
            is_single = known is not None and known.is_single
            count = 1 if is_single else graph.num_chunks or self.scheduler.workers
        return max(1, min(count, graph.num_edges))

    def pipeline(self, strategy: str) -> Dataflow:
        """Return the pipeline that a strategy runs."""
        if STRATEGIES[strategy].streams:
            return self.candidates.pipeline
        return self.candidates.in_memory(self.backend, self.graph.num_edges)

    @property
    def is_split(self) -> bool:
        """Whether there are several partitions."""
        return self.partitions > 1

    @property
    def bound(self) -> int | None:
        """The lower of both limits; on a device, a forest needs 1.5 times its share of memory."""
        device = None if self.device_memory is None else self.device_memory * 2 // 3
        limits = [limit for limit in (self.options.bound, device) if limit is not None]
        return min(limits, default=None)

    @property
    def suits_tiles(self) -> bool:
        """Whether the graph is a grid, and memory and options allow the strategy "tiles"."""
        bound = self.scheduler.usual_memory if self.options.bound is None else self.options.bound
        if self.graph.tiles_leave is None or self.candidates.is_own:
            return False
        needed = tiles_bytes(self.graph, self.partitions, self.scheduler)
        has_room = self.device_memory is None and (bound is None or needed <= bound)
        return has_room and self.options.checkpoint is None

    @property
    def may_sweep(self) -> bool:
        """Whether "auto" may choose a sweep."""
        is_free = not (self.candidates.is_own or self.candidates.gives_fields)
        is_single = self.scheduler.eager and not self.is_split
        return is_free and is_single and not self.graph.is_read_once

    @property
    def exceeds_scans(self) -> bool:
        """Whether a sweep needs less memory than scans, and only a sweep may fit in the bound."""
        if not self.may_sweep or self.options.bound is None:
            return False
        least = _scan_memory(self, "two-scan").least_memory
        return max(self.options.bound, SweepMemory(self.graph, self.scheduler).least_memory) < least

    @property
    def exceeds_device(self) -> bool:
        """Whether the device's memory is too small for the graph."""
        return self.device_memory is not None and self.device_bytes > self.device_memory


class Rule(NamedTuple):
    """Choose `strategy` for a run to which `applies` applies, because of `reason`."""

    applies: Callable[[Request], bool]
    strategy: str
    reason: str


#: The strategy of "auto" is that of the first rule that applies.
RULES = (
    Rule(
        lambda run: run.candidates.gives_fields and run.is_split,
        "iterate",
        "the run returns other fields",
    ),
    Rule(lambda run: run.candidates.gives_fields, "whole", "the run returns other fields"),
    Rule(lambda run: run.graph.is_read_once, "fold", "the graph can be read only once"),
    Rule(lambda run: run.suits_tiles, "tiles", "the graph is a grid"),
    Rule(lambda run: run.exceeds_scans, "sweep", "memory is bounded, and too small for two-scan"),
    Rule(lambda run: run.options.bound is not None, "two-scan", "memory is bounded"),
    Rule(
        lambda run: run.exceeds_device,
        "two-scan",
        "the graph is larger than the device's memory",
    ),
    Rule(
        lambda run: run.candidates.is_own and run.is_split,
        "iterate",
        "a custom pipeline may find something other than forests to merge",
    ),
    Rule(lambda run: not run.graph.is_in_memory, "two-scan", "the graph is streamed"),
    Rule(lambda run: run.is_split, "tree", "the graph is in memory, in partitions"),
    Rule(lambda run: True, "whole", "the graph is in memory"),
)


class Rates(NamedTuple):
    """Bytes per second of a worker: from its disk, and over the network."""

    disk: float = 2e9
    network: float = 1e9


def plan(request: Request, rates: Rates | None = None) -> Plan:
    """Plan a run.

    An OptionError says that options contradict each other or the graph, and a MemoryBoundError that
    the limit on memory is too low; it states the least memory.
    """
    options, graph, scheduler = request.options, request.graph, request.scheduler
    edges = graph.num_edges
    _check(request)
    strategy, reason = options.strategy, "as asked"
    if strategy == "auto":
        _, strategy, reason = next(rule for rule in RULES if rule.applies(request))
        is_free = not (request.candidates.is_own or request.candidates.gives_fields)
        if is_free and (problem := _exceeds_workers(request, strategy)):
            strategy, reason = "two-scan", problem
    _check_strategy(request, strategy)
    backend, pipeline = request.backend, request.pipeline(strategy)
    advises = options.backend == "auto" and graph.is_in_memory and backend != "cupy"
    advice = suggest_gpu(edges) if advises else ""
    if graph.is_computed_again:
        advice = "Dask computes the chunks again for each scan; persist them first"
    unbounded = Plan(
        strategy,
        1 if STRATEGIES[strategy].is_single else request.partitions,
        reason=reason,
        scheduler=scheduler.name,
        algorithm=pipeline.name,
        backend=backend,
        capacity=edges,
        advice=advice,
    )
    if strategy == "tiles":
        return _tiled(unbounded, request)
    if strategy == "sweep":
        return _swept(unbounded, request, rates or Rates())
    if strategy == "iterate" and not _reduces_first(request):
        return unbounded
    is_bounded = STRATEGIES[strategy].is_bounded
    found = _bounded(unbounded, request, rates or Rates()) if is_bounded else unbounded
    if options.strategy == "auto" and strategy == "two-scan" and request.may_sweep:
        least = SweepMemory(graph, scheduler).least_memory
        found = replace(found, least_memory=min(found.least_memory or 0, least))
    return found


def _reduces_first(request: Request) -> bool:
    """Return whether partitions are reduced to their forests before rounds run over them.

    Rounds over all edges may use half of the workers' memory. If they need more, reduce the
    partitions first if possible.
    """
    memory, candidates = request.scheduler.worker_memory, request.candidates
    needed = rounds_bytes(request.graph)
    fits = memory is None or 2 * needed <= memory * request.scheduler.workers
    wants_forests = not (candidates.is_own or candidates.gives_fields)
    return request.options.bound is not None or (wants_forests and not fits)


def _bounded(unbounded: Plan, request: Request, rates: Rates) -> Plan:
    """Return the plan completed by the number of edges that each task may hold."""
    graph, scheduler, bound = request.graph, request.scheduler, request.bound
    strategy, reason = unbounded.strategy, unbounded.reason
    scans, most = _scan_memory(request, strategy), scheduler.most_memory
    if problem := _exceeds_workers(request, strategy):
        raise WorkerError(f"{problem}; start workers with more memory, or with fewer threads")
    if bound is None and scheduler.usual_memory is not None:
        bound = max(scheduler.usual_memory, scans.least_memory)
    elif bound is not None and most is not None and bound > most:
        reason += f"; memory= is lowered to {show_bytes(most)}, as no worker has more for a task"
        bound = most
    is_device = request.device_memory is not None and bound != request.options.bound
    option = _DEVICE_OPTION if is_device else "memory="
    capacity = scans.capacity(bound, option)
    light = num_light(graph, capacity, scans.partitions) if scans.can_rescan else 0
    known = graph.num_edges < sys.maxsize and STRATEGIES[strategy].streams
    taken = scans.memory(min(capacity, graph.num_edges))
    return replace(
        unbounded,
        reason=reason,
        capacity=capacity,
        holds_forests=strategy == "iterate" and capacity < graph.num_edges,
        num_light=light,
        memory=max(taken, scans.least_memory),
        least_memory=scans.least_memory,
        estimate=_estimate(scans, capacity, light, rates) if known else None,
    )


def _scan_memory(request: Request, strategy: str) -> ScanMemory:
    """Return the memory of the tasks of a strategy that scans the graph."""
    chosen, options = STRATEGIES[strategy], request.options
    return ScanMemory(
        request.graph,
        strategy,
        chosen.rescans,
        1 if chosen.is_single else request.partitions,
        options.split_every,
        request.scheduler,
        request.backend,
        request.pipeline(strategy).footprint,
    )


def _exceeds_workers(request: Request, strategy: str) -> str:
    """Return why no worker can hold a task of a strategy; empty if workers can, or if unknown."""
    most, is_whole = request.scheduler.most_memory, strategy == "whole"
    if most is None or strategy in ("sweep", "tiles"):
        return ""
    scans = _scan_memory(request, strategy)
    needed = rounds_bytes(request.graph) if is_whole else scans.least_memory
    if needed <= most:
        return ""
    has = f"the smallest worker has {show_bytes(most)} for each of its threads"
    return f"a task of strategy {strategy!r} needs {show_bytes(needed)}, and {has}"


def _swept(unbounded: Plan, request: Request, rates: Rates) -> Plan:
    """Return the plan of the strategy "sweep", completed by its memory and cost."""
    graph, bound = request.graph, request.bound
    memory = SweepMemory(graph, request.scheduler)
    is_device = request.device_memory is not None and bound != request.options.bound
    capacity = memory.capacity(bound, _DEVICE_OPTION if is_device else "memory=")
    moved = edges_moved(graph.num_vertices, graph.num_edges, capacity)
    kept = int(moved * memory.stored_edge) + graph.num_vertices * memory.edge_id
    read = graph.num_edges * (graph.held_edge - 8) + kept
    written = kept + (8 * graph.num_vertices if graph.num_vertices > capacity else 0)
    computing = (graph.num_edges * _DEALT + moved * _MOVED) * 1e-9 / request.scheduler.task_threads
    seconds = _LOADING + max(computing, (read + written) / rates.disk)
    disk = (graph.num_edges + min(graph.num_edges, capacity)) * memory.stored_edge
    return replace(
        unbounded,
        algorithm="kruskal",
        capacity=capacity,
        memory=max(memory.memory(capacity), memory.least_memory),
        least_memory=memory.least_memory,
        estimate=Estimate(1, read, 0, seconds, written, disk),
    )


def _tiled(unbounded: Plan, request: Request) -> Plan:
    """Return the plan of the strategy "tiles", completed by its memory."""
    graph, bound = request.graph, request.options.bound
    memory = tiles_bytes(graph, unbounded.partitions, request.scheduler)
    if bound is not None and bound < memory:
        purpose = f"for strategy 'tiles' with {graph.num_vertices:,} vertices"
        raise MemoryBoundError.of(bound, memory, purpose)
    return replace(unbounded, capacity=graph.tiles_leave or 0, memory=memory, least_memory=memory)


def _check(request: Request) -> None:
    """Refuse options that no strategy of the request supports."""
    strategy, partitions = request.options.strategy, request.options.partitions or 1
    if strategy not in ("auto", *STRATEGIES):
        known = ", ".join(("auto", *STRATEGIES))
        raise OptionError(f"strategy {strategy!r} is not available; choose from: {known}")
    if strategy != "auto" and STRATEGIES[strategy].is_single and partitions > 1:
        raise OptionError(f"strategy {strategy!r} has one partition, not {partitions}")
    once = "a graph that can be read only once"
    if request.graph.is_read_once and (strategy not in ("auto", "fold") or partitions > 1):
        raise OptionError(f'{once} needs strategy="fold" with one partition')
    if request.graph.is_read_once and request.candidates.gives_fields:
        raise OptionError(f"{once} gives only the field 'forest'; pass its chunks in a list")


def _check_strategy(request: Request, strategy: str) -> None:
    """Refuse options that the strategy does not support."""
    options, problem, chosen = request.options, "", STRATEGIES[strategy]
    if chosen.needs_grid and request.graph.tiles_leave is None:
        problem = "needs a graph of mstflow.grid with its weights; choose another"
    elif request.candidates.gives_fields and not chosen.gives_fields:
        problem = "gives only the field 'forest'; choose whole or iterate"
    elif strategy == "sweep" and request.candidates.is_own:
        problem = "runs no pipeline of your own; choose another"
    elif strategy == "sweep" and not request.scheduler.eager:
        problem = "is one task of all threads; choose scheduler 'inline', or another strategy"
    elif options.checkpoint is not None and not chosen.streams:
        problem = "does not support checkpoint=; choose another"
    elif options.bound is not None and not chosen.is_bounded:
        problem = "holds all edges and does not support memory=; choose another"
    if problem:
        raise OptionError(f"strategy {strategy!r} {problem}")


def num_light(graph: GraphFacts, capacity: int, partitions: int) -> int:
    """Return the number of light edges of the first scan; 0 if it needs no limit."""
    folds = graph.num_vertices <= capacity // FOLD_SHARE
    if folds and graph.num_edges <= _DENSE * graph.num_vertices:
        return 0
    return int(min(_LIGHT_PER_VERTEX * graph.num_vertices, _FILLED * capacity * partitions))


def _estimate(scans: ScanMemory, capacity: int, num_light: int, rates: Rates) -> Estimate:
    """Estimate time and traffic of scans whose tasks hold `capacity` edges each.

    `docs/scale.md` works through an example.
    """
    graph, parts, scheduler = scans.graph, scans.partitions, scans.scheduler
    vertices, edges, workers = graph.num_vertices, graph.num_edges, min(scheduler.workers, parts)
    taken = edges_taken(graph, capacity, parts, num_light) if scans.can_rescan else [edges]
    held = min(capacity, math.ceil(max(taken) / parts))
    read = edges * (graph.held_edge - 8)
    computing = edges * 1e-9 / (workers * scheduler.task_threads)
    scanning = sum(
        max(nanoseconds * computing, read / rates.disk / workers)
        for nanoseconds in [_FIRST] + [_AGAIN] * (len(taken) - 1)
    )
    solving = sum(_HELD * each / workers for each in taken)
    solving += len(taken) * (1 + scans.levels) * _VERTEX * vertices
    # Each partition sends its forest up the tree and receives the labels.
    forests = sum(min(vertices, held, each / parts) * graph.held_edge for each in taken)
    sent = parts * (forests + (len(taken) - 1) * vertices * graph.index) if parts > 1 else 0
    seconds = _LOADING + scanning + solving * 1e-9 + sent / rates.network / workers
    return Estimate(len(taken), len(taken) * read, int(sent), seconds)


def edges_taken(graph: GraphFacts, capacity: int, parts: int, num_light: int) -> list[float]:
    """Return the number of edges that each scan holds, in partitions of up to `capacity`.

    c random edges per vertex reduce n fragments to about n exp(-1.5 c).
    """
    vertices, edges, held = graph.num_vertices, graph.num_edges, capacity * parts
    if edges <= held and not num_light:
        return [edges]
    taken = [num_light or _STOPPED * held]
    fragments = vertices * math.exp(-1.5 * taken[0] / max(1, vertices))
    while fragments > capacity / LAST_SHARE:
        taken.append(_STOPPED * held)
        fragments *= math.exp(-1.5 * taken[-1] / fragments)
    return [*taken, _LEFT * edges]
