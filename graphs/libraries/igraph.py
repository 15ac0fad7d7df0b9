"""Convert graphs of igraph to columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..edge_list import EdgeList
from . import no_weights


def from_igraph(graph: Any, weight: str | None) -> EdgeList:
    """Convert an igraph graph; `weight` is an attribute of its edges."""
    ends = np.array(graph.get_edgelist(), np.int64).reshape(-1, 2)
    names = graph.es.attributes()
    if weight not in ("weight", None, *names):
        raise no_weights(str(weight), names)
    values = graph.es[weight] if weight in names else None
    return EdgeList(ends[:, 0], ends[:, 1], values, num_vertices=graph.vcount())
