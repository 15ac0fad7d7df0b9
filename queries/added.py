"""A batch of edges that is added to a solved graph; the old graph is not read.

An edge outside the old forest is the heaviest edge of a cycle of the old graph, in the order
(weight, edge id). This cycle still exists after edges are added, so the edge is not in the new
forest. Therefore it is enough to solve the old forest together with the batch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..forest.edges import ForestEdges, equal_exactly
from ..graphs.edge_list import EdgeList, join_ids
from ..graphs.segments import ArraySegment
from ..graphs.source import EdgeSource
from ..graphs.vertex_names import VertexNames


def extend_graph(
    forest: ForestEdges,
    graph: EdgeList | EdgeSource,
    batch: EdgeList,
    names: VertexNames | None,
) -> tuple[EdgeSource, EdgeList, NDArray[np.int64]]:
    """Return the graph with a batch, the candidates for its forest, and their edge ids.

    The candidates are the edges of the old forest and the batch. `names` are the names of all
    vertices, including new ones.
    """
    source = EdgeSource.of(graph)
    if source.num_edges is None:
        message = (
            "cannot number the new edges: the graph could be read only once, so its number of "
            "edges is unknown; solve a graph that can be read again"
        )
        raise GraphError(message)
    num_vertices = max(forest.num_vertices, batch.num_vertices)
    if batch.names is not None or (names is not None and len(names) < num_vertices):
        message = (
            "for a graph without names, pass the numbers of vertices, from 0 to "
            f"{forest.num_vertices - 1}; for a graph with names, pass new vertices by their names, "
            "in a table"
        )
        raise GraphError(message)
    weight = _convert_exactly(batch.weight, forest.weight.dtype)
    if source.unweighted and (weight != 1).any():
        edge = int((weight != 1).argmax())
        message = (
            f"edge {edge} of the batch: weight {weight[edge]}, but all weights of the graph are 1, "
            "because it was solved with weight=None; pass weight=None"
        )
        raise GraphError(message)
    u, v = batch.u, batch.v
    if source.first_vertex:  # the ids of vertices in segments start at it
        u, v = (ids.astype(np.int64) + source.first_vertex for ids in (u, v))
    segments = (*source.segments, ArraySegment(u, v, weight))
    extended = replace(source, segments=segments, num_vertices=num_vertices, names=names)
    u, v = join_ids([forest.u, batch.u]), join_ids([forest.v, batch.v])
    weights = np.concatenate([forest.weight, weight])
    new_ids = source.first_id + source.num_edges + np.arange(len(weight))
    candidates = EdgeList(u, v, weights, num_vertices=num_vertices)
    return extended, candidates, np.append(forest.edge_ids, new_ids)


def _convert_exactly(weight: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return weights in another dtype. If this changes a weight, a GraphError names the edge."""
    with np.errstate(all="ignore"):
        converted = weight.astype(dtype, copy=False)
    is_exact = equal_exactly(converted, weight)
    if not is_exact.all():
        edge = int((~is_exact).argmax())
        message = (
            f"edge {edge} of the batch: weight {weight[edge]} is not exact as {dtype}, the dtype "
            "of the graph"
        )
        raise GraphError(message)
    return converted
