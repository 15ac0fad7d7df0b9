"""The five strategies as dataflows: from the partitions of a graph to its forest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..stages.edges import choose_weight_order, count_edges, find_signs, order_weights
from ..stages.fields import ANYTHING, Field
from ..stages.fragments import list_forest
from .check import Known
from .dataflow import Dataflow
from .run.partitions import load_partition
from .steps import Loop
from .streaming.scan import (
    choose_limit,
    collect_forest,
    finish_forest,
    hold_forest,
    join_fragments,
    nothing_left_out,
    sample_weights,
    scan_partition,
    start_scans,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..stages import Stage
    from .steps import Step

#: The shared fields that every strategy starts from.
SHARED = {
    "num_vertices": Known(Field("", "count")),
    "num_edges": Known(Field("", "count")),
    "maximum": Known(Field("", "verdict")),
    "weight_dtype": Known(ANYTHING),
    "forest": Known(Field("", "chosen")),
}
IN_PARTITIONS = Known(ANYTHING, in_partitions=True)


#: The steps from `columns` to the fields `edges` and `weight_order` of a pipeline.
TO_KEYS = (find_signs, choose_weight_order, order_weights)

#: The first steps of "whole" and "iterate".
LOAD = (load_partition, *TO_KEYS)

_COUNT = Known(Field("", "count"))
#: The initial fields of scans; see `scan.scan_partition`.
_SCANNED = {
    **SHARED,
    "source": IN_PARTITIONS,
    "num_edges": Known(ANYTHING),  # None for an iterator
    "solver": Known(ANYTHING),
    "capacity": _COUNT,
    "can_rescan": Known(Field("", "verdict")),
    "first_edge": _COUNT,
    "num_light": _COUNT,
    "num_partitions": _COUNT,
}

#: One scan of all partitions, whose forests are merged in a tree.
SCAN = (scan_partition, finish_forest, collect_forest)


def _scanning(name: str, *steps: Step, summary: str, **values: None) -> Dataflow:
    return Dataflow(name, (*steps, list_forest), _SCANNED, ("forest",), summary, values)


fold = _scanning(
    "fold",
    start_scans,
    *SCAN,
    summary="one partition, read block by block; a full buffer is replaced by its forest",
    labels=None,
    limit=None,
)

tree = _scanning(
    "tree",
    start_scans,
    *SCAN,
    summary="a forest of each partition, merged in a tree",
    labels=None,
    limit=None,
)

two_scan = _scanning(
    "two-scan",
    start_scans,
    sample_weights,
    choose_limit,
    *SCAN,
    Loop(join_fragments, *SCAN, until=nothing_left_out),
    summary="the lightest edges first, then those that join the remaining fragments",
    labels=None,
)

#: The first steps of "iterate" if the memory does not hold all edges.
HOLD = (hold_forest, *TO_KEYS, count_edges)

SCANNING = {flow.name: flow for flow in (fold, tree, two_scan)}

#: The dataflows made of each pipeline: to make and check one takes longer than a small graph.
_framed_of: WeakKeyDictionary[Dataflow, dict[Any, Dataflow]] = WeakKeyDictionary()


def from_columns(pipeline: Dataflow) -> Dataflow:
    """Return a dataflow from the field `columns` to the forest of a pipeline."""
    flows = _framed_of.setdefault(pipeline, {})
    if TO_KEYS not in flows:
        inputs = {"columns": IN_PARTITIONS, **SHARED}
        flow = _framed(pipeline.name, pipeline, pipeline.summary, inputs, TO_KEYS)
        flows[TO_KEYS] = replace(flow, result=("forest",))
    return flows[TO_KEYS]


def from_partitions(strategy: str, pipeline: Dataflow, *first: Stage) -> Dataflow:
    """Return a strategy: the stages `first`, which read the partitions, and then a pipeline."""
    flows = _framed_of.setdefault(pipeline, {})
    if (strategy, first) not in flows:
        where = "one partition" if strategy == "whole" else "all partitions"
        summary = f"every round of {pipeline.name} over {where}"
        inputs = {"source": IN_PARTITIONS, **SHARED}
        reads = first[0].reads.items()
        inputs |= {name: Known(field) for name, field in reads if name not in inputs}
        flows[strategy, first] = _framed(strategy, pipeline, summary, inputs, first)
    return flows[strategy, first]


def _framed(
    name: str, pipeline: Dataflow, summary: str, inputs: Mapping[str, Known], first: Sequence[Stage]
) -> Dataflow:
    """Return the stages `first`, a pipeline, and the stage that lists the chosen edges."""
    kinds = {stage.writes["forest"].kind for stage in pipeline.stages() if "forest" in stage.writes}
    last = (list_forest,) if "forest" in pipeline.result and kinds <= {"chosen"} else ()
    steps = (*first, *pipeline.steps, *last)
    return Dataflow(name, steps, inputs, pipeline.result, summary, pipeline.values)
