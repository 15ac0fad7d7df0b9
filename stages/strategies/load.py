"""Stages that load the edges of a partition, for strategies that keep them in memory."""

from ...primitives.vocabulary import ArrayModule
from ..declare import stage
from ..fields import Columns, Count
from .readers import Scanner, Source


@stage(writes="columns")
def load_partition(ops: ArrayModule, source: Source, num_edges: Count) -> Columns:
    """Read the edges of a partition; vertex ids of 32 or 64 bits are not copied."""
    u, v, weight = map(ops.asarray, source.index_columns())
    stop = source.first_id + len(u)
    edge_id = ops.consecutive(source.first_id, len(u), ops.index_dtype(max(num_edges, stop)))
    return Columns(u, v, weight, edge_id)


@stage(writes="columns")
def load_forest(source: Source, scanner: Scanner, num_vertices: Count) -> Columns:
    """Find the forest of a partition; load a partition with few edges unreduced."""
    return scanner.scan(source, num_vertices, step="load forests").edges[0]


@stage(writes="columns")
def sort_by_id(ops: ArrayModule, columns: Columns) -> Columns:
    """Sort the edges by id, because later stages break ties by position."""
    order = ops.argsort(columns.edge_id)
    return Columns(*(ops.gather(column, order) for column in columns))
