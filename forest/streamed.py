"""The columns of a forest that may not fit in memory; they are read from the graph in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graphs.edge_table import EdgeTable
from ..graphs.saved_forest import graph_identity
from ..graphs.source import EdgeSource
from ..graphs.vertex_names import name_columns
from ..runtime.device import host_array
from ..runtime.scratch import release_pages
from .edges import total_of


def total_weight(graph: EdgeSource, edge_ids: NDArray[np.int64]) -> int | float:
    """Return the exact sum of the weights of edges; see `edges.total`."""
    blocks = (weight for *_, weight in forest_blocks(graph, edge_ids, 1))
    return total_of(blocks, graph.first_columns()[2].dtype)


def forest_table(graph: EdgeSource, edge_ids: NDArray[np.int64]) -> EdgeTable:
    """Return the table of a forest to write to a file."""
    names = graph.names
    *ends, weight = (column.dtype for column in graph.first_columns())
    dtypes: dict[str, Any] = {"edge_id": edge_ids.dtype}
    for label, dtype in zip("uv", ends, strict=True):
        if np.iinfo(dtype).max < (graph.num_vertices or 0) - 1:
            dtype = np.dtype(np.int64)  # later files may have larger vertex ids than the first
        dtypes.update({label: dtype} if names is None else name_columns(label, names.type))
    dtypes["weight"] = weight

    def read(size: int) -> Iterator[list[Any]]:
        loaded = None if names is None else names.loaded()
        for ids, u, v, weights in forest_blocks(graph, edge_ids, size):
            if loaded is None:
                yield [ids, u.astype(dtypes["u"]), v.astype(dtypes["v"]), weights]
            else:
                named = {**loaded.columns("u", u), **loaded.columns("v", v)}
                yield [ids, *named.values(), weights]

    identity = graph_identity(graph)
    return EdgeTable(dtypes, len(edge_ids), graph.num_vertices, read, identity=identity)


def forest_blocks(
    graph: EdgeSource, edge_ids: NDArray[np.int64], min_size: int
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the ids, ends and weights of edges in blocks; only the last may be below `min_size`."""
    start = 0
    for columns in graph.take_blocks(edge_ids, min_size):
        stop = start + len(columns[0])
        yield tuple(map(host_array, (edge_ids[start:stop], *columns)))
        release_pages(edge_ids)
        start = stop
