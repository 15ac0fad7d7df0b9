"""Replacement edges: for each edge of a forest, the lightest other edge that would reconnect it.

If an edge of the forest is removed, its tree splits into two parts. The replacement is the lightest
other edge of the graph between these parts. An edge *covers* all edges of the forest on the path
between its ends. So the replacement is the first edge, in the order (weight, edge id), that covers
the removed edge.

Source: Tarjan, "Applications of Path Compression on Balanced Trees", J. ACM 26 (1979), section on
sensitivity. The edges are taken in order, and the vertices on their paths are joined.

Deviations: compiled kernels filter the edges as Filter-Kruskal does. Light edges cover their paths
first. Only the core, which remains when leaves have been stripped some times, needs them in order,
and few edges cover it. Elsewhere, each edge lowers the records of its ends, and one pass from the
leaves up finds the first edge at each node. The ends of most heavy edges are then joined, and the
others cover what is left. For other backends, and for streamed graphs, the other edges are first
reduced to their minimum forest. It has all replacements, because it has the lightest edge between
any two parts.

Promise: the same edge ids on any backend and in any partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import GraphError
from ..graphs.edge_list import EdgeList
from ..graphs.source import EdgeSource
from ..pipeline.catalogue.names import algorithm
from ..pipeline.pipeline import Pipeline
from ..stages.edges import bring_edges_together
from ..stages.kruskal import cover_by_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..primitives import Backend

replacements = Pipeline(
    "replacement-edges",
    bring_edges_together,
    cover_by_weight,
    result=("replacement",),
    summary="The lightest edge that covers each edge of a forest",
)


def replacement_edges(
    own: NDArray[np.int64],
    graph: EdgeList | EdgeSource,
    backend: Backend,
    options: dict[str, Any],
    *,
    num_vertices: int,
    maximum: bool,
) -> NDArray[np.int64]:
    """Return the replacement of each edge that `Forest.replacement_edges` describes.

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
    ids = None
    # Only compiled kernels filter the edges themselves.
    if options or isinstance(graph, EdgeSource) or backend.name != "numba":
        options = {"backend": backend.name, "progress": False, **options}
        reduced = algorithm("auto").run(source.without(own), maximum=maximum, **options)
        ids = np.sort(np.append(reduced[0]["forest"], own))
        own = np.searchsorted(ids, own)
        source = EdgeSource.of(EdgeList(*source.take(ids), num_vertices=num_vertices))
    fields, _ = replacements.given(own_edges=own).run(
        source,
        maximum=maximum,
        backend=backend.name,
        threads=backend.threads,
        strategy="whole",
        progress=False,
    )
    found: NDArray[np.int64] = fields["replacement"]
    return found if ids is None else np.append(ids, np.int64(-1))[found]
