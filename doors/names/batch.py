"""Number the vertices of a batch of edges that is added to a graph with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graphs.edge_list import EdgeList
from ...graphs.vertex_names import VertexNames
from ..adopters import has_nodes
from ..libraries.tables import is_table
from ..places.url import places_of
from ..read import edge_list
from .number import number_graph
from .stored import NodeNames, joined_names


def number_batch(
    names: VertexNames | None, edges: Any, weight: str | None, ends: Sequence[Any] | None
) -> tuple[VertexNames | None, EdgeList]:
    """Return the names of all vertices, if the graph has names, and the batch with vertex numbers.

    `names` are the names of the graph's vertices; `Forest.add` documents the other arguments.
    """
    if ends is not None or (names is not None and (is_table(edges) or places_of(edges))):
        batch: Any = number_graph(edges, ends, weight)
    else:
        batch = edge_list(edges, weight=weight)
    if names is None or (batch.names is None and not has_nodes(edges)):
        return names, batch
    batch_names = batch.names or NodeNames(list(range(batch.num_vertices)))
    all_names, number = joined_names(names, batch_names)
    u, v = number[batch.u], number[batch.v]
    return all_names, EdgeList(u, v, batch.weight, num_vertices=len(all_names))
