"""Reads a graph from files, by the name of the format or of the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileFormatError, OptionError
from ..plugins import Plugin, registered
from ..progress import heard_by
from .edge_list import EdgeList, concatenate
from .file_errors import file_errors
from .formats.arrow import read_arrow
from .formats.csv import read_csv
from .formats.gr import read_gr
from .formats.image import read_image
from .formats.metis import read_metis
from .formats.mtx import read_mtx
from .formats.npz import read_bin, read_npy, read_npz
from .formats.parquet import read_parquet
from .formats.txt import read_txt
from .pieces import ArrayPiece, Sequential, file_fingerprint
from .tables import chosen_weight
from .text.files import DECOMPRESSORS
from .text.sniff import sniff

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..progress import Listener


READERS: dict[str, Callable[[Path], EdgeList]] = {
    "gr": read_gr,
    "txt": read_txt,
    "mtx": read_mtx,
    "metis": read_metis,
    "npz": read_npz,
    "npy": read_npy,
    "bin": read_bin,
    "image": read_image,
}
#: Formats whose columns have names of their own, of which `weight` chooses one.
TABLES: dict[str, Callable[[Path, str | None], EdgeList]] = {
    "csv": read_csv,
    "parquet": read_parquet,
    "arrow": read_arrow,
}
FORMATS = (*READERS, *TABLES)
SUFFIXES = {
    ".gr": "gr",
    ".mtx": "mtx",
    ".graph": "metis",
    ".metis": "metis",
    ".npz": "npz",
    ".bin": "bin",
    ".png": "image",
    ".pgm": "image",
    ".tif": "image",
    ".tiff": "image",
    ".csv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".txt": "txt",
    ".tsv": "txt",
    ".edges": "txt",
    ".el": "txt",
    ".edgelist": "txt",
}


def formats() -> list[str]:
    """Return the names of all formats, those of plugins last."""
    return [*FORMATS, *_plugins()]


def _plugins() -> dict[str, Plugin]:
    """Return the readers of plugins; the name of each is also the suffix of its files."""
    own = (*FORMATS, *(suffix.removeprefix(".") for suffix in SUFFIXES))
    return registered("reader", own)


def read(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002  # the name users know
    num_vertices: int | None = None,
    weight: str | None = "weight",
    progress: bool | Listener = True,
) -> EdgeList:
    """Read a graph from one file, or from several that together hold one.

    Parameters
    ----------
    source : path, or sequence of paths
        Edge ids run on from one file to the next.
    format : str, optional
        One of `formats`. By default the suffix tells (text may also be compressed: `.gz`, `.xz`,
        `.bz2`, `.zst`), or else the content; a folder is "npy".
    num_vertices : int, optional
        In place of what the files say.
    weight : str or None
        Name of the column of weights, where columns have names. None takes every weight as 1.
    progress : bool or callable
        As for `mstflow.minimum_spanning_forest`; text files tell how many of their bytes are read.

    Returns
    -------
    EdgeList

    Raises
    ------
    FileFormatError
        If a file cannot be read or does not hold what it should; names the file, and the line,
        array or edge.
    OptionError
        If `format`, `source` or `weight` is not one of the above.
    GraphError
        If the files do not make one graph, or `num_vertices` does not fit it.
    """
    paths: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if not paths or not all(isinstance(path, str | PathLike) for path in paths):
        message = f"a source is a path or a list of paths, not {source!r}"
        raise OptionError(message)
    if format is not None and format not in FORMATS and format not in _plugins():
        message = f"unknown format {format!r}; known: {', '.join(formats())}"
        raise OptionError(message)
    with heard_by(progress):
        graph = concatenate([_read_file(Path(path), format, weight) for path in paths])
    return graph if num_vertices is None else graph.on(num_vertices)


def _read_file(path: Path, name: str | None, weight: str | None) -> EdgeList:
    _refuse_pipe(path)
    name = name or format_of(path)
    if name in TABLES:
        return TABLES[name](path, weight)
    reader = READERS[name] if name in READERS else _plugins()[name].load(Callable)
    return chosen_weight(reader(path), weight)


def _refuse_pipe(path: Path) -> None:
    with file_errors(path):
        is_pipe = path.is_fifo() or path.is_char_device()
    if is_pipe:
        message = f"{path}: a pipe cannot be read twice; write it to a file first"
        raise FileFormatError(message)


def format_of(path: Path) -> str:
    """Return which of `formats` a path is for, by its suffix or else its content.

    Raises
    ------
    FileFormatError
        If that does not tell.
    """
    _refuse_pipe(path)
    if path.is_dir():
        return "npy"
    plain = path.with_suffix("") if path.suffix in DECOMPRESSORS else path
    suffix = plain.suffix.lower()
    by_name = SUFFIXES.get(suffix)
    if by_name is None and suffix[1:] in _plugins():
        return suffix[1:]
    if by_name not in (None, "txt"):
        return by_name
    found = sniff(path)
    if by_name == "txt":
        return "csv" if found == "csv" else "txt"
    if found is None:
        message = f"{path}: unknown kind of file; name a format: {', '.join(formats())}"
        raise FileFormatError(message)
    return found


@dataclass(frozen=True)
class WholeFile(Sequential):
    """A file as a piece of a source: it is read as a whole whenever it is needed."""

    path: Path
    format: str | None
    weight: str | None

    def arrays(self) -> Iterator[ArrayPiece]:
        """Read the file."""
        with heard_by(False):  # the scan that it is read for tells
            graph = read(self.path, format=self.format, weight=self.weight)
        yield ArrayPiece(graph.u, graph.v, graph.weight, graph.num_vertices)

    def fingerprint(self) -> str:
        """Return that of the file, and how it is read."""
        return f"{file_fingerprint(self.path)} {self.format} {self.weight}"
