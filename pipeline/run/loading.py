"""The strategies over edges at hand: load partitions, order weights, run a pipeline's steps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from ...primitives.vocabulary import ArrayModule
from ...stages.declare import Stage, stage
from ...stages.edges import choose_weight_order, find_signs, order_weights
from ...stages.fields import ANYTHING, Columns, Count, Field
from ...stages.fragments import list_forest
from ..check import Known
from ..dataflow import Dataflow
from .partitions import as_index, read_only

#: What every strategy starts from, beside what lies in its partitions.
SHARED = {
    "num_vertices": Known(Field("", "count")),
    "num_edges": Known(Field("", "count")),
    "maximum": Known(Field("", "verdict")),
    "weight_dtype": Known(ANYTHING),
    "forest": Known(Field("", "chosen")),
}
IN_PARTITIONS = Known(ANYTHING, in_partitions=True)


#: From columns as they are read to the field `edges` of a pipeline.
TO_KEYS = (find_signs, choose_weight_order, order_weights)


@stage(writes="columns")
def load_partition(ops: ArrayModule, source: Any, num_edges: Count) -> Columns:
    """Read a partition into arrays.

    Edge ids are of the smaller index dtype that holds them; vertex ids of 32 or 64 bits are taken
    as they are.
    """
    u, v, weight = map(ops.asarray, source.columns())
    stop = source.first_id + len(u)
    edge_id = ops.consecutive(source.first_id, len(u), ops.index_dtype(max(num_edges, stop)))
    u, v = (as_index(ids, source.num_vertices or 0) for ids in (u, v))
    return Columns(read_only(u), read_only(v), read_only(weight), edge_id)


#: The strategies of each pipeline that lives: to put one together takes longer than small graphs.
_framed_of: WeakKeyDictionary[Dataflow, dict[Any, Dataflow]] = WeakKeyDictionary()


def from_columns(pipeline: Dataflow) -> Dataflow:
    """Return a pipeline that finds the forest of edges whose weights are no keys yet."""
    flows = _framed_of.setdefault(pipeline, {})
    if TO_KEYS not in flows:
        inputs = {"columns": IN_PARTITIONS, **SHARED}
        flow = _framed(pipeline.name, pipeline, pipeline.summary, inputs, TO_KEYS)
        flows[TO_KEYS] = replace(flow, result=("forest",))
    return flows[TO_KEYS]


def from_partitions(strategy: str, pipeline: Dataflow, *first: Stage) -> Dataflow:
    """Return a strategy that reads partitions by the stages `first`, then runs a pipeline."""
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
    """Return a pipeline after other stages; the edges that it chooses are listed at its end."""
    kinds = {stage.writes["forest"].kind for stage in pipeline.stages() if "forest" in stage.writes}
    last = (list_forest,) if "forest" in pipeline.result and kinds <= {"chosen"} else ()
    steps = (*first, *pipeline.steps, *last)
    return Dataflow(name, steps, inputs, pipeline.result, summary, pipeline.values)


#: How the strategies "whole" and "iterate" read a partition.
LOAD = (load_partition, *TO_KEYS)
