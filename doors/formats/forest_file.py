"""Read the columns of a saved forest; each format writes its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileFormatError, file_errors
from ...graphs.saved_forest import FOREST_COLUMNS, column_problem
from ...graphs.vertex_names import name_columns
from . import format_of
from .file_format import SavedForest


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
