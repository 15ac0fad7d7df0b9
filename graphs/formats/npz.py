"""Reads graphs kept as arrays: a `.npz` file, a folder of `.npy` columns, pairs without header."""

from __future__ import annotations

import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileFormatError, GraphError
from ..edge_list import EdgeList
from ..file_errors import NPY_ERRORS, file_errors
from ..forest_file import IDENTITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

_WEIGHTS = ("w", "weight")


def read_npz(path: Path) -> EdgeList:
    """Read a `.npz` of arrays `u` and `v`, and maybe `w` or `weight`, and a scalar `n`.

    Raises
    ------
    FileFormatError
        If the file is anything else, or holds pickled objects; names the array or edge.
    """
    with file_errors(path, zipfile.BadZipFile):
        with path.open("rb") as file:
            is_archive = file.read(2) == b"PK" and zipfile.is_zipfile(file)
        if not is_archive:
            message = f"{path}: not a .npz file"
            raise FileFormatError(message)
        with np.load(path, allow_pickle=False) as archive:
            columns = {name: _loaded(path, name, archive) for name in archive.files}
    num_vertices = columns.pop("n", None)
    if num_vertices is None:
        return _graph(path, columns, None)
    if num_vertices.ndim or num_vertices.dtype.kind not in "iu":
        message = f"{path}: n must be one integer"
        raise FileFormatError(message)
    return _graph(path, columns, int(num_vertices))


def read_npy(path: Path) -> EdgeList:
    """Read a folder of `u.npy` and `v.npy`, and maybe `w.npy` or `weight.npy`, and `n.txt`.

    The columns are read-only memory maps: they may be larger than memory.

    Raises
    ------
    FileFormatError
        If the folder holds anything else; names the file or edge.
    """
    columns = {file.stem: _mapped(file) for file in column_files(path)}
    return _graph(path, columns, stated_num_vertices(path / "n.txt"))


def column_files(path: Path) -> list[Path]:
    """Return the files of the columns u, v and maybe weight in a folder.

    Raises
    ------
    FileFormatError
        If there are others, or none of those; names the folder.
    """
    with file_errors(path):
        files = {file.stem: file for file in path.iterdir() if file.suffix == ".npy"}
    return [files[name] for name in _column_names(path, files)]


def read_bin(path: Path) -> EdgeList:
    """Read pairs of vertices numbered from 1: int32, little end first, and nothing else.

    Raises
    ------
    FileFormatError
        If the file is anything else; names the edge.
    """
    with file_errors(path, ValueError):
        ids = np.fromfile(path, "<i4").astype(np.int64) - 1
        if path.stat().st_size % 8:
            message = "no whole number of pairs of int32"
            raise ValueError(message)
        return EdgeList(ids[::2], ids[1::2])


def _graph(path: Path, columns: Mapping[str, NDArray[Any]], num_vertices: int | None) -> EdgeList:
    used = [columns[name] for name in _column_names(path, columns)]
    with file_errors(path, GraphError):
        return EdgeList(*used, num_vertices=num_vertices)


def _column_names(path: Path, found: Iterable[str]) -> list[str]:
    """Return which of the names are the columns of a graph."""
    names = set(found)
    weights = [name for name in _WEIGHTS if name in names]
    # A misspelt column of weights must not make an unweighted graph. A saved forest is one.
    if (
        not {"u", "v"} <= names
        or names - {"edge_id", IDENTITY, "u", "v", *_WEIGHTS}
        or len(weights) > 1
    ):
        shown = ", ".join(sorted(names)) or "nothing"
        message = f"{path}: expected arrays u, v and at most one of w, weight; found {shown}"
        raise FileFormatError(message)
    return ["u", "v", *weights]


def _loaded(path: Path, name: str, archive: Mapping[str, Any]) -> NDArray[Any]:
    try:
        array = archive[name]
    except (*NPY_ERRORS, RuntimeError, zlib.error) as error:
        message = f"{path}: array {name}: {error}"
        raise FileFormatError(message) from error
    if not isinstance(array, np.ndarray):  # a member that is not a .npy file comes as bytes
        message = f"{path}: {name} is not an array"
        raise FileFormatError(message)
    return array


def _mapped(file: Path) -> NDArray[Any]:
    with file_errors(file, *NPY_ERRORS):
        return np.lib.format.open_memmap(file, mode="r")


def stated_num_vertices(file: Path) -> int | None:
    """Return the number that `file` holds, if it is there."""
    with file_errors(file):
        if not file.exists():
            return None
        text = file.read_bytes().strip()
    if not text.isdigit() or len(text) > 18:
        message = f"{file}: line 1: expected a number of vertices, found {text[:24]!a}"
        raise FileFormatError(message)
    return int(text)
