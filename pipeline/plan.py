"""The plan of a run: everything that is decided before it starts, and why."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import OptionError
from .decided import Plan
from .strategies import SCANNING
from .streaming.bounds import LIGHT, Scans, Size, device_bytes, rounds_bytes
from .streaming.estimate import Rates, estimate

if TYPE_CHECKING:
    from ..graphs.source import EdgeSource
    from .run.schedulers import Scheduler

#: The names of all strategies.
STRATEGIES = ("whole", *SCANNING, "iterate")


@dataclass(frozen=True)
class Graph:
    """What a plan depends on of a graph.

    Attributes
    ----------
    size : Size
    is_in_memory : bool
        Whether its columns are loaded and checked.
    is_read_once : bool
        Whether a second reading would find nothing.
    num_chunks : int
        How many chunks Dask computes for it; 0 if it comes in another way.
    device_bytes : int
        What it would take to have it on a GPU and solve it there.
    """

    size: Size
    is_in_memory: bool = False
    is_read_once: bool = False
    num_chunks: int = 0
    device_bytes: int = 0

    @classmethod
    def of(cls, source: EdgeSource, num_chunks: int = 0, *, for_device: bool = False) -> Graph:
        """Return what a plan depends on of a source whose sizes are known."""
        size, device = Size.of(source), device_bytes(source) if for_device else 0
        return cls(size, source.is_checked, source.is_read_once, num_chunks, device)


@dataclass(frozen=True)
class Where:
    """What a plan depends on of a scheduler.

    Attributes
    ----------
    name : str
    workers : int
        How many tasks it runs at once.
    threads : int
        Of each task.
    is_cluster : bool
        Whether workers have memory of their own.
    is_inline : bool
        Whether tasks run in the calling thread.
    worker_memory : int, optional
        Bytes that each task of a cluster may take.
    """

    name: str = "inline"
    workers: int = 1
    threads: int = 1
    is_cluster: bool = False
    is_inline: bool = True
    worker_memory: int | None = None

    @classmethod
    def of(cls, scheduler: Scheduler, threads: int) -> Where:
        """Return what a plan depends on of a scheduler, for tasks of so many threads."""
        limit = scheduler.worker_memory
        is_cluster = scheduler.name.startswith("distributed")
        eager = scheduler.eager
        return cls(scheduler.name, scheduler.workers, threads, is_cluster, eager, limit)


@dataclass(frozen=True)
class Request:
    """What a caller asks for.

    Attributes
    ----------
    algorithm, for_scans : str
        Names of the pipeline, and of the one that takes its place for the edges that a scan holds.
    backend : str
        Name of the array module.
    strategy : str
    partitions : int, optional
    split_every : int
    memory : int, optional
        Bytes for all tasks that run at once; on a cluster, for each.
    is_own : bool
        Whether the pipeline is the caller's: it may find something other than forests.
    gives_fields : bool
        Whether fields other than the forest are asked for.
    keeps_checkpoint : bool
    device_memory : int, optional
        Free bytes of the device that tasks compute on, if they do.
    """

    algorithm: str
    for_scans: str
    backend: str
    strategy: str = "auto"
    partitions: int | None = None
    split_every: int = 4
    memory: int | None = None
    is_own: bool = False
    gives_fields: bool = False
    keeps_checkpoint: bool = False
    device_memory: int | None = None

    @property
    def bound(self) -> int | None:
        """The tighter of both bounds; on a device, finding a forest takes half as much again."""
        device = None if self.device_memory is None else self.device_memory * 2 // 3
        return min((each for each in (self.memory, device) if each is not None), default=None)


def plan(request: Request, graph: Graph, where: Where, rates: Rates | None = None) -> Plan:
    """Decide everything about a run.

    Raises
    ------
    OptionError
        If options contradict each other or the graph.
    MemoryBoundError
        If the bound on memory is too tight. Says what would do.
    """
    _check(request, graph)
    strategy, partitions = request.strategy, request.partitions
    if partitions is None:
        is_one = strategy in ("whole", "fold")
        partitions = 1 if is_one else graph.num_chunks or where.workers
    partitions = max(1, min(partitions, graph.size.num_edges))
    reason = "as asked"
    if strategy == "auto":
        strategy, reason = _choose(request, graph, partitions)
    if strategy == "fold":
        partitions = 1
    _check_strategy(request, strategy)
    whole = Plan(
        strategy,
        partitions,
        graph.size.num_edges,
        reason,
        where.name,
        algorithm=request.for_scans if strategy in SCANNING else request.algorithm,
        backend=request.backend,
    )
    is_bounded = strategy in SCANNING
    if strategy == "iterate":
        # A graph that does not fit into a cluster's workers is reduced first, if that may be.
        wants_forests = not (request.is_own or request.gives_fields)
        does_not_fit = wants_forests and not _fits(graph, where)
        is_bounded = request.memory is not None or does_not_fit
    return _bounded(whole, request, graph, where, rates or Rates()) if is_bounded else whole


def _bounded(whole: Plan, request: Request, graph: Graph, where: Where, rates: Rates) -> Plan:
    """Return a plan whose tasks hold as many edges as the memory allows."""
    strategy, size, bound = whole.strategy, graph.size, request.bound
    scans = _scans(request, graph, where, strategy, whole.partitions)
    if bound is None and where.worker_memory is not None:
        bound = max(where.worker_memory, scans.least_memory)  # it never refuses a run
    capacity = scans.capacity(bound)
    num_light = _num_light(size, capacity, whole.partitions) if strategy == "two-scan" else 0
    known = size.num_edges < sys.maxsize and strategy in SCANNING
    taken = scans.tasks * scans.memory(min(capacity, size.num_edges))
    return replace(
        whole,
        capacity=capacity,
        holds_forests=strategy == "iterate" and capacity < size.num_edges,
        num_light=num_light,
        memory=max(taken, scans.least_memory),
        least_memory=scans.least_memory,
        estimate=estimate(scans, capacity, num_light, rates) if known else None,
    )


def _check_strategy(request: Request, strategy: str) -> None:
    """Refuse options that the strategy, asked for or chosen, has no use for."""
    if request.gives_fields and strategy in SCANNING:
        message = f"strategy {strategy!r} gives the field 'forest' only; choose whole or iterate"
        raise OptionError(message)
    if request.keeps_checkpoint and strategy not in SCANNING:
        message = f"strategy {strategy!r} keeps no checkpoint; choose another"
        raise OptionError(message)
    if request.memory is not None and strategy == "whole":
        message = "strategy 'whole' holds all edges; with memory= choose another"
        raise OptionError(message)


def _check(request: Request, graph: Graph) -> None:
    strategy, is_split = request.strategy, (request.partitions or 1) > 1
    if strategy not in ("auto", *STRATEGIES):
        known = ", ".join(("auto", *STRATEGIES))
        message = f"strategy {strategy!r} is not available; choose from: {known}"
        raise OptionError(message)
    if strategy in ("whole", "fold") and is_split:
        message = f"strategy {strategy!r} has one partition, not {request.partitions}"
        raise OptionError(message)
    if graph.is_read_once and (strategy not in ("auto", "fold") or is_split):
        message = 'a graph that can be read only once needs strategy="fold" with one partition'
        raise OptionError(message)
    if graph.is_read_once and request.gives_fields:
        message = (
            "a graph that can be read only once gives the field 'forest' only; "
            "pass its chunks in a list"
        )
        raise OptionError(message)


def _choose(request: Request, graph: Graph, partitions: int) -> tuple[str, str]:
    if request.gives_fields:
        return "iterate" if partitions > 1 else "whole", "fields of the pipeline are asked for"
    if graph.is_read_once:
        return "fold", "the graph can be read only once"
    if request.memory is not None:
        return "two-scan", "memory is bounded"
    if request.device_memory is not None and graph.device_bytes > request.device_memory:
        return "two-scan", "the graph is larger than the device's memory"
    if request.is_own and partitions > 1:
        return "iterate", "a pipeline of your own may find something other than forests to merge"
    if not graph.is_in_memory:
        return "two-scan", "the graph is streamed"
    if partitions > 1:
        return "tree", "the graph is in memory, in partitions"
    return "whole", "the graph is in memory"


def _fits(graph: Graph, where: Where) -> bool:
    """Return whether rounds over all edges leave half of each worker's memory free."""
    if where.worker_memory is None:
        return True
    # A task may take a quarter of its share of a worker, so a half is twice that.
    return rounds_bytes(graph.size) <= 2 * where.worker_memory * where.workers


def _scans(request: Request, graph: Graph, where: Where, strategy: str, partitions: int) -> Scans:
    # Any process may come to run a task that only one runs at a time, such as a merge, and its
    # pool keeps that memory: all are counted.
    tasks = where.workers if where.name == "processes" else min(where.workers, partitions)
    return Scans(
        graph.size,
        strategy,
        partitions,
        request.split_every,
        where.threads,
        1 if where.is_cluster else tasks,
        where.workers,
        spills=where.is_cluster and strategy == "iterate",
        by_dask=not where.is_inline,
    )


def _num_light(size: Size, capacity: int, partitions: int) -> int:
    """Return how many edges a first scan shall take for light; 0 if it needs no limit."""
    folds = size.num_vertices <= capacity // LIGHT.fold_share
    is_dense = size.num_edges > LIGHT.dense * size.num_vertices
    if folds and not is_dense:
        return 0
    return int(min(LIGHT.per_vertex * size.num_vertices, LIGHT.filled * capacity * partitions))
