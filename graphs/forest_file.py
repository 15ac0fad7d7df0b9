"""Saved forests, which `write_columns` makes: what tells their graph, and how they are read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FileFormatError
from ..runtime.device import host_array
from .file_errors import file_errors
from .formats import format_of

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from .format import SavedForest
    from .source import EdgeSource

#: What a saved forest may hold along its edges; only the first must be there.
FOREST_COLUMNS = ("edge_id", "u", "v", "weight")
#: So many of the first edges are in a graph's digest.
_HEAD = 2**12


def graph_identity(graph: EdgeSource) -> dict[str, int | str | None]:
    """Return what tells a graph from others, in whatever form it is stored.

    Returns
    -------
    dict
        "num_vertices"; "num_edges" and "digest", which are None if it can be read but once. The
        digest is BLAKE2b, 16 bytes, of the first 4,096 edges: their smaller ends, larger ends
        (int64) and weights (binary64), column after column, little end first.
    """
    sizes: dict[str, int | str | None] = {"num_vertices": graph.num_vertices}
    if graph.is_read_once:
        return {**sizes, "num_edges": None, "digest": None}
    columns = np.empty((2, 0), "<i8"), np.empty(0, "<f8")
    for *_, read in graph.blocks(_HEAD):
        u, v, weight = (host_array(column[:_HEAD]) for column in read())
        ends = np.sort([u.astype("<i8"), v.astype("<i8")], axis=0)
        columns = np.hstack([columns[0], ends]), np.append(columns[1], weight.astype("<f8"))
        if len(columns[1]) >= _HEAD:
            break
    ends, weights = columns[0][:, :_HEAD], columns[1][:_HEAD]
    digest = hashlib.blake2b(ends.tobytes() + weights.tobytes(), digest_size=16).hexdigest()
    return {**sizes, "num_edges": graph.num_edges, "digest": digest}


def read_forest(path: Path, weight_dtype: np.dtype[Any]) -> SavedForest:
    """Read the columns of a forest, and what it says of its graph.

    Text is read in the dtype of the graph's weights, to lose none of them. The columns are
    "edge_id" and, if they are there, "u", "v" and "weight"; all of one length, in any order.

    Raises
    ------
    FileFormatError
        If the file cannot be read or holds anything else. Names it.
    """
    with file_errors(path):
        path.stat()
    read = format_of(path).read_forest
    if read is None:
        message = f"{path}: a forest is a .npz, .parquet or .csv file or a folder of .npy columns"
        raise FileFormatError(message)
    columns, identity = read(path, weight_dtype)
    if "edge_id" not in columns or not set(columns) <= set(FOREST_COLUMNS):
        found = ", ".join(columns) or "nothing"
        message = f"{path}: expected columns edge_id, and maybe u, v, weight; found {found}"
        raise FileFormatError(message)
    problems = [column_problem(name, column) for name, column in columns.items()]
    if len({column.shape for column in columns.values()}) > 1:
        problems.append("the columns differ in length")
    for problem in filter(None, problems):
        message = f"{path}: {problem}"
        raise FileFormatError(message)
    return columns, identity


def column_problem(name: str, column: NDArray[Any]) -> str | None:
    """Say why an array cannot be the column of that name, if it cannot."""
    if column.ndim != 1:
        return f"{name} must be one-dimensional, not of shape {column.shape}"
    kinds = "biuf" if name == "weight" else "iu"
    if column.dtype.kind not in kinds or column.dtype.itemsize > 8:
        wanted = "numbers" if name == "weight" else "integers"
        return f"{name} must hold {wanted}, not {column.dtype}"
    return None
