"""Reads a graph from files, by the name of the format or of the file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileFormatError, OptionError
from .arrays import read_npy, read_npz
from .dimacs import read_gr
from .edge_list import EdgeList, concatenate
from .edge_text import read_txt
from .parquet import read_parquet
from .text import DECOMPRESSORS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


READERS: dict[str, Callable[[Path], EdgeList]] = {
    "gr": read_gr,
    "txt": read_txt,
    "npz": read_npz,
    "npy": read_npy,
    "parquet": read_parquet,
}
SUFFIXES = {
    ".gr": "gr",
    ".npz": "npz",
    ".parquet": "parquet",
    ".txt": "txt",
    ".tsv": "txt",
    ".edges": "txt",
    ".el": "txt",
    ".edgelist": "txt",
}


def read(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002  # the name users know
    num_vertices: int | None = None,
) -> EdgeList:
    """Read a graph from one file, or from several that together hold one.

    Parameters
    ----------
    source : path, or sequence of paths
        Edge ids run on from one file to the next.
    format : str, optional
        One of `READERS`. By default the suffix tells (text may also be compressed: `.gz`, `.xz`,
        `.bz2`), and a folder is "npy".
    num_vertices : int, optional
        In place of what the files say.

    Returns
    -------
    EdgeList

    Raises
    ------
    FileFormatError
        If a file cannot be read or does not hold what it should; names the file, and the line,
        array or edge.
    OptionError
        If `format` or `source` is not one of the above.
    GraphError
        If the files do not make one graph, or `num_vertices` does not fit it.
    """
    paths: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if not paths or not all(isinstance(path, str | os.PathLike) for path in paths):
        message = f"a source is a path or a list of paths, not {source!r}"
        raise OptionError(message)
    if format is not None and format not in list(READERS):
        message = f"unknown format {format!r}; known: {', '.join(READERS)}"
        raise OptionError(message)
    graph = concatenate([_read_file(Path(path), format) for path in paths])
    if num_vertices is None:
        return graph
    return EdgeList(graph.u, graph.v, graph.weight, num_vertices=num_vertices)


def _read_file(path: Path, name: str | None) -> EdgeList:
    return READERS[name or format_of(path)](path)


def format_of(path: Path) -> str:
    """Return which of `READERS` a path is for, by its suffix.

    Raises
    ------
    FileFormatError
        If that does not tell.
    """
    if path.is_dir():
        return "npy"
    plain = path.with_suffix("") if path.suffix in DECOMPRESSORS else path
    if plain.suffix.lower() in SUFFIXES:
        return SUFFIXES[plain.suffix.lower()]
    if not path.exists():
        message = f"{path}: {os.strerror(errno.ENOENT)}"
        raise FileFormatError(message)
    message = f"{path}: unknown kind of file; name a format: {', '.join(READERS)}"
    raise FileFormatError(message)
