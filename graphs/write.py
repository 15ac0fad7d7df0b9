"""Writes the edges of graphs and forests to a file or folder, whole or not at all."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from .edge_list import EdgeList
from .forest_file import IDENTITY
from .formats.geojson import checked_degrees, write_geojson
from .formats.gr import write_gr
from .formats.mtx import write_mtx
from .tables import NUM_VERTICES
from .text.files import write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    Columns = Mapping[str, NDArray[Any]]
    #: Takes what is stated beside the columns, too: `NUM_VERTICES` and `IDENTITY`.
    Writer = Callable[[Path, Columns, Mapping[str, Any]], None]


def check_output(path: str | os.PathLike[str], coordinates: ArrayLike | None = None) -> None:
    """Check that `path` names an output that can be written, before the work that fills it.

    Raises
    ------
    OptionError
        On an unknown suffix, coordinates that it needs or has no use for, a missing parent folder,
        or something in the way: a folder in place of a file, a file in place of a folder, or a
        folder that is not empty.
    """
    _writer(path, coordinates)
    _check_place(path)


def names_folder(path: str | os.PathLike[str]) -> bool:
    """Whether the name of an output is that of a folder: it has no suffix, or ends in a slash."""
    return Path(path).suffix == "" or os.fspath(path).endswith(("/", os.sep))


def _check_place(path: str | os.PathLike[str]) -> None:
    target = Path(path)
    is_folder = names_folder(path)
    if not target.parent.is_dir():
        message = f"{target}: there is no folder {target.parent}"
    elif not os.access(target.parent, os.W_OK):
        message = f"{target}: the folder {target.parent} cannot be written to"
    elif is_folder and target.exists() and not target.is_dir():
        message = f"{target}: is a file; the columns need a folder, .npz or .csv"
    elif is_folder and target.is_dir() and any(target.iterdir()):
        message = f"{target}: the folder is not empty"
    elif not is_folder and target.is_dir():
        message = f"{target}: is a folder"
    else:
        return
    raise OptionError(message)


def write_columns(
    path: str | os.PathLike[str],
    columns: Columns,
    *,
    num_vertices: int | None = None,
    coordinates: ArrayLike | None = None,
    graph: Mapping[str, Any] | None = None,
) -> None:
    """Write columns under their names, in the form that the name of `path` asks for.

    Parameters
    ----------
    path : path
        `.npz` for an archive of arrays, `.parquet`, `.csv` for text with a header, no suffix or a
        slash at the end for a folder of `.npy` files: all columns. `.gr` (DIMACS) and `.mtx`
        (Matrix Market) hold u, v and weight, `.geojson` lines with the other columns as
        properties. A file is replaced. Nothing is left behind on failure.
    columns : mapping of str to bool, integer or floating array of length m
    num_vertices : int, optional
        Number of vertices, for the formats that say it; the largest id plus one if not given.
    coordinates : array of shape (n, 2), optional
        Degrees east and north of each vertex, for `.geojson`.
    graph : mapping, optional
        What tells the graph that they are of, in JSON's types: `.npz` has it as an array of that
        name, a folder as `graph.json`, `.parquet` as metadata.

    Raises
    ------
    OptionError
        As `check_output`, on coordinates that are missing, wrong or not wanted, or if writing
        fails.
    ValueError
        If columns differ in length or hold objects.
    """
    _check_columns(columns)
    write = _writer(path, coordinates)
    with replacing(path) as draft:
        write(draft, columns, {NUM_VERTICES: num_vertices, IDENTITY: graph})


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a place to make a file or folder in, which then takes the place of `path`.

    Nothing is left behind if that fails.

    Raises
    ------
    OptionError
        If something is in the way, as `check_output` has it, or if writing fails.
    """
    _check_place(path)
    target = Path(path)
    try:
        with TemporaryDirectory(dir=target.parent, prefix=".mstflow-") as folder:
            draft = Path(folder) / "draft"  # inside, it gets ordinary permissions
            yield draft
            if target.is_dir():  # an empty one: not every system renames onto it
                target.rmdir()
            draft.replace(target)
    except OSError as error:
        message = f"{target}: {error.strerror or error}"
        raise OptionError(message) from error


def _writer(path: str | os.PathLike[str], coordinates: ArrayLike | None) -> Writer:
    suffix = Path(path).suffix
    if suffix == ".geojson" and coordinates is not None:
        return partial(_write_geojson, coordinates=coordinates)
    if suffix == ".geojson" or coordinates is not None:
        message = f"{path}: coordinates go with .geojson, as coordinates= or --coordinates"
        raise OptionError(message)
    if names_folder(path):
        return _write_folder
    if suffix not in _WRITERS:
        message = f"{path}: cannot write {suffix!r}; choose {OUTPUTS}, or no suffix for a folder"
        raise OptionError(message)
    return _WRITERS[suffix]


def _check_columns(columns: Columns) -> None:
    for name, values in columns.items():
        if values.ndim != 1 or values.dtype.kind not in "biuf":
            message = f"column {name} must be one-dimensional numbers, not {values.dtype}"
            raise ValueError(message)
    if len({len(values) for values in columns.values()}) > 1:
        message = "columns differ in length"
        raise ValueError(message)


def _write_npz(draft: Path, columns: Columns, stated: Mapping[str, Any]) -> None:
    arrays = dict(columns)
    if stated[IDENTITY] is not None:
        arrays[IDENTITY] = np.array(json.dumps(stated[IDENTITY]))
    with draft.open("wb") as file:  # given a name, np.savez would add a suffix to it
        np.savez(file, **arrays)  # type: ignore[arg-type]


def _write_folder(draft: Path, columns: Columns, stated: Mapping[str, Any]) -> None:
    draft.mkdir()
    for name, values in columns.items():
        np.save(draft / f"{name}.npy", values, allow_pickle=False)
    if stated[IDENTITY] is not None:
        (draft / f"{IDENTITY}.json").write_text(json.dumps(stated[IDENTITY]) + "\n")


def _write_csv(draft: Path, columns: Columns, _: Mapping[str, Any]) -> None:
    with draft.open("wb") as file:
        file.write((",".join(columns) + "\n").encode())
        write_rows(file, list(columns.values()), ",")


def _write_parquet(draft: Path, columns: Columns, stated: Mapping[str, Any]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    metadata = {name: json.dumps(value) for name, value in stated.items() if value is not None}
    table = pa.table(dict(columns), metadata=metadata)
    # A dictionary of ids and weights is no smaller than they are, and twice as slow to read.
    parquet.write_table(table, draft, row_group_size=2**20, use_dictionary=False)


def _write_gr(draft: Path, columns: Columns, stated: Mapping[str, Any]) -> None:
    write_gr(draft, _graph(columns, stated))


def _write_mtx(draft: Path, columns: Columns, stated: Mapping[str, Any]) -> None:
    write_mtx(draft, _graph(columns, stated))


def _graph(columns: Columns, stated: Mapping[str, Any]) -> EdgeList:
    ends_and_weights = (columns[name] for name in ("u", "v", "weight"))
    return EdgeList(*ends_and_weights, num_vertices=stated[NUM_VERTICES])


def _write_geojson(
    draft: Path, columns: Columns, stated: Mapping[str, Any], coordinates: ArrayLike
) -> None:
    num_vertices = _graph(columns, stated).num_vertices
    write_geojson(draft, columns, checked_degrees(coordinates, num_vertices))


_WRITERS: dict[str, Writer] = {
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
    ".gr": _write_gr,
    ".mtx": _write_mtx,
}

#: The suffixes of files that can be written, for messages; a folder has none.
OUTPUTS = ", ".join(_WRITERS)
