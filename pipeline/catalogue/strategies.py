"""The strategies: dataflows that find the forest of a graph.

"whole", "iterate" and "tiles" load edges, and then run an algorithm on them. "fold", "tree" and
"two-scan" consist of scans, which run an algorithm on the edges in their buffer. "sweep" removes
the vertices in ranges, and "exchange" divides them among ranks. The modules of `stages.strategies`
explain the steps.

The input of a strategy is the field `source`, and that of a `Pipeline` is the field `edges`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ...errors import OptionError
from ...stages import Stage, edges, fragments
from ...stages.fields import COLUMNS, Field
from ...stages.strategies import load, scan, sweep, tiles
from ..dataflow import Dataflow, FieldState
from ..steps import CHOSEN, Loop, Step, needed_before
from .exchange import EXCHANGE_STEPS, EXCHANGE_VALUES

_COUNT = FieldState(Field("", "count"))
_SOURCE = FieldState(Field("", "source"), in_partitions=True)

#: The initial fields of every pipeline and every strategy.
COMMON_FIELDS = {
    "num_vertices": _COUNT,
    "num_edges": _COUNT,
    "maximum": FieldState(Field("", "verdict")),
    "forest": FieldState(CHOSEN),
}
#: The initial fields of every strategy, without the graph.
_STRATEGY_FIELDS = {
    **COMMON_FIELDS,
    "weight_dtype": FieldState(Field("", "dtype")),
    "unsigned": FieldState(Field("", "verdict")),
    "first_edge": _COUNT,  # the id of the first edge of the graph
    "scanner": FieldState(Field("", "scanner")),
    "tile_joiner": FieldState(Field("", "tile joiner")),
    "sweeper": FieldState(Field("", "sweeper")),
}

#: The stages that compute keys from the weights of `columns`, and write `edges`.
_COMPUTE_KEYS = (edges.find_signs, edges.choose_weight_order, edges.order_weights)

#: The stages before the algorithm in "whole", and in "iterate" without a bound on memory.
_LOAD = (load.load_partition, *_COMPUTE_KEYS)

#: The stages before the algorithm in "iterate" with a bound on memory.
_LOAD_FORESTS = (load.load_forest, *_COMPUTE_KEYS, edges.count_edges)

#: The stages before the algorithm in "tiles".
_TILES = (
    tiles.join_tiles,
    tiles.relabel_remaining,
    load.sort_by_id,
    fragments.contract_fragments,
    *_COMPUTE_KEYS,
    edges.count_edges,
)

#: One scan: read the partitions, and merge their forests.
_SCAN = (scan.scan_partition, scan.finish_forest, scan.collect_forest)

#: The initial fields of "fold", "tree" and "two-scan".
_SCAN_FIELDS = {
    **_STRATEGY_FIELDS,
    "source": _SOURCE,
    "num_edges": FieldState(Field("", "count", optional=True)),  # None for an iterator
    "num_light": _COUNT,  # the number of edges that the first scan takes; 0 for all
    "num_partitions": _COUNT,
}


def _scan_strategy(name: str, summary: str, *steps: Step) -> Dataflow:
    """Return a strategy that consists of scans."""
    steps = (scan.start_scans, *steps, fragments.sort_forest_ids)
    none = dict.fromkeys(("labels", "limit", "weighed", "weights"))  # before the first scan
    return Dataflow(name, steps, _SCAN_FIELDS, ("forest",), summary, none)


def _scan_strategies(*after_scan: Stage) -> dict[str, Dataflow]:
    """Return the strategies that scan, with further stages after each scan."""
    one_scan = (*_SCAN, *after_scan)
    flows = (
        _scan_strategy(
            "fold",
            "read the edges block by block, and replace a full buffer by its forest",
            *one_scan,
        ),
        _scan_strategy(
            "tree", "compute the forest of each partition, and merge these forests", *one_scan
        ),
        _scan_strategy(
            "two-scan",
            "scan for the lightest edges, then for edges that join two fragments",
            scan.sample_weights,
            scan.choose_limit,
            *one_scan,
            Loop(scan.join_fragments, scan.raise_limit, *one_scan, until=scan.no_edge_skipped),
        ),
    )
    return {flow.name: flow for flow in flows}


_SCANS = _scan_strategies()
#: The same strategies, which also return the ids and weights of the forest, unsorted.
_SCANS_WITH_WEIGHTS = {
    name: replace(flow, result=("forest", "weighed", "weights"))
    for name, flow in _scan_strategies(scan.collect_weights).items()
}

_SWEEP = Dataflow(
    "sweep",
    (
        sweep.deal_to_buckets,
        Loop(sweep.join_range, sweep.find_hooks, sweep.replace_by_hooks, until=sweep.is_last_range),
        sweep.join_range,
        sweep.read_forest,
    ),
    {"source": FieldState(_SOURCE.field), **_STRATEGY_FIELDS},  # the graph is not split
    ("forest",),
    "write the edges to buckets on disk, and remove one range of vertices after another",
    {},
)


_EXCHANGE = Dataflow(
    "exchange",
    (*_LOAD, *EXCHANGE_STEPS, fragments.sort_forest_ids),
    {
        **_STRATEGY_FIELDS,
        "source": _SOURCE,
        "rank": replace(_COUNT, in_partitions=True),  # the number of the partition
        "few": _COUNT,  # the number of edges that one rank joins
        "num_partitions": _COUNT,
    },
    ("forest",),
    "divide the vertices among the partitions, which exchange their lightest edges",
    EXCHANGE_VALUES,
)


class Strategy(NamedTuple):
    """A strategy, and the properties by which the planner chooses it."""

    #: The dataflow. If an algorithm is a part of it, this is the summary, with {} for the name of
    #: the algorithm.
    flow: Dataflow | str
    #: Whether it reads the graph in blocks, and supports checkpoints.
    streams: bool = False
    #: The algorithm that it always runs; empty if it runs any.
    algorithm: str = ""
    #: Whether later scans take the edges that a scan skips.
    rescans: bool = False
    #: Whether it needs the graph in one partition.
    is_single: bool = False
    #: Whether it supports a bound on memory.
    is_bounded: bool = True
    #: Whether it can return other fields than the forest.
    gives_fields: bool = False
    #: Whether it needs a graph of `mstflow.grid`.
    needs_grid: bool = False
    #: Whether its partitions exchange values, so that each is a rank.
    exchanges: bool = False


STRATEGIES = {
    "whole": Strategy(
        "load the edges, and run {} on one partition",
        is_single=True,
        is_bounded=False,
        gives_fields=True,
    ),
    "fold": Strategy(_SCANS["fold"], streams=True, is_single=True),
    "tree": Strategy(_SCANS["tree"], streams=True),
    "two-scan": Strategy(_SCANS["two-scan"], streams=True, rescans=True),
    "sweep": Strategy(_SWEEP, streams=True, algorithm="kruskal", is_single=True),
    "iterate": Strategy("load the edges, and run {} on all partitions", gives_fields=True),
    "tiles": Strategy(
        "join the vertices inside the tiles of a grid, and run {} on the edges that remain",
        needs_grid=True,
    ),
    "exchange": Strategy(_EXCHANGE, algorithm="filter-boruvka", exchanges=True),
}

#: The names of the fields of `_LOAD` and `_LOAD_FORESTS`, which run before a pipeline.
RESERVED_NAMES = frozenset(
    name for stage in (*_LOAD, *_LOAD_FORESTS) for name in (*stage.reads, *stage.writes)
)

#: The results of `_extended` for each pipeline. Building and checking a dataflow takes longer than
#: solving a small graph.
_flows: WeakKeyDictionary[Dataflow, dict[Any, Dataflow]] = WeakKeyDictionary()


def from_columns(pipeline: Dataflow) -> Dataflow:
    """Return a dataflow that runs a pipeline on `columns`: arrays u, v, weight and edge_id.

    Scans use it to find the forest of the edges in their buffer.
    """
    return _extended(pipeline, pipeline.name, pipeline.summary, "columns", _COMPUTE_KEYS)


def strategy_flow(
    strategy: str, pipeline: Dataflow, *, holds_forests: bool = False, with_weights: bool = False
) -> Dataflow:
    """Return the dataflow of a strategy. If it loads the partitions, the pipeline runs on them.

    With `holds_forests`, "iterate" loads only the forest of each partition. With `with_weights`,
    a strategy that scans also returns the ids and weights of the forest, unsorted.
    """
    if strategy not in STRATEGIES:
        raise OptionError(
            f"strategy {strategy!r} is not known; choose from: {', '.join(STRATEGIES)}"
        )
    flow = STRATEGIES[strategy].flow
    if isinstance(flow, Dataflow):
        return _SCANS_WITH_WEIGHTS.get(strategy, flow) if with_weights else flow
    first = _TILES if strategy == "tiles" else _LOAD_FORESTS if holds_forests else _LOAD
    return _extended(pipeline, strategy, flow.format(pipeline.name), "source", first)


def _extended(
    pipeline: Dataflow, name: str, summary: str, read: str, first: tuple[Stage, ...]
) -> Dataflow:
    """Return a pipeline after the stages `first`, which read the field `read`.

    The last stage, `sort_forest_ids`, converts the field `forest` to a sorted array of edge ids. It
    is omitted if the pipeline has no result `forest`, or writes such an array itself.
    """
    flows = _flows.setdefault(pipeline, {})
    if (name, first) not in flows:
        is_chosen = pipeline.fields_written.get("forest", CHOSEN) == CHOSEN
        result = ("forest",) if read == "columns" else pipeline.result
        last = (fragments.sort_forest_ids,) if "forest" in result and is_chosen else ()
        steps = (*_without_unused_keys(first, pipeline), *pipeline.steps, *last)
        graph = _SOURCE if read == "source" else FieldState(COLUMNS, in_partitions=True)
        inputs = {read: graph, **_STRATEGY_FIELDS}
        flows[name, first] = Dataflow(name, steps, inputs, result, summary, pipeline.values)
    return flows[name, first]


def _without_unused_keys(first: Sequence[Stage], pipeline: Dataflow) -> list[Stage]:
    """Return the stages `first`, without those that compute keys if no later stage reads keys."""
    needed = set(needed_before(pipeline.steps, frozenset(pipeline.result)))
    kept: list[Stage] = []
    for stage in reversed(first):
        if stage not in _COMPUTE_KEYS or not needed.isdisjoint(stage.writes):
            kept.insert(0, stage)
            needed.update(stage.reads)
    return kept
