"""Read the files of one graph into memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import OptionError
from ..progress import Listener, set_listener
from .column_names import Column
from .edge_list import EdgeList
from .open import open_graph
from .places.url import AnyPlace, places_of


def read(
    source: AnyPlace | Sequence[AnyPlace],
    *,
    format: str | None = None,  # noqa: A002  # the user's word
    num_vertices: int | None = None,
    weight: Column | None = "weight",
    ends: Sequence[Any] | None = None,
    columns: Sequence[Column] | None = None,
    first_id: int | None = None,
    encoding: str | None = None,
    progress: bool | Listener = True,
) -> EdgeList:
    """Read a graph from one file, or from several that together are one graph.

    Parameters
    ----------
    source : path or URL, or sequence of these
        Edge ids run through all files, in this order. A folder or a pattern such as
        ``edges/**/*.parquet`` stands for its files, in natural order: `part.2` is before `part.10`.
        A URL may be of any file system of fsspec; `fsspec.open(url, **options)` has options.
    format : str, optional
        One of `format_names`. By default it follows from the suffix, or from the content if the
        suffix is unknown. Text may be compressed: `.gz`, `.xz`, `.bz2`, `.zst`. A folder of
        `.npy` columns has the format "npy".
    num_vertices : int, optional
        Overrides the number of vertices that the files state.
    weight : str, int or None
        The column of weights, in formats with named columns. None for weight 1 on every edge.
    ends, columns, first_id, encoding : optional
        As for `mstflow.minimum_spanning_forest`. With `ends`, the graph has `names`.
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
    paths = places_of(source)
    if not paths:
        raise OptionError(f"expected a path or a list of paths, found {type(source).__name__}")
    how: Any = {"ends": ends, "columns": columns, "first_id": first_id, "encoding": encoding}
    with set_listener(progress):
        graph = open_graph(paths, num_vertices, weight, format=format, **how)
    assert isinstance(graph, EdgeList)  # nothing is streamed
    return graph
