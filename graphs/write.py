"""Write graphs and forests to a file or folder; on failure nothing is left behind."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from .format import EdgeTable
from .formats import names_folder, writer_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import ArrayLike

    from .edge_list import NamedColumns
    from .source import EdgeSource


def check_output(path: str | os.PathLike[str], coordinates: ArrayLike | None = None) -> None:
    """Check that an output can be written to `path`, before the work that computes it.

    Raises
    ------
    OptionError
        If the suffix is unknown, coordinates are missing or not supported, the parent folder is
        missing, a folder stands in place of a file or a file in place of a folder, or the folder
        is not empty.
    """
    writer_of(path, has_coordinates=coordinates is not None)
    _check_place(path)


def write_graph(path: str | os.PathLike[str], graph: EdgeSource) -> None:
    """Write all edges of a graph, in order, holding one block at a time.

    Parameters
    ----------
    path : path
        As for `write_columns`, except `.geojson`.
    graph : EdgeSource
        Its sizes must be known, and each column must have one dtype in all segments.

    Raises
    ------
    OptionError
        As `write_table`.
    """
    dtypes = (column.dtype for column in graph.first_columns())
    table = EdgeTable(
        dict(zip(("u", "v", "weight"), dtypes, strict=True)),
        graph.num_edges or 0,
        graph.num_vertices,
        lambda size: (read() for *_, read in graph.blocks(size)),
    )
    write_table(path, table)


def write_columns(
    path: str | os.PathLike[str],
    columns: NamedColumns,
    *,
    num_vertices: int | None = None,
    coordinates: ArrayLike | None = None,
    identity: Mapping[str, Any] | None = None,
) -> None:
    """Write columns under their names; the suffix of `path` decides the format.

    Parameters
    ----------
    path : path
        `docs/formats.md` lists the formats. A path without a suffix, or with a trailing slash, is a
        folder of `.npy` files.
    columns : mapping of str to bool, integer or floating array of length m
    num_vertices : int, optional
        Number of vertices; `.gr`, `.mtx` and `.geojson` need it.
    coordinates : array of shape (n, 2), optional
        Degrees east and north of each vertex, for `.geojson`.
    identity : mapping, optional
        For a forest, the identity of its graph, as JSON types.

    Raises
    ------
    OptionError
        As `write_table`, and if coordinates are invalid.
    """
    dtypes = {name: values.dtype for name, values in columns.items()}
    num_edges = len(next(iter(columns.values())))

    def read(size: int) -> Iterator[list[Any]]:
        for start in range(0, num_edges, size):
            yield [values[start : start + size] for values in columns.values()]

    write_table(
        path, EdgeTable(dtypes, num_edges, num_vertices, read, columns, identity, coordinates)
    )


def write_table(path: str | os.PathLike[str], table: EdgeTable) -> None:
    """Write edges; the suffix of `path` decides the format. An existing file is replaced.

    Raises
    ------
    OptionError
        As `check_output`, or if writing fails. Nothing is left behind then.
    """
    write = writer_of(path, has_coordinates=table.coordinates is not None)
    with replacing(path) as draft:
        write(draft, table)


#: Codes of errors of a disk, a quota or a file that is full.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path; when the block ends, rename it to `path`.

    Raises
    ------
    OptionError
        If `path` cannot be replaced (see `check_output`), or if writing fails. Nothing is left
        behind then.
    """
    _check_place(path)
    target = Path(path)
    try:
        with TemporaryDirectory(dir=target.parent, prefix=".mstflow-") as folder:
            draft = Path(folder) / "draft"  # created by the writer, so with ordinary permissions
            try:
                yield draft
                if target.is_dir():  # empty; not every system can rename onto it
                    target.rmdir()
                draft.replace(target)
            except OSError as error:
                message = f"{target}: {error.strerror or error}"
                if error.errno in _FULL:
                    message += f" after {_bytes_in(Path(folder)):,} bytes"
                raise OptionError(message) from error
    except OSError as error:
        message = f"{target}: {error.strerror or error}"
        raise OptionError(message) from error


def _bytes_in(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _check_place(path: str | os.PathLike[str]) -> None:
    target = Path(path)
    is_folder = names_folder(path)
    if not target.parent.is_dir():
        message = f"{target}: the folder {target.parent} does not exist"
    elif not os.access(target.parent, os.W_OK):
        message = f"{target}: the folder {target.parent} is not writable"
    elif is_folder and target.exists() and not target.is_dir():
        message = f"{target}: is a file; name a new folder, .npz or .csv"
    elif is_folder and target.is_dir() and any(target.iterdir()):
        message = f"{target}: the folder is not empty"
    elif not is_folder and target.is_dir():
        message = f"{target}: is a folder"
    else:
        return
    raise OptionError(message)
