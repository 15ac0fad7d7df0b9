"""The seven strategies. Each is a sequence of stages that finds the forest of a graph.

"whole" and "iterate" load the partitions of the graph, and then run an algorithm on them.

"fold", "tree" and "two-scan" read each partition block by block into a buffer. This is called a
scan. When the buffer is full, "fold" and "tree" compute the forest of its edges and keep only this
forest. "two-scan" keeps the lighter half of the buffer, and reads the graph again for the rest.

"sweep" writes the edges to files, and removes the vertices in ranges. It needs the least memory.

"tiles" joins the vertices inside the tiles of a grid first, and then runs an algorithm on the edges
that remain.

A `Dataflow` is a sequence of stages with declared inputs. A `Pipeline` is a `Dataflow` whose input
is `edges`; a strategy is a `Dataflow` whose input is the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...errors import OptionError
from ...stages import Stage, edges, fragments
from ...stages.fields import COLUMNS, Field
from ...stages.strategies import load, scan, sweep, tiles
from ..dataflow import Dataflow, FieldState
from ..steps import Loop, Step, needed_before

if TYPE_CHECKING:
    from collections.abc import Sequence

_COUNT = FieldState(Field("", "count"))
_COUNT_IF_KNOWN = FieldState(Field("", "count", optional=True))
_SOURCE = FieldState(Field("", "source"), in_partitions=True)

#: The fields that exist before the first stage of every pipeline.
SHARED = {
    "num_vertices": _COUNT,
    "num_edges": _COUNT,
    "maximum": FieldState(Field("", "verdict")),
    "forest": FieldState(Field("", "chosen")),
}
#: The fields that exist before the first stage of every strategy.
_SHARED = {
    **SHARED,
    "weight_dtype": FieldState(Field("", "dtype")),
    "unsigned": FieldState(Field("", "verdict")),
    "first_edge": _COUNT,  # the id of the first edge of the graph
    "scanner": FieldState(Field("", "scanner")),
    "tile_joiner": FieldState(Field("", "tile joiner")),
    "sweeper": FieldState(Field("", "sweeper")),
}

#: The stages that compute keys from weights. They write the field `edges`.
_COMPUTE_KEYS = (edges.find_signs, edges.choose_weight_order, edges.order_weights)

#: The first stages of "whole", and of "iterate" without a bound on memory.
_LOAD = (load.load_partition, *_COMPUTE_KEYS)

#: The first stages of "iterate" if there is a bound on memory.
_LOAD_FORESTS = (load.load_forest, *_COMPUTE_KEYS, edges.count_edges)

#: The first stages of "tiles".
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

#: The fields that exist before the first stage of "fold", "tree" and "two-scan".
_SCANNED = {
    **_SHARED,
    "source": _SOURCE,
    "num_edges": _COUNT_IF_KNOWN,  # None if the graph is an iterator
    "num_light": _COUNT,  # the number of edges that the first scan takes; 0 for all
    "num_partitions": _COUNT,
    "labels": FieldState(Field("", "index", optional=True)),  # None before the first scan
    "limit": FieldState(Field("", "limit", optional=True)),
}


def _scanning(name: str, summary: str, *steps: Step) -> Dataflow:
    """Return a strategy that consists of scans."""
    steps = (scan.start_scans, *steps, fragments.sort_forest_ids)
    first = {"labels": None, "limit": None}
    return Dataflow(name, steps, _SCANNED, ("forest",), summary, first)


fold = _scanning(
    "fold",
    "read the edges block by block, and replace a full buffer by its forest",
    *_SCAN,
)

tree = _scanning("tree", "compute the forest of each partition, and merge these forests", *_SCAN)

two_scan = _scanning(
    "two-scan",
    "scan for the lightest edges, then for edges that join two fragments",
    scan.sample_weights,
    scan.choose_limit,
    *_SCAN,
    Loop(scan.join_fragments, scan.raise_limit, *_SCAN, until=scan.nothing_left_out),
)

sweeping = Dataflow(
    "sweep",
    (
        sweep.deal_to_buckets,
        Loop(sweep.join_range, sweep.find_hooks, sweep.hand_over, until=sweep.is_last_range),
        sweep.join_range,
        sweep.read_forest,
    ),
    {"source": FieldState(_SOURCE.field), **_SHARED},  # the only partition
    ("forest",),
    "write the edges to buckets on disk, and remove one range of vertices after another",
    {},
)

SCANNING = {flow.name: flow for flow in (fold, tree, two_scan)}
_READING = {**SCANNING, "sweep": sweeping}
STRATEGIES = ("whole", *_READING, "iterate", "tiles")

_SUMMARIES = {
    "whole": "load the edges, and run {} on one partition",
    "iterate": "load the edges, and run {} on all partitions",
    "tiles": "join the vertices inside the tiles of a grid, and run {} on the edges that remain",
}

#: The fields that exist before the first step of a pipeline.
OF_EVERY_RUN = frozenset(
    name for stage in (*_LOAD, *_LOAD_FORESTS) for name in (*stage.reads, *stage.writes)
)

#: For each pipeline, the dataflows that `_extended` built. Building and checking a dataflow takes
#: longer than solving a small graph.
_built: WeakKeyDictionary[Dataflow, dict[Any, Dataflow]] = WeakKeyDictionary()


def from_columns(pipeline: Dataflow) -> Dataflow:
    """Return a dataflow that runs a pipeline on `columns`: arrays u, v, weight and edge_id.

    Scans use it to find the forest of the edges in their buffer.
    """
    return _extended(pipeline, pipeline.name, pipeline.summary, "columns", _COMPUTE_KEYS)


def strategy_flow(strategy: str, pipeline: Dataflow, *, holds_forests: bool = False) -> Dataflow:
    """Return a strategy; if it loads the partitions, it then runs the pipeline on them."""
    if strategy in _READING:
        return _READING[strategy]
    if strategy not in STRATEGIES:
        raise OptionError(
            f"strategy {strategy!r} is not known; choose from: {', '.join(STRATEGIES)}"
        )
    first = _TILES if strategy == "tiles" else _LOAD_FORESTS if holds_forests else _LOAD
    summary = _SUMMARIES[strategy].format(pipeline.name)
    return _extended(pipeline, strategy, summary, "source", first)


def _extended(
    pipeline: Dataflow, name: str, summary: str, read: str, first: tuple[Stage, ...]
) -> Dataflow:
    """Return a pipeline with the stages `first`, which read a field, before it.

    The stage `sort_forest_ids` after it converts the field `forest` to a sorted array of edge ids.
    It is omitted if the pipeline has no result `forest`, or if a stage of the pipeline already
    returns such an array.
    """
    flows = _built.setdefault(pipeline, {})
    if (name, first) not in flows:
        writers = [stage for stage in pipeline.stages() if "forest" in stage.writes]
        is_chosen = all(stage.writes["forest"].kind == "chosen" for stage in writers)
        result = ("forest",) if read == "columns" else pipeline.result
        last = (fragments.sort_forest_ids,) if "forest" in result and is_chosen else ()
        steps = (*_without_unused_keys(first, pipeline), *pipeline.steps, *last)
        given = _SOURCE if read == "source" else FieldState(COLUMNS, in_partitions=True)
        inputs = {read: given, **_SHARED}
        flows[name, first] = Dataflow(name, steps, inputs, result, summary, pipeline.values)
    return flows[name, first]


def _without_unused_keys(first: Sequence[Stage], pipeline: Dataflow) -> list[Stage]:
    """Return the stages `first`. Drop those that compute keys if no later stage reads a key."""
    needed = set(needed_before(pipeline.steps, frozenset(pipeline.result)))
    kept: list[Stage] = []
    for stage in reversed(first):
        if stage not in _COMPUTE_KEYS or not needed.isdisjoint(stage.writes):
            kept.insert(0, stage)
            needed.update(stage.reads)
    return kept
