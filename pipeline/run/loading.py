"""The first and last stages of strategies over edges at hand: load, order weights, list a forest."""

from typing import Any

from ...primitives.vocabulary import ArrayModule
from ...stages.declare import stage
from ...stages.edges import choose_weight_order, find_signs, order_weights
from ...stages.fields import Columns, Count
from .partitions import as_index, read_only

#: From columns as they are read to the field `edges` of a pipeline.
ORDER_EDGES = (find_signs, choose_weight_order, order_weights)


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
