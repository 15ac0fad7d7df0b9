"""A file format, and the edges that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..progress import report_progress
from .tables import check_weight, chosen_weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from .edge_list import EdgeList, NamedColumns
    from .source import EdgeSource

    #: All columns, and the identity of the graph if it is stated.
    SavedForest = tuple[dict[str, NDArray[Any]], dict[str, Any] | None]


@dataclass(frozen=True)
class Format:
    """The functions that read and write a file format; `formats` holds one of these for each.

    Those that read raise FileFormatError on a file that cannot be read or holds anything else; it
    names the file and the line, array, column or edge. Those that take the name of the weights
    raise OptionError if there are none of that name, and any function may for a missing package.

    Parameters
    ----------
    name : str
        As `format=` takes it. A plugin's format has the name of its entry point.
    suffixes : tuple of str
        The suffixes of its files, in lower case; output is written to the first.
    read : callable, optional
        From a path to an `EdgeList`.
    stream : callable, optional
        From a path to an `EdgeSource`, without reading the edges.
    write : callable, optional
        Writes an `EdgeTable` to a path that does not exist yet.
    read_forest : callable, optional
        From a path and the dtype of the graph's weights to all columns of a saved forest and the
        identity of its graph.
    begins : callable, optional
        From a line of a file to whether such a file begins with it. Called with the first line
        that is not a comment (`#`, `%`), and with the comments before it.
    has_columns : bool
        Whether columns have names; `read` and `stream` then take the name of the weights, too.
    is_folder : bool
        Whether a graph is a folder, not a file.
    needs_coordinates : bool
        Whether `write` needs the coordinates of the vertices.
    """

    name: str
    suffixes: tuple[str, ...] = ()
    read: Callable[..., EdgeList] | None = None
    stream: Callable[..., EdgeSource] | None = None
    write: Callable[[Path, EdgeTable], None] | None = None
    read_forest: Callable[[Path, np.dtype[Any]], SavedForest] | None = None
    begins: Callable[[bytes], bool] | None = None
    has_columns: bool = False
    is_folder: bool = False
    needs_coordinates: bool = False

    def graph(self, path: Path, weight: str | None) -> EdgeList:
        """Read a graph with the weights of that name; None takes each weight as 1."""
        if self.read is None:
            message = f"{path}: format {self.name!r} can only be written"
            raise OptionError(message)
        if self.has_columns:
            return self.read(path, weight)
        return chosen_weight(self.read(path), weight)

    def source(self, path: Path, weight: str | None) -> EdgeSource | None:
        """Return a graph with the weights of that name as a source, if the format is streamed."""
        if self.stream is None:
            return None
        if self.has_columns:
            return self.stream(path, weight)
        check_weight(weight)
        return self.stream(path)


@dataclass(frozen=True)
class EdgeTable:
    """Columns of edges that a format writes, in memory or computed chunk by chunk.

    Parameters
    ----------
    dtypes : mapping of str to dtype
        Of the columns, by name.
    num_edges : int
    num_vertices : int, optional
        For the formats that state it.
    read : callable
        From a number of edges to an iterator over the columns of about as many edges at a time.
    columns : mapping of str to array, optional
        All columns, if they are in memory.
    identity : mapping, optional
        The identity of the graph (see `forest_file.graph_identity`) whose forest this is.
    coordinates : array, optional
        Degrees east and north of each vertex.
    """

    dtypes: Mapping[str, np.dtype[Any]]
    num_edges: int
    num_vertices: int | None
    read: Callable[[int], Iterator[Sequence[NDArray[Any]]]]
    columns: NamedColumns | None = None
    identity: Mapping[str, Any] | None = None
    coordinates: ArrayLike | None = None

    @property
    def is_graph(self) -> bool:
        """Whether these are all edges of a graph, not a forest with edge ids."""
        return "edge_id" not in self.dtypes

    def chunks(self, size: int = 2**20) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the columns of about `size` edges at a time, and report the progress."""
        done = 0
        for chunk in self.read(size):
            yield dict(zip(self.dtypes, chunk, strict=True))
            done += len(chunk[0])
            report_progress("write edges", done, self.num_edges)
