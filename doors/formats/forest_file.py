"""Saved forests: read their columns, and identify their graph; each format writes its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError
from ...graphs.source import EdgeSource
from ...graphs.vertex_names import name_columns
from ...runtime.device import host_array
from ..file_checks import digest, file_errors
from . import format_of
from .file_format import SavedForest

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


def read_forest(path: Path, weight_dtype: np.dtype[Any], name_type: Any = None) -> SavedForest:
    """Read the columns of a forest and the identity of its graph; "maximum" if it says so.

    Weights in text are parsed in the dtype of the graph's weights, so they are not rounded. The
    columns are "edge_id" and optionally "u", "v" and "weight", of equal length and in any order. If
    `name_type` (a `pyarrow.DataType`) is given, u and v are names of this type.
    """
    with file_errors(path):
        path.stat()
    format = format_of(path)  # noqa: A001
    if format.read_forest is None:
        message = f"{path}: expected a forest as .npz, .parquet, .csv or a folder of .npy columns"
        raise FileFormatError(message)
    has_names = name_type is not None and format.holds_names
    columns, identity = format.read_forest(path, weight_dtype, *([name_type] * has_names))
    ends = {name for end in "uv" if has_names for name in name_columns(end, name_type)}
    if "edge_id" not in columns or not set(columns) <= {*FOREST_COLUMNS, *ends}:
        found = ", ".join(columns) or "nothing"
        message = f"{path}: expected columns edge_id and optionally u, v, weight; found {found}"
        raise FileFormatError(message)
    for name, column in columns.items():
        if problem := column_problem(name, column, holds_names=name in ends):
            raise FileFormatError(f"{path}: {problem}")
    if len({column.shape for column in columns.values()}) > 1:
        raise FileFormatError(f"{path}: the columns differ in length")
    return columns, identity


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
