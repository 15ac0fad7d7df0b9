"""Connected components: Boruvka's algorithm, extended to compute a label for each vertex.

Promise: components are numbered in the order of their first vertices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs.edge_list import EdgeList
from ..pipeline.catalogue.algorithms.boruvka_edgelist import boruvka_edgelist
from ..pipeline.pipeline import Pipeline
from ..stages.fragments import add_level, compose_labels, number_by_first_vertex, start_levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..primitives import Backend

_levelled = boruvka_edgelist.insert_after("create_new_vertex_ids", add_level)

components = Pipeline(
    "components",
    start_levels,
    *_levelled.steps,
    compose_labels,
    number_by_first_vertex,
    result=("labels",),
)


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
