"""What a run will do: strategy, partitions, and how many edges its tasks hold at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import OptionError
from .bounds import Scans, Size, device_bytes

if TYPE_CHECKING:
    from ...graphs.source import EdgeSource
    from ..run.schedulers import Scheduler

#: Strategies by which a graph is streamed, and all of them.
SCANNING = ("fold", "tree", "two-scan")
STRATEGIES = ("auto", "whole", *SCANNING, "iterate")


@dataclass(frozen=True)
class Plan:
    """What a run does.

    Attributes
    ----------
    strategy : str
    partitions : int
    capacity : int
        Edges that a task holds at a time.
    reason : str
        Why, in words.
    """

    strategy: str
    partitions: int
    capacity: int
    reason: str


def is_streamed(strategy: str, scheduler: Any, memory: Any) -> bool:
    """Tell whether files are better left where they are than loaded."""
    return memory is not None or strategy not in ("auto", "whole") or scheduler != "inline"


@dataclass(frozen=True)
class Request:
    """What a caller asked for, of what decides about a plan.

    `memory` is in bytes, for all tasks that run at once; on a cluster, for each. `is_own` says
    whether the pipeline is the caller's: it may find something else than forests. `device_memory`
    is what a device has free that the tasks compute on, if they do.
    """

    strategy: str
    partitions: int | None
    split_every: int
    memory: int | None
    is_own: bool
    device_memory: int | None = None

    @property
    def bound(self) -> int | None:
        """The tighter of both bounds; on a device, what finds a forest takes half as much again."""
        device = None if self.device_memory is None else self.device_memory * 2 // 3
        return min((each for each in (self.memory, device) if each is not None), default=None)


def choose_plan(request: Request, source: EdgeSource, scheduler: Scheduler, threads: int) -> Plan:
    """Return what follows from a request and a graph, for tasks of so many threads.

    Raises
    ------
    OptionError
        If options contradict each other or the graph.
    MemoryBoundError
        If the bound on memory is too tight. Says what would do.
    """
    strategy, partitions = request.strategy, request.partitions
    if strategy not in STRATEGIES:
        message = f"strategy {strategy!r} is not available; choose from: {', '.join(STRATEGIES)}"
        raise OptionError(message)
    if strategy in ("whole", "fold") and (partitions or 1) > 1:
        message = f"strategy {strategy!r} has one partition, not {partitions}"
        raise OptionError(message)
    if source.is_read_once and (strategy not in ("auto", "fold") or (partitions or 1) > 1):
        message = "a graph that can be read but once can only be folded, in one partition"
        raise OptionError(message)
    partitions = partitions or (1 if strategy in ("whole", "fold") else scheduler.workers)
    if source.num_edges is not None:
        partitions = max(1, min(partitions, source.num_edges))
    reason = "asked for"
    if strategy == "auto":
        strategy, reason = _choose(request, source, partitions)
    if strategy == "fold":
        partitions = 1
    capacity = source.num_edges or 0
    if strategy in SCANNING or (strategy == "iterate" and request.memory is not None):
        # A cluster's workers have memory of their own, and spill what rounds leave there. Any
        # process may come to run a task that only one runs at a time, such as a merge, and its
        # pool keeps that memory: all are counted.
        is_cluster = scheduler.name == "distributed"
        tasks = partitions if scheduler.name != "processes" else scheduler.workers
        scans = Scans(
            Size.of(source),
            strategy,
            partitions,
            request.split_every,
            threads,
            1 if is_cluster else min(scheduler.workers, tasks),
            spills=bool(scheduler.task_folder) or (is_cluster and strategy == "iterate"),
            by_dask=not scheduler.eager,
        )
        capacity = scans.capacity(request.bound)
    elif request.memory is not None:
        message = f"strategy {strategy!r} holds all edges; with memory= choose another"
        raise OptionError(message)
    return Plan(strategy, partitions, capacity, reason)


def _choose(request: Request, source: EdgeSource, partitions: int) -> tuple[str, str]:
    if source.is_read_once:
        return "fold", "the graph can be read but once"
    if request.memory is not None:
        return "two-scan", "memory is bounded"
    if request.device_memory is not None and device_bytes(source) > request.device_memory:
        return "two-scan", "the graph is larger than the device's memory"
    if request.is_own and partitions > 1:
        return "iterate", "a pipeline of your own may find something else than forests to merge"
    if not source.is_checked:
        return "two-scan", "the graph is streamed"
    if partitions > 1:
        return "tree", "the graph is in memory, in parts"
    return "whole", "the graph is in memory"
