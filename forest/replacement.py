"""Replacement edges: for each edge of a forest, the lightest other edge that would reconnect it.

If an edge of the forest is removed, its tree splits into two parts. The replacement is the lightest
other edge of the graph between these parts. An edge *covers* all edges of the forest on the path
between its ends. So the replacement is the first edge, in the order (weight, edge id), that covers
the removed edge.

Source: Tarjan, "Applications of Path Compression on Balanced Trees", J. ACM 26 (1979).

Deviations: edges are filtered as in Filter-Kruskal. Light edges are sorted, cover their paths, and
join the vertices on these paths. Both ends of most heavy edges are then joined, so these edges are
never sorted. A graph that is streamed is first reduced to the minimum forest of its other edges.
This forest has all replacements, because it has the lightest edge between any two parts.

Promise: the same edge ids on any backend and in any partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError
from ..graphs.edge_list import EdgeList
from ..graphs.source import EdgeSource
from ..pipeline.catalogue import algorithm
from ..pipeline.catalogue.filter_boruvka import PARAMETERS, SELECT_JOINING, SELECT_LIGHT
from ..pipeline.pipeline import Pipeline
from ..pipeline.steps import Loop
from ..stages.edges import bring_edges_together
from ..stages.filter import sparse_graph_left
from ..stages.fragments import start_levels
from ..stages.kruskal import (
    contract_uncovered,
    cover_by_weight,
    list_replacements,
    start_covering,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..primitives import Backend
    from .edges import ForestEdges

replacements = Pipeline(
    "replacement-edges",
    start_covering,
    Loop(
        *SELECT_LIGHT,
        start_levels,
        bring_edges_together,
        cover_by_weight,
        *SELECT_JOINING,
        contract_uncovered,
        until=sparse_graph_left,
    ),
    bring_edges_together,
    cover_by_weight,
    list_replacements,
    result=("replacement",),
    summary="The lightest edge that covers each edge of a forest",
    values={name: PARAMETERS[name] for name in ("light_per_vertex", "dense", "small")},
)


def replacement_edges(
    forest: ForestEdges, graph: EdgeList | EdgeSource, backend: Backend, options: dict[str, Any]
) -> NDArray[np.int64]:
    """Return the replacement of each edge that `Forest.replacement_edges` describes.

    Parameters
    ----------
    forest : ForestEdges
        In host memory.
    graph : EdgeList or EdgeSource
    backend : Backend
    options : dict
        Options of the run that streams the graph. Without options, an edge list is not streamed.
    """
    source = graph if isinstance(graph, EdgeSource) else EdgeSource.of(graph.to_host())
    if source.is_read_once:
        message = "the graph could be read only once; pass one that can be read again"
        raise GraphError(message)
    others = source.without(forest.edge_ids)
    ids = None
    if options or isinstance(graph, EdgeSource):
        options = {"backend": backend.name, "progress": False, **options}
        fields, _ = algorithm("auto").run(others, maximum=forest.maximum, **options)
        ids = fields["forest"]
        others = EdgeSource.of(EdgeList(*source.take(ids), num_vertices=forest.num_vertices))
    fields, _ = replacements.given(forest_u=forest.u, forest_v=forest.v).run(
        others,
        maximum=forest.maximum,
        backend=backend.name,
        threads=backend.threads,
        strategy="whole",
        progress=False,
    )
    found: NDArray[np.int64] = fields["replacement"]
    return found if ids is None else np.append(ids, np.int64(-1))[found]
