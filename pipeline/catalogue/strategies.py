"""The strategies: dataflows that find the forest of a graph.

"whole", "iterate" and "tiles" load edges, and then run an algorithm on them. "scan" runs an
algorithm on the edges in the buffer of each scan. "sweep" removes the vertices in ranges, and
"exchange" divides them among ranks. The modules of `stages.strategies` explain the steps.

The input of a strategy is the field `source`, and that of a `Pipeline` is the field `edges`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ...errors import OptionError
from ...stages import Stage, edges, fragments
from ...stages.fields import Columns, Count, DType, Verdict, field_of
from ...stages.strategies import load, scan, sweep, tiles
from ...stages.strategies.readers import Scanner, Source, Sweeper, TileJoiner
from ..dataflow import Dataflow, FieldState
from ..steps import ADDED, Loop, Step, needed_before
from .exchange import EXCHANGE_STEPS, EXCHANGE_VALUES

_COUNT = FieldState(field_of(Count))
_SOURCE = FieldState(field_of(Source), in_partitions=True)

#: The initial fields of every pipeline and every strategy.
COMMON_FIELDS = {
    "num_vertices": _COUNT,
    "num_edges": _COUNT,
    "num_partitions": _COUNT,
    "maximum": FieldState(field_of(Verdict)),
    "forest": FieldState(ADDED),
}
#: The initial fields of every strategy, without the graph.
_STRATEGY_FIELDS = {
    **COMMON_FIELDS,
    "weight_dtype": FieldState(field_of(DType)),
    "unsigned": FieldState(field_of(Verdict)),
    "first_edge": _COUNT,  # the id of the first edge of the graph
    "scanner": FieldState(field_of(Scanner)),
    "tile_joiner": FieldState(field_of(TileJoiner)),
    "sweeper": FieldState(field_of(Sweeper)),
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

#: The initial fields of "scan".
_SCAN_FIELDS = {
    **_STRATEGY_FIELDS,
    "source": _SOURCE,
    "num_edges": FieldState(field_of(Count | None)),  # None for an iterator
    "num_light": _COUNT,  # the number of edges that the first scan takes; 0 for all
}


@functools.cache
def _scan_flow(*, rescans: bool, with_weights: bool) -> Dataflow:
    """Return the dataflow of the strategy "scan".

    With `rescans`, it samples the weights, and later scans take the edges that a scan skips. With
    `with_weights`, it also returns the ids and weights of the forest, unsorted.
    """
    weights = (scan.collect_weights,) if with_weights else ()
    one_scan = (scan.scan_partition, scan.finish_forest, scan.collect_forest, *weights)
    scans: tuple[Step, ...] = one_scan
    summary = "read the partitions block by block, and merge their forests"
    if rescans:
        again = Loop(scan.join_fragments, scan.raise_limit, *one_scan, until=scan.no_edge_skipped)
        scans = (scan.sample_weights, scan.choose_limit, *one_scan, again)
        summary += "; scan again if needed"
    steps = (scan.start_scans, *scans, fragments.sort_forest_ids)
    result = ("forest", "weighed", "weights") if with_weights else ("forest",)
    none = dict.fromkeys(("labels", "limit", "weighed", "weights"))  # before the first scan
    return Dataflow("scan", steps, result, none, _SCAN_FIELDS, summary)


_SCAN = _scan_flow(rescans=True, with_weights=False)

_SWEEP = Dataflow(
    "sweep",
    (
        sweep.deal_to_buckets,
        Loop(sweep.join_range, sweep.find_hooks, sweep.replace_by_hooks, until=sweep.is_last_range),
        sweep.join_range,
        sweep.read_forest,
    ),
    ("forest",),
    {},
    {"source": FieldState(_SOURCE.field), **_STRATEGY_FIELDS},  # the graph is not split
    "write the edges to buckets on disk, and remove one range of vertices after another",
)


_EXCHANGE = Dataflow(
    "exchange",
    (*_LOAD, *EXCHANGE_STEPS, fragments.sort_forest_ids),
    ("forest",),
    EXCHANGE_VALUES,
    {
        **_STRATEGY_FIELDS,
        "source": _SOURCE,
        "rank": replace(_COUNT, in_partitions=True),  # the number of the partition
        "few": _COUNT,  # the number of edges that one rank joins
    },
    "divide the vertices among the partitions, which exchange their lightest edges",
)


class Strategy(NamedTuple):
    """A strategy, and the properties by which the planner chooses it."""

    #: One line; {} stands for the name of the algorithm.
    summary: str
    #: The stages before the algorithm, if the strategy loads edges and then runs an algorithm.
    load: tuple[Stage, ...] = ()
    #: Those that load only the forest of each partition, if memory is bounded.
    load_forests: tuple[Stage, ...] = ()
    #: The dataflow of any other strategy.
    flow: Dataflow | None = None
    #: The field with which tasks read their partition; empty if they load it.
    reader: str = ""
    #: Whether it reads the graph in blocks, and supports checkpoints.
    streams: bool = False
    #: Whether it can read a graph that can be read only once.
    reads_once: bool = False
    #: The algorithm that it always runs; empty if it runs any.
    algorithm: str = ""
    #: Whether it needs the graph in one partition, and runs as one task in the calling thread.
    is_single: bool = False
    is_one_task: bool = False
    #: Whether it supports a bound on memory.
    is_bounded: bool = True
    #: Whether it can return other fields than the forest.
    gives_fields: bool = False
    #: Whether it needs a graph of `mstflow.grid`.
    needs_grid: bool = False
    #: Whether its partitions exchange values, so that each is a rank. Ranks in several processes
    #: support checkpoints.
    exchanges: bool = False


STRATEGIES = {
    "whole": Strategy(
        "load the edges, and run {} on one partition",
        _LOAD,
        is_single=True,
        is_bounded=False,
        gives_fields=True,
    ),
    "scan": Strategy(_SCAN.summary, flow=_SCAN, reader="scanner", streams=True, reads_once=True),
    "sweep": Strategy(
        _SWEEP.summary,
        flow=_SWEEP,
        reader="sweeper",
        streams=True,
        algorithm="kruskal",
        is_single=True,
        is_one_task=True,
    ),
    "iterate": Strategy(
        "load the edges, and run {} on all partitions", _LOAD, _LOAD_FORESTS, gives_fields=True
    ),
    "tiles": Strategy(
        "join the vertices inside the tiles of a grid, and run {} on the edges that remain",
        _TILES,
        reader="tile_joiner",
        needs_grid=True,
    ),
    "exchange": Strategy(
        _EXCHANGE.summary, flow=_EXCHANGE, algorithm="filter-boruvka", exchanges=True
    ),
}


class Variant(NamedTuple):
    """A strategy with settings that a plan otherwise chooses."""

    strategy: str
    #: Whether later scans take the edges that a scan skips; None if the plan chooses.
    rescans: bool | None = None
    is_single: bool = False


#: Names for "scan" with certain settings.
ALIASES = {
    "fold": Variant("scan", rescans=False, is_single=True),
    "tree": Variant("scan", rescans=False),
    "two-scan": Variant("scan", rescans=True),
}


def variant(name: str) -> Variant:
    """Return the strategy of this name, or with the settings for which this name stands.

    Raises
    ------
    OptionError
        If the name is unknown. Lists the strategies.
    """
    if name not in STRATEGIES and name not in ALIASES:
        raise OptionError(f"strategy {name!r} is not known; choose from: {', '.join(STRATEGIES)}")
    return ALIASES.get(name) or Variant(name, is_single=STRATEGIES[name].is_single)


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
    strategy: str,
    pipeline: Dataflow,
    *,
    holds_forests: bool = False,
    rescans: bool = True,
    with_weights: bool = False,
) -> Dataflow:
    """Return the dataflow of a strategy. If it loads the partitions, the pipeline runs on them.

    With `holds_forests`, it loads only the forest of each partition. Without `rescans`, a strategy
    that scans takes all edges in the first scan. With `with_weights`, it also returns the ids and
    weights of the forest, unsorted.
    """
    chosen = STRATEGIES[strategy]
    if chosen.flow is _SCAN:
        return _scan_flow(rescans=rescans, with_weights=with_weights)
    if chosen.flow is not None:
        return chosen.flow
    first = chosen.load_forests if holds_forests else chosen.load
    return _extended(pipeline, strategy, chosen.summary.format(pipeline.name), "source", first)


def _extended(
    pipeline: Dataflow, name: str, summary: str, read: str, first: tuple[Stage, ...]
) -> Dataflow:
    """Return a pipeline after the stages `first`, which read the field `read`.

    The last stage, `sort_forest_ids`, converts the field `forest` to a sorted array of edge ids. It
    is omitted if the pipeline has no result `forest`, or writes such an array itself.
    """
    flows = _flows.setdefault(pipeline, {})
    if (name, first) not in flows:
        is_chosen = pipeline.fields_written.get("forest", ADDED) == ADDED
        result = ("forest",) if read == "columns" else pipeline.result
        last = (fragments.sort_forest_ids,) if "forest" in result and is_chosen else ()
        steps = (*_without_unused_keys(first, pipeline), *pipeline.steps, *last)
        graph = _SOURCE if read == "source" else FieldState(field_of(Columns), in_partitions=True)
        inputs = {read: graph, **_STRATEGY_FIELDS}
        flows[name, first] = Dataflow(name, steps, result, pipeline.values, inputs, summary)
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
