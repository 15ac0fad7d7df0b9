"""Read a graph from files of any format."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GraphError, OptionError
from ..progress import set_listener
from .edge_list import EdgeList, concatenate
from .files import FileState, file_errors, file_fingerprint, unchanged
from .formats import format_of
from .names.number import number_graph
from .segments import ArraySegment, Sequential

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..progress import Listener


def read(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002  # the user's word
    num_vertices: int | None = None,
    weight: str | None = "weight",
    ends: Sequence[str] | None = None,
    progress: bool | Listener = True,
) -> EdgeList:
    """Read a graph from one file, or from several that together are one graph.

    Parameters
    ----------
    source : path, or sequence of paths
        Edge ids run through all files, in this order.
    format : str, optional
        One of `format_names`. By default it follows from the suffix, or from the content if the
        suffix is unknown. Text may be compressed: `.gz`, `.xz`, `.bz2`, `.zst`. A folder has the
        format "npy".
    num_vertices : int, optional
        Overrides the number of vertices that the files state.
    weight : str or None
        Name of the column of weights, in formats with named columns. None for weight 1 on every
        edge.
    ends : sequence of two str, optional
        As for `mstflow.minimum_spanning_forest`; the graph has `names`.
    progress : bool or callable
        As for `mstflow.minimum_spanning_forest`. Text files report the bytes that are read.

    Returns
    -------
    EdgeList

    Raises
    ------
    FileFormatError
        If a file cannot be read or is malformed. Names the file, and the line, array or edge.
    OptionError
        If `format` or `weight` is unknown, or `source` is not a path or a sequence of paths.
    GraphError
        If no dtype represents the weights of all files, or `num_vertices` is too small.
    """
    paths: list[Any] = list(source) if isinstance(source, list | tuple) else [source]
    if not paths or not all(isinstance(path, str | PathLike) for path in paths):
        message = f"expected a path or a list of paths, found {source!r}"
        raise OptionError(message)
    with set_listener(progress):
        if ends is not None:
            options: Any = {"format": format, "num_vertices": num_vertices}
            graph = number_graph(paths, ends, weight, **options)
            assert isinstance(graph, EdgeList)  # without memory=, DuckDB is not used
            return graph
        files = map(Path, paths)
        graph = concatenate([format_of(file, format).graph(file, weight) for file in files])
    if num_vertices is None:
        return graph
    with file_errors(Path(paths[0]), GraphError) if len(paths) == 1 else nullcontext():
        return graph.on(num_vertices)


@dataclass(frozen=True)
class WholeFile(Sequential):
    """A file that cannot be streamed: each scan reads all of it."""

    path: Path
    format: str | None
    weight: str | None
    state: FileState
    edges_at_once: int = 0

    def arrays(self) -> Iterator[ArraySegment]:
        """Read the file."""
        with set_listener(False), unchanged(self.path, self.state):  # the scan reports the progress
            graph = read(self.path, format=self.format, weight=self.weight)
        yield ArraySegment(graph.u, graph.v, graph.weight, graph.num_vertices)

    @property
    def origin(self) -> tuple[str, int]:
        """The file, and row 0."""
        return str(self.path), 0

    def fingerprint(self) -> str:
        """Return the fingerprint of the file, with the options of its reader."""
        return f"{file_fingerprint(self.path)} {self.format} {self.weight}"
