"""Archives of NumPy arrays: `.npz` files with an array for each column."""

from __future__ import annotations

import contextlib
import json
import math
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileFormatError, file_errors
from ...graphs.edge_list import EdgeList
from ...graphs.edge_table import EdgeTable
from ..file_checks import check_decompressed, without_warnings
from ..places.url import Place
from .file_format import IDENTITY, Format, SavedForest, parse_identity
from .npy import ARRAY_ERRORS, array_name, graph_of, read_header, write_columns

#: Errors of an archive; Python knows neither every version nor every method of compression.
_ARCHIVE_ERRORS = zipfile.BadZipFile, NotImplementedError


def read_npz(path: Place) -> EdgeList:
    """Read an archive of arrays `u` and `v`, and optionally `w` or `weight`, and a scalar `n`.

    `n` is the number of vertices.
    """
    columns = _read_arrays(path)
    stated = columns.pop("n", None)
    if stated is not None and (stated.ndim or stated.dtype.kind not in "iu"):
        raise FileFormatError(f"{path}: n must be one integer")
    return graph_of(path, columns, None if stated is None else int(stated))


def read_npz_forest(path: Place, _: np.dtype[Any]) -> SavedForest:
    """Read all arrays of an archive; one of them may be the identity of the graph."""
    columns = _read_arrays(path)
    stated = columns.pop(IDENTITY, None)
    with file_errors(path, ValueError):
        return columns, parse_identity(None if stated is None else str(stated))


def _read_arrays(path: Place) -> dict[str, NDArray[Any]]:
    """Read all arrays of an archive."""
    with file_errors(path), path.open("rb") as file:
        if file.read(2) != b"PK" or not zipfile.is_zipfile(file):
            raise FileFormatError(f"{path}: is not a .npz file")
    array_bytes(path)  # checks the headers
    arrays = {}
    with (
        file_errors(path, *_ARCHIVE_ERRORS),
        path.open("rb") as file,
        np.load(file, allow_pickle=False) as archive,
    ):
        for name in archive.files:
            with file_errors(f"{path}: array {name}", *ARRAY_ERRORS), without_warnings():
                arrays[name] = archive[name]
    return arrays


def member_names(path: Place) -> list[str]:
    """Return the names of the files in an archive; none if it is damaged."""
    with (
        contextlib.suppress(*_ARCHIVE_ERRORS),
        path.open("rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        return archive.namelist()
    return []


def array_bytes(path: Place) -> int:
    """Return the total bytes that the archive states; check that no header needs more."""
    with (
        file_errors(path, *_ARCHIVE_ERRORS),
        path.open("rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        check_decompressed(path, total)
        if len({member.filename for member in members}) < len(members):
            raise FileFormatError(f"{path}: two arrays have the same name")
        for member in members:
            name = member.filename.removesuffix(".npy")
            with file_errors(f"{path}: array {name}", *ARRAY_ERRORS), archive.open(member) as array:
                shape, dtype = read_header(array)
                if not 0 <= math.prod(shape) * dtype.itemsize <= member.file_size:
                    raise ValueError(
                        f"has shape {shape}, which needs more than its {member.file_size:,} bytes"
                    )
    return total


def write_npz(path: Path, table: EdgeTable) -> None:
    """Write an array for each column, and the number of vertices of a graph.

    A table that is not in memory is first written to a folder next to the archive.
    """
    arrays: dict[str, Any]
    if table.columns is None:
        folder = path.with_name("columns")
        write_columns(folder, table)
        arrays = {file.stem: file for file in sorted(folder.iterdir())}
    else:
        arrays = {array_name(name, table): values for name, values in table.columns.items()}
    if table.identity is not None:
        arrays[IDENTITY] = np.array(json.dumps(table.identity))
    if table.is_graph and table.num_vertices is not None:
        arrays["n"] = np.array(table.num_vertices)
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                if isinstance(values, Path):  # a memory map would keep its pages in memory
                    with values.open("rb") as file:
                        shutil.copyfileobj(file, member, 2**20)
                else:
                    np.save(member, values)


FORMAT = Format(
    "npz",
    (".npz",),
    read_npz,
    size=array_bytes,
    write=write_npz,
    read_forest=read_npz_forest,
    begins=lambda line: line.startswith(b"PK\x03\x04"),
)
