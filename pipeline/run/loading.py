"""The strategies over edges at hand: load partitions, order weights, run a pipeline's steps."""

from functools import lru_cache
from typing import Any

from ...primitives.vocabulary import ArrayModule
from ...stages.declare import stage
from ...stages.edges import choose_weight_order, find_signs, order_weights
from ...stages.fields import ANYTHING, Columns, Count, Field
from ...stages.fragments import list_forest
from ..check import Known
from ..dataflow import Dataflow
from ..steps import Step
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


@lru_cache(maxsize=64)
def from_columns(pipeline: Dataflow) -> Dataflow:
    """Return the steps of a pipeline for edges whose weights are no keys yet."""
    steps = (*_to_keys(), *pipeline.steps, *_listing(pipeline))
    inputs = {"columns": IN_PARTITIONS, **SHARED}
    return Dataflow(
        pipeline.name, steps, inputs, pipeline.result, pipeline.summary, pipeline.values
    )


@lru_cache(maxsize=64)
def from_partitions(strategy: str, pipeline: Dataflow, *first: Step) -> Dataflow:
    """Return a strategy that begins with `first` and then runs a pipeline over all partitions."""
    flow = from_columns(pipeline)
    summary = f"{pipeline.name} over {'one partition' if strategy == 'whole' else 'partitions'}"
    inputs = {"source": IN_PARTITIONS, **SHARED}
    return Dataflow(strategy, (*first, *flow.steps), inputs, flow.result, summary, flow.values)


def _to_keys() -> tuple[Step, ...]:
    return find_signs, choose_weight_order, order_weights


def _listing(pipeline: Dataflow) -> tuple[Step, ...]:
    """Return the stage that sorts what rounds chose, if any stage chooses edges."""
    kinds = (stage.writes["forest"].kind for stage in pipeline.stages() if "forest" in stage.writes)
    return (list_forest,) if "chosen" in kinds else ()
