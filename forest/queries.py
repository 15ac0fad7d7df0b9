"""Queries about a forest that run a pipeline: components, and replacement edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError
from ..graphs.edge_list import EdgeList
from ..graphs.source import EdgeSource
from ..pipeline.catalogue.names import algorithm
from ..pipeline.catalogue.queries.components import components
from ..pipeline.catalogue.queries.replacement_edges import replacement_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..primitives import Backend


def component_labels(
    u: NDArray[Any], v: NDArray[Any], num_vertices: int, backend: Backend
) -> NDArray[np.int64]:
    """Return the component of each vertex.

    Parameters
    ----------
    u, v : integer arrays of length m
        The ends of the edges.
    num_vertices : int
    backend : Backend

    Returns
    -------
    int64 array of length n
        Components are numbered in the order of their first vertices.
    """
    edges = EdgeList(u, v, np.zeros_like(u, np.uint8), num_vertices=num_vertices)
    fields, _ = components.run(
        edges, backend=backend.name, threads=backend.threads, strategy="whole", progress=False
    )
    labels: NDArray[np.int64] = fields["labels"]
    return labels


def find_replacements(
    own: NDArray[np.int64],
    graph: EdgeList | EdgeSource,
    backend: Backend,
    options: dict[str, Any],
    *,
    num_vertices: int,
    maximum: bool,
) -> NDArray[np.int64]:
    """Return the replacement of each edge that `Forest.replacement_edges` describes.

    The other edges of the graph are first reduced to their minimum forest, which has the lightest
    edge between any two sides.

    Parameters
    ----------
    own : int64 array
        The ids of the edges of the forest, in ascending order and in host memory.
    graph : EdgeList or EdgeSource
    backend : Backend
    options : dict
        Options of the run that reduces the graph.
    num_vertices : int
    maximum : bool
        Whether this is a maximum spanning forest.
    """
    source = graph if isinstance(graph, EdgeSource) else EdgeSource.of(graph.to_host())
    if source.is_read_once:
        message = "the graph could be read only once; pass one that can be read again"
        raise GraphError(message)
    options = {"backend": backend.name, "progress": False, **options}
    others, _ = algorithm("auto").run(source.without(own), maximum=maximum, **options)
    ids = np.sort(np.append(others["forest"], own))
    reduced = EdgeList(*source.take(ids), num_vertices=num_vertices)
    fields, _ = replacement_edges.given(own_edges=np.searchsorted(ids, own)).run(
        reduced,
        maximum=maximum,
        backend=backend.name,
        threads=backend.threads,
        strategy="whole",
        progress=False,
    )
    replacement: NDArray[np.int64] = np.append(ids, np.int64(-1))[fields["replacement"]]
    return replacement
