"""Saved forests, which `write_columns` makes: what tells their graph, and how they are read."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FileFormatError
from ..runtime.device import host_array
from .file_errors import NPY_ERRORS, file_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from .source import EdgeSource

#: What a saved forest may hold along its edges; only the first must be there.
FOREST_COLUMNS = ("edge_id", "u", "v", "weight")
#: Under this name a saved forest says of which graph it is.
IDENTITY = "graph"
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


def read_forest(
    path: Path, weight_dtype: np.dtype[Any]
) -> tuple[dict[str, NDArray[Any]], dict[str, Any] | None]:
    """Read the columns of a forest, and what it says of its graph.

    Parameters
    ----------
    path : Path
        A `.npz`, `.parquet` or `.csv` file or a folder of `.npy` columns, which are mapped, not
        loaded.
    weight_dtype : dtype
        Of the graph's weights: text is read as that, to lose none of them.

    Returns
    -------
    columns : dict
        "edge_id", and "u", "v", "weight" if they are there; all of one length, in any order.
    identity : dict or None
        The `graph_identity` of its graph, if it is there.

    Raises
    ------
    FileFormatError
        If the file cannot be read or holds anything else. Names it.
    """
    identity = None
    if path.is_dir():
        mapped = partial(np.lib.format.open_memmap, mode="r")
        columns = {file.stem: _load(file, mapped) for file in sorted(path.glob("*.npy"))}
        if (stated := path / f"{IDENTITY}.json").exists():
            identity = _load(stated, lambda file: _identity(file.read_bytes()))
    elif path.suffix == ".csv":
        columns = _load(path, partial(_read_csv, weight_dtype=weight_dtype))
    elif path.suffix == ".parquet":
        columns, identity = _load(path, _read_parquet)
    else:
        columns, identity = _load(path, _read_npz)
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


def _identity(text: str | bytes | None) -> dict[str, Any] | None:
    if text is None:
        return None
    found = json.loads(text)
    if not isinstance(found, dict):
        message = f"{IDENTITY} must be a JSON object, not {text!r}"
        raise ValueError(message)
    return found


def _load(path: Path, load: Callable[[Path], Any]) -> Any:
    """Call a function that reads a file; whatever fails names the file."""
    kinds = *NPY_ERRORS, RuntimeError, zipfile.BadZipFile, zlib.error
    with file_errors(path, *kinds):
        path.open("rb").close()  # if it is not there, say so
        return load(path)


def _read_npz(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any] | None]:
    if not zipfile.is_zipfile(path):
        message = "a forest is a .npz, .parquet or .csv file or a folder of .npy columns"
        raise ValueError(message)
    with np.load(path, allow_pickle=False) as archive:
        # A member that is no array comes as bytes, and is refused as no column of numbers.
        columns = {name: np.asarray(archive[name]) for name in archive.files}
    stated = columns.pop(IDENTITY, None)
    return columns, _identity(None if stated is None else str(stated))


def _read_parquet(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any] | None]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        table = file.read()
    stated = (table.schema.metadata or {}).get(IDENTITY.encode())
    columns = {name: np.asarray(table[name]) for name in table.column_names}
    return columns, _identity(stated)


def _read_csv(path: Path, weight_dtype: np.dtype[Any]) -> dict[str, NDArray[Any]]:
    import pyarrow as pa
    from pyarrow import csv

    # As they were written: halves as single floats, booleans as 0 and 1.
    written_as = {"float16": pa.float32(), "bool": pa.uint8()}
    weight = written_as.get(weight_dtype.name) or pa.from_numpy_dtype(weight_dtype)
    types = dict.fromkeys(FOREST_COLUMNS[:3], pa.int64())

    def parse(types: Mapping[str, Any]) -> Any:
        options = csv.ConvertOptions(column_types=types, null_values=[])
        return csv.read_csv(path, convert_options=options)

    try:
        table = parse({**types, "weight": weight})
    except pa.ArrowInvalid:  # other weights than the graph's: which, the comparison will say
        table = parse(types)
    if len(set(table.column_names)) < len(table.column_names):
        message = "two columns have one name"
        raise ValueError(message)
    return {name: table[name].to_numpy() for name in table.column_names}


def column_problem(name: str, column: NDArray[Any]) -> str | None:
    """Say why an array cannot be the column of that name, if it cannot."""
    if column.ndim != 1:
        return f"{name} must be one-dimensional, not of shape {column.shape}"
    kinds = "biuf" if name == "weight" else "iu"
    if column.dtype.kind not in kinds or column.dtype.itemsize > 8:
        wanted = "numbers" if name == "weight" else "integers"
        return f"{name} must hold {wanted}, not {column.dtype}"
    return None
