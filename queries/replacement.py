"""The lightest other edge that can replace each edge of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import GraphError
from ..forest.query import query
from ..graphs.edge_list import EdgeList
from ..graphs.source import EdgeSource
from ..pipeline.catalogue.names import request_for
from ..pipeline.engine import run
from ..primitives import Backend
from .catalogue.replacement_edges import replacement_edges


def find_replacements(
    forest_ids: NDArray[np.int64],
    graph: EdgeList | EdgeSource,
    backend: Backend,
    options: dict[str, Any],
    *,
    maximum: bool,
) -> NDArray[np.int64]:
    """Return the replacement of each edge that `Forest.replacement_edges` describes.

    The other edges of the graph are first reduced to their minimum forest, which has the lightest
    edge between any two parts of a tree. `forest_ids` are in host memory.
    """
    source = graph if isinstance(graph, EdgeSource) else EdgeSource.of(graph.to_host())
    if source.is_read_once:
        message = "the graph could be read only once; pass one that can be read again"
        raise GraphError(message)
    options = {"backend": backend.name, "progress": False, **options}
    request = request_for(maximum=maximum, **options)
    (others, _), _ = run(request, source.without(forest_ids))
    ids = np.sort(np.append(others["forest"], forest_ids))
    reduced = EdgeList(*source.take(ids), num_vertices=graph.num_vertices)
    pipeline = replacement_edges.given(own_edges=np.searchsorted(ids, forest_ids))
    position = query(pipeline, reduced, backend, maximum=maximum)["replacement"]
    replacement: NDArray[np.int64] = np.append(ids, np.int64(-1))[position]
    return replacement
