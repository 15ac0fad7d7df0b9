"""The plan of a run: all decisions that are made before it starts, with their reason and cost."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MemoryBoundError, OptionError
from ..primitives import resolve_backend, suggest_gpu
from .report.report import Estimate, Plan
from .strategies import SCANNING
from .streaming.bounds import FOLD_SHARE, LAST_SHARE, Graph, ScanMemory, tiles_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from .dataflow import Dataflow
    from .run.schedulers import Workers

#: Up to this number of edges, the calls of a pipeline's stages take longer than their work, so the
#: fewest stages are the fastest: `python -m benchmarks record small`.
FEW = 2**12

STRATEGIES = ("whole", *SCANNING, "iterate", "tiles")

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
#: The edges that a scan holds: as a share of the capacity if it has dropped a heavier half, and as
#: a share of all edges if few fragments remain.
_STOPPED, _LEFT = 0.75, 0.03


class Candidates(NamedTuple):
    """Pipelines from which a plan chooses. They find the same forest."""

    pipeline: Dataflow
    #: Whether the caller defined it: it may not find the minimum forest.
    is_own: bool = False
    #: Replaces it in memory on NumPy.
    on_numpy: Dataflow | None = None
    #: Replaces that for at most `FEW` edges.
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
        return self.few if self.few and num_edges <= FEW else self.on_numpy


class Request(NamedTuple):
    """The options of a run that a plan depends on."""

    candidates: Candidates
    backend: str = "auto"
    strategy: str = "auto"
    partitions: int | None = None
    split_every: int = 4
    #: Limit in bytes of all tasks that run at once; on a cluster, of each task.
    memory: int | None = None
    keeps_checkpoint: bool = False
    #: Whether the edges are on a GPU.
    on_device: bool = False
    #: Free bytes of the device, if tasks compute on one.
    device_memory: int | None = None

    @property
    def gives_fields(self) -> bool:
        """Whether the caller requests fields other than the forest."""
        return self.candidates.pipeline.result != ("forest",)

    @property
    def bound(self) -> int | None:
        """The lower of both limits; on a device, a forest needs 1.5 times its share of memory."""
        device = None if self.device_memory is None else self.device_memory * 2 // 3
        return min((each for each in (self.memory, device) if each is not None), default=None)


class Rates(NamedTuple):
    """Bytes per second of a worker: from its disk, and over the network."""

    disk: float = 2e9
    network: float = 1e9


def plan(request: Request, graph: Graph, where: Workers, rates: Rates | None = None) -> Plan:
    """Plan a run.

    An OptionError says that options contradict each other or the graph, and a MemoryBoundError that
    the limit on memory is too low; it states the least memory.
    """
    _check(request, graph)
    strategy, partitions, reason = request.strategy, request.partitions, "as asked"
    edges = graph.num_edges
    if partitions is None:
        partitions = 1 if strategy in ("whole", "fold") else graph.num_chunks or where.workers
    partitions = max(1, min(partitions, graph.num_edges))
    if strategy == "auto":
        strategy, reason = _choose(request, graph, where, partitions)
    if strategy == "fold":
        partitions = 1
    _check_strategy(request, graph, strategy)
    backend = resolve_backend(request.backend, edges, on_device=request.on_device)
    scans = strategy in SCANNING
    pipeline = (
        request.candidates.pipeline if scans else request.candidates.in_memory(backend, edges)
    )
    advises = request.backend == "auto" and graph.is_in_memory and backend != "cupy"
    found = Plan(
        strategy,
        partitions,
        edges,
        reason,
        where.name,
        pipeline.name,
        backend,
        advice=suggest_gpu(edges) if advises else "",
    )
    if strategy == "tiles":
        return _tiled(found, request, graph, where)
    is_bounded = scans
    if strategy == "iterate":
        # Rounds over all edges may use half of the workers' memory, of which `worker_memory` is a
        # quarter for each task. If they need more, reduce the partitions first if possible.
        memory = where.worker_memory
        fits = memory is None or graph.rounds_bytes <= 2 * memory * where.workers
        wants_forests = not (request.candidates.is_own or request.gives_fields)
        is_bounded = request.memory is not None or (wants_forests and not fits)
    return _bounded(found, request, graph, where, rates or Rates()) if is_bounded else found


def _bounded(unbounded: Plan, request: Request, graph: Graph, where: Workers, rates: Rates) -> Plan:
    """Return the plan completed by the number of edges that each task may hold."""
    strategy, partitions, bound = unbounded.strategy, unbounded.partitions, request.bound
    scans = ScanMemory(graph, strategy, partitions, request.split_every, where)
    if bound is None and where.worker_memory is not None:
        bound = max(where.worker_memory, scans.least_memory)  # this limit never refuses a run
    is_device = bound is not None and bound != request.memory
    option = "two thirds of the GPU's free memory: " if is_device else "memory="
    capacity = scans.capacity(bound, option)
    num_light = _num_light(graph, capacity, partitions) if strategy == "two-scan" else 0
    known = graph.num_edges < sys.maxsize and strategy in SCANNING
    taken = scans.tasks * scans.memory(min(capacity, graph.num_edges))
    return replace(
        unbounded,
        capacity=capacity,
        holds_forests=strategy == "iterate" and capacity < graph.num_edges,
        num_light=num_light,
        memory=max(taken, scans.least_memory),
        least_memory=scans.least_memory,
        estimate=_estimate(scans, capacity, num_light, rates) if known else None,
    )


def _tiled(unbounded: Plan, request: Request, graph: Graph, where: Workers) -> Plan:
    """Return the plan of the strategy "tiles", completed by its memory."""
    memory = tiles_bytes(graph, unbounded.partitions, where)
    if request.memory is not None and request.memory < memory:
        purpose = f"for strategy 'tiles' with {graph.num_vertices:,} vertices"
        raise MemoryBoundError.of(request.memory, memory, purpose)
    return replace(unbounded, capacity=graph.tiles_leave or 0, memory=memory, least_memory=memory)


def _check(request: Request, graph: Graph) -> None:
    """Refuse options that no strategy of the request supports."""
    strategy, is_split = request.strategy, (request.partitions or 1) > 1
    if strategy not in ("auto", *STRATEGIES):
        known = ", ".join(("auto", *STRATEGIES))
        raise OptionError(f"strategy {strategy!r} is not available; choose from: {known}")
    if strategy in ("whole", "fold") and is_split:
        raise OptionError(f"strategy {strategy!r} has one partition, not {request.partitions}")
    once = "a graph that can be read only once"
    if graph.is_read_once and (strategy not in ("auto", "fold") or is_split):
        raise OptionError(f'{once} needs strategy="fold" with one partition')
    if graph.is_read_once and request.gives_fields:
        raise OptionError(f"{once} gives only the field 'forest'; pass its chunks in a list")


def _check_strategy(request: Request, graph: Graph, strategy: str) -> None:
    """Refuse options that the strategy does not support."""
    problem = ""
    if strategy == "tiles" and graph.tiles_leave is None:
        problem = "needs a graph of mstflow.grid with its weights; choose another"
    elif request.gives_fields and strategy not in ("whole", "iterate"):
        problem = "gives only the field 'forest'; choose whole or iterate"
    elif request.keeps_checkpoint and strategy not in SCANNING:
        problem = "does not support checkpoint=; choose another"
    elif request.memory is not None and strategy == "whole":
        problem = "holds all edges and does not support memory=; choose another"
    if problem:
        raise OptionError(f"strategy {strategy!r} {problem}")


def _choose(request: Request, graph: Graph, where: Workers, partitions: int) -> tuple[str, str]:
    """Return the strategy of "auto", and the reason for it."""
    if request.gives_fields:
        return "iterate" if partitions > 1 else "whole", "the run returns other fields"
    if graph.is_read_once:
        return "fold", "the graph can be read only once"
    if _suit_tiles(request, graph, where, partitions):
        return "tiles", "the graph is a grid"
    if request.memory is not None:
        return "two-scan", "memory is bounded"
    if request.device_memory is not None and graph.device_bytes > request.device_memory:
        return "two-scan", "the graph is larger than the device's memory"
    if request.candidates.is_own and partitions > 1:
        return "iterate", "a custom pipeline may find something other than forests to merge"
    if not graph.is_in_memory:
        return "two-scan", "the graph is streamed"
    if partitions > 1:
        return "tree", "the graph is in memory, in partitions"
    return "whole", "the graph is in memory"


def _suit_tiles(request: Request, graph: Graph, where: Workers, partitions: int) -> bool:
    """Return whether the graph is a grid, and memory and options allow the strategy "tiles"."""
    if graph.tiles_leave is None or request.candidates.is_own or request.keeps_checkpoint:
        return False
    bound = where.worker_memory if request.memory is None else request.memory
    is_enough = bound is None or tiles_bytes(graph, partitions, where) <= bound
    return is_enough and request.device_memory is None


def _num_light(graph: Graph, capacity: int, partitions: int) -> int:
    """Return the number of light edges of the first scan; 0 if it needs no limit."""
    folds = graph.num_vertices <= capacity // FOLD_SHARE
    if folds and graph.num_edges <= _DENSE * graph.num_vertices:
        return 0
    return int(min(_LIGHT_PER_VERTEX * graph.num_vertices, _FILLED * capacity * partitions))


def _estimate(scans: ScanMemory, capacity: int, num_light: int, rates: Rates) -> Estimate:
    """Estimate time and traffic of scans whose tasks hold `capacity` edges each.

    `docs/scale.md` works through an example.
    """
    graph, parts, where = scans.graph, scans.partitions, scans.where
    vertices, edges, workers = graph.num_vertices, graph.num_edges, min(where.workers, parts)
    taken = edges_taken(graph, capacity, parts, num_light) if scans.can_rescan else [edges]
    held = min(capacity, math.ceil(max(taken) / parts))
    read = edges * (graph.held_edge - 8)
    computing = edges * 1e-9 / (workers * where.task_threads)
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


def edges_taken(graph: Graph, capacity: int, parts: int, num_light: int) -> list[float]:
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
