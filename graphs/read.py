"""Read the files of one graph into memory."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from ..errors import GraphError, OptionError
from ..progress import set_listener
from .edge_list import EdgeList, concatenate
from .file_checks import file_errors, places_of
from .formats import parts_of
from .names.number import number_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..progress import Listener
    from .places.url import AnyPlace


def read(
    source: AnyPlace | Sequence[AnyPlace],
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
    paths = places_of(source)
    if not paths:
        raise OptionError(f"expected a path or a list of paths, found {type(source).__name__}")
    with set_listener(progress):
        if ends is not None:
            graph = number_graph(paths, ends, weight, format=format, num_vertices=num_vertices)
            assert isinstance(graph, EdgeList)  # without memory=, DuckDB is not used
            return graph
        graph = concatenate([kind.graph(part, weight) for part, kind in parts_of(paths, format)])
    if num_vertices is None:
        return graph
    with file_errors(paths[0], GraphError) if len(paths) == 1 else nullcontext():
        return graph.on(num_vertices)
