"""The plan of a run: all decisions that are made before it starts, with their reason and cost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...errors import MemoryBoundError, OptionError, WorkerError
from ...primitives import suggest_gpu
from ...runtime.host import show_bytes
from ..catalogue.strategies import STRATEGIES
from ..streaming.bounds import ScanMemory, rounds_bytes
from .costs import Estimate, Rates, cost_of_scans, cost_of_sweep, num_light
from .request import Request


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
        A suggestion to persist the chunks of Dask or to try a GPU; empty if there is none.
    memory, least_memory : int or None
        Bytes that this plan needs, and the smallest number of bytes that suffices for the requested
        strategy. For "auto", this may be that of a sweep. On a cluster both are for one task,
        otherwise for all tasks that run at once. None if the run loads the whole graph.
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


class Rule(NamedTuple):
    """If `applies(request)`, "auto" chooses `strategy` and reports `reason`."""

    applies: Callable[[Request], bool]
    strategy: str
    reason: str


#: "auto" chooses the strategy of the first rule that applies, or "two-scan" if workers cannot hold
#: its tasks.
RULES = (
    Rule(
        lambda run: run.alternatives.gives_fields and run.is_split,
        "iterate",
        "the run returns other fields",
    ),
    Rule(lambda run: run.alternatives.gives_fields, "whole", "the run returns other fields"),
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
        lambda run: run.alternatives.is_own and run.is_split,
        "iterate",
        "a custom pipeline may find something other than forests to merge",
    ),
    Rule(lambda run: not run.graph.is_in_memory, "two-scan", "the graph is streamed"),
    Rule(lambda run: run.is_split, "tree", "the graph is in memory, in partitions"),
    Rule(lambda run: True, "whole", "the graph is in memory"),
)


def plan(request: Request, rates: Rates | None = None) -> Plan:
    """Plan a run.

    Raises
    ------
    OptionError
        If options conflict with each other or with the graph.
    MemoryBoundError
        If the bound on memory is too low. The message states the smallest sufficient bound.
    WorkerError
        If a task does not fit on the smallest worker.
    """
    _check(request)
    strategy, reason = _choose(request)
    _check_strategy(request, strategy)
    decided = Plan(
        strategy,
        1 if STRATEGIES[strategy].is_single else request.partitions,
        reason=reason,
        scheduler=request.scheduler.name,
        algorithm=request.pipeline(strategy).name,
        backend=request.backend,
        capacity=request.graph.num_edges,
        advice=_advice(request),
    )
    if strategy == "tiles":
        return _tiled(decided, request)
    if strategy == "sweep":
        return _swept(decided, request, rates or Rates())
    if strategy == "whole" or (strategy == "iterate" and not _reduces_first(request)):
        return decided
    return _scanned(decided, request, rates or Rates())


def _choose(request: Request) -> tuple[str, str]:
    """Return the strategy of a run, and the reason for it."""
    if request.options.strategy != "auto":
        return request.options.strategy, "as asked"
    _, strategy, reason = next(rule for rule in RULES if rule.applies(request))
    problem = _exceeds_workers(request, strategy) if request.alternatives.finds_forest else ""
    return ("two-scan", problem) if problem else (strategy, reason)


def _advice(request: Request) -> str:
    graph, is_free = request.graph, request.options.backend == "auto"
    if graph.is_computed_again:
        return "Dask computes the chunks again for each scan; persist them first"
    is_on_host = graph.is_in_memory and request.backend != "cupy"
    return suggest_gpu(graph.num_edges) if is_free and is_on_host else ""


def _reduces_first(request: Request) -> bool:
    """Return whether partitions may be reduced to their forests before rounds run over them.

    They are if memory is bounded, or if rounds over all edges would use more than half of the
    workers' memory and the run returns only the forest.
    """
    memory, needed = request.scheduler.worker_memory, rounds_bytes(request.graph)
    fits = memory is None or 2 * needed <= memory * request.scheduler.workers
    is_bounded = request.options.bound is not None
    return is_bounded or (request.alternatives.finds_forest and not fits)


def _scanned(decided: Plan, request: Request, rates: Rates) -> Plan:
    """Add the capacity, the memory and the cost of a strategy that scans the graph to its plan."""
    graph, strategy = request.graph, decided.strategy
    if problem := _exceeds_workers(request, strategy):
        raise WorkerError(f"{problem}; start workers with more memory, or with fewer threads")
    scans = request.scans(strategy)
    least = scans.least_memory
    capacity, lowered = _capacity(request, scans)
    light = num_light(graph, capacity, scans.partitions) if scans.can_rescan else 0
    is_known = graph.num_edges < sys.maxsize and STRATEGIES[strategy].streams
    taken = scans.memory(min(capacity, graph.num_edges))
    may_sweep = request.options.strategy == "auto" and strategy == "two-scan" and request.may_sweep
    return replace(
        decided,
        reason=decided.reason + lowered,
        capacity=capacity,
        holds_forests=strategy == "iterate" and capacity < graph.num_edges,
        num_light=light,
        memory=max(taken, least),
        least_memory=min(least, request.sweep.least_memory) if may_sweep else least,
        estimate=cost_of_scans(scans, capacity, light, rates) if is_known else None,
    )


def _capacity(request: Request, scans: ScanMemory) -> tuple[int, str]:
    """Return the number of edges that a task may hold, and why the bound was lowered, if it was."""
    (bound, source), workers, lowered = request.bound, request.scheduler, ""
    if bound is None and workers.usual_memory is not None:
        bound = max(workers.usual_memory, scans.least_memory)
    elif bound is not None and workers.most_memory is not None and bound > workers.most_memory:
        bound = workers.most_memory
        lowered = f"; memory= is lowered to {show_bytes(bound)}, the share of the smallest worker"
    return scans.capacity(bound, source), lowered


def _exceeds_workers(request: Request, strategy: str) -> str:
    """Return why the smallest worker cannot hold a task; empty if it can, or if this is unknown."""
    most, is_whole = request.scheduler.most_memory, strategy == "whole"
    if most is None or strategy in ("sweep", "tiles"):
        return ""
    scans = request.scans(strategy)
    needed = rounds_bytes(request.graph) if is_whole else scans.least_memory
    if needed <= most:
        return ""
    limit = f"the smallest worker has {show_bytes(most)} for each of its threads"
    return f"a task of strategy {strategy!r} needs {show_bytes(needed)}, but {limit}"


def _swept(decided: Plan, request: Request, rates: Rates) -> Plan:
    """Add the capacity, memory and cost of the strategy "sweep" to its plan."""
    memory = request.sweep
    capacity = memory.capacity(*request.bound)
    return replace(
        decided,
        algorithm="kruskal",
        capacity=capacity,
        memory=max(memory.memory(capacity), memory.least_memory),
        least_memory=memory.least_memory,
        estimate=cost_of_sweep(memory, capacity, rates),
    )


def _tiled(decided: Plan, request: Request) -> Plan:
    """Add the memory of the strategy "tiles" to its plan."""
    graph, bound, memory = request.graph, request.options.bound, request.tiles_memory
    if bound is not None and bound < memory:
        purpose = f"for strategy 'tiles' with {graph.num_vertices:,} vertices"
        raise MemoryBoundError.of(bound, memory, purpose)
    capacity = graph.max_edges_after_tiles or 0
    return replace(decided, capacity=capacity, memory=memory, least_memory=memory)


def _check(request: Request) -> None:
    """Raise an OptionError if options conflict, whichever strategy "auto" would choose."""
    strategy, partitions = request.options.strategy, request.options.partitions or 1
    if strategy not in ("auto", *STRATEGIES):
        known = ", ".join(("auto", *STRATEGIES))
        raise OptionError(f"strategy {strategy!r} is not available; choose from: {known}")
    if strategy != "auto" and STRATEGIES[strategy].is_single and partitions > 1:
        raise OptionError(f"strategy {strategy!r} has one partition, not {partitions}")
    once = "a graph that can be read only once"
    if request.graph.is_read_once and (strategy not in ("auto", "fold") or partitions > 1):
        raise OptionError(f'{once} needs strategy="fold" with one partition')
    if request.graph.is_read_once and request.alternatives.gives_fields:
        raise OptionError(f"{once} gives only the field 'forest'; pass its chunks in a list")


def _check_strategy(request: Request, strategy: str) -> None:
    """Refuse options that the strategy does not support."""
    options, pipelines, chosen = request.options, request.alternatives, STRATEGIES[strategy]
    is_sweep = strategy == "sweep"
    problems = (
        (
            chosen.needs_grid and request.graph.max_edges_after_tiles is None,
            "needs a graph of mstflow.grid with its weights; choose another strategy",
        ),
        (
            pipelines.gives_fields and not chosen.gives_fields,
            "gives only the field 'forest'; choose whole or iterate",
        ),
        (is_sweep and pipelines.is_own, "does not run custom pipelines; choose another strategy"),
        (
            is_sweep and not request.scheduler.eager,
            "runs as one task; choose scheduler 'inline', or another strategy",
        ),
        (
            options.checkpoint is not None and not chosen.streams,
            "does not support checkpoint=; choose another strategy",
        ),
        (
            options.bound is not None and not chosen.is_bounded,
            "holds all edges and does not support memory=; choose another strategy",
        ),
    )
    for is_refused, problem in problems:
        if is_refused:
            raise OptionError(f"strategy {strategy!r} {problem}")
