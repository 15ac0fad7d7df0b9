"""The plan of a run: the decisions made before it starts, the reason for them, and their cost."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...errors import OptionError, WorkerError
from ...primitives import suggest_gpu
from ...runtime.host import show_bytes
from ..catalogue.strategies import STRATEGIES
from ..streaming.bounds import ScanMemory, check_bound, rounds_bytes
from .costs import Estimate, Rates, choose_num_light, cost_of_scans, cost_of_sweep
from .situation import Situation


@dataclass(frozen=True)
class Plan:
    """The decisions about a run."""

    strategy: str = "whole"
    partitions: int = 1
    #: The largest number of edges that a task holds.
    capacity: int = 0
    #: Why this strategy was chosen.
    reason: str = ""
    scheduler: str = "inline"
    algorithm: str = ""
    backend: str = ""
    #: Whether later scans take the edges that a scan skips.
    rescans: bool = False
    #: Whether each partition is reduced to its forest before rounds run over them.
    holds_forests: bool = False
    #: The number of light edges that the first scan takes; 0 for all edges.
    num_light: int = 0
    #: The bytes that this plan needs, and the smallest bound on memory for which a plan exists: for
    #: one task on a cluster, elsewhere for all tasks that run at once. None if the run loads the
    #: whole graph.
    memory: int | None = None
    least_memory: int | None = None
    #: The cost of a strategy that streams the graph; None for others, or if it is unknown.
    estimate: Estimate | None = None
    #: A suggestion to persist the chunks of Dask or to try a GPU; empty if there is none.
    advice: str = ""

    def __str__(self) -> str:
        scheduler = "" if self.scheduler == "inline" else f", on {self.scheduler}"
        reason = f": {self.reason}{scheduler}" if self.reason else ""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.strategy}{reason}{advice}"


class Rule(NamedTuple):
    """If `applies(situation)`, "auto" chooses `strategy` and reports `reason`."""

    applies: Callable[[Situation], bool]
    strategy: str
    reason: str


_FIELDS = "only whole and iterate return results other than the forest"
#: "auto" chooses the strategy of the first rule that applies, or "scan" if workers cannot hold its
#: tasks.
RULES = (
    Rule(lambda at: at.request.gives_fields and at.is_split, "iterate", _FIELDS),
    Rule(lambda at: at.request.gives_fields, "whole", _FIELDS),
    Rule(lambda at: at.graph.is_read_once, "scan", "the graph can be read only once"),
    Rule(lambda at: at.suits_tiles, "tiles", "the graph is a grid"),
    Rule(lambda at: at.needs_sweep, "sweep", "memory is bounded, and too small for scans"),
    Rule(lambda at: at.request.bound is not None, "scan", "memory is bounded"),
    Rule(
        lambda at: at.exceeds_device,
        "scan",
        "the graph is larger than the device's memory",
    ),
    Rule(
        lambda at: at.request.is_custom and at.is_split,
        "iterate",
        "the results of a custom pipeline cannot be merged: they may not be minimum forests",
    ),
    Rule(
        lambda at: at.request.checkpoint is not None and at.request.finds_forest,
        "scan",
        "the run keeps a checkpoint",
    ),
    Rule(
        lambda at: at.suits_one_worker and at.can_iterate,
        "whole",
        "one worker can hold all edges, and more would not be faster",
    ),
    Rule(
        lambda at: bool(at.workers_can_hold) and at.can_iterate,
        "iterate",
        "the workers can hold all edges",
    ),
    Rule(lambda at: not at.graph.is_in_memory, "scan", "the graph is streamed"),
    Rule(lambda at: at.is_split, "scan", "the graph is in memory, in partitions"),
    Rule(lambda at: True, "whole", "the graph is in memory"),
)


def plan(
    situation: Situation,
    rates: Rates = Rates(),  # noqa: B008  # immutable
) -> Plan:
    """Plan a run; raise an error if options conflict, or if memory is too small.

    If a bound on memory is too small, the error states the smallest one that is enough.
    """
    _check(situation)
    strategy, reason = _choose(situation)
    _check_strategy(situation, strategy)
    chosen = STRATEGIES[strategy]
    decided = Plan(
        strategy,
        1 if chosen.is_single else situation.partitions,
        reason=reason,
        scheduler=situation.workers.name,
        algorithm=chosen.algorithm or situation.pipeline(strategy).name,
        backend=situation.backend,
        capacity=situation.graph.num_edges,
        advice=_advice(situation),
    )
    if chosen.exchanges:
        return _plan_exchange(decided, situation, rates)
    holds_forests = bool(chosen.load_forests) and _reduces_first(situation)
    add_memory = _PLANNERS.get("scanner" if holds_forests else chosen.reader)
    return decided if add_memory is None else add_memory(decided, situation, rates)


def _choose(situation: Situation) -> tuple[str, str]:
    """Return the strategy of a run, and the reason for it."""
    if situation.request.strategy != "auto":
        return situation.requested.strategy, "requested by the option strategy"
    _, strategy, reason = next(rule for rule in RULES if rule.applies(situation))
    shortage = _worker_shortage(situation, strategy) if situation.request.finds_forest else ""
    return ("scan", shortage) if shortage else (strategy, reason)


def _advice(situation: Situation) -> str:
    """Return a suggestion to make the run faster; empty if there is none."""
    graph = situation.graph
    if graph.is_computed_again:
        return "Dask computes the chunks again for each scan; persist them first"
    may_move = situation.request.backend == "auto" and situation.backend != "cupy"
    return suggest_gpu(graph.num_edges) if graph.is_in_memory and may_move else ""


def _reduces_first(situation: Situation) -> bool:
    """Return whether partitions may be reduced to their forests before rounds run over them.

    They are reduced if memory is bounded, or if the run returns only the forest and the workers
    cannot hold all edges.
    """
    is_bounded = situation.request.bound is not None
    cannot_hold = situation.workers_can_hold is False
    return is_bounded or (situation.request.finds_forest and cannot_hold)


def _plan_scans(decided: Plan, situation: Situation, rates: Rates) -> Plan:
    """Add the capacity, the memory and the cost of a strategy that scans the graph to its plan.

    If later scans may take the edges that a scan skips, or need not, choose the faster way.
    """
    strategy = decided.strategy
    if shortage := _worker_shortage(situation, strategy):
        raise WorkerError(f"{shortage}; start workers with more memory, or with fewer threads")
    first, *others = (
        situation.scans(strategy, rescans=each) for each in _rescans(situation, strategy)
    )
    plans = [_plan_scan(decided, situation, rates, first)]
    bound = situation.bound_and_prefix[0] or situation.workers.max_memory
    plans += [
        _plan_scan(decided, situation, rates, scans)
        for scans in others
        if bound is None or scans.least_memory <= bound
    ]
    fastest = min(plans, key=lambda each: each.estimate.seconds if each.estimate else 0)
    return replace(fastest, least_memory=plans[0].least_memory)


def _rescans(situation: Situation, strategy: str) -> tuple[bool, ...]:
    """Return whether later scans take the edges that a scan skips; both values if a plan chooses.

    The first value needs the least memory.
    """
    if not STRATEGIES[strategy].streams or situation.graph.is_read_once:
        return (False,)
    requested = situation.requested.rescans
    return (True, False) if requested is None else (requested,)


def _plan_scan(decided: Plan, situation: Situation, rates: Rates, scans: ScanMemory) -> Plan:
    """Add the capacity, the memory and the cost of certain scans to a plan."""
    graph, strategy, least = situation.graph, decided.strategy, scans.least_memory
    capacity, lowered = _capacity(situation, scans)
    num_light = choose_num_light(graph, capacity, scans.partitions) if scans.can_rescan else 0
    is_size_known = graph.num_edges < sys.maxsize
    streams = STRATEGIES[strategy].streams
    needed = scans.memory(min(capacity, graph.num_edges))
    could_sweep = streams and situation.request.strategy == "auto" and situation.may_sweep
    return replace(
        decided,
        reason=decided.reason + lowered,
        capacity=capacity,
        rescans=scans.can_rescan,
        holds_forests=not streams and capacity < graph.num_edges,
        num_light=num_light,
        memory=max(needed, least),
        least_memory=min(least, situation.sweep.least_memory) if could_sweep else least,
        estimate=cost_of_scans(scans, capacity, num_light, rates)
        if is_size_known and streams
        else None,
    )


def _capacity(situation: Situation, scans: ScanMemory) -> tuple[int, str]:
    """Return the number of edges that a task may hold, and why the bound was lowered, if it was."""
    (bound, prefix), lowered = situation.bound_and_prefix, ""
    default, most = situation.workers.default_memory, situation.workers.max_memory
    if bound is None and default is not None:
        bound = max(default, scans.least_memory)
    elif bound is not None and most is not None and bound > most:
        bound = most
        lowered = f"; memory= is lowered to {show_bytes(most)}, the limit of the smallest worker"
    return scans.capacity(bound, prefix), lowered


def _worker_shortage(situation: Situation, strategy: str) -> str:
    """Return why the smallest worker cannot hold a task; empty if it can, or if this is unknown."""
    most = situation.workers.max_memory
    chosen = STRATEGIES[strategy]
    if most is None or chosen.needs_grid or chosen.is_one_task or chosen.exchanges:
        return ""
    if chosen.is_bounded:
        rescans = _rescans(situation, strategy)[0]
        needed = situation.scans(strategy, rescans=rescans).least_memory
    else:
        needed = rounds_bytes(situation.graph)
    if needed <= most:
        return ""
    limit = f"the smallest worker has {show_bytes(most)} for each of its threads"
    return f"a task of strategy {strategy!r} needs {show_bytes(needed)}, but {limit}"


def _plan_sweep(decided: Plan, situation: Situation, rates: Rates) -> Plan:
    """Add the capacity, memory and cost of the strategy "sweep" to its plan."""
    sweep = situation.sweep
    capacity = sweep.capacity(*situation.bound_and_prefix)
    return replace(
        decided,
        capacity=capacity,
        memory=sweep.memory(capacity),
        least_memory=sweep.least_memory,
        estimate=cost_of_sweep(sweep, capacity, rates),
    )


def _plan_tiles(decided: Plan, situation: Situation, _rates: Rates) -> Plan:
    """Add the capacity and the memory of the strategy "tiles" to its plan."""
    graph, bound, memory = situation.graph, situation.request.bound, situation.tiles_memory
    if bound is not None:
        check_bound(bound, memory, graph, decided.strategy)
    capacity = graph.edges_after_tiles or 0
    return replace(decided, capacity=capacity, memory=memory, least_memory=memory)


def _plan_exchange(decided: Plan, situation: Situation, rates: Rates) -> Plan:
    """Add the memory and the cost of the strategy "exchange" to its plan."""
    costs, workers = situation.ranks, situation.workers
    if workers.is_cluster:
        memory = costs.memory(1, 1)
    else:
        processes = workers.workers if workers.name == "processes" else 1
        memory = costs.memory(costs.ranks, processes)
    bound, prefix = situation.bound_and_prefix
    if bound is not None:
        check_bound(bound, memory, situation.graph, "exchange", costs.ranks, prefix)
    most = workers.max_memory
    if most is not None and memory > most:
        raise WorkerError(
            f"a rank needs {show_bytes(memory)}, but the smallest worker has {show_bytes(most)} "
            "for each of its threads; start more workers, or workers with more memory"
        )
    return replace(
        decided,
        capacity=-(-situation.graph.num_edges // costs.ranks),
        memory=memory,
        least_memory=memory,
        estimate=costs.estimate(workers.workers, rates),
    )


#: The function that adds the memory and the cost to a plan, by `Strategy.reader`.
_PLANNERS = {"scanner": _plan_scans, "sweeper": _plan_sweep, "tile_joiner": _plan_tiles}


def _check(situation: Situation) -> None:
    """Raise an OptionError if options conflict, whichever strategy "auto" would choose."""
    requested, partitions = situation.requested, situation.request.partitions or 1
    if requested.is_single and partitions > 1:
        strategy = situation.request.strategy
        raise OptionError(f"strategy {strategy!r} has one partition, not {partitions}")
    if not situation.graph.is_read_once:
        return
    once = "a graph that can be read only once"
    can_read = requested.strategy == "auto" or STRATEGIES[requested.strategy].reads_once
    if not can_read or partitions > 1:
        raise OptionError(f'{once} needs strategy="scan" with one partition')
    if situation.request.gives_fields:
        raise OptionError(f"{once} gives only the field 'forest'; pass its chunks in a list")


def _check_strategy(situation: Situation, strategy: str) -> None:
    """Raise an OptionError if the strategy does not support the graph or an option."""
    request, chosen = situation.request, STRATEGIES[strategy]
    problems = (
        (
            chosen.needs_grid and situation.graph.edges_after_tiles is None,
            "needs a graph of mstflow.grid with its weights; choose another strategy",
        ),
        (
            request.gives_fields and not chosen.gives_fields,
            "gives only the field 'forest'; choose whole or iterate",
        ),
        (
            bool(chosen.algorithm) and request.is_custom,
            "does not run custom pipelines; choose another strategy",
        ),
        (
            chosen.is_one_task and not situation.workers.eager,
            "runs as one task; choose scheduler 'inline', or another strategy",
        ),
        (
            request.checkpoint is not None and not (chosen.streams or chosen.exchanges),
            "does not support checkpoint=; choose another strategy",
        ),
        (
            request.checkpoint is not None and chosen.exchanges and not situation.workers.is_remote,
            "supports checkpoint= on a cluster, and with scheduler 'processes'; choose one, or "
            "another strategy",
        ),
        (
            request.bound is not None and not chosen.is_bounded,
            "holds all edges and does not support memory=; choose another strategy",
        ),
    )
    for is_refused, problem in problems:
        if is_refused:
            raise OptionError(f"strategy {strategy!r} {problem}")
