"""Reads a graph from files, by the name of the format or of the file."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..progress import set_listener
from .edge_list import EdgeList, concatenate
from .formats import format_of
from .segments import ArraySegment, Sequential, file_fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..progress import Listener


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
        One of `format_names`. By default it follows from the suffix (text may also be compressed:
        `.gz`, `.xz`, `.bz2`, `.zst`), or else from the content; a folder is "npy".
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
    with set_listener(progress):
        files = map(Path, paths)
        graph = concatenate([format_of(file, format).graph(file, weight) for file in files])
    return graph if num_vertices is None else graph.on(num_vertices)


@dataclass(frozen=True)
class WholeFile(Sequential):
    """A file as a segment of a source: it is read as a whole whenever it is needed."""

    path: Path
    format: str | None
    weight: str | None

    def arrays(self) -> Iterator[ArraySegment]:
        """Read the file."""
        with set_listener(False):  # the scan reports its own progress
            graph = read(self.path, format=self.format, weight=self.weight)
        yield ArraySegment(graph.u, graph.v, graph.weight, graph.num_vertices)

    def fingerprint(self) -> str:
        """Return that of the file, and how it is read."""
        return f"{file_fingerprint(self.path)} {self.format} {self.weight}"
