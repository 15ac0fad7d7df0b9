"""Saved forests: their columns, and the identity of the graph of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..runtime.device import host_array
from ..runtime.identity import digest
from .source import EdgeSource

#: The columns of a saved forest; only the first is required.
FOREST_COLUMNS = ("edge_id", "u", "v", "weight")
#: The digest of a graph covers this number of edges at its start.
_DIGEST_EDGES = 2**12


def graph_identity(graph: EdgeSource) -> dict[str, int | str | None]:
    """Return the identity of a graph, which does not depend on the format in which it is stored.

    It has the keys "num_vertices", "num_edges" and "digest". The last two are None if the graph can
    be read only once. The digest is BLAKE2b with 16 bytes. It covers the first 4,096 edges: a
    column of smaller ends, a column of larger ends (both int64) and a column of weights (binary64),
    all little-endian.
    """
    if graph.is_read_once:
        return {"num_vertices": graph.num_vertices, "num_edges": None, "digest": None}
    count = graph.num_edges or 0
    u, v, weight = map(host_array, graph.slice(0, min(_DIGEST_EDGES, count)).columns())
    ends = np.sort([u.astype("<i8"), v.astype("<i8")], axis=0)
    return {
        "num_vertices": graph.num_vertices,
        "num_edges": count,
        "digest": digest(ends.data, weight.astype("<f8").data),
    }


def column_problem(name: str, column: NDArray[Any], *, holds_names: bool = False) -> str | None:
    """Return the reason why an array cannot be the column `name`, or None if it can."""
    if column.ndim != 1:
        return f"{name} must be one-dimensional, not of shape {column.shape}"
    if holds_names and column.dtype.kind == "O":
        return None
    kinds = "biuf" if name == "weight" else "iu"
    if column.dtype.kind not in kinds or column.dtype.itemsize > 8:
        wanted = "numbers" if name == "weight" else "integers"
        return f"{name} must hold {wanted}, not {column.dtype}"
    return None
