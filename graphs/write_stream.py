"""Writes graphs of any size, generated or read, a chunk in memory at a time."""

from __future__ import annotations

import contextlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..progress import tell
from .write import names_folder, replacing, write_columns

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from .generate.generated import Generated
    from .source import EdgeSource


@dataclass(frozen=True)
class Streamed:
    """A graph with known sizes, and columns of one dtype throughout, as `write_stream` takes it."""

    source: EdgeSource

    @property
    def num_vertices(self) -> int:
        """Number of vertices."""
        return self.source.num_vertices or 0

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.source.num_edges or 0

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """Dtypes of the columns `u`, `v` and `w`."""
        columns = self.source.first_columns()
        return {name: column.dtype for name, column in zip("uvw", columns, strict=True)}

    def chunks(self, size: int) -> Iterator[tuple[NDArray[Any], ...]]:
        """Read all edges in order, about `size` at a time."""
        return (read() for *_, read in self.source.blocks(size))


def write_graph(path: str | os.PathLike[str], graph: EdgeSource) -> None:
    """Write a graph, edge for edge in order, whole or not at all.

    Parameters
    ----------
    path : path
        `.npz` or a folder, both written as a stream; `.parquet`, `.csv`, `.gr` or `.mtx`.
    graph : EdgeSource
        With its sizes, and columns of one dtype throughout.

    Raises
    ------
    OptionError
        As `write.write_columns`.
    """
    if names_folder(path) or Path(path).suffix == ".npz":
        write_stream(path, Streamed(graph))
        return
    columns = dict(zip(("u", "v", "weight"), graph.columns(), strict=True))
    write_columns(path, columns, num_vertices=graph.num_vertices)


def write_stream(
    path: str | os.PathLike[str], graph: Generated | Streamed, *, chunk_size: int = 2**20
) -> None:
    """Write a graph of any size, generated or read, whole or not at all.

    Parameters
    ----------
    path : path
        A new folder, for `u.npy`, `v.npy`, `w.npy` and `n.txt`; or `.npz`, which takes the room on
        the disk twice while it is written.
    graph : Generated or Streamed
    chunk_size : int
        Edges to hold in memory at a time.

    Raises
    ------
    OptionError
        As `write.replacing`, and on other suffixes.
    """
    suffix = Path(path).suffix
    is_archive = not names_folder(path)
    if is_archive and suffix != ".npz":
        message = f"{path}: cannot write {suffix!r}; choose .npz, or no suffix for a folder"
        raise OptionError(message)
    with replacing(path) as draft:
        folder = draft.with_name("columns") if is_archive else draft
        folder.mkdir()
        _write_columns(folder, graph, chunk_size)
        if is_archive:
            np.save(folder / "n.npy", np.int64(graph.num_vertices))
            _zip(folder, draft)
        else:
            (folder / "n.txt").write_text(f"{graph.num_vertices}\n")


def _write_columns(folder: Path, graph: Generated | Streamed, chunk_size: int) -> None:
    with contextlib.ExitStack() as stack:
        files = []
        for name, dtype in graph.dtypes.items():
            file = stack.enter_context((folder / f"{name}.npy").open("wb"))
            descr = np.lib.format.dtype_to_descr(dtype)
            header = {"descr": descr, "fortran_order": False, "shape": (graph.num_edges,)}
            np.lib.format.write_array_header_1_0(file, header)
            files.append(file)
        done = 0
        for columns in graph.chunks(chunk_size):
            for file, column in zip(files, columns, strict=True):
                file.write(np.ascontiguousarray(column).data)
            done += len(columns[0])
            tell("write edges", done, graph.num_edges)


def _zip(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", strict_timestamps=False) as members:
        for file in sorted(folder.iterdir()):
            members.write(file, file.name)
